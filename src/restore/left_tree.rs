//! Git files of a mount as a restore left them: those of the state before it, which its undo brings back, but for what it changed.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, HashMap};
use std::io;
use std::path::Path;

use super::git_index::Snapshots;
use super::left_states::LeftState;
use crate::model::{Entry, InstanceId, Manifest, Name, RelPath};
use crate::store::{Store, StoredTree, found};
use git_reader::{Files, Found};

/// States in which restores left paths, newest first.
pub(super) type LeftStates = HashMap<RelPath, Vec<LeftState>>;

/// Maximum bytes of a file that is read: only refs are.
const LARGEST: u64 = 64 << 20;

/// Returns the states in `left` that the restore with this receipt, and later ones, left.
pub(super) fn left_since(left: &LeftStates, receipt: u64) -> LeftStates {
    let since = |states: &Vec<LeftState>| {
        let states = states.iter().filter(|state| state.receipt >= receipt);
        states.cloned().collect::<Vec<_>>()
    };
    let left = left.iter().map(|(path, states)| (path.clone(), since(states)));
    left.filter(|(_, states)| !states.is_empty()).collect()
}

/// The tree that a restore left.
pub(super) struct LeftTree<'a> {
    left: &'a LeftStates,
    /// Names that the restore may have made, by directory.
    names: HashMap<RelPath, Vec<Name>>,
    before: &'a StoredTree<'a>,
    /// The tree as it is now, which alone has the contents that the restore composed.
    now: (&'a Manifest, &'a dyn Files),
    /// Snapshots of the session, which have the contents.
    snapshots: RefCell<Snapshots<'a>>,
    read: RefCell<HashMap<RelPath, Vec<u8>>>,
}

impl<'a> LeftTree<'a> {
    /// Creates the tree of the states in `left`, and of those `before` the restore.
    pub(super) fn new(
        (store, instance): (&'a Store, &InstanceId),
        left: &'a LeftStates,
        before: &'a StoredTree<'a>,
        now: (&'a Manifest, &'a dyn Files),
    ) -> Self {
        let mut names: HashMap<RelPath, Vec<Name>> = HashMap::new();
        for (parent, name) in left.keys().filter_map(RelPath::split) {
            names.entry(parent).or_default().push(name);
        }
        Self {
            left,
            names,
            before,
            now,
            snapshots: RefCell::new(Snapshots::of(store, instance)),
            read: RefCell::default(),
        }
    }

    /// Returns the newest state that a restore left at a path; `None` if none did.
    fn state(&self, path: &RelPath) -> Option<Option<&Entry>> {
        Some(self.left.get(path)?.first()?.state.as_ref())
    }
}

impl Files for LeftTree<'_> {
    fn look(&self, path: &RelPath) -> io::Result<Option<Found>> {
        let Some(state) = self.state(path) else {
            return self.before.look(path);
        };
        Ok(state.map(found))
    }

    fn names(&self, dir: &RelPath) -> io::Result<Vec<Name>> {
        let made = self.names.get(dir);
        let before = match self.before.names(dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && made.is_some() => Vec::new(),
            before => before?,
        };
        let names: BTreeSet<Name> = before
            .into_iter()
            .chain(made.into_iter().flatten().cloned())
            .collect();
        let is_there = |name: &Name| self.state(&dir.join(name)).is_none_or(|state| state.is_some());
        Ok(names.into_iter().filter(is_there).collect())
    }

    fn read_at(&self, path: &RelPath, room: &mut [u8], at: u64) -> io::Result<usize> {
        let Some(state) = self.state(path) else {
            return self.before.read_at(path, room, at);
        };
        let (now, live) = self.now;
        let content = state.and_then(Entry::content);
        let is_there = now.entry(path).and_then(Entry::content);
        if content
            .zip(is_there)
            .is_some_and(|(left, is)| left.digest == is.digest)
        {
            return live.read_at(path, room, at);
        }
        let mut read = self.read.borrow_mut();
        if !read.contains_key(path) {
            let content = content.filter(|content| content.size <= LARGEST);
            let bytes = content.and_then(|content| self.snapshots.borrow_mut().read(content));
            read.insert(path.clone(), bytes.ok_or(io::ErrorKind::NotFound)?);
        }
        let from = usize::try_from(at).map_err(io::Error::other)?;
        let rest = read.get(path).and_then(|bytes| bytes.get(from..));
        io::Read::read(&mut rest.unwrap_or_default(), room)
    }

    fn effort(&self) -> &Cell<u64> {
        self.before.effort()
    }

    fn host_path(&self) -> Option<&Path> {
        self.before.host_path()
    }
}
