//! One capture from beginning to end, and its sibling that only looks.

use std::collections::BTreeSet;

use super::contents::complete;
use super::pack::Packer;
use super::walk::{Reference, Skipped, Walk, Walked};
use super::{CaptureError, Limits};
use crate::clock::{Entropy, random};
use crate::contract::Matcher;
use crate::mount::{MountError, Root};
use crate::observer::{Observer, Phase};
use crate::snapshot::{
    Act, ArchiveRef, Coverage, Digest, InstanceId, Manifest, MountRecord, RecordedGap, SnapshotId,
    SnapshotKind, SnapshotRecord, Time, add_sizes, cut,
};
use crate::store::archive::BlobKind;
use crate::store::{Blobs, Draft, Store};

/// What to capture.
pub struct Request<'a> {
    /// For which instance.
    pub instance: &'a InstanceId,
    /// Its workspace, when there is one.
    pub workspace: Option<&'a str>,
    /// Which moment.
    pub kind: SnapshotKind,
    /// A closing snapshot whose session's end was not seen.
    pub late: bool,
    /// A checkpoint's name.
    pub name: Option<&'a str>,
    /// A checkpoint's message.
    pub message: Option<&'a str>,
    /// The mounts.
    pub coverages: &'a [Coverage],
    /// How much is too much.
    pub limits: Limits,
    /// Read every file, whatever its stat data say.
    pub check_content: bool,
    /// Wall clock now.
    pub now: Time,
    /// Who acts.
    pub uid: u32,
}

/// A snapshot that was taken, with its manifests still in memory.
pub struct Captured {
    /// The record as it lies in the store.
    pub record: SnapshotRecord,
    /// What each mount held, in the record's order; `None` when its root did not exist.
    pub manifests: Vec<Option<Manifest>>,
    /// What excludes left out, for each mount.
    pub skipped: Vec<Vec<Skipped>>,
    /// Content that this capture itself stored.
    pub stored: Vec<Digest>,
}

/// Takes a snapshot. It is visible when this returns, and leaves nothing when it fails.
///
/// # Errors
/// [`CaptureError`].
pub fn take(
    store: &Store,
    request: &Request<'_>,
    observer: &dyn Observer,
    entropy: &dyn Entropy,
) -> Result<Captured, CaptureError> {
    let _shared = store.share()?;
    observer.begin(Phase::Capture);
    let attempt = |capture: Capture<'_>| {
        let id = SnapshotId::new(random(entropy));
        let draft = store.draft(id.clone())?;
        capture.run(id, draft)
    };
    let result = match attempt(Capture::new(store, request, observer)) {
        Ok(Some(captured)) => Ok(captured),
        Ok(None) => attempt(Capture::alone(store, request, observer)).and_then(|captured| {
            captured.ok_or_else(|| CaptureError::Write(std::io::Error::other("the archive is not whole")))
        }),
        Err(error) => Err(error),
    };
    observer.end();
    result
}

/// The latest snapshot of a mount root, whichever instance it belongs to.
pub(crate) struct Latest {
    /// What was there.
    pub(crate) manifest: Manifest,
    /// When that capture began to look.
    pub(crate) started_at: Time,
    archives: Vec<ArchiveRef>,
}

/// Finds it. Without one, or when it cannot be read, everything is read anew: that costs time and nothing else.
pub(crate) fn latest(store: &Store, coverage: &Coverage) -> Option<Latest> {
    let id = store.catalog().latest_snapshot_on_root(&coverage.root.0).ok()??;
    let record = store.record(&id).ok()?;
    let mount = record
        .mounts
        .iter()
        .find(|mount| mount.coverage.root == coverage.root)?;
    let manifest = store.manifest(&record, mount).ok()??;
    Some(Latest {
        manifest,
        started_at: mount.started_at,
        archives: record.archives.clone(),
    })
}

struct Capture<'a> {
    store: &'a Store,
    request: &'a Request<'a>,
    observer: &'a dyn Observer,
    /// For each mount the latest snapshot of the same root, with its manifest.
    earlier: Vec<Option<Latest>>,
    /// What the archives of those snapshots hold.
    known: Blobs,
}

impl<'a> Capture<'a> {
    fn new(store: &'a Store, request: &'a Request<'a>, observer: &'a dyn Observer) -> Self {
        let mut archives: Vec<ArchiveRef> = Vec::new();
        let mut earlier = Vec::new();
        for coverage in request.coverages {
            let found = latest(store, coverage);
            for archive in found.iter().flat_map(|latest| &latest.archives) {
                if !archives.contains(archive) {
                    archives.push(archive.clone());
                }
            }
            earlier.push(found);
        }
        // An archive that does not open is not among them: what it held is read and stored again.
        Self {
            store,
            request,
            observer,
            earlier,
            known: store.blobs(&archives),
        }
    }

    /// Captures. `None`: nothing older turned out to be of use, so the archive would stand alone without having a member
    /// for every entry; it has to be written anew.
    fn run(self, id: SnapshotId, draft: Draft) -> Result<Option<Captured>, CaptureError> {
        // All mounts are walked, and all limits checked, before a byte is written.
        let mut left = self.request.limits;
        let mut walks = Vec::new();
        for (at, coverage) in self.request.coverages.iter().enumerate() {
            let walked = self.walk(at, coverage, left)?;
            if let Some((_, walked)) = &walked {
                left.max_entries = left.max_entries.saturating_sub(walked.taken.max_entries);
                left.max_bytes = left.max_bytes.saturating_sub(walked.taken.max_bytes);
            }
            walks.push(walked);
        }
        let to_read = walks
            .iter()
            .flatten()
            .map(|(_, walked)| walked.bytes_to_read())
            .fold(0, add_sizes);
        self.observer.expect(0, to_read);
        let mut packer = Packer::new(&draft, &self.known, self.observer);
        let mut manifests = Vec::new();
        let mut mounts = Vec::new();
        let mut skipped = Vec::new();
        let mut used = BTreeSet::new();
        let mut stored = Vec::new();
        for ((at, coverage), walked) in self.request.coverages.iter().enumerate().zip(walks) {
            let Some((root, mut walked)) = walked else {
                mounts.push(missing(coverage, self.request.now));
                manifests.push(None);
                skipped.push(Vec::new());
                continue;
            };
            let started_at = walked.started_at;
            skipped.push(std::mem::take(&mut walked.skipped));
            packer.mount(&coverage.label);
            let manifest = complete(&root, walked, self.reference(at), &mut packer, self.observer)?;
            let list = self.manifest(&manifest, &mut packer, &mut used)?;
            for content in manifest
                .entries()
                .filter_map(|(_, entry)| entry.content())
                .filter(|c| c.size > 0)
            {
                if packer.holds(&content.digest) {
                    stored.push(content.digest);
                } else {
                    used.extend(self.known.archive_of(&content.digest));
                }
            }
            mounts.push(MountRecord {
                mounted: root.is_mount_point(),
                ..record(coverage, started_at, list, &manifest)
            });
            manifests.push(Some(manifest));
        }
        if used.is_empty() && packer.is_partial() {
            return Ok(None);
        }
        let mut archives: Vec<ArchiveRef> = used
            .into_iter()
            .filter_map(|at| self.known.archives().get(at).cloned())
            .collect();
        if let Some(finished) = packer.finish()? {
            let archive = id.archive();
            draft.publish_archive(&archive)?;
            let (size, digest, index) = (finished.size, finished.digest, finished.index);
            archives.push(ArchiveRef {
                id: archive,
                size,
                digest,
                index,
            });
        }
        let complete = manifests.iter().flatten().all(Manifest::is_complete);
        let record = self.record(id, mounts, archives, complete);
        let digest = draft.publish(&record)?;
        let act = Act::Capture {
            snapshot: record.id.clone(),
            kind: record.kind,
            record: digest,
        };
        self.store
            .append(self.request.now, self.request.uid, self.request.instance, act)?;
        Ok(Some(Captured {
            record,
            manifests,
            skipped,
            stored,
        }))
    }

    /// Relies on nothing older.
    fn alone(store: &'a Store, request: &'a Request<'a>, observer: &'a dyn Observer) -> Self {
        let earlier = request.coverages.iter().map(|_| None).collect();
        Self {
            store,
            request,
            observer,
            earlier,
            known: store.blobs(&[]),
        }
    }

    fn reference(&self, at: usize) -> Option<Reference<'_>> {
        let latest = self.earlier.get(at)?.as_ref()?;
        let (manifest, started_at) = (&latest.manifest, latest.started_at);
        Some(Reference {
            manifest,
            started_at,
            known: Some(&self.known),
        })
    }

    fn walk(
        &self,
        at: usize,
        coverage: &Coverage,
        limits: Limits,
    ) -> Result<Option<(Root, Walked)>, CaptureError> {
        let root = match Root::open(&coverage.root.to_path()) {
            Ok(root) => root,
            Err(MountError::Missing { .. }) if self.request.kind != SnapshotKind::Baseline => {
                return Ok(None);
            }
            Err(error) => return Err(error.into()),
        };
        let matcher = matcher(coverage)?;
        let trust_stat = !self.request.check_content && root.file_system().is_ok_and(|fs| fs.trusted_ctime);
        let reference = self.reference(at);
        let walk = Walk {
            root: &root,
            matcher: &matcher,
            reference,
            trust_stat,
            limits,
            observer: self.observer,
        };
        self.observer
            .expect(reference.map_or(0, |reference| reference.manifest.totals().0), 0);
        let walked = walk.run().map_err(|error| match error {
            // What was agreed, not what the mounts before this one left of it.
            CaptureError::Limit {
                path,
                entries,
                biggest,
                ..
            } => CaptureError::Limit {
                path,
                entries,
                limit: if entries {
                    self.request.limits.max_entries
                } else {
                    self.request.limits.max_bytes
                },
                biggest,
            },
            other => other,
        })?;
        Ok(Some((root, walked)))
    }

    /// Stores chunks and list of a manifest; gives the list's digest and notes which older archives it needs.
    fn manifest(
        &self,
        manifest: &Manifest,
        packer: &mut Packer<'_>,
        used: &mut BTreeSet<usize>,
    ) -> Result<Digest, CaptureError> {
        let (list, chunks) = cut(manifest);
        for chunk in &chunks {
            packer.blob(BlobKind::Chunk, chunk.digest, &chunk.bytes)?;
            if !packer.holds(&chunk.digest) {
                used.extend(self.known.archive_of(&chunk.digest));
            }
        }
        let bytes = list.encode();
        let digest = Digest::of(&bytes);
        packer.blob(BlobKind::List, digest, &bytes)?;
        if !packer.holds(&digest) {
            used.extend(self.known.archive_of(&digest));
        }
        Ok(digest)
    }

    fn record(
        &self,
        id: SnapshotId,
        mounts: Vec<MountRecord>,
        archives: Vec<ArchiveRef>,
        complete: bool,
    ) -> SnapshotRecord {
        let request = self.request;
        SnapshotRecord {
            format: SnapshotRecord::FORMAT,
            id,
            instance: request.instance.clone(),
            workspace: request.workspace.map(str::to_owned),
            kind: request.kind,
            late: request.late,
            name: request.name.map(str::to_owned),
            message: request.message.map(str::to_owned),
            taken_at: request.now,
            complete,
            mounts,
            archives,
            written_by: concat!("jackin-recovery ", env!("CARGO_PKG_VERSION")).to_owned(),
        }
    }
}

/// The excludes of a coverage, ready to be asked.
pub(super) fn matcher(coverage: &Coverage) -> Result<Matcher, CaptureError> {
    Matcher::new(coverage).map_err(|error| CaptureError::Excludes {
        path: coverage.root.to_path(),
        reason: error.to_string(),
    })
}

fn missing(coverage: &Coverage, now: Time) -> MountRecord {
    let coverage = coverage.clone();
    MountRecord {
        coverage,
        started_at: now,
        mounted: false,
        manifest: None,
        entries: 0,
        bytes: 0,
        gap_count: 0,
        gaps: vec![],
    }
}

fn record(coverage: &Coverage, started_at: Time, list: Digest, manifest: &Manifest) -> MountRecord {
    let (entries, bytes) = manifest.totals();
    let lacks = manifest.lacks();
    MountRecord {
        coverage: coverage.clone(),
        started_at,
        mounted: false,
        manifest: Some(list),
        entries,
        bytes,
        gap_count: lacks.len() as u64,
        gaps: lacks
            .into_iter()
            .take(100)
            .map(|(path, reason)| RecordedGap { path, reason })
            .collect(),
    }
}
