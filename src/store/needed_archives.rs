//! Archives that a record needs, for a caller without a catalog: those that it names, those that receipts of `forget` name for it
//! since, each where its redirects lead.

use std::collections::{HashMap, HashSet};

use super::{Layout, StoreError, archive_redirects};
use crate::model::{ArchiveId, ArchiveRef, Operation, Receipt, SnapshotId, SnapshotRecord};

/// Changes that receipts of `forget` made to the archives of records, which stay as they were written.
#[derive(Debug, Default)]
pub(super) struct ForgetReceipts {
    /// Archives that hold the manifests of an amended snapshot.
    added: HashMap<SnapshotId, Vec<ArchiveRef>>,
    /// Archives that were replaced or deleted.
    gone: HashSet<ArchiveId>,
}

impl ForgetReceipts {
    /// Takes in the next receipt of the chain.
    pub(super) fn take(&mut self, receipt: &Receipt) {
        let Operation::Forget {
            amended, from, into, ..
        } = &receipt.act
        else {
            return;
        };
        for amended in amended {
            let added = self.added.entry(amended.snapshot.clone()).or_default();
            added.extend(into.iter().cloned());
        }
        self.gone.extend(from.iter().cloned());
    }

    /// Returns the archives that a record needs now, each once; `record` is as it was written.
    pub(super) fn needed(&self, layout: &Layout, record: SnapshotRecord) -> Vec<ArchiveRef> {
        archive_redirects::resolve_all(layout, self.named(record), |id| self.gone.contains(id))
    }

    /// Returns true if a record needs the archive. A redirect that cannot be read may lead to any. `known` has the names that were
    /// followed before and do not lead there.
    pub(super) fn is_needed(
        &self,
        layout: &Layout,
        record: SnapshotRecord,
        archive: &ArchiveId,
        known: &mut HashSet<ArchiveId>,
    ) -> bool {
        let mut named = self.named(record).into_iter();
        named.any(|wanted| {
            known.insert(wanted.id.clone()) && {
                let found: Result<ArchiveRef, StoreError> =
                    archive_redirects::resolve_without(layout, &wanted, |id| self.gone.contains(id));
                found.map_or(true, |found| found.id == *archive)
            }
        })
    }

    fn named(&self, mut record: SnapshotRecord) -> Vec<ArchiveRef> {
        if let Some(added) = self.added.get(&record.id) {
            record.add_archives(added);
        }
        record.archives
    }
}
