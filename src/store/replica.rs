//! State of the store's replicas: the store's name there, the key of its objects, and notes of existing objects. The kinds of
//! objects, and their upload, are no concern of this module.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::lock::LockGuard;
use super::{Layout, Patience, Store, StoreError, directory, durable, lock};
use crate::clock::{Entropy, random};
use crate::model::{Digest, StoreId, Time};

/// The form of `replica/identity`.
const FORMAT: u32 = 1;
/// An id and a key (bytes).
const LARGEST_IDENTITY: u64 = 4096;
/// Notes of millions of objects are none (bytes).
const LARGEST_NOTES: u64 = 256 << 20;
/// An outcome is a sentence (bytes).
const LARGEST_OUTCOME: u64 = 1 << 20;
/// Lock of the process that creates the identity or copies; a process that waits for it holds `NEXT`.
const COPYING: &str = "replica";
const NEXT: &str = "replica-next";

/// The name of this store where it is copied to, and the key that its objects are known by.
#[derive(Clone, PartialEq, Eq)]
pub struct ReplicaIdentity {
    /// Its name.
    pub id: StoreId,
    /// The key; it never leaves the machine but encrypted.
    pub key: [u8; 32],
}

impl std::fmt::Debug for ReplicaIdentity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ReplicaIdentity({})", self.id)
    }
}

#[derive(Serialize, Deserialize)]
struct IdentityFile {
    format: u32,
    store: StoreId,
    key: Digest,
}

/// Result of the last attempt to copy to one place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplicaOutcome {
    /// End of the attempt.
    pub at: Time,
    /// Time since which attempts have failed; `None` after a success.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failing_since: Option<Time>,
    /// Error of the attempt; `None` after a success.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Snapshots that are not whole in the copy, each with the reason. Only a look at all objects finds those that had been copied before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub incomplete: Vec<String>,
}

impl Store {
    /// The store's name in object stores; `None` before it was ever copied to one.
    ///
    /// # Errors
    /// [`StoreError::Damaged`], [`StoreError::Newer`], [`StoreError::Io`].
    pub fn replica_identity(&self) -> Result<Option<ReplicaIdentity>, StoreError> {
        let _kept = self.layout().enter()?;
        let path = self.layout().replica_identity();
        let Some(bytes) = durable::read(&path, LARGEST_IDENTITY)? else {
            return Ok(None);
        };
        let file: IdentityFile = serde_json::from_slice(&bytes).map_err(|why| StoreError::Damaged {
            path: path.clone(),
            why: why.to_string(),
        })?;
        if file.format > FORMAT {
            return Err(StoreError::Newer {
                path,
                found: file.format.into(),
                known: FORMAT.into(),
            });
        }
        Ok(Some(ReplicaIdentity {
            id: file.store,
            key: file.key.0,
        }))
    }

    /// The same, made when there is none.
    ///
    /// # Errors
    /// As [`Store::replica_identity`]; when it cannot be written.
    pub fn make_replica_identity(&self, entropy: &dyn Entropy) -> Result<ReplicaIdentity, StoreError> {
        self.must_be_writable()?;
        let layout = self.layout();
        let _kept = layout.enter()?;
        if let Some(identity) = self.replica_identity()? {
            // Whoever made it may have been killed before these names were on disk. Objects under a name that a power loss takes
            // away would be nobody's.
            durable::sync_parent(&layout.replica())?;
            durable::sync_parent(&layout.replica_identity())?;
            return Ok(identity);
        }
        directory::make(&layout.replica())?;
        let identity = ReplicaIdentity {
            id: StoreId::new(random(entropy)),
            key: random(entropy),
        };
        let file = IdentityFile {
            format: FORMAT,
            store: identity.id.clone(),
            key: Digest(identity.key),
        };
        write_new(&layout.replica_identity(), &file)?;
        Ok(identity)
    }

    /// Makes the store use another name from now on, as if it had never been copied: for a store that is a copy of another one's
    /// files.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn forget_replica_identity(&self) -> Result<(), StoreError> {
        self.must_be_writable()?;
        let layout = self.layout();
        let _kept = layout.enter()?;
        for name in directory::names(&layout.replica())? {
            let path = layout.replica().join(name);
            if path != layout.replica_identity() {
                durable::remove(&path.join("noted"))?;
            }
        }
        durable::remove(&layout.replica_identity())
    }

    /// Takes the lock for copying. Waits half a minute for another process that copies. `None`: that one goes on, or, with little
    /// patience, a third one already waits and will copy the rest.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn lock_replica(&self, patience: Patience) -> Result<Option<LockGuard>, StoreError> {
        let layout = self.layout();
        let _kept = layout.enter()?;
        self.must_be_writable()?;
        let next = match patience {
            Patience::Short => lock::fork(layout, NEXT)?,
            Patience::Long => lock::patient(layout, NEXT)?,
        };
        match next {
            Some(_next) => lock::patient(layout, COPYING),
            None => Ok(None),
        }
    }

    /// Returns the notes about the objects at `place`.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn replica_notes(&self, place: &Digest) -> Result<HashSet<String>, StoreError> {
        let _kept = self.layout().enter()?;
        let path = self.layout().replica_at(place).join("noted");
        let bytes = durable::read(&path, LARGEST_NOTES)?.unwrap_or_default();
        let mut notes = HashSet::new();
        // A line that a kill cut short names no existing object, or one that is uploaded again: both do no harm.
        for line in bytes.split(|byte| *byte == b'\n') {
            let Ok(line) = std::str::from_utf8(line) else {
                continue;
            };
            match line.strip_prefix('-') {
                Some(gone) => drop(notes.remove(gone)),
                None if line.is_empty() => {}
                None => drop(notes.insert(line.to_owned())),
            }
        }
        Ok(notes)
    }

    /// Notes that something is at `place`, or, behind a `-`, that it is not any more. Only after it was seen: the note may be lost,
    /// and must not be wrong.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn note_replica(&self, place: &Digest, line: &str) -> Result<(), StoreError> {
        let _kept = self.layout().enter()?;
        let directory = self.place(place)?;
        let path = directory.join("noted");
        let file = durable::open_or_create(&path)?;
        let written = || {
            let end = file.stat()?.size;
            // What a kill cut short ends here.
            let mut last = [b'\n'];
            if let Some(at) = end.checked_sub(1) {
                file.read_exact_at(&mut last, at)?;
            }
            let start = if last == *b"\n" { "" } else { "\n" };
            file.write_all_at(format!("{start}{line}\n").as_bytes(), end)
        };
        written().map_err(StoreError::io("write", &path))
    }

    /// Forgets what was noted of `place`.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn forget_replica_notes(&self, place: &Digest) -> Result<(), StoreError> {
        let _kept = self.layout().enter()?;
        durable::remove(&self.layout().replica_at(place).join("noted"))
    }

    /// Returns the result of the last attempt at `place`; `None` before the first, or if it is unreadable.
    #[must_use]
    pub fn replica_outcome(&self, place: &Digest) -> Option<ReplicaOutcome> {
        let _kept = self.layout().enter().ok()?;
        let path = self.layout().replica_at(place).join("last");
        let bytes = durable::read(&path, LARGEST_OUTCOME).ok()??;
        serde_json::from_slice(&bytes).ok()
    }

    /// Writes that down.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn set_replica_outcome(&self, place: &Digest, outcome: &ReplicaOutcome) -> Result<(), StoreError> {
        let _kept = self.layout().enter()?;
        let path = self.place(place)?.join("last");
        write_new(&path, outcome)
    }

    fn place(&self, place: &Digest) -> Result<std::path::PathBuf, StoreError> {
        self.must_be_writable()?;
        let layout: &Layout = self.layout();
        let directory = layout.replica_at(place);
        directory::make(&layout.replica())?;
        directory::make(&directory)?;
        Ok(directory)
    }
}

/// Writes a file that takes its place at once.
fn write_new<T: Serialize>(path: &std::path::Path, value: &T) -> Result<(), StoreError> {
    let bytes =
        serde_json::to_vec(value).map_err(|why| StoreError::io("write", path)(std::io::Error::other(why)))?;
    let new = path.with_extension("new");
    // Whoever made one was killed.
    durable::remove(&new)?;
    durable::write(&new, &[&bytes])?;
    durable::publish(&new, path)
}
