//! One capture from beginning to end, and its sibling that only looks.

use std::collections::BTreeSet;

use super::contents::complete;
use super::known::Known;
use super::limit::biggest;
use super::mounted::{missing, record};
use super::pack::Packer;
use super::repositories::{is_stale, survey};
use super::walk::{Skipped, Walk, Walked};
use super::{CaptureError, Limits};
use crate::clock::{Entropy, random};
use crate::contract::Matcher;
use crate::mount::{MountError, Root};
use crate::observer::{Observer, Phase};
use crate::platform::parallel;
use crate::snapshot::{
    ArchiveRef, Coverage, Digest, InstanceId, Manifest, ManifestList, MountRecord, SnapshotId, SnapshotKind,
    SnapshotRecord, Time, add_sizes, runs,
};
use crate::store::archive::{ArchiveError, BlobKind};
use crate::store::{Draft, Store};

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
    /// Refuse what might not fit into the room that is free where the store lies.
    pub must_fit: bool,
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
    /// How many files' content lies in the archive of this capture itself.
    pub stored: u64,
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
    let capture = |known| Capture {
        store,
        request,
        observer,
        known,
    };
    let result = match attempt(capture(Known::find(store, request.coverages))) {
        Ok(Some(captured)) => Ok(captured),
        Ok(None) => attempt(capture(Known::nothing(store))).and_then(|captured| {
            captured.ok_or_else(|| CaptureError::Write(std::io::Error::other("the archive is not whole")))
        }),
        Err(error) => Err(error),
    };
    observer.end();
    result.map_err(|error| match error {
        // Whoever reads this must learn which disk it is.
        CaptureError::Archive(ArchiveError::Write { source }) => CaptureError::Unwritten {
            store: store.layout().root().to_path_buf(),
            source,
        },
        other => other,
    })
}

struct Capture<'a> {
    store: &'a Store,
    request: &'a Request<'a>,
    observer: &'a dyn Observer,
    /// What is in the store already.
    known: Known,
}

impl<'a> Capture<'a> {
    /// Captures. `None`: it has to be written anew, relying on nothing older. Either nothing older turned out to be of
    /// use, so the archive would stand alone without having a member for every entry, or what should be there is not.
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
        if self.request.must_fit {
            self.fits(&walks)?;
        }
        let to_read = walks.iter().flatten().map(|(_, walked)| walked.bytes_to_read());
        self.observer.expect(0, to_read.fold(0, add_sizes));
        let mut packer = Packer::new(&draft, &self.known.blobs, self.observer);
        let mut manifests = Vec::new();
        let mut mounts = Vec::new();
        let mut skipped = Vec::new();
        let mut used = BTreeSet::new();
        let mut stored = 0;
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
            let manifest = complete(
                &root,
                walked,
                self.known.reference(at),
                &mut packer,
                self.observer,
            )?;
            let mut record = match self.known.same(at, coverage, started_at, &manifest) {
                Some((before, archives)) => {
                    used.extend(archives);
                    before
                }
                None => {
                    let list = self.list(&manifest, &mut packer, &mut used)?;
                    if !self.contents(&manifest, &packer, &mut used, &mut stored) {
                        return Ok(None);
                    }
                    record(coverage, started_at, list, &manifest)
                }
            };
            // What is exactly as it was has the repositories that it had. An emergency snapshot is there to be gone back to.
            let left_out = skipped.last().into_iter().flatten();
            let left_out = left_out.map(|skipped| &skipped.path).collect();
            if is_stale(record.git.as_deref(), &left_out) {
                let wanted = self.request.kind != SnapshotKind::Emergency;
                record.git = wanted.then(|| survey(&root, &manifest, &left_out, self.known.before(at), true));
            }
            let mounted = root.is_mount_point();
            mounts.push(MountRecord { mounted, ..record });
            manifests.push(Some(manifest));
        }
        if used.is_empty() && packer.is_partial() {
            return Ok(None);
        }
        let mut archives: Vec<ArchiveRef> = used
            .into_iter()
            .filter_map(|at| self.known.blobs.archives().get(at).cloned())
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
        self.store
            .publish(draft, &record, self.request.now, self.request.uid)?;
        Ok(Some(Captured {
            record,
            manifests,
            skipped,
            stored,
        }))
    }

    /// Whether what has to be stored fits into the room that is left, however little of it can be compressed.
    fn fits(&self, walks: &[Option<(Root, Walked)>]) -> Result<(), CaptureError> {
        // Holes take no room, and what is the same in two places is stored once; both are seen only when files are read.
        let need = |walked: &Walked| walked.bytes_to_read().min(walked.taken.max_bytes);
        let all = || walks.iter().flatten();
        let total = all().map(|(_, walked)| need(walked)).fold(0, add_sizes);
        let free = self.store.free_bytes()?;
        match all().max_by_key(|(_, walked)| need(walked)) {
            Some((root, walked)) if total > free => Err(CaptureError::Room {
                path: root.path().to_path_buf(),
                need: total,
                free,
                store: self.store.layout().root().to_path_buf(),
                biggest: biggest(walked.manifest.directories.iter().map(|dir| &**dir), false),
            }),
            _ => Ok(()),
        }
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
        let reference = self.known.reference(at).map(|reference| reference.on(&root));
        let walk = Walk {
            root: &root,
            matcher: &matcher,
            reference,
            trust_stat,
            limits,
            observer: self.observer,
        };
        self.observer.expect(
            reference.map_or(0, |reference| reference.earlier.manifest.entry_count()),
            0,
        );
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
    fn list(
        &self,
        manifest: &Manifest,
        packer: &mut Packer<'_>,
        used: &mut BTreeSet<usize>,
    ) -> Result<Digest, CaptureError> {
        /// So many chunks are in memory at once.
        const WINDOW: usize = 64;
        let mut store = |kind, digest, bytes: &[u8]| {
            packer.blob(kind, digest, bytes)?;
            if !packer.holds(&digest) {
                used.extend(self.known.blobs.archive_of(&digest));
            }
            Ok::<_, CaptureError>(())
        };
        let runs = runs(manifest);
        let mut chunks = Vec::with_capacity(runs.len());
        for window in runs.chunks(WINDOW) {
            for chunk in parallel::map(window, |run| run.encode(manifest)) {
                store(BlobKind::Chunk, chunk.digest, &chunk.bytes)?;
                chunks.push(chunk.digest);
            }
        }
        let root = manifest.root.clone();
        let bytes = ManifestList { root, chunks }.encode();
        let digest = Digest::of(&bytes);
        store(BlobKind::List, digest, &bytes)?;
        Ok(digest)
    }

    /// Counts the content that this capture stored, and notes which older archives hold the rest. `false` when some is in neither.
    fn contents(
        &self,
        manifest: &Manifest,
        packer: &Packer<'_>,
        used: &mut BTreeSet<usize>,
        stored: &mut u64,
    ) -> bool {
        let entries = manifest.directories.iter().flat_map(|dir| &dir.entries);
        let contents = entries.filter_map(|entry| entry.content().filter(|content| content.size > 0));
        let mut last = None;
        for content in contents {
            if packer.holds(&content.digest) {
                *stored += 1;
                continue;
            }
            let archive = self.known.blobs.archive_of(&content.digest);
            if archive.is_none() {
                return false;
            }
            if archive != last {
                used.extend(archive);
                last = archive;
            }
        }
        true
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
