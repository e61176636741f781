//! A world as a user sees it: paths with their objects. Also functions with which tests create and change trees.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use super::disk::{Inode, Node, ROOT};
use super::world::World;
use crate::{InodeFlags, Time};

/// An object as a user sees it. Names of one object share a group, which is its first path.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Object {
    /// Type and content.
    pub what: String,
    /// Permission bits.
    pub mode: u32,
    /// Numeric user and group.
    pub owner: (u32, u32),
    /// Time of the last change of content, in nanoseconds since 1970.
    pub mtime: i128,
    /// Extended attributes by name.
    pub xattrs: BTreeMap<Vec<u8>, Vec<u8>>,
    /// Inode flags, as `lsattr` shows them.
    pub flags: String,
    /// First path of an object that has several names.
    pub group: Option<String>,
}

/// All paths below one.
pub type Tree = BTreeMap<String, Object>;

impl World {
    /// Returns the objects at and below `path`.
    pub fn tree(&self, path: &str) -> Tree {
        let mut tree = Tree::new();
        let mut first: BTreeMap<u64, String> = BTreeMap::new();
        let Ok(top) = self.find(Path::new(path)) else {
            return tree;
        };
        let mut found = vec![(String::new(), top)];
        let mut paths: BTreeMap<String, u64> = BTreeMap::new();
        while let Some((path, number)) = found.pop() {
            let entries = self.live.get(number).and_then(Inode::entries);
            for (name, child) in entries.into_iter().flatten() {
                let name = String::from_utf8_lossy(name);
                let below = if path.is_empty() {
                    name.into_owned()
                } else {
                    format!("{path}/{name}")
                };
                found.push((below, *child));
            }
            paths.insert(path, number);
        }
        let mut names: BTreeMap<u64, usize> = BTreeMap::new();
        for (path, number) in &paths {
            first.entry(*number).or_insert_with(|| path.clone());
            *names.entry(*number).or_default() += 1;
        }
        for (path, number) in paths {
            let Some(inode) = self.live.get(number) else {
                continue;
            };
            let linked = inode.entries().is_none() && names.get(&number).is_some_and(|count| *count > 1);
            let group = first.get(&number).filter(|_| linked).cloned();
            tree.insert(path, object(inode, group));
        }
        tree
    }

    fn inode_at(&mut self, path: &str) -> &mut Inode {
        let number = self.find(Path::new(path)).unwrap();
        self.live.get_mut(number).unwrap()
    }

    /// Makes, or replaces, what lies at `path`; makes the directories on the way.
    pub fn put(&mut self, path: &str, node: Node, mode: u32) {
        let (above, name) = path.rsplit_once('/').unwrap();
        if !above.is_empty() && self.find(Path::new(above)).is_err() {
            self.put(above, Node::Directory(BTreeMap::new()), 0o755);
        }
        self.pass(1_000_000);
        let dir = self
            .find(Path::new(if above.is_empty() { "/" } else { above }))
            .unwrap();
        let device = self.live.get(dir).unwrap().device;
        let at = self.now();
        let number = self.fresh(node, mode, device, at);
        let name = self.live.stored(dir, name.as_bytes());
        self.edit(vec![(dir, name, Some(number))], &[]);
    }

    /// Makes a file.
    pub fn put_file(&mut self, path: &str, content: &str) {
        self.put(path, Node::File(content.as_bytes().to_vec().into()), 0o644);
    }

    /// Writes into the file that is there.
    pub fn rewrite(&mut self, path: &str, content: &str) {
        self.pass(1_000_000);
        let at = self.now();
        let inode = self.inode_at(path);
        inode.node = Node::File(content.as_bytes().to_vec().into());
        (inode.mtime, inode.ctime) = (at, at);
    }

    /// Changes the permission bits of an object.
    pub fn set_mode(&mut self, path: &str, mode: u32) {
        self.pass(1_000_000);
        let at = self.now();
        let inode = self.inode_at(path);
        (inode.mode, inode.ctime) = (mode, at);
    }

    /// Changes the owner of an object.
    pub fn set_owner(&mut self, path: &str, owner: (u32, u32)) {
        self.pass(1_000_000);
        let at = self.now();
        let inode = self.inode_at(path);
        (inode.owner, inode.ctime) = (owner, at);
    }

    /// Sets an extended attribute of an object.
    pub fn set_attribute(&mut self, path: &str, name: &str, value: &str) {
        self.pass(1_000_000);
        let at = self.now();
        let inode = self.inode_at(path);
        inode.xattrs.insert(name.into(), value.into());
        inode.ctime = at;
    }

    /// Sets the inode flags of an object.
    pub fn set_flags(&mut self, path: &str, flags: InodeFlags) {
        self.inode_at(path).flags = flags;
    }

    /// Removes what lies at `path`, with all below it.
    pub fn cut(&mut self, path: &str) {
        self.pass(1_000_000);
        let (dir, name) = self.locate(None, Path::new(path), false).unwrap();
        self.edit(vec![(dir, name, None)], &[]);
    }

    /// Moves what lies at `from`.
    pub fn carry(&mut self, from: &str, to: &str) {
        self.pass(1_000_000);
        let number = self.find(Path::new(from)).unwrap();
        let (old_dir, old) = self.locate(None, Path::new(from), false).unwrap();
        let (new_dir, new) = self.locate(None, Path::new(to), false).unwrap();
        let recased = self.recased((old_dir, &old), (new_dir, &new), Path::new(to));
        let new = recased.unwrap_or(new);
        self.edit(
            vec![(old_dir, old, None), (new_dir, new, Some(number))],
            &[number],
        );
    }

    /// Gives what lies in the directory at `dir` another name, of any bytes.
    pub fn rename_within(&mut self, dir: &str, from: &[u8], to: &[u8]) {
        self.pass(1_000_000);
        let dir = self.find(Path::new(dir)).unwrap();
        let number = self.live.child(dir, from).unwrap();
        let edits = vec![(dir, from.to_vec(), None), (dir, to.to_vec(), Some(number))];
        self.edit(edits, &[number]);
    }

    /// Gives the file at `from` the name `to` as well.
    pub fn name_again(&mut self, from: &str, to: &str) {
        self.pass(1_000_000);
        let number = self.find(Path::new(from)).unwrap();
        let (dir, name) = self.locate(None, Path::new(to), false).unwrap();
        self.edit(vec![(dir, name, Some(number))], &[number]);
    }

    /// The names in the directory at `path`.
    pub fn names_in(&self, path: &str) -> BTreeSet<String> {
        let number = self.find(Path::new(path)).unwrap_or(ROOT);
        let entries = self.live.get(number).and_then(Inode::entries);
        let text = |name: &Vec<u8>| std::ffi::OsStr::from_bytes(name).to_string_lossy().into_owned();
        entries
            .into_iter()
            .flat_map(|entries| entries.keys().map(text))
            .collect()
    }
}

fn object(inode: &Inode, group: Option<String>) -> Object {
    let what = match &inode.node {
        Node::File(bytes) => format!("file {}", bytes.escape_ascii()),
        Node::Directory(_) => "directory".to_owned(),
        Node::Symlink(target) => format!("link {}", target.escape_ascii()),
        other => format!("{other:?}"),
    };
    let nanos = |time: Time| time.nanos();
    Object {
        what,
        mode: inode.mode,
        owner: inode.owner,
        mtime: nanos(inode.mtime),
        xattrs: inode.xattrs.clone(),
        flags: format!("{:?}", inode.flags),
        group,
    }
}
