//! Identity of an object on disk.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Time;

/// Identity of an object: its inode, and its birth time if the file system keeps one. No device number, which changes with every
/// mount.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Identity {
    /// Inode number.
    pub ino: u64,
    /// When it was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub born: Option<Stamp>,
    /// Its size, for file systems that do not keep when it was made.
    pub size: u64,
    /// Its modification time, for the same.
    pub mtime: Stamp,
}

/// A time as two numbers: seconds and nanoseconds. Identities have to come back exactly, also those beyond the year 9999.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Stamp(pub i64, pub u32);

impl From<Time> for Stamp {
    fn from(time: Time) -> Self {
        Self(time.sec, time.nsec)
    }
}

impl From<Stamp> for Time {
    fn from(Stamp(sec, nsec): Stamp) -> Self {
        Self { sec, nsec }
    }
}
