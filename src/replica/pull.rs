//! Import from a replica. Objects are untrusted until their digest with the store's key, their place in the chain and the digests
//! of records prove them. Missing and exchanged objects are reported.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use super::bucket::{Bucket, BucketError, BucketErrorKind};
use super::chain::Chain;
use super::envelope::{self, Fault};
use super::name::Name;
use super::{ReplicaError, upload};
use crate::model::{ArchiveId, ArchiveRef, Digest, SnapshotId, SnapshotRecord, StoreId};
use crate::observer::Observer;
use crate::store::encryption::Identities;
use crate::store::{ReplicaIdentity, parse_moved, parse_record, read_links};

/// No object of jackin is longer (bytes): a record of the largest size, and what age adds.
const LARGEST: u64 = 80 << 20;
/// A part of an archive; later versions may make larger ones (bytes).
const LARGEST_PART: u64 = 16 * upload::PART as u64;
/// Upper bound of what age adds to a file, in bytes.
const AGE: u64 = 1 << 20;

/// The stores that were copied to an address.
///
/// # Errors
/// [`ReplicaError::Bucket`].
pub fn stores(bucket: &dyn Bucket) -> Result<Vec<StoreId>, ReplicaError> {
    let folders = bucket.folders().map_err(|error| failed(bucket, error))?;
    Ok(folders
        .iter()
        .filter_map(|name| StoreId::parse(name).ok())
        .collect())
}

pub(super) fn failed(bucket: &dyn Bucket, error: BucketError) -> ReplicaError {
    match error.kind {
        BucketErrorKind::Interrupted => ReplicaError::Interrupted,
        _ => ReplicaError::Bucket {
            place: bucket.place(),
            source: error,
        },
    }
}

/// A store in a bucket, and the keys that open it.
pub struct Remote<'a> {
    bucket: &'a dyn Bucket,
    identities: &'a Identities,
    identity: ReplicaIdentity,
    observer: &'a dyn Observer,
}

/// Objects of a store in a bucket, by name.
#[derive(Debug, Default)]
pub struct Index {
    /// Parts of archives, by their number.
    archives: BTreeMap<ArchiveId, BTreeSet<u32>>,
    moved: BTreeMap<ArchiveId, Vec<ArchiveRef>>,
    records: BTreeSet<SnapshotId>,
    receipts: BTreeSet<u64>,
    /// Bytes of everything, encrypted.
    pub bytes: u64,
    /// Names that no version of this program writes there.
    pub strange: Vec<String>,
}

/// Records of a store in a bucket.
#[derive(Debug, Default)]
pub struct FoundRecords {
    /// The records, the oldest first.
    pub records: Vec<SnapshotRecord>,
    /// Descriptions of what is missing or wrong.
    pub troubles: Vec<String>,
    /// Number of snapshots that are left there although they were forgotten on the other machine.
    pub forgotten: u64,
}

impl<'a> Remote<'a> {
    /// Finds the key of `store` with one of the private keys.
    ///
    /// # Errors
    /// [`ReplicaError`].
    pub fn open(
        bucket: &'a dyn Bucket,
        store: StoreId,
        identities: &'a Identities,
        observer: &'a dyn Observer,
    ) -> Result<Self, ReplicaError> {
        let listed = bucket
            .list(&format!("{store}/keys/"))
            .map_err(|error| failed(bucket, error))?;
        let place = bucket.place();
        let wrong = |name: &str, why: String| ReplicaError::Object {
            place: place.clone(),
            store: store.clone(),
            name: name.to_owned(),
            why,
        };
        let mut found: Option<ReplicaIdentity> = None;
        let mut damaged = None;
        let mut is_there = false;
        for listed in listed {
            let name = listed.name.strip_prefix(&format!("{store}/")).unwrap_or_default();
            if !matches!(Name::parse(name), Some(Name::Key(_))) {
                continue;
            }
            is_there = true;
            let sealed = bucket
                .get(&listed.name, AGE)
                .map_err(|error| failed(bucket, error))?;
            let Some(sealed) = sealed else { continue };
            match envelope::open_key(&sealed, identities, &store, name) {
                Ok(identity) if found.as_ref().is_some_and(|found| *found != identity) => {
                    return Err(wrong(
                        name,
                        "two keys of this store differ, so one is from another store".to_owned(),
                    ));
                }
                Ok(identity) => found = Some(identity),
                Err(Fault::NoIdentity) => {}
                Err(Fault::Wrong(why)) => damaged = Some(wrong(name, why)),
            }
        }
        match (found, damaged) {
            (Some(identity), _) => Ok(Self {
                bucket,
                identities,
                identity,
                observer,
            }),
            (None, Some(damaged)) => Err(damaged),
            (None, None) if is_there => Err(ReplicaError::NoIdentity { place, store }),
            (None, None) => Err(ReplicaError::UnknownStore { place, store }),
        }
    }

    /// The store's name.
    #[must_use]
    pub fn store(&self) -> &StoreId {
        &self.identity.id
    }

    /// Returns true if the objects are known by this name and key.
    #[must_use]
    pub fn is_of(&self, identity: &ReplicaIdentity) -> bool {
        self.identity == *identity
    }

    fn must_go_on(&self) -> Result<(), ReplicaError> {
        match self.observer.cancelled() {
            true => Err(ReplicaError::Interrupted),
            false => Ok(()),
        }
    }

    /// One object; what is wrong with it comes in words.
    fn object(&self, name: &Name, most: u64) -> Result<Result<Vec<u8>, String>, ReplicaError> {
        self.must_go_on()?;
        let name = name.to_string();
        let full = format!("{}/{name}", self.identity.id);
        let got = match self.bucket.get(&full, most.saturating_add(AGE)) {
            Err(error) if error.kind == BucketErrorKind::Odd => return Ok(Err(format!("{name}: {error}"))),
            other => other.map_err(|error| failed(self.bucket, error))?,
        };
        let Some(sealed) = got else {
            return Ok(Err(format!("{name} is not there")));
        };
        let opened = envelope::open(&sealed, self.identities, &self.identity, &name, most);
        Ok(opened.map_err(|fault| match fault {
            Fault::NoIdentity => format!(
                "{name}: none of the given private keys opens it; if the recipients were changed, --identity takes a file with the \
                 earlier keys as well"
            ),
            Fault::Wrong(why) => format!("{name}: {why}"),
        }))
    }

    /// Lists the objects, and returns messages about those that cannot be used.
    ///
    /// # Errors
    /// [`ReplicaError`].
    pub fn index(&self) -> Result<(Index, Vec<String>), ReplicaError> {
        let own = format!("{}/", self.identity.id);
        let listed = self
            .bucket
            .list(&own)
            .map_err(|error| failed(self.bucket, error))?;
        let (mut index, mut troubles) = (Index::default(), Vec::new());
        let mut moved = Vec::new();
        for listed in listed {
            index.bytes = index.bytes.saturating_add(listed.size);
            let name = listed.name.strip_prefix(&own).unwrap_or_default();
            match Name::parse(name) {
                Some(Name::Key(_)) => {}
                Some(Name::Archive(id, part)) => drop(index.archives.entry(id).or_default().insert(part)),
                Some(Name::Moved(id, into)) => moved.push((id, into)),
                Some(Name::Record(id)) => drop(index.records.insert(id)),
                Some(Name::Receipts(first)) => drop(index.receipts.insert(first)),
                // Consoles show folders by objects without content.
                None if listed.size == 0 && (name.is_empty() || name.ends_with('/')) => {}
                None => index.strange.push(name.to_owned()),
            }
        }
        for (id, wanted) in moved {
            let name = Name::Moved(id.clone(), wanted.clone());
            let read = self.object(&name, LARGEST)?.and_then(|bytes| {
                parse_moved(&bytes, Path::new(&name.to_string())).map_err(|error| error.to_string())
            });
            match read {
                Ok(into) if into.id == wanted => index.moved.entry(id).or_default().push(into),
                Ok(_) => troubles.push(format!("{name} leads to another archive")),
                Err(why) => troubles.push(why),
            }
        }
        Ok((index, troubles))
    }

    /// The chain: every piece, every link, in order and without a gap.
    ///
    /// # Errors
    /// [`ReplicaError`].
    pub fn chain(&self, index: &Index) -> Result<Chain, ReplicaError> {
        let mut chain = Chain::default();
        let mut text = Vec::new();
        let mut next = 1;
        for first in &index.receipts {
            if *first != next {
                chain.troubles.push(match *first > next {
                    true => format!(
                        "receipts {next} to {} are not there: objects were removed",
                        first - 1
                    ),
                    false => format!("receipts {first} are there twice"),
                });
                break;
            }
            match self.object(&Name::Receipts(*first), LARGEST)? {
                Ok(piece) => {
                    next += piece.iter().filter(|byte| **byte == b'\n').count() as u64;
                    text.extend_from_slice(&piece);
                }
                Err(why) => {
                    chain.troubles.push(why);
                    break;
                }
            }
        }
        if index.receipts.is_empty() {
            chain
                .troubles
                .push("it has no receipts, so its snapshots are unknown".to_owned());
        }
        let name = PathBuf::from(format!("{}/{}/receipts", self.bucket.place(), self.identity.id));
        let (receipts, head, broken) = read_links(&text, &name);
        chain.receipts = receipts;
        chain.head = Some(head);
        chain.troubles.extend(broken.map(|broken| broken.to_string()));
        Ok(chain)
    }

    /// Reads every record, the oldest first, and says what is missing or wrong. What was forgotten on the other machine is counted and not
    /// read, wherever its objects were left.
    ///
    /// # Errors
    /// [`ReplicaError`].
    pub fn records(&self, index: &Index, chain: &Chain) -> Result<FoundRecords, ReplicaError> {
        let told = chain.told();
        let (mut records, mut troubles, mut forgotten) = (Vec::new(), Vec::new(), 0);
        for id in &index.records {
            if told.get(id).is_some_and(|told| told.forgotten) {
                forgotten += 1;
                continue;
            }
            let name = Name::Record(id.clone());
            let bytes = match self.object(&name, LARGEST)? {
                Ok(bytes) => bytes,
                Err(why) => {
                    troubles.push(why);
                    continue;
                }
            };
            let expected = told.get(id).and_then(|told| told.captured);
            match parse_record(&bytes, id, expected, Path::new(&name.to_string())) {
                Ok(mut record) => {
                    chain.amend(&mut record);
                    records.push(record);
                }
                Err(error) => troubles.push(error.to_string()),
            }
        }
        for (id, told) in &told {
            if told.captured.is_some() && !told.given_up && !told.lost && !index.records.contains(id) {
                troubles.push(format!(
                    "the record of {id} is not there: its receipt names it, and it was not pruned"
                ));
            }
        }
        records.sort_by(|a, b| (a.taken_at, &a.id).cmp(&(b.taken_at, &b.id)));
        Ok(FoundRecords {
            records,
            troubles,
            forgotten,
        })
    }

    /// Finds the archive that holds the content of `wanted`: itself, or the one that replaced it.
    ///
    /// # Errors
    /// A message if the bucket has neither.
    pub fn resolve(&self, index: &Index, wanted: &ArchiveRef) -> Result<ArchiveRef, String> {
        let mut ways = vec![wanted];
        let mut seen = BTreeSet::new();
        while let Some(at) = ways.pop() {
            if index.archives.contains_key(&at.id) {
                return Ok(at.clone());
            }
            if seen.insert(&at.id) {
                ways.extend(index.moved.get(&at.id).into_iter().flatten());
            }
        }
        Err(format!("the archive {} is not there", wanted.id))
    }

    /// Reads an archive part by part. `each` gets the bytes; they are compared with what `wanted` says in the end.
    ///
    /// # Errors
    /// [`ReplicaError`]; what is wrong with the archive comes in words.
    pub fn archive(
        &self,
        index: &Index,
        wanted: &ArchiveRef,
        each: &mut dyn FnMut(&[u8]) -> Result<(), ReplicaError>,
    ) -> Result<Result<(), String>, ReplicaError> {
        let mut left = wanted.size;
        let mut hasher = blake3::Hasher::new();
        let none = BTreeSet::new();
        let parts = index.archives.get(&wanted.id).unwrap_or(&none);
        let mut number = 1;
        while left > 0 || number == 1 {
            let name = Name::Archive(wanted.id.clone(), number);
            if !parts.contains(&number) {
                return Ok(Err(format!("{name} is not there")));
            }
            let bytes = match self.object(&name, LARGEST_PART)? {
                Ok(bytes) => bytes,
                Err(why) => return Ok(Err(why)),
            };
            if bytes.len() as u64 > left || bytes.is_empty() && left > 0 {
                return Ok(Err(format!("{name} does not fit into the archive")));
            }
            left -= bytes.len() as u64;
            hasher.update(&bytes);
            each(&bytes)?;
            self.observer.advance(0, bytes.len() as u64);
            number += 1;
        }
        match Digest(*hasher.finalize().as_bytes()) == wanted.digest {
            true => Ok(Ok(())),
            false => Ok(Err(format!(
                "the archive {} has another digest than its record says",
                wanted.id
            ))),
        }
    }

    /// Returns a message about objects with names that jackin does not use; `None` if there are none.
    #[must_use]
    pub fn strange(index: &Index) -> Option<String> {
        const NAMED: usize = 5;
        let names: Vec<&str> = index.strange.iter().take(NAMED).map(String::as_str).collect();
        let more = index.strange.len() - names.len();
        let named = names.join(", ");
        match (names.is_empty(), more) {
            (true, _) => None,
            (false, 0) => Some(format!(
                "there are objects that this program did not put there: {named}"
            )),
            (false, more) => Some(format!(
                "there are objects that this program did not put there: {named} and {more} more"
            )),
        }
    }
}

/// The sessions that records belong to, with their records in the order in which they were taken.
#[must_use]
pub fn by_instance(records: Vec<SnapshotRecord>) -> Vec<(crate::model::InstanceId, Vec<SnapshotRecord>)> {
    let mut order = Vec::new();
    let mut all: HashMap<_, Vec<SnapshotRecord>> = HashMap::new();
    for record in records {
        let instance = record.instance.clone();
        if !all.contains_key(&instance) {
            order.push(instance.clone());
        }
        all.entry(instance).or_default().push(record);
    }
    order
        .into_iter()
        .filter_map(|instance| all.remove(&instance).map(|records| (instance, records)))
        .collect()
}
