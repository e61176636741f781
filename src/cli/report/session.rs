//! All that is known of a session.

use super::origin::{Begun, Imported, begun, imported};
use super::steps::{Steps, steps};
use crate::cli::document::ChangedMeanwhileDocument;
use crate::cli::error::CliError;
use crate::model::{Coverage, RepositoryFacts, SnapshotId, SnapshotKind, SnapshotRecord, WatchedMount};
use crate::session::{State, forked_from, state};
use crate::store::{ForkRow, InstanceRow, RestoreRow, SnapshotRow, Store};

/// Number of the newest snapshots that are read in full.
const LOOKED_AT: usize = 20;

/// All that is known of a session.
pub(in crate::cli) struct SessionReport {
    pub(in crate::cli) row: InstanceRow,
    pub(in crate::cli) state: State,
    pub(in crate::cli) snapshots: Vec<SnapshotRow>,
    pub(in crate::cli) steps: Steps,
    pub(in crate::cli) pins: Vec<Option<SnapshotId>>,
    pub(in crate::cli) pruned: u64,
    pub(in crate::cli) restores: Vec<RestoreRow>,
    pub(in crate::cli) baseline: Option<SnapshotRecord>,
    /// Of the newest snapshots and the baseline: those during which files changed.
    pub(in crate::cli) changed_meanwhile: Vec<ChangedMeanwhileDocument>,
    pub(in crate::cli) begun: Begun,
    pub(in crate::cli) forks: Vec<ForkRow>,
    pub(in crate::cli) forked_from: Option<ForkRow>,
    pub(in crate::cli) imported: Option<Imported>,
    /// Reason for a missing closing snapshot.
    pub(in crate::cli) closing_error: Option<String>,
}

impl SessionReport {
    pub(in crate::cli) fn of(store: &Store, row: InstanceRow) -> Result<Self, CliError> {
        let catalog = store.catalog();
        let all_forks = catalog.forks()?;
        let snapshots = catalog.snapshots(&row.id)?;
        let pins = catalog.pins()?.into_iter().filter(|(of, _)| *of == row.id);
        let baseline = snapshots.iter().find(|row| row.kind == SnapshotKind::Baseline);
        let baseline = match baseline {
            Some(row) => Some(store.record(&row.id)?),
            None => None,
        };
        let newest = snapshots.iter().take(LOOKED_AT);
        let records = newest.filter_map(|row| store.record(&row.id).ok());
        let older = baseline.clone().filter(|_| snapshots.len() > LOOKED_AT);
        let changed_meanwhile = records.chain(older);
        Ok(Self {
            changed_meanwhile: changed_meanwhile
                .filter_map(|record| ChangedMeanwhileDocument::of(&record))
                .collect(),
            state: state(store, &row),
            steps: steps(store, &row, &snapshots)?,
            pins: pins.map(|(_, snapshot)| snapshot).collect(),
            pruned: catalog.pruned_of(&row.id)?.len() as u64,
            restores: catalog.restores(&row.id)?,
            begun: begun(store, &row.id)?,
            imported: imported(store, &row)?,
            closing_error: catalog.missing_closings()?.remove(&row.id),
            forked_from: forked_from(store, &all_forks, &row)?.cloned(),
            forks: all_forks
                .into_iter()
                .filter(|fork| fork.instance == row.id)
                .collect(),
            baseline,
            snapshots,
            row,
        })
    }

    /// Returns true if the snapshot or the whole session is pinned.
    pub(in crate::cli) fn is_pinned(&self, snapshot: &SnapshotId) -> bool {
        let mut pins = self.pins.iter();
        pins.any(|pin| pin.as_ref().is_none_or(|id| id == snapshot))
    }

    /// The git repositories as they were found at the beginning.
    pub(in crate::cli) fn repositories(&self) -> Vec<(&Coverage, &RepositoryFacts)> {
        let kept = self.baseline.iter().flat_map(SnapshotRecord::repositories);
        let seen = self.begun.watched.iter().flat_map(WatchedMount::repositories);
        kept.chain(seen).collect()
    }
}
