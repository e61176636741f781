//! One object: an age file, in which a line says what it is, and what follows is what the name promises. The line has a digest with a
//! key, so that no object can take the place of another, and none can be made by who only knows the recipients.

use serde::{Deserialize, Serialize};

use super::ReplicaError;
use crate::model::{Digest, StoreId};
use crate::store::ReplicaIdentity;
use crate::store::archive::{Identities, OpenError, Recipients, open_bytes, seal_bytes};

/// The form of the line and of the key.
const FORMAT: u32 = 1;
/// How the line begins.
const WORD: &str = "jackin-replica";
/// The line is never longer (bytes).
const LONGEST_LINE: usize = 512;

/// What the object of a key holds.
#[derive(Serialize, Deserialize)]
struct KeyNote {
    format: u32,
    store: StoreId,
    key: Digest,
}

/// Why an object is not what it should be.
pub(super) enum Fault {
    /// None of the private keys fits.
    NoIdentity,
    /// In words.
    Wrong(String),
}

/// The digest of an object with the key of its store.
pub(super) fn mac(identity: &ReplicaIdentity, name: &str, payload: &[u8]) -> Digest {
    let mut hasher = blake3::Hasher::new_keyed(&identity.key);
    for part in [identity.id.as_str().as_bytes(), name.as_bytes()] {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    hasher.update(payload);
    Digest(*hasher.finalize().as_bytes())
}

/// The bytes of an object.
pub(super) fn seal(
    identity: &ReplicaIdentity,
    recipients: &Recipients,
    name: &str,
    mac: &Digest,
    payload: &[u8],
) -> Result<Vec<u8>, ReplicaError> {
    let line = format!("{WORD} {FORMAT} {} {name} {mac}\n", identity.id);
    let whole = [line.as_bytes(), payload].concat();
    seal_bytes(&whole, recipients).map_err(|error| ReplicaError::Encrypt(error.to_string()))
}

/// What an object holds behind its line, and the digest in the line, which is not checked here: for that its key must be known.
fn unseal(
    sealed: &[u8],
    identities: &Identities,
    store: &StoreId,
    name: &str,
    most: u64,
) -> Result<(Vec<u8>, Digest), Fault> {
    let most = most.saturating_add(LONGEST_LINE as u64);
    let mut whole = open_bytes(sealed, identities, most).map_err(|error| match error {
        OpenError::NoIdentity => Fault::NoIdentity,
        other => Fault::Wrong(other.to_string()),
    })?;
    let wrong = |why: &str| Fault::Wrong(why.to_owned());
    let head = whole.get(..LONGEST_LINE.min(whole.len())).unwrap_or_default();
    let end = head
        .iter()
        .position(|byte| *byte == b'\n')
        .ok_or_else(|| wrong("it does not say what it is"))?;
    let payload = whole.split_off(end + 1);
    let line = std::str::from_utf8(whole.get(..end).unwrap_or_default())
        .map_err(|_| wrong("it does not say what it is"))?;
    let parts: Vec<&str> = line.split(' ').collect();
    let [WORD, format, its_store, its_name, digest] = parts.as_slice() else {
        return Err(wrong("it does not say what it is"));
    };
    match format.parse::<u64>() {
        Ok(format) if format == u64::from(FORMAT) => {}
        Ok(format) if format > u64::from(FORMAT) => {
            return Err(Fault::Wrong(format!(
                "it has format {format}, written by a newer version of jackin recovery; this one knows formats up to {FORMAT}"
            )));
        }
        _ => return Err(wrong("it has a format that never was")),
    }
    if *its_store != store.as_str() || *its_name != name {
        return Err(Fault::Wrong(format!(
            "it holds what belongs to {its_store}/{its_name}: objects were exchanged"
        )));
    }
    let digest = Digest::from_hex(digest).ok_or_else(|| wrong("it does not say what it is"))?;
    Ok((payload, digest))
}

/// What an object holds, when it is the one of that name and was written by who has the key.
pub(super) fn open(
    sealed: &[u8],
    identities: &Identities,
    identity: &ReplicaIdentity,
    name: &str,
    most: u64,
) -> Result<Vec<u8>, Fault> {
    let (payload, digest) = unseal(sealed, identities, &identity.id, name, most)?;
    if mac(identity, name, &payload) == digest {
        Ok(payload)
    } else {
        Err(Fault::Wrong(
            "it was not written by the store that it lies with".to_owned(),
        ))
    }
}

/// What the object of a key holds.
pub(super) fn key_note(identity: &ReplicaIdentity) -> Result<Vec<u8>, ReplicaError> {
    let note = KeyNote {
        format: FORMAT,
        store: identity.id.clone(),
        key: Digest(identity.key),
    };
    serde_json::to_vec(&note).map_err(|error| ReplicaError::Encrypt(error.to_string()))
}

/// Opens the object of a key.
pub(super) fn open_key(
    sealed: &[u8],
    identities: &Identities,
    store: &StoreId,
    name: &str,
) -> Result<ReplicaIdentity, Fault> {
    const MOST: u64 = 4096;
    let (payload, digest) = unseal(sealed, identities, store, name, MOST)?;
    let note: KeyNote = serde_json::from_slice(&payload).map_err(|error| Fault::Wrong(error.to_string()))?;
    let identity = ReplicaIdentity {
        id: note.store,
        key: note.key.0,
    };
    if note.format != FORMAT || identity.id != *store || mac(&identity, name, &payload) != digest {
        return Err(Fault::Wrong("it is not the key of this store".to_owned()));
    }
    Ok(identity)
}
