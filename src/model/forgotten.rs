//! Paths that the operator deleted from snapshots with `forget`: how a manifest and a record look without them, and the facts
//! that the receipt keeps.

use std::collections::HashMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    ArchiveRef, Digest, Gap, GapReason, InstanceId, Manifest, MountRecord, Name, RecordedGap, RelPath,
    SnapshotId, SnapshotRecord, WithheldPath, WithheldReason,
};

/// A record lists so many gaps of a mount; the manifest has them all.
const NAMED: usize = 100;

/// A content that was deleted, by its digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct ForgottenContent {
    /// Its digest.
    pub digest: Digest,
    /// Its size in bytes.
    pub size: u64,
}

/// A snapshot that lost paths, with the parts of its record that this changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AmendedSnapshot {
    /// Its id.
    pub snapshot: SnapshotId,
    /// The session that it belongs to.
    pub instance: InstanceId,
    /// The mounts that lost paths.
    pub mounts: Vec<AmendedMount>,
    /// True if everything inside the coverage is held.
    pub complete: bool,
    /// Entries over all mounts.
    pub entries: u64,
    /// Bytes over all mounts.
    pub bytes: u64,
}

/// A mount of such a snapshot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AmendedMount {
    /// Label of its coverage.
    pub mount: String,
    /// The forgotten paths, below the mount root.
    pub paths: Vec<RelPath>,
    /// Its manifest since then; none if it had none of these paths.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manifest: Option<AmendedManifest>,
}

/// A manifest that takes the place of the recorded one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AmendedManifest {
    /// Digest of the manifest list.
    pub digest: Digest,
    /// Entries below the root.
    pub entries: u64,
    /// Sum of file sizes in bytes, hard links once.
    pub bytes: u64,
    /// Number of gaps.
    pub gap_count: u64,
    /// Those of the forgotten paths that it had.
    pub gaps: Vec<RelPath>,
}

impl AmendedSnapshot {
    /// Changes the record to what it says since the paths were forgotten. May be repeated.
    pub fn apply(&self, record: &mut SnapshotRecord) {
        for amended in &self.mounts {
            let mut mounts = record.mounts.iter_mut();
            if let Some(mount) = mounts.find(|mount| mount.coverage.label == amended.mount) {
                amended.apply(mount);
            }
        }
        record.complete = self.complete;
        record.format = SnapshotRecord::form_of(&record.mounts);
    }
}

impl AmendedMount {
    fn apply(&self, mount: &mut MountRecord) {
        for path in &self.paths {
            let forgotten = WithheldPath {
                path: path.clone(),
                reason: WithheldReason::Forgotten,
            };
            if !mount.coverage.withheld.contains(&forgotten) {
                mount.coverage.withheld.push(forgotten);
            }
        }
        let stays = |path: &RelPath| !self.covers(path);
        mount.withheld.retain(|fact| stays(&fact.path));
        // A bundle goes with the last file that needs it.
        if mount.encrypted().next().is_none() {
            mount.sealed = None;
        }
        mount.changed_meanwhile.retain(stays);
        let Some(manifest) = &self.manifest else { return };
        mount.manifest = Some(manifest.digest);
        (mount.entries, mount.bytes) = (manifest.entries, manifest.bytes);
        mount.gap_count = manifest.gap_count;
        mount.gaps.retain(|gap| stays(&gap.path));
        mount.gaps.extend(manifest.gaps.iter().map(|path| RecordedGap {
            path: path.clone(),
            reason: GapReason::Forgotten.words(),
        }));
        mount.gaps.truncate(NAMED);
    }

    /// Returns true if the path is one of the forgotten ones, or lies below one.
    #[must_use]
    pub fn covers(&self, path: &RelPath) -> bool {
        self.paths.iter().any(|forgotten| path.is_within(forgotten))
    }
}

/// An amendment with the archives that hold the manifests of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Amendment {
    /// Changes to the record.
    pub amended: AmendedSnapshot,
    /// The archives.
    pub archives: Vec<ArchiveRef>,
}

impl Amendment {
    /// Changes the record, and adds the archives that it needs since then.
    pub fn apply(&self, record: &mut SnapshotRecord) {
        self.amended.apply(record);
        record.add_archives(&self.archives);
    }
}

impl SnapshotRecord {
    /// Adds archives that the snapshot needs besides those that it names.
    pub fn add_archives(&mut self, archives: &[ArchiveRef]) {
        for archive in archives {
            if !self.archives.contains(archive) {
                self.archives.push(archive.clone());
            }
        }
    }
}

/// Returns the manifest with a gap at each of the paths that it has; `None` if it has none of them.
#[must_use]
pub fn without(manifest: &Manifest, paths: &[RelPath]) -> Option<Manifest> {
    let mut left = manifest.clone();
    let mut is_changed = false;
    for path in paths {
        is_changed |= remove(&mut left, path);
    }
    if is_changed {
        relink(&mut left);
    }
    is_changed.then_some(left)
}

fn remove(manifest: &mut Manifest, path: &RelPath) -> bool {
    let Some((parent, name)) = path.split() else {
        return false;
    };
    let found = manifest.directories.binary_search_by(|dir| dir.path.cmp(&parent));
    let Some(directory) = found.ok().and_then(|at| manifest.directories.get_mut(at)) else {
        return false;
    };
    if directory.entry(&name).is_none() {
        return false;
    }
    let directory = Arc::make_mut(directory);
    directory.entries.retain(|entry| entry.name != name);
    put_gap(&mut directory.gaps, name);
    manifest.directories.retain(|dir| !dir.path.is_within(path));
    true
}

fn put_gap(gaps: &mut Vec<Gap>, name: Name) {
    if let Err(at) = gaps.binary_search_by(|gap| gap.name.cmp(&name)) {
        let reason = GapReason::Forgotten;
        gaps.insert(at, Gap { name, reason });
    }
}

/// Makes the first remaining path of each hard link group the one that the others name.
fn relink(manifest: &mut Manifest) {
    let links = manifest.entries().filter_map(|(_, entry)| entry.link.clone());
    let lost: Vec<RelPath> = links.filter(|first| manifest.entry(first).is_none()).collect();
    if lost.is_empty() {
        return;
    }
    let mut firsts: HashMap<RelPath, RelPath> = HashMap::new();
    for directory in &mut manifest.directories {
        let is_lost = |link: &RelPath| lost.contains(link);
        if !directory
            .entries
            .iter()
            .any(|entry| entry.link.as_ref().is_some_and(is_lost))
        {
            continue;
        }
        let directory = Arc::make_mut(directory);
        for entry in &mut directory.entries {
            let Some(link) = entry.link.clone().filter(is_lost) else {
                continue;
            };
            match firsts.get(&link) {
                Some(first) => entry.link = Some(first.clone()),
                None => {
                    firsts.insert(link, directory.path.join(&entry.name));
                    entry.link = None;
                }
            }
        }
    }
}
