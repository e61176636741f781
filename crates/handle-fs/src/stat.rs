//! Metadata of an object as the file system reports it, without following links.

use rustix::fs::FileType;

use crate::{InodeFlags, Time};

/// The type of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Symlink,
    /// A named pipe.
    Fifo,
    /// A socket.
    Socket,
    /// A character device.
    CharDevice,
    /// A block device.
    BlockDevice,
    /// Something this program does not know.
    Other,
}

impl From<FileType> for NodeKind {
    fn from(file_type: FileType) -> Self {
        match file_type {
            FileType::RegularFile => Self::File,
            FileType::Directory => Self::Directory,
            FileType::Symlink => Self::Symlink,
            FileType::Fifo => Self::Fifo,
            FileType::Socket => Self::Socket,
            FileType::CharacterDevice => Self::CharDevice,
            FileType::BlockDevice => Self::BlockDevice,
            FileType::Unknown => Self::Other,
        }
    }
}

/// The facts of one object at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// Its type.
    pub kind: NodeKind,
    /// Permission bits (`0o7777`).
    pub mode: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Size in bytes.
    pub size: u64,
    /// Bytes that take up space; less than `size` for files with holes (and some compressed ones).
    pub allocated: u64,
    /// Last change of the content.
    pub mtime: Time,
    /// Last change of anything.
    pub ctime: Time,
    /// Inode number.
    pub ino: u64,
    /// Time of creation; `None` if the file system does not keep it.
    pub born: Option<Time>,
    /// Number of links.
    pub nlink: u32,
    /// Major and minor number of a device node.
    pub rdev: (u32, u32),
    /// Flags set with `chattr`; only regular files and directories have any.
    pub flags: InodeFlags,
    /// File system and mount (0: the system does not report it). Only for comparing objects that were examined within one run.
    pub place: (u64, u64),
}

impl Stat {
    /// Returns true if both are the same object in the same state, as far as stat data can tell.
    #[must_use]
    pub fn same_moment(&self, other: &Self) -> bool {
        self.kind == other.kind
            && self.ino == other.ino
            && self.size == other.size
            && self.mtime == other.mtime
            && self.ctime == other.ctime
            && self.mode == other.mode
            && (self.uid, self.gid) == (other.uid, other.gid)
            && self.flags == other.flags
    }

    /// Returns true if this object lies on the mount whose root has `place`. On an overlay a file shows the device of the layer
    /// that holds it, so for files the mount's number decides where the kernel reports it. A directory with another device is a
    /// subvolume, a tree of its own.
    #[must_use]
    pub fn is_on(&self, place: (u64, u64)) -> bool {
        let same_mount = self.kind != NodeKind::Directory && place.1 != 0 && self.place.1 == place.1;
        same_mount || self.place == place
    }
}

/// Returns the bytes that a file of macOS takes up, from its size, its blocks of 512 bytes and its flags (`sys/stat.h` of xnu).
///
/// A compressed file, and one whose data are in the cloud, have all their bytes, in fewer blocks or none: these are no holes.
#[cfg(any(test, target_vendor = "apple"))]
pub(crate) fn allocated_of_macos(size: u64, blocks: u64, flags: u32) -> u64 {
    const UF_COMPRESSED: u32 = 0x20;
    const SF_DATALESS: u32 = 0x4000_0000;
    let taken = blocks.saturating_mul(512);
    match flags & (UF_COMPRESSED | SF_DATALESS) {
        0 => taken,
        _ => taken.max(size),
    }
}

#[cfg(test)]
mod tests {
    use super::allocated_of_macos;

    #[test]
    fn what_macos_compressed_or_left_in_the_cloud_has_no_holes() {
        let (hidden, compressed, dataless) = (0x8000, 0x20, 0x4000_0000);
        assert_eq!(allocated_of_macos(5000, 10, 0), 5120);
        assert_eq!(allocated_of_macos(5000, 8, hidden), 4096);
        for flags in [compressed, dataless, compressed | dataless | hidden] {
            assert_eq!(allocated_of_macos(5000, 0, flags), 5000);
            assert_eq!(allocated_of_macos(5000, 16, flags), 8192);
        }
    }
}
