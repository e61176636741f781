//! One capture from beginning to end, and its sibling that only looks.

mod commits;
mod content_refs;
mod git_consistency;
mod private;
mod request;
mod retry;
mod same;
mod step;

use std::collections::BTreeSet;

use self::commits::Read;
use self::git_consistency::Taken;
use self::private::keep_private;
pub use self::request::Request;
pub use self::retry::{take, take_from, take_unless_same, take_with};
pub use self::same::has_changed;
pub use self::step::CountChanges;
use super::contents::{Completed, HashOnly, complete};
use super::excludes::matcher;
use super::fs_snapshot::Frozen;
use super::limit::{Big, biggest};
use super::mounted::{hides_attributes, missing, name_lacks, name_links, record, with_changed};
use super::pack::Packer;
use super::parent::ParentSnapshot;
use super::private::{PrivateFile, look_at_private};
use super::walk::{Skipped, Walk, Walked};
use super::{CaptureError, Limits};
use crate::contract::Verdict;
use crate::model::{
    ArchiveRef, Coverage, Manifest, MountRecord, RelPath, SnapshotId, SnapshotKind, SnapshotRecord, add_sizes,
};
use crate::observer::Observer;
use crate::store::{DigestKey, Store, Told};
use handle_fs::{MountError, Root};

/// Up to so many entries, and bytes to read, a capture takes moments: a receipt before it that waits for the catalog
/// ([`Store::append_deferred`]) comes there with the capture's own.
const QUICK_ENTRIES: u64 = 2_000;
const QUICK_BYTES: u64 = 1 << 20;

/// A snapshot that was taken, with its manifests still in memory.
pub struct Captured {
    /// The record as it is in the store.
    pub record: SnapshotRecord,
    /// Manifest of each mount, in the record's order; `None` if its root did not exist.
    pub manifests: Vec<Option<Manifest>>,
    /// Excluded paths of each mount.
    pub skipped: Vec<Vec<Skipped>>,
    /// Private files of agents in each mount. No archive holds them in this form.
    pub private: Vec<Vec<PrivateFile>>,
    /// Number of files whose content is in the archive of this capture itself.
    pub stored: u64,
    /// Messages for the operator about file-system snapshots that could not be made or removed.
    pub notes: Vec<String>,
}

/// Result of one attempt to capture.
enum Outcome {
    /// The snapshot is taken.
    Taken(Box<Captured>),
    /// No path differs from the snapshot that was given, and nothing was written.
    Same,
    /// The capture must start again, relying on nothing older.
    Again,
}

struct Capture<'a> {
    store: &'a Store,
    request: &'a Request<'a>,
    frozen: Option<&'a Frozen>,
    /// Snapshot from which a path must differ for this one to be taken.
    last: Option<&'a SnapshotRecord>,
    observer: &'a dyn Observer,
    /// Parent snapshots in the store.
    known: ParentSnapshot,
    /// True if the commit of a clean work tree may be recorded instead of its files.
    by_commit: bool,
    /// Key for the digests of credentials, if there may be any.
    key: Option<DigestKey>,
}

impl<'a> Capture<'a> {
    /// Captures the mounts. It must start again, relying on nothing older, if the older archives turned out to be useless, so that
    /// the new one would stand alone without a member for every entry; if content is missing; or if a clean work tree changed.
    fn run(self, id: SnapshotId) -> Result<Outcome, CaptureError> {
        if self.is_same_without_content() {
            return Ok(Outcome::Same);
        }
        // One that may be unnecessary has no draft before it differs.
        let draft = self.last.is_none().then(|| self.store.draft(id.clone()));
        let draft = draft.transpose()?;
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
        if self.shares_all(&walks)? {
            return Ok(Outcome::Same);
        }
        if self.request.enforce_limits {
            self.fits(&walks)?;
        }
        let to_read = walks.iter().flatten().map(|(_, walked)| walked.bytes_to_read());
        let to_read = to_read.fold(0, add_sizes);
        self.observer.expect(0, to_read);
        let found = self.request.limits.max_entries.saturating_sub(left.max_entries);
        if found > QUICK_ENTRIES || to_read > QUICK_BYTES {
            self.store.catalog().flush();
        }
        let Some(settled) = self.settled(&walks) else {
            return Ok(Outcome::Again);
        };
        let draft = draft.map_or_else(|| self.store.draft(id.clone()), Ok)?;
        let mut relies = settled.iter().flatten().any(|settled| !settled.is_nothing());
        let pack = |state| {
            let id = if state { id.state_archive() } else { id.archive() };
            Packer::new(&draft, id, self.known.blobs(state), self.observer)
        };
        let mut packers = [pack(false), pack(true)];
        let mut manifests = Vec::new();
        let mut mounts = Vec::new();
        let mut skipped = Vec::new();
        let mut private = Vec::new();
        let mut all_used = [BTreeSet::new(), BTreeSet::new()];
        let mut stored = 0;
        let mut differs = self.last.is_none();
        // Start of each walk, unless the files moved during it.
        let mut looks = Vec::new();
        let mounts_of = self.request.coverages.iter().enumerate().zip(walks);
        for (((at, coverage), walked), settled) in mounts_of.zip(&settled) {
            let Some((root, mut walked)) = walked else {
                differs = differs || self.differs(at, None);
                looks.push(None);
                mounts.push(missing(coverage, self.request.now));
                manifests.push(None);
                skipped.push(Vec::new());
                private.push(Vec::new());
                continue;
            };
            let ([project, state], [used, used_by_state]) = (&mut packers, &mut all_used);
            let (packer, used) = match coverage.state {
                false => (project, used),
                true => (state, used_by_state),
            };
            let started_at = walked.started_at;
            let mut left_out = std::mem::take(&mut walked.skipped);
            let settled = settled.as_ref();
            packer.mount(&coverage.label, settled);
            // What stays in a snapshot of the file system is only hashed.
            let kept = self.frozen.and_then(|frozen| frozen.kept(coverage));
            let reference = self.known.reference(at, self.by_commit(coverage), kept.is_some());
            let observer = self.observer;
            let Completed {
                mut manifest,
                written_back,
                changed,
            } = match &kept {
                Some(_) => {
                    let mut digests = HashOnly { observer };
                    complete(&root, coverage, walked, reference, &mut digests, observer)?
                }
                None => complete(&root, coverage, walked, reference, packer, observer)?,
            };
            let mut taken = Taken {
                root: &root,
                coverage,
                started_at,
                manifest: &mut manifest,
                written_back,
                changed,
                skipped: &mut left_out,
            };
            let again = self.steady(&mut taken, packer)?;
            let (written_back, changed) = (taken.written_back, taken.changed);
            let changed = covered(coverage, &manifest, changed)?;
            let relied = settled.filter(|settled| !settled.is_nothing());
            // The commits were compared before the files were read. A file that changed in between would have its content in
            // no commit and in no archive.
            if relied.is_some_and(|settled| !again.is_empty() || !settled.is_so(&manifest)) {
                return Ok(Outcome::Again);
            }
            differs = differs || self.differs(at, Some(&manifest)) || self.differs_in_private(at, &root);
            // What changed while it was read may have been read before.
            looks.push((written_back && changed.is_empty()).then_some(started_at));
            if !differs && at + 1 == self.request.coverages.len() {
                root.answers()?;
                self.note_same(looks);
                return Ok(Outcome::Same);
            }
            let by_commit = self.by_commit(coverage) && settled.is_none();
            let elsewhere = (by_commit, kept.is_some());
            let same = self.known.same(at, coverage, started_at, &manifest, elsewhere);
            let is_same = same.is_some();
            let mut record = match same {
                Some((before, archives)) => {
                    used.extend(archives);
                    before
                }
                None => {
                    let list = self.list(&manifest, packer, used)?;
                    if kept.is_none() && !self.contents(&manifest, packer, settled, used, &mut stored) {
                        return Ok(Outcome::Again);
                    }
                    record(coverage, started_at, list, &manifest)
                }
            };
            let read = Read {
                at,
                root: &root,
                manifest: &manifest,
                left_out: &left_out,
                settled,
                again: &again,
            };
            record.git = self.repositories(&read, is_same, record.git);
            let key = self.key.as_ref().filter(|_| coverage.state);
            let found = key
                .map(|key| look_at_private(&root, coverage, key))
                .unwrap_or_default();
            let before = self.known.private_before(at);
            record.sealed = keep_private(coverage, &found, before, packer, used)?;
            record.withheld = found.facts;
            name_lacks(&mut record, &manifest);
            name_links(&mut record);
            relies |= kept.is_some();
            record.native = kept;
            private.push(found.files);
            // A machine that stopped answering looks like a tree full of gaps. That must not become the latest snapshot.
            root.answers()?;
            let mounted = root.is_mount_point();
            let record = with_changed(record, changed);
            mounts.push(MountRecord {
                mounted,
                file_system: root.file_system_id(),
                attributes_unknown: hides_attributes(self.store.transports(), &coverage.root.to_path()),
                written_back,
                ..record
            });
            manifests.push(Some(manifest));
            skipped.push(left_out);
        }
        if !differs {
            self.note_same(looks);
            return Ok(Outcome::Same);
        }
        let mut archives: Vec<ArchiveRef> = Vec::new();
        // Archives get their names before the record does, so that a visible record never names content that is not on disk.
        for (packer, used) in packers.into_iter().zip(all_used) {
            if used.is_empty() && !relies && packer.is_partial() {
                return Ok(Outcome::Again);
            }
            let older = used
                .into_iter()
                .filter_map(|at| packer.known().archives().get(at));
            archives.extend(older.cloned());
            archives.extend(packer.finish()?);
        }
        let complete = mounts.iter().all(|mount| mount.gap_count == 0);
        let record = self.record(id, mounts, archives, complete);
        let told = Told {
            step: self.step(&record, &manifests),
            call: self.request.call.cloned(),
            since: self.request.since,
            then: self
                .request
                .then
                .map(|(clock, operation)| (clock.now(), operation.clone())),
            is_of_living: record.kind == SnapshotKind::Checkpoint,
        };
        let at = self.request.told_at.unwrap_or(self.request.now);
        self.store.publish(draft, &record, told, at, self.request.uid)?;
        Ok(Outcome::Taken(Box::new(Captured {
            record,
            manifests,
            skipped,
            private,
            stored,
            notes: Vec::new(),
        })))
    }

    /// Checks that the content to store fits into the free room, even if none of it can be compressed.
    fn fits(&self, walks: &[Option<(Root, Walked)>]) -> Result<(), CaptureError> {
        // Holes take no room, and what is the same in two places is stored once; both are seen only when files are read.
        let need = |walked: &Walked| walked.bytes_to_read().min(walked.taken.max_bytes);
        let walks = walks.iter().zip(self.request.coverages);
        let archived = walks.filter(|(_, coverage)| !self.is_kept(coverage));
        let all: Vec<_> = archived
            .filter_map(|(walk, coverage)| Some((walk.as_ref()?, coverage)))
            .collect();
        let needed = all.iter().map(|((_, walked), _)| need(walked));
        let total = needed.fold(0, add_sizes);
        let free = self.store.free_bytes()?;
        match all.iter().max_by_key(|((_, walked), _)| need(walked)) {
            Some(((root, walked), coverage)) if total > free => Err(CaptureError::Room {
                path: root.path().to_path_buf(),
                need: total,
                free,
                store: self.store.layout().root().to_path_buf(),
                biggest: of_kind(
                    biggest(walked.manifest.directories.iter().map(|dir| &**dir), false),
                    coverage,
                ),
            }),
            _ => Ok(()),
        }
    }

    /// Returns true if the contents of a mount stay in its file-system snapshot.
    fn is_kept(&self, coverage: &Coverage) -> bool {
        self.frozen.is_some_and(|frozen| frozen.keeps(coverage))
    }

    /// Returns true if stat data can prove that a file is unchanged.
    fn trusts(&self, root: &Root) -> bool {
        !self.request.check_content && root.file_system().is_ok_and(|fs| fs.trusted_ctime)
    }

    fn walk(
        &self,
        at: usize,
        coverage: &Coverage,
        limits: Limits,
    ) -> Result<Option<(Root, Walked)>, CaptureError> {
        let frozen = self
            .frozen
            .and_then(|frozen| frozen.open(self.store.transports(), coverage));
        let opened = frozen.unwrap_or_else(|| Root::open(self.store.transports(), &coverage.root.to_path()));
        let root = match opened {
            Ok(root) => root,
            Err(MountError::Missing { .. }) if self.request.kind != SnapshotKind::Baseline => {
                return Ok(None);
            }
            Err(error) => return Err(error.into()),
        };
        let matcher = matcher(coverage)?;
        let trust_stat = self.trusts(&root);
        let reference = self
            .known
            .reference(at, self.by_commit(coverage), self.is_kept(coverage))
            .map(|reference| reference.on(&root));
        let walk = Walk {
            root: &root,
            matcher: &matcher,
            store: self.store.layout().root(),
            reference,
            trust_stat,
            limits,
            observer: self.observer,
        };
        let expected = reference.map_or(0, |reference| reference.earlier.manifest.entry_count());
        self.observer.expect(expected, 0);
        if expected > QUICK_ENTRIES {
            self.store.catalog().flush();
        }
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
                biggest: of_kind(biggest, coverage),
            },
            other => other,
        })?;
        Ok(Some((root, walked)))
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
            format: SnapshotRecord::form_of(&mounts),
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

/// Returns the changed files without those that came meanwhile and are excluded.
fn covered(
    coverage: &Coverage,
    manifest: &Manifest,
    mut changed: Vec<RelPath>,
) -> Result<Vec<RelPath>, CaptureError> {
    if changed.iter().any(|path| manifest.entry(path).is_none()) {
        let matcher = matcher(coverage)?;
        let is_covered = |path: &RelPath| matcher.verdict_with_parents(path, false) == Verdict::Covered;
        changed.retain(|path| manifest.entry(path).is_some() || is_covered(path));
    }
    Ok(changed)
}

/// Returns the biggest directories of a coverage with the kind of their mount.
fn of_kind(mut biggest: Vec<Big>, coverage: &Coverage) -> Vec<Big> {
    for big in &mut biggest {
        big.is_state = coverage.state;
    }
    biggest
}
