//! What lies on a disk: inodes by number, shared between states, so that a copy of a whole state costs little.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::model::{InodeFlags, Time};

/// What an inode is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Node {
    File(Arc<Vec<u8>>),
    Directory(BTreeMap<Vec<u8>, u64>),
    Symlink(Vec<u8>),
    Fifo,
    CharDevice(u32, u32),
    BlockDevice(u32, u32),
}

/// An inode, without its number and its count of names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Inode {
    pub(crate) node: Node,
    pub(crate) mode: u32,
    pub(crate) owner: (u32, u32),
    pub(crate) mtime: Time,
    pub(crate) ctime: Time,
    pub(crate) born: Time,
    pub(crate) xattrs: BTreeMap<Vec<u8>, Vec<u8>>,
    pub(crate) flags: InodeFlags,
    /// The file system that it lies on.
    pub(crate) device: u64,
}

impl Inode {
    pub(crate) fn entries(&self) -> Option<&BTreeMap<Vec<u8>, u64>> {
        match &self.node {
            Node::Directory(entries) => Some(entries),
            _ => None,
        }
    }

    /// Takes over the metadata of `other`, neither its content nor its entries.
    pub(crate) fn dress(&mut self, other: &Self) {
        let node = self.node.clone();
        *self = Self {
            node,
            ..other.clone()
        };
    }

    pub(crate) fn bare_equals(&self, other: &Self) -> bool {
        (self.mode, self.owner, self.mtime, &self.xattrs, self.flags)
            == (other.mode, other.owner, other.mtime, &other.xattrs, other.flags)
    }
}

/// The number of the root directory.
pub(crate) const ROOT: u64 = 1;

/// All inodes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Disk(BTreeMap<u64, Arc<Inode>>);

impl Disk {
    pub(crate) fn get(&self, number: u64) -> Option<&Inode> {
        self.0.get(&number).map(|inode| &**inode)
    }

    pub(crate) fn get_mut(&mut self, number: u64) -> Option<&mut Inode> {
        self.0.get_mut(&number).map(Arc::make_mut)
    }

    pub(crate) fn put(&mut self, number: u64, inode: Inode) {
        self.0.insert(number, Arc::new(inode));
    }

    /// Takes over an inode from another state as it is there.
    pub(crate) fn share(&mut self, number: u64, from: &Self) {
        if let Some(inode) = from.0.get(&number) {
            self.0.insert(number, Arc::clone(inode));
        }
    }

    /// Whether an inode is the same in both states, cheaply: `false` may be wrong.
    pub(crate) fn is_shared(&self, number: u64, other: &Self) -> bool {
        match (self.0.get(&number), other.0.get(&number)) {
            (Some(own), Some(theirs)) => Arc::ptr_eq(own, theirs),
            (None, None) => true,
            _ => false,
        }
    }

    pub(crate) fn numbers(&self) -> impl Iterator<Item = u64> + '_ {
        self.0.keys().copied()
    }

    /// The entry `name` of the directory `dir`.
    pub(crate) fn child(&self, dir: u64, name: &[u8]) -> Option<u64> {
        self.get(dir)?.entries()?.get(name).copied()
    }

    /// How many names an inode has.
    pub(crate) fn names_of(&self, number: u64) -> u32 {
        let named = |inode: &Arc<Inode>| {
            let entries = inode.entries();
            entries.map_or(0, |entries| entries.values().filter(|to| **to == number).count())
        };
        let count: usize = self.0.values().map(named).sum();
        u32::try_from(count).unwrap_or(u32::MAX)
    }

    /// Forgets what no name leads to. `open` are kept: a process still has them.
    pub(crate) fn sweep(&mut self, open: impl IntoIterator<Item = u64>) {
        let mut kept: BTreeMap<u64, Arc<Inode>> = BTreeMap::new();
        let mut found: Vec<u64> = open.into_iter().chain([ROOT]).collect();
        while let Some(number) = found.pop() {
            let Some(inode) = self.0.get(&number) else {
                continue;
            };
            if kept.insert(number, Arc::clone(inode)).is_none()
                && let Some(entries) = inode.entries()
            {
                found.extend(entries.values());
            }
        }
        self.0 = kept;
    }
}
