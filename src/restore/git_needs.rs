//! Needs of git's files in a plan: which objects come back with the files that name them, and which files stay because another one stays.

use std::collections::{BTreeMap, BTreeSet};

use super::attribution::ChangeHistory;
use super::git_objects::objects_holding;
use super::git_parts::{
    is_hook, is_needed_by_others, is_packed_in, names_objects, needs_others, reflog, session_made,
};
use super::plan::{Action, KeptPath, Step};
use crate::diff::Change;
use crate::git_directories::Repositories;
use crate::model::{Manifest, RelPath};

/// Steps by path.
type Steps = BTreeMap<RelPath, Step>;

/// Git directories of a plan, with what differs in them beyond the scope.
pub(super) struct GitNeeds<'a> {
    repositories: Repositories,
    target: Option<&'a Manifest>,
    now: Option<&'a Manifest>,
    witness: &'a ChangeHistory,
    /// Git directories that borrow objects, each with one that lends them.
    lending: Vec<(RelPath, RelPath)>,
    /// Paths beyond the scope, which stay as they are.
    beyond: BTreeSet<RelPath>,
    /// The first such path of each git directory that may need objects.
    held: BTreeMap<RelPath, RelPath>,
    /// Lost objects beyond the scope.
    lost: BTreeMap<RelPath, Change>,
}

impl<'a> GitNeeds<'a> {
    pub(super) fn new(
        (target, now): (Option<&'a Manifest>, Option<&'a Manifest>),
        witness: &'a ChangeHistory,
    ) -> Self {
        let repositories = Repositories::of([target, now].into_iter().flatten());
        let lenders = witness.links.lenders().iter();
        let lending = lenders.filter_map(|(borrower, lender)| {
            let [borrower, lender] = [borrower, lender].map(|path| repositories.holding(path));
            Some((borrower?.clone(), lender?.clone()))
        });
        Self {
            lending: lending.collect(),
            repositories,
            target,
            now,
            witness,
            beyond: BTreeSet::new(),
            held: BTreeMap::new(),
            lost: BTreeMap::new(),
        }
    }

    /// Returns all git directories.
    pub(super) fn repositories(&self) -> &Repositories {
        &self.repositories
    }

    /// Returns the paths of git directories beyond the scope.
    pub(super) fn beyond(&self) -> &BTreeSet<RelPath> {
        &self.beyond
    }

    /// Adds a change beyond the scope.
    pub(super) fn leave(&mut self, change: Change) {
        let path = &change.path;
        let Some(own) = self.repositories.holding(path) else {
            return;
        };
        let is_gone = change.from.is_some() && change.to.is_none();
        let is_gone_object = is_gone && objects_holding(own, path).is_some();
        // `git status` alone writes the index again, and it stages the same.
        let states = change.from.as_ref().zip(change.to.as_ref());
        let is_refreshed = states.is_some_and(|(then, now)| self.witness.refreshed.holds(path, then, now));
        if is_gone_object || needs_others(own, path) && !is_refreshed {
            self.held.entry(own.clone()).or_insert_with(|| path.clone());
        }
        self.beyond.insert(path.clone());
        if is_gone && self.witness.links.gone_objects().is_lost(path) {
            self.lost.insert(path.clone(), change);
        }
    }

    /// Takes out of `out` the objects that were deleted since, of each repository of which anything is restored that may name them, and returns
    /// them with those beyond the scope: without its object a ref would name nothing. Creating what is missing loses nothing.
    pub(super) fn objects_that_come_back(&self, steps: &Steps, out: &mut Vec<KeptPath>) -> Vec<Change> {
        let needy = steps.keys().filter_map(|path| {
            let own = self.repositories.holding(path)?;
            names_objects(own, path).then_some(own)
        });
        let mut needy: BTreeSet<&RelPath> = needy.collect();
        let mut known = 0;
        while known != needy.len() {
            known = needy.len();
            let lent = self.lending.iter().filter(|(own, _)| needy.contains(own));
            let lent: Vec<&RelPath> = lent.map(|(_, lender)| lender).collect();
            needy.extend(lent);
        }
        let is_needed = |path: &RelPath| {
            let own = self.repositories.holding(path);
            own.is_some_and(|own| needy.contains(own))
        };
        let is_back = |kept: &mut KeptPath| self.is_lost(&kept.change) && is_needed(&kept.change.path);
        let back = out.extract_if(.., is_back).map(|kept| kept.change);
        let mut back: Vec<Change> = back.collect();
        let mut dirs: BTreeSet<RelPath> = back.iter().map(|change| change.path.clone()).collect();
        let beyond = self.lost.iter().filter(|(path, _)| !steps.contains_key(*path));
        for (path, change) in beyond.filter(|(path, _)| is_needed(path)) {
            // Nothing can be made below what is no directory.
            let is_dir = |dir: &RelPath| {
                let is_there = self.now.is_some_and(|now| now.directory(dir).is_some());
                is_there || dirs.contains(dir) || steps.contains_key(dir)
            };
            if path.split().is_some_and(|(dir, _)| is_dir(&dir)) {
                dirs.insert(path.clone());
                back.push(change.clone());
            }
        }
        back
    }

    /// Returns true for a file of objects that were deleted since, and that the repository has nowhere else.
    fn is_lost(&self, change: &Change) -> bool {
        change.to.is_none() && self.witness.links.gone_objects().is_lost(&change.path)
    }

    /// Returns the steps that may name an object which neither the repository nor the plan has, each with the file of such an object.
    pub(super) fn dangling(&self, steps: &Steps, out: &[KeptPath]) -> Vec<(RelPath, RelPath)> {
        let missing = out.iter().map(|kept| &kept.change).chain(self.lost.values());
        let missing = missing.filter(|change| self.is_lost(change) && !steps.contains_key(&change.path));
        let mut lacking: BTreeMap<&RelPath, &RelPath> = BTreeMap::new();
        for change in missing {
            if let Some(own) = self.repositories.holding(&change.path) {
                lacking.entry(own).or_insert(&change.path);
            }
        }
        let mut known = 0;
        while known != lacking.len() {
            known = lacking.len();
            for (borrower, lender) in &self.lending {
                if let Some(lost) = lacking.get(lender).copied() {
                    lacking.entry(borrower).or_insert(lost);
                }
            }
        }
        let torn = |(path, step): (&RelPath, &Step)| {
            let own = self.repositories.holding(path)?;
            // Without its file a ref has the value that a list has.
            let is_written =
                step.action != Action::Delete || self.witness.links.may_be_packed_in_target(path);
            let lost = lacking
                .get(own)
                .filter(|_| is_written && names_objects(own, path))?;
            Some((path.clone(), (*lost).clone()))
        };
        steps.iter().filter_map(torn).collect()
    }

    /// Returns the steps that would delete what a path that stays may need, each with that path.
    ///
    /// Deletes no object of a repository of which anything else stays: a branch, the index or a reflog that stays may need it, and an object
    /// that nothing needs does no harm. The same holds for the other files that git names in its files. A repository that the session made
    /// and that holds later edits stays with all that makes it one but its hooks, and so does the file in a work tree that points to it.
    pub(super) fn needed(&self, steps: &Steps, out: &[KeptPath]) -> Vec<(RelPath, RelPath)> {
        let links = &self.witness.links;
        let mut kept = self.held.clone();
        let composed = self.witness.composed.iter();
        for (path, _) in composed.filter(|(_, file)| file.holds_later_edit) {
            if let Some(own) = self.repositories.holding(path) {
                kept.entry(own.clone()).or_insert_with(|| path.clone());
            }
        }
        let mut made: BTreeMap<RelPath, RelPath> = BTreeMap::new();
        for out in out {
            let path = &out.change.path;
            let Some(own) = self.repositories.holding(path) else {
                continue;
            };
            // An object that stays gone may be stored in other files.
            let is_gone = out.change.from.is_some() && out.change.to.is_none();
            if needs_others(own, path) || is_gone && objects_holding(own, path).is_some() {
                kept.entry(own.clone()).or_insert_with(|| path.clone());
            }
            if out.why.is_conflict()
                && let Some(made_by_session) = session_made(own, path, self.target, self.now)
            {
                made.entry(made_by_session).or_insert_with(|| path.clone());
            }
        }
        // Where objects are borrowed, those that the borrower needs lie in the lender; which may borrow as well.
        let mut known = 0;
        while known != kept.len() {
            known = kept.len();
            for (borrower, lender) in &self.lending {
                if let Some(held) = kept.get(borrower).cloned() {
                    kept.entry(lender.clone()).or_insert(held);
                }
            }
        }
        let needed = |(path, step): (&RelPath, &Step)| {
            let own = self.repositories.holding(path)?;
            let is_deleted = step.action == Action::Delete || links.is_deepened(path);
            let whole = || {
                let mut made = made.iter().filter(|(dir, _)| path.is_within(dir));
                made.find(|(dir, _)| !is_hook(dir, path)).map(|(_, held)| held)
            };
            let part = || kept.get(own).filter(|_| is_needed_by_others(own, path));
            let pointer = || {
                let to = links.pointer(path)?;
                let mut made = made.iter();
                let is_it = |dir: &RelPath| to.is_none_or(|to| to.is_within(dir));
                made.find(|(dir, _)| is_it(dir)).map(|(_, held)| held)
            };
            let held = match is_deleted {
                true => whole().or_else(part).or_else(pointer),
                false => pointer(),
            };
            Some((path.clone(), held?.clone()))
        };
        steps.iter().filter_map(needed).collect()
    }

    /// Returns the steps that would delete a branch that a HEAD names which stays as it is, each with that HEAD: without the branch, the next
    /// commit would have no parent. A HEAD that is the target's comes back to what it named there, also to no commit.
    pub(super) fn held_by_heads(&self, steps: &Steps) -> Vec<(RelPath, RelPath)> {
        let links = &self.witness.links;
        let mut torn = BTreeMap::new();
        for (head, branch) in links.heads() {
            if steps.contains_key(head) || links.is_in_target(branch) {
                continue;
            }
            let own = self.repositories.holding(branch);
            let log = own.and_then(|own| reflog(own, branch));
            let has_file = self.now.is_some_and(|now| now.entry(branch).is_some());
            let is_its = |path: &RelPath, step: &Step| {
                let is_one = path == branch || log.as_ref() == Some(path);
                step.action == Action::Delete && is_one || !has_file && is_packed_in(path, branch)
            };
            let held = steps.iter().filter(|(path, step)| is_its(path, step));
            torn.extend(held.map(|(path, _)| (path.clone(), head.clone())));
        }
        torn.into_iter().collect()
    }

    /// Returns the steps that would move HEAD, its branch, or their reflogs, while an operation is under way there that stays, each with a
    /// file of the operation: git finishes it only where it began. Not those that are `named`.
    pub(super) fn held_by_operations(
        &self,
        steps: &Steps,
        out: &[KeptPath],
        named: &[RelPath],
    ) -> Vec<(RelPath, RelPath)> {
        let mut torn = BTreeMap::new();
        for operation in self.witness.links.operations() {
            let file = &operation.file;
            if !self.beyond.contains(file) && !out.iter().any(|kept| kept.change.path == *file) {
                continue;
            }
            let is_held = |path: &RelPath| {
                let mut branch = operation.branch.iter();
                // It may be packed, or have its value from there once its own file is gone.
                *path == operation.head
                    || operation.logs.contains(path)
                    || branch.any(|branch| path == branch || is_packed_in(path, branch))
            };
            let held = steps.keys().filter(|path| is_held(path) && !named.contains(path));
            torn.extend(held.map(|path| (path.clone(), file.clone())));
        }
        torn.into_iter().collect()
    }
}
