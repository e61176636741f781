//! What a restore writes down before it acts, so that whoever comes after a crash can finish it or take it back: the intent,
//! the journal of its moves, the decision. `docs/format.md` has their form.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use super::codec::Reader;
use super::{
    AsideStep, ByteString, Coverage, Digest, Entry, InodeFlags, InstanceId, PathAct, RelPath, RestoreId,
    RestoreKind, SnapshotId, StepRef, Time,
};

/// What was confirmed. It is on disk before anything of the restore is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intent {
    /// The restore; its directory in the store has the same name.
    pub id: RestoreId,
    /// When.
    pub at: Time,
    /// Numeric user that confirmed it.
    pub uid: u32,
    /// Whose session is taken back.
    pub instance: InstanceId,
    /// Which command.
    pub kind: RestoreKind,
    /// For an undo: the number of the receipt that it takes back.
    pub undoes: Option<u64>,
    /// Only this step is taken back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only_changes_of: Option<StepRef>,
    /// The session itself asked for it, from within.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub inside: bool,
    /// The snapshot whose state comes back.
    pub target: SnapshotId,
    /// Later edits are replaced.
    pub overwrite_later: bool,
    /// Later files are removed.
    pub delete_later: bool,
    /// What is git's own is left out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub files_only: bool,
    /// The operator's key was given, so what is encrypted comes back as well.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unlocked: bool,
    /// BLAKE3 of the plan that was confirmed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Digest>,
    /// Recorded modification times come back.
    pub exact_mtimes: bool,
    /// The mounts.
    pub mounts: Vec<IntentMount>,
}

/// What was confirmed for one mount.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IntentMount {
    /// As the target snapshot froze it.
    pub coverage: Coverage,
    /// Which paths.
    pub scope: IntentScope,
    /// Where new content is staged; none when nothing is to be done here.
    pub stage: Option<StagePlace>,
    /// Paths that stay as they are because of later work.
    pub conflicts: u64,
    /// Paths that stay for another reason: they could not be looked at, or not be put together.
    #[serde(default)]
    pub hidden: u64,
    /// Objects whose flags are in the way: they are taken off before the moves, and put back when the restore is taken back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bound: Vec<BoundObject>,
    /// Excluded directories that go aside or come back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aside: Vec<AsideStep>,
    /// Modification time of the mount root, when the staging directory lies in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root_mtime: Option<Stamp>,
}

/// An object that is immutable or append-only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoundObject {
    /// Below the mount root.
    pub path: RelPath,
    /// Its inode.
    pub ino: u64,
    /// Its flags.
    #[serde(with = "flag_bits")]
    pub flags: InodeFlags,
}

/// Flags as a number.
mod flag_bits {
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serializer};

    use crate::model::InodeFlags;

    pub(super) fn serialize<S: Serializer>(flags: &InodeFlags, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(flags.bits())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<InodeFlags, D::Error> {
        let bits = u32::deserialize(deserializer)?;
        InodeFlags::from_bits(bits).ok_or_else(|| D::Error::custom("unknown flags"))
    }
}

/// Which paths a restore may touch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IntentScope {
    /// Everything.
    All,
    /// These and what lies below them.
    Below(Vec<RelPath>),
    /// Exactly these.
    Exactly(Vec<RelPath>),
}

/// A staging directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StagePlace {
    /// The directory that it lies in, on the host.
    pub directory: ByteString,
    /// Its name there, with random letters.
    pub name: String,
    /// It lies in the mount root itself.
    pub inside: bool,
}

impl StagePlace {
    /// Its host path.
    #[must_use]
    pub fn path(&self) -> std::path::PathBuf {
        self.directory.to_path().join(&self.name)
    }
}

/// Every move of a restore, on disk after everything new is staged durably, and before the first one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Journal {
    /// The snapshot of what was there before.
    pub emergency: SnapshotId,
    /// The mounts that have anything to do.
    pub mounts: Vec<JournalMount>,
}

/// A journal that is written, of parts that somebody else holds.
#[derive(Debug, Serialize)]
pub struct JournalParts<'a> {
    /// As in [`Journal`].
    pub emergency: &'a SnapshotId,
    /// As in [`Journal`].
    pub mounts: Vec<&'a JournalMount>,
}

/// The moves of one mount.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalMount {
    /// Label of its coverage.
    pub label: String,
    /// The root; none when it did not exist and comes back as a whole.
    pub root: Option<Identity>,
    /// The staging directory.
    pub stage: Identity,
    /// What the plan said, path by path.
    pub steps: Vec<JournalStep>,
    /// What is done for it. A step below a path that is moved needs no move of its own.
    pub moves: Vec<JournalMove>,
    /// The directories whose entries change, as they were.
    pub parents: Vec<JournalParent>,
    /// What may be removed from the staging directory in the end: everything staged, and what the emergency snapshot holds of
    /// what goes there.
    pub known: Vec<KnownObject>,
}

/// One step of the plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalStep {
    /// Below the mount root.
    pub path: RelPath,
    /// What is done.
    pub act: PathAct,
    /// A later edit is replaced or removed because the operator said so.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub overrode: bool,
}

/// One move.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalMove {
    /// Below the mount root.
    pub path: RelPath,
    /// What is done.
    #[serde(rename = "move")]
    pub deed: MoveKind,
    /// What is at the path before; none when nothing is.
    pub old: Option<Identity>,
    /// What is staged for it.
    pub new: Option<Identity>,
    /// The mode of `old`, when that is a directory that is moved: it may have to be opened for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_mode: Option<u32>,
    /// The same of `new`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_mode: Option<u32>,
}

/// Kind of a journaled move. Places are names in the staging directory; directories that stay are named as a whole.
///
/// The names on disk are those of format version 1.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MoveKind {
    /// A staged object goes to a path where nothing is.
    #[serde(rename = "in")]
    Install(ByteString),
    /// A staged object changes places with what is at the path.
    #[serde(rename = "swap")]
    Exchange(ByteString),
    /// What is at the path goes into the staging directory.
    #[serde(rename = "out")]
    StageOut(ByteString),
    /// The directory at the path, which is empty by then, is removed; taking back makes it anew.
    #[serde(rename = "unmake")]
    RemoveDir(Recorded),
    /// Mode, owner and attributes are put back in place.
    Metadata {
        /// What they are before.
        was: Recorded,
        /// What they become.
        will: Recorded,
    },
    /// What is at the path goes, whole, into a directory of its own that stays.
    #[serde(rename = "away")]
    SetAside(StagePlace),
    /// What lies in such a directory goes to a path where nothing is.
    #[serde(rename = "back")]
    PutBack(StagePlace),
    /// What lies in such a directory changes places with what is at the path.
    #[serde(rename = "exchange")]
    SwapAside(StagePlace),
}

/// A directory whose entries change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalParent {
    /// Below the mount root.
    pub path: RelPath,
    /// Its mode before.
    pub mode: u32,
    /// Its modification time before.
    pub mtime: Stamp,
}

/// What tells an object from every other one: its inode, and when it was made, where the file system keeps that. Never a
/// device number, which changes with every mount.
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

/// An object that may be removed from the staging directory, in the state that is known of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownObject(pub u64, pub KnownState);

/// The state of a known object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum KnownState {
    /// A regular file of this size, last changed then.
    #[serde(rename = "f")]
    File(u64, Stamp),
    /// A directory.
    #[serde(rename = "d")]
    Directory,
    /// Anything else, last changed then.
    #[serde(rename = "o")]
    Other(Stamp),
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

/// How a restore ends. Once it is on disk nothing else can become of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// The new tree stays.
    Commit,
    /// The old tree is back.
    Abort,
    /// Everything stays as it is, whatever that is, and nothing is cleared up.
    Left,
}

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
