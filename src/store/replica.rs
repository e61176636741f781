//! State of the store's replicas: the store's name there, the key of its objects, and notes of existing objects. The kinds of
//! objects, and their upload, are no concern of this module.

use std::collections::HashSet;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::layout::PLACE_LETTERS;
use super::lock::LockGuard;
use super::{Layout, Patience, Store, StoreError, directory, durable, lock};
use crate::clock::{Entropy, random};
use crate::model::{Digest, StoreId, Time};
use handle_fs::File;

/// The form of `replica/identity`.
const FORMAT: u32 = 1;
/// An id and a key (bytes).
const LARGEST_IDENTITY: u64 = 4096;
/// Upper bound of an address (bytes).
const LARGEST_ADDRESS: u64 = 4096;
/// Name of the notes on the copy that the store goes on with; behind a `-` comes the name of an earlier one.
const NOTED: &str = "noted";
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
    /// Snapshots and other objects that are not whole in the copy, each with the reason. Only a look at all objects finds those that had been
    /// copied before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub incomplete: Vec<String>,
}

/// A copy of this store that nothing is uploaded to any more: the store has another name or another place since.
#[derive(Clone, Debug)]
pub struct EarlierReplica {
    /// Its address; `None` if an older version made it.
    pub address: Option<String>,
    /// The store's name there.
    pub store: StoreId,
    /// Notes about its objects.
    pub notes: HashSet<String>,
    file: PathBuf,
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
    /// files. The notes on the copy under the old name are kept for [`Self::earlier_replicas`]. The caller must hold
    /// [`Self::lock_replica`]: another process may be appending to the notes that move.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn forget_replica_identity(&self) -> Result<(), StoreError> {
        self.must_be_writable()?;
        let layout = self.layout();
        let _kept = layout.enter()?;
        let Some(identity) = self.replica_identity()? else {
            return Ok(());
        };
        for directory in self.replica_directories()? {
            let noted = directory.join(NOTED);
            let Some(bytes) = durable::read(&noted, LARGEST_NOTES)? else {
                continue;
            };
            // Killed before the removal: the same lines are added twice, which changes nothing.
            let kept = directory.join(format!("{NOTED}-{}", identity.id));
            let file = append(&kept, &bytes)?;
            file.sync().map_err(StoreError::io("sync", &kept))?;
            durable::sync_parent(&kept)?;
            durable::remove(&noted)?;
        }
        // Last: until then the notes say which name they belong to.
        durable::remove(&layout.replica_identity())
    }

    /// Returns the directories with the state of each place that the store was ever copied to.
    fn replica_directories(&self) -> Result<Vec<PathBuf>, StoreError> {
        let layout = self.layout();
        let mut names = directory::names(&layout.replica())?;
        names.retain(|name| {
            let bytes = name.as_bytes();
            bytes.len() == PLACE_LETTERS && bytes.iter().all(u8::is_ascii_hexdigit)
        });
        names.sort();
        Ok(names
            .into_iter()
            .map(|name| layout.replica().join(name))
            .collect())
    }

    /// Records the address of a place before the first snapshot is copied to it, so that what lies there can still be named later.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn set_replica_address(&self, place: &Digest, address: &str) -> Result<(), StoreError> {
        let _kept = self.layout().enter()?;
        let path = self.layout().replica_address(place);
        let known = durable::read(&path, LARGEST_ADDRESS)?;
        if known.as_deref() == Some(address.as_bytes()) {
            return Ok(());
        }
        self.place(place)?;
        durable::remove(&path)?;
        publish_new(&path, address.as_bytes())
    }

    /// Returns the copies that nothing is uploaded to any more and that have objects. `current`: the address that is configured now.
    ///
    /// # Errors
    /// [`StoreError::Io`], [`StoreError::Damaged`], [`StoreError::Newer`].
    pub fn earlier_replicas(&self, current: Option<&str>) -> Result<Vec<EarlierReplica>, StoreError> {
        let layout = self.layout();
        let _kept = layout.enter()?;
        let identity = self.replica_identity()?.map(|identity| identity.id);
        let current = current.map(|address| (layout.replica_at(&Digest::of(address.as_bytes())), address));
        let mut found = Vec::new();
        for directory in self.replica_directories()? {
            let here = current.as_ref().filter(|(place, _)| *place == directory);
            let address = match here {
                Some((_, address)) => Some((*address).to_owned()),
                None => durable::read(&directory.join("address"), LARGEST_ADDRESS)?
                    .and_then(|bytes| String::from_utf8(bytes).ok()),
            };
            let mut names = directory::names(&directory)?;
            names.sort();
            for name in names {
                let store = match name.to_str().and_then(|name| name.strip_prefix(NOTED)) {
                    Some("") => identity.clone().filter(|_| here.is_none()),
                    Some(rest) => rest.strip_prefix('-').and_then(|id| StoreId::parse(id).ok()),
                    None => None,
                };
                // Of a change of name that was killed, both files are about the copy that goes on.
                let Some(store) = store.filter(|id| here.is_none() || Some(id) != identity.as_ref()) else {
                    continue;
                };
                let file = directory.join(name);
                let notes = notes_in(&file)?;
                if !notes.is_empty() {
                    found.push(EarlierReplica {
                        address: address.clone(),
                        store,
                        notes,
                        file,
                    });
                }
            }
        }
        Ok(found)
    }

    /// Notes that objects of an earlier copy are gone.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn note_earlier_replica(&self, replica: &EarlierReplica, gone: &[String]) -> Result<(), StoreError> {
        self.must_be_writable()?;
        let _kept = self.layout().enter()?;
        let lines: String = gone.iter().map(|line| format!("-{line}\n")).collect();
        append(&replica.file, lines.as_bytes()).map(drop)
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
        notes_in(&self.layout().replica_at(place).join(NOTED))
    }

    /// Notes that something is at `place`, or, behind a `-`, that it is not any more. Only after it was seen: the note may be lost,
    /// and must not be wrong.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn note_replica(&self, place: &Digest, line: &str) -> Result<(), StoreError> {
        let _kept = self.layout().enter()?;
        let directory = self.place(place)?;
        append(&directory.join(NOTED), format!("{line}\n").as_bytes()).map(drop)
    }

    /// Forgets what was noted of `place`.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn forget_replica_notes(&self, place: &Digest) -> Result<(), StoreError> {
        let _kept = self.layout().enter()?;
        durable::remove(&self.layout().replica_at(place).join(NOTED))
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

    fn place(&self, place: &Digest) -> Result<PathBuf, StoreError> {
        self.must_be_writable()?;
        let layout: &Layout = self.layout();
        let directory = layout.replica_at(place);
        directory::make(&layout.replica())?;
        directory::make(&directory)?;
        Ok(directory)
    }
}

/// Returns the lines of a file of notes that still hold.
fn notes_in(path: &Path) -> Result<HashSet<String>, StoreError> {
    let bytes = durable::read(path, LARGEST_NOTES)?.unwrap_or_default();
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

/// Appends lines to a file of notes.
fn append(path: &Path, lines: &[u8]) -> Result<File, StoreError> {
    let file = durable::open_or_create(path)?;
    let written = || {
        let end = file.stat()?.size;
        // What a kill cut short ends here.
        let mut last = [b'\n'];
        if let Some(at) = end.checked_sub(1) {
            file.read_exact_at(&mut last, at)?;
        }
        let start: &[u8] = if last == *b"\n" { b"" } else { b"\n" };
        file.write_all_at(&[start, lines].concat(), end)
    };
    written().map_err(StoreError::io("write", path))?;
    Ok(file)
}

/// Writes a file that takes its place at once.
fn write_new<T: Serialize>(path: &Path, value: &T) -> Result<(), StoreError> {
    let bytes =
        serde_json::to_vec(value).map_err(|why| StoreError::io("write", path)(std::io::Error::other(why)))?;
    publish_new(path, &bytes)
}

fn publish_new(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let new = path.with_extension("new");
    // Whoever made one was killed.
    durable::remove(&new)?;
    durable::write(&new, &[bytes])?;
    durable::publish(&new, path)
}
