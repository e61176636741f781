//! Bytes that are usually text: in JSON a string when they are UTF-8, else `{"base64": "…"}`.

use std::borrow::Cow;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// A byte string as Unix has it (a path, a link target). Never lossy: what is not UTF-8 travels as base64.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ByteString(pub Vec<u8>);

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Form {
    Text(String),
    Binary { base64: String },
}

impl Serialize for ByteString {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match std::str::from_utf8(&self.0) {
            Ok(text) => Form::Text(text.to_owned()),
            Err(_) => Form::Binary {
                base64: STANDARD.encode(&self.0),
            },
        }
        .serialize(serializer)
    }
}

impl JsonSchema for ByteString {
    fn schema_name() -> Cow<'static, str> {
        "ByteString".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Bytes that are usually text: a string when they are UTF-8, else base64.",
            "anyOf": [
                { "type": "string" },
                {
                    "type": "object",
                    "properties": { "base64": { "type": "string" } },
                    "required": ["base64"],
                },
            ],
        })
    }
}

impl<'de> Deserialize<'de> for ByteString {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Form::deserialize(deserializer)? {
            Form::Text(text) => Ok(Self(text.into_bytes())),
            Form::Binary { base64 } => STANDARD
                .decode(base64)
                .map(Self)
                .map_err(|_| D::Error::custom("not base64")),
        }
    }
}

impl From<&std::path::Path> for ByteString {
    fn from(path: &std::path::Path) -> Self {
        use std::os::unix::ffi::OsStrExt as _;
        Self(path.as_os_str().as_bytes().to_vec())
    }
}

impl ByteString {
    /// Returns the bytes as a host path.
    #[must_use]
    pub fn to_path(&self) -> std::path::PathBuf {
        use std::os::unix::ffi::OsStrExt as _;
        std::path::PathBuf::from(std::ffi::OsStr::from_bytes(&self.0))
    }
}
