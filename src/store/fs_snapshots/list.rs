//! Lists the file-system snapshots of all captures, and removes leftovers.

use std::path::PathBuf;

use super::handle::is_there;
use super::{LOCK, PAPER, clear, ids, read};
use crate::model::{NativePlace, SnapshotId};
use crate::store::DRAFTS;
use crate::store::{Layout, StoreError, durable, lock};

/// State of the file-system snapshots of one capture, for an inspection.
#[derive(Debug)]
pub struct NativeFact {
    /// Id of the captured snapshot.
    pub id: SnapshotId,
    /// True if its record exists.
    pub is_recorded: bool,
    /// True if the process that works with it is alive.
    pub is_alive: bool,
    /// Paths of its file-system snapshots.
    pub places: Vec<PathBuf>,
    /// Paths of those that are gone.
    pub missing: Vec<PathBuf>,
    /// Paths of those whose state is unknown, with the reason.
    pub unseen: Vec<(PathBuf, String)>,
}

/// Returns the state of all captures, and adds errors to `failures`.
pub(in crate::store) fn facts(layout: &Layout, failures: &mut Vec<StoreError>) -> Vec<NativeFact> {
    let mut found = Vec::new();
    let ids = ids(layout).unwrap_or_else(|error| {
        failures.push(error);
        Vec::new()
    });
    for id in ids {
        let directory = layout.native(&id);
        let fact = || -> Result<Option<NativeFact>, StoreError> {
            let Some(paper) = read(&directory)? else {
                return Ok(None);
            };
            let mounts: Vec<PathBuf> = paper
                .mounts
                .iter()
                .map(|mount| mount.coverage.root.to_path())
                .collect();
            let (mut missing, mut unseen) = (Vec::new(), Vec::new());
            for native in &paper.natives {
                match is_there(native, (layout.snapshot_programs(), &mounts), false) {
                    Ok(true) => {}
                    Ok(false) => missing.push(native.directory()),
                    Err(why) => unseen.push((native.directory(), why)),
                }
            }
            Ok(Some(NativeFact {
                is_recorded: durable::is_there(&layout.record(&id))?,
                is_alive: lock::is_taken(&directory.join(LOCK))?,
                places: paper.natives.iter().map(NativePlace::directory).collect(),
                missing,
                unseen,
                id: id.clone(),
            }))
        };
        match fact() {
            Ok(fact) => found.extend(fact),
            Err(error) => failures.push(error),
        }
    }
    found
}

/// Removes directories without an intent that dead processes left behind.
pub(in crate::store) fn sweep(layout: &Layout) -> Vec<StoreError> {
    let swept = || -> Result<Vec<StoreError>, StoreError> {
        let _making = lock::wait(layout, DRAFTS)?;
        let mut failed = Vec::new();
        for id in ids(layout)? {
            let directory = layout.native(&id);
            if durable::is_there(&directory.join(PAPER))? || lock::is_taken(&directory.join(LOCK))? {
                continue;
            }
            failed.extend(clear(&directory, None).err());
        }
        Ok(failed)
    };
    swept().unwrap_or_else(|error| vec![error])
}
