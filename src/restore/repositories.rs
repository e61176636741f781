//! Repositories that git works on, and databases that a server works on: they are not pulled away under it.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use super::error::{Locked, RestoreError};
use super::open_files::{Phase, refuse_served_in};
use super::proposal::{Proposal, ProposedMount};
use crate::git_directories::{Repositories, work_tree};
use crate::model::{Name, RelPath};
use crate::process::{self, GitAtWork};
use git_reader::{Files as _, Live, Repository, is_lock};
use handle_fs::Root;

/// Refuses to change a repository that git works on, or the data directory of a database that a server works on.
///
/// Git works on a repository if a process holds a lock of it, or if a command of git runs that changes it, also while that waits in an
/// editor. A lock without a holder was left by a process that died.
///
/// # Errors
/// [`RestoreError::Locked`], [`RestoreError::GitAtWork`], [`RestoreError::DatabaseInUse`].
pub fn refuse_in_use(proposal: &Proposal) -> Result<(), RestoreError> {
    match proposal.mounts.iter().find_map(in_use) {
        Some(error) => Err(error),
        None => refuse_served_in(proposal, Phase::Planned),
    }
}

fn in_use(mount: &ProposedMount) -> Option<RestoreError> {
    let now = mount.now.manifest.as_ref()?;
    let repositories = Repositories::of([now]);
    let steps = mount.plan.steps.iter();
    let touched: BTreeSet<&RelPath> = steps
        .filter_map(|step| repositories.holding(&step.change.path))
        .collect();
    if touched.is_empty() {
        return None;
    }
    let host = mount.request.coverage.root.to_path();
    let root = Root::open(&mount.transports, &host).ok()?;
    let live = Live::new(&root);
    let mut locks: BTreeSet<(&RelPath, RelPath)> = BTreeSet::new();
    // Those that the look at everything found, deep ones too, and those that came since.
    for dir in &now.directories {
        let own = repositories
            .holding(&dir.path)
            .filter(|own| touched.contains(own));
        let held = dir.entries.iter().filter(|entry| is_lock(&entry.name));
        locks.extend(
            own.into_iter()
                .flat_map(|own| held.clone().map(move |entry| (own, dir.path.join(&entry.name)))),
        );
    }
    for own in &touched {
        if let Ok(Some(repository)) = Repository::open(&live, &work_tree(own)) {
            locks.extend(repository.locks().into_iter().map(|lock| (*own, lock)));
        }
    }
    let mut held = locks.into_iter().filter_map(|(own, lock)| {
        let work_trees = [
            Some(work_tree(own).on_host(&host)),
            linked_work_tree(&live, own, &lock),
        ];
        let lock = lock.on_host(&host);
        match process::holder(&lock, &work_trees.into_iter().flatten().collect::<Vec<_>>()) {
            Ok(None) => None,
            Ok(holder) => Some(Locked { lock, holder }),
            Err(_) => Some(Locked { lock, holder: None }),
        }
    });
    if let Some(locked) = held.next() {
        return Some(RestoreError::Locked(Box::new(locked)));
    }
    touched.into_iter().find_map(|own| {
        let git_dir = own.on_host(&host);
        let GitAtWork { pid, command } = process::git_at_work(&git_dir)?;
        Some(RestoreError::GitAtWork {
            repository: git_dir,
            command,
            pid,
        })
    })
}

/// The linked work tree that a lock belongs to, which may lie anywhere.
fn linked_work_tree(live: &Live<'_>, own: &RelPath, lock: &RelPath) -> Option<PathBuf> {
    /// Longer than any path.
    const LONGEST: usize = 8192;
    let rest = lock.as_bytes().strip_prefix(own.as_bytes())?;
    let mut parts = rest.split(|byte| *byte == b'/').filter(|part| !part.is_empty());
    let name = parts
        .next()
        .filter(|part| *part == b"worktrees")
        .and_then(|_| parts.next())?;
    let at = [b"worktrees".as_slice(), name, b"gitdir"];
    let path = at
        .into_iter()
        .try_fold(own.clone(), |at, part| Some(at.join(&Name::new(part).ok()?)))?;
    let mut text = vec![0; LONGEST];
    let length = live.read_at(&path, &mut text, 0).ok()?;
    text.truncate(length);
    let line = text.split(|byte| *byte == b'\n').next()?;
    // The file `.git` in it.
    Some(PathBuf::from(OsStr::from_bytes(line)).parent()?.to_path_buf())
}
