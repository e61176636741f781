//! Do records, archives, receipts and drafts belong together? Reads records and receipts; no archive is opened.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::DraftFact;
use crate::model::{ArchiveId, Digest, Operation, SnapshotId};
use crate::store::needed_archives::ForgetReceipts;
use crate::store::reconcile::{Account, LostRecord};
use crate::store::{Layout, StoreError, lock, log, record};

/// Facts about records, archives and receipts; see [`super::Survey`].
pub(super) struct Told {
    pub(super) records: u64,
    pub(super) unreadable: Vec<(SnapshotId, StoreError)>,
    pub(super) without_receipt: Vec<SnapshotId>,
    pub(super) untold: Vec<SnapshotId>,
    pub(super) lost: Vec<LostRecord>,
    pub(super) archives: u64,
    pub(super) missing: Vec<(SnapshotId, ArchiveId)>,
    pub(super) orphans: Vec<(PathBuf, u64)>,
    pub(super) receipts: Result<u64, StoreError>,
}

/// Returns the sorted paths in a directory; a missing one is empty.
fn listed(directory: &Path, failures: &mut Vec<StoreError>) -> Vec<PathBuf> {
    match fs::read_dir(directory) {
        Ok(entries) => {
            let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
            paths.sort();
            paths
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => {
            failures.push(StoreError::io("list", directory)(error));
            Vec::new()
        }
    }
}

/// The archives by their names.
pub(super) fn archives(layout: &Layout, failures: &mut Vec<StoreError>) -> Vec<ArchiveId> {
    let paths = listed(&layout.archives(), failures);
    let stem = |path: &PathBuf| Some(path.file_name()?.to_str()?.strip_suffix(".tar.zst")?.to_owned());
    let id = |path: &PathBuf| ArchiveId::parse(&stem(path)?).ok();
    paths.iter().filter_map(id).collect()
}

/// The drafts, and whether their processes live.
pub(super) fn drafts(layout: &Layout, failures: &mut Vec<StoreError>) -> Vec<DraftFact> {
    let mut found = Vec::new();
    for path in listed(&layout.drafts(), failures) {
        // A draft ends while it is looked at: then it is none.
        if !fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_dir()) {
            continue;
        }
        let holders = lock::is_held(&path.join("lock")).unwrap_or_else(|error| {
            failures.push(error);
            // What cannot be told counts as alive.
            Some(Vec::new())
        });
        let files = listed(&path, failures);
        let size = |path: &PathBuf| fs::symlink_metadata(path).map_or(0, |meta| meta.blocks() * 512);
        let bytes = files.iter().map(size).sum();
        found.push(DraftFact { path, holders, bytes });
    }
    found
}

/// Receipts, records, and what they say of `archives`.
pub(super) fn snapshots(
    layout: &Layout,
    archives: Vec<ArchiveId>,
    drafts: &[DraftFact],
    failures: &mut Vec<StoreError>,
) -> Told {
    // Records before receipts: a record comes before its receipt.
    let ids = record::ids(layout).unwrap_or_else(|error| {
        failures.push(error);
        Vec::new()
    });
    let mut captured: HashMap<SnapshotId, Digest> = HashMap::new();
    let mut account = Account::default();
    let mut forgets = ForgetReceipts::default();
    let mut receipts = 0;
    let scanned = log::scan(&layout.receipts(), log::Place::BEGIN, |link| {
        receipts += 1;
        account.take(&link.receipt);
        forgets.take(&link.receipt);
        if let Operation::Capture { snapshot, record, .. } = link.receipt.act {
            captured.entry(snapshot).or_insert(record);
        }
        Ok(())
    });
    let mut told = Told {
        records: ids.len() as u64,
        unreadable: Vec::new(),
        without_receipt: Vec::new(),
        untold: Vec::new(),
        lost: Vec::new(),
        archives: archives.len() as u64,
        missing: Vec::new(),
        orphans: Vec::new(),
        receipts: scanned.map(|_| receipts),
    };
    let mut needed: HashMap<ArchiveId, bool> = HashMap::new();
    for id in &ids {
        match record::read(layout, id, captured.get(id).copied()) {
            Ok(record) => {
                for archive in forgets.needed(layout, record) {
                    let there = *needed.entry(archive.id.clone()).or_insert_with(|| {
                        let meta = fs::symlink_metadata(layout.archive(&archive.id));
                        meta.is_ok_and(|meta| meta.is_file() && meta.len() == archive.size)
                    });
                    if !there {
                        told.missing.push((id.clone(), archive.id));
                    }
                }
            }
            // Removed since it was listed.
            Err(StoreError::NoSnapshot { .. }) => {}
            Err(error) => told.unreadable.push((id.clone(), error)),
        }
    }
    // Behind a broken link nobody knows what the chain told.
    if told.receipts.is_ok() {
        (told.without_receipt, told.untold) = account.untold(layout, &ids);
        told.lost = account.lost(layout, &ids);
    }
    let drafted: Vec<ArchiveId> = drafts
        .iter()
        .filter_map(|draft| SnapshotId::parse(draft.path.file_name()?.to_str()?).ok())
        .flat_map(|id| id.archives())
        .collect();
    for id in archives {
        if !needed.contains_key(&id) && !drafted.contains(&id) {
            let path = layout.archive(&id);
            let size = fs::symlink_metadata(&path).map_or(0, |meta| meta.len());
            told.orphans.push((path, size));
        }
    }
    told
}
