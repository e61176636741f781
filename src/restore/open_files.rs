//! Files that a restore replaces or deletes while a process has them open for writing: what the process writes afterwards goes to the old
//! object, which no name leads to any more.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::databases::Databases;
use super::error::RestoreError;
use super::plan::Action;
use super::proposal::{OpenFile, Proposal, ProposedMount, Purpose};
use crate::model::RelPath;
use crate::process;
use handle_fs::remote::is_elsewhere;

/// Progress of a restore, for the words of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Nothing was changed yet.
    Planned,
    /// It was interrupted.
    Begun,
}

/// Adds to a proposal the files that processes of this machine have open for writing, of those that it replaces or deletes.
pub fn find_open_files(proposal: &mut Proposal) {
    for mount in &mut proposal.mounts {
        mount.open_files = open_files(mount);
    }
}

/// Fails if the plan changes the data directory of a database that a server works on, on any mount.
///
/// # Errors
/// [`RestoreError::DatabaseInUse`].
pub(super) fn refuse_served_in(proposal: &Proposal, phase: Phase) -> Result<(), RestoreError> {
    let can_exclude = phase == Phase::Planned && !matches!(proposal.purpose, Purpose::Undo(_));
    let mut mounts = proposal.mounts.iter();
    mounts.try_for_each(|mount| refuse_served(mount, phase, can_exclude))
}

/// Fails if the plan changes the data directory of a database of which a process has any file open for writing: a server keeps some files
/// closed that it has read, and others in its memory.
fn refuse_served(mount: &ProposedMount, phase: Phase, can_exclude: bool) -> Result<(), RestoreError> {
    let root = mount.request.coverage.root.to_path();
    let Some(now) = mount.now.manifest.as_ref().filter(|_| !is_elsewhere(&root)) else {
        return Ok(());
    };
    let databases = Databases::of(mount.target.iter().chain([now]));
    let steps = mount.plan.steps.iter();
    let touched: BTreeSet<RelPath> = steps
        .filter_map(|step| databases.holding(&step.change.path))
        .collect();
    if touched.is_empty() {
        return Ok(());
    }
    let mut files: BTreeMap<u64, &RelPath> = BTreeMap::new();
    // Of a restore that was interrupted, the files are others than those that are known, and their numbers may be used again.
    for directory in touched.iter().filter(|_| phase == Phase::Planned) {
        let entries = now.directories_within(directory).flat_map(|dir| &dir.entries);
        let own = entries.filter(|entry| entry.content().is_some());
        files.extend(own.map(|entry| (entry.ino, directory)));
    }
    let inodes = files.keys().copied().collect();
    let places: Vec<PathBuf> = touched.iter().map(|directory| directory.on_host(&root)).collect();
    let Some(writer) = process::writers_of(&root, &inodes, &places).into_iter().next() else {
        return Ok(());
    };
    let by_path = || {
        let mut places = places.iter();
        places.find(|place| writer.path.starts_with(place)).cloned()
    };
    let directory = files.get(&writer.ino).map(|directory| directory.on_host(&root));
    Err(RestoreError::DatabaseInUse {
        directory: directory.or_else(by_path).unwrap_or(root),
        program: writer.name,
        pid: writer.pid,
        can_exclude,
    })
}

fn open_files(mount: &ProposedMount) -> Vec<OpenFile> {
    let root = mount.request.coverage.root.to_path();
    if is_elsewhere(&root) {
        return Vec::new();
    }
    let goes = |action| matches!(action, Action::Replace | Action::Delete);
    let steps = mount.plan.steps.iter().filter(|step| goes(step.action));
    let files = steps.filter_map(|step| {
        let there = step.change.to.as_ref()?;
        there.content().map(|_| (there.ino, &step.change.path))
    });
    let paths: BTreeMap<u64, &RelPath> = files.collect();
    if paths.is_empty() {
        return Vec::new();
    }
    let inodes: BTreeSet<u64> = paths.keys().copied().collect();
    let mut found: Vec<OpenFile> = process::writers_of(&root, &inodes, &[])
        .into_iter()
        .filter_map(|writer| {
            Some(OpenFile {
                path: (*paths.get(&writer.ino)?).clone(),
                pid: writer.pid,
                program: writer.name,
            })
        })
        .collect();
    found.sort_by(|a, b| (&a.path, a.pid).cmp(&(&b.path, b.pid)));
    found
}
