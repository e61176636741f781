//! Ids of instances, snapshots and archives. They name files in the store, so what comes from outside is checked.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// Digits and lower-case letters without i, l, o, u, which are misread.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// Error for text that is not an id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not {what} id")]
pub struct IdError {
    /// "an instance", "a snapshot", "an archive".
    pub what: &'static str,
}

fn random_text(random: &[u8]) -> String {
    random
        .iter()
        .map(|byte| {
            ALPHABET
                .get(usize::from(byte & 31))
                .map_or('0', |letter| char::from(*letter))
        })
        .collect()
}

fn is_random_text(text: &str, length: usize) -> bool {
    // The letters of `ALPHABET`; looked up in it, thousands of ids would cost milliseconds.
    let is_letter = |byte| matches!(byte, b'0'..=b'9' | b'a'..=b'h' | b'j' | b'k' | b'm' | b'n' | b'p'..=b't' | b'v'..=b'z');
    text.len() == length && text.bytes().all(is_letter)
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $what:literal, $check:expr) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(String);

        impl $name {
            /// Checks `text` and takes it as an id.
            ///
            /// # Errors
            /// When it does not have the form of one.
            pub fn parse(text: &str) -> Result<Self, IdError> {
                Self::checked(text.to_owned())
            }

            fn checked(text: String) -> Result<Self, IdError> {
                let check: fn(&str) -> bool = $check;
                if check(&text) { Ok(Self(text)) } else { Err(IdError { what: $what }) }
            }

            /// The text; safe as a file name.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string" })
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Self::checked(String::deserialize(deserializer)?).map_err(D::Error::custom)
            }
        }
    };
}

/// Suffix of the id of an archive with agents' state.
const STATE: &str = "-state";

id!(
    /// One launched session: `rc-<8 random letters>-<label>`.
    InstanceId, "an instance", |text| {
        text.strip_prefix("rc-")
            .and_then(|rest| rest.split_once('-'))
            .is_some_and(|(random, label)| is_random_text(random, 8) && is_label(label))
    }
);
id!(
    /// One snapshot: `sn-<12 random letters>`.
    SnapshotId, "a snapshot", |text| {
        text.strip_prefix("sn-").is_some_and(|random| is_random_text(random, 12))
    }
);
id!(
    /// One archive: `ar-<12 random letters>`, the same letters as the snapshot that it was written for; with `-state` at the end when it
    /// holds the state of agents.
    ArchiveId, "an archive", |text| {
        let text = text.strip_suffix(STATE).unwrap_or(text);
        text.strip_prefix("ar-").is_some_and(|random| is_random_text(random, 12))
    }
);
id!(
    /// One restore: `rt-<12 random letters>`.
    RestoreId, "a restore", |text| {
        text.strip_prefix("rt-").is_some_and(|random| is_random_text(random, 12))
    }
);

id!(
    /// One fork: `fk-<12 random letters>`.
    ForkId, "a fork", |text| {
        text.strip_prefix("fk-").is_some_and(|random| is_random_text(random, 12))
    }
);

id!(
    /// One store, as it is called where it is replicated to: `st-<12 random letters>`.
    StoreId, "a store", |text| {
        text.strip_prefix("st-").is_some_and(|random| is_random_text(random, 12))
    }
);

impl StoreId {
    /// A new id from random bytes.
    #[must_use]
    pub fn new(random: [u8; 12]) -> Self {
        Self(format!("st-{}", random_text(&random)))
    }
}

impl ForkId {
    /// A new id from random bytes.
    #[must_use]
    pub fn new(random: [u8; 12]) -> Self {
        Self(format!("fk-{}", random_text(&random)))
    }
}

impl RestoreId {
    /// A new id from random bytes.
    #[must_use]
    pub fn new(random: [u8; 12]) -> Self {
        Self(format!("rt-{}", random_text(&random)))
    }
}

impl InstanceId {
    /// A new id from random bytes and a label of [`label_from`].
    #[must_use]
    pub fn new(random: [u8; 8], label: &str) -> Self {
        Self(format!("rc-{}-{label}", random_text(&random)))
    }

    /// The part that says which workspace or directory it was.
    #[must_use]
    pub fn label(&self) -> &str {
        self.0.splitn(3, '-').nth(2).unwrap_or_default()
    }
}

impl SnapshotId {
    /// A new id from random bytes.
    #[must_use]
    pub fn new(random: [u8; 12]) -> Self {
        Self(format!("sn-{}", random_text(&random)))
    }

    /// Returns the id of the archive that is written for this snapshot.
    #[must_use]
    pub fn archive(&self) -> ArchiveId {
        ArchiveId(format!("ar-{}", self.0.trim_start_matches("sn-")))
    }

    /// Returns the id of the archive that is written for agents' state in this snapshot.
    #[must_use]
    pub fn state_archive(&self) -> ArchiveId {
        ArchiveId(format!("{}{STATE}", self.archive()))
    }

    /// Returns the ids of all archives that may be written for this snapshot.
    #[must_use]
    pub fn archives(&self) -> [ArchiveId; 2] {
        [self.archive(), self.state_archive()]
    }
}

impl ArchiveId {
    /// Returns true if the archive holds agents' state.
    #[must_use]
    pub fn is_state(&self) -> bool {
        self.0.ends_with(STATE)
    }
}

fn is_label(text: &str) -> bool {
    (1..=40).contains(&text.len())
        && text
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        && !text.starts_with('-')
        && !text.ends_with('-')
}

/// A label for ids out of any name: lower-case ASCII letters, digits and single dashes, at most 40 bytes; `dir` when
/// nothing is left.
#[must_use]
pub fn label_from(name: &[u8]) -> String {
    let mut label = String::new();
    for byte in name.iter().map(u8::to_ascii_lowercase) {
        if label.len() == 40 {
            break;
        }
        if byte.is_ascii_lowercase() || byte.is_ascii_digit() {
            label.push(char::from(byte));
        } else if !label.is_empty() && !label.ends_with('-') {
            label.push('-');
        }
    }
    let label = label.trim_end_matches('-');
    if label.is_empty() {
        "dir".to_owned()
    } else {
        label.to_owned()
    }
}
