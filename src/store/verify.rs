//! Is everything there, and is it what was written? Reads only.

use std::collections::{BTreeMap, HashMap};

use super::archive::{Archive, Piece};
use super::{Blobs, Store, StoreError};
use crate::observer::{Observer, Phase};
use crate::snapshot::{
    ArchiveId, ArchiveRef, Content, Hasher, Manifest, MountRecord, RelPath, SnapshotId, SnapshotRecord,
};

/// Something that is not as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The snapshot that is hurt, when one is.
    pub snapshot: Option<SnapshotId>,
    /// The archive that is hurt, when one is.
    pub archive: Option<ArchiveId>,
    /// The file whose content is hurt: mount label and path.
    pub path: Option<(String, RelPath)>,
    /// What is wrong, in words.
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
    /// What is wrong; empty when all is well.
    pub findings: Vec<Finding>,
    /// The operator stopped it.
    pub interrupted: bool,
}

impl Store {
    /// Checks the chain, every record, every archive's shape, and that every content a manifest names lies in an archive.
    /// With `read_data` every stored byte is read and compared with its digest.
    ///
    /// # Errors
    /// Only when the store's directory cannot be listed; damage is a finding.
    pub fn verify(&self, read_data: bool, observer: &dyn Observer) -> Result<Verified, StoreError> {
        let _kept = self.layout.enter()?;
        let mut check = Check {
            store: self,
            read_data,
            observer,
            seen: HashMap::new(),
            out: Verified::default(),
        };
        observer.begin(Phase::Verify);
        match self.receipts() {
            Ok(receipts) => check.out.receipts = receipts.len() as u64,
            Err(error) => check.find(None, None, error.to_string()),
        }
        let mut archives: BTreeMap<ArchiveId, ArchiveRef> = BTreeMap::new();
        let mut needs_key = false;
        for id in self.record_ids()? {
            if observer.cancelled() {
                check.out.interrupted = true;
                break;
            }
            check.out.snapshots += 1;
            match self.record(&id) {
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
        for archive in archives.values() {
            if observer.cancelled() {
                check.out.interrupted = true;
                break;
            }
            check.out.archives += 1;
            check.archive(archive);
        }
        observer.end();
        Ok(check.out)
    }
}

struct Check<'a> {
    store: &'a Store,
    read_data: bool,
    observer: &'a dyn Observer,
    /// Content that was read already: what is wrong with it, if anything.
    seen: HashMap<Content, Option<String>>,
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

    /// The key that digests of private files were taken with.
    fn key(&mut self) {
        match self.store.digest_key() {
            Ok(Some(_)) => {}
            Ok(None) => {
                let what =
                    "digest.key is gone: whether credentials changed cannot be told, nor whose settings are";
                self.find(None, None, what.to_owned());
            }
            Err(error) => self.find(None, None, error.to_string()),
        }
    }

    fn snapshot(&mut self, record: &SnapshotRecord) {
        let blobs = self.store.contents(record);
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
    }

    /// What is stored of private files; bundles are opened with the operator's keys, when there are any.
    fn private(&mut self, record: &SnapshotRecord, mount: &MountRecord, blobs: &Blobs) {
        for content in mount.private().filter(|content| content.size > 0) {
            let is_known = self.seen.contains_key(&content);
            let what = match blobs.whole(&content.digest) {
                Err(error) => Some(error.to_string()),
                Ok(_) if is_known => None,
                Ok(_) => match mount
                    .sealed
                    .as_ref()
                    .filter(|sealed| sealed.digest == content.digest)
                {
                    Some(sealed) => self
                        .store
                        .unseal(sealed, blobs)
                        .err()
                        .map(|error| error.to_string()),
                    None => None,
                },
            };
            self.seen.insert(content, what.clone());
            if let Some(what) = what {
                self.find(Some(&record.id), None, what);
            }
        }
    }

    fn contents(&mut self, record: &SnapshotRecord, label: &str, manifest: &Manifest, blobs: &Blobs) {
        for (path, entry) in manifest.entries() {
            let Some(content) = entry.content().filter(|content| content.size > 0) else {
                continue;
            };
            if self.observer.cancelled() {
                self.out.interrupted = true;
                return;
            }
            let what = if !blobs.has(&content.digest) {
                Some(blobs.absence(&content.digest))
            } else if self.read_data {
                match self.seen.get(content) {
                    Some(known) => known.clone(),
                    None => {
                        let what = self.read(content, blobs);
                        self.seen.insert(*content, what.clone());
                        what
                    }
                }
            } else {
                None
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

    fn read(&mut self, content: &Content, blobs: &Blobs) -> Option<String> {
        let mut hasher = Hasher::new(content.method, content.size);
        let streamed = blobs.stream(&content.digest, &mut |piece| {
            match piece {
                Piece::Data(bytes) => hasher.update(bytes),
                Piece::Hole(count) => hasher.skip_zeros(count),
            }
            Ok(())
        });
        self.out.bytes += content.size;
        self.observer.advance(1, content.size);
        match streamed {
            Err(error) => Some(error.to_string()),
            Ok(()) if hasher.finish() != *content => Some("its content is not what it was".to_owned()),
            Ok(()) => None,
        }
    }

    /// The bytes of the file itself: also those that no content uses.
    fn archive(&mut self, wanted: &ArchiveRef) {
        if !self.read_data {
            return;
        }
        let Ok(archive) = Archive::open(&self.store.layout().archive(&wanted.id), Some(wanted)) else {
            // Said at every snapshot that needs it.
            return;
        };
        for frame in 0..=archive.frames() {
            if let Err(error) = archive.check_frame(frame) {
                self.find(None, Some(&wanted.id), error.to_string());
            }
        }
        if let Err(error) = archive.check_file(wanted) {
            self.find(None, Some(&wanted.id), error.to_string());
        }
    }
}
