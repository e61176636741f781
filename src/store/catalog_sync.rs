//! Keeps the catalog a projection of `receipts.log` and the records: checks whether it is complete, catches it up, rebuilds it.

use super::catalog::{Catalog, Tables};
use super::log::{self, Place};
use super::{Layout, StoreError, record, store_id};
use crate::model::{Operation, SnapshotId};

/// Differences between the catalog and what it mirrors.
struct State {
    /// The last receipt it has.
    last: Place,
    /// True if the log has more receipts.
    more_receipts: bool,
    /// Records that it lacks.
    missing: Vec<SnapshotId>,
    /// True if it lists snapshots whose records are missing.
    strange: bool,
    /// True if it lists the records that are there, and no others.
    lists_all: bool,
}

impl State {
    /// An error when the log does not have what the catalog has: that is damage, and not made good by
    /// forgetting.
    fn of(catalog: &Catalog, layout: &Layout) -> Result<Self, StoreError> {
        let last = catalog.last_receipt()?;
        let more_receipts = match log::scan(&layout.receipts(), last, |_| Ok(())) {
            Err(broken @ StoreError::Chain { .. }) => return Err(store_id::explain(catalog, layout, broken)),
            scanned => scanned? != last,
        };
        // Every command comes by here, and nearly always both are the same.
        let lists_all = catalog.lists_exactly(&record::names(layout)?)?;
        let (mut missing, mut strange) = (Vec::new(), false);
        if !lists_all {
            // The catalog first: what it has was on disk before it had it.
            let applied = catalog.applied_records()?;
            let there = record::ids(layout)?;
            missing = but(&there, &applied).cloned().collect();
            strange = but(&applied, &there).next().is_some();
        }
        if !missing.is_empty() {
            // What was given up is not missing, even while its record is still there.
            let pruned = catalog.pruned()?;
            missing.retain(|id| !pruned.contains(id));
        }
        Ok(Self {
            last,
            more_receipts,
            missing,
            strange,
            lists_all,
        })
    }

    fn is_whole(&self) -> bool {
        !self.more_receipts && self.missing.is_empty() && !self.strange
    }
}

/// Returns the elements of `all` that are not in `without`; both are sorted.
fn but<'a>(all: &'a [SnapshotId], without: &'a [SnapshotId]) -> impl Iterator<Item = &'a SnapshotId> {
    all.iter().filter(|id| without.binary_search(id).is_err())
}

/// Applies the receipts behind `from`, then `records`. A record that cannot be read is skipped and told: it
/// must not make the others unreachable.
fn apply(
    tables: &Tables<'_>,
    layout: &Layout,
    from: Place,
    records: &[SnapshotId],
) -> Result<Vec<StoreError>, StoreError> {
    // Another process may have applied what waited in it since `from` was read: it does so without the lock of the log.
    let known = tables.last_number()?;
    // Receipts before records: a receipt names the digest that its record has to have.
    log::scan(&layout.receipts(), from, |link| match link.place.number > known {
        true => tables.apply_receipt(&link),
        false => Ok(()),
    })?;
    apply_records(tables, layout, records)
}

fn apply_records(
    tables: &Tables<'_>,
    layout: &Layout,
    records: &[SnapshotId],
) -> Result<Vec<StoreError>, StoreError> {
    let mut unreadable = Vec::new();
    for id in records {
        match record::read(layout, id, tables.recorded_digest(id)?) {
            Ok(record) => tables.apply_record(&record)?,
            // Removed since it was listed.
            Err(StoreError::NoSnapshot { .. }) => {}
            Err(error) => unreadable.push(error),
        }
    }
    Ok(unreadable)
}

/// Catalog that was brought up to date.
#[derive(Default)]
pub(super) struct CaughtUp {
    /// Errors of records that could not be read.
    pub(super) unreadable: Vec<StoreError>,
    /// True if nothing was missing, and it listed the records that are there and no others: then none of a pruned snapshot is among them.
    pub(super) lists_all: bool,
}

/// Brings a catalog that is open for writing up to date, under the lock `receipts`.
pub(super) fn catch_up(catalog: &Catalog, layout: &Layout) -> Result<CaughtUp, StoreError> {
    catalog.drop_waiting();
    let state = State::of(catalog, layout)?;
    if state.more_receipts {
        // A catalog on disk that knows a receipt which a power loss takes away is the sign of a log that was cut short.
        log::sync(&layout.receipts())?;
    }
    let unreadable = if state.strange {
        renew(catalog, layout)?
    } else if state.is_whole() {
        Vec::new()
    } else {
        catalog.write(|tables| apply(tables, layout, state.last, &state.missing))?
    };
    catalog.caught_up();
    Ok(CaughtUp {
        unreadable,
        // A receipt that came just now may have pruned one of them.
        lists_all: state.lists_all && !state.more_receipts,
    })
}

/// Returns true if the log has a receipt of a `forget` or a prune that the catalog lacks. A log that cannot be read is named by others.
pub(super) fn lacks_deletion(catalog: &Catalog, layout: &Layout) -> Result<bool, StoreError> {
    let mut lacks = false;
    let scanned = log::scan(&layout.receipts(), catalog.last_link()?, |link| {
        lacks |= matches!(
            link.receipt.act,
            Operation::Forget { .. } | Operation::Prune { .. }
        );
        Ok(())
    });
    match scanned {
        Ok(_) | Err(StoreError::Chain { .. }) => Ok(lacks),
        Err(error) => Err(error),
    }
}

/// Empties the catalog and applies everything, in one transaction.
pub(super) fn renew(catalog: &Catalog, layout: &Layout) -> Result<Vec<StoreError>, StoreError> {
    catalog.drop_waiting();
    let unreadable = catalog.write(|tables| {
        tables.reset()?;
        // Listed inside the transaction: a process that publishes a record takes no lock of ours, and adds it to the catalog before
        // this transaction, when it is listed, or behind it.
        apply(tables, layout, Place::BEGIN, &record::ids(layout)?)
    })?;
    catalog.caught_up();
    Ok(unreadable)
}

/// Rebuilds like [`renew`], with the receipts before the damaged one.
fn renew_before(catalog: &Catalog, layout: &Layout) -> Result<Vec<StoreError>, StoreError> {
    catalog.drop_waiting();
    let unreadable = catalog.write(|tables| {
        tables.reset()?;
        let scanned = log::scan(&layout.receipts(), Place::BEGIN, |link| {
            tables.apply_receipt(&link)
        });
        match scanned {
            Err(StoreError::Chain { .. }) | Ok(_) => {}
            Err(error) => return Err(error),
        }
        apply_records(tables, layout, &record::ids(layout)?)
    })?;
    catalog.caught_up();
    Ok(unreadable)
}

/// A catalog for reading: the file when it is whole, else one in memory. Nothing is written. Also returns
/// what could not be read.
pub(super) fn for_reading(layout: &Layout) -> Result<(Catalog, Vec<StoreError>), StoreError> {
    let path = layout.catalog();
    let mut told = Vec::new();
    match whole(layout) {
        Ok(Some(catalog)) => return Ok((catalog, told)),
        Ok(None) => {}
        // The log and a later version are not ours to judge; a database that fails is only a projection.
        Err(error @ StoreError::Catalog { .. }) => told.push(error),
        // What can be read is read all the same: a hurt receipt hurts no snapshot. The catalog has a copy of each.
        Err(error @ StoreError::Chain { .. }) => {
            told.push(error);
            if let Some(catalog) = Catalog::open_read(&path)? {
                return Ok((catalog, told));
            }
        }
        Err(error) if error.is_damage_of(&path) => told.push(error),
        Err(error) => return Err(error),
    }
    let catalog = Catalog::in_memory(&path)?;
    match renew(&catalog, layout) {
        Ok(unread) => told.extend(unread),
        // As far as it holds.
        Err(error @ StoreError::Chain { .. }) => {
            told.extend(renew_before(&catalog, layout)?);
            if !told.iter().any(|told| matches!(told, StoreError::Chain { .. })) {
                told.push(error);
            }
        }
        Err(error) => return Err(error),
    }
    Ok((catalog, told))
}

/// Returns true if a complete catalog differs from the records and receipts. If a record is unreadable, or another process writes
/// meanwhile, that is unknown, and the result is false.
pub(super) fn is_false(catalog: &Catalog, layout: &Layout) -> Result<bool, StoreError> {
    let before = catalog.content()?;
    let renewed = Catalog::in_memory(&layout.catalog())?;
    if !renew(&renewed, layout)?.is_empty() || renewed.content()? == before {
        return Ok(false);
    }
    // In this order: what a writer changed in between is not taken for a fault.
    Ok(State::of(catalog, layout)?.is_whole() && catalog.content()? == before)
}

/// The catalog's file, when it has everything.
pub(super) fn whole(layout: &Layout) -> Result<Option<Catalog>, StoreError> {
    let Some(catalog) = Catalog::open_read(&layout.catalog())? else {
        return Ok(None);
    };
    let whole = State::of(&catalog, layout)?.is_whole();
    Ok(whole.then_some(catalog))
}
