//! Snapshots of the file system itself: their places, and the notes that are written before they are made.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{ByteString, Coverage, InstanceId, RelPath, SnapshotId, SnapshotKind, Time};

/// One snapshot of a file system, and how it is reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum NativePlace {
    /// A read-only snapshot of a btrfs subvolume.
    Btrfs {
        /// The subvolume.
        subvolume: ByteString,
        /// Path of the snapshot.
        at: ByteString,
    },
    /// A snapshot of a ZFS dataset.
    Zfs {
        /// `DATASET@NAME`.
        snapshot: String,
        /// Mount point of the dataset.
        mountpoint: ByteString,
    },
    /// A `VolumeSnapshot` of a claim in a cluster.
    Volume {
        /// The address of the claim.
        claim: String,
        /// The id of the claim: another cluster may have one of the same name.
        uid: String,
        /// The name of the snapshot, in the namespace of the claim.
        snapshot: String,
        /// Its `VolumeSnapshotClass`; `None` if the cluster decided.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        class: Option<String>,
    },
}

impl NativePlace {
    /// Returns the directory in which its content is visible.
    #[must_use]
    pub fn directory(&self) -> PathBuf {
        match self {
            Self::Btrfs { at, .. } => at.to_path(),
            Self::Zfs { snapshot, mountpoint } => {
                let name = snapshot.split_once('@').map_or("", |(_, name)| name);
                mountpoint.to_path().join(".zfs/snapshot").join(name)
            }
            // A claim that is written down ends with a `:`.
            Self::Volume { claim, snapshot, .. } => PathBuf::from(format!("{claim}{snapshot}")),
        }
    }
}

/// A snapshot of a file system that is kept, because it has the contents of a mount.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NativeRef {
    /// Place of the snapshot.
    pub place: NativePlace,
    /// Path of the mount's root within the snapshot.
    pub inner: RelPath,
    /// Id that the file system gave it; `None` if it reports none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uuid: Option<String>,
}

/// A mount of a capture that reads such a snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrozenMount {
    /// Coverage that is captured.
    pub coverage: Coverage,
    /// The number of its snapshot.
    pub native: usize,
    /// Path of the mount's root within the snapshot.
    pub inner: RelPath,
    /// True if a file system is mounted at the root itself.
    pub mounted: bool,
    /// A moment before it was frozen, by the clock of the machine that it lies on, when that is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,
    /// The finest time of that machine before it was frozen. A file with a later change was changed while it was being frozen.
    /// `None` if times are known in whole seconds only, and in files of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frozen_from: Option<Time>,
}

/// Note that is written before file-system snapshots are made for a capture. After a crash it lists all that the process may have
/// left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FsSnapshotIntent {
    /// The directory of the store that it was written in: what a copy of that finds in it is not the copy's.
    pub store: ByteString,
    /// The snapshot that is to become of it.
    pub id: SnapshotId,
    /// Its session.
    pub instance: InstanceId,
    /// Its workspace, when it has one.
    pub workspace: Option<String>,
    /// Kind of the snapshot.
    pub kind: SnapshotKind,
    /// Time of the snapshot.
    pub taken_at: Time,
    /// A moment before it, by the clock that stamps files.
    pub started_at: Time,
    /// Numeric user that acted.
    pub uid: u32,
    /// The most entries that it may have.
    pub max_entries: u64,
    /// The most bytes.
    pub max_bytes: u64,
    /// The snapshots of file systems.
    pub natives: Vec<NativePlace>,
    /// A directory outside the store that was made for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub directories: Vec<ByteString>,
    /// The mounts that read one.
    pub mounts: Vec<FrozenMount>,
    /// All mounts of the capture read one, so that it can still be taken later.
    pub whole: bool,
}

impl FsSnapshotIntent {
    /// Returns true if it may take long until all of it can be read, because a cluster copies some of it.
    #[must_use]
    pub fn is_slow(&self) -> bool {
        self.natives
            .iter()
            .any(|native| matches!(native, NativePlace::Volume { .. }))
    }
}
