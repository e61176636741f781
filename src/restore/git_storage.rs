//! What git stores otherwise than in the target. `git gc` packs objects and refs, and writes lists of them again: each file differs, and what
//! is in the repository does not. So it is no later edit, and bringing the files back would gain nothing.

use std::collections::{BTreeMap, HashSet};

use super::git_links::GitLinks;
use super::git_objects::{is_storage, objects_holding};
use super::git_parts::all_parts;
use super::packed_refs::PackedRefs;
use super::plan::{Action, KeptPath, Step, Why};
use super::scope::Allow;
use crate::git_directories::{Repositories, is_git_directory};
use crate::model::{Manifest, RelPath};
use git_reader::below;

/// The storage of the repositories that both the target and the live tree have.
pub(super) struct GitStorage<'a> {
    target: &'a Manifest,
    now: &'a Manifest,
    links: &'a GitLinks,
    repositories: Repositories,
    /// True if all later edits give way, so that every file comes back as it was.
    is_exact: bool,
}

impl<'a> GitStorage<'a> {
    pub(super) fn new(
        (target, now): (&'a Manifest, &'a Manifest),
        links: &'a GitLinks,
        allow: Allow,
    ) -> Self {
        Self {
            target,
            now,
            links,
            repositories: Repositories::of([target, now]),
            is_exact: allow.overwrite_later && allow.delete_later,
        }
    }

    /// Returns true for a path that stays with nothing lost.
    pub(super) fn may_keep(&self, kept: &KeptPath) -> bool {
        let path = &kept.change.path;
        let is_judged = matches!(
            kept.why,
            Why::LaterEdit(_)
                | Why::LaterFile(_)
                | Why::LaterDeletion(_)
                | Why::Shared(_)
                | Why::Others(_)
                | Why::Unvouched(_)
                | Why::Unseen
        );
        let (then, now) = (kept.change.from.as_ref(), kept.change.to.as_ref());
        is_judged
            && match (then, now) {
                (Some(_), None) => self.is_stored_elsewhere(path) || self.links.is_as_in_target(path),
                (None, Some(_)) => self.is_added(path),
                (Some(_), Some(_)) => {
                    let packed = self.links.packed(path);
                    self.is_list(path) || packed.is_some_and(PackedRefs::are_as_in_target)
                }
                (None, None) => false,
            }
    }

    /// Returns the paths among those of `steps` that may stay as they are, with nothing missing.
    pub(super) fn needless(&self, steps: &BTreeMap<RelPath, Step>) -> Vec<RelPath> {
        // What is in packs and lists that are deleted must come back in other files.
        let is_later = |(_, step): &(&RelPath, &Step)| step.overrode && step.action == Action::Delete;
        let deleted = steps.iter().filter(is_later);
        let others: HashSet<RelPath> = deleted
            .filter_map(|(path, _)| self.with_same_content(path))
            .collect();
        let torn = |others: &&RelPath| {
            let within = self.target.directories_within(others);
            let mut files = within.flat_map(|dir| dir.entries.iter().map(|entry| dir.path.join(&entry.name)));
            files.any(|path| self.now.entry(&path).is_none() && !steps.contains_key(&path))
        };
        let torn: HashSet<&RelPath> = others.iter().filter(torn).collect();
        let stays = |path: &RelPath, step: &Step| {
            let is_torn = || {
                self.with_same_content(path)
                    .is_some_and(|others| torn.contains(&others))
            };
            is_later(&(path, step)) && self.is_added(path) && (!self.is_exact || is_torn())
        };
        let is_needless = |(path, step): &(&RelPath, &Step)| match step.action {
            Action::Create if self.links.is_as_in_target(path) => {
                let list = self
                    .repositories
                    .holding(path)
                    .map(|own| below(own, "packed-refs"));
                let list = list.and_then(|list| steps.get_key_value(&list));
                list.is_none_or(|(list, step)| stays(list, step))
            }
            Action::Create => step.overrode && !self.is_exact && self.is_stored_elsewhere(path),
            _ => stays(path, step),
        };
        let needless = steps.iter().filter(is_needless);
        needless.map(|(path, _)| path.clone()).collect()
    }

    /// Returns the lists of packed refs that `steps` would delete or replace although they have a ref, or may have it, whose own file does not come
    /// back; each with that file.
    pub(super) fn torn_lists(&self, steps: &BTreeMap<RelPath, Step>) -> Vec<(RelPath, RelPath)> {
        let is_list = |(path, step): &(&RelPath, &Step)| {
            step.action != Action::Create && path.as_bytes().ends_with(b"packed-refs")
        };
        let torn = |(list, _): (&RelPath, &Step)| {
            let (git, _) = list.split()?;
            let refs = below(&git, "refs");
            let within = self.target.directories_within(&refs);
            let files = within.flat_map(|dir| {
                let files = dir.entries.iter().filter(|entry| !entry.is_dir());
                files.map(|entry| dir.path.join(&entry.name))
            });
            let files: Vec<RelPath> = files.collect();
            let is_missing = |path: &RelPath| self.now.entry(path).is_none() && !steps.contains_key(path);
            let packed = self.links.packed(list);
            let may_have = |path: &RelPath| packed.is_none_or(|packed| packed.has(path));
            let held = files
                .into_iter()
                .find(|path| is_missing(path) && may_have(path))?;
            Some((list.clone(), held))
        };
        steps.iter().filter(is_list).filter_map(torn).collect()
    }

    /// Returns true for a file of objects that is gone while the objects are there; also for a directory of such files.
    fn is_stored_elsewhere(&self, path: &RelPath) -> bool {
        self.links.gone_objects().is_elsewhere(path)
    }

    /// Returns true for a file that git has added to a repository of the target, and that holds nothing which a restore would take away.
    fn is_added(&self, path: &RelPath) -> bool {
        let is_harmless = |list| self.links.packed(list).is_some_and(|packed| packed.may_stay());
        self.objects_directory(path).is_some() || self.is_list(path) || is_harmless(path)
    }

    /// Returns the directory that has in other files what a pack or a list of refs at `path` has.
    fn with_same_content(&self, path: &RelPath) -> Option<RelPath> {
        let refs = || {
            self.links
                .packed(path)
                .and(path.split())
                .map(|(git, _)| below(&git, "refs"))
        };
        self.objects_directory(path).or_else(refs)
    }

    /// Returns the directory of objects that holds a path which git alone makes there.
    fn objects_directory(&self, path: &RelPath) -> Option<RelPath> {
        let own = self.repositories.holding(path)?;
        let objects = objects_holding(own, path)?;
        let (git, _) = objects.split()?;
        let is_there = is_git_directory(self.target, &git) && is_storage(&objects, path);
        is_there.then_some(objects)
    }

    /// Returns true for a list that git makes from the objects and refs that are there.
    fn is_list(&self, path: &RelPath) -> bool {
        let Some((dir, name)) = path.split() else {
            return false;
        };
        if let Some(objects) = self.objects_directory(path) {
            let first = all_parts(&objects, path).next();
            return first == Some(b"info") || name.as_bytes().starts_with(b"multi-pack-index");
        }
        let git = dir.split().map(|(git, _)| git);
        let is_info = dir.as_bytes().ends_with(b"info") && name.as_bytes() == b"refs";
        is_info && git.is_some_and(|git| is_git_directory(self.target, &git))
    }
}
