//! Refs, HEAD and indexes that git writes while a restore runs. They may name an object that the restore deletes, and no lock tells of it any
//! more: a branch is made in a moment, and staging may take minutes.

use std::collections::BTreeSet;
use std::io;

use super::RestoreError;
use super::git_objects::objects_holding;
use super::git_parts::{all_parts, is_reference};
use super::mount_task::MountTask;
use super::plan::Action;
use super::proposal::ProposedMount;
use crate::capture::{is_gone, same_moment};
use crate::git_directories::Repositories;
use crate::model::{Entry, EntryKind, Manifest, Name, RelPath};
use handle_fs::{Dir, Root, Stat};

/// Refuses to go on if a repository that loses objects, or one that borrows from it, has other refs than the emergency snapshot. What the
/// restore moves itself is compared elsewhere.
///
/// # Errors
/// [`RestoreError::Drift`] with the first such path, or [`RestoreError::Apply`] if a directory cannot be read.
pub(super) fn refuse_late_refs(mount: &ProposedMount, job: &MountTask<'_>) -> Result<(), RestoreError> {
    let (Some(root), Some((before, _))) = (&job.root, job.before) else {
        return Ok(());
    };
    let steps = mount.plan.steps.iter();
    let is_lossy = |action| matches!(action, Action::Delete | Action::Replace);
    let lossy: BTreeSet<&RelPath> = steps
        .clone()
        .filter(|step| is_lossy(step.action))
        .map(|step| &step.change.path)
        .filter(|path| path.parts().any(|part| part == b"objects"))
        .collect();
    if lossy.is_empty() {
        return Ok(());
    }
    let repositories = Repositories::of([before]);
    let losing = lossy.into_iter().filter_map(|path| {
        let own = repositories.holding(path)?;
        objects_holding(own, path).map(|_| own)
    });
    let losing: BTreeSet<&RelPath> = losing.collect();
    let lenders = mount.request.witness.links.lenders().iter();
    let borrowing = lenders.filter_map(|(borrower, lender)| {
        let lends = repositories
            .holding(lender)
            .is_some_and(|lender| losing.contains(lender));
        lends.then_some(borrower)
    });
    let borrowing: BTreeSet<&RelPath> = borrowing.collect();
    let state = Listed {
        root,
        before,
        steps: steps.clone().map(|step| &step.change.path).collect(),
        made: steps
            .filter(|step| step.change.from.as_ref().is_some_and(Entry::is_dir))
            .map(|step| &step.change.path)
            .collect(),
    };
    for own in losing.union(&borrowing) {
        let found = state
            .first_change(own)
            .map_err(|(path, source)| RestoreError::Apply {
                path: path.on_host(&job.host),
                source,
            })?;
        if let Some(path) = found {
            return Err(RestoreError::Drift {
                path: path.on_host(&job.host),
            });
        }
    }
    Ok(())
}

/// The mount as the emergency snapshot lists it.
struct Listed<'a> {
    root: &'a Root,
    before: &'a Manifest,
    /// Paths that the restore changes itself.
    steps: BTreeSet<&'a RelPath>,
    /// Those that are directories then.
    made: BTreeSet<&'a RelPath>,
}

impl Listed<'_> {
    /// Returns the first path of a git directory that may name objects and is not as listed.
    fn first_change(&self, own: &RelPath) -> Result<Option<RelPath>, (RelPath, io::Error)> {
        let dirs = self.before.directories_within(own).map(|dir| &dir.path);
        let made = self.made.iter().copied();
        let made = made.filter(|path| path.is_within(own) && self.before.directory(path).is_none());
        for path in dirs
            .chain(made)
            .filter(|path| objects_holding(own, path).is_none() && !is_reflog(own, path))
        {
            let dir = match self.root.dir(path) {
                Ok(dir) => dir,
                Err(error) if is_gone(&error) => match self.is_ours(path) {
                    true => continue,
                    false => return Ok(Some(path.clone())),
                },
                Err(error) => return Err((path.clone(), error)),
            };
            let changed = self.change_in(own, path, &dir);
            if let Some(name) = changed.map_err(|error| (path.clone(), error))? {
                return Ok(Some(path.join(&name)));
            }
        }
        Ok(None)
    }

    /// Returns true for a path that the restore changes itself, alone or with a directory above it.
    fn is_ours(&self, path: &RelPath) -> bool {
        self.steps.contains(path) || path.ancestors().any(|above| self.steps.contains(&above))
    }

    fn change_in(&self, own: &RelPath, path: &RelPath, dir: &Dir) -> io::Result<Option<Name>> {
        let stat = dir.stat()?;
        let has_same_names = self
            .before
            .entry(path)
            .is_some_and(|listed| same_moment(listed, &stat));
        // Git renames each ref into its place, which the time of the directory shows, and there may be very many.
        if has_same_names && all_parts(own, path).any(|name| name == b"refs") {
            return Ok(None);
        }
        let listed = self.before.directory(path);
        let listed = || listed.iter().flat_map(|dir| &dir.entries);
        let mut names: BTreeSet<Name> = listed().map(|entry| entry.name.clone()).collect();
        // Other files, such as FETCH_HEAD and those of a rebase, are also written in place, so they are compared themselves.
        if !has_same_names {
            names.extend(dir.names()?);
        }
        for name in names {
            let inner = path.join(&name);
            if self.steps.contains(&inner) || !may_name_objects(own, &inner) {
                continue;
            }
            let was = listed().find(|entry| entry.name == name);
            let is = dir.look(name.as_os_str())?;
            let is_same = match (was, is) {
                (Some(was), Some(is)) => self.is_same(was, &is),
                (None, None) => true,
                _ => false,
            };
            if !is_same {
                return Ok(Some(name));
            }
        }
        Ok(None)
    }

    /// Returns true if a file is the listed one. Directories have other times after a move in them, and are compared by their names.
    fn is_same(&self, was: &Entry, is: &Stat) -> bool {
        if was.is_dir() {
            return is.kind == handle_fs::NodeKind::Directory;
        }
        let is_one_file = was.ino == is.ino || self.root.is_layered();
        let size = match &was.kind {
            EntryKind::File(content) => content.size,
            _ => is.size,
        };
        is_one_file && size == is.size && was.mtime == is.mtime
    }
}

/// Returns true if a path of the git directory `own` holds reflogs, or is one: what only they name goes with the restore. A work tree and a
/// branch may be called `logs`.
fn is_reflog(own: &RelPath, path: &RelPath) -> bool {
    let mut names = all_parts(own, path);
    while let Some(name) = names.next() {
        match name {
            b"logs" => return true,
            b"refs" => return false,
            b"worktrees" | b"modules" => {
                names.next();
            }
            _ => {}
        }
    }
    false
}

/// Returns true if a path of the git directory `own` may name objects, or hold what does: a ref, HEAD, the index, what a command has begun,
/// or a linked work tree. Reflogs do not count.
fn may_name_objects(own: &RelPath, path: &RelPath) -> bool {
    if is_reflog(own, path) {
        return false;
    }
    let (_, last) = path.halves();
    let is_part = |name: &[u8]| {
        matches!(
            name,
            b"worktrees" | b"rebase-merge" | b"rebase-apply" | b"sequencer" | b"reftable"
        )
    };
    is_reference(own, path)
        || last == b"index"
        || last.ends_with(b"_HEAD")
        || all_parts(own, path).any(is_part)
}
