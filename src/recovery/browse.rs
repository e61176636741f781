//! Snapshots as a tree of read-only files, for a file system that shows them.
//!
//! The top has a directory for each session, which has one for each snapshot, which has one for each mount. Nodes are known by numbers
//! that depend on nothing but what they are, so that they are the same in each run. A manifest is read when a mount of a snapshot is
//! first looked at; of contents only the frames that hold the bytes. Locks are held only while archives are opened: a snapshot that is
//! deleted meanwhile is [`BrowseError::Stale`] from then on.

mod content;
mod directory;
mod error;
mod facts;
mod index;
mod tree;

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};

pub use content::OpenedFile;
pub use directory::OpenedDirectory;
pub use error::BrowseError;
pub use facts::{NodeFacts, NodeType};

use self::facts::{LINK_MODE, node_number};
use self::index::{Index, LATEST, SessionEntry, SnapshotEntry};
use self::tree::{SnapshotTree, TreeKey, lock};
use super::{Keys, Recovery, RecoveryError, no_keys};
use crate::capture::PrivateOverlay;
use crate::model::{InstanceId, SnapshotId, SnapshotRecord, Time, Xattr};
use crate::session::{Allowed, ensure_outside_session, find_called, sessions_covering};
use crate::store::{Store, StoreError};

/// Number of the top.
pub const TOP: u64 = 1;
/// Decompressed frames that are kept in memory, of about 1 MiB each.
const FRAMES: usize = 48;
/// Entries of manifests that are kept in memory, unless a single mount of a snapshot has more.
const ENTRIES: u64 = 2_000_000;
/// Mounts of snapshots that are kept in memory: each holds its archives open.
const TREES: usize = 8;

/// Request for a tree of snapshots.
#[derive(Clone)]
pub struct BrowseRequest<'a> {
    /// The only session in it; `None` for all.
    pub session: Option<&'a str>,
    /// True to show content that is likely to hold secrets.
    pub show_secrets: bool,
    /// Private keys for encrypted files.
    pub keys: Keys<'a>,
}

impl Default for BrowseRequest<'_> {
    fn default() -> Self {
        Self {
            session: None,
            show_secrets: false,
            keys: &no_keys,
        }
    }
}

/// A tree of snapshots. It can be used from several threads at once, and shows what other processes change in the store.
pub struct Browser {
    store: RwLock<Store>,
    /// Current directory of the caller, whose session `here` leads to.
    current: PathBuf,
    only: Option<InstanceId>,
    shows_secrets: bool,
    /// Owner of the directories above the mounts.
    owner: (u32, u32),
    index: Mutex<Option<Arc<Index>>>,
    places: Mutex<HashMap<u64, Place>>,
    trees: Mutex<Trees>,
    /// Held while a manifest is read, so that it is read once.
    loading: Mutex<()>,
}

/// Node above the mounts.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    Session(InstanceId),
    Snapshot(InstanceId, SnapshotId),
    /// A symbolic link to a name beside it.
    Link(String, Time),
}

/// Mounts of snapshots.
#[derive(Default)]
struct Trees {
    /// All that were looked at, by the number of their root.
    known: BTreeMap<u64, Arc<TreeKey>>,
    /// Those in memory; the one used last stands in front.
    open: Vec<Arc<SnapshotTree>>,
}

impl Recovery<'_> {
    /// Opens the snapshots as a tree of read-only files.
    ///
    /// ```
    /// # use jackin_recovery::environment::Environment;
    /// # use jackin_recovery::recovery::{BrowseRequest, ContractRequest, Recovery, TOP};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let scratch = tempfile::tempdir()?;
    /// # let project = scratch.path().canonicalize()?.join("project");
    /// # let environment = Environment {
    /// #     home: Some(scratch.path().join("home")),
    /// #     current: project.clone(),
    /// #     ..Environment::default()
    /// # };
    /// # std::fs::create_dir(&project)?;
    /// # let recovery = Recovery::open(&environment);
    /// std::fs::write(project.join("notes"), "one\n")?;
    /// let contract = recovery.contract(&ContractRequest::of_directory(&project))?;
    /// let session = recovery.begin(&(&contract).into())?.into_id();
    /// std::fs::write(project.join("notes"), "two\n")?;
    /// let tree = recovery.browse(&BrowseRequest::default())?;
    /// let mut node = TOP;
    /// for name in [session.as_str(), "baseline", "project", "notes"] {
    ///     node = tree.child(node, name.as_ref())?.number;
    /// }
    /// let file = tree.open(node)?;
    /// assert_eq!(tree.read(&file, 0, 100)?, b"one\n");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`RecoveryError::Session`] if no session goes by the name, or the caller runs in a session; [`RecoveryError::NothingRecorded`];
    /// [`RecoveryError::Store`].
    pub fn browse(&self, request: &BrowseRequest<'_>) -> Result<Browser, RecoveryError> {
        let open = || match (self.store_for_reading()?, request.session) {
            (Some(store), _) => Ok(store),
            (None, Some(name)) => Err(RecoveryError::no_store(name)),
            (None, None) => Err(RecoveryError::NothingRecorded),
        };
        let mut store = open()?;
        ensure_outside_session(&store, self.environment, Allowed::Nothing)?;
        let named = request.session;
        let named = named.map(|word| find_called(&store, self.environment, word));
        let named = named.transpose()?;
        // The closing snapshot of an orphaned session may be what is looked for.
        let rows = match &named {
            Some(row) => vec![row.clone()],
            None => sessions_covering(&store, &self.environment.current)?,
        };
        if rows.iter().any(|row| row.ended_at.is_none()) {
            drop(self.settle_each(store, rows)?);
            store = open()?;
        }
        Ok(Browser {
            store: RwLock::new(store.unlocked_by((request.keys)()?).keeping_frames(FRAMES)),
            current: self.environment.current.clone(),
            only: named.map(|row| row.id),
            shows_secrets: request.show_secrets,
            owner: handle_fs::own_ids(),
            index: Mutex::default(),
            places: Mutex::default(),
            trees: Mutex::default(),
            loading: Mutex::default(),
        })
    }
}

impl Browser {
    /// Returns the facts of a node.
    ///
    /// # Errors
    /// [`BrowseError::Stale`] if it was deleted; [`BrowseError::Store`].
    pub fn facts(&self, number: u64) -> Result<NodeFacts, BrowseError> {
        if number == TOP {
            return Ok(self.directory(TOP, self.index()?.changed_at()));
        }
        match self.place(number) {
            Some(Place::Session(id)) => Ok(self.session_facts(self.index()?.session(&id)?)),
            Some(Place::Snapshot(session, id)) => {
                let index = self.index()?;
                let snapshot = index.session(&session)?.snapshot(&id)?;
                Ok(self.snapshot_facts(&session, snapshot))
            }
            Some(Place::Link(target, at)) => Ok(self.link_facts(number, &target, at)),
            None => {
                let (tree, at) = self.tree(number)?;
                tree.facts(at)
            }
        }
    }

    /// Returns the facts of a node in a directory.
    ///
    /// # Errors
    /// [`BrowseError::Missing`]; [`BrowseError::NotDirectory`]; as [`Self::facts`].
    pub fn child(&self, parent: u64, name: &OsStr) -> Result<NodeFacts, BrowseError> {
        if parent != TOP && self.place(parent).is_none() {
            let (tree, at) = self.tree(parent)?;
            return tree.child(at, name);
        }
        let listed = self.listed(parent)?;
        let found = listed.into_iter().find(|(known, _)| OsStr::new(known) == name);
        if let Some((_, facts)) = found {
            return Ok(facts);
        }
        // A snapshot is listed by its word alone, and found by its id as well.
        let by_id = match (self.place(parent), name.to_str().map(SnapshotId::parse)) {
            (Some(Place::Session(session)), Some(Ok(id))) => {
                let index = self.index()?;
                let snapshot = index.session(&session)?.snapshot(&id).ok().cloned();
                snapshot.map(|snapshot| self.link((parent, id.as_str()), &snapshot.word, snapshot.taken_at))
            }
            _ => None,
        };
        by_id.ok_or(BrowseError::Missing)
    }

    /// Opens a directory for listing it.
    ///
    /// # Errors
    /// [`BrowseError::NotDirectory`]; [`BrowseError::Unlisted`]; as [`Self::facts`].
    pub fn open_directory(&self, number: u64) -> Result<OpenedDirectory, BrowseError> {
        if number != TOP && self.place(number).is_none() {
            let (tree, at) = self.tree(number)?;
            return OpenedDirectory::in_tree(tree, at);
        }
        let parent = match self.place(number) {
            Some(Place::Snapshot(session, _)) => session_number(&session),
            _ => TOP,
        };
        Ok(OpenedDirectory::of_names(number, parent, self.listed(number)?))
    }

    /// Returns the target of a symbolic link.
    ///
    /// # Errors
    /// [`BrowseError::NotFile`] for another object; [`BrowseError::Hidden`]; as [`Self::facts`].
    pub fn target(&self, number: u64) -> Result<Vec<u8>, BrowseError> {
        match self.place(number) {
            Some(Place::Link(target, _)) => Ok(target.into_bytes()),
            Some(_) => Err(BrowseError::NotFile),
            None if number == TOP => Err(BrowseError::NotFile),
            None => {
                let (tree, at) = self.tree(number)?;
                tree.target(at, self.shows_secrets)
            }
        }
    }

    /// Returns the extended attributes of a node. Those of files that are likely to hold secrets are not shown.
    ///
    /// # Errors
    /// As [`Self::facts`].
    pub fn attributes(&self, number: u64) -> Result<Vec<Xattr>, BrowseError> {
        if number == TOP || self.place(number).is_some() {
            return Ok(Vec::new());
        }
        let (tree, at) = self.tree(number)?;
        tree.attributes(at, self.shows_secrets)
    }

    /// Opens a regular file.
    ///
    /// # Errors
    /// [`BrowseError::NotFile`]; [`BrowseError::Hidden`] for content that is not shown; as [`Self::facts`].
    pub fn open(&self, number: u64) -> Result<OpenedFile, BrowseError> {
        if number == TOP || self.place(number).is_some() {
            return Err(BrowseError::NotFile);
        }
        let (tree, at) = self.tree(number)?;
        OpenedFile::open(tree, at, self.shows_secrets)
    }

    /// Reads at most `length` bytes of a file, from the byte `at` on.
    ///
    /// # Errors
    /// [`BrowseError::Hidden`] for a part with a login in it; [`BrowseError::Stale`]; [`BrowseError::Store`] for damaged content.
    pub fn read(&self, file: &OpenedFile, at: u64, length: usize) -> Result<Vec<u8>, BrowseError> {
        self.check(file.tree())?;
        file.read(at, length)
    }

    /// Returns begin and end of the first stretch of data of a file that ends behind `at`; `None` if only a hole follows.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn data_from(&self, file: &OpenedFile, at: u64) -> Result<Option<(u64, u64)>, BrowseError> {
        self.check(file.tree())?;
        file.data_from(at)
    }

    fn store(&self) -> RwLockReadGuard<'_, Store> {
        self.store.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the sessions and snapshots as they are now.
    fn index(&self) -> Result<Arc<Index>, BrowseError> {
        let mut known = lock(&self.index);
        let mark = self.store().change_mark()?;
        let generation = match &*known {
            Some(index) if index.mark == mark => return Ok(Arc::clone(index)),
            Some(index) => index.generation + 1,
            None => 1,
        };
        let mut store = self.store.write().unwrap_or_else(PoisonError::into_inner);
        store.look_again()?;
        let fresh = Index::read(&store, mark, generation, &self.current, self.only.as_ref())?;
        Ok(Arc::clone(known.insert(Arc::new(fresh))))
    }

    fn place(&self, number: u64) -> Option<Place> {
        lock(&self.places).get(&number).cloned()
    }

    fn remember(&self, number: u64, place: Place) -> u64 {
        lock(&self.places).insert(number, place);
        number
    }

    /// Returns the names in a directory above the mounts, with their facts.
    fn listed(&self, number: u64) -> Result<Vec<(String, NodeFacts)>, BrowseError> {
        let index = self.index()?;
        if number == TOP {
            let sessions = index.sessions.iter();
            let mut listed: Vec<_> = sessions
                .map(|session| (session.id.to_string(), self.session_facts(session)))
                .collect();
            let links = index.links();
            listed.extend(links.map(|(name, session)| {
                let facts = self.link((TOP, name), session.id.as_str(), session.changed_at());
                (name.to_owned(), facts)
            }));
            return Ok(listed);
        }
        match self.place(number) {
            Some(Place::Session(id)) => {
                let session = index.session(&id)?;
                let snapshots = session.snapshots.iter();
                let mut listed: Vec<_> = snapshots
                    .map(|snapshot| (snapshot.word.clone(), self.snapshot_facts(&id, snapshot)))
                    .collect();
                if let Some(latest) = session.latest() {
                    let facts = self.link((number, LATEST), &latest.word, latest.taken_at);
                    listed.push((LATEST.to_owned(), facts));
                }
                Ok(listed)
            }
            Some(Place::Snapshot(session, id)) => {
                index.session(&session)?.snapshot(&id)?;
                let record = self.record(&id)?;
                let mounts = record.mounts.iter().filter(|mount| mount.manifest.is_some());
                mounts
                    .map(|mount| {
                        let label = &mount.coverage.label;
                        let tree = self.tree_of(&index, &record, label, number)?;
                        Ok((label.clone(), tree.facts(0)?))
                    })
                    .collect()
            }
            Some(Place::Link(..)) | None => Err(BrowseError::NotDirectory),
        }
    }

    fn record(&self, id: &SnapshotId) -> Result<SnapshotRecord, BrowseError> {
        match self.store().record(id) {
            Err(StoreError::NoSnapshot { .. } | StoreError::LostRecord { .. }) => Err(BrowseError::Stale),
            other => Ok(other?),
        }
    }

    fn directory(&self, number: u64, at: Time) -> NodeFacts {
        NodeFacts::directory(number, self.owner, at)
    }

    fn session_facts(&self, session: &SessionEntry) -> NodeFacts {
        let number = self.remember(session_number(&session.id), Place::Session(session.id.clone()));
        self.directory(number, session.changed_at())
    }

    fn snapshot_facts(&self, session: &InstanceId, snapshot: &SnapshotEntry) -> NodeFacts {
        let place = Place::Snapshot(session.clone(), snapshot.id.clone());
        let number = self.remember(node_number(&["snapshot", snapshot.id.as_str()]), place);
        self.directory(number, snapshot.taken_at)
    }

    /// Returns the facts of a symbolic link, which is known by its directory and its name.
    fn link(&self, (directory, name): (u64, &str), target: &str, at: Time) -> NodeFacts {
        // The target is a part of it: one that leads elsewhere now is another link.
        let number = node_number(&["link", &directory.to_string(), name, target]);
        self.remember(number, Place::Link(target.to_owned(), at));
        self.link_facts(number, target, at)
    }

    fn link_facts(&self, number: u64, target: &str, at: Time) -> NodeFacts {
        NodeFacts {
            kind: NodeType::Symlink,
            mode: LINK_MODE,
            nlink: 1,
            size: target.len() as u64,
            ..self.directory(number, at)
        }
    }

    /// Returns the mount that a node lies in, and the node's number in it.
    fn tree(&self, number: u64) -> Result<(Arc<SnapshotTree>, u64), BrowseError> {
        let key = {
            let trees = lock(&self.trees);
            let found = trees.known.range(..=number).next_back();
            let found = found.filter(|(base, key)| number - **base < key.count);
            found.map(|(_, key)| Arc::clone(key))
        };
        let key = key.ok_or(BrowseError::Stale)?;
        let at = number - key.base;
        let index = self.index()?;
        if let Some(tree) = self.opened(&key) {
            self.check(&tree)?;
            return Ok((tree, at));
        }
        let record = self.record(&key.snapshot)?;
        let tree = self.tree_of(&index, &record, &key.label, key.parent)?;
        // What was forgotten meanwhile is in it no more: its nodes have other numbers.
        match tree.key.base == key.base {
            true => Ok((tree, at)),
            false => Err(BrowseError::Stale),
        }
    }

    /// Returns a mount that is in memory, and notes its use.
    fn opened(&self, key: &TreeKey) -> Option<Arc<SnapshotTree>> {
        let open = &mut lock(&self.trees).open;
        let at = open.iter().position(|tree| tree.key.base == key.base)?;
        open.get_mut(..=at)?.rotate_right(1);
        open.first().cloned()
    }

    /// Fails if the snapshot of a mount was deleted, or a path of it was forgotten. Costs a look at the log unless the store changed.
    fn check(&self, tree: &SnapshotTree) -> Result<(), BrowseError> {
        let index = self.index()?;
        if tree.checked.load(Ordering::Acquire) == index.generation {
            return Ok(());
        }
        let record = self.record(&tree.key.snapshot);
        let is_same = record.as_ref().is_ok_and(|record| {
            let mut mounts = record.mounts.iter();
            mounts.any(|mount| {
                mount.coverage.label == tree.key.label && mount.manifest == Some(tree.key.manifest)
            })
        });
        if !is_same {
            let open = &mut lock(&self.trees).open;
            open.retain(|known| known.key.base != tree.key.base);
            record?;
            return Err(BrowseError::Stale);
        }
        tree.checked.store(index.generation, Ordering::Release);
        Ok(())
    }

    /// Returns a mount of a snapshot, read if it is not in memory. `parent` is the number of the snapshot.
    fn tree_of(
        &self,
        index: &Index,
        record: &SnapshotRecord,
        label: &str,
        parent: u64,
    ) -> Result<Arc<SnapshotTree>, BrowseError> {
        let mut mounts = record.mounts.iter();
        let mount = mounts.find(|mount| mount.coverage.label == label);
        let mount = mount.ok_or(BrowseError::Stale)?;
        let manifest = mount.manifest.ok_or(BrowseError::Stale)?;
        let is_it =
            |key: &TreeKey| key.snapshot == record.id && key.label == label && key.manifest == manifest;
        let in_memory = || {
            let trees = lock(&self.trees);
            trees.open.iter().find(|tree| is_it(&tree.key)).cloned()
        };
        if let Some(tree) = in_memory() {
            return Ok(tree);
        }
        let _loading = lock(&self.loading);
        if let Some(tree) = in_memory() {
            return Ok(tree);
        }
        let store = self.store();
        let needed = store.share()?;
        // Secrets that only the original place holds are not shown elsewhere.
        let mut overlay = PrivateOverlay::elsewhere(&store);
        let (read, _) = overlay.stored_manifest(&store, record, mount)?;
        let mut blobs = store.contents(record);
        blobs.lend(overlay.lent());
        // Each entry is looked up when it is listed: by a table of all archives, not in each of them.
        let _ = blobs.contains(&manifest);
        drop(needed);
        let read = read.ok_or(BrowseError::Stale)?;
        let mut trees = lock(&self.trees);
        let known = trees.known.values().find(|key| is_it(key)).cloned();
        let key = known.unwrap_or_else(|| {
            let key = TreeKey::new(&trees.known, (record, label, manifest), parent, &read);
            let key = Arc::new(key);
            trees.known.insert(key.base, Arc::clone(&key));
            key
        });
        let tree = Arc::new(SnapshotTree::new(
            key,
            mount.coverage.root.to_path(),
            read,
            blobs,
            index.generation,
        ));
        trees.open.insert(0, Arc::clone(&tree));
        trees.forget_surplus();
        Ok(tree)
    }
}

impl Trees {
    /// Keeps the mounts that were used last in memory, as far as the bounds allow it. Open files keep theirs.
    fn forget_surplus(&mut self) {
        let mut sum = 0_u64;
        let within = self.open.iter().take_while(|tree| {
            sum = sum.saturating_add(tree.key.count);
            sum <= ENTRIES
        });
        // Two, however large they are: they may be compared.
        let most = within.count().clamp(2, TREES);
        self.open.truncate(most);
    }
}

fn session_number(id: &InstanceId) -> u64 {
    node_number(&["session", id.as_str()])
}
