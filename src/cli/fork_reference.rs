//! A fork by what `fork` printed: the text is a stranger's, and what it says is compared with the store.

use crate::cli::context::Context;
use crate::cli::error::{CliError, ErrorKind};
use crate::cli::write_snapshot::place;
use crate::model::{ByteString, ForkMount, ForkReference, SnapshotRecord};
use crate::session::{find_called, find_instance};
use crate::store::{ForkRow, InstanceRow, Store, StoreError};
use crate::terminal::sanitize;

/// No reference is longer.
const LARGEST: usize = 1 << 20;

/// The session that an operator names; a text that begins with `{` names a fork, which comes with it.
pub(super) fn called(
    context: &Context<'_>,
    store: &Store,
    wanted: &str,
) -> Result<(InstanceRow, Option<ForkRow>), CliError> {
    if !wanted.trim_start().starts_with('{') {
        return Ok((find_called(store, context.environment, wanted)?, None));
    }
    let reference = parse(wanted)?;
    let forks = store.catalog().forks()?;
    let Some(row) = forks.into_iter().find(|row| row.id == reference.id) else {
        let message = format!("fork {} not found in this store", reference.id);
        return Err(CliError::new(ErrorKind::UnknownInstance, message)
            .hint("a reference is valid only in the jackin home that made it")
            .command("to list forks", "list"));
    };
    check(store, &row, &reference)?;
    Ok((find_instance(store, row.instance.as_str())?, Some(row)))
}

fn parse(text: &str) -> Result<ForkReference, CliError> {
    let refused = |why: &str| {
        CliError::new(ErrorKind::Usage, format!("invalid fork reference: {why}"))
            .hint("use the line that `fork` printed, in single quotes")
    };
    if text.len() > LARGEST {
        return Err(refused("it is too long"));
    }
    let value: serde_json::Value = serde_json::from_str(text).map_err(|error| refused(&error.to_string()))?;
    // First who made it: what another one's looks like is not ours to say.
    match value.get("provider").and_then(serde_json::Value::as_str) {
        Some(ForkReference::PROVIDER) => {}
        Some(other) => {
            let other = sanitize::name(other.as_bytes());
            return Err(refused(&format!(
                "it is from {other}, not from {}",
                ForkReference::PROVIDER
            )));
        }
        None => return Err(refused("it names no provider")),
    }
    serde_json::from_value(value).map_err(|error| refused(&error.to_string()))
}

/// Fails if the reference differs from the store's receipt of the fork.
fn check(store: &Store, row: &ForkRow, reference: &ForkReference) -> Result<(), CliError> {
    let changed = |what: String| {
        Err(CliError::new(
            ErrorKind::Usage,
            format!("the reference of {} was changed: {what}", row.id),
        )
        .command("details", format!("show {}", row.instance)))
    };
    if reference.snapshot != row.snapshot {
        return changed(format!(
            "it says {}, and the fork was made of {}",
            reference.snapshot, row.snapshot
        ));
    }
    let record = match store.record(&row.snapshot) {
        Ok(record) => record,
        // The fork is there all the same, and so is its session.
        Err(StoreError::NoSnapshot { .. } | StoreError::LostRecord { .. }) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    if reference.mounts != mounts(&record, &row.directory) {
        return changed("its mounts are not those of the fork".to_owned());
    }
    Ok(())
}

/// Returns the directory of each mount's files in a fork.
pub(super) fn mounts(record: &SnapshotRecord, directory: &std::path::Path) -> Vec<ForkMount> {
    let held = record.mounts.iter().filter(|mount| mount.manifest.is_some());
    held.map(|mount| ForkMount {
        label: mount.coverage.label.clone(),
        path: ByteString::from(place(directory, record, mount).as_path()),
    })
    .collect()
}
