//! Inspects everything in the store without opening it: damage in one part does not hide the others. Changes nothing. The result is
//! plain facts; the caller decides what they mean for the operator.

mod contents;
mod places;

use std::path::PathBuf;

use super::catalog::{self, Health};
use super::held_lock::Holder;
use super::lock;
use super::{HeldLock, Layout, LostRecord, NativeFact, StoreError, catalog_sync, fs_snapshots};
use crate::model::{ArchiveId, SnapshotId};

/// Problem with a file or directory of the store.
#[derive(Debug)]
pub enum Inconsistency {
    /// A symbolic link.
    Link,
    /// Neither the expected kind of file nor a link.
    Kind,
    /// Owned by this user, which is not the current one.
    Owner(u32),
    /// Accessible to other users; with its permission bits.
    Open(u32),
    /// Not accessible to jackin as required; with its permission bits.
    Closed(u32),
    /// Inspection was refused, with the error of the system.
    Unseen(std::io::Error),
}

/// A path with a problem.
#[derive(Debug)]
pub struct UnexpectedFile {
    /// Path of the file or directory.
    pub path: PathBuf,
    /// True if it is one of the directories that make up the store.
    pub directory: bool,
    /// Problem that was found.
    pub lapse: Inconsistency,
}

/// A draft in `tmp`.
#[derive(Debug)]
pub struct DraftFact {
    /// Its directory.
    pub path: PathBuf,
    /// Processes that hold its lock. `None`: the lock is free, so its process is gone. Empty: the system does not show the holder.
    pub holders: Option<Vec<Holder>>,
    /// Bytes that it takes up, without an archive that it published.
    pub bytes: u64,
}

/// Condition of the catalog's file.
#[derive(Debug)]
pub struct CatalogFacts {
    /// The version of its tables; `None` when there is no file.
    pub version: Option<i64>,
    /// Faults in its structure or its content.
    pub faults: Vec<String>,
    /// True if it has everything that records and receipts contain.
    pub current: bool,
    /// Error that makes it unusable, or that it knows receipts which the log has lost.
    pub error: Option<StoreError>,
    /// Path of an earlier catalog that was no longer a database and was set aside.
    pub aside: Option<PathBuf>,
}

/// Result of an inspection.
#[derive(Debug)]
pub struct Survey {
    /// The store's directory.
    pub root: PathBuf,
    /// Files in it.
    pub files: u64,
    /// Bytes that it takes up on the disk.
    pub bytes: u64,
    /// Files and directories that are not protected as required.
    pub odd: Vec<UnexpectedFile>,
    /// Records.
    pub records: u64,
    /// Records that cannot be read.
    pub unreadable: Vec<(SnapshotId, StoreError)>,
    /// Snapshots without a receipt, as a kill between record and receipt leaves them.
    pub without_receipt: Vec<SnapshotId>,
    /// Snapshots whose receipts were lost.
    pub untold: Vec<SnapshotId>,
    /// Snapshots that a receipt records, and whose record is gone.
    pub lost: Vec<LostRecord>,
    /// Archives.
    pub archives: u64,
    /// Archives that a record needs and that are missing, or have another size.
    pub missing: Vec<(SnapshotId, ArchiveId)>,
    /// Archives that no readable record and no draft names, with their sizes in bytes.
    pub orphans: Vec<(PathBuf, u64)>,
    /// Receipts in the chain, or where it breaks.
    pub receipts: Result<u64, StoreError>,
    /// Drafts.
    pub drafts: Vec<DraftFact>,
    /// Snapshots of file systems.
    pub natives: Vec<NativeFact>,
    /// The catalog.
    pub catalog: CatalogFacts,
    /// Errors of what could not be inspected.
    pub failures: Vec<StoreError>,
}

impl Survey {
    /// Inspects the store at `root`; `None` if nothing is there.
    #[must_use]
    pub fn of(root: impl Into<Layout>) -> Option<Self> {
        let layout = root.into();
        let mut failures = Vec::new();
        let _kept = layout.enter().map_err(|error| failures.push(error));
        let seen = places::look(layout.root())?;
        // In this order: what a capture that is under way publishes in between is never taken for left over.
        let archives = contents::archives(&layout, &mut failures);
        let drafts = contents::drafts(&layout, &mut failures);
        let told = contents::snapshots(&layout, archives, &drafts, &mut failures);
        Some(Self {
            root: layout.root().to_path_buf(),
            files: seen.files,
            bytes: seen.bytes,
            odd: seen.odd,
            records: told.records,
            unreadable: told.unreadable,
            without_receipt: told.without_receipt,
            untold: told.untold,
            lost: told.lost,
            archives: told.archives,
            missing: told.missing,
            orphans: told.orphans,
            receipts: told.receipts,
            drafts,
            natives: fs_snapshots::facts(&layout, &mut failures),
            catalog: catalog_facts(&layout),
            failures,
        })
    }

    /// Returns true if the store's own directory could not be entered, so that nothing in it was inspected.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        let closed =
            |odd: &UnexpectedFile| matches!(odd.lapse, Inconsistency::Unseen(_) | Inconsistency::Kind);
        self.odd.iter().any(|odd| odd.path == self.root && closed(odd))
    }

    /// The locks that are held in the store at `root`, and what could not be looked at. `roots`: mount roots that restores may
    /// be at work on.
    #[must_use]
    pub fn locks(root: impl Into<Layout>, roots: &[PathBuf]) -> (Vec<HeldLock>, Vec<StoreError>) {
        let layout = root.into();
        match layout.enter() {
            Ok(_kept) => lock::held(&layout, roots),
            Err(error) => (Vec::new(), vec![error]),
        }
    }
}

pub(super) fn catalog_facts(layout: &Layout) -> CatalogFacts {
    let aside = layout.damaged_catalog();
    let mut facts = CatalogFacts {
        version: None,
        faults: Vec::new(),
        current: false,
        error: None,
        aside: aside.symlink_metadata().is_ok().then_some(aside),
    };
    match catalog::health(&layout.catalog()) {
        Ok(None) => {}
        Ok(Some(Health { version, faults })) => {
            facts.version = Some(version);
            let sound = faults.is_empty();
            facts.faults = faults;
            if sound {
                match catalog_sync::whole(layout) {
                    Ok(Some(catalog)) => {
                        facts.current = true;
                        // What cannot be read of records and receipts is told as theirs.
                        if let Ok(true) = catalog_sync::is_false(&catalog, layout) {
                            facts
                                .faults
                                .push("it does not say what records and receipts say".to_owned());
                        }
                    }
                    Ok(None) => {}
                    Err(error) => facts.error = Some(error),
                }
            }
        }
        Err(error) => facts.error = Some(error),
    }
    facts
}
