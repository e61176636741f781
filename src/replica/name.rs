//! The names of objects below a store's own name. They say which archive or snapshot it is by random ids, and how many receipts
//! there are, and nothing of what is in them.

use std::fmt;

use crate::model::{ArchiveId, SnapshotId};

/// Ending of every name: each object is an age file.
const END: &str = ".age";
/// Letters of the name of a key.
const KEY_LETTERS: usize = 16;

/// An object of a store.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Name {
    /// The key of all others, for one set of recipients, which the letters stand for.
    Key(String),
    /// A part of an archive, counted from 1.
    Archive(ArchiveId, u32),
    /// The archive that took the place of another: of the first, the second. When that is packed anew in its turn, there is another one.
    Moved(ArchiveId, ArchiveId),
    /// A record.
    Record(SnapshotId),
    /// Receipts from this one on.
    Receipts(u64),
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(letters) => write!(f, "keys/{letters}{END}"),
            Self::Archive(id, part) => write!(f, "archives/{id}/{part:06}{END}"),
            Self::Moved(id, into) => write!(f, "moved/{id}/{into}{END}"),
            Self::Record(id) => write!(f, "snapshots/{id}{END}"),
            Self::Receipts(first) => write!(f, "receipts/{first:012}{END}"),
        }
    }
}

impl Name {
    /// Reads what [`fmt::Display`] writes, and nothing else.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (kind, rest) = text.strip_suffix(END)?.split_once('/')?;
        let found = match kind {
            "keys" => Self::Key(rest.to_owned()),
            "archives" => {
                let (id, part) = rest.split_once('/')?;
                Self::Archive(ArchiveId::parse(id).ok()?, part.parse().ok()?)
            }
            "moved" => {
                let (id, into) = rest.split_once('/')?;
                Self::Moved(ArchiveId::parse(id).ok()?, ArchiveId::parse(into).ok()?)
            }
            "snapshots" => Self::Record(SnapshotId::parse(rest).ok()?),
            "receipts" => Self::Receipts(rest.parse().ok()?),
            _ => return None,
        };
        let is_sound = match &found {
            Self::Key(letters) => {
                letters.len() == KEY_LETTERS && letters.bytes().all(|b| b.is_ascii_hexdigit())
            }
            Self::Archive(_, part) => *part > 0,
            Self::Receipts(first) => *first > 0,
            Self::Moved(..) | Self::Record(_) => true,
        };
        // One thing has one name.
        (is_sound && found.to_string() == text).then_some(found)
    }

    /// Returns the name of the key object for recipients. It reveals nothing about them without the key.
    #[must_use]
    pub fn of_key(key: &[u8; 32], recipients: &[String]) -> Self {
        let mut all: Vec<&str> = recipients.iter().map(|recipient| recipient.trim()).collect();
        all.sort_unstable();
        all.dedup();
        let digest = blake3::keyed_hash(key, all.join("\n").as_bytes());
        Self::Key(digest.to_hex().chars().take(KEY_LETTERS).collect())
    }
}
