//! Calls to an agent on another machine, and its answers: the calls of `kernel.rs`, and a few that combine many of them where
//! each would wait for the connection.

use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Version of what is said; both sides must have the same.
pub(super) const VERSION: u32 = 4;
/// The directory that absolute paths begin at.
pub(super) const NOWHERE: u64 = 0;

/// Bytes: a name, a path, content.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Bytes(pub(super) Vec<u8>);

impl Bytes {
    pub(super) fn path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.0))
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.len() {
            0..=200 => write!(f, "\"{}\"", self.0.escape_ascii()),
            length => write!(f, "{length} bytes"),
        }
    }
}

impl From<&Path> for Bytes {
    fn from(path: &Path) -> Self {
        Self(path.as_os_str().as_bytes().to_vec())
    }
}

impl From<&[u8]> for Bytes {
    fn from(bytes: &[u8]) -> Self {
        Self(bytes.to_vec())
    }
}

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Raw;
        impl Visitor<'_> for Raw {
            type Value = Bytes;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("bytes")
            }

            fn visit_bytes<E: serde::de::Error>(self, bytes: &[u8]) -> Result<Bytes, E> {
                Ok(Bytes(bytes.to_vec()))
            }
        }
        deserializer.deserialize_bytes(Raw)
    }
}

/// One call. Handles are numbers of the agent's; a path is relative to one, or absolute and [`NOWHERE`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Call {
    /// Request for the agent's greeting.
    Greet {
        version: u32,
    },
    Open {
        dir: u64,
        path: Bytes,
        flags: u32,
        mode: u32,
    },
    OpenBeneath {
        dir: u64,
        path: Bytes,
        flags: u32,
    },
    Stat {
        dir: u64,
        path: Bytes,
        own: bool,
    },
    Names {
        dir: u64,
    },
    ReadLink {
        dir: u64,
        path: Bytes,
    },
    MakeDir {
        dir: u64,
        path: Bytes,
        mode: u32,
    },
    MakeLink {
        dir: u64,
        path: Bytes,
        target: Bytes,
    },
    MakeNode {
        dir: u64,
        path: Bytes,
        kind: u8,
        device: (u32, u32),
    },
    Link {
        from: u64,
        old: Bytes,
        to: u64,
        new: Bytes,
    },
    Rename {
        from: u64,
        old: Bytes,
        to: u64,
        new: Bytes,
        how: Moving,
    },
    Unlink {
        dir: u64,
        path: Bytes,
        directory: bool,
    },
    Own {
        dir: u64,
        path: Option<Bytes>,
        uid: u32,
        gid: u32,
    },
    Mode {
        handle: u64,
        mode: u32,
        pinned: bool,
    },
    Modified {
        dir: u64,
        path: Option<Bytes>,
        mtime: (i64, u32),
    },
    Sync {
        handle: u64,
        all: bool,
    },
    /// Dirty pages of a file are written back: 1 when each later store through a mapping moves its ctime, else 0.
    WriteBack {
        handle: u64,
    },
    Magic {
        handle: u64,
    },
    Room {
        handle: u64,
        all: bool,
    },
    Seek {
        handle: u64,
        to: Whence,
    },
    Read {
        handle: u64,
        most: u64,
        at: Option<u64>,
    },
    Write {
        handle: u64,
        bytes: Bytes,
        at: Option<u64>,
    },
    Cut {
        handle: u64,
        length: u64,
    },
    ListAttributes {
        dir: u64,
        name: Option<Bytes>,
    },
    GetAttribute {
        dir: u64,
        name: Option<Bytes>,
        attribute: Bytes,
    },
    SetAttribute {
        dir: u64,
        name: Option<Bytes>,
        attribute: Bytes,
        value: Option<Bytes>,
    },
    Lock {
        handle: u64,
        how: Locking,
    },
    InodeFlags {
        handle: u64,
    },
    SetInodeFlags {
        handle: u64,
        flags: u32,
    },
    MayChange {
        path: Bytes,
    },
    Clock {
        fine: bool,
    },
    /// The path without links and dots.
    Canonical {
        path: Bytes,
    },
    /// A directory's facts, those of everything in it, and its own once more.
    Look {
        dir: u64,
    },
    /// Facts of many names in a directory.
    Facts {
        dir: u64,
        names: Vec<Bytes>,
    },
    /// A directory below another one, through no link and across no mount: a handle, its facts, and what [`Call::Look`] tells.
    LookBelow {
        dir: u64,
        path: Bytes,
    },
    /// Small files of directories below another one, with content, attributes and the facts after they were read.
    LoadBelow {
        dir: u64,
        parts: Vec<(Bytes, Vec<Wanted>)>,
    },
    /// Attributes of what is in a directory and is not read; of a link also its target.
    Objects {
        dir: u64,
        names: Vec<(Bytes, bool)>,
    },
    /// Something that is known above the calls of files.
    Ask {
        question: Bytes,
    },
    /// Last call: no others follow, and a closed pipe may go unnoticed.
    Leave,
}

/// Ways to move a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Moving {
    Over,
    New,
    Exchange,
}

/// Operations on the lock of a file (`flock`), without waiting.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) enum Locking {
    Share,
    Take,
    Drop,
}

/// From where a place in a file is counted.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) enum Whence {
    Start(u64),
    End(i64),
    Current(i64),
    Data(u64),
    Hole(u64),
}

/// The facts of an object.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Facts {
    pub(super) kind: u8,
    pub(super) mode: u32,
    pub(super) owner: (u32, u32),
    pub(super) size: u64,
    pub(super) allocated: u64,
    pub(super) mtime: (i64, u32),
    pub(super) ctime: (i64, u32),
    pub(super) ino: u64,
    pub(super) born: Option<(i64, u32)>,
    pub(super) nlink: u32,
    pub(super) rdev: (u32, u32),
    pub(super) flags: u32,
    pub(super) place: (u64, u64),
}

impl Facts {
    /// Returns true if both show one object in the same state, as far as facts can tell.
    #[cfg(feature = "remote-shell")]
    pub(super) fn is_as(&self, other: &Self) -> bool {
        let of = |facts: &Self| {
            (
                facts.kind,
                facts.mode,
                facts.owner,
                facts.size,
                facts.mtime,
                facts.ctime,
                facts.ino,
            )
        };
        of(self) == of(other)
    }
}

/// Identity of the program that answers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Greeting {
    pub(super) version: u32,
    /// Operating system as `std::env::consts::OS` names it. Error numbers are those of that system.
    pub(super) system: String,
    /// Identity of the machine, or of a container on one, in letters.
    pub(super) machine: String,
    pub(super) uid: u32,
    pub(super) gid: u32,
    pub(super) groups: Vec<u32>,
    pub(super) home: Option<Bytes>,
}

/// Result of one of several calls; an error is the system's number.
pub(super) type Each<T> = Result<T, i32>;

/// A small file to read: its name, size and latest time as they were listed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Wanted {
    pub(crate) name: Bytes,
    pub(crate) size: u64,
    pub(crate) last: (i64, u32),
    pub(crate) write_back: bool,
}

/// A small file that was read.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct LoadedFile {
    pub(super) data: Bytes,
    pub(super) attributes: Vec<(Bytes, Bytes)>,
    pub(super) facts: Facts,
    /// True if the file has no holes.
    pub(super) dense: bool,
    /// True if the file was written back before it was read.
    pub(super) written_back: bool,
}

/// A directory that was listed once.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Seen {
    pub(super) before: Facts,
    pub(super) children: Vec<(Bytes, Each<Facts>)>,
    pub(super) vanished: bool,
    pub(super) after: Facts,
}

/// The target of a link, and attributes.
pub(super) type Told = (Option<Bytes>, Vec<(Bytes, Bytes)>);

/// Answer to a call.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Answer {
    Done,
    Handle(u64),
    Facts(Facts),
    Names(Vec<Bytes>),
    Bytes(Bytes),
    Number(u64),
    Time(i64, u32),
    Greeting(Greeting),
    Looked(Seen),
    Several(Vec<Each<Facts>>),
    LookedBelow {
        handle: u64,
        own: Facts,
        looked: Each<Seen>,
    },
    LoadedBelow(Vec<Each<Vec<Each<LoadedFile>>>>),
    Objects(Vec<Each<Told>>),
    /// The system's number.
    Failed(i32),
    /// Keep-alive: the answer follows.
    AtWork,
}

/// A call, and handles that are not needed any more.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Request {
    pub(super) closed: Vec<u64>,
    pub(super) call: Call,
}
