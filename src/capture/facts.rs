//! Conversion of file-system facts into manifest entries, and comparison of the two.

use std::io;

use crate::model::{Directory, Entry, EntryKind, Gap, Name};
use handle_fs::{NodeKind, Stat};

/// Returns true if the facts recorded then equal the facts now.
pub(crate) fn same_moment(old: &Entry, stat: &Stat) -> bool {
    let kind = match (&old.kind, stat.kind) {
        (EntryKind::File(content), NodeKind::File) => content.size == stat.size,
        (EntryKind::Directory, NodeKind::Directory)
        | (EntryKind::Symlink(_), NodeKind::Symlink)
        | (EntryKind::Fifo, NodeKind::Fifo)
        | (EntryKind::Socket, NodeKind::Socket) => true,
        (EntryKind::CharDevice(major, minor), NodeKind::CharDevice)
        | (EntryKind::BlockDevice(major, minor), NodeKind::BlockDevice) => (*major, *minor) == stat.rdev,
        _ => false,
    };
    kind && old.ino == stat.ino
        && old.mtime == stat.mtime
        && old.ctime == stat.ctime
        && old.mode == stat.mode
        && (old.uid, old.gid) == (stat.uid, stat.gid)
        // A manifest of a version that did not record them says none: then it is looked at anew.
        && old.flags == stat.flags
}

/// Returns an entry with the facts of `stat`, without attributes and link.
pub(crate) fn entry(name: Name, stat: &Stat, kind: EntryKind) -> Entry {
    Entry {
        name,
        kind,
        mode: stat.mode,
        uid: stat.uid,
        gid: stat.gid,
        mtime: stat.mtime,
        ctime: stat.ctime,
        ino: stat.ino,
        flags: stat.flags,
        xattrs: Vec::new(),
        link: None,
        nlink: links(stat),
        unstable: false,
    }
}

/// Returns the number of names; 1 for a directory, whose links are its subdirectories.
pub(super) fn links(stat: &Stat) -> u32 {
    if stat.kind == NodeKind::Directory {
        1
    } else {
        stat.nlink
    }
}

/// Inserts a gap in its sorted place.
pub(crate) fn insert_gap(directory: &mut Directory, gap: Gap) {
    if let Err(at) = directory.gaps.binary_search_by(|known| known.name.cmp(&gap.name)) {
        directory.gaps.insert(at, gap);
    }
}

/// Returns true if the object is gone, or if it or a directory above it was replaced since the parent was listed.
pub(crate) fn is_gone(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::InvalidInput
    ) || handle_fs::is_through_link(error)
}

/// Returns the system's message without its number.
pub(crate) fn words(error: &io::Error) -> String {
    let text = error.to_string();
    let end = text.find(" (os error").unwrap_or(text.len());
    text.get(..end).unwrap_or(&text).to_lowercase()
}
