//! A point in time with nanoseconds, as file systems and records keep it.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// Seconds and nanoseconds since 1970-01-01T00:00:00Z. Negative seconds lie before it; `nsec` always counts forward
/// and is below 1,000,000,000, as in `struct timespec`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time {
    /// Whole seconds.
    pub sec: i64,
    /// Nanoseconds within the second.
    pub nsec: u32,
}

impl Time {
    const NANOS: i128 = 1_000_000_000;

    /// Nanoseconds since 1970.
    #[must_use]
    pub fn nanos(self) -> i128 {
        i128::from(self.sec) * Self::NANOS + i128::from(self.nsec)
    }

    /// The time that lies `nanos` nanoseconds after 1970; out of range saturates.
    #[must_use]
    pub fn from_nanos(nanos: i128) -> Self {
        let sec = i64::try_from(nanos.div_euclid(Self::NANOS));
        let nsec = u32::try_from(nanos.rem_euclid(Self::NANOS)).unwrap_or(0);
        match sec {
            Ok(sec) => Self { sec, nsec },
            Err(_) if nanos < 0 => Self {
                sec: i64::MIN,
                nsec: 0,
            },
            Err(_) => Self {
                sec: i64::MAX,
                nsec: 999_999_999,
            },
        }
    }

    /// This time moved by `nanos` nanoseconds (backwards when negative).
    #[must_use]
    pub fn plus_nanos(self, nanos: i128) -> Self {
        Self::from_nanos(self.nanos() + nanos)
    }

    /// RFC 3339 in UTC with nine digits, e.g. `2026-11-20T23:03:21.000000000Z`. Times beyond year 9999 are clamped.
    #[must_use]
    pub fn rfc3339(self) -> String {
        let stamp = i32::try_from(self.nsec)
            .ok()
            .and_then(|nsec| jiff::Timestamp::new(self.sec, nsec).ok())
            .unwrap_or(if self.sec < 0 {
                jiff::Timestamp::MIN
            } else {
                jiff::Timestamp::MAX
            });
        format!("{stamp:.9}")
    }

    /// Reads an RFC 3339 time.
    #[must_use]
    pub fn parse_rfc3339(text: &str) -> Option<Self> {
        let stamp: jiff::Timestamp = text.parse().ok()?;
        Some(Self::from_nanos(stamp.as_nanosecond()))
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.rfc3339())
    }
}

impl JsonSchema for Time {
    fn schema_name() -> Cow<'static, str> {
        "Time".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "RFC 3339 in UTC with nine digits.",
            "type": "string",
            "format": "date-time",
            "pattern": "[.][0-9]{9}Z$",
        })
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse_rfc3339(&text).ok_or_else(|| D::Error::custom("not an RFC 3339 time"))
    }
}
