//! Files that a commit names, by path.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use handle_fs::{Name, RelPath};

use super::{Oid, Repository};

/// Maximum number of trees of a commit that are read.
const MOST_TREES: usize = 1_000_000;
/// Maximum number of paths of a commit that are examined.
const MOST_PATHS: usize = 1_000_000;
/// Maximum depth of directories.
const DEEPEST: usize = 1000;

/// The mode of a file that may be run.
pub const EXECUTABLE: u32 = 0o100_755;
/// The mode of a symbolic link.
pub const LINK: u32 = 0o120_000;
/// The mode of a repository of its own, at a commit.
pub const COMMIT: u32 = 0o160_000;
const TREE: u32 = 0o040_000;

/// Error for a tree that cannot be read on the way to a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unreadable;

/// Mode and object by name, for one directory.
type Tree = HashMap<Vec<u8>, (u32, Oid)>;

/// Trees of commits, read one by one as needed. Paths are those of the source of files; `work` is the work tree.
pub struct Named<'a> {
    repository: &'a Repository<'a>,
    trees: RefCell<HashMap<Oid, Option<Rc<Tree>>>>,
}

impl<'a> Named<'a> {
    /// Reads commits of this repository.
    #[must_use]
    pub fn new(repository: &'a Repository<'a>) -> Self {
        Self {
            repository,
            trees: RefCell::default(),
        }
    }

    fn tree(&self, oid: Oid) -> Option<Rc<Tree>> {
        if let Some(known) = self.trees.borrow().get(&oid) {
            return known.clone();
        }
        let read = self.repository.tree(&oid).ok().flatten().map(|entries| {
            let entries = entries.into_iter();
            Rc::new(
                entries
                    .map(|entry| (entry.name, (entry.mode, entry.oid)))
                    .collect(),
            )
        });
        self.trees.borrow_mut().insert(oid, read.clone());
        read
    }

    /// Returns mode and object at a path of a work tree.
    ///
    /// # Errors
    /// [`Unreadable`] if a tree on the way cannot be read.
    pub fn entry(&self, work: &RelPath, path: &RelPath, tree: Oid) -> Result<Option<(u32, Oid)>, Unreadable> {
        let mut at = tree;
        let mut parts = relative(work, path).split(|byte| *byte == b'/').peekable();
        while let Some(part) = parts.next() {
            let entries = self.tree(at).ok_or(Unreadable)?;
            let Some((mode, oid)) = entries.get(part).copied() else {
                return Ok(None);
            };
            match (mode, parts.peek()) {
                (TREE, Some(_)) => at = oid,
                (TREE, None) | (_, Some(_)) => return Ok(None),
                (_, None) => return Ok(Some((mode, oid))),
            }
        }
        Ok(None)
    }

    /// Returns the paths that differ between two trees, or exist in only one; `None` if a tree cannot be read.
    #[must_use]
    pub fn between(&self, work: &RelPath, old: Oid, new: Oid) -> Option<BTreeSet<RelPath>> {
        let mut paths = BTreeSet::new();
        let mut stack = vec![(work.clone(), old, new, 0)];
        while let Some((at, old, new, depth)) = stack.pop() {
            if old == new {
                continue;
            }
            if paths.len() > MOST_PATHS {
                return None;
            }
            let (was, is) = (self.tree(old)?, self.tree(new).filter(|_| depth <= DEEPEST)?);
            let new = is.keys().filter(|name| !was.contains_key(*name));
            for name in was.keys().chain(new) {
                let (before, now) = (was.get(name).copied(), is.get(name).copied());
                let path = at.join(&Name::new(name).ok()?);
                match (before, now) {
                    _ if before == now => {}
                    (Some((TREE, before)), Some((TREE, now))) => stack.push((path, before, now, depth + 1)),
                    _ => {
                        for (mode, oid) in [before, now].into_iter().flatten() {
                            if mode != TREE {
                                paths.insert(path.clone());
                            } else if !self.walk(&path, oid, &mut paths) {
                                return None;
                            }
                        }
                    }
                }
            }
        }
        Some(paths)
    }

    /// Adds every path below a tree; returns false if some could not be read.
    pub fn walk(&self, work: &RelPath, tree: Oid, paths: &mut BTreeSet<RelPath>) -> bool {
        let (mut whole, mut seen) = (true, 0);
        let mut stack = vec![(work.clone(), tree, 0)];
        while let Some((at, tree, depth)) = stack.pop() {
            seen += 1;
            let within = seen <= MOST_TREES && depth <= DEEPEST && paths.len() <= MOST_PATHS;
            let entries = self.tree(tree).filter(|_| within);
            let Some(entries) = entries else {
                whole = false;
                continue;
            };
            for (name, (mode, oid)) in entries.iter() {
                let Ok(name) = Name::new(name) else {
                    whole = false;
                    continue;
                };
                let path = at.join(&name);
                if *mode == TREE {
                    stack.push((path, *oid, depth + 1));
                } else {
                    paths.insert(path);
                }
            }
        }
        whole
    }
}

/// Returns a path as git writes it.
#[must_use]
pub fn relative<'p>(work: &RelPath, path: &'p RelPath) -> &'p [u8] {
    let rest = path.as_bytes().strip_prefix(work.as_bytes()).unwrap_or_default();
    rest.strip_prefix(b"/").unwrap_or(rest)
}

/// Returns the path of a file that git names relative to the work tree.
#[must_use]
pub fn within(work: &RelPath, path: &[u8]) -> Option<RelPath> {
    let whole = if work.is_root() {
        path.to_vec()
    } else {
        [work.as_bytes(), b"/", path].concat()
    };
    RelPath::new(&whole).ok()
}
