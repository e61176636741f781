//! Copying: whatever is new in the store goes out, an object at a time, each put only where nothing is. What was cut short goes on
//! where it was: an object is noted when it is there, and one that was put and not noted is recognized by its tag.

use std::collections::{HashMap, HashSet};

use super::bucket::{Put, Tag};
use super::name::Name;
use super::upload::{Copying, RECEIPTS, RemoteState, sorted};
use super::{ReplicaError, envelope};
use crate::model::{ArchiveRef, Digest, SnapshotId, Time};
use crate::store::{Store, StoreError};

/// Reason why a snapshot whose contents are in no archive cannot be copied.
pub const KEPT: &str =
    "its contents lie in snapshots of file systems, which are not copied; export writes it into a file";
/// Note that the service has been seen to honor conditional puts.
pub(super) const CONDITIONS: &str = "conditions";

/// Number of snapshots and receipts that have not been copied yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waiting {
    /// Snapshots.
    pub snapshots: u64,
    /// Receipts.
    pub receipts: u64,
}

impl Waiting {
    /// Returns true if everything has been copied.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.snapshots == 0 && self.receipts == 0
    }
}

/// Counts what waits for the place whose notes these are.
///
/// # Errors
/// [`StoreError`].
pub fn waiting(store: &Store, place: &Digest) -> Result<Waiting, StoreError> {
    let (notes, _) = sorted(store.replica_notes(place)?);
    let records = store.record_ids()?;
    let is_there = |name: Name| notes.contains(&name.to_string());
    let mut amended = HashSet::new();
    for (archives, ids) in store.amended_to_copy()? {
        if !archives
            .into_iter()
            .all(|archive| is_there(Name::Archive(archive.id, 1)))
        {
            amended.extend(ids);
        }
    }
    let is_new = |id: &&SnapshotId| !is_there(Name::Record((*id).clone())) || amended.contains(id);
    let last = last_receipt(&notes);
    Ok(Waiting {
        snapshots: records.iter().filter(is_new).count() as u64,
        receipts: store.receipt_lines(last + 1)?.len() as u64,
    })
}

/// Returns true if objects at the place were encrypted to other recipients once: only their private keys open what was copied then.
///
/// # Errors
/// [`StoreError`].
pub fn has_several_recipients(store: &Store, place: &Digest) -> Result<bool, StoreError> {
    let (notes, _) = sorted(store.replica_notes(place)?);
    let is_key = |note: &&String| matches!(Name::parse(note), Some(Name::Key(_)));
    Ok(notes.iter().filter(is_key).count() > 1)
}

impl Copying<'_> {
    /// Copies everything that waits, until nothing new came meanwhile.
    ///
    /// # Errors
    /// [`ReplicaError`]; what was copied until then stays, and is in [`Self::copied`].
    pub fn run(&mut self) -> Result<(), ReplicaError> {
        if self.seen.is_empty() && (self.notes.is_empty() || self.has_news()? && self.is_gone()?) {
            self.look()?;
        }
        self.key()?;
        self.goes_on_from_there()?;
        // Only now, because a copy that another machine goes on with is not this store's. Not later, because the place of snapshots
        // must be known after any kill.
        self.store
            .set_replica_address(&self.place, &self.bucket.place())?;
        loop {
            let before = self.copied.clone();
            self.moved()?;
            self.amended()?;
            self.snapshots()?;
            self.receipts()?;
            self.is_thorough = false;
            if self.copied == before {
                return Ok(());
            }
        }
    }

    /// Returns true if there are receipts to copy, as of each new snapshot.
    fn has_news(&self) -> Result<bool, ReplicaError> {
        let next = last_receipt(&self.notes) + 1;
        Ok(!self.store.receipt_lines(next)?.is_empty())
    }

    /// Returns true if the noted key is not there: the bucket was emptied, or another service answers for the address, and what is
    /// noted says nothing about it.
    fn is_gone(&self) -> Result<bool, ReplicaError> {
        let name = Name::of_key(&self.identity.key, self.recipient_names).to_string();
        if !self.notes.contains(&name) {
            return Ok(false);
        }
        let tag = self.bucket.tag(&self.full(&name));
        Ok(tag.map_err(|error| self.failed(error))?.is_none())
    }

    /// Refuses to go on after receipts that this store does not have, before anything of a snapshot is put beside those of another store.
    fn goes_on_from_there(&self) -> Result<(), ReplicaError> {
        let first = last_receipt(&self.notes) + 1;
        let lines = self.store.receipt_lines(first)?;
        let next = first + lines.len() as u64;
        let is_beyond =
            |name: &&String| matches!(Name::parse(name), Some(Name::Receipts(first)) if first >= next);
        if let Some(name) = self.seen.iter().find(is_beyond) {
            return Err(self.foreign(name));
        }
        if lines.is_empty() {
            return Ok(());
        }
        let name = Name::Receipts(first).to_string();
        let tag = self.bucket.tag(&self.full(&name));
        match tag.map_err(|error| self.failed(error))? {
            Some(there) if self.same_receipts(&there, first, &lines).is_none() => Err(self.foreign(&name)),
            _ => Ok(()),
        }
    }

    /// Returns how many of these lines, the first of which has the number `first`, an object has; `None` if it has others.
    fn same_receipts(&self, there: &Tag, first: u64, lines: &[String]) -> Option<usize> {
        let count = counted_to(there.last, first, lines.len())?;
        let name = Name::Receipts(first).to_string();
        let text = lines.get(..count)?.concat();
        (envelope::mac(&self.identity, &name, text.as_bytes()) == there.mac).then_some(count)
    }

    /// The key comes first: without it nothing that follows could be read. With it it is tried whether the service keeps to
    /// conditions.
    fn key(&mut self) -> Result<(), ReplicaError> {
        let name = Name::of_key(&self.identity.key, self.recipient_names);
        let note = envelope::key_note(&self.identity)?;
        self.put_same(&name, &note)?;
        if self.notes.contains(CONDITIONS) {
            return Ok(());
        }
        let text = name.to_string();
        let mac = envelope::mac(&self.identity, &text, &note);
        let sealed = envelope::seal(&self.identity, self.recipients, &text, &mac, &note)?;
        let tag = Tag { mac, last: None };
        let put = self.bucket.put_new(&self.full(&text), sealed, &tag);
        match put.map_err(|error| self.failed(error))? {
            Put::Taken => {
                self.store.note_replica(&self.place, CONDITIONS)?;
                self.notes.insert(CONDITIONS.to_owned());
                Ok(())
            }
            // Tried again with the next copy.
            Put::Busy => Ok(()),
            // It holds the same key as before, so nothing is lost.
            Put::Done => Err(ReplicaError::Unconditional {
                place: self.bucket.place(),
            }),
        }
    }

    /// Uploads an archive unless it is there already. Returns false if it no longer exists here.
    fn archive(&mut self, named: &ArchiveRef) -> Result<bool, ReplicaError> {
        let part = self.part as u64;
        let count = named.size.div_ceil(part).max(1);
        let name_of = |number: u64| {
            let number = u32::try_from(number)
                .map_err(|_| ReplicaError::Encrypt("an archive is too large".to_owned()))?;
            Ok::<_, ReplicaError>(Name::Archive(named.id.clone(), number))
        };
        let mut missing = Vec::new();
        for number in 1..=count {
            let name = name_of(number)?;
            if !self.notes.contains(&name.to_string()) {
                missing.push((number, name));
            }
        }
        if missing.is_empty() {
            return Ok(true);
        }
        let cancelled = || self.observer.cancelled();
        let opened = match self.store.archive_to_copy(named, &cancelled) {
            Err(StoreError::Interrupted) => return Err(ReplicaError::Interrupted),
            other => other?,
        };
        let Some(archive) = opened else {
            return Ok(false);
        };
        for (number, name) in missing {
            let at = (number - 1) * part;
            let length = usize::try_from(part.min(named.size - at)).unwrap_or(self.part);
            let bytes = archive.piece(self.store, at, length)?;
            self.put_same(&name, &bytes)?;
        }
        Ok(true)
    }

    /// Archives that were packed anew, and the names that lead to them.
    fn moved(&mut self) -> Result<(), ReplicaError> {
        for (id, into, bytes) in self.store.moved_to_copy()? {
            let name = Name::Moved(id, into.id.clone());
            if self.notes.contains(&name.to_string()) && !self.is_thorough {
                continue;
            }
            // Gone again: there is another name by now. Damaged: its snapshots say so.
            match self.archive(&into) {
                Ok(true) => self.put_same(&name, &bytes)?,
                Ok(false) | Err(ReplicaError::Store(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Archives that only receipts of `forget` name. The records that need them may have been copied long before.
    fn amended(&mut self) -> Result<(), ReplicaError> {
        for archive in self.store.amended_to_copy()?.into_iter().flat_map(|(all, _)| all) {
            self.must_go_on()?;
            match self.archive(&archive) {
                // Gone: its snapshots were pruned, or it is repacked by now. Damaged: its snapshots say so.
                Ok(_) | Err(ReplicaError::Store(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn snapshots(&mut self) -> Result<(), ReplicaError> {
        let mut waiting: Vec<(Time, SnapshotId)> = Vec::new();
        let damaged: HashSet<SnapshotId> = self.copied.damaged.iter().map(|(id, _)| id.clone()).collect();
        let mut records = HashMap::new();
        for id in self.store.record_ids()? {
            let is_noted = self.notes.contains(&Name::Record(id.clone()).to_string());
            if is_noted && !self.is_thorough || damaged.contains(&id) {
                continue;
            }
            match self.store.record(&id) {
                Ok(record) if record.mounts.iter().any(|mount| mount.native.is_some()) => {
                    self.copied.damaged.push((id, KEPT.to_owned()));
                }
                Ok(record) => {
                    waiting.push((record.taken_at, id.clone()));
                    records.insert(id, record.archives);
                }
                Err(StoreError::NoSnapshot { .. }) => {}
                Err(error) => self.copied.damaged.push((id, error.to_string())),
            }
        }
        waiting.sort();
        for (_, id) in waiting {
            self.must_go_on()?;
            let is_noted = self.notes.contains(&Name::Record(id.clone()).to_string());
            match self.snapshot(&id, records.get(&id).map(Vec::as_slice).unwrap_or_default()) {
                Ok(true) if is_noted => {}
                Ok(true) => self.copied.snapshots.push(id),
                // It was given up, or its archives were packed anew, since it was listed.
                Ok(false) => {}
                Err(ReplicaError::Store(error)) => self.copied.damaged.push((id, error.to_string())),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn snapshot(&mut self, id: &SnapshotId, archives: &[ArchiveRef]) -> Result<bool, ReplicaError> {
        for archive in archives {
            if !self.archive(archive)? {
                // Where it lies now is said by the record, asked once more; that it lies nowhere is told, too.
                let now = self.store.record(id);
                return match now {
                    Err(StoreError::NoSnapshot { .. }) => Ok(false),
                    Ok(record) if record.archives.contains(archive) => Err(StoreError::NoArchive {
                        id: id.clone(),
                        archive: archive.id.clone(),
                    }
                    .into()),
                    Ok(_) => Ok(false),
                    Err(error) => Err(error.into()),
                };
            }
        }
        let Some(bytes) = self.store.record_bytes(id)? else {
            return Ok(false);
        };
        self.put_same(&Name::Record(id.clone()), &bytes)?;
        Ok(true)
    }

    /// Receipts go when the snapshots that they tell of have gone.
    fn receipts(&mut self) -> Result<(), ReplicaError> {
        let mut first = last_receipt(&self.notes) + 1;
        let lines = self.store.receipt_lines(first)?;
        let mut left = lines.as_slice();
        while !left.is_empty() {
            let taken = batch(left).min(room_before(&self.notes, first));
            let last = first + taken as u64 - 1;
            let name = Name::Receipts(first).to_string();
            let text = left.get(..taken).unwrap_or_default().concat();
            let tag = Tag {
                mac: envelope::mac(&self.identity, &name, text.as_bytes()),
                last: Some(last),
            };
            let there = self.put(&name, text.as_bytes(), &tag)?;
            let same = match there {
                None => Some(taken),
                Some(RemoteState::Tagged(there)) => self.same_receipts(&there, first, left),
                Some(RemoteState::AsSent(last)) => counted_to(last, first, left.len()),
                Some(RemoteState::Strange) => None,
            };
            let Some(count) = same else {
                return Err(self.foreign(&name));
            };
            let last = first + count as u64 - 1;
            self.note(format!("{name} {last}"))?;
            self.copied.receipts += count as u64;
            // Pieces behind a deleted one are still there.
            let next = last_receipt(&self.notes).max(last) + 1;
            left = left
                .get(usize::try_from(next - first).unwrap_or(usize::MAX)..)
                .unwrap_or_default();
            first = next;
        }
        Ok(())
    }
}

/// Returns the number of receipts from `first` to `last`, of which there are `most`: an earlier attempt may have put fewer than would go now, or
/// more.
fn counted_to(last: Option<u64>, first: u64, most: usize) -> Option<usize> {
    let count = last?.checked_add(1)?.checked_sub(first)?;
    let count = usize::try_from(count).ok()?;
    (1..=most).contains(&count).then_some(count)
}

/// Returns the number of lines that go into one object; at least 1.
fn batch(lines: &[String]) -> usize {
    let mut size = 0;
    let fit = lines.iter().take_while(|line| {
        size += line.len();
        size <= RECEIPTS
    });
    fit.count().max(1)
}

/// Returns the number of receipts from `first` on that lie before the next piece that is there.
fn room_before(notes: &HashSet<String>, first: u64) -> usize {
    let starts = notes.iter().filter_map(|note| {
        let (name, _) = note.split_once(' ')?;
        match Name::parse(name)? {
            Name::Receipts(start) => start.checked_sub(first).filter(|room| *room > 0),
            _ => None,
        }
    });
    let room = starts.min().and_then(|room| usize::try_from(room).ok());
    room.unwrap_or(usize::MAX)
}

/// Up to which receipt all are there: pieces follow each other without a gap.
fn last_receipt(notes: &HashSet<String>) -> u64 {
    let pieces = notes.iter().filter_map(|note| {
        let (name, last) = note.split_once(' ')?;
        match Name::parse(name)? {
            Name::Receipts(first) => Some((first, last.parse::<u64>().ok()?)),
            _ => None,
        }
    });
    let mut pieces: Vec<(u64, u64)> = pieces.collect();
    pieces.sort_unstable();
    let mut last = 0;
    for (first, end) in pieces {
        if first == last + 1 && end >= first {
            last = end;
        }
    }
    last
}
