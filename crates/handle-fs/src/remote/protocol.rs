//! Calls to an agent on another machine, and its answers: the calls of `kernel.rs`, and a few that combine many of them where
//! each would wait for the connection. A crate that reaches a machine in another way answers the same calls (`Answerer`).

#![expect(
    missing_docs,
    reason = "fields are arguments and results of the system call that the summary describes"
)]

use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Version of what is said; both sides must have the same.
pub const VERSION: u32 = 5;
/// The directory that absolute paths begin at.
pub const NOWHERE: u64 = 0;

/// Bytes: a name, a path, content.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Bytes(pub Vec<u8>);

impl Bytes {
    /// Returns the bytes as a path.
    #[must_use]
    pub fn path(&self) -> &Path {
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
pub enum Call {
    /// Request for the agent's greeting.
    Greet { version: u32 },
    /// Opens a path (`openat`).
    Open {
        dir: u64,
        path: Bytes,
        flags: u32,
        mode: u32,
    },
    /// Opens a path below a directory, through no link and across no mount (`openat2`).
    OpenBeneath { dir: u64, path: Bytes, flags: u32 },
    /// Facts of a path; of the handle itself if `own` is true.
    Stat { dir: u64, path: Bytes, own: bool },
    /// Names in a directory.
    Names { dir: u64 },
    /// Target of a link.
    ReadLink { dir: u64, path: Bytes },
    /// Makes a directory.
    MakeDir { dir: u64, path: Bytes, mode: u32 },
    /// Makes a symbolic link.
    MakeLink { dir: u64, path: Bytes, target: Bytes },
    /// Makes a pipe, socket or device.
    MakeNode {
        dir: u64,
        path: Bytes,
        kind: u8,
        device: (u32, u32),
    },
    /// Makes a second name of a file.
    Link {
        from: u64,
        old: Bytes,
        to: u64,
        new: Bytes,
    },
    /// Moves a name.
    Rename {
        from: u64,
        old: Bytes,
        to: u64,
        new: Bytes,
        how: Moving,
    },
    /// Removes a name; that of a directory if `directory` is true.
    Unlink { dir: u64, path: Bytes, directory: bool },
    /// Sets owner and group; of the handle itself without a path.
    Own {
        dir: u64,
        path: Option<Bytes>,
        uid: u32,
        gid: u32,
    },
    /// Sets the mode of a handle. `pinned`: the handle was opened for its place alone (`O_PATH`).
    Mode { handle: u64, mode: u32, pinned: bool },
    /// Sets the modification time; of the handle itself without a path.
    Modified {
        dir: u64,
        path: Option<Bytes>,
        mtime: (i64, u32),
    },
    /// Makes an object durable; its whole file system if `all` is true.
    Sync { handle: u64, all: bool },
    /// Dirty pages of a file are written back: 1 when each later store through a mapping moves its ctime, else 0.
    WriteBack { handle: u64 },
    /// Number of the type of a file system.
    Magic { handle: u64 },
    /// Free bytes of a file system; all bytes if `all` is true.
    Room { handle: u64, all: bool },
    /// Place in a file.
    Seek { handle: u64, to: Whence },
    /// Reads at most so many bytes, from a place or from where the last read ended.
    Read { handle: u64, most: u64, at: Option<u64> },
    /// Writes bytes, at a place or where the last write ended.
    Write {
        handle: u64,
        bytes: Bytes,
        at: Option<u64>,
    },
    /// Sets the length of a file.
    Cut { handle: u64, length: u64 },
    /// Names of extended attributes; of the handle itself without a name.
    ListAttributes { dir: u64, name: Option<Bytes> },
    /// Value of an extended attribute.
    GetAttribute {
        dir: u64,
        name: Option<Bytes>,
        attribute: Bytes,
    },
    /// Sets an extended attribute; without a value it is removed.
    SetAttribute {
        dir: u64,
        name: Option<Bytes>,
        attribute: Bytes,
        value: Option<Bytes>,
    },
    /// Takes or drops a lock.
    Lock { handle: u64, how: Locking },
    /// Flags of `chattr`.
    InodeFlags { handle: u64 },
    /// Sets flags of `chattr`.
    SetInodeFlags { handle: u64, flags: u32 },
    /// Asks if the user there may change a directory.
    MayChange { path: Bytes },
    /// Time of the machine; exact if `fine` is true, else as files get it.
    Clock { fine: bool },
    /// The path without links and dots.
    Canonical { path: Bytes },
    /// A directory's facts, those of everything in it, and its own once more.
    Look { dir: u64 },
    /// Facts of many names in a directory.
    Facts { dir: u64, names: Vec<Bytes> },
    /// A directory below another one, through no link and across no mount: a handle, its facts, and what [`Call::Look`] tells.
    LookBelow { dir: u64, path: Bytes },
    /// Small files of directories below another one, with content, attributes and the facts after they were read.
    LoadBelow {
        dir: u64,
        parts: Vec<(Bytes, Vec<Wanted>)>,
    },
    /// Attributes of what is in a directory and is not read; of a link also its target.
    Objects { dir: u64, names: Vec<(Bytes, bool)> },
    /// Something that is known above the calls of files.
    Ask { question: Bytes },
    /// Last call: no others follow, and a closed pipe may go unnoticed.
    Leave,
    /// Facts of names in directories below another one, and with `load` the content of small files among them, from which calls are
    /// answered that come soon after. An agent answers with [`Answer::Surveyed`], a shell with a handle: it keeps what it saw as long
    /// as the handle is open and nothing is changed.
    Survey {
        dir: u64,
        parts: Vec<(Bytes, Vec<Bytes>)>,
        load: bool,
    },
    /// Moves names, in order, up to the first that fails.
    RenameMany { moves: Vec<NewName> },
    /// Removes names of files in a directory, or an unknown part of them if one fails.
    UnlinkMany { dir: u64, names: Vec<Bytes> },
    /// Makes small files. One that fails by itself is not there afterwards; after any other failure an unknown part of them is.
    MakeFiles { dir: u64, files: Vec<NewFile> },
}

impl Call {
    /// Returns true if what was seen before may be outdated after the call: it changes something, or tells a time that is compared
    /// with what is seen after it.
    pub(super) fn ends_views(&self) -> bool {
        /// Flags to write and to create, as they are sent.
        const CHANGES: u32 = 1 | 1 << 1 | 1 << 2;
        match self {
            Self::Open { flags, .. } | Self::OpenBeneath { flags, .. } => flags & CHANGES != 0,
            Self::Greet { .. }
            | Self::Stat { .. }
            | Self::Names { .. }
            | Self::ReadLink { .. }
            | Self::Magic { .. }
            | Self::Room { .. }
            | Self::Seek { .. }
            | Self::Read { .. }
            | Self::ListAttributes { .. }
            | Self::GetAttribute { .. }
            | Self::InodeFlags { .. }
            | Self::MayChange { .. }
            | Self::Canonical { .. }
            | Self::Look { .. }
            | Self::Facts { .. }
            | Self::LookBelow { .. }
            | Self::LoadBelow { .. }
            | Self::Objects { .. }
            | Self::Ask { .. }
            | Self::Survey { .. } => false,
            Self::MakeDir { .. }
            | Self::MakeLink { .. }
            | Self::MakeNode { .. }
            | Self::Link { .. }
            | Self::Rename { .. }
            | Self::Unlink { .. }
            | Self::Own { .. }
            | Self::Mode { .. }
            | Self::Modified { .. }
            | Self::Sync { .. }
            | Self::WriteBack { .. }
            | Self::Write { .. }
            | Self::Cut { .. }
            | Self::SetAttribute { .. }
            | Self::Lock { .. }
            | Self::SetInodeFlags { .. }
            | Self::Clock { .. }
            | Self::Leave
            | Self::RenameMany { .. }
            | Self::UnlinkMany { .. }
            | Self::MakeFiles { .. } => true,
        }
    }
}

/// A name that gets another name, maybe in another directory.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NewName {
    pub from: u64,
    pub old: Bytes,
    pub to: u64,
    pub new: Bytes,
    pub how: Moving,
}

/// A small file to make.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NewFile {
    pub name: Bytes,
    pub data: Bytes,
    pub mode: u32,
    pub owner: (u32, u32),
    pub mtime: (i64, u32),
}

/// Ways to move a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Moving {
    /// Replaces what has the name.
    Over,
    /// Fails if the name exists.
    New,
    /// Exchanges the two names.
    Exchange,
}

/// Operations on the lock of a file (`flock`), without waiting.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum Locking {
    /// Takes a lock that others may share.
    Share,
    /// Takes a lock for one.
    Take,
    /// Gives a lock back.
    Drop,
}

/// From where a place in a file is counted.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum Whence {
    /// From the beginning.
    Start(u64),
    /// From the end.
    End(i64),
    /// From the current place.
    Current(i64),
    /// The next data from a place on.
    Data(u64),
    /// The next hole from a place on.
    Hole(u64),
}

/// The facts of an object.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Facts {
    pub kind: u8,
    pub mode: u32,
    pub owner: (u32, u32),
    pub size: u64,
    pub allocated: u64,
    pub mtime: (i64, u32),
    pub ctime: (i64, u32),
    pub ino: u64,
    pub born: Option<(i64, u32)>,
    pub nlink: u32,
    pub rdev: (u32, u32),
    pub flags: u32,
    pub place: (u64, u64),
}

impl Facts {
    /// Returns true if both show one object in the same state, as far as facts can tell.
    #[must_use]
    pub fn is_as(&self, other: &Self) -> bool {
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
pub struct Greeting {
    pub version: u32,
    /// Operating system as `std::env::consts::OS` names it. Error numbers are those of Linux on every system.
    pub system: String,
    /// Identity of the machine, or of a container on one, in letters.
    pub machine: String,
    pub uid: u32,
    pub gid: u32,
    pub groups: Vec<u32>,
    pub home: Option<Bytes>,
}

/// Result of one of several calls; an error is its number on Linux.
pub type Each<T> = Result<T, i32>;

/// A small file to read: its name, size and latest time as they were listed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Wanted {
    pub name: Bytes,
    pub size: u64,
    pub last: (i64, u32),
    pub write_back: bool,
}

/// A small file that was read.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LoadedFile {
    pub data: Bytes,
    pub attributes: Vec<(Bytes, Bytes)>,
    pub facts: Facts,
    /// True if the file has no holes.
    pub dense: bool,
    /// True if the file was written back before it was read.
    pub written_back: bool,
}

/// A directory that was listed once.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Seen {
    pub before: Facts,
    pub children: Vec<(Bytes, Each<Facts>)>,
    pub vanished: bool,
    pub after: Facts,
}

/// A directory that was looked at with some names in it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Surveyed {
    /// A handle on the directory.
    pub handle: u64,
    pub own: Facts,
    /// Number of the type of its file system.
    pub magic: Each<u64>,
    pub names: Vec<Each<Facts>>,
    /// Of each name the file, if it was read and held still. It has no attributes that are not named here.
    pub files: Vec<Option<LoadedFile>>,
}

/// The target of a link, and attributes.
pub type Told = (Option<Bytes>, Vec<(Bytes, Bytes)>);

/// Answer to a call.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Answer {
    /// The call was made.
    Done,
    /// A new handle.
    Handle(u64),
    /// Facts of one object.
    Facts(Facts),
    /// Names in a directory.
    Names(Vec<Bytes>),
    /// Content, a target or a path.
    Bytes(Bytes),
    /// A number.
    Number(u64),
    /// A time: seconds and nanoseconds.
    Time(i64, u32),
    /// Identity of the program that answers.
    Greeting(Greeting),
    /// A listed directory.
    Looked(Seen),
    /// Facts of each name.
    Several(Vec<Each<Facts>>),
    /// A handle on a directory below, with its facts and what was listed.
    LookedBelow {
        handle: u64,
        own: Facts,
        looked: Each<Seen>,
    },
    /// The files of each directory.
    LoadedBelow(Vec<Each<Vec<Each<LoadedFile>>>>),
    /// Links and attributes of each name.
    Objects(Vec<Each<Told>>),
    /// The error's number on Linux.
    Failed(i32),
    /// Keep-alive: the answer follows.
    AtWork,
    /// Number of the calls that were made, and the error of the one after them.
    Made { count: u64, error: Option<i32> },
    /// Each directory with the names in it.
    Surveyed(Vec<Each<Surveyed>>),
}

/// A call, and handles that are not needed any more.
#[derive(Debug, Serialize, Deserialize)]
pub struct Request {
    pub closed: Vec<u64>,
    pub call: Call,
}
