//! Facts of a node, as stat(2) reports them.

use crate::model::{Digest, Entry, EntryKind, Time};

/// Permission bits of the directories above the mounts.
const DIRECTORY_MODE: u32 = 0o555;
/// Permission bits of a symbolic link, which mean nothing.
pub(super) const LINK_MODE: u32 = 0o777;

/// Type of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeType {
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
    /// A character device (major, minor).
    CharDevice(u32, u32),
    /// A block device (major, minor).
    BlockDevice(u32, u32),
}

/// Facts of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeFacts {
    /// Its number, which all paths of a hard link group have in common.
    pub number: u64,
    /// Its type.
    pub kind: NodeType,
    /// Permission bits (`0o7777`).
    pub mode: u32,
    /// Numeric owner and group.
    pub owner: (u32, u32),
    /// Number of links; 1 for directories.
    pub nlink: u32,
    /// Size in bytes, holes included.
    pub size: u64,
    /// Bytes of data, without holes.
    pub stored: u64,
    /// Last change of the content.
    pub mtime: Time,
    /// Last change of anything.
    pub ctime: Time,
    /// True if it lies in a snapshot, where nothing changes.
    pub is_stored: bool,
}

impl NodeFacts {
    /// Returns the facts of a directory above the mounts.
    pub(super) fn directory(number: u64, owner: (u32, u32), at: Time) -> Self {
        Self {
            number,
            kind: NodeType::Directory,
            mode: DIRECTORY_MODE,
            owner,
            nlink: 1,
            size: 0,
            stored: 0,
            mtime: at,
            ctime: at,
            is_stored: false,
        }
    }

    /// Returns the facts of a directory of which only the number matters.
    #[must_use]
    pub fn dot(number: u64) -> Self {
        Self::directory(number, (0, 0), Time::default())
    }

    /// Returns the facts of a recorded object; `stored` is the number of bytes of its content without holes.
    pub(super) fn of(number: u64, entry: &Entry, stored: Option<u64>) -> Self {
        let (kind, size) = match &entry.kind {
            EntryKind::File(content) => (NodeType::File, content.size),
            EntryKind::Directory => (NodeType::Directory, 0),
            EntryKind::Symlink(target) => (NodeType::Symlink, target.len() as u64),
            EntryKind::Fifo => (NodeType::Fifo, 0),
            EntryKind::Socket => (NodeType::Socket, 0),
            EntryKind::CharDevice(major, minor) => (NodeType::CharDevice(*major, *minor), 0),
            EntryKind::BlockDevice(major, minor) => (NodeType::BlockDevice(*major, *minor), 0),
        };
        Self {
            number,
            kind,
            mode: entry.mode,
            owner: (entry.uid, entry.gid),
            nlink: entry.nlink.max(1),
            size,
            stored: stored.unwrap_or(size).min(size),
            mtime: entry.mtime,
            ctime: entry.ctime,
            is_stored: true,
        }
    }
}

/// Returns the number of what these words name. Numbers of nodes in snapshots lie below all of them.
pub(super) fn node_number(words: &[&str]) -> u64 {
    number_of(words) | 1 << 62
}

/// Returns a number below 2^62 and above 2^61 for these words.
pub(super) fn number_of(words: &[&str]) -> u64 {
    // No word has a NUL in it.
    let digest = Digest::of(words.join("\0").as_bytes());
    let [a, b, c, d, e, f, g, h, ..] = digest.0;
    u64::from_le_bytes([a, b, c, d, e, f, g, h]) >> 3 | 1 << 61
}
