//! The flags of an object that `chattr` sets and that say who may change it: immutable, append only, not to be dumped. How the
//! bytes lie on the disk (compressed, no copy on write) is the file system's business and no part of a snapshot.

use std::fmt;

/// A set of them. Only regular files and directories have any; `chattr` sets none on anything else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InodeFlags(u32);

impl InodeFlags {
    /// Immutable: the object cannot be changed, moved or removed (`chattr +i`).
    pub const IMMUTABLE: Self = Self(1);
    /// Append-only: the object can only be added to, and not be moved or removed (`chattr +a`).
    pub const APPEND: Self = Self(2);
    /// Not to be dumped: dump(8) skips the object (`chattr +d`).
    pub const NODUMP: Self = Self(4);
    /// All known flags.
    const ALL: u32 = 7;
    /// The numbers of all known flags on Linux.
    pub(crate) const LINUX: u32 = 0x70;
    /// The number of each flag on Linux (`FS_IOC_GETFLAGS`, ioctl_iflags(2)): calls use them for every system.
    const LINUX_NUMBERS: [(Self, u32); 3] = [
        (Self::IMMUTABLE, 0x10),
        (Self::APPEND, 0x20),
        (Self::NODUMP, 0x40),
    ];

    /// Reads the stored number; `None` if a bit is unknown.
    #[must_use]
    pub fn from_bits(bits: u32) -> Option<Self> {
        (bits & !Self::ALL == 0).then_some(Self(bits))
    }

    /// Returns the number that is stored.
    #[must_use]
    pub fn bits(self) -> u32 {
        self.0
    }

    /// Returns the flags as Linux numbers them.
    pub(crate) fn linux_bits(self) -> u32 {
        let set = Self::LINUX_NUMBERS
            .into_iter()
            .filter(|(flag, _)| self.contains(*flag));
        set.fold(0, |all, (_, number)| all | number)
    }

    /// Returns those of Linux's flags that are known.
    #[cfg(any(test, debug_assertions, feature = "simulated", target_vendor = "apple"))]
    pub(crate) fn from_linux_bits(bits: u32) -> Self {
        let set = Self::LINUX_NUMBERS
            .into_iter()
            .filter(|(_, number)| bits & number != 0);
        set.fold(Self::default(), |all, (flag, _)| all.with(flag))
    }

    /// Returns true if no flag is set.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns true if all flags of `other` are set.
    #[must_use]
    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns these flags and those of `other`.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns true if the flags keep the object from being changed, moved or removed, whatever its mode.
    #[must_use]
    pub fn bind(self) -> bool {
        self.0 & (Self::IMMUTABLE.0 | Self::APPEND.0) != 0
    }

    /// Returns only the flags that do not keep the object from being changed.
    #[must_use]
    pub fn unbound(self) -> Self {
        Self(self.0 & Self::NODUMP.0)
    }
}

/// Formats the flags as `lsattr` shows them: `ia`, or `-` for none.
impl fmt::Display for InodeFlags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("-");
        }
        for (flag, letter) in [(Self::IMMUTABLE, "i"), (Self::APPEND, "a"), (Self::NODUMP, "d")] {
            if self.contains(flag) {
                f.write_str(letter)?;
            }
        }
        Ok(())
    }
}
