//! Checks that everything in the store exists and is what was written. Reads only.

use std::collections::{BTreeMap, HashMap};

use super::archive::{Archive, Piece};
use super::chain::ReadChain;
use super::reconcile::LostRecord;
use super::{BlobPlace, BlobReader, Blobs, Layout, Store, StoreError, inspect};
use crate::model::{
    ArchiveId, ArchiveRef, Content, Hasher, Manifest, MountRecord, RelPath, SnapshotId, SnapshotRecord,
};
use crate::observer::{Observer, Phase};
use handle_fs::parallel;

/// So many archives are looked at before others may use the store alone.
const AT_ONCE: usize = 16;
/// Number of contents in no archive that are one piece of work.
const LOOSE: usize = 64;

/// Something that is not as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The damaged snapshot, if it is one.
    pub snapshot: Option<SnapshotId>,
    /// The damaged archive, if it is one.
    pub archive: Option<ArchiveId>,
    /// The file whose content is damaged, if it is one: mount label and path.
    pub path: Option<(String, RelPath)>,
    /// Description of the problem.
    pub what: String,
}

/// The result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Snapshots looked at.
    pub snapshots: u64,
    /// Archives looked at.
    pub archives: u64,
    /// Receipts in the chain.
    pub receipts: u64,
    /// Bytes of content read.
    pub bytes: u64,
    /// Encrypted bundles that none of the given keys opens: only what is not encrypted of them was checked.
    pub unopened: u64,
    /// Problems found; empty if everything is valid.
    pub findings: Vec<Finding>,
    /// The operator stopped it.
    pub interrupted: bool,
}

impl Store {
    /// Checks the chain, every record, also those that should be there, every archive's shape, and that every content a manifest
    /// names lies in an archive.
    /// With `read_data` every stored byte is read and compared with its digest.
    ///
    /// # Errors
    /// When the store's directory cannot be listed, or none of the given keys opens anything. Damage is a finding.
    pub fn verify(&self, read_data: bool, observer: &dyn Observer) -> Result<Verified, StoreError> {
        let _kept = self.layout.enter()?;
        let mut check = Check {
            store: self,
            read_data,
            observer,
            seen: HashMap::new(),
            loose: HashMap::new(),
            opened: false,
            unfit: None,
            out: Verified::default(),
        };
        observer.begin(Phase::Verify);
        let _open = self.keep_archives_open();
        let lost = check.chain();
        let mut archives: BTreeMap<ArchiveId, ArchiveRef> = BTreeMap::new();
        let mut needs_key = false;
        for id in self.ids_as_stored()? {
            if observer.cancelled() {
                check.out.interrupted = true;
                break;
            }
            // Between two snapshots archives may go: whoever gives some up need not wait for all of this.
            let _shared = self.share()?;
            let record = self.record(&id);
            if matches!(
                record,
                Err(StoreError::NoSnapshot { .. } | StoreError::LostRecord { .. })
            ) {
                continue;
            }
            check.out.snapshots += 1;
            match record {
                Ok(record) => {
                    archives.extend(
                        record
                            .archives
                            .iter()
                            .map(|archive| (archive.id.clone(), archive.clone())),
                    );
                    needs_key |= record.mounts.iter().any(|mount| !mount.withheld.is_empty());
                    check.snapshot(&record);
                }
                Err(error) => check.find(Some(&id), None, error.to_string()),
            }
        }
        if needs_key {
            check.key();
        }
        if !check.out.interrupted {
            check.lost(&lost);
            check.catalog();
        }
        check.out.archives = archives.len() as u64;
        if read_data {
            check.archives(&archives.into_values().collect::<Vec<_>>())?;
        }
        observer.end();
        match check.unfit {
            // Keys that open nothing were not meant for this store.
            Some(error) if !check.opened && check.out.findings.is_empty() => Err(error),
            _ => Ok(check.out),
        }
    }
}

impl Store {
    /// Returns the ids of all records, the newest first: neighbors need nearly the same archives. Those that the catalog does not know
    /// are the last.
    fn ids_as_stored(&self) -> Result<Vec<SnapshotId>, StoreError> {
        let mut ids = self.record_ids()?;
        // A catalog that cannot be read is found below.
        let rows = self.catalog().snapshots_as_stored().unwrap_or_default();
        let order: HashMap<SnapshotId, usize> = rows.into_iter().map(|row| row.id).zip(0..).collect();
        ids.sort_by_key(|id| order.get(id).copied().unwrap_or(usize::MAX));
        Ok(ids)
    }
}

struct Check<'a> {
    store: &'a Store,
    read_data: bool,
    observer: &'a dyn Observer,
    /// Content that was read already, by the archive that it was read from: what is wrong with it, if anything.
    seen: HashMap<ArchiveId, HashMap<Content, Option<String>>>,
    /// The same of what was read from none.
    loose: HashMap<Content, Option<String>>,
    /// One of the given keys opened a bundle.
    opened: bool,
    /// Error of a bundle that none of them opens.
    unfit: Option<StoreError>,
    out: Verified,
}

impl Check<'_> {
    fn find(&mut self, snapshot: Option<&SnapshotId>, archive: Option<&ArchiveId>, what: String) {
        let (snapshot, archive) = (snapshot.cloned(), archive.cloned());
        self.out.findings.push(Finding {
            snapshot,
            archive,
            path: None,
            what,
        });
    }

    /// Checks the chain and returns the records that it names and that are gone. For a broken chain it returns none: the part
    /// behind the break is unknown, and may record their deletion.
    fn chain(&mut self) -> Vec<LostRecord> {
        let (store, layout) = (self.store, self.store.layout());
        let read = match store.read_chain() {
            Ok(ReadChain {
                broken: Some(error), ..
            })
            | Err(error) => {
                self.find(None, None, error.to_string());
                return Vec::new();
            }
            Ok(read) => read,
        };
        self.out.receipts = read.receipts.len() as u64;
        let untold = store.untold_error(read.account.untold(layout, &read.ids).1);
        if let Some(error) = untold {
            self.find(None, None, error.to_string());
        }
        read.account.lost(layout, &read.ids)
    }

    fn lost(&mut self, lost: &[LostRecord]) {
        for lost in lost {
            let what = format!(
                "its record is missing, and it was not pruned: receipt {} names {lost}",
                lost.receipt
            );
            self.find(Some(&lost.snapshot), None, what);
        }
    }

    /// Checks the catalog: nothing is lost with it, but its damage must be reported.
    fn catalog(&mut self) {
        let facts = inspect::catalog_facts(self.store.layout());
        for fault in facts.faults {
            self.find(
                None,
                None,
                format!("the catalog is damaged: {fault}; `rebuild` makes it again"),
            );
        }
        // Where the chain breaks is said above; one that cannot be asked now is not damaged.
        if let Some(error @ StoreError::Damaged { .. }) = facts.error {
            self.find(None, None, error.to_string());
        }
    }

    /// Checks the key that digests of private files were taken with.
    fn key(&mut self) {
        match self.store.digest_key() {
            Ok(Some(_)) => {}
            Ok(None) => {
                let what = "digest.key is missing: changes of credentials and settings cannot be detected";
                self.find(None, None, what.to_owned());
            }
            Err(error) => self.find(None, None, error.to_string()),
        }
    }

    /// Returns what is known of content from the place where this snapshot has it. Another archive may hold the same, valid or
    /// damaged.
    fn seen_in(&self, blobs: &Blobs, content: &Content) -> Option<&Option<String>> {
        let seen = match holder(blobs, content) {
            Some(archive) => self.seen.get(archive)?,
            None => &self.loose,
        };
        seen.get(content)
    }

    fn saw(&mut self, blobs: &Blobs, content: Content, what: Option<String>) {
        let seen = match holder(blobs, &content) {
            Some(archive) => self.seen.entry(archive.clone()).or_default(),
            None => &mut self.loose,
        };
        seen.insert(content, what);
    }

    fn snapshot(&mut self, record: &SnapshotRecord) {
        let blobs = self.store.contents(record);
        let is_native = record.mounts.iter().any(|mount| mount.native.is_some());
        if is_native {
            // Another file-system snapshot may lack what one has.
            self.loose.clear();
        }
        for (archive, error) in blobs.damaged() {
            self.find(Some(&record.id), Some(archive), error.to_string());
        }
        for mount in &record.mounts {
            let Some(digest) = &mount.manifest else { continue };
            match blobs.manifest(digest) {
                Ok(manifest) => self.contents(record, &mount.coverage.label, &manifest, &blobs),
                Err(error) => self.find(Some(&record.id), None, error.to_string()),
            }
            self.private(record, mount, &blobs);
        }
        if is_native {
            self.loose.clear();
        }
    }

    /// Checks the stored parts of private files; bundles are opened with the operator's keys, if there are any.
    fn private(&mut self, record: &SnapshotRecord, mount: &MountRecord, blobs: &Blobs) {
        for content in mount.private().filter(|content| content.size > 0) {
            let is_known = self.seen_in(blobs, &content).is_some();
            let what = match blobs.whole(&content.digest) {
                Err(error) => Some(error.to_string()),
                Ok(_) if is_known => None,
                Ok(_) => match mount
                    .sealed
                    .as_ref()
                    .filter(|sealed| sealed.digest == content.digest)
                {
                    Some(sealed) => match self.store.unseal(sealed, blobs) {
                        Ok(files) => {
                            self.opened |= files.is_some();
                            None
                        }
                        Err(error @ StoreError::Sealed { is_key: true, .. }) => {
                            self.out.unopened += 1;
                            self.unfit = Some(error);
                            None
                        }
                        Err(error) => Some(error.to_string()),
                    },
                    None => None,
                },
            };
            self.saw(blobs, content, what.clone());
            if let Some(what) = what {
                self.find(Some(&record.id), None, what);
            }
        }
    }

    fn contents(&mut self, record: &SnapshotRecord, label: &str, manifest: &Manifest, blobs: &Blobs) {
        if self.read_data {
            self.read_all(manifest, blobs);
        }
        for (path, entry) in manifest.entries() {
            let Some(content) = entry.content().filter(|content| content.size > 0) else {
                continue;
            };
            if self.observer.cancelled() {
                self.out.interrupted = true;
                return;
            }
            let what = match blobs.has(&content.digest) {
                true => self.seen_in(blobs, content).cloned().flatten(),
                false => Some(blobs.absence(&content.digest)),
            };
            if let Some(what) = what {
                let snapshot = Some(record.id.clone());
                let path = Some((label.to_owned(), path));
                self.out.findings.push(Finding {
                    snapshot,
                    archive: None,
                    path,
                    what,
                });
            }
        }
    }

    /// Reads what was not read yet, on all cores, in the order in which it lies in the archives.
    fn read_all(&mut self, manifest: &Manifest, blobs: &Blobs) {
        let mut unread: HashMap<Content, Option<BlobPlace>> = HashMap::new();
        for (_, entry) in manifest.entries() {
            if let Some(content) = entry.content().filter(|content| content.size > 0)
                && self.seen_in(blobs, content).is_none()
            {
                unread
                    .entry(*content)
                    .or_insert_with(|| blobs.place_of(&content.digest));
            }
        }
        let mut unread: Vec<(Content, Option<BlobPlace>)> = unread.into_iter().collect();
        unread.sort_by_key(|(content, place)| (*place, content.digest));
        self.observer.expect(
            unread.len() as u64,
            unread.iter().map(|(content, _)| content.size).sum(),
        );
        // What lies in one frame is read by one thread.
        let mut parts: Vec<&[(Content, Option<BlobPlace>)]> = Vec::new();
        let beside = |a: &(Content, Option<BlobPlace>), b: &(Content, Option<BlobPlace>)| {
            a.1.zip(b.1).is_some_and(|(a, b)| a.is_adjacent(&b))
        };
        let (loose, stored) = unread.split_at(unread.partition_point(|(_, place)| place.is_none()));
        parts.extend(loose.chunks(LOOSE).chain(stored.chunk_by(beside)));
        let observer = self.observer;
        let read = parallel::map_with(&parts, BlobReader::default, |reader, part| {
            blobs.read_ahead(reader, part.iter().map(|(content, _)| content));
            let mut found = Vec::with_capacity(part.len());
            for (content, _) in *part {
                if observer.cancelled() {
                    break;
                }
                found.push((*content, read(content, blobs, reader)));
                observer.advance(1, content.size);
            }
            found
        });
        for (content, what) in read.into_iter().flatten() {
            if what.is_none() {
                self.out.bytes += content.size;
            }
            self.saw(blobs, content, what);
        }
    }

    /// The bytes of the files themselves: also those that no content uses.
    fn archives(&mut self, wanted: &[ArchiveRef]) -> Result<(), StoreError> {
        let (layout, observer) = (self.store.layout(), self.observer);
        for some in wanted.chunks(AT_ONCE) {
            let _shared = self.store.share()?;
            let checked = parallel::map(some, |wanted| {
                let _kept = layout.enter();
                match observer.cancelled() {
                    true => Vec::new(),
                    false => check(layout, wanted),
                }
            });
            for (wanted, found) in some.iter().zip(checked) {
                for what in found {
                    self.find(None, Some(&wanted.id), what);
                }
            }
        }
        self.out.interrupted |= observer.cancelled();
        Ok(())
    }
}

/// The archive that content is read from.
fn holder<'b>(blobs: &'b Blobs, content: &Content) -> Option<&'b ArchiveId> {
    let archive = blobs.archives().get(blobs.archive_of(&content.digest)?)?;
    Some(&archive.id)
}

/// Returns the problems with the file of an archive.
fn check(layout: &Layout, wanted: &ArchiveRef) -> Vec<String> {
    let Ok(archive) = Archive::open(&layout.archive(&wanted.id), Some(wanted)) else {
        // Said at every snapshot that needs it, or nothing needs it any more.
        return Vec::new();
    };
    let frames = (0..=archive.frames()).filter_map(|frame| archive.check_frame(frame).err());
    let all = frames.chain(archive.check_file(wanted).err());
    all.map(|error| error.to_string()).collect()
}

/// Reads a content and returns the problem with it, if any.
fn read(content: &Content, blobs: &Blobs, reader: &mut BlobReader) -> Option<String> {
    let mut hasher = Hasher::new(content.method, content.size);
    let streamed = blobs.stream_by(reader, &content.digest, &mut |piece| {
        match piece {
            Piece::Data(bytes) => hasher.update(bytes),
            Piece::Hole(count) => hasher.skip_zeros(count),
        }
        Ok(())
    });
    match streamed {
        Err(error) if blobs.has(&content.digest) => Some(error.to_string()),
        Err(_) => Some(blobs.absence(&content.digest)),
        Ok(()) if hasher.finish() != *content => Some("its content is not what it was".to_owned()),
        Ok(()) => None,
    }
}
