//! Objects on a disk: inodes by number, shared between states, so that a copy of a whole state costs little.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock};

use crate::{InodeFlags, Time};

/// Type and content of an inode.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Node {
    /// A regular file with its content.
    File(Arc<Vec<u8>>),
    /// A directory: inode numbers by name.
    Directory(BTreeMap<Vec<u8>, u64>),
    /// A symbolic link with its target.
    Symlink(Vec<u8>),
    /// A named pipe.
    Fifo,
    /// A character device (major, minor).
    CharDevice(u32, u32),
    /// A block device (major, minor).
    BlockDevice(u32, u32),
}

/// An inode, without its number and its count of names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inode {
    pub node: Node,
    pub mode: u32,
    pub owner: (u32, u32),
    pub mtime: Time,
    pub ctime: Time,
    pub born: Time,
    pub xattrs: BTreeMap<Vec<u8>, Vec<u8>>,
    pub flags: InodeFlags,
    /// The file system that it lies on.
    pub device: u64,
}

impl Inode {
    pub fn entries(&self) -> Option<&BTreeMap<Vec<u8>, u64>> {
        match &self.node {
            Node::Directory(entries) => Some(entries),
            _ => None,
        }
    }

    /// Takes over the metadata of `other`, neither its content nor its entries.
    pub fn dress(&mut self, other: &Self) {
        let node = self.node.clone();
        *self = Self {
            node,
            ..other.clone()
        };
    }

    pub fn bare_equals(&self, other: &Self) -> bool {
        (self.mode, self.owner, self.mtime, &self.xattrs, self.flags)
            == (other.mode, other.owner, other.mtime, &other.xattrs, other.flags)
    }
}

/// The number of the root directory.
pub(super) const ROOT: u64 = 1;

/// All inodes.
#[derive(Clone, Debug, Default)]
pub struct Disk {
    inodes: BTreeMap<u64, Arc<Inode>>,
    /// True if names that differ in case only, or in how a letter is composed, are one.
    pub(super) folds: bool,
    /// Number of names of each inode that has one, counted when it is asked for; empty again once a directory may have changed.
    names: OnceLock<HashMap<u64, u32>>,
}

impl Disk {
    /// Returns an inode.
    pub fn get(&self, number: u64) -> Option<&Inode> {
        self.inodes.get(&number).map(|inode| &**inode)
    }

    /// Returns an inode to be changed.
    pub fn get_mut(&mut self, number: u64) -> Option<&mut Inode> {
        let inode = self.inodes.get_mut(&number)?;
        if inode.entries().is_some() {
            self.names.take();
        }
        Some(Arc::make_mut(inode))
    }

    /// Adds or replaces an inode.
    pub fn put(&mut self, number: u64, inode: Inode) {
        self.insert(number, Arc::new(inode));
    }

    /// Takes over an inode from another state as it is there.
    pub fn share(&mut self, number: u64, from: &Self) {
        if let Some(inode) = from.inodes.get(&number) {
            self.insert(number, Arc::clone(inode));
        }
    }

    fn insert(&mut self, number: u64, inode: Arc<Inode>) {
        let names_nothing = |inode: &Inode| inode.entries().is_none_or(BTreeMap::is_empty);
        let is_counted = names_nothing(&inode);
        let old = self.inodes.insert(number, inode);
        if !is_counted || !old.is_none_or(|old| names_nothing(&old)) {
            self.names.take();
        }
    }

    /// Returns true if an inode is the same in both states. The check is cheap: `false` may be wrong.
    pub fn is_shared(&self, number: u64, other: &Self) -> bool {
        match (self.inodes.get(&number), other.inodes.get(&number)) {
            (Some(own), Some(theirs)) => Arc::ptr_eq(own, theirs),
            (None, None) => true,
            _ => false,
        }
    }

    /// Returns the numbers of all inodes.
    pub fn numbers(&self) -> impl Iterator<Item = u64> + '_ {
        self.inodes.keys().copied()
    }

    /// The entry `name` of the directory `dir`.
    pub fn child(&self, dir: u64, name: &[u8]) -> Option<u64> {
        let entries = self.get(dir)?.entries()?;
        let exact = entries.get(name).copied();
        exact.or_else(|| entries.get(&*self.alike(entries, name)?).copied())
    }

    /// The name under which the directory `dir` keeps what `name` leads to; `name` itself if that is nothing.
    pub(super) fn stored(&self, dir: u64, name: &[u8]) -> Vec<u8> {
        let entries = self.get(dir).and_then(Inode::entries);
        let exact = entries.is_none_or(|entries| entries.contains_key(name));
        let alike = entries
            .filter(|_| !exact)
            .and_then(|entries| self.alike(entries, name));
        alike.unwrap_or_else(|| name.to_vec())
    }

    fn alike(&self, entries: &BTreeMap<Vec<u8>, u64>, name: &[u8]) -> Option<Vec<u8>> {
        let wanted = self.folds.then(|| key(name))?;
        entries.keys().find(|other| key(other) == wanted).cloned()
    }

    /// Returns the number of names that an inode has.
    pub fn names_of(&self, number: u64) -> u32 {
        let names = self.names.get_or_init(|| {
            let mut names = HashMap::new();
            for to in self
                .inodes
                .values()
                .filter_map(|inode| inode.entries())
                .flat_map(BTreeMap::values)
            {
                *names.entry(*to).or_default() += 1;
            }
            names
        });
        names.get(&number).copied().unwrap_or_default()
    }

    /// Forgets what no name leads to. `open` are kept: a process still has them.
    pub fn sweep(&mut self, open: impl IntoIterator<Item = u64>) {
        let mut kept: BTreeMap<u64, Arc<Inode>> = BTreeMap::new();
        let mut found: Vec<u64> = open.into_iter().chain([ROOT]).collect();
        while let Some(number) = found.pop() {
            let Some(inode) = self.inodes.get(&number) else {
                continue;
            };
            if kept.insert(number, Arc::clone(inode)).is_none()
                && let Some(entries) = inode.entries()
            {
                found.extend(entries.values());
            }
        }
        self.inodes = kept;
        self.names.take();
    }
}

/// The form in which names are compared that fold: in small letters, and composed.
pub(super) fn key(name: &[u8]) -> Vec<u8> {
    /// A few letters with a mark: the base letter, the mark, both in one.
    const COMPOSED: [(char, char, char); 8] = [
        ('a', '\u{308}', 'ä'),
        ('o', '\u{308}', 'ö'),
        ('u', '\u{308}', 'ü'),
        ('e', '\u{301}', 'é'),
        ('e', '\u{300}', 'è'),
        ('n', '\u{303}', 'ñ'),
        ('a', '\u{30a}', 'å'),
        ('c', '\u{327}', 'ç'),
    ];
    let Ok(text) = std::str::from_utf8(name) else {
        return name.to_vec();
    };
    let mut small: String = text.chars().flat_map(char::to_lowercase).collect();
    for (base, mark, composed) in COMPOSED {
        small = small.replace(&[base, mark].iter().collect::<String>(), &composed.to_string());
    }
    small.into_bytes()
}
