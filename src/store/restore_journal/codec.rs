//! Format of a restore's file: a line with the digest of all that follows, and one JSON object. Errors name the session of the
//! restore.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{COPY, DECISION, INTENT, JOURNAL};
use crate::model::{Decision, Digest, Intent, Journal};
use crate::store::journal_paths::{self, Paper};
use crate::store::{StoreError, durable};

/// Version of the three files: 2 of an intent with composed files, which an older program would restore as the snapshot has them.
const FORMAT: u32 = 2;
/// A journal has some hundred bytes a move: longer than this it is none (bytes).
const LIMIT: u64 = 4 << 30;

#[derive(Serialize)]
struct Written<'a, T> {
    format: u32,
    content: &'a T,
}

#[derive(Deserialize)]
struct Version {
    format: u64,
}

#[derive(Deserialize)]
struct Read<T> {
    content: T,
}

pub(in crate::store) fn write<T: Serialize>(
    directory: &Path,
    name: &str,
    content: &T,
) -> Result<(), StoreError> {
    write_as(directory, name, content, 1)
}

/// Writes an intent, or its copy. One without composed files has the first version, so that older programs read it.
pub(super) fn write_intent(directory: &Path, name: &str, intent: &Intent) -> Result<(), StoreError> {
    let is_composed = intent.mounts.iter().any(|mount| !mount.composed.is_empty());
    write_as(directory, name, intent, if is_composed { FORMAT } else { 1 })
}

fn write_as<T: Serialize>(directory: &Path, name: &str, content: &T, format: u32) -> Result<(), StoreError> {
    let path = directory.join(name);
    let written = Written { format, content };
    let json =
        serde_json::to_vec(&written).map_err(|why| StoreError::io("write", &path)(io::Error::other(why)))?;
    let head = format!("{}\n", Digest::of(&json));
    let draft = directory.join(format!("{name}.new"));
    // A process that was killed here may have left one.
    durable::remove(&draft)?;
    durable::write(&draft, &[head.as_bytes(), &json])?;
    durable::publish(&draft, &path)
}

pub(in crate::store) fn read<T: Paper>(directory: &Path, name: &str) -> Result<Option<T>, StoreError> {
    let path = directory.join(name);
    let Some(bytes) = durable::read(&path, LIMIT)? else {
        return Ok(None);
    };
    let damaged = |why: String| StoreError::DamagedJournal {
        path: path.clone(),
        instance: None,
        why,
    };
    let end = bytes
        .iter()
        .position(|byte| *byte == b'\n')
        .unwrap_or(bytes.len());
    let (head, json) = (
        bytes.get(..end).unwrap_or_default(),
        bytes.get(end + 1..).unwrap_or_default(),
    );
    if head != Digest::of(json).to_string().as_bytes() {
        return Err(damaged("its text is not what its first line says".to_owned()));
    }
    let version: Version = serde_json::from_slice(json).map_err(|why| damaged(why.to_string()))?;
    if version.format > u64::from(FORMAT) {
        return Err(StoreError::Newer {
            path,
            found: version.format,
            known: FORMAT.into(),
        });
    }
    let read: Read<T> = serde_json::from_slice(json).map_err(|why| damaged(why.to_string()))?;
    read.content.check(directory).map_err(damaged)?;
    Ok(Some(read.content))
}

/// Reads the intent, or its copy if the intent is damaged, or missing while the journal, which is deleted first, still exists.
pub(super) fn read_intent(directory: &Path) -> Result<Option<Intent>, StoreError> {
    match read(directory, INTENT) {
        Ok(None) if !durable::is_there(&directory.join(JOURNAL))? => Ok(None),
        Ok(None) => match read(directory, COPY)? {
            Some(intent) => Ok(Some(intent)),
            None => Err(intent_is_gone(directory)),
        },
        Err(damaged @ StoreError::DamagedJournal { .. }) => match read(directory, COPY) {
            Ok(Some(intent)) => Ok(Some(intent)),
            Ok(None) | Err(_) => Err(damaged),
        },
        other => other,
    }
}

/// The error of a restore with a journal and without an intent.
pub(super) fn intent_is_gone(directory: &Path) -> StoreError {
    StoreError::DamagedJournal {
        path: directory.join(INTENT),
        instance: None,
        why: "it is missing, although the journal exists".to_owned(),
    }
}

/// The journal of a restore with this intent.
pub(super) fn read_journal(directory: &Path, intent: &Intent) -> Result<Option<Journal>, StoreError> {
    let journal: Option<Journal> = read(directory, JOURNAL).map_err(|error| of(intent, error))?;
    if let Some(journal) = &journal {
        journal_paths::belongs(journal, intent).map_err(|why| damaged(directory, intent, why))?;
    }
    Ok(journal)
}

/// The decision of a restore with this intent.
pub(super) fn read_decision(directory: &Path, intent: &Intent) -> Result<Option<Decision>, StoreError> {
    read(directory, DECISION).map_err(|error| of(intent, error))
}

/// The error of the journal of a restore with this intent.
pub(super) fn damaged(directory: &Path, intent: &Intent, why: String) -> StoreError {
    StoreError::DamagedJournal {
        path: directory.join(JOURNAL),
        instance: Some(intent.instance.clone()),
        why,
    }
}

/// Returns the same error with the session of the restore.
pub(super) fn of(intent: &Intent, error: StoreError) -> StoreError {
    match error {
        StoreError::DamagedJournal { path, why, .. } => StoreError::DamagedJournal {
            path,
            instance: Some(intent.instance.clone()),
            why,
        },
        other => other,
    }
}

pub(super) fn journal_is_gone(directory: &Path, intent: &Intent, moved: &Path) -> StoreError {
    let why = format!("it is missing, although the restore had already moved something to {moved:?}");
    damaged(directory, intent, why)
}
