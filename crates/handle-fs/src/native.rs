//! File systems that can take snapshots of themselves.

use super::{AsHandle, HandleRef};

/// A file system that can make snapshots of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NativeKind {
    /// btrfs.
    Btrfs,
    /// ZFS.
    Zfs,
    /// A volume of a cluster that knows `VolumeSnapshot`.
    Volume,
}

impl NativeKind {
    /// Its name.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Btrfs => "btrfs",
            Self::Zfs => "zfs",
            Self::Volume => "volume-snapshot",
        }
    }

    /// The program that makes them.
    #[must_use]
    pub fn program(self) -> &'static str {
        match self {
            Self::Volume => "kubectl",
            _ => self.word(),
        }
    }

    /// Returns the message for the case that the program is missing.
    #[must_use]
    pub fn missing(self) -> String {
        format!("there is no program `{}` outside the mounts", self.program())
    }
}

/// The inode of the top of every btrfs subvolume, and of nothing else in it.
pub const BTRFS_TOP: u64 = 256;

/// Returns the kind of snapshot that the file system of `handle` can take; `None` on another machine, and where file systems have
/// no numbers.
#[must_use]
pub fn native_kind(handle: impl AsHandle) -> Option<NativeKind> {
    /// Numbers of `statfs(2)`.
    const BTRFS: u64 = 0x9123_683e;
    const ZFS: u64 = 0x2fc1_2fc1;
    if matches!(handle.as_handle(), HandleRef::There(_)) {
        return None;
    }
    match super::kernel::magic(handle).ok()? {
        BTRFS => Some(NativeKind::Btrfs),
        ZFS => Some(NativeKind::Zfs),
        _ => None,
    }
}
