//! States of a mount, as a look of a session or of one beside it shows them.

use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::sync::Arc;

use super::RestoreError;
use super::states::{is_known, manifest};
use crate::capture::{PrivateOverlay, Show};
use crate::contract::{Matcher, Verdict};
use crate::model::{Coverage, Entry, Manifest, RelPath, SnapshotId};
use crate::store::{InstanceRow, Store};
use handle_fs::Locations;

/// A manifest of the mount, or of one that overlaps with it.
pub(super) struct State {
    pub(super) manifest: Manifest,
    /// Roots in comparable form of the mount and of the manifest, where they differ.
    pub(super) roots: Option<(PathBuf, PathBuf)>,
    /// The only paths that the snapshot was asked for; empty for all.
    pub(super) tracked: Vec<RelPath>,
    /// Paths that it omits, if they are not what the session's own snapshots omit.
    pub(super) excludes: Option<Arc<Matcher>>,
    /// True if it shows all that the session's own snapshots show.
    pub(super) is_whole: bool,
}

impl State {
    /// Returns the state of a path; `None` if it is unknown.
    pub(super) fn at(&self, path: &RelPath) -> Option<Option<&Entry>> {
        let path = match &self.roots {
            None => path.clone(),
            Some((root, theirs)) => {
                let host = path.on_host(root);
                let below = host.strip_prefix(theirs).ok()?;
                RelPath::new(below.as_os_str().as_bytes()).ok()?
            }
        };
        // That a directory lacks a child proves nothing where only others were asked for.
        let is_asked = |tracked: &RelPath| path.is_within(tracked) || tracked.is_within(&path);
        let is_shown = self.tracked.is_empty() || self.tracked.iter().any(is_asked);
        let found = self.manifest.entry(&path);
        // Nor does it where the path is excluded, whatever it was.
        let is_excluded = |is_dir| {
            let verdict = self
                .excludes
                .as_ref()
                .map(|all| all.verdict_with_parents(&path, is_dir));
            matches!(verdict, Some(Verdict::Excluded(_)))
        };
        let is_omitted = || found.is_none() && (is_excluded(true) || is_excluded(false));
        (is_shown && is_known(&self.manifest, &path) && !is_omitted()).then_some(found)
    }
}

/// Paths that the snapshots of other sessions omit of a mount, by the label of theirs.
pub(super) type OmittedPaths = Vec<(String, Arc<Matcher>)>;

/// Returns what the snapshots of another session omit, where that differs from what those with this coverage do.
pub(super) fn omitted_paths(row: &InstanceRow, coverage: &Coverage) -> OmittedPaths {
    let differs = |mount: &&Coverage| mount.root != coverage.root || mount.excludes != coverage.excludes;
    let mounts = row.mounts.iter().filter(differs);
    let matchers = mounts.filter_map(|mount| {
        let matcher = Matcher::new(mount).ok()?;
        Some((mount.label.clone(), Arc::new(matcher)))
    });
    matchers.collect()
}

/// Reads the state that a snapshot of `row` shows of the mount; `None` if it shows none, or cannot be read. `omitted` is what the snapshots of
/// another session omit; `None` for one of the session itself.
pub(super) fn state_of(
    store: &Store,
    row: &InstanceRow,
    (coverage, locations): (&Coverage, &Locations),
    snapshot: &SnapshotId,
    omitted: Option<&OmittedPaths>,
) -> Result<Option<State>, RestoreError> {
    let Ok(record) = store.record(snapshot) else {
        return Ok(None);
    };
    // Of two mounts that show one directory, the one of this name.
    let (named, others): (Vec<_>, Vec<_>) = row.mounts.iter().partition(|mount| mount.root == coverage.root);
    for mount in named.into_iter().chain(others) {
        let Some((root, theirs)) = coverage.meeting(mount, locations) else {
            continue;
        };
        let mut reveal = PrivateOverlay::of(store, mount, Show::Stored)?;
        if let Ok(Some(manifest)) = manifest(store, &record, &mount.label, &mut reveal) {
            let roots = (root != theirs).then_some((root, theirs));
            let is_alike = mount.excludes == coverage.excludes && mount.tracked == coverage.tracked;
            let mut omitted_there = omitted.into_iter().flatten();
            let excludes = omitted_there.find(|(label, _)| *label == mount.label);
            return Ok(Some(State {
                manifest,
                is_whole: roots.is_none() && (omitted.is_none() || is_alike),
                roots,
                tracked: mount.tracked.clone(),
                excludes: excludes.map(|(_, matcher)| Arc::clone(matcher)),
            }));
        }
    }
    Ok(None)
}
