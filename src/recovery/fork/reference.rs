//! The reference of a fork, as `fork` printed it: the text is untrusted, and what it says is compared with the store.

use std::path::Path;

use super::ForkError;
use crate::display::sanitize;
use crate::model::{ByteString, ForkMount, ForkReference, SnapshotRecord};
use crate::recovery::output::mount_directory;
use crate::recovery::{Recovery, RecoveryError};
use crate::session::{SessionError, find_called, find_instance};
use crate::store::{ForkRow, InstanceRow, Store, StoreError};

/// Largest reference, in bytes.
const LARGEST: usize = 1 << 20;

impl Recovery<'_> {
    /// Finds the session that is named. A fork comes with its session: it is named by its reference, which begins with `{`, or, if no
    /// session is called so, by its id or branch.
    ///
    /// # Errors
    /// [`RecoveryError::Session`] if no session or several go by this name; [`RecoveryError::Fork`] if the reference is not valid.
    pub fn session_or_fork(
        &self,
        store: &Store,
        wanted: &str,
    ) -> Result<(InstanceRow, Option<ForkRow>), RecoveryError> {
        if !wanted.trim_start().starts_with('{') {
            let unknown = match find_called(store, self.environment, wanted) {
                Err(error @ SessionError::Unknown { .. }) => error,
                found => return Ok((found?, None)),
            };
            let row = fork_called(store, wanted)?.ok_or(unknown)?;
            return Ok((find_instance(store, row.instance.as_str())?, Some(row)));
        }
        let reference = parse(wanted)?;
        let mut forks = store.catalog().forks()?.into_iter();
        let Some(row) = forks.find(|row| row.id == reference.id) else {
            return Err(ForkError::Unknown(reference.id).into());
        };
        check(store, &row, &reference)?;
        Ok((find_instance(store, row.instance.as_str())?, Some(row)))
    }

    /// Returns true if a fork has this id or branch.
    ///
    /// # Errors
    /// [`RecoveryError::Store`].
    pub fn is_fork(&self, word: &str) -> Result<bool, RecoveryError> {
        match self.store_for_reading()? {
            Some(store) => Ok(fork_called(&store, word)?.is_some()),
            None => Ok(false),
        }
    }
}

/// Returns the fork with this id, or the newest one with this branch.
fn fork_called(store: &Store, word: &str) -> Result<Option<ForkRow>, StoreError> {
    let mut forks = store.catalog().forks()?.into_iter();
    Ok(forks.find(|row| row.id.as_str() == word || row.branch.as_deref() == Some(word)))
}

fn parse(text: &str) -> Result<ForkReference, ForkError> {
    let refused = |why: String| ForkError::Reference { why };
    if text.len() > LARGEST {
        return Err(refused("it is too long".to_owned()));
    }
    let value: serde_json::Value = serde_json::from_str(text).map_err(|error| refused(error.to_string()))?;
    // The provider comes first: references of another one have a form of their own.
    match value.get("provider").and_then(serde_json::Value::as_str) {
        Some(ForkReference::PROVIDER) => {}
        Some(other) => {
            let other = sanitize::name(other.as_bytes());
            return Err(refused(format!(
                "it is from {other}, not from {}",
                ForkReference::PROVIDER
            )));
        }
        None => return Err(refused("it names no provider".to_owned())),
    }
    serde_json::from_value(value).map_err(|error| refused(error.to_string()))
}

/// Fails if the reference differs from the store's receipt of the fork.
fn check(store: &Store, row: &ForkRow, reference: &ForkReference) -> Result<(), RecoveryError> {
    let changed = |what: String| ForkError::Changed {
        fork: row.id.clone(),
        instance: row.instance.clone(),
        what,
    };
    if reference.snapshot != row.snapshot {
        let what = format!(
            "it says {}, and the fork was made of {}",
            reference.snapshot, row.snapshot
        );
        return Err(changed(what).into());
    }
    let record = match store.record(&row.snapshot) {
        Ok(record) => record,
        // The fork and its session are there anyway.
        Err(StoreError::NoSnapshot { .. } | StoreError::LostRecord { .. }) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    if reference.mounts != mounts(&record, &row.directory) {
        return Err(changed("its mounts are not those of the fork".to_owned()).into());
    }
    Ok(())
}

/// Returns the directory of each mount's files in a fork.
pub(super) fn mounts(record: &SnapshotRecord, directory: &Path) -> Vec<ForkMount> {
    let held = record.mounts.iter().filter(|mount| mount.manifest.is_some());
    held.map(|mount| ForkMount {
        label: mount.coverage.label.clone(),
        path: ByteString::from(mount_directory(directory, record, &mount.coverage).as_path()),
    })
    .collect()
}
