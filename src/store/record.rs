//! Snapshot records: reading and checking `snapshots/<id>.json`. What lies there may come from elsewhere and
//! is not trusted.

use serde::Deserialize;
use std::collections::HashSet;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use super::fs_snapshots::is_called_ours;
use super::needed_archives::ForgetReceipts;
use super::{Layout, StoreError, directory, durable, log};
use crate::model::{ArchiveId, ByteString, Coverage, Digest, RelPath, SnapshotId, SnapshotRecord};
use handle_fs::remote::Address;

/// A record lists mounts, excludes and at most a hundred gaps a mount: longer than this it is none (bytes).
const LIMIT: u64 = 64 << 20;

/// The part of a record that says how to read the rest.
#[derive(Deserialize)]
struct Version {
    format: u64,
}

/// Reads the record of `id`; `expected` is the digest that its receipt names, when there is one.
pub(super) fn read(
    layout: &Layout,
    id: &SnapshotId,
    expected: Option<Digest>,
) -> Result<SnapshotRecord, StoreError> {
    let path = layout.record(id);
    let bytes = durable::read(&path, LIMIT)?.ok_or_else(|| StoreError::NoSnapshot { id: id.clone() })?;
    parse_record(&bytes, id, expected, &path)
}

/// The same with the digest of its bytes.
pub(super) fn read_with_digest(
    layout: &Layout,
    id: &SnapshotId,
) -> Result<(SnapshotRecord, Digest), StoreError> {
    let path = layout.record(id);
    let bytes = durable::read(&path, LIMIT)?.ok_or_else(|| StoreError::NoSnapshot { id: id.clone() })?;
    Ok((parse_record(&bytes, id, None, &path)?, Digest::of(&bytes)))
}

/// The same from its bytes, wherever they come from; `path` is for messages.
///
/// # Errors
/// [`StoreError::Newer`], [`StoreError::Damaged`].
pub fn parse_record(
    bytes: &[u8],
    id: &SnapshotId,
    expected: Option<Digest>,
    path: &Path,
) -> Result<SnapshotRecord, StoreError> {
    let path = path.to_path_buf();
    let damaged = |why: String| StoreError::Damaged {
        path: path.clone(),
        why,
    };
    let version: Version = serde_json::from_slice(bytes).map_err(|why| damaged(why.to_string()))?;
    if version.format > u64::from(SnapshotRecord::FORMAT) {
        return Err(StoreError::Newer {
            path,
            found: version.format,
            known: SnapshotRecord::FORMAT.into(),
        });
    }
    if expected.is_some_and(|expected| expected != Digest::of(bytes)) {
        return Err(damaged("its digest is not the one in its receipt".to_owned()));
    }
    let record: SnapshotRecord = serde_json::from_slice(bytes).map_err(|why| damaged(why.to_string()))?;
    check(&record, id).map_err(damaged)?;
    Ok(record)
}

/// Checks a record from another store.
///
/// # Errors
/// A description of the problem.
pub fn check_record(record: &SnapshotRecord) -> Result<(), String> {
    check(record, &record.id)
}

/// Checks what the types do not enforce: ids, labels, roots, sums.
pub(super) fn check(record: &SnapshotRecord, id: &SnapshotId) -> Result<(), String> {
    if !(1..=SnapshotRecord::FORMAT).contains(&record.format) {
        return Err(format!("it has format {}, which never was", record.format));
    }
    if record.id != *id {
        return Err(format!("it says that it is the record of {}", record.id));
    }
    check_mounts(record.mounts.iter().map(|mount| &mount.coverage))?;
    let (mut entries, mut bytes) = (0_i64, 0_i64);
    for mount in &record.mounts {
        if let Some(native) = &mount.native
            && !is_called_ours(&native.place, id)
        {
            return Err(format!("{:?} is not a snapshot of jackin", native.place));
        }
        entries = add(entries, mount.entries).ok_or("its number of entries is out of range")?;
        bytes = add(bytes, mount.bytes).ok_or("its number of bytes is out of range")?;
    }
    Ok(())
}

/// Checks the labels and the roots of a session's mounts.
///
/// # Errors
/// A message about the first fault.
pub fn check_mounts<'c>(mounts: impl IntoIterator<Item = &'c Coverage>) -> Result<(), String> {
    let mut labels = HashSet::new();
    for Coverage { label, root, .. } in mounts {
        if !is_label(label) {
            return Err(format!("{label:?} is not a mount's label"));
        }
        if !labels.insert(label) {
            return Err(format!("two mounts have the label {label:?}"));
        }
        check_root(root).map_err(|why| format!("the mount root {:?} {why}", root.to_path()))?;
    }
    Ok(())
}

/// Sums stay below what the catalog's signed numbers hold.
fn add(sum: i64, more: u64) -> Option<i64> {
    sum.checked_add(i64::try_from(more).ok()?)
}

pub(super) fn is_label(label: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
    label.len() <= 64
        && label.bytes().all(allowed)
        && label
            .bytes()
            .next()
            .is_some_and(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// Absolute, and without parts that lead elsewhere.
pub(super) fn check_root(root: &ByteString) -> Result<(), String> {
    let host = root.to_path();
    let there = Address::split(&host).map(|(_, path)| path);
    let below = there.as_deref().unwrap_or(&host).as_os_str().as_bytes();
    let below = below.strip_prefix(b"/").ok_or("is not absolute")?;
    RelPath::new(below)
        .map(drop)
        .map_err(|why| format!("cannot be used: {why}"))
}

/// The ids of all records, as the directory has them; sorted. Files that do not have a record's name are
/// none.
pub(super) fn ids(layout: &Layout) -> Result<Vec<SnapshotId>, StoreError> {
    Ok(ids_of(&names(layout)?))
}

/// The names in the directory of records that end as those of records do, without that end; sorted.
pub(super) fn names(layout: &Layout) -> Result<Vec<String>, StoreError> {
    let mut names = Vec::new();
    for name in directory::names(&layout.snapshots())? {
        let mut name = name.into_string().unwrap_or_default();
        if let Some(stem) = name.strip_suffix(".json").map(str::len) {
            name.truncate(stem);
            names.push(name);
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// Returns the ids among sorted names of records.
pub(super) fn ids_of(names: &[String]) -> Vec<SnapshotId> {
    let ids = names.iter().filter_map(|name| SnapshotId::parse(name).ok());
    ids.collect()
}

/// Returns true if a record needs the archive: by a name of its own, by one that a receipt of `forget` gave it, or because the archive
/// replaced such a one. An unreadable record may need any, and so may one behind a break in the chain.
pub(super) fn any_needs(layout: &Layout, archive: &ArchiveId) -> Result<bool, StoreError> {
    let mut forgets = ForgetReceipts::default();
    let scanned = log::scan(&layout.receipts(), log::Place::BEGIN, |link| {
        forgets.take(&link.receipt);
        Ok(())
    });
    match scanned {
        Err(StoreError::Chain { .. } | StoreError::UnknownReceipt { .. }) => return Ok(true),
        other => drop(other?),
    }
    let mut known = HashSet::new();
    for id in ids(layout)? {
        let Ok(record) = read(layout, &id, None) else {
            return Ok(true);
        };
        if forgets.is_needed(layout, record, archive, &mut known) {
            return Ok(true);
        }
    }
    Ok(false)
}
