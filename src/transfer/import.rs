//! Reads a file that `export` should have written, as a stranger's: everything is bounded and compared with its digest before
//! anything of it is kept.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::TransferError;
use super::pack::{Members, Packing};
use super::pipe::{Fault, look};
use super::strip::{Dropped, Stripping, forget_identities};
use crate::capture::{missing_mount, mount_record};
use crate::observer::{Observer, Phase};
use crate::snapshot::{
    ArchiveId, ArchiveRef, Content, Digest, ExportNote, Hasher, InstanceId, Manifest, ManifestList,
    MountRecord, Recorded, SnapshotId, SnapshotKind, SnapshotRecord, Time, add_sizes,
};
use crate::store::archive::{Archive, BlobKind};
use crate::store::{Blobs, Draft, Store, check_record};

/// No note is longer: it is little more than a record.
const LARGEST_NOTE: u64 = 64 << 20;
/// Manifests that take more bytes are none that this program would read into memory.
const LARGEST_MANIFESTS: u64 = 2 << 30;

/// The part of a note that says how to read the rest.
#[derive(Deserialize)]
struct Version {
    format: u64,
    record: RecordVersion,
}

/// The same of the record in it.
#[derive(Deserialize)]
struct RecordVersion {
    format: u64,
}

/// A file that was read and found to be whole.
pub struct Incoming {
    path: PathBuf,
    whole: ArchiveRef,
    note: ExportNote,
    manifests: Vec<Option<Manifest>>,
    blobs: Blobs,
    dropped: Dropped,
}

/// As what a snapshot from a file is stored.
pub struct Landed<'a> {
    /// The new session.
    pub instance: &'a InstanceId,
    /// The new snapshot.
    pub snapshot: &'a SnapshotId,
}

impl Incoming {
    /// Reads the whole file and checks all of it.
    ///
    /// # Errors
    /// [`TransferError`], naming what does not fit.
    pub fn read(path: &Path, observer: &dyn Observer) -> Result<Self, TransferError> {
        let archive = Archive::open(path, None)?;
        let cancelled = || match observer.cancelled() {
            true => Err(TransferError::Interrupted),
            false => Ok(()),
        };
        for frame in 0..=archive.frames() {
            cancelled()?;
            archive.check_frame(frame)?;
        }
        let note = note(path, &archive)?;
        let damaged = |why: String| TransferError::damaged(path, why);
        check_record(&note.record).map_err(damaged)?;
        let whole = archive.describe(note.record.id.archive())?;
        let blobs = Blobs::of_file(archive, whole.clone());
        let mut incoming = Self {
            path: path.to_path_buf(),
            whole,
            note,
            manifests: Vec::new(),
            blobs,
            dropped: Dropped::default(),
        };
        incoming.read_manifests(observer)?;
        observer.begin(Phase::Verify);
        let checked = incoming.check_contents(observer);
        observer.end();
        checked?;
        Ok(incoming)
    }

    fn read_manifests(&mut self, observer: &dyn Observer) -> Result<(), TransferError> {
        let mut room = LARGEST_MANIFESTS;
        for mount in &mut self.note.record.mounts {
            // What a commit of this machine has is none of the file's business.
            mount.coverage.by_commit = false;
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

    fn check_contents(&self, observer: &dyn Observer) -> Result<(), TransferError> {
        let manifests = self.manifests.iter().flatten();
        let totals = manifests.clone().map(Manifest::totals);
        let (entries, bytes) = totals.fold((0, 0), |(all, sum), (entries, bytes)| {
            (all + entries, add_sizes(sum, bytes))
        });
        observer.expect(entries, bytes);
        let mut seen: HashSet<Content> = HashSet::new();
        for (mount, manifest) in self.note.record.mounts.iter().zip(&self.manifests) {
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
                let why = "what is stored of a private file has another length than the record says";
                return Err(TransferError::damaged(&self.path, why));
            }
        }
        for fact in &mount.withheld {
            if let Some(Recorded(entry)) = &fact.entry
                && entry.content().is_none()
                && !matches!(entry.kind, crate::snapshot::Kind::Symlink(_))
            {
                let why = "a private file is neither a file nor a link";
                return Err(TransferError::damaged(&self.path, why));
            }
        }
        Ok(())
    }

    /// Drops what gives rights, and gives everything to `owner`.
    pub fn strip(&mut self, owner: (u32, u32)) {
        let mut stripping = Stripping::new(owner);
        for (mount, manifest) in self.note.record.mounts.iter_mut().zip(&mut self.manifests) {
            if let Some(manifest) = manifest {
                stripping.manifest(&mount.coverage.label, manifest);
            }
            stripping.private(mount);
        }
        self.dropped = stripping.end();
    }

    /// What was dropped.
    #[must_use]
    pub fn dropped(&self) -> &Dropped {
        &self.dropped
    }

    /// What the file says of itself.
    #[must_use]
    pub fn note(&self) -> &ExportNote {
        &self.note
    }

    /// Its length in bytes, and BLAKE3 of them.
    #[must_use]
    pub fn whole(&self) -> (u64, Digest) {
        (self.whole.size, self.whole.digest)
    }

    /// Entries and bytes as they will be stored.
    #[must_use]
    pub fn totals(&self) -> (u64, u64) {
        let totals = self.manifests.iter().flatten().map(Manifest::totals);
        totals.fold((0, 0), |(all, sum), (entries, bytes)| {
            (all + entries, add_sizes(sum, bytes))
        })
    }

    /// Whether it all fits into `free` bytes, however little of it can be compressed; else how many it needs.
    ///
    /// # Errors
    /// [`TransferError::Room`].
    pub fn must_fit(&self, free: u64) -> Result<(), TransferError> {
        let mut seen = HashSet::new();
        let entries = self.manifests.iter().flatten().flat_map(Manifest::entries);
        let contents = entries.filter_map(|(_, entry)| entry.content().copied());
        let new = contents.filter(|content| seen.insert(*content));
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

    /// Writes archives of our own into `draft`, and gives the record that makes them a snapshot.
    ///
    /// # Errors
    /// [`TransferError`]; what was written goes with the draft.
    pub fn store(
        &self,
        store: &Store,
        draft: &Draft,
        landed: &Landed<'_>,
        observer: &dyn Observer,
    ) -> Result<SnapshotRecord, TransferError> {
        self.must_fit(store.free_bytes()?)?;
        observer.begin(Phase::Import);
        let (entries, bytes) = self.totals();
        observer.expect(entries, bytes);
        let mut mounts: Vec<Option<MountRecord>> = vec![None; self.note.record.mounts.len()];
        let mut archives = Vec::new();
        for state in [false, true] {
            let id = match state {
                false => landed.snapshot.archive(),
                true => landed.snapshot.state_archive(),
            };
            archives.extend(self.archive(draft, id, state, &mut mounts, observer)?);
        }
        observer.end();
        let manifests = || self.manifests.iter().flatten();
        Ok(SnapshotRecord {
            format: SnapshotRecord::FORMAT,
            id: landed.snapshot.clone(),
            instance: landed.instance.clone(),
            // That of another machine: here a workspace of the same name is another one.
            workspace: None,
            kind: SnapshotKind::Baseline,
            late: false,
            name: None,
            message: self.note.record.message.clone(),
            taken_at: self.note.record.taken_at,
            complete: manifests().all(Manifest::is_complete),
            mounts: mounts.into_iter().flatten().collect(),
            archives,
            written_by: concat!("jackin-recovery ", env!("CARGO_PKG_VERSION")).to_owned(),
        })
    }

    /// One archive, of the mounts that hold the state of agents or of the others.
    fn archive(
        &self,
        draft: &Draft,
        id: ArchiveId,
        state: bool,
        records: &mut [Option<MountRecord>],
        observer: &dyn Observer,
    ) -> Result<Option<ArchiveRef>, TransferError> {
        let mounts = self.note.record.mounts.iter().zip(&self.manifests).zip(records);
        let mut mounts = mounts
            .filter(|((mount, _), _)| mount.coverage.state == state)
            .peekable();
        if mounts.peek().is_none() {
            return Ok(None);
        }
        let file = draft.archive_file(&id)?;
        let mut packing = Packing::new(file, Members::Contents, &self.blobs, observer);
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
                git: mount.git.clone(),
                withheld: mount.withheld.clone(),
                sealed: mount.sealed.clone(),
                ..made
            });
        }
        if packing.is_empty() {
            return Ok(None);
        }
        let (_, finished) = packing.finish()?;
        draft.publish_archive(&id)?;
        Ok(Some(ArchiveRef {
            id,
            size: finished.size,
            digest: finished.digest,
            index: finished.index,
        }))
    }

    /// When the snapshot was taken.
    #[must_use]
    pub fn taken_at(&self) -> Time {
        self.note.record.taken_at
    }
}

/// What the archive says of itself.
fn note(path: &Path, archive: &Archive) -> Result<ExportNote, TransferError> {
    let no_export = |why: &str| TransferError::NoExport {
        path: path.to_path_buf(),
        why: why.to_owned(),
    };
    let mut notes = archive
        .blobs()
        .iter()
        .filter(|blob| blob.kind == BlobKind::Export);
    let blob = match (notes.next(), notes.next()) {
        (Some(blob), None) => blob,
        (None, _) => return Err(no_export("it is an archive, and does not say of which snapshot")),
        (Some(_), Some(_)) => return Err(no_export("it says twice what it is")),
    };
    let bytes = archive.bytes(blob, LARGEST_NOTE)?;
    let damaged = |why: String| TransferError::damaged(path, why);
    if Digest::of(&bytes) != blob.digest {
        return Err(damaged("what it says of itself was changed".to_owned()));
    }
    let version: Version = serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
    let newest = [
        (version.format, ExportNote::FORMAT),
        (version.record.format, SnapshotRecord::FORMAT),
    ];
    for (found, known) in newest {
        if found > u64::from(known) {
            return Err(TransferError::Newer {
                path: path.to_path_buf(),
                found,
                known: known.into(),
            });
        }
    }
    let mut note: ExportNote = serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
    if note.format != ExportNote::FORMAT {
        return Err(damaged(format!("it has format {}, which never was", note.format)));
    }
    note.record.archives.clear();
    Ok(note)
}
