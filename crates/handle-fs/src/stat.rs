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
    /// Bytes that take up space; less than `size` for files with holes (and compressed ones).
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
