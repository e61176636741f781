//! A directory, read completely and exactly, so that two moments of it can be compared.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::Path;

use rustix::fs::{lgetxattr, llistxattr};
use rustix::io::Errno;

/// Everything at and below a directory; the key is the path below it, empty for the directory itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tree {
    pub(crate) nodes: BTreeMap<Vec<u8>, Node>,
}

/// One path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) kind: Kind,
    /// Permission bits with set-id and sticky.
    pub(crate) mode: u32,
    pub(crate) owner: (u32, u32),
    pub(crate) attributes: BTreeMap<Vec<u8>, Vec<u8>>,
    /// The first path of its hard link group, when at least two of them lie in this tree.
    pub(crate) group: Option<Vec<u8>>,
    pub(crate) times: Times,
}

/// What no restore can or need bring back, and what an untouched path keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Times {
    pub(crate) inode: u64,
    /// Nanoseconds since 1970.
    pub(crate) modified: i128,
    /// Nanoseconds since 1970.
    pub(crate) changed: i128,
}

/// Type and what belongs to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    File(Content),
    Directory,
    Link(Vec<u8>),
    Fifo,
    Socket,
    Character(u64),
    Block(u64),
}

/// A file's bytes, as far as a comparison needs them.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Content {
    pub(crate) size: u64,
    /// `None` when this process may not read it.
    pub(crate) digest: Option<[u8; 32]>,
    /// The first bytes, for messages.
    pub(crate) head: Vec<u8>,
}

impl Tree {
    /// Without the parts of a second that times have.
    pub(crate) fn in_whole_seconds(&mut self) {
        for node in self.nodes.values_mut() {
            node.times.modified = node.times.modified.div_euclid(1_000_000_000) * 1_000_000_000;
        }
    }

    /// Reads `root` and everything below it; links are never followed. A directory that may not be listed counts as
    /// empty.
    #[track_caller]
    pub(crate) fn read(root: &Path) -> Self {
        let mut reading = Reading::default();
        reading.visit(root, Vec::new());
        for paths in reading.linked.into_values().filter(|paths| paths.len() > 1) {
            let first = paths.iter().min().expect("it has two").clone();
            for path in &paths {
                reading.nodes.get_mut(path).expect("it was read").group = Some(first.clone());
            }
        }
        Self { nodes: reading.nodes }
    }

    /// The paths, the root left out.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &[u8]> {
        self.nodes
            .keys()
            .map(Vec::as_slice)
            .filter(|path| !path.is_empty())
    }

    /// The node at `path`.
    #[track_caller]
    pub(crate) fn at(&self, path: impl AsRef<[u8]>) -> &Node {
        let path = path.as_ref();
        self.nodes
            .get(path)
            .unwrap_or_else(|| panic!("\"{}\" is not there", path.escape_ascii()))
    }

    /// Whether there is something at `path`.
    pub(crate) fn has(&self, path: impl AsRef<[u8]>) -> bool {
        self.nodes.contains_key(path.as_ref())
    }

    /// This tree without `top` and what lies below it.
    pub(crate) fn without(&self, top: impl AsRef<[u8]>) -> Self {
        let top = top.as_ref();
        let nodes = self.nodes.iter().filter(|(path, _)| !is_within(path, top));
        Self {
            nodes: nodes.map(|(path, node)| (path.clone(), node.clone())).collect(),
        }
    }

    /// Only `top` and what lies below it, under the same paths.
    pub(crate) fn only(&self, top: impl AsRef<[u8]>) -> Self {
        let top = top.as_ref();
        let nodes = self.nodes.iter().filter(|(path, _)| is_within(path, top));
        Self {
            nodes: nodes.map(|(path, node)| (path.clone(), node.clone())).collect(),
        }
    }
}

/// Whether `path` is `top` or lies below it.
pub(crate) fn is_within(path: &[u8], top: &[u8]) -> bool {
    top.is_empty()
        || path
            .strip_prefix(top)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
}

#[derive(Default)]
struct Reading {
    nodes: BTreeMap<Vec<u8>, Node>,
    linked: BTreeMap<(u64, u64), Vec<Vec<u8>>>,
}

impl Reading {
    #[track_caller]
    fn visit(&mut self, path: &Path, key: Vec<u8>) {
        let found = fs::symlink_metadata(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let kind = kind_of(path, &found);
        if kind != Kind::Directory && found.nlink() > 1 {
            self.linked
                .entry((found.dev(), found.ino()))
                .or_default()
                .push(key.clone());
        }
        let is_directory = kind == Kind::Directory;
        let node = Node {
            kind,
            mode: found.mode() & 0o7777,
            owner: (found.uid(), found.gid()),
            attributes: attributes_of(path),
            group: None,
            times: Times {
                inode: found.ino(),
                modified: i128::from(found.mtime()) * 1_000_000_000 + i128::from(found.mtime_nsec()),
                changed: i128::from(found.ctime()) * 1_000_000_000 + i128::from(found.ctime_nsec()),
            },
        };
        self.nodes.insert(key.clone(), node);
        if is_directory {
            for entry in fs::read_dir(path).into_iter().flatten() {
                let name = entry.unwrap().file_name().into_vec();
                let below = if key.is_empty() {
                    name.clone()
                } else {
                    [&key[..], b"/", &name].concat()
                };
                self.visit(&path.join(std::ffi::OsStr::from_bytes(&name)), below);
            }
        }
    }
}

#[track_caller]
fn kind_of(path: &Path, found: &fs::Metadata) -> Kind {
    let kind = found.file_type();
    if kind.is_dir() {
        Kind::Directory
    } else if kind.is_symlink() {
        Kind::Link(fs::read_link(path).unwrap().into_os_string().into_vec())
    } else if kind.is_fifo() {
        Kind::Fifo
    } else if kind.is_socket() {
        Kind::Socket
    } else if kind.is_char_device() {
        Kind::Character(found.rdev())
    } else if kind.is_block_device() {
        Kind::Block(found.rdev())
    } else {
        Kind::File(content_of(path, found.len()))
    }
}

#[track_caller]
fn content_of(path: &Path, size: u64) -> Content {
    use std::io::Read as _;
    let Ok(mut file) = fs::File::open(path) else {
        return Content {
            size,
            digest: None,
            head: Vec::new(),
        };
    };
    let mut hasher = blake3::Hasher::new();
    let mut head = Vec::new();
    let room = usize::try_from(size)
        .unwrap_or(usize::MAX)
        .clamp(1 << 10, 1 << 16);
    let mut buffer = vec![0; room];
    loop {
        let got = file
            .read(&mut buffer)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        if got == 0 {
            break;
        }
        hasher.update(&buffer[..got]);
        if head.is_empty() {
            head.extend_from_slice(&buffer[..got.min(40)]);
        }
    }
    Content {
        size,
        digest: Some(*hasher.finalize().as_bytes()),
        head,
    }
}

/// Attributes that a system gives to files by itself: the label of its policy; on macOS whose process made a file, and which program
/// may open it.
const OF_THE_SYSTEM: [&[u8]; 4] = [
    b"security.selinux",
    b"com.apple.provenance",
    b"com.apple.macl",
    b"com.apple.rootless",
];

/// All extended attributes that this process may see, but for the system's own.
fn attributes_of(path: &Path) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let mut attributes = BTreeMap::new();
    // Most paths have none, or few.
    let mut list = vec![0_u8; 1 << 10];
    let length = llistxattr(path, &mut list[..]).unwrap_or_else(|error| match error {
        Errno::RANGE => {
            list = vec![0; 1 << 16];
            llistxattr(path, &mut list[..]).unwrap_or(0)
        }
        _ => 0,
    });
    let names = list[..length]
        .split(|byte| *byte == 0)
        .filter(|name| !name.is_empty());
    for name in names.filter(|name| !OF_THE_SYSTEM.contains(name)) {
        let mut value = vec![0_u8; 1 << 16];
        let length = lgetxattr(path, name, &mut value[..]).unwrap_or(0);
        value.truncate(length);
        attributes.insert(name.to_vec(), value);
    }
    attributes
}

impl std::fmt::Debug for Content {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes \"{}\"", self.size, self.head.escape_ascii())?;
        if usize::try_from(self.size).is_ok_and(|size| size > self.head.len()) {
            write!(f, "…")?;
        }
        match self.digest {
            Some(digest) => write!(f, " ({:02x}{:02x}{:02x})", digest[0], digest[1], digest[2]),
            None => write!(f, " (unreadable)"),
        }
    }
}
