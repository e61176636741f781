//! Uploads of single objects. An upload never overwrites, and recognizes an object that was uploaded before. An object is noted
//! once it exists; before it is sent, the digest of its bytes is noted.

use std::collections::{HashMap, HashSet};
use std::thread::sleep;
use std::time::Duration;

use super::bucket::{Bucket, BucketError, BucketErrorKind, Put, Tag};
use super::name::Name;
use super::{ReplicaError, envelope};
use crate::model::{ArchiveId, Digest, SnapshotId};
use crate::observer::Observer;
use crate::store::encryption::Recipients;
use crate::store::{ReplicaIdentity, Store};

/// An archive goes in parts of so many bytes: what a kill or a slow line loses is never more.
pub(super) const PART: usize = 4 << 20;
/// Receipts go in pieces of about so many bytes.
pub(super) const RECEIPTS: usize = 4 << 20;
/// Upper bound of the largest record with the header line and what age adds, in bytes.
pub(super) const LARGEST_RECORD: u64 = 80 << 20;
/// Prefix of the note of an object that is about to be sent: its name, the digest of its encrypted bytes and, for receipts, the
/// number of the last one. After an interrupted upload, the service may have the object without its metadata.
const SENT: char = '=';

/// Prefix of the note of an encrypted object's size: its name and its number of bytes. Objects of older versions have none.
const SIZED: char = '#';

/// Returns the sizes of objects that were noted, by name. One that was sent again may have several.
fn noted_sizes(notes: &HashSet<String>) -> HashMap<String, Vec<u64>> {
    let mut sizes: HashMap<String, Vec<u64>> = HashMap::new();
    for note in notes {
        let sized = note.strip_prefix(SIZED).and_then(|sized| sized.split_once(' '));
        if let Some((name, Ok(size))) = sized.map(|(name, size)| (name, size.parse())) {
            sizes.entry(name.to_owned()).or_default().push(size);
        }
    }
    sizes
}

/// Object that was sent under a name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    digest: Digest,
    last: Option<u64>,
}

impl Sent {
    fn line(&self, name: &str) -> String {
        let last = self.last.map(|last| format!(" {last}")).unwrap_or_default();
        format!("{SENT}{name} {}{last}", self.digest)
    }

    /// Returns true if these are the bytes that were sent.
    pub(super) fn has(&self, bytes: &[u8]) -> bool {
        self.digest == Digest::of(bytes)
    }

    fn parse(line: &str) -> Option<(&str, Self)> {
        let mut words = line.strip_prefix(SENT)?.split(' ');
        let (name, digest) = (words.next()?, Digest::from_hex(words.next()?)?);
        let last = words.next().and_then(|last| last.parse().ok());
        Some((name, Self { digest, last }))
    }
}

/// Information about an object that already exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RemoteState {
    /// The object has metadata.
    Tagged(Tag),
    /// The object has no metadata, but the same bytes as one that was sent; with the number of that one's last receipt.
    AsSent(Option<u64>),
    /// The object is unknown.
    Strange,
}

/// Returns the name of the object that a note is about.
pub(super) fn noted_name(note: &str) -> &str {
    let note = note.strip_prefix([SENT, SIZED]).unwrap_or(note);
    note.split(' ').next().unwrap_or_default()
}

/// Splits notes into those of existing objects and those of sent ones.
pub(super) fn sorted(all: HashSet<String>) -> (HashSet<String>, HashMap<String, Vec<Sent>>) {
    let mut sent: HashMap<String, Vec<Sent>> = HashMap::new();
    let (lines, notes): (HashSet<String>, HashSet<String>) =
        all.into_iter().partition(|note| note.starts_with(SENT));
    for (name, one) in lines.iter().filter_map(|line| Sent::parse(line)) {
        // Once an object is noted to exist, its notes of sending are not needed.
        if !notes.contains(name) {
            sent.entry(name.to_owned()).or_default().push(one);
        }
    }
    (notes, sent)
}

/// Summary of what was copied.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Copied {
    /// Number of objects that now exist there and were not noted before.
    pub objects: u64,
    /// Number of encrypted bytes sent.
    pub bytes: u64,
    /// Snapshots that exist there with everything that they need.
    pub snapshots: Vec<SnapshotId>,
    /// Receipts.
    pub receipts: u64,
    /// Number of objects removed because their snapshots were pruned here.
    pub removed: u64,
    /// Number of objects that hold what was deleted here and stay: what takes their place is not there, or a record that cannot be
    /// read may need them.
    pub withheld: u64,
    /// Snapshots that cannot be copied because their content here is damaged or not in archives, with the reason.
    pub damaged: Vec<(SnapshotId, String)>,
    /// Objects of no single snapshot whose size there is not the one that was sent, each with what to do.
    pub cut: Vec<String>,
}

/// Copy of one store to one place. The caller must hold [`Store::lock_replica`].
pub struct Copying<'a> {
    pub(super) store: &'a Store,
    pub(super) bucket: &'a dyn Bucket,
    pub(super) identity: ReplicaIdentity,
    pub(super) recipients: &'a Recipients,
    pub(super) recipient_names: &'a [String],
    pub(super) place: Digest,
    pub(super) notes: HashSet<String>,
    /// Objects that were sent and may have arrived, by name.
    pub(super) sent: HashMap<String, Vec<Sent>>,
    /// Noted sizes of objects in bytes, by name.
    sizes: HashMap<String, Vec<u64>>,
    /// Names that [`Self::look`] found there, noted or not; empty before it.
    pub(super) seen: HashSet<String>,
    pub(super) observer: &'a dyn Observer,
    pub(super) part: usize,
    /// True if snapshots that are already noted are checked again.
    pub(super) is_thorough: bool,
    /// Work done so far, also if an error ended it.
    pub copied: Copied,
}

impl<'a> Copying<'a> {
    /// Copies as `identity` what `recipients` may read; `recipient_names` are the same as texts. `place` is the digest of the address.
    ///
    /// # Errors
    /// [`ReplicaError::Store`].
    pub fn new(
        store: &'a Store,
        bucket: &'a dyn Bucket,
        identity: ReplicaIdentity,
        (recipients, recipient_names): (&'a Recipients, &'a [String]),
        place: Digest,
        observer: &'a dyn Observer,
    ) -> Result<Self, ReplicaError> {
        let (notes, sent) = sorted(store.replica_notes(&place)?);
        let sizes = noted_sizes(&notes);
        Ok(Self {
            store,
            bucket,
            identity,
            recipients,
            recipient_names,
            place,
            notes,
            sent,
            sizes,
            seen: HashSet::new(),
            observer,
            part: PART,
            is_thorough: false,
            copied: Copied::default(),
        })
    }

    /// The same with smaller parts.
    #[cfg(test)]
    pub(super) fn in_parts_of(self, part: usize) -> Self {
        Self { part, ..self }
    }
}

impl Copying<'_> {
    /// Lists the existing objects and drops notes of missing ones, so that they are uploaded again.
    ///
    /// # Errors
    /// [`ReplicaError`].
    pub fn look(&mut self) -> Result<(), ReplicaError> {
        let own = self.full("");
        let listed = self.bucket.list(&own).map_err(|error| self.failed(error))?;
        let listed: HashMap<String, u64> = listed
            .into_iter()
            .filter_map(|listed| Some((listed.name.strip_prefix(&own)?.to_owned(), listed.size)))
            .collect();
        self.report_damaged(&listed)?;
        self.seen = listed.into_keys().collect();
        // A snapshot that is there can lack an archive.
        self.is_thorough = true;
        let noted: Vec<String> = self.notes.iter().cloned().collect();
        for note in noted {
            let name = note.split(' ').next().unwrap_or_default();
            if Name::parse(name).is_some() && !self.seen.contains(name) {
                self.store.note_replica(&self.place, &format!("-{note}"))?;
                self.notes.remove(&note);
                self.forget_size(name)?;
            }
        }
        Ok(())
    }

    /// Drops the notes of the size of an object that is gone: the next one of its name has another.
    fn forget_size(&mut self, name: &str) -> Result<(), ReplicaError> {
        for size in self.sizes.remove(name).unwrap_or_default() {
            let note = format!("{SIZED}{name} {size}");
            self.store.note_replica(&self.place, &format!("-{note}"))?;
            self.notes.remove(&note);
        }
        Ok(())
    }

    /// Reports objects whose size is not the one that was sent, with the snapshots that need them. The rest can still be copied.
    fn report_damaged(&mut self, listed: &HashMap<String, u64>) -> Result<(), ReplicaError> {
        let mut damaged: Vec<(Name, String)> = Vec::new();
        for (name, size) in listed {
            // None is empty: each has at least the header of its encryption.
            let sent = self.sizes.get(name);
            let is_whole = sent.map_or(*size > 0, |sent| sent.contains(size));
            if let (false, Some(parsed)) = (is_whole, Name::parse(name)) {
                let sent = sent.and_then(|sent| sent.first());
                let sent = sent.map_or_else(String::new, |sent| format!(" instead of {sent}"));
                let why = format!(
                    "{name} has {size} bytes{sent} there; delete that object, and `replicate` uploads it again"
                );
                damaged.push((parsed, why));
            }
        }
        if damaged.is_empty() {
            return Ok(());
        }
        damaged.sort();
        let needing = self.needing()?;
        let mut unreported: HashSet<SnapshotId> = self.store.record_ids()?.into_iter().collect();
        for (name, why) in damaged {
            let ids = match &name {
                Name::Record(id) => vec![id.clone()],
                Name::Archive(archive, _) => needing.get(archive).cloned().unwrap_or_default(),
                Name::Key(_) | Name::Moved(..) | Name::Receipts(_) => {
                    self.copied.cut.push(why);
                    continue;
                }
            };
            for id in ids {
                if unreported.remove(&id) {
                    self.copied.damaged.push((id, why.clone()));
                }
            }
        }
        Ok(())
    }

    /// Returns the snapshots whose records name an archive, by archive.
    fn needing(&self) -> Result<HashMap<ArchiveId, Vec<SnapshotId>>, ReplicaError> {
        let mut found: HashMap<ArchiveId, Vec<SnapshotId>> = HashMap::new();
        for id in self.store.record_ids()? {
            // A record that cannot be read is reported with its snapshot.
            let Ok(record) = self.store.record(&id) else {
                continue;
            };
            for archive in record.archives {
                found.entry(archive.id).or_default().push(id.clone());
            }
        }
        Ok(found)
    }

    pub(super) fn full(&self, name: &str) -> String {
        format!("{}/{name}", self.identity.id)
    }

    pub(super) fn failed(&self, error: BucketError) -> ReplicaError {
        match error.kind {
            BucketErrorKind::Interrupted => ReplicaError::Interrupted,
            _ => ReplicaError::Bucket {
                place: self.bucket.place(),
                source: error,
            },
        }
    }

    pub(super) fn foreign(&self, name: &str) -> ReplicaError {
        ReplicaError::Foreign {
            place: self.bucket.place(),
            store: self.identity.id.clone(),
            name: name.to_owned(),
        }
    }

    pub(super) fn must_go_on(&self) -> Result<(), ReplicaError> {
        match self.observer.cancelled() {
            true => Err(ReplicaError::Interrupted),
            false => Ok(()),
        }
    }

    pub(super) fn note(&mut self, note: String) -> Result<(), ReplicaError> {
        self.observer.reached("replica-put");
        self.store.note_replica(&self.place, &note)?;
        self.notes.insert(note);
        self.copied.objects += 1;
        Ok(())
    }

    /// Uploads an object unless one of that name exists; then returns what is known of that one.
    pub(super) fn put(
        &mut self,
        name: &str,
        payload: &[u8],
        tag: &Tag,
    ) -> Result<Option<RemoteState>, ReplicaError> {
        const ATTEMPTS: u32 = 3;
        const PAUSE: Duration = Duration::from_millis(500);
        let full = self.full(name);
        if self.seen.contains(name) {
            // Nothing needs to be sent to find that out.
            return Ok(Some(self.there(name)?));
        }
        let sealed = envelope::seal(&self.identity, self.recipients, name, &tag.mac, payload)?;
        let length = sealed.len() as u64;
        let sent = Sent {
            digest: Digest::of(&sealed),
            last: tag.last,
        };
        self.store.note_replica(&self.place, &sent.line(name))?;
        self.sent.entry(name.to_owned()).or_default().push(sent);
        let mut is_busy = false;
        for _ in 0..ATTEMPTS {
            self.must_go_on()?;
            let put = self.bucket.put_new(&full, sealed.clone(), tag);
            let put = put.map_err(|error| self.failed(error))?;
            match put {
                Put::Done => {
                    self.copied.bytes += length;
                    let size = format!("{SIZED}{name} {length}");
                    self.store.note_replica(&self.place, &size)?;
                    self.notes.insert(size);
                    self.sizes.entry(name.to_owned()).or_default().push(length);
                    return Ok(None);
                }
                Put::Taken | Put::Busy => {
                    let there = self.there(name)?;
                    if there != RemoteState::Strange {
                        return Ok(Some(there));
                    }
                    // It is being removed at this moment; or it has no tag and is not from this store.
                    is_busy = put == Put::Busy;
                    if is_busy {
                        sleep(PAUSE);
                    }
                }
            }
        }
        match is_busy {
            true => {
                let what = format!("it is busy with another request for {name}");
                Err(self.failed(BucketError::new(BucketErrorKind::Unreachable, what)))
            }
            false => Ok(Some(RemoteState::Strange)),
        }
    }

    /// Returns what is known of an existing object. One without metadata is recognized by its bytes, as they were sent.
    fn there(&self, name: &str) -> Result<RemoteState, ReplicaError> {
        let full = self.full(name);
        if let Some(tag) = self.bucket.tag(&full).map_err(|error| self.failed(error))? {
            return Ok(RemoteState::Tagged(tag));
        }
        let Some(sent) = self.sent.get(name) else {
            return Ok(RemoteState::Strange);
        };
        let most = self.part.max(RECEIPTS) as u64 + LARGEST_RECORD;
        let bytes = self.bucket.get(&full, most).map_err(|error| self.failed(error))?;
        let same = bytes.and_then(|bytes| sent.iter().find(|sent| sent.has(&bytes)));
        Ok(same.map_or(RemoteState::Strange, |sent| RemoteState::AsSent(sent.last)))
    }

    /// Uploads an object whose content never changes.
    pub(super) fn put_same(&mut self, name: &Name, payload: &[u8]) -> Result<(), ReplicaError> {
        let name = name.to_string();
        if self.notes.contains(&name) {
            return Ok(());
        }
        let mac = envelope::mac(&self.identity, &name, payload);
        let tag = Tag { mac, last: None };
        match self.put(&name, payload, &tag)? {
            Some(RemoteState::Tagged(there)) if there.mac != mac => Err(self.foreign(&name)),
            Some(RemoteState::Strange) => Err(self.foreign(&name)),
            None | Some(RemoteState::Tagged(_) | RemoteState::AsSent(_)) => self.note(name),
        }
    }

    /// Removes an object, which need not be there, and its notes.
    pub(super) fn remove(&mut self, name: &Name, notes: &[String]) -> Result<(), ReplicaError> {
        self.must_go_on()?;
        let name = name.to_string();
        self.bucket
            .delete(&self.full(&name))
            .map_err(|error| self.failed(error))?;
        self.copied.removed += u64::from(self.notes.contains(&name) || self.seen.contains(&name));
        for note in notes {
            self.store.note_replica(&self.place, &format!("-{note}"))?;
            self.notes.remove(note);
        }
        self.seen.remove(&name);
        self.sent.remove(&name);
        self.sizes.remove(&name);
        Ok(())
    }
}
