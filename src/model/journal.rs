//! Files that a restore writes before it acts: the intent, the journal of its moves, the decision. After a crash, recovery
//! completes the restore or rolls it back from them. `docs/format.md` has their form.

use serde::{Deserialize, Serialize};

use super::{
    AsideStep, ByteString, Coverage, Digest, Identity, InodeFlags, InstanceId, PathAct, Recorded, RelPath,
    RestoreId, RestoreKind, SnapshotId, StagePlace, Stamp, StepRef, Time,
};

/// A confirmed restore. The intent is on disk before anything else of the restore.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intent {
    /// The restore; its directory in the store has the same name.
    pub id: RestoreId,
    /// Time of the confirmation.
    pub at: Time,
    /// Numeric user that confirmed it.
    pub uid: u32,
    /// Session that is restored.
    pub instance: InstanceId,
    /// Command that changes the files.
    pub kind: RestoreKind,
    /// For an undo: the number of the receipt that it reverts.
    pub undoes: Option<u64>,
    /// The only step whose changes are reverted, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only_changes_of: Option<StepRef>,
    /// True if the session itself asked for it, from within.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub inside: bool,
    /// The snapshot whose state comes back.
    pub target: SnapshotId,
    /// True if later edits are replaced.
    pub overwrite_later: bool,
    /// True if later files are removed.
    pub delete_later: bool,
    /// True if git's own files are skipped.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub files_only: bool,
    /// True if the operator's key was given, so that encrypted files are restored as well.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unlocked: bool,
    /// BLAKE3 of the plan that was confirmed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Digest>,
    /// True if recorded modification times are restored.
    pub exact_mtimes: bool,
    /// The mounts.
    pub mounts: Vec<IntentMount>,
}

/// The part of a confirmed restore that concerns one mount.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IntentMount {
    /// Coverage, as frozen in the target snapshot.
    pub coverage: Coverage,
    /// Paths that the restore may touch.
    pub scope: IntentScope,
    /// Staging directory for new content; `None` if there is nothing to do here.
    pub stage: Option<StagePlace>,
    /// Number of paths that stay as they are because of later edits.
    pub conflicts: u64,
    /// Number of paths that stay for another reason: they could not be examined, or could not be merged.
    #[serde(default)]
    pub hidden: u64,
    /// Objects whose flags prevent changes. The flags are cleared before the moves, and set again by a rollback.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bound: Vec<BoundObject>,
    /// Excluded directories that are set aside or brought back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aside: Vec<AsideStep>,
    /// Files whose content the restore composes. An intent with any has format version 2.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub composed: Vec<ComposedFile>,
    /// Modification time of the mount root, when the staging directory lies in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root_mtime: Option<Stamp>,
}

/// A file that gets a content which no snapshot has: parts of the target's, parts of the live one's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ComposedFile {
    /// Below the mount root.
    pub path: RelPath,
    /// State of the file after the restore.
    pub entry: Recorded,
    /// Digest of the live content that it was composed from.
    pub over: Digest,
    /// Origin of the content.
    pub by: Composition,
    /// True if the operator typed a part of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub typed: bool,
    /// The content: a restore that had not begun to move anything can be planned again with it.
    pub content: ByteString,
}

/// Origin of a composed content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Composition {
    /// A three-way merge that keeps later edits.
    Merge {
        /// Number of places with conflict markers.
        marked: u32,
    },
    /// Hunks that the operator chose.
    Hunks {
        /// Number of chosen hunks.
        chosen: u32,
        /// Number of all hunks of the file.
        all: u32,
        /// Number of the chosen hunks that come back in part, or as the operator edited them.
        #[serde(default, skip_serializing_if = "is_zero")]
        partial: u32,
    },
}

fn is_zero(count: &u32) -> bool {
    *count == 0
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

/// Paths that a restore may touch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IntentScope {
    /// Everything.
    All,
    /// Listed paths and everything below them.
    Below(Vec<RelPath>),
    /// Exactly the listed paths.
    Exactly(Vec<RelPath>),
}

/// Every move of a restore, on disk after everything new is staged durably, and before the first one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Journal {
    /// The snapshot of what was there before.
    pub emergency: SnapshotId,
    /// The mounts that have anything to do.
    pub mounts: Vec<JournalMount>,
}

/// A [`Journal`] with borrowed parts, for writing.
#[derive(Debug, Serialize)]
pub struct JournalParts<'a> {
    /// See [`Journal::emergency`].
    pub emergency: &'a SnapshotId,
    /// See [`Journal::mounts`].
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
    /// Steps of the plan, path by path.
    pub steps: Vec<JournalStep>,
    /// Moves that perform the steps. A step below a path that is moved needs no move of its own.
    pub moves: Vec<JournalMove>,
    /// The directories whose entries change, as they were.
    pub parents: Vec<JournalParent>,
    /// Objects that may be removed from the staging directory in the end: everything staged, and everything moved there that the
    /// emergency snapshot holds.
    pub known: Vec<KnownObject>,
}

/// One step of the plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalStep {
    /// Below the mount root.
    pub path: RelPath,
    /// Change to the path.
    pub act: PathAct,
    /// True if the operator chose to replace or remove a later edit.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub overrode: bool,
}

/// One move.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalMove {
    /// Below the mount root.
    pub path: RelPath,
    /// Kind of the move.
    #[serde(rename = "move")]
    pub deed: MoveKind,
    /// Object at the path before the move; `None` if there is none.
    pub old: Option<Identity>,
    /// Object that is staged for the path; `None` if there is none.
    pub new: Option<Identity>,
    /// The mode of `old`, when that is a directory that is moved: it may have to be opened for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_mode: Option<u32>,
    /// The same for `new`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_mode: Option<u32>,
}

/// Kind of a journaled move. Places are names in the staging directory; directories that stay are named as a whole.
///
/// The names on disk are those of format version 1.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MoveKind {
    /// Move of a staged object to a path where nothing exists.
    #[serde(rename = "in")]
    Install(ByteString),
    /// Exchange of a staged object with the object at the path.
    #[serde(rename = "swap")]
    Exchange(ByteString),
    /// Move of the object at the path into the staging directory.
    #[serde(rename = "out")]
    StageOut(ByteString),
    /// Removal of the directory at the path, which is empty by then; a rollback creates it again.
    #[serde(rename = "unmake")]
    RemoveDir(Recorded),
    /// Change of mode, owner and attributes in place.
    Metadata {
        /// Metadata before the change.
        was: Recorded,
        /// Metadata after the change.
        will: Recorded,
    },
    /// Move of the object at the path, as a whole, into a holding directory that stays.
    #[serde(rename = "away")]
    SetAside(StagePlace),
    /// Move of the object in a holding directory to a path where nothing exists.
    #[serde(rename = "back")]
    PutBack(StagePlace),
    /// Exchange of the object in a holding directory with the object at the path.
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

/// Outcome of a restore. Once it is on disk, it is final.
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
