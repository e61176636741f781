//! Deletes snapshots and paths so that no byte of them stays in an archive. Archives with any content that nothing needs are
//! rewritten without it; one receipt then makes all of it true at once, and the old archives go.
//!
//! The receipt is the moment of truth. Before it, the redirects lead nowhere, since an archive that is there is read whatever
//! its redirect says; older redirects that lead to it stay, for they are followed. After it, the old archives are unused: captures
//! do not look into them any more ([`Store::record`]), and the next process that opens the store for writing removes what a
//! killed one left. Nothing is removed while the catalog lacks the receipt, because then it does not know what is needed.

use std::collections::{HashMap, HashSet};

use super::archive::Archive;
use super::archive::BlobKind;
use super::prune::{Needs, drafted, remove};
use super::repack::{NewPart, NewParts};
use super::{
    LockGuard, Patience, RECEIPTS, RepackGroup, RepackPlan, Repacked, Sole, Store, StoreError, Swept,
    archive_redirects, catalog_sync, durable, lock,
};
use crate::clock::Entropy;
use crate::model::{
    AmendedManifest, AmendedMount, AmendedSnapshot, ArchiveId, Digest, Entry, ForgottenContent, Manifest,
    ManifestList, MountRecord, Operation, PrunedSnapshot, RelPath, SnapshotId, SnapshotRecord, Time, runs,
    without,
};
use crate::observer::{Observer, Silent};

/// Snapshots without the forgotten paths, as they are prepared.
pub struct AmendedRecord<'s> {
    store: &'s Store,
    parts: NewParts,
    amended: Vec<AmendedSnapshot>,
    /// Contents of the forgotten paths, also those that other paths have.
    contents: HashSet<Digest>,
    /// Manifests that were made already, by the old one and the forgotten paths. Snapshots share most of theirs.
    known: HashMap<(Digest, Vec<RelPath>), Option<AmendedManifest>>,
}

/// Plan of what to delete, with the archives that are rewritten for it.
pub struct ForgetPlan {
    snapshots: Vec<PrunedSnapshot>,
    amended: Vec<AmendedSnapshot>,
    contents: Vec<ForgottenContent>,
    repack: RepackPlan,
    parts: NewParts,
    idle: Vec<ArchiveId>,
    /// About how many bytes become free.
    pub freed: u64,
}

/// Result of forgetting.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Forgotten {
    /// Number of the receipt.
    pub receipt: u64,
    /// Archives that were rewritten or removed.
    pub archives: u64,
    /// Bytes that became free.
    pub freed: u64,
    /// Result of the cleanup.
    pub swept: Swept,
}

impl<'s> AmendedRecord<'s> {
    /// Begins without any.
    #[must_use]
    pub fn of(store: &'s Store) -> Self {
        Self {
            store,
            parts: NewParts::default(),
            amended: Vec::new(),
            contents: HashSet::new(),
            known: HashMap::new(),
        }
    }

    /// Adds a snapshot that loses `paths`, each list with the label of its mount.
    ///
    /// # Errors
    /// [`StoreError`] when a manifest cannot be read.
    pub fn add(
        &mut self,
        record: &SnapshotRecord,
        paths: &[(String, Vec<RelPath>)],
    ) -> Result<(), StoreError> {
        let mut amended = AmendedSnapshot {
            snapshot: record.id.clone(),
            instance: record.instance.clone(),
            mounts: Vec::new(),
            complete: record.complete,
            entries: 0,
            bytes: 0,
        };
        for (label, paths) in paths {
            let Some(mount) = record.mounts.iter().find(|mount| mount.coverage.label == *label) else {
                continue;
            };
            let manifest = self.manifest(record, mount, paths)?;
            amended.complete &= manifest.is_none();
            amended.mounts.push(AmendedMount {
                mount: label.clone(),
                paths: paths.clone(),
                manifest,
            });
        }
        let mut after = record.clone();
        amended.apply(&mut after);
        (amended.entries, amended.bytes) = (after.entries(), after.bytes());
        self.amended.push(amended);
        Ok(())
    }

    fn manifest(
        &mut self,
        record: &SnapshotRecord,
        mount: &MountRecord,
        paths: &[RelPath],
    ) -> Result<Option<AmendedManifest>, StoreError> {
        let Some(digest) = mount.manifest else {
            return Ok(None);
        };
        let key = (digest, paths.to_vec());
        if let Some(known) = self.known.get(&key) {
            return Ok(known.clone());
        }
        let blobs = self.store.contents(record);
        let manifest = blobs.manifest(&digest)?;
        for path in paths {
            let own = manifest.entry(path).into_iter();
            let below = manifest.directories_within(path).flat_map(|dir| &dir.entries);
            let contents = own.chain(below).filter_map(Entry::content);
            self.contents.extend(contents.map(|content| content.digest));
        }
        let made = match without(&manifest, paths) {
            Some(left) => {
                let gaps = paths.iter().filter(|path| manifest.entry(path).is_some());
                let known = ManifestList::decode(&blobs.whole(&digest)?)
                    .map_err(|source| StoreError::Manifest { digest, source })?;
                let list = self.parts.add(&left, mount.coverage.state, &known.chunks);
                let (entries, bytes) = left.totals();
                Some(AmendedManifest {
                    digest: list,
                    entries,
                    bytes,
                    gap_count: left.lacks(&mount.agreed()).len() as u64,
                    gaps: gaps.cloned().collect(),
                })
            }
            None => None,
        };
        self.known.insert(key, made.clone());
        Ok(made)
    }
}

impl NewParts {
    /// Adds the chunks and the list of a manifest, and returns the digest of the list. The chunks of the manifest before it, which
    /// every snapshot with that manifest has, are not added.
    fn add(&mut self, manifest: &Manifest, state: bool, before: &[Digest]) -> Digest {
        let before: HashSet<&Digest> = before.iter().collect();
        let mut chunks = Vec::new();
        for run in runs(manifest) {
            let chunk = run.encode(manifest);
            chunks.push(chunk.digest);
            if !before.contains(&chunk.digest) {
                self.put(chunk.digest, BlobKind::Chunk, state, chunk.bytes);
            }
        }
        let root = manifest.root.clone();
        let bytes = ManifestList { root, chunks }.encode();
        let digest = Digest::of(&bytes);
        self.put(digest, BlobKind::List, state, bytes);
        digest
    }

    fn put(&mut self, digest: Digest, kind: BlobKind, state: bool, bytes: Vec<u8>) {
        self.0.entry(digest).or_insert(NewPart { state, kind, bytes });
    }
}

impl ForgetPlan {
    /// Number of archives that are rewritten or removed.
    #[must_use]
    pub fn archives(&self) -> u64 {
        let replaced: usize = self.repack.groups.iter().map(|group| group.from.len()).sum();
        (replaced + self.idle.len()) as u64
    }

    /// The snapshots that lose paths.
    #[must_use]
    pub fn amended(&self) -> &[AmendedSnapshot] {
        &self.amended
    }

    /// The snapshots that are deleted.
    #[must_use]
    pub fn snapshots(&self) -> &[PrunedSnapshot] {
        &self.snapshots
    }

    /// The contents of forgotten paths that no other path has.
    #[must_use]
    pub fn contents(&self) -> &[ForgottenContent] {
        &self.contents
    }
}

impl Store {
    /// Plans to delete `snapshots`, and paths of others; `contents` are those that no other path has. Changes nothing.
    ///
    /// # Errors
    /// [`StoreError::Unread`], or another one, when a record, manifest or archive cannot be read: it may hold any of it.
    /// [`StoreError::NoRoom`].
    pub fn plan_forget(
        &self,
        snapshots: Vec<PrunedSnapshot>,
        amended: AmendedRecord<'_>,
        contents: Vec<ForgottenContent>,
        observer: &dyn Observer,
    ) -> Result<ForgetPlan, StoreError> {
        let _kept = self.layout.enter()?;
        let AmendedRecord {
            parts,
            amended,
            contents: shown,
            ..
        } = amended;
        let gone: HashSet<&SnapshotId> = snapshots.iter().map(|pruned| &pruned.id).collect();
        let records = self.records_without(&gone, &amended)?;
        let mut freed = 0;
        for (id, size) in self.record_sizes()? {
            freed += if gone.contains(&id) { size } else { 0 };
        }
        let needed = records.iter().flat_map(|record| &record.archives);
        let needed: HashSet<ArchiveId> = needed.map(|archive| archive.id.clone()).collect();
        let drafted = drafted(&self.layout)?;
        let mut idle = Vec::new();
        for (id, size) in self.archive_sizes()? {
            if !needed.contains(&id) && !drafted.contains(&id) {
                freed += size;
                idle.push(id);
            }
        }
        let repack = self.plan_purge(records, (&parts, &shown), observer)?;
        freed += repack.groups.iter().map(RepackGroup::gain).sum::<u64>();
        Ok(ForgetPlan {
            snapshots,
            amended,
            contents,
            repack,
            parts,
            idle,
            freed,
        })
    }

    /// Reads all records but those of `gone`, as they are with `amended`.
    fn records_without(
        &self,
        gone: &HashSet<&SnapshotId>,
        amended: &[AmendedSnapshot],
    ) -> Result<Vec<SnapshotRecord>, StoreError> {
        let mut records = Vec::new();
        for id in self.record_ids()?.iter().filter(|id| !gone.contains(id)) {
            let mut record = match self.record(id) {
                Err(StoreError::NoSnapshot { .. }) => continue,
                other => other?,
            };
            let changes = amended.iter().filter(|amended| amended.snapshot == *id);
            changes.for_each(|amended| amended.apply(&mut record));
            records.push(record);
        }
        let lost = self.catalog.unlisted()?;
        match lost.iter().find(|id| !gone.contains(id)) {
            Some(id) => Err(StoreError::LostRecord {
                path: self.layout.record(id),
            }),
            None => Ok(records),
        }
    }
}

impl Sole<'_> {
    /// Executes a plan that was made while nothing else used the store.
    ///
    /// # Errors
    /// When an archive or the receipt cannot be written; then everything is as it was, except that an import that was killed begins
    /// from its start. [`StoreError::Unfinished`] when the catalog cannot follow or a file cannot be removed; then the next command
    /// that changes the store finishes it.
    pub fn forget_planned(
        &self,
        (at, uid): (Time, u32),
        plan: ForgetPlan,
        entropy: &dyn Entropy,
        observer: &dyn Observer,
    ) -> Result<Forgotten, StoreError> {
        let store = self.store;
        let _kept = store.layout().enter()?;
        // Archives of an import that was killed. Held to the end: none may begin and bring such content back meanwhile.
        let incoming = store.incoming_stores()?;
        let locks: Vec<LockGuard> = incoming
            .iter()
            .map(|from| store.lock_incoming(from))
            .collect::<Result<_, _>>()?;
        for from in &incoming {
            store.forget_incoming(from)?;
        }
        let archives = plan.archives();
        let before = store.archive_sizes()?;
        let repacked = store.repack_with(plan.repack, &plan.parts, entropy, observer)?;
        plan.parts.check_written(store, &repacked)?;
        for new in &repacked {
            self.redirect(new, &new.from)?;
        }
        observer.reached("forget-named");
        let replaced = repacked.iter().flat_map(|new| &new.from);
        let act = Operation::Forget {
            snapshots: plan.snapshots,
            amended: plan.amended,
            contents: plan.contents,
            from: replaced.map(|old| old.id.clone()).chain(plan.idle).collect(),
            into: repacked.iter().map(|new| new.into.clone()).collect(),
            bytes: plan.freed,
        };
        let receipt = store.append(at, uid, None, act)?.number;
        repacked.iter().for_each(Repacked::stays);
        observer.reached("forget-receipt");
        let (records, swept) = self
            .remove_planned(&repacked, locks, observer)
            .map_err(StoreError::behind(receipt))?;
        let size = |sizes: &[(ArchiveId, u64)]| sizes.iter().map(|(_, size)| size).sum::<u64>();
        let after = store.archive_sizes().map_err(StoreError::behind(receipt))?;
        Ok(Forgotten {
            receipt,
            archives,
            freed: records + size(&before).saturating_sub(size(&after)),
            swept,
        })
    }

    /// Removes what the receipt says is gone. Returns the bytes of the records, and what the cleanup removed.
    fn remove_planned(
        &self,
        repacked: &[Repacked],
        locks: Vec<LockGuard>,
        observer: &dyn Observer,
    ) -> Result<(u64, Swept), StoreError> {
        self.store.catalog.ensure_complete()?;
        let records = self.forget(observer)?;
        self.remove_forgotten(observer)?;
        // Now the new archives have all that records need, and older redirects may lead to them at once.
        for new in repacked {
            self.shorten(new, &new.from)?;
        }
        drop(locks);
        Ok((records, self.sweep(observer)?))
    }

    /// Brings the catalog up to date. What is removed depends on its answers.
    pub(super) fn catch_up(&self) -> Result<(), StoreError> {
        let store = self.store;
        let _receipts = lock::wait(&store.layout, RECEIPTS)?;
        catalog_sync::catch_up(&store.catalog, &store.layout).map(drop)
    }

    /// Removes the archives that receipts of `forget` say are gone. May be repeated at any time. One that a record still needs, because
    /// nothing that took its place is there, stays.
    pub(super) fn remove_forgotten(&self, observer: &dyn Observer) -> Result<(), StoreError> {
        let layout = self.store.layout();
        let left = left_over(self.store)?;
        if left.is_empty() {
            return Ok(());
        }
        let mut needs = None;
        for id in left {
            let is_replaced = match archive_redirects::next(layout, &id)? {
                Some(into) => {
                    durable::is_there(&layout.archive(&archive_redirects::resolve(layout, &into)?.id))?
                }
                None => {
                    let needs = match &needs {
                        Some(needs) => needs,
                        None => needs.insert(Needs::of(self.store)?),
                    };
                    needs.unreadable.is_empty() && !needs.names_archive(&id)
                }
            };
            if is_replaced {
                remove(&layout.archive(&id))?;
                observer.reached("forget-archive");
            }
        }
        durable::sync_parent(&layout.archives().join("any"))
    }
}

impl NewParts {
    /// Fails if a part is in none of the new archives. The receipt would lead snapshots to nothing.
    fn check_written(&self, store: &Store, repacked: &[Repacked]) -> Result<(), StoreError> {
        let mut written = Vec::new();
        for new in repacked {
            written.push(Archive::open(
                &store.layout.archive(&new.into.id),
                Some(&new.into),
            )?);
        }
        let is_written = |digest: &Digest| written.iter().any(|archive| archive.locate(digest).is_some());
        match self.0.keys().find(|digest| !is_written(digest)) {
            None => Ok(()),
            Some(digest) => Err(StoreError::Content {
                digest: *digest,
                reason: "it is in none of the new archives".to_owned(),
            }),
        }
    }
}

/// Returns the archives that receipts say are gone and that are still there.
fn left_over(store: &Store) -> Result<Vec<ArchiveId>, StoreError> {
    let mut left = Vec::new();
    for id in store.catalog.forgotten_archives()? {
        if durable::is_there(&store.layout().archive(&id))? {
            left.push(id);
        }
    }
    Ok(left)
}

/// Removes what a killed process left, unless others use the store at this moment.
pub(super) fn finish(store: &Store) -> Result<(), StoreError> {
    if left_over(store)?.is_empty() {
        return Ok(());
    }
    match store.exclusive(Patience::Short) {
        Err(StoreError::Locked { .. }) => Ok(()),
        sole => sole?.remove_forgotten(&Silent),
    }
}
