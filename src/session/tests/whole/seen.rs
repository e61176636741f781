//! A tree as a user sees it, and what differs between two.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::Path;

/// Every path below the root.
pub(super) type Seen = BTreeMap<String, Node>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum What {
    File(Vec<u8>),
    Directory,
    Link(String),
    Fifo,
}

#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) what: What,
    pub(super) mode: u32,
    pub(super) attribute: Option<Vec<u8>>,
    /// The first path of those that are names of one file, when there are several.
    pub(super) group: Option<String>,
    pub(super) ino: u64,
    pub(super) mtime: (i64, i64),
}

impl Node {
    pub(super) fn is_dir(&self) -> bool {
        self.what == What::Directory
    }

    /// The same to a user, but for which names belong together.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let link = matches!(self.what, What::Link(_));
        self.what == other.what && (link || self.mode == other.mode) && self.attribute == other.attribute
    }
}

pub(super) fn look(root: &Path) -> Seen {
    let mut seen = Seen::new();
    for entry in walkdir::WalkDir::new(root).min_depth(1) {
        let entry = entry.unwrap();
        let path = entry
            .path()
            .strip_prefix(root)
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned();
        let found = entry.path().symlink_metadata().unwrap();
        let what = if found.is_dir() {
            What::Directory
        } else if found.is_symlink() {
            What::Link(fs::read_link(entry.path()).unwrap().to_str().unwrap().to_owned())
        } else if found.file_type().is_fifo() {
            What::Fifo
        } else {
            What::File(fs::read(entry.path()).unwrap())
        };
        let mut value = [0; 64];
        let length = rustix::fs::lgetxattr(entry.path(), "user.drawn", &mut value[..]);
        let node = Node {
            what,
            mode: found.mode() & 0o7777,
            attribute: length.ok().map(|length| value[..length].to_vec()),
            group: None,
            ino: found.ino(),
            mtime: (found.mtime(), found.mtime_nsec()),
        };
        seen.insert(path, node);
    }
    regroup(&mut seen);
    seen
}

/// Says which names belong together.
pub(super) fn regroup(seen: &mut Seen) {
    let mut names: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    for (path, node) in seen.iter().filter(|(_, node)| !node.is_dir()) {
        names.entry(node.ino).or_default().push(path.clone());
    }
    for paths in names.values() {
        let first = paths.iter().min().filter(|_| paths.len() > 1);
        for path in paths {
            if let Some(node) = seen.get_mut(path) {
                node.group = first.cloned();
            }
        }
    }
}

/// One line for each path that is another thing; `groups` also counts which names belong together.
pub(super) fn differences(wanted: &Seen, found: &Seen, groups: bool) -> Vec<String> {
    let mut lines = Vec::new();
    let paths: std::collections::BTreeSet<&String> = wanted.keys().chain(found.keys()).collect();
    for path in paths {
        let same = match (wanted.get(path), found.get(path)) {
            (Some(wanted), Some(found)) => wanted.is_like(found) && (!groups || wanted.group == found.group),
            _ => false,
        };
        if !same {
            lines.push(format!(
                "{path}: wanted {}, found {}",
                shown(wanted.get(path)),
                shown(found.get(path))
            ));
        }
    }
    lines
}

fn shown(node: Option<&Node>) -> String {
    let Some(node) = node else {
        return "nothing".to_owned();
    };
    let what = match &node.what {
        What::File(bytes) => format!(
            "file of {} bytes {:?}",
            bytes.len(),
            bytes.first().map(|b| char::from(*b))
        ),
        What::Directory => "directory".to_owned(),
        What::Link(to) => format!("link to {to}"),
        What::Fifo => "pipe".to_owned(),
    };
    format!("{what} {:o} {:?} {:?}", node.mode, node.attribute, node.group)
}
