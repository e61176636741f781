//! Paths of everything in the store (`docs/format.md`), and its owner. Only names; nothing is opened here.

use std::path::{Path, PathBuf};

use super::StoreError;
use crate::environment::{Environment, Operator, SnapshotPrograms};
use crate::model::{ArchiveId, Digest, InstanceId, RestoreId, SnapshotId, StoreId};
use handle_fs::ActingAs;
use handle_fs::remote::Transports;
use processes::ProcessTable;

/// Beginning of the name of a watcher's socket among the locks.
pub(super) const WATCHER: &str = "watch-";

/// Number of letters of a directory in `replica/`.
pub(super) const PLACE_LETTERS: usize = 16;

/// The names below one store directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    root: PathBuf,
    keeper: Option<Operator>,
    transports: Transports,
    snapshot_programs: SnapshotPrograms,
    processes: ProcessTable,
}

impl From<&Path> for Layout {
    fn from(root: &Path) -> Self {
        Self::new(root.to_path_buf())
    }
}

impl From<&PathBuf> for Layout {
    fn from(root: &PathBuf) -> Self {
        Self::new(root.clone())
    }
}

impl From<&Layout> for Layout {
    fn from(layout: &Layout) -> Self {
        layout.clone()
    }
}

impl Layout {
    /// The layout of the store at `root`. Slashes at the end are dropped: with them a symbolic link would be
    /// followed when the directory is checked.
    #[must_use]
    pub fn new(root: PathBuf) -> Self {
        Self {
            root: root.components().collect(),
            keeper: None,
            transports: Transports::default(),
            snapshot_programs: SnapshotPrograms::default(),
            processes: ProcessTable::default(),
        }
    }

    /// Returns the layout of the store at `root` for the caller of `environment`: with the owner, if root acts for another user,
    /// with the connections to the machines of recorded mounts, with the programs that make snapshots of file systems, and with the
    /// processes that it knows.
    #[must_use]
    pub fn of(root: PathBuf, environment: &Environment) -> Self {
        Self {
            keeper: environment.operator,
            transports: environment.transports.clone(),
            snapshot_programs: environment.snapshot_programs.clone(),
            processes: environment.processes.clone(),
            ..Self::new(root)
        }
    }

    /// Returns the search for the programs that make snapshots of file systems.
    #[must_use]
    pub fn snapshot_programs(&self) -> &SnapshotPrograms {
        &self.snapshot_programs
    }

    /// Returns the processes as the command sees them.
    #[must_use]
    pub fn processes(&self) -> &ProcessTable {
        &self.processes
    }

    /// Returns the connections to the machines of recorded mounts.
    #[must_use]
    pub fn transports(&self) -> &Transports {
        &self.transports
    }

    /// Returns the owner of the store, if root acts for another user.
    pub(super) fn keeper(&self) -> Option<Operator> {
        self.keeper
    }

    /// Lets this thread act as the owner of the store while the value lives. Everything in the store is done so: files stay the
    /// operator's, and links that the operator planted lead root nowhere.
    pub(super) fn enter(&self) -> Result<Option<ActingAs>, StoreError> {
        enter(self.keeper, &self.root)
    }

    /// The store directory.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The directory of archives.
    #[must_use]
    pub fn archives(&self) -> PathBuf {
        self.root.join("archives")
    }

    /// An archive: `archives/<id>.tar.zst`.
    #[must_use]
    pub fn archive(&self, id: &ArchiveId) -> PathBuf {
        self.archives().join(format!("{id}.tar.zst"))
    }

    /// Returns the redirect of an archive that was replaced: `archives/<id>.moved`.
    #[must_use]
    pub fn moved(&self, id: &ArchiveId) -> PathBuf {
        self.archives().join(format!("{id}.moved"))
    }

    /// Returns the file that keeps room free: `reserve`.
    #[must_use]
    pub fn reserve(&self) -> PathBuf {
        self.root.join("reserve")
    }

    /// The key of digests of secrets: `digest.key`.
    #[must_use]
    pub fn digest_key(&self) -> PathBuf {
        self.root.join("digest.key")
    }

    /// Returns the directory of the state of replicas: `replica/`.
    #[must_use]
    pub fn replica(&self) -> PathBuf {
        self.root.join("replica")
    }

    /// The name that the store has there, and the key of its objects: `replica/identity`.
    #[must_use]
    pub fn replica_identity(&self) -> PathBuf {
        self.replica().join("identity")
    }

    /// Returns the directory of the state of one replica: `replica/<place>/`.
    #[must_use]
    pub fn replica_at(&self, place: &Digest) -> PathBuf {
        let name: String = place.hex().chars().take(PLACE_LETTERS).collect();
        self.replica().join(name)
    }

    /// Returns the file with the address of one replica: `replica/<place>/address`.
    #[must_use]
    pub fn replica_address(&self, place: &Digest) -> PathBuf {
        self.replica_at(place).join("address")
    }

    /// Returns the staging directory of an import from a replica: `incoming/<store>/`.
    #[must_use]
    pub fn incoming(&self, store: &StoreId) -> PathBuf {
        self.all_incoming().join(store.as_str())
    }

    /// The directory with one for each store that archives come from.
    #[must_use]
    pub fn all_incoming(&self) -> PathBuf {
        self.root.join("incoming")
    }

    /// The directory of snapshot records.
    #[must_use]
    pub fn snapshots(&self) -> PathBuf {
        self.root.join("snapshots")
    }

    /// A record: `snapshots/<id>.json`.
    #[must_use]
    pub fn record(&self, id: &SnapshotId) -> PathBuf {
        self.snapshots().join(format!("{id}.json"))
    }

    /// The directory of contracts.
    #[must_use]
    pub fn contracts(&self) -> PathBuf {
        self.root.join("contracts")
    }

    /// The contract of a session: `contracts/<id>.json`.
    #[must_use]
    pub fn contract(&self, id: &InstanceId) -> PathBuf {
        self.contracts().join(format!("{id}.json"))
    }

    /// The chain of receipts.
    #[must_use]
    pub fn receipts(&self) -> PathBuf {
        self.root.join("receipts.log")
    }

    /// The directory with the newest looks that found nothing changed.
    #[must_use]
    pub fn all_unchanged(&self) -> PathBuf {
        self.root.join("unchanged")
    }

    /// The file with the newest look that found nothing changed since a snapshot.
    #[must_use]
    pub fn unchanged(&self, id: &SnapshotId) -> PathBuf {
        self.all_unchanged().join(format!("{id}.json"))
    }

    /// The catalog.
    #[must_use]
    pub fn catalog(&self) -> PathBuf {
        self.root.join("catalog.sqlite3")
    }

    /// Returns the path to which an unreadable catalog is moved when it is rebuilt.
    #[must_use]
    pub fn damaged_catalog(&self) -> PathBuf {
        self.root.join("catalog.sqlite3.damaged")
    }

    /// The directory of locks.
    #[must_use]
    pub fn locks(&self) -> PathBuf {
        self.root.join("locks")
    }

    /// The file that stands for a lock. `name` is one of jackin's, never text from outside.
    #[must_use]
    pub fn lock(&self, name: &str) -> PathBuf {
        self.locks().join(name)
    }

    /// Returns the socket of a session's watcher: `locks/watch-<id>`.
    #[must_use]
    pub fn watcher(&self, id: &InstanceId) -> PathBuf {
        self.locks().join(format!("{WATCHER}{id}"))
    }

    /// The directory of restores that are under way or were interrupted.
    #[must_use]
    pub fn restores(&self) -> PathBuf {
        self.root.join("restores")
    }

    /// Returns the directory of a restore's files: `restores/<id>/`.
    #[must_use]
    pub fn restore(&self, id: &RestoreId) -> PathBuf {
        self.restores().join(id.as_str())
    }

    /// The directory of forks, beside the store.
    #[must_use]
    pub fn forks(&self) -> PathBuf {
        self.root.parent().unwrap_or(&self.root).join("forks")
    }

    /// Returns the directory of intents of file-system snapshots.
    #[must_use]
    pub fn natives(&self) -> PathBuf {
        self.root.join("native")
    }

    /// Returns the directory of one capture's intent, which may contain the file-system snapshots themselves: `native/<id>/`.
    #[must_use]
    pub fn native(&self, id: &SnapshotId) -> PathBuf {
        self.natives().join(id.as_str())
    }

    /// The directory of drafts.
    #[must_use]
    pub fn drafts(&self) -> PathBuf {
        self.root.join("tmp")
    }

    /// The draft of a snapshot: `tmp/<id>/`.
    #[must_use]
    pub fn draft(&self, id: &SnapshotId) -> PathBuf {
        self.drafts().join(id.as_str())
    }
}

/// Lets this thread act as `keeper` at `path`; as itself when there is none.
pub(super) fn enter(keeper: Option<Operator>, path: &Path) -> Result<Option<ActingAs>, StoreError> {
    let acting = keeper.map(|keeper| handle_fs::act_as(keeper.uid, keeper.gid));
    acting
        .transpose()
        .map_err(StoreError::io("act as the owner of", path))
}
