//! Do the log and the catalog belong to the same store? A chain that holds in itself, and is another one from its first link on, was
//! never mirrored by this catalog: one of the two was put in the other's place.

use std::path::Path;

use super::{Layout, StoreError, catalog, log, record};
use crate::model::{Digest, Operation, Receipt, SnapshotId};

/// Part of the store that came from another store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ForeignStore {
    /// The catalog; nothing is lost with it.
    Catalog,
    /// The log: the catalog has the chain of the records that are here.
    Log,
}

/// Finds out which of the two belongs to another store, from the links of a valid log and those that the catalog mirrors. `None`:
/// their first links are the same, or one of them has none.
pub(super) fn stranger(
    layout: &Layout,
    log: &[String],
    copy: &[String],
) -> Result<Option<ForeignStore>, StoreError> {
    match (log.first(), copy.first()) {
        (Some(ours), Some(theirs)) if ours != theirs => {}
        _ => return Ok(None),
    }
    let records = record::ids(layout)?;
    Ok(Some(match !tells_of(log, &records) && tells_of(copy, &records) {
        true => ForeignStore::Log,
        false => ForeignStore::Catalog,
    }))
}

/// Returns true if one of the links records the capture of one of the records.
fn tells_of(links: &[String], records: &[SnapshotId]) -> bool {
    let is_of_ours = |receipt: Receipt| match receipt.act {
        Operation::Capture { snapshot, .. } => records.binary_search(&snapshot).is_ok(),
        _ => false,
    };
    let receipts = links.iter().filter_map(|json| serde_json::from_str(json).ok());
    receipts.into_iter().any(is_of_ours)
}

/// Returns the error for a log that `catalog` does not mirror: `broken`, or that one of the two is another store's.
pub(super) fn explain(catalog: &catalog::Catalog, layout: &Layout, broken: StoreError) -> StoreError {
    let mut links = Vec::new();
    let scanned = log::scan(&layout.receipts(), log::Place::BEGIN, |link| {
        links.push(link.json);
        Ok(())
    });
    let copy = catalog.links();
    let (Ok(_), Ok(copy)) = (scanned, copy) else {
        return broken;
    };
    match stranger(layout, &links, &copy) {
        Ok(Some(ForeignStore::Catalog)) => StoreError::Damaged {
            path: layout.catalog(),
            why: "it is the catalog of another store; `rebuild` makes it again from records and receipts"
                .to_owned(),
        },
        Ok(Some(ForeignStore::Log)) => foreign_log(&layout.receipts()),
        Ok(None) | Err(_) => broken,
    }
}

/// The error of a log that is another store's.
pub(super) fn foreign_log(path: &Path) -> StoreError {
    StoreError::Chain {
        path: path.to_path_buf(),
        number: 1,
        why: "it is the log of another store, which tells of none of the snapshots here".to_owned(),
    }
}

/// Returns true if every valid link of a damaged log is in `copy`, at its place: then nothing is lost with the log.
pub(super) fn holds_all_of(copy: &[String], bytes: &[u8]) -> bool {
    let hashes: Vec<Digest> = copy.iter().map(|json| Digest::of(json.as_bytes())).collect();
    bytes.split(|byte| *byte == b'\n').all(|line| {
        let link = std::str::from_utf8(line)
            .ok()
            .and_then(|text| text.split_once(' '));
        let Some((hash, json)) = link else { return true };
        let own = Digest::of(json.as_bytes());
        if own.hex() != hash {
            return true;
        }
        let Ok(receipt) = serde_json::from_str::<Receipt>(json) else {
            return true;
        };
        let place = usize::try_from(receipt.number)
            .ok()
            .and_then(|number| number.checked_sub(1));
        // One that the copy does not have was written after the catalog was brought up to date.
        place.is_none_or(|place| hashes.get(place) == Some(&own))
    })
}
