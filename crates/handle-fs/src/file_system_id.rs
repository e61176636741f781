//! Identity of a mounted file system, which stays the same when it is mounted again.

use serde::{Deserialize, Serialize};

use crate::Time;

/// Facts that a file system keeps when it is mounted again, on this machine or after a reboot. Device numbers are none of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSystemId {
    /// True if the root was a mount point; a btrfs subvolume need not be one.
    pub own_mount: bool,
    /// The number that `statfs(2)` gives this type of file system.
    pub kind: u64,
    /// The number that the file system derives from its UUID; none where it derives it from the device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<u64>,
    /// Inode and time of birth of the root, where the file system has no such number and keeps these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<(u64, Time)>,
}

impl FileSystemId {
    /// Returns true if both are certainly different file systems.
    #[must_use]
    pub fn differs(&self, other: &Self) -> bool {
        let differ = |ours: Option<u64>, theirs: Option<u64>| ours.zip(theirs).is_some_and(|(a, b)| a != b);
        let roots = self.root.zip(other.root);
        let told = |id: &Self| id.id.is_some() || id.root.is_some();
        match self.kind == other.kind {
            true => differ(self.id, other.id) || roots.is_some_and(|(a, b)| a != b),
            // A type without such numbers may be the same one through another driver.
            false => told(self) && told(other),
        }
    }
}
