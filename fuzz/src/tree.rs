//! Entries of a small tree that is made up: the same in every process and on every machine.

use jackin_recovery::model::{
    Content, Digest, DigestMethod, Entry, EntryKind, InodeFlags, Name, RelPath, Time, Xattr,
};

/// An entry with this name.
pub(crate) fn entry(name: &str, kind: EntryKind) -> Entry {
    Entry {
        name: Name::new(name.as_bytes()).expect("a name"),
        kind,
        mode: 0o644,
        uid: 1000,
        gid: 1000,
        mtime: Time {
            sec: 1_790_000_000,
            nsec: 0,
        },
        ctime: Time {
            sec: 1_790_000_007,
            nsec: 0,
        },
        ino: 12,
        flags: InodeFlags::default(),
        xattrs: Vec::new(),
        link: None,
        nlink: 1,
        unstable: false,
    }
}

/// A path and the entry of a file with this content.
pub(crate) fn file(path: &str, content: &[u8]) -> (RelPath, Entry) {
    let kind = EntryKind::File(Content {
        size: content.len() as u64,
        digest: Digest::of(content),
        method: DigestMethod::Plain,
    });
    let path = RelPath::new(path.as_bytes()).expect("a path");
    let name = path
        .split()
        .map(|(_, name)| String::from_utf8_lossy(name.as_bytes()).into_owned());
    let entry = entry(&name.unwrap_or_default(), kind);
    (path, entry)
}

/// Entries without content, of every type that an archive has.
pub(crate) fn plain() -> Vec<(RelPath, Entry)> {
    let deep = "a-long-name/".repeat(12) + "its-end";
    let mut empty = file(&deep, b"");
    empty.1.mtime.nsec = 5;
    empty.1.xattrs = vec![Xattr {
        name: b"user.a=b%".as_slice().into(),
        value: b"one\ntwo\0".as_slice().into(),
    }];
    let kinds = [
        ("dir", EntryKind::Directory),
        ("link", EntryKind::Symlink(b"../else\xffwhere".as_slice().into())),
        ("pipe", EntryKind::Fifo),
        ("null", EntryKind::CharDevice(1, 3)),
        ("disk", EntryKind::BlockDevice(8, 1 << 22)),
    ];
    let made = kinds.map(|(name, kind)| {
        let path = RelPath::new(name.as_bytes()).expect("a path");
        (path, entry(name, kind))
    });
    made.into_iter().chain([empty]).collect()
}
