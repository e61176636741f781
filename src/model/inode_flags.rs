//! The flags of an object that `chattr` sets and that say who may change it: immutable, append only, not to be dumped. How the
//! bytes lie on the disk (compressed, no copy on write) is the file system's business and no part of a snapshot.

use std::fmt;

/// A set of them. Only regular files and directories have any; `chattr` sets none on anything else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InodeFlags(u32);

impl InodeFlags {
    /// Nothing about it can be changed, and it cannot be moved or removed (`chattr +i`).
    pub const IMMUTABLE: Self = Self(1);
    /// It can only be added to, and not be moved or removed (`chattr +a`).
    pub const APPEND: Self = Self(2);
    /// dump(8) leaves it out (`chattr +d`).
    pub const NODUMP: Self = Self(4);
    /// All that are known.
    const ALL: u32 = 7;

    /// From the stored number; `None` when a bit is not known.
    #[must_use]
    pub fn from_bits(bits: u32) -> Option<Self> {
        (bits & !Self::ALL == 0).then_some(Self(bits))
    }

    /// The number that is stored.
    #[must_use]
    pub fn bits(self) -> u32 {
        self.0
    }

    /// Whether none is set.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether all of `other` are set.
    #[must_use]
    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// These and those of `other`.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether they keep the object from being changed, moved or removed, whatever its mode says.
    #[must_use]
    pub fn bind(self) -> bool {
        self.0 & (Self::IMMUTABLE.0 | Self::APPEND.0) != 0
    }

    /// Those that do not bind.
    #[must_use]
    pub fn unbound(self) -> Self {
        Self(self.0 & Self::NODUMP.0)
    }
}

/// As `lsattr` shows them: `ia`, or `-` for none.
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
