//! A snapshot that comes from elsewhere, whatever it came in: everything is bounded and compared with its digest before anything of
//! it is kept, and it is stored in archives of our own.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

use super::TransferError;
use super::pack::{Members, Packing};
use super::sanitize::{Dropped, Stripping, forget_identities};
use super::stream::{Fault, look};
use crate::capture::{missing_mount, mount_record};
use crate::model::{
    ArchiveId, ArchiveRef, Content, Digest, Hasher, InstanceId, Manifest, ManifestList, MountRecord,
    Recorded, SnapshotId, SnapshotKind, SnapshotRecord, add_sizes,
};
use crate::observer::{Observer, Phase};
use crate::store::{Blobs, Draft, Store, check_record};

/// Manifests that take more bytes are none that this program would read into memory.
const LARGEST_MANIFESTS: u64 = 2 << 30;

/// Snapshot that was read and found to be valid.
pub struct IncomingSnapshot {
    path: PathBuf,
    record: SnapshotRecord,
    manifests: Vec<Option<Manifest>>,
    blobs: Blobs,
    dropped: Dropped,
}

/// Identity that an incoming snapshot gets in the store.
pub struct StoredSnapshot<'a> {
    /// Its session here.
    pub instance: &'a InstanceId,
    /// Its id here.
    pub snapshot: &'a SnapshotId,
    /// The workspace that it belongs to here.
    pub workspace: Option<&'a str>,
    /// Kind of the snapshot.
    pub kind: SnapshotKind,
    /// True if the session's end was missed.
    pub late: bool,
    /// A checkpoint's name.
    pub name: Option<&'a str>,
}

/// Content that is stored already, in archives that came before. The state of agents relies on such archives alone, and nothing else
/// on them.
#[derive(Debug, Default)]
pub struct StoredContents([Lot; 2]);

#[derive(Debug, Default)]
struct Lot {
    archives: Vec<ArchiveRef>,
    places: HashMap<Digest, usize>,
}

impl StoredContents {
    /// Adds all that these archives hold.
    pub fn add(&mut self, store: &Store, archives: &[ArchiveRef]) {
        for archive in archives {
            let [plain, state] = &mut self.0;
            let lot = if archive.id.is_state() { state } else { plain };
            if lot.archives.contains(archive) {
                continue;
            }
            let blobs = store.blobs(std::slice::from_ref(archive));
            let place = lot.archives.len();
            lot.archives.push(archive.clone());
            for digest in blobs.digests() {
                lot.places.entry(digest).or_insert(place);
            }
        }
    }

    fn lot(&self, state: bool) -> &Lot {
        let [plain, of_agents] = &self.0;
        if state { of_agents } else { plain }
    }

    fn has(&self, state: bool, digest: &Digest) -> bool {
        self.lot(state).places.contains_key(digest)
    }
}

impl IncomingSnapshot {
    /// Reads and checks all of it. What is in `checked` was checked before, and what is checked now is added. `path` is for messages.
    ///
    /// # Errors
    /// [`TransferError`], naming what does not fit.
    pub fn read(
        path: &Path,
        record: SnapshotRecord,
        blobs: Blobs,
        checked: &mut HashSet<Content>,
        observer: &dyn Observer,
    ) -> Result<Self, TransferError> {
        check_record(&record).map_err(|why| TransferError::damaged(path, why))?;
        let mut moment = Self {
            path: path.to_path_buf(),
            record,
            manifests: Vec::new(),
            blobs,
            dropped: Dropped::default(),
        };
        moment.read_manifests(observer)?;
        observer.begin(Phase::Verify);
        let whole = moment.check_contents(checked, observer);
        observer.end();
        whole?;
        Ok(moment)
    }

    fn read_manifests(&mut self, observer: &dyn Observer) -> Result<(), TransferError> {
        let mut room = LARGEST_MANIFESTS;
        for mount in &mut self.record.mounts {
            // What a commit of this machine has is none of the file's business.
            mount.coverage.by_commit = false;
            (mount.coverage.native, mount.native) = (None, None);
            for facts in mount.git.iter_mut().flatten() {
                facts.by_commit = false;
            }
            if observer.cancelled() {
                return Err(TransferError::Interrupted);
            }
            let Some(digest) = &mount.manifest else {
                self.manifests.push(None);
                continue;
            };
            let damaged = |why: &str| TransferError::damaged(&self.path, why);
            let list = self.blobs.whole(digest)?;
            let list = ManifestList::decode(&list).map_err(TransferError::undecoded(&self.path))?;
            let mut seen = HashSet::new();
            for chunk in &list.chunks {
                if !seen.insert(chunk) {
                    return Err(damaged("a manifest names a chunk twice"));
                }
                let size = self.blobs.stored_bytes(chunk);
                let size = size.ok_or_else(|| damaged("a chunk of a manifest is not in it"))?;
                room = room
                    .checked_sub(size)
                    .ok_or_else(|| damaged("its manifests are larger than any that is read"))?;
            }
            let mut manifest = self.blobs.manifest(digest)?;
            forget_identities(&mut manifest);
            self.manifests.push(Some(manifest));
        }
        Ok(())
    }

    fn check_contents(
        &self,
        seen: &mut HashSet<Content>,
        observer: &dyn Observer,
    ) -> Result<(), TransferError> {
        let manifests = self.manifests.iter().flatten();
        let totals = manifests.clone().map(Manifest::totals);
        let (entries, bytes) = totals.fold((0, 0), |(all, sum), (entries, bytes)| {
            (all + entries, add_sizes(sum, bytes))
        });
        observer.expect(entries, bytes);
        for (mount, manifest) in self.record.mounts.iter().zip(&self.manifests) {
            let label = &mount.coverage.label;
            for (path, entry) in manifest.iter().flat_map(Manifest::entries) {
                let Some(content) = entry.content() else {
                    observer.advance(1, 0);
                    continue;
                };
                if seen.insert(*content) {
                    self.check_content(content, observer)
                        .map_err(|fault| match fault {
                            Fault::Interrupted => TransferError::Interrupted,
                            Fault::Store(error) => TransferError::Store(error),
                            Fault::Wrong(why) => TransferError::Content {
                                label: label.clone(),
                                path,
                                why: why.to_owned(),
                            },
                        })?;
                }
                observer.advance(1, content.size);
            }
            self.check_private(mount)?;
        }
        Ok(())
    }

    fn check_content(&self, content: &Content, observer: &dyn Observer) -> Result<(), Fault> {
        if content.size == 0 {
            return match Hasher::new(content.method, 0).finish() == *content {
                true => Ok(()),
                false => Err(Fault::Wrong("it is empty, and has the digest of something else")),
            };
        }
        look(&self.blobs, content, &|| observer.cancelled(), &mut |_| {}).map(drop)
    }

    fn check_private(&self, mount: &MountRecord) -> Result<(), TransferError> {
        for content in mount.private().filter(|content| content.size > 0) {
            let bytes = self.blobs.whole(&content.digest)?;
            if bytes.len() as u64 != content.size {
                let why = "the stored length of a private file differs from its record";
                return Err(TransferError::damaged(&self.path, why));
            }
        }
        for fact in &mount.withheld {
            if let Some(Recorded(entry)) = &fact.entry
                && entry.content().is_none()
                && !matches!(entry.kind, crate::model::EntryKind::Symlink(_))
            {
                let why = "a private file is neither a file nor a link";
                return Err(TransferError::damaged(&self.path, why));
            }
        }
        Ok(())
    }

    /// Drops metadata that grants rights, and makes `owner` the owner of everything.
    pub fn strip(&mut self, owner: (u32, u32)) {
        let mut stripping = Stripping::new(owner);
        for (mount, manifest) in self.record.mounts.iter_mut().zip(&mut self.manifests) {
            if let Some(manifest) = manifest {
                stripping.manifest(&mount.coverage.label, manifest);
            }
            stripping.private(mount);
        }
        self.dropped = stripping.end();
    }

    /// Returns the metadata that was dropped.
    #[must_use]
    pub fn dropped(&self) -> &Dropped {
        &self.dropped
    }

    /// Entries and bytes as they will be stored.
    #[must_use]
    pub fn totals(&self) -> (u64, u64) {
        let totals = self.manifests.iter().flatten().map(Manifest::totals);
        totals.fold((0, 0), |(all, sum), (entries, bytes)| {
            (all + entries, add_sizes(sum, bytes))
        })
    }

    /// Checks that all new content fits into `free` bytes, even if it hardly compresses.
    ///
    /// # Errors
    /// [`TransferError::Room`] with the number of bytes needed.
    pub fn enforce_limits(&self, free: u64, known: &StoredContents) -> Result<(), TransferError> {
        let mut seen = HashSet::new();
        let mounts = self.record.mounts.iter().zip(&self.manifests);
        let contents = mounts.flat_map(|(mount, manifest)| {
            let state = mount.coverage.state;
            let entries = manifest.iter().flat_map(Manifest::entries);
            entries.filter_map(move |(_, entry)| Some((state, *entry.content()?)))
        });
        let new = contents
            .filter(|(state, content)| !known.has(*state, &content.digest))
            .map(|(_, content)| content)
            .filter(|content| seen.insert(*content));
        let need = new
            .filter_map(|content| self.blobs.stored_bytes(&content.digest))
            .fold(0, add_sizes);
        match need > free {
            true => Err(TransferError::Room {
                path: self.path.clone(),
                need,
                free,
            }),
            false => Ok(()),
        }
    }

    /// Writes new archives into `draft`, and returns the record that makes them a snapshot.
    ///
    /// # Errors
    /// [`TransferError`]; what was written goes with the draft.
    pub fn store(
        &self,
        store: &Store,
        draft: &Draft,
        landed: &StoredSnapshot<'_>,
        known: &StoredContents,
        observer: &dyn Observer,
    ) -> Result<SnapshotRecord, TransferError> {
        self.enforce_limits(store.free_bytes()?, known)?;
        observer.begin(Phase::Import);
        let (entries, bytes) = self.totals();
        observer.expect(entries, bytes);
        let mut mounts: Vec<Option<MountRecord>> = vec![None; self.record.mounts.len()];
        let mut archives = Vec::new();
        for state in [false, true] {
            let id = match state {
                false => landed.snapshot.archive(),
                true => landed.snapshot.state_archive(),
            };
            archives.extend(self.archive(draft, (id, state), known, &mut mounts, observer)?);
        }
        observer.end();
        let mounts: Vec<MountRecord> = mounts.into_iter().flatten().collect();
        Ok(SnapshotRecord {
            format: SnapshotRecord::form_of(&mounts),
            id: landed.snapshot.clone(),
            instance: landed.instance.clone(),
            workspace: landed.workspace.map(str::to_owned),
            kind: landed.kind,
            late: landed.late,
            name: landed.name.map(str::to_owned),
            message: self.record.message.clone(),
            taken_at: self.record.taken_at,
            complete: mounts.iter().all(|mount| mount.gap_count == 0),
            mounts,
            archives,
            written_by: concat!("jackin-recovery ", env!("CARGO_PKG_VERSION")).to_owned(),
        })
    }

    /// One archive, of the mounts that hold the state of agents or of the others, and those that it relies on.
    fn archive(
        &self,
        draft: &Draft,
        (id, state): (ArchiveId, bool),
        known: &StoredContents,
        records: &mut [Option<MountRecord>],
        observer: &dyn Observer,
    ) -> Result<Vec<ArchiveRef>, TransferError> {
        let mounts = self.record.mounts.iter().zip(&self.manifests).zip(records);
        let mut mounts = mounts
            .filter(|((mount, _), _)| mount.coverage.state == state)
            .peekable();
        if mounts.peek().is_none() {
            return Ok(Vec::new());
        }
        let lot = known.lot(state);
        let file = draft.archive_file(&id)?;
        let mut packing = Packing::new(file, Members::Contents, &self.blobs, observer).beside(&lot.places);
        for ((mount, manifest), record) in mounts {
            let made = match manifest {
                Some(manifest) => {
                    packing.tree(&mount.coverage.label, manifest)?;
                    let list = packing.manifest(manifest)?;
                    mount_record(&mount.coverage, mount.started_at, list, manifest)
                }
                None => missing_mount(&mount.coverage, mount.started_at),
            };
            packing.private(mount)?;
            *record = Some(MountRecord {
                mounted: mount.mounted,
                attributes_unknown: mount.attributes_unknown,
                git: mount.git.clone(),
                withheld: mount.withheld.clone(),
                sealed: mount.sealed.clone(),
                ..made
            });
        }
        let relied: BTreeSet<usize> = packing.relied().collect();
        let relied = relied
            .into_iter()
            .filter_map(|place| lot.archives.get(place))
            .cloned();
        let mut needed: Vec<ArchiveRef> = relied.collect();
        if packing.is_empty() {
            return Ok(needed);
        }
        let (_, finished) = packing.finish()?;
        draft.publish_archive(&id)?;
        needed.push(ArchiveRef {
            id,
            size: finished.size,
            digest: finished.digest,
            index: finished.index,
        });
        Ok(needed)
    }

    /// Its record, as it came.
    #[must_use]
    pub fn record(&self) -> &SnapshotRecord {
        &self.record
    }
}
