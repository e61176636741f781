//! One object: an age file with a header line and the payload. The header has a keyed digest, so that no object can take the place
//! of another, and knowing the recipients is not enough to forge one.

use serde::{Deserialize, Serialize};

use super::ReplicaError;
use crate::model::{Digest, StoreId};
use crate::store::ReplicaIdentity;
use crate::store::encryption::{Identities, OpenError, Recipients, open_bytes, seal_bytes};

/// Format version of the header line and of the key object.
const FORMAT: u32 = 1;
/// First word of the header line.
const WORD: &str = "jackin-replica";
/// Largest length of the header line, in bytes.
const LONGEST_LINE: usize = 512;

/// Content of the object that holds the store's key.
#[derive(Serialize, Deserialize)]
struct KeyNote {
    format: u32,
    store: StoreId,
    key: Digest,
}

/// Reason why an object is rejected.
pub(super) enum Fault {
    /// None of the private keys fits.
    NoIdentity,
    /// Description of the problem.
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

/// Decrypts an object and returns its payload and the digest from its header line.
///
/// The digest is not checked here, because that needs the key of the store.
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
        .ok_or_else(|| wrong("its header is incomplete"))?;
    let payload = whole.split_off(end + 1);
    let line = std::str::from_utf8(whole.get(..end).unwrap_or_default())
        .map_err(|_| wrong("its header is incomplete"))?;
    let parts: Vec<&str> = line.split(' ').collect();
    let [WORD, format, its_store, its_name, digest] = parts.as_slice() else {
        return Err(wrong("its header is incomplete"));
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
            "it belongs to {its_store}/{its_name}: objects were exchanged"
        )));
    }
    let digest = Digest::from_hex(digest).ok_or_else(|| wrong("its header is incomplete"))?;
    Ok((payload, digest))
}

/// Decrypts an object and checks that it has this name and was written with the store's key.
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
            "it was not written by the store it is in".to_owned(),
        ))
    }
}

/// Returns the content of the object that holds the store's key.
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
