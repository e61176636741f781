//! Plans for captures that read a snapshot of a mount's file system, and the place of that snapshot. Nothing is created here.

use std::path::{Path, PathBuf};

use super::sensitive_paths::Places;
use super::{NativeTerms, staging_prefix};
use crate::environment::SnapshotPrograms;
use crate::model::{ByteString, Coverage, NativeUse, RelPath};
use crate::process::Freezer;
use handle_fs::remote::{Address, Spot, above};
use handle_fs::{BTRFS_TOP, NativeKind, NodeKind, Stat};

/// Name pattern of snapshots of claims, and of ZFS snapshots after their `@`.
pub(super) const VOLUME_SNAPSHOTS: &str = "jackin-recovery-…";
/// Name suffix of directories that hold file-system snapshots.
pub const FROZEN_SUFFIX: &str = "-frozen";

/// Plan for freezing a mount.
#[derive(Clone, Debug)]
pub struct NativePlan {
    /// Permissions that the operator needs, in the form of `kubectl auth can-i`; empty on this machine.
    pub permissions: Vec<String>,
    /// Path of the mount's root within the source.
    pub inner: RelPath,
    /// Source of the snapshot.
    pub source: NativeSource,
}

/// Source of a file-system snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NativeSource {
    /// A btrfs subvolume.
    Subvolume {
        /// Its top.
        top: PathBuf,
        /// Place for its snapshot.
        place: FrozenPlace,
    },
    /// A ZFS dataset.
    Dataset {
        /// Its name.
        name: String,
        /// Its mount point.
        mountpoint: PathBuf,
    },
    /// A claim in a cluster.
    Claim {
        /// Its address.
        spot: Spot,
        /// Its id.
        uid: String,
        /// The `VolumeSnapshotClass`; `None` if the cluster decides.
        class: Option<String>,
    },
}

/// Place for a snapshot of a subvolume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FrozenPlace {
    /// In the store.
    Store,
    /// In a jackin directory below this one, beside the mount.
    Beside(PathBuf),
}

/// Reason that a mount cannot be frozen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotFrozen {
    /// Kind of its file system; `None` if that makes no snapshots.
    pub kind: Option<NativeKind>,
    /// Reason in words.
    pub why: String,
}

/// Plans how to freeze the mount at `root`. Programs that lie in `mounts` are never started.
///
/// # Errors
/// If the mount cannot be frozen, with the reason.
pub fn plan_native(
    (root, store): (&Path, Option<&Path>),
    programs: &SnapshotPrograms,
    mounts: &[PathBuf],
) -> Result<NativePlan, NotFrozen> {
    if let Some((Address::Claim(spot), inner)) = Address::split(root) {
        return claim(spot, &inner, programs, mounts);
    }
    let kind = handle_fs::open_root(root).ok().and_then(handle_fs::native_kind);
    let not = |why: String| NotFrozen { kind, why };
    let Some(kind) = kind else {
        return Err(not("its file system has none".to_owned()));
    };
    let freezer = Freezer::find(programs, kind, mounts).ok_or_else(|| not(kind.missing()))?;
    // A snapshot lacks the contents of mounts below, and contains the files that they hide.
    let mut below = handle_fs::mounts_below(root);
    if let (NativeKind::Zfs, Ok(below)) = (kind, &mut below) {
        // ZFS shows its snapshots here after the first access.
        below.retain(|path| !path.starts_with(root.join(".zfs")));
    }
    match below {
        Ok(below) if below.is_empty() => {}
        Ok(below) => {
            let first = below.first().map(|path| path.display().to_string());
            return Err(not(format!("{} is mounted in it", first.unwrap_or_default())));
        }
        Err(error) => return Err(not(format!("cannot list the mounts in it: {error}"))),
    }
    let (top, source) = match kind {
        NativeKind::Btrfs => subvolume(root, store).map_err(not)?,
        NativeKind::Zfs => {
            let dataset = freezer.dataset(root).map_err(not)?;
            let mountpoint = dataset.mountpoint;
            let name = dataset.name;
            (mountpoint.clone(), NativeSource::Dataset { name, mountpoint })
        }
        NativeKind::Volume => return Err(not("it is no claim".to_owned())),
    };
    let below = root.strip_prefix(&top).ok();
    let inner =
        below.and_then(|below| RelPath::new(std::os::unix::ffi::OsStrExt::as_bytes(below.as_os_str())).ok());
    let inner = inner.ok_or_else(|| not(format!("it is not in {}", top.display())))?;
    Ok(NativePlan {
        inner,
        source,
        permissions: Vec::new(),
    })
}

/// Plans how to freeze a claim; `inner` is the path in its volume.
fn claim(
    spot: Spot,
    inner: &Path,
    programs: &SnapshotPrograms,
    mounts: &[PathBuf],
) -> Result<NativePlan, NotFrozen> {
    let kind = NativeKind::Volume;
    let not = |why: String| NotFrozen {
        kind: Some(kind),
        why,
    };
    let freezer = Freezer::find(programs, kind, mounts).ok_or_else(|| not(kind.missing()))?;
    let plan = freezer.claims().plan_volume(&spot).map_err(not)?;
    let inner = inner.strip_prefix("/").unwrap_or(inner);
    let inner = RelPath::new(std::os::unix::ffi::OsStrExt::as_bytes(inner.as_os_str()));
    Ok(NativePlan {
        inner: inner.map_err(|error| not(error.to_string()))?,
        source: NativeSource::Claim {
            spot,
            uid: plan.uid,
            class: plan.class,
        },
        permissions: plan.permissions,
    })
}

/// Freezes a coverage if that is possible, and records it there. Returns `None` if its file system makes no snapshots.
///
/// # Errors
/// If freezing is required but impossible, with the reason.
pub(super) fn agree(
    coverage: &mut Coverage,
    required: bool,
    places: &Places,
    mounts: &[PathBuf],
) -> Result<Option<NativeTerms>, String> {
    let (root, store) = (coverage.root.to_path(), places.store());
    let of = |kind: NativeKind| NativeTerms {
        kind: kind.word().to_owned(),
        source: None,
        place: None,
        keeps: required,
        class: None,
        permissions: Vec::new(),
        why_not: None,
    };
    let plan = match plan_native((&root, store), places.snapshot_programs(), mounts) {
        Ok(plan) => plan,
        Err(not) if required => return Err(not.why),
        Err(not) => {
            let why_not = Some(not.why);
            return Ok(not.kind.map(|kind| NativeTerms { why_not, ..of(kind) }));
        }
    };
    if required {
        // A long-lived snapshot must not contain files that the contract promises to leave out.
        if !plan.inner.is_root() {
            let what = match &plan.source {
                NativeSource::Claim { .. } => "the whole claim",
                NativeSource::Subvolume { .. } | NativeSource::Dataset { .. } => "a subvolume of its own",
            };
            return Err(format!(
                "it is not {what}, and the snapshot would also keep its neighbors"
            ));
        }
        if let Some(place) = coverage.withheld.first() {
            let place = place.path.on_host(&root);
            return Err(format!(
                "{} is skipped, and the snapshot would keep it",
                place.display()
            ));
        }
    }
    coverage.native = Some(if required {
        NativeUse::Itself
    } else {
        NativeUse::Source
    });
    let bytes = |path: &Path| Some(ByteString::from(path));
    Ok(Some(match &plan.source {
        NativeSource::Subvolume { top, place } => NativeTerms {
            source: bytes(top),
            place: match place {
                FrozenPlace::Store => store.and_then(|store| bytes(&store.join("native"))),
                FrozenPlace::Beside(parent) => bytes(&parent.join(frozen_name(&root, "…"))),
            },
            ..of(NativeKind::Btrfs)
        },
        NativeSource::Dataset { mountpoint, .. } => NativeTerms {
            source: bytes(mountpoint),
            place: bytes(&mountpoint.join(".zfs/snapshot")),
            ..of(NativeKind::Zfs)
        },
        NativeSource::Claim { spot, class, .. } => NativeTerms {
            source: bytes(&Address::Claim(spot.clone()).with(Path::new("/"))),
            place: bytes(&Address::Claim(spot.as_of(VOLUME_SNAPSHOTS)).with(Path::new("/"))),
            class: class.clone(),
            permissions: plan.permissions.clone(),
            ..of(NativeKind::Volume)
        },
    }))
}

/// Returns the subvolume that `root` lies in, and a place for its snapshot.
fn subvolume(root: &Path, store: Option<&Path>) -> Result<(PathBuf, NativeSource), String> {
    let facts = |path: &Path| handle_fs::stat_path(path).ok().flatten();
    let own = facts(root).ok_or("it cannot be read")?;
    let is_top =
        |path: &&Path| facts(path).is_some_and(|stat| stat.ino == BTRFS_TOP && stat.place == own.place);
    let inside = |path: &&Path| facts(path).is_some_and(|stat| stat.place == own.place);
    let top = root.ancestors().take_while(inside).find(is_top);
    let top = top.ok_or("it is a part of a subvolume that is mounted separately")?;
    let owner = facts(top).map(|stat| stat.uid);
    let own_uid = handle_fs::own_ids().0;
    if own_uid != 0 && owner != Some(own_uid) {
        return Err(format!("the subvolume {} is another user's", top.display()));
    }
    // Without the right to remove a snapshot, jackin makes none.
    if own_uid != 0 && !handle_fs::has_mount_option(top, "user_subvol_rm_allowed") {
        return Err(
            "only root can remove a snapshot there; the mount option user_subvol_rm_allowed lets its owner"
                .to_owned(),
        );
    }
    let fits = |directory: &Path| {
        let same =
            |stat: Stat| stat.kind == NodeKind::Directory && own.place.1 != 0 && stat.place.1 == own.place.1;
        facts(directory).is_some_and(same) && handle_fs::may_write(directory)
    };
    // Other users with write access there could replace the snapshot's directory.
    let is_ours = |directory: &Path| {
        facts(directory).is_some_and(|stat| {
            let others = if own_uid == 0 { 0o022 } else { 0o002 };
            [0, own_uid].contains(&stat.uid) && stat.mode & others == 0
        })
    };
    // The store may not exist yet.
    let store = store.and_then(|store| store.ancestors().find(|path| facts(path).is_some()));
    let place = match (store, above(root)) {
        (Some(store), _) if fits(store) => FrozenPlace::Store,
        (_, Some(parent)) if fits(parent) && is_ours(parent) => FrozenPlace::Beside(parent.to_path_buf()),
        _ => {
            return Err(
                "its file system has neither the store nor a directory that only you can write".to_owned(),
            );
        }
    };
    let top = top.to_path_buf();
    Ok((top.clone(), NativeSource::Subvolume { top, place }))
}

/// Returns the name of the directory beside a mount that holds file-system snapshots; `letters` belong to the capture.
#[must_use]
pub fn frozen_name(root: &Path, letters: &str) -> String {
    format!("{}{letters}{FROZEN_SUFFIX}", staging_prefix(root))
}
