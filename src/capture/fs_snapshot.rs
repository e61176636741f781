//! Freezes mounts by file-system snapshots, so that a capture sees one state of everything in one file system.

use std::path::PathBuf;

use super::{CaptureError, Request};
use crate::clock::{Entropy, random};
use crate::contract::{FrozenPlace, NativePlan, NativeSource, frozen_name, plan_native};
use crate::model::{
    ByteString, Coverage, FrozenMount, FsSnapshotIntent, NativePlace, NativeRef, NativeUse, RelPath,
    SnapshotId, SnapshotKind, SnapshotRecord,
};
use crate::observer::{Observer, Phase};
use crate::process::Freezer;
use crate::store::{FsSnapshotRegistry, Store, StoreError, dataset_snapshot, letters_of, volume_snapshot};
use handle_fs::NativeKind;
use handle_fs::remote::{Address, Transports, is_elsewhere};
use handle_fs::{Frozen as FrozenFacts, MountError, Root};

/// Result of an attempt to freeze mounts by file-system snapshots.
#[derive(Default)]
pub struct SnapshotAttempt {
    /// Frozen mounts; `None` if nothing was frozen.
    pub frozen: Option<Frozen>,
    /// Messages about mounts that could not be frozen as agreed, and about snapshots that could not be removed.
    pub notes: Vec<String>,
}

/// Frozen mounts of one capture. They stay until they are released, also when the process dies.
#[derive(Debug)]
pub struct Frozen {
    natives: FsSnapshotRegistry,
}

impl Frozen {
    /// Wraps the file-system snapshots that a dead process left behind.
    #[must_use]
    pub fn left(natives: FsSnapshotRegistry) -> Self {
        Self { natives }
    }

    /// Returns the ID of the snapshot that is captured from it.
    #[must_use]
    pub fn id(&self) -> &SnapshotId {
        &self.paper().id
    }

    /// Returns the file-system snapshot intent.
    #[must_use]
    pub fn paper(&self) -> &FsSnapshotIntent {
        self.natives.paper()
    }

    /// Returns true if all of it can be read now, without waiting.
    ///
    /// # Errors
    /// [`StoreError::Native`].
    pub fn are_readable(&self) -> Result<bool, StoreError> {
        self.natives.are_readable()
    }

    /// Waits until all of it can be read.
    ///
    /// # Errors
    /// [`CaptureError::Interrupted`]; [`CaptureError::Store`] with what fails.
    pub(super) fn ready(&self, observer: &dyn Observer) -> Result<(), CaptureError> {
        if !self.paper().is_slow() {
            return Ok(());
        }
        observer.begin(Phase::Freeze);
        let ready = self.natives.await_all(observer);
        observer.end();
        match ready {
            Err(_) if observer.cancelled() => Err(CaptureError::Interrupted),
            other => Ok(other?),
        }
    }

    /// Ends the connections over which this was read, and removes the helpers that showed it. Other frozen claims stay connected,
    /// because another thread may be reading one of them.
    pub(super) fn disconnect(&self, transports: &Transports) {
        let read: Vec<Address> = self
            .paper()
            .natives
            .iter()
            .filter_map(|native| Address::split(&native.directory()))
            .map(|(address, _)| address)
            .collect();
        transports.disconnect_where(|address| read.contains(address));
    }

    /// Opens the frozen state of a mount; `None` if it is not frozen.
    pub(super) fn open(
        &self,
        transports: &Transports,
        coverage: &Coverage,
    ) -> Option<Result<Root, MountError>> {
        let paper = self.paper();
        let mount = self.mount(coverage)?;
        let native = paper.natives.get(mount.native)?;
        let facts = FrozenFacts {
            since: mount.since.unwrap_or(paper.started_at),
            from: mount.frozen_from,
            mounted: mount.mounted,
        };
        let directory = native.directory();
        let at = mount.inner.on_host(&directory);
        let opened = Root::open_frozen(transports, &coverage.root.to_path(), &at, facts);
        Some(opened.map_err(|error| match error {
            // A root that is gone is no snapshot that cannot be seen.
            MountError::Missing { .. } if Root::open(transports, &directory).is_err() => MountError::Io {
                path: directory,
                source: std::io::Error::other("the file-system snapshot is not visible"),
            },
            other => other,
        }))
    }

    /// Checks that all of it can be read, except for volumes, which take longer. Once the command runs, it is too late to read
    /// the mounts as they were.
    fn can_be_read(&self, transports: &Transports) -> Result<(), String> {
        let is_ready = |mount: &&FrozenMount| {
            let native = self.paper().natives.get(mount.native);
            !matches!(native, Some(NativePlace::Volume { .. }))
        };
        for mount in self.paper().mounts.iter().filter(is_ready) {
            if let Some(Err(error)) = self.open(transports, &mount.coverage) {
                return Err(error.to_string());
            }
        }
        Ok(())
    }

    fn mount(&self, coverage: &Coverage) -> Option<&FrozenMount> {
        let mut mounts = self.paper().mounts.iter();
        mounts.find(|mount| mount.coverage.root == coverage.root && mount.coverage.label == coverage.label)
    }

    /// Returns true if the contents of a mount stay in its file-system snapshot: that was agreed, and one was made.
    pub(super) fn keeps(&self, coverage: &Coverage) -> bool {
        coverage.native == Some(NativeUse::Itself) && self.mount(coverage).is_some()
    }

    /// Returns the file-system snapshot in which the contents of a mount stay; `None` if they are archived.
    pub(super) fn kept(&self, coverage: &Coverage) -> Option<NativeRef> {
        let paper = self.paper();
        let mount = self.mount(coverage).filter(|_| self.keeps(coverage))?;
        let place = paper.natives.get(mount.native)?.clone();
        let roots: Vec<PathBuf> = paper
            .mounts
            .iter()
            .map(|mount| mount.coverage.root.to_path())
            .collect();
        let uuid = match &place {
            NativePlace::Btrfs { at, .. } => {
                let freezer = Freezer::find(self.natives.programs(), NativeKind::Btrfs, &roots);
                freezer.and_then(|freezer| freezer.uuid_of(&at.to_path()))
            }
            NativePlace::Zfs { .. } | NativePlace::Volume { .. } => None,
        };
        Some(NativeRef {
            place,
            inner: mount.inner.clone(),
            uuid,
        })
    }

    /// Releases the file-system snapshots unless `record` needs them. Their intent stays on disk if they are kept.
    ///
    /// # Errors
    /// As [`Self::release`].
    pub fn release_unless_kept(self, record: &SnapshotRecord) -> Result<(), StoreError> {
        match record.mounts.iter().any(|mount| mount.native.is_some()) {
            true => Ok(()),
            false => self.release(),
        }
    }

    /// Removes the file-system snapshots.
    ///
    /// # Errors
    /// [`StoreError::Native`] with one that stays; the next command that writes tries again.
    pub fn release(self) -> Result<(), StoreError> {
        self.natives.remove()
    }
}

/// Freezes the mounts whose coverage asks for it, as far as possible.
///
/// # Errors
/// [`CaptureError::NotFrozen`] if a mount that must be frozen cannot be. Nothing is left then.
pub fn freeze(
    store: &Store,
    request: &Request<'_>,
    observer: &dyn Observer,
    entropy: &dyn Entropy,
) -> Result<SnapshotAttempt, CaptureError> {
    let mut freezing = SnapshotAttempt::default();
    let mounts: Vec<PathBuf> = request
        .coverages
        .iter()
        .map(|coverage| coverage.root.to_path())
        .collect();
    let mut planned = Vec::new();
    for coverage in request
        .coverages
        .iter()
        .filter(|coverage| coverage.native.is_some())
    {
        let root = coverage.root.to_path();
        // One that is gone is recorded as gone.
        let is_meant = || match is_elsewhere(&root) {
            true => is_worth(request, coverage) && Root::open(store.transports(), &root).is_ok(),
            false => !matches!(handle_fs::stat_path(&root), Ok(None)),
        };
        if !is_meant() {
            continue;
        }
        let programs = store.layout().snapshot_programs();
        let plan = match store.may_freeze() {
            true => {
                plan_native((&root, Some(store.layout().root())), programs, &mounts).map_err(|not| not.why)
            }
            false => Err("the store is another user's".to_owned()),
        };
        match plan {
            Ok(plan) => planned.push((coverage, plan)),
            Err(why) => freezing.lack(request.kind, coverage, why)?,
        }
    }
    if planned.is_empty() {
        return Ok(freezing);
    }
    let paper = paper(store, request, &planned, SnapshotId::new(random(entropy)));
    let natives = match store.begin_natives(paper) {
        Ok(natives) => natives,
        Err(error) => {
            for (coverage, _) in &planned {
                freezing.lack(request.kind, coverage, error.to_string())?;
            }
            return Ok(freezing);
        }
    };
    observer.reached("freeze-written");
    let freezer = |kind| Freezer::find(store.layout().snapshot_programs(), kind, &mounts);
    observer.begin(Phase::Freeze);
    let synced = planned
        .iter()
        .try_for_each(|(coverage, _)| flush(store.transports(), coverage));
    let made = synced.and_then(|()| natives.make(freezer, observer).map_err(|error| error.to_string()));
    observer.end();
    let frozen = Frozen { natives };
    match made.and_then(|()| frozen.can_be_read(store.transports())) {
        Ok(()) => {
            observer.reached("frozen");
            freezing.frozen = Some(frozen);
        }
        Err(error) => {
            // What cannot be removed either is written down.
            let left = frozen.release().err();
            if observer.cancelled() {
                return Err(CaptureError::Interrupted);
            }
            for (coverage, _) in &planned {
                freezing.lack(request.kind, coverage, error.to_string())?;
            }
            freezing.notes.extend(left.map(|left| left.to_string()));
        }
    }
    Ok(freezing)
}

/// Syncs a mount in a cluster, whose snapshots lack what is not yet on disk. btrfs and ZFS do so by themselves.
fn flush(transports: &Transports, coverage: &Coverage) -> Result<(), String> {
    let root = coverage.root.to_path();
    if !is_elsewhere(&root) {
        return Ok(());
    }
    let opened = Root::open(transports, &root).map_err(|error| error.to_string())?;
    let top = opened.dir(&RelPath::root()).map_err(|error| error.to_string())?;
    handle_fs::sync_file_system(&top)
        .map_err(|error| format!("what was written cannot be brought to its disk: {error}"))
}

/// Returns true if a snapshot of a claim is worth making. It takes a while, costs the cluster something, and is at best a copy:
/// checkpoints do not wait for it, and a restore needs a capture of the very inodes that it will touch.
fn is_worth(request: &Request<'_>, coverage: &Coverage) -> bool {
    match coverage.native {
        Some(NativeUse::Itself) => request.kind != SnapshotKind::Emergency,
        _ => request.kind == SnapshotKind::Baseline && request.waits,
    }
}

impl SnapshotAttempt {
    /// Records that a mount cannot be frozen. Fails if its contents must stay in the file-system snapshot; closing and emergency
    /// snapshots archive them instead.
    fn lack(&mut self, kind: SnapshotKind, coverage: &Coverage, why: String) -> Result<(), CaptureError> {
        let path = coverage.root.to_path();
        let is_itself = coverage.native == Some(NativeUse::Itself);
        if is_itself && ![SnapshotKind::Closing, SnapshotKind::Emergency].contains(&kind) {
            return Err(CaptureError::NotFrozen { path, why });
        }
        let path = path.display();
        let instead = if is_itself {
            "its contents are in the archive"
        } else {
            "it was read as it is"
        };
        self.notes.push(format!(
            "{path} has no file-system snapshot, and {instead}: {why}"
        ));
        Ok(())
    }
}

/// Returns the intent, which is written before anything is created.
fn paper(
    store: &Store,
    request: &Request<'_>,
    planned: &[(&Coverage, NativePlan)],
    id: SnapshotId,
) -> FsSnapshotIntent {
    let mut sources: Vec<&NativeSource> = Vec::new();
    let (mut natives, mut directories, mut mounts) = (Vec::new(), Vec::new(), Vec::new());
    for (coverage, plan) in planned {
        let root = coverage.root.to_path();
        let known = sources.iter().position(|source| is_same(source, &plan.source));
        let native = known.unwrap_or_else(|| {
            let number = natives.len();
            sources.push(&plan.source);
            natives.push(match &plan.source {
                NativeSource::Subvolume { top, place } => {
                    let holder = match place {
                        FrozenPlace::Store => store.native_directory(&id),
                        FrozenPlace::Beside(parent) => {
                            let made = parent.join(frozen_name(&root, letters_of(&id)));
                            directories.push(ByteString::from(made.as_path()));
                            made
                        }
                    };
                    NativePlace::Btrfs {
                        subvolume: ByteString::from(top.as_path()),
                        at: ByteString::from(holder.join(number.to_string()).as_path()),
                    }
                }
                NativeSource::Dataset { name, mountpoint } => NativePlace::Zfs {
                    snapshot: dataset_snapshot(name, &id, number),
                    mountpoint: ByteString::from(mountpoint.as_path()),
                },
                NativeSource::Claim { spot, uid, class } => NativePlace::Volume {
                    claim: Address::Claim(spot.clone()).to_string(),
                    uid: uid.clone(),
                    snapshot: volume_snapshot(&id, number),
                    class: class.clone(),
                },
            });
            number
        });
        let live = Root::open(store.transports(), &root);
        let far = live.as_ref().ok().filter(|_| is_elsewhere(&root));
        mounts.push(FrozenMount {
            coverage: (*coverage).clone(),
            native,
            inner: plan.inner.clone(),
            // The clocks are read before the freeze. A file that changes between the two counts as fresh, and the next
            // capture reads it again.
            since: far.and_then(|live| live.clock().ok()),
            frozen_from: live.as_ref().ok().and_then(Root::finest_clock),
            mounted: live.is_ok_and(|live| live.is_mount_point()),
        });
    }
    FsSnapshotIntent {
        store: ByteString::from(store.layout().root()),
        id,
        instance: request.instance.clone(),
        workspace: request.workspace.map(str::to_owned),
        kind: request.kind,
        taken_at: request.now,
        started_at: handle_fs::file_clock(),
        uid: request.uid,
        max_entries: request.limits.max_entries,
        max_bytes: request.limits.max_bytes,
        natives,
        directories,
        whole: mounts.len() == request.coverages.len(),
        mounts,
    }
}

/// Returns true if one file-system snapshot serves both.
fn is_same(one: &NativeSource, other: &NativeSource) -> bool {
    match (one, other) {
        (NativeSource::Subvolume { top: one, .. }, NativeSource::Subvolume { top: other, .. }) => {
            one == other
        }
        _ => one == other,
    }
}
