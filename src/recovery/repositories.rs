//! Changes of the git repositories in a mount.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use crate::contract::{Matcher, PrivateFiles};
use crate::diff::{
    Change, ChangedPaths, RepositoryChange, SecretGroups, Setting, compare_repository, compare_settings,
    hook_places, is_secret_path,
};
use crate::git_directories::{Repositories, work_tree};
use crate::model::{Coverage, Manifest, Name, RelPath};
use crate::restore::{Proposal, Report};
use crate::store::{Blobs, Store, StoredTree};
use git_reader::{Files, Found, Live, Repository};
use handle_fs::Root;

/// The repositories that `changes` concern. The later state is that of the live mount when no content is given with it.
pub(super) fn repositories(
    coverage: &Coverage,
    (before, blobs): (Option<&Manifest>, &Blobs),
    (after, later): (Option<&Manifest>, Option<&Blobs>),
    changes: &[Change],
    show_secrets: bool,
) -> Vec<RepositoryChange> {
    let sides = || [before, after].into_iter().flatten();
    let all = Repositories::of(sides());
    let root = coverage.root.to_path();
    let judged: Vec<_> = sides().map(|side| (side, SecretGroups::default())).collect();
    with_files(coverage, (before, blobs), (after, later), |then, now| {
        let mut found = Vec::new();
        let sides_read: Vec<&dyn Files> = [then, now].into_iter().flatten().collect();
        let manifests: Vec<&Manifest> = sides().collect();
        let paths = ChangedPaths::of(changes);
        for own in concerned(&all, (&manifests, &sides_read), changes, true) {
            let mut change = compare_repository(&own, then, now, &paths);
            let is_private = |config| {
                judged.iter().any(|(side, groups)| match side.entry(config) {
                    Some(entry) => groups.hold(&root, side, config, entry),
                    None => is_secret_path(&root, config, None),
                })
            };
            if !show_secrets && change.configs.iter().any(is_private) {
                change.hide_values();
            } else if !show_secrets {
                change.hide_secrets();
            }
            if !change.is_nothing() {
                found.push(change);
            }
        }
        found
    })
}

/// Returns the changes of agents' settings among `changes`; empty unless the mount holds agent state.
pub(super) fn settings(
    coverage: &Coverage,
    before: (Option<&Manifest>, &Blobs),
    after: (Option<&Manifest>, Option<&Blobs>),
    changes: &[Change],
    (show_secrets, is_unlocked): (bool, bool),
) -> Vec<Setting> {
    if !coverage.state {
        return Vec::new();
    }
    let private = PrivateFiles::of(coverage);
    let root = coverage.root.to_path();
    let is_private = |change: &Change| {
        let sides = [change.from.as_ref(), change.to.as_ref()];
        let mut sides = sides.into_iter().flatten();
        // With the operator's key all of a credential is there.
        (is_unlocked && private.holds(&change.path))
            || change.has_secret_name
            || sides.any(|entry| is_secret_path(&root, &change.path, Some(entry)))
    };
    with_files(coverage, before, after, |then, now| {
        compare_settings(changes, then, now, show_secrets, &is_private)
    })
}

/// Both sides as files that can be read.
fn with_files<R>(
    coverage: &Coverage,
    (before, blobs): (Option<&Manifest>, &Blobs),
    (after, later): (Option<&Manifest>, Option<&Blobs>),
    act: impl FnOnce(Option<&dyn Files>, Option<&dyn Files>) -> R,
) -> R {
    let host = coverage.root.to_path();
    let excludes = Matcher::new(coverage).ok();
    let stored = |manifest, blobs| StoredTree::new(manifest, blobs, &host).excluding(excludes.as_ref());
    let then = before.map(|manifest| stored(manifest, blobs));
    let root = later
        .is_none()
        .then(|| Root::open(blobs.transports(), &host).ok())
        .flatten();
    let later = after.zip(later);
    let later = later.map(|(manifest, blobs)| stored(manifest, blobs));
    let live = root.as_ref().map(|root| Shown {
        live: Live::new(root),
        manifest: after,
        blobs,
    });
    let then = then.as_ref().map(|files| files as &dyn Files);
    let now = match (&later, &live) {
        (Some(files), _) => Some(files as &dyn Files),
        (None, live) => live.as_ref().map(|files| files as &dyn Files),
    };
    act(then, now)
}

/// The files as they are, but for what is shown without its secrets.
struct Shown<'a> {
    live: Live<'a>,
    manifest: Option<&'a Manifest>,
    blobs: &'a Blobs,
}

impl Shown<'_> {
    fn lent(&self, path: &RelPath) -> Option<&[u8]> {
        self.blobs.lent(self.manifest?.entry(path)?.content()?)
    }
}

impl Files for Shown<'_> {
    fn look(&self, path: &RelPath) -> io::Result<Option<Found>> {
        match self.lent(path) {
            Some(bytes) => Ok(Some(Found::File {
                size: bytes.len() as u64,
                executable: false,
            })),
            None => self.live.look(path),
        }
    }

    fn names(&self, dir: &RelPath) -> io::Result<Vec<Name>> {
        self.live.names(dir)
    }

    fn read_at(&self, path: &RelPath, room: &mut [u8], at: u64) -> io::Result<usize> {
        let Some(bytes) = self.lent(path) else {
            return self.live.read_at(path, room, at);
        };
        let rest = usize::try_from(at)
            .ok()
            .and_then(|at| bytes.get(at..))
            .unwrap_or_default();
        let count = rest.len().min(room.len());
        if let (Some(room), Some(rest)) = (room.get_mut(..count), rest.get(..count)) {
            room.copy_from_slice(rest);
        }
        Ok(count)
    }

    fn effort(&self) -> &Cell<u64> {
        self.live.effort()
    }

    fn host_path(&self) -> Option<&Path> {
        self.live.host_path()
    }
}

/// Returns the repositories that changed, or that have a changed `.gitattributes` in the work tree, or a changed file there that their
/// configuration names. Those of submodules are called by the `.git` of their work tree `by_work_tree`, else by where they lie.
fn concerned<'c>(
    all: &Repositories,
    (manifests, files): (&[&Manifest], &[&dyn Files]),
    changes: &'c [Change],
    by_work_tree: bool,
) -> BTreeSet<RelPath> {
    let mut found = BTreeSet::new();
    let mut modules: BTreeSet<RelPath> = BTreeSet::new();
    let mut linked: BTreeSet<RelPath> = BTreeSet::new();
    for change in changes {
        let Some(own) = all.holding(&change.path) else {
            continue;
        };
        found.insert(own.clone());
        modules.extend(all.submodule_holding(&change.path, manifests));
        linked.extend(linked_holding(own, &change.path));
    }
    found.extend(pointers(all, manifests, files, &linked).into_values());
    let pointers = pointers(all, manifests, files, &modules);
    for module in modules {
        let pointer = pointers.get(&module);
        found.retain(|own| Some(own) != pointer);
        found.insert(pointer.filter(|_| by_work_tree).cloned().unwrap_or(module));
    }
    let is_attributes = |change: &&Change| {
        let name = change.path.split().map(|(_, name)| name);
        name.is_some_and(|name| name.as_bytes() == b".gitattributes")
    };
    for change in changes.iter().filter(is_attributes) {
        let above = all.iter().filter(|own| change.path.is_within(&work_tree(own)));
        found.extend(above.cloned());
    }
    let sides = |change: &'c Change| [Some(&change.path), change.from_path.as_ref()];
    let changed: BTreeSet<&RelPath> = changes.iter().flat_map(sides).flatten().collect();
    for own in all.iter() {
        if !found.contains(own) && names_any(own, files, &changed) {
            found.insert(own.clone());
        }
    }
    // One that was renamed from `.git` to `.GIT` is one repository.
    let mut works = BTreeSet::new();
    found.retain(|own| works.insert(work_tree(own)));
    found
}

/// Returns the directory of a linked work tree within a git directory that holds `path`: they have theirs in `.git/worktrees`.
fn linked_holding(own: &RelPath, path: &RelPath) -> Option<RelPath> {
    let all = git_reader::below(own, "worktrees");
    let mut above = path.ancestors();
    above.find(|dir| dir.split().is_some_and(|(parent, _)| parent == all))
}

/// Returns the `.git` files of work trees that lead to the given directories of submodules or linked work trees, by these.
fn pointers(
    all: &Repositories,
    manifests: &[&Manifest],
    files: &[&dyn Files],
    modules: &BTreeSet<RelPath>,
) -> BTreeMap<RelPath, RelPath> {
    let mut found = BTreeMap::new();
    if modules.is_empty() {
        return found;
    }
    let is_file = |own: &&RelPath| {
        let mut entries = manifests.iter().filter_map(|side| side.entry(own));
        entries.any(|entry| entry.content().is_some())
    };
    for own in all.iter().filter(is_file) {
        let opened = files
            .iter()
            .filter_map(|side| Repository::open(*side, &work_tree(own)).ok()?);
        let dirs = opened.filter_map(|repository| repository.git_dir().cloned());
        found.extend(
            dirs.filter(|dir| modules.contains(dir))
                .map(|dir| (dir, own.clone())),
        );
    }
    found
}

/// Returns true if one of the changed paths is in a directory that the configuration of a repository names for hooks, a file that a hook leads
/// to, or one that the configuration includes. Only a repository with a change in its work tree is read.
fn names_any(own: &RelPath, files: &[&dyn Files], changed: &BTreeSet<&RelPath>) -> bool {
    // What is in a directory follows it.
    let first_within = |dir: &RelPath| {
        changed
            .range::<RelPath, _>(dir..)
            .next()
            .is_some_and(|path| path.is_within(dir))
    };
    let work = work_tree(own);
    if !first_within(&work) {
        return false;
    }
    let opened = files
        .iter()
        .filter_map(|side| Repository::open(*side, &work).ok()?);
    let places = |repository: Repository<'_>| [hook_places(&repository), repository.included_files()];
    opened
        .flat_map(places)
        .flatten()
        .any(|place| first_within(&place))
}

/// The repositories that a restore took commits out of, which only its emergency snapshot has now: the change from what is there
/// now to what was there before.
pub(crate) fn emptied(
    store: &Store,
    proposal: &Proposal,
    report: &Report,
) -> Vec<(Coverage, RepositoryChange)> {
    let Some(emergency) = report.emergency.as_ref().and_then(|id| store.record(id).ok()) else {
        return Vec::new();
    };
    let (target, before) = (
        store.blobs(&proposal.target.archives),
        store.blobs(&emergency.archives),
    );
    let mut found = Vec::new();
    for (mount, done) in proposal.mounts.iter().zip(&report.mounts) {
        let changes: Vec<Change> = done
            .applied(&mount.plan)
            .iter()
            .map(|step| step.change.clone())
            .collect();
        let coverage = &mount.request.coverage;
        let host = coverage.root.to_path();
        let Ok(root) = Root::open(target.transports(), &host) else {
            continue;
        };
        // Not what the target has: paths that were not chosen, and later edits, stay.
        let now = Shown {
            live: Live::new(&root),
            manifest: mount.target.as_ref(),
            blobs: &target,
        };
        let stored = mount.now.manifest.as_ref();
        let stored = stored.map(|manifest| StoredTree::new(manifest, &before, &host));
        let then = stored.as_ref().map(|files| files as &dyn Files);
        let manifests: Vec<&Manifest> = [mount.target.as_ref(), mount.now.manifest.as_ref()]
            .into_iter()
            .flatten()
            .collect();
        let all = Repositories::of(manifests.iter().copied());
        let files: Vec<&dyn Files> = [Some(&now as &dyn Files), then].into_iter().flatten().collect();
        let paths = ChangedPaths::of(&changes);
        let changed = concerned(&all, (&manifests, &files), &changes, false)
            .into_iter()
            .map(|own| {
                let mut change = compare_repository(&own, Some(&now), then, &paths);
                // Objects stay where something else may need them.
                if let Ok(Some(left)) = Repository::open(&now, &work_tree(&own)) {
                    for commits in [&mut change.made, &mut change.given_up] {
                        commits
                            .listed
                            .retain(|commit| !matches!(left.commit(&commit.id), Ok(Some(_))));
                    }
                }
                change
            });
        let has_any = |change: &RepositoryChange| {
            let mut both = [&change.made, &change.given_up].into_iter();
            both.any(|commits| !commits.listed.is_empty())
        };
        let emptied = changed.filter(has_any);
        found.extend(emptied.map(|change| (coverage.clone(), change)));
    }
    found
}
