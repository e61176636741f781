//! Parent snapshots: the latest snapshot of each mount, and the content that is stored already.

use super::mounted::shows_more;
use super::private::Before as PrivateBefore;
use super::repositories::Before;
use super::walk::{Earlier, Reference};
use crate::model::{ArchiveRef, Coverage, Manifest, MountRecord, SnapshotId, SnapshotRecord, Time};
use crate::store::{Blobs, Store};

/// Latest snapshot of a mount root, of whichever session.
pub(crate) struct Latest {
    id: SnapshotId,
    manifest: Manifest,
    mount: MountRecord,
    /// Time when a later look began that found it as it is in the snapshot.
    unchanged_at: Option<Time>,
    /// True if its coverage equals the current one.
    same_rules: bool,
    /// Archives of its snapshot that hold this mount's content.
    archives: Vec<ArchiveRef>,
    /// True if those archives hold only this mount.
    alone: bool,
}

impl Latest {
    /// Finds it. `None` if there is none or it cannot be read; everything is then read again, which only costs time.
    pub(crate) fn find(store: &Store, coverage: &Coverage) -> Option<Self> {
        let (record, at) = record(store, coverage)?;
        let blobs = store.blobs(&record.archives);
        Self::read(store, record, at, coverage, &blobs)
    }

    /// Returns it as the earlier state to compare with.
    ///
    /// A later look that found the same read each file that the facts did not prove, and proves as much as the capture.
    pub(crate) fn earlier(&self) -> Earlier<'_> {
        let later = self.unchanged_at.filter(|at| *at > self.mount.started_at);
        Earlier {
            manifest: &self.manifest,
            started_at: later.unwrap_or(self.mount.started_at),
            same_rules: self.same_rules,
            written_back: self.mount.written_back || later.is_some(),
        }
    }

    /// Returns true if some of its content is in no archive, but in git commits.
    fn is_by_commit(&self) -> bool {
        self.mount.git.iter().flatten().any(|facts| facts.by_commit)
    }

    /// Returns true if its contents are in a file-system snapshot instead of an archive.
    fn is_native(&self) -> bool {
        self.mount.native.is_some()
    }

    /// Returns true if a capture accepts where its contents are: in archives, or elsewhere with `by_commit` or `native`.
    fn is_held(&self, (by_commit, native): (bool, bool)) -> bool {
        native || !self.is_native() && (by_commit || !self.is_by_commit())
    }

    fn read(
        store: &Store,
        mut record: SnapshotRecord,
        at: usize,
        coverage: &Coverage,
        blobs: &Blobs,
    ) -> Option<Self> {
        let is_state = coverage.state;
        let is_held = |mount: &&MountRecord| mount.manifest.is_some() && mount.coverage.state == is_state;
        let alone = record.mounts.iter().filter(is_held).count() == 1;
        let mount = record.mounts.swap_remove(at);
        // Its entries would be taken for ones without attributes.
        if shows_more(store.transports(), &mount) {
            return None;
        }
        record
            .archives
            .retain(|archive| archive.id.is_state() == is_state);
        Some(Self {
            unchanged_at: store.unchanged_at(&record.id, at),
            id: record.id,
            manifest: blobs.manifest(mount.manifest.as_ref()?).ok()?,
            same_rules: mount.coverage == *coverage,
            mount,
            archives: record.archives,
            alone,
        })
    }
}

/// Returns the latest snapshot that has the mount root, and the root's index in it.
fn record(store: &Store, coverage: &Coverage) -> Option<(SnapshotRecord, usize)> {
    let id = store.catalog().latest_snapshot_on_root(&coverage.root.0).ok()??;
    let record = store.record(&id).ok()?;
    let mut mounts = record.mounts.iter();
    let is_it =
        |mount: &MountRecord| mount.coverage.root == coverage.root && mount.coverage.state == coverage.state;
    let at = mounts.position(is_it)?;
    Some((record, at))
}

/// Parent snapshots of all mounts of a capture.
pub(super) struct ParentSnapshot {
    /// Latest snapshot of the same root, for each mount.
    mounts: Vec<Option<Latest>>,
    /// True for each mount that is the state of agents.
    states: Vec<bool>,
    /// Contents of the archives of those snapshots: of projects, and of agents' state. Neither relies on the other.
    blobs: [Blobs; 2],
}

impl ParentSnapshot {
    /// Finds the parent snapshots. The content of an archive that does not open is read and stored again.
    pub(super) fn find(store: &Store, coverages: &[Coverage]) -> Self {
        let records: Vec<_> = coverages.iter().map(|coverage| record(store, coverage)).collect();
        let mut archives: [Vec<ArchiveRef>; 2] = Default::default();
        for archive in records.iter().flatten().flat_map(|(record, _)| &record.archives) {
            let [projects, states] = &mut archives;
            let of_its_kind = if archive.id.is_state() { states } else { projects };
            if !of_its_kind.contains(archive) {
                of_its_kind.push(archive.clone());
            }
        }
        let mut known = Self {
            mounts: Vec::new(),
            states: coverages.iter().map(|coverage| coverage.state).collect(),
            blobs: archives.map(|archives| store.blobs(&archives)),
        };
        for (found, coverage) in records.into_iter().zip(coverages) {
            let latest = found.and_then(|(record, at)| {
                Latest::read(store, record, at, coverage, known.blobs(coverage.state))
            });
            known.mounts.push(latest);
        }
        known
    }

    /// Returns an empty one, so that the capture relies on nothing older.
    pub(super) fn nothing(store: &Store) -> Self {
        Self {
            mounts: Vec::new(),
            states: Vec::new(),
            blobs: [store.blobs(&[]), store.blobs(&[])],
        }
    }

    /// Returns the stored contents of projects, or those of agents' state.
    pub(super) fn blobs(&self, state: bool) -> &Blobs {
        let [projects, states] = &self.blobs;
        if state { states } else { projects }
    }

    /// Returns the stored contents for the mount with this number.
    fn blobs_at(&self, at: usize) -> &Blobs {
        self.blobs(self.states.get(at).copied().unwrap_or_default())
    }

    fn latest(&self, at: usize) -> Option<&Latest> {
        self.mounts.get(at)?.as_ref()
    }

    /// Returns the numbers of a snapshot's archives; `None` unless all of them opened.
    fn numbers(&self, at: usize, latest: &Latest) -> Option<Vec<usize>> {
        let blobs = self.blobs_at(at);
        let number = |wanted| blobs.archives().iter().position(|archive| archive == wanted);
        latest.archives.iter().map(number).collect()
    }

    /// Returns the state that a walk of the mount may reuse. With `by_commit` or `native`, content need not be in an archive.
    pub(super) fn reference(&self, at: usize, by_commit: bool, native: bool) -> Option<Reference<'_>> {
        let latest = self.latest(at)?;
        // A snapshot names every archive that its files need, so only when one is missing each file must be looked for, or when a
        // commit was recorded instead of files.
        let is_whole = native || self.numbers(at, latest).is_some() && latest.is_held((by_commit, false));
        let known = (!is_whole).then(|| self.blobs_at(at));
        let earlier = latest.earlier();
        Some(Reference { earlier, known })
    }

    /// Returns true if the latest snapshot of the mount has some of its content in no archive.
    pub(super) fn is_by_commit(&self, at: usize) -> bool {
        self.latest(at).is_some_and(Latest::is_by_commit)
    }

    /// Returns the latest manifest of the mount if it belongs to `snapshot`.
    pub(super) fn manifest_of(&self, at: usize, snapshot: &SnapshotId) -> Option<&Manifest> {
        let latest = self.latest(at).filter(|latest| latest.id == *snapshot)?;
        Some(&latest.manifest)
    }

    /// Returns the recorded facts of the mount's repositories.
    pub(super) fn before(&self, at: usize) -> Option<Before<'_>> {
        let latest = self.latest(at)?;
        Some(Before {
            manifest: &latest.manifest,
            facts: latest.mount.git.as_deref()?,
        })
    }

    /// Returns the recorded facts of the mount's private files if their bundle is stored.
    pub(super) fn private_before(&self, at: usize) -> Option<PrivateBefore<'_>> {
        let mount = &self.latest(at)?.mount;
        let sealed = mount.sealed.as_ref()?;
        self.blobs_at(at)
            .contains(&sealed.digest)
            .then_some(PrivateBefore {
                sealed,
                facts: &mount.withheld,
            })
    }

    /// Returns the record of an unchanged mount, dated now, and the numbers of its archives; `None` if the mount changed.
    pub(super) fn same(
        &self,
        at: usize,
        coverage: &Coverage,
        started_at: Time,
        manifest: &Manifest,
        elsewhere: (bool, bool),
    ) -> Option<(MountRecord, Vec<usize>)> {
        let latest = self.latest(at)?;
        if !latest.is_held(elsewhere) {
            return None;
        }
        // Archives are named per snapshot, not per mount. With several mounts this one would go on to name archives that only
        // another one needs.
        if !latest.alone || !latest.manifest.shares_all(manifest) {
            return None;
        }
        let archives = self.numbers(at, latest)?;
        let record = MountRecord {
            coverage: coverage.clone(),
            started_at,
            ..latest.mount.clone()
        };
        Some((record, archives))
    }
}
