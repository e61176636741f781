//! Entry within a JSON file.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use super::Entry;
use super::codec::Reader;

/// An entry in JSON: its bytes as in a manifest, in base64.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded(pub Box<Entry>);

impl Serialize for Recorded {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut bytes = Vec::new();
        self.0.encode(&mut bytes, 0);
        serializer.serialize_str(&STANDARD.encode(bytes))
    }
}

impl<'de> Deserialize<'de> for Recorded {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bytes = STANDARD
            .decode(String::deserialize(deserializer)?)
            .map_err(D::Error::custom)?;
        let mut reader = Reader::new(&bytes);
        let entry = Entry::decode(&mut reader, 0).map_err(D::Error::custom)?;
        Ok(Self(Box::new(entry)))
    }
}
