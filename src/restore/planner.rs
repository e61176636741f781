//! Makes the plan of one mount from the comparison that `diff` shows.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::attribution::{ChangeHistory, Verdict};
use super::databases::{Databases, database_holding, has_pages};
use super::folded_names::FoldedNames;
use super::git_links::GitLinks;
use super::git_needs::GitNeeds;
use super::git_parts::{is_container, is_packed_in};
use super::git_storage::GitStorage;
use super::hard_links::{
    NameCounts, hopeless, join_again, linked_in, name_others, part_from_each_other, part_from_others,
};
use super::moved_away::Moves;
use super::plan::{Action, After, KeptPath, Others, Plan, Step, Why};
use super::scope::{Allow, Scope};
use crate::diff::{Change, ChangeKind, Side, compare};
use crate::git_directories::Repositories;
use crate::model::{Entry, EntryKind, Listing, Manifest, RelPath, directories_above};

/// Makes the plan that brings `now` back to `target`.
#[must_use]
pub fn plan(
    target: Option<&Manifest>,
    now: &Side<'_>,
    witness: &ChangeHistory,
    scope: &Scope,
    allow: Allow,
) -> Plan {
    let target = Side {
        manifest: target,
        skipped: &[],
    };
    let mut comparison = compare(&target, now);
    if let Some((target, now)) = target.manifest.zip(now.manifest) {
        let more = linked_in(target, now, &comparison.changes);
        comparison.changes.extend(more);
        comparison.changes.sort_by(|a, b| a.path.cmp(&b.path));
    }
    let left_out = match allow.files_only {
        true => Repositories::of_target(target.manifest, now.manifest),
        false => Repositories::default(),
    };
    let holds = |path: &RelPath| scope.holds(path) && left_out.holding(path).is_none();
    let mut planner = Planner {
        steps: BTreeMap::new(),
        out: Vec::new(),
        stay: BTreeMap::new(),
        names: now.manifest.map(NameCounts::of).unwrap_or_default(),
        now: now.manifest,
        inodes: OnceCell::new(),
    };
    let come_back = comparison.changes.iter().filter(|change| change.from.is_some());
    let needed = directories_above(come_back.map(|change| &change.path).filter(|path| holds(path)));
    for skipped in now.skipped {
        planner.stays(&skipped.path);
    }
    let listed = now
        .manifest
        .into_iter()
        .flat_map(|manifest| &manifest.directories);
    for doubtful in listed.filter(|dir| dir.listing != Listing::Proven) {
        // What it holds is not known, so it may not be moved as a whole.
        planner.stays(&doubtful.path);
        planner
            .stay
            .entry(doubtful.path.clone())
            .or_insert_with(|| doubtful.path.clone());
    }
    for unknown in &comparison.not_covered {
        planner.stays(&unknown.path);
    }
    let changed: BTreeSet<RelPath> = comparison
        .changes
        .iter()
        .map(|change| change.path.clone())
        .collect();
    let mut left = BTreeMap::new();
    // What was not asked for stays in a repository as well.
    let mut git = GitNeeds::new((target.manifest, now.manifest), witness);
    let databases = Databases::of([target.manifest, now.manifest].into_iter().flatten());
    // The same of a database.
    let mut databases_beyond: BTreeMap<RelPath, RelPath> = BTreeMap::new();
    let mut formats_beyond: BTreeMap<RelPath, RelPath> = BTreeMap::new();
    for change in comparison.changes {
        // Empty it would look as if that was all that it held.
        let is_gone = !change.to.as_ref().is_some_and(Entry::is_dir);
        if is_gone && target.manifest.is_some_and(|target| is_unread(target, &change)) {
            if change.to.is_some() {
                planner.stays(&change.path);
            }
            continue;
        }
        // A directory on the way to a path that comes back must come back as well.
        let on_the_way = needed.contains(&change.path)
            && matches!(change.kind, ChangeKind::Deleted | ChangeKind::Type)
            && change.from.as_ref().is_some_and(Entry::is_dir);
        if holds(&change.path) || on_the_way {
            let is_named = scope.names(&change.path);
            planner.judge(change, witness, allow, is_named);
            continue;
        }
        if let Some(own) = left_out
            .holding(&change.path)
            .filter(|_| scope.holds(&change.path))
        {
            *left.entry(own.clone()).or_default() += 1;
        }
        if change.to.is_some() {
            planner.stays(&change.path);
        }
        let formats = witness.links.formats();
        formats.add_beyond(&mut formats_beyond, &change.path);
        // That two files are called like those of a database proves little.
        let is_database = |file: &RelPath| {
            let sides = [target.manifest, now.manifest].into_iter().flatten();
            let mut found = sides.filter_map(|side| side.entry(file));
            databases.contains(file) || found.any(has_pages)
        };
        if !databases.is_derived(&change.path)
            && let Some(database) = database_holding(&databases, &change)
            && is_database(&database)
        {
            databases_beyond
                .entry(database)
                .or_insert_with(|| change.path.clone());
        }
        git.leave(change);
    }
    let storage = target.manifest.zip(now.manifest);
    let storage = storage.map(|sides| GitStorage::new(sides, &witness.links, allow));
    if let Some(storage) = &storage {
        planner.storage_that_stays(storage);
    }
    let mut moves = None;
    loop {
        planner.formats_that_stay(witness, formats_beyond.clone());
        for change in git.objects_that_come_back(&planner.steps, &mut planner.out) {
            planner.add(change, Action::Create, false);
        }
        planner.stay_with(git.needed(&planner.steps, &planner.out), Why::Needed);
        planner.databases_that_stay(&databases, &databases_beyond, witness);
        planner.refs_of_lists_that_stay(&witness.links);
        if let Some(storage) = &storage {
            planner.lists_of_refs_that_stay(storage);
        }
        let held = git.held_by_operations(&planner.steps, &planner.out, scope.named());
        planner.stay_with(held, Why::Repository);
        planner.heads_that_stay(witness, git.beyond(), scope.named());
        planner.stay_with(git.held_by_heads(&planner.steps), Why::Repository);
        planner.directories_that_stay();
        planner.names_that_are_one(&witness.folded);
        planner.containers_that_come_back(git.repositories());
        planner.children_of_blocked();
        // What stays may be what another path needs.
        let is_moved = planner.moved_paths_that_stay(&mut moves, witness);
        let dangling = git.dangling(&planner.steps, &planner.out);
        if !planner.stay_with(dangling, Why::Repository) && !is_moved {
            break;
        }
    }
    for (path, first) in hopeless(&changed, &planner.steps) {
        if let Some(step) = planner.steps.remove(&path) {
            planner.keep(step.change, Why::Linked(first));
        }
    }
    if let Some(now) = now.manifest {
        part_from_others(now, &mut planner.steps);
        part_from_each_other(&mut planner.steps);
        if let Some(target) = target.manifest {
            join_again(target, now, &mut planner.steps);
        }
    }
    name_others((target.manifest, now.manifest), &mut planner.steps);
    let mut plan = Plan {
        steps: planner.steps.into_values().collect(),
        left_out: left,
        ..Plan::default()
    };
    for kept in planner.out {
        if kept.why.is_conflict() {
            plan.conflicts.push(kept)
        } else {
            plan.kept.push(kept)
        }
    }
    plan.conflicts.sort_by(|a, b| a.change.path.cmp(&b.change.path));
    plan.kept.sort_by(|a, b| a.change.path.cmp(&b.change.path));
    plan.not_covered = comparison
        .not_covered
        .into_iter()
        .filter(|gap| scope.concerns(&gap.path))
        .collect();
    plan
}

/// Returns true for a directory of which the manifest has no name, because it could not be listed.
fn is_unread(manifest: &Manifest, change: &Change) -> bool {
    let listing = manifest.directory(&change.path).map(|dir| dir.listing);
    change.from.as_ref().is_some_and(Entry::is_dir) && listing == Some(Listing::Unreadable)
}

/// The directories above a path, the nearest first.
fn above(path: &RelPath) -> impl Iterator<Item = RelPath> {
    let parent = |path: &RelPath| path.split().map(|(parent, _)| parent);
    std::iter::successors(parent(path), parent)
}

struct Planner<'m> {
    steps: BTreeMap<RelPath, Step>,
    out: Vec<KeptPath>,
    /// Directories that hold something which stays, with the first such path.
    stay: BTreeMap<RelPath, RelPath>,
    names: NameCounts,
    now: Option<&'m Manifest>,
    /// The inodes of the files that are there, once they were asked for.
    inodes: OnceCell<HashSet<u64>>,
}

impl Planner<'_> {
    /// Returns true if a file with this inode is there.
    fn is_there(&self, ino: u64) -> bool {
        let all = || {
            let files = self.now.into_iter().flat_map(Manifest::entries);
            files.map(|(_, entry)| entry.ino).collect()
        };
        self.inodes.get_or_init(all).contains(&ino)
    }

    /// Returns true if the path of a change became a name of a file that has names elsewhere.
    fn is_foreign(&self, change: &Change) -> bool {
        let states = change.from.as_ref().zip(change.to.as_ref());
        states.is_some_and(|(from, to)| self.names.is_foreign(from, to))
    }

    /// Something exists at `path` now and will not be removed: no directory above it can be.
    fn stays(&mut self, path: &RelPath) {
        for above in above(path) {
            // What lies above a directory that stays is known to stay: deep trees cost no more than wide ones.
            if self.stay.contains_key(&above) {
                break;
            }
            self.stay.insert(above, path.clone());
        }
    }

    fn keep(&mut self, change: Change, why: Why) {
        if change.to.is_some() {
            self.stays(&change.path);
        }
        self.out.push(KeptPath { change, why });
    }

    /// Keeps the paths of steps, each because of another path. Returns true if there is one.
    fn stay_with(&mut self, torn: Vec<(RelPath, RelPath)>, why: fn(RelPath) -> Why) -> bool {
        let is_any = !torn.is_empty();
        for (path, held) in torn {
            if let Some(step) = self.steps.remove(&path) {
                self.keep(step.change, why(held));
            }
        }
        is_any
    }

    fn judge(&mut self, change: Change, witness: &ChangeHistory, allow: Allow, is_named: bool) {
        let Some(action) = self.action(&change) else {
            return self.keep(change, Why::Socket);
        };
        if let Some(composed) = witness.composed.get(&change.path) {
            // It is composed from the live content, so no change in it is lost.
            let overrode = composed.holds_later_edit || composed.is_typed;
            return self.add(change, action, overrode);
        }
        if action == Action::Delete && change.path.is_root() {
            // A process that has it open would keep a directory to which no path leads.
            return self.keep(change, Why::Root);
        }
        let unproven = change.to.as_ref().filter(|_| action == Action::Delete);
        if unproven.is_some_and(|now| witness.may_have_been_excluded(&change.path, now)) {
            return self.keep(change, Why::Excluded);
        }
        if unproven.is_some() && witness.older.contains(&change.path) && !allow.delete_later {
            return self.keep(change, Why::Older);
        }
        if !allow.overwrite_later && witness.links.has_operators_refs(&change.path) {
            return self.keep(change, Why::Shared(Vec::new()));
        }
        let verdict = match witness.judge(&change.path, change.from.as_ref(), change.to.as_ref()) {
            Verdict::Ours
                if witness
                    .is_linked_later(&change, &|ino| self.is_there(ino) || self.is_foreign(&change))
                    || witness.links.opposes_later_refs(&change.path) =>
            {
                Verdict::Later
            }
            other => other,
        };
        let overrode = verdict != Verdict::Ours;
        let may = if action == Action::Delete {
            allow.delete_later
        } else {
            allow.overwrite_later
        };
        let why = match verdict {
            Verdict::Ours => None,
            // There is nothing to revert, unless the operator asks for this path whatever became of it.
            Verdict::Settled if is_named && may => None,
            Verdict::Settled => Some(Why::Settled),
            // Nothing that this session did is reverted by that.
            Verdict::Others(others) if !others.is_empty() => Some(Why::Others(others)),
            _ if may => None,
            Verdict::Others(others) => Some(Why::Others(others)),
            Verdict::Unvouched if witness.is_closed => Some(Why::Unseen),
            Verdict::Unvouched => Some(Why::Unvouched(witness.missing.clone())),
            Verdict::Shared(others) => Some(Why::Shared(others)),
            Verdict::Later => {
                let after = match (witness.of_step, witness.only_left) {
                    (true, _) => After::Step,
                    (false, true) => After::Restore,
                    (false, false) => After::Session,
                };
                let last = witness.last.as_ref();
                let was_there = || last.is_some_and(|last| last.entry(&change.path).is_some());
                Some(match action {
                    Action::Create
                        if witness.links.is_later(&change.path)
                            && !witness.links.is_deleted(&change.path) =>
                    {
                        Why::LaterEdit(after)
                    }
                    Action::Create => Why::LaterDeletion(after),
                    Action::Delete if after == After::Session && was_there() => Why::LaterEdit(after),
                    Action::Delete => Why::LaterFile(after),
                    Action::Replace | Action::Metadata => Why::LaterEdit(after),
                })
            }
        };
        match why {
            Some(why) => self.keep(change, why),
            None => self.add(change, action, overrode),
        }
    }

    fn add(&mut self, change: Change, action: Action, overrode: bool) {
        let step = Step {
            action,
            change,
            overrode,
            others: Others::default(),
        };
        self.steps.insert(step.change.path.clone(), step);
    }

    /// Returns the action for a change; `None` if it is impossible.
    fn action(&self, change: &Change) -> Option<Action> {
        let Some(from) = &change.from else {
            return Some(Action::Delete);
        };
        if from.kind == EntryKind::Socket && change.to.as_ref().is_none_or(|to| to.kind != EntryKind::Socket)
        {
            return None;
        }
        let Some(to) = &change.to else {
            return Some(Action::Create);
        };
        // With the same metadata it is a name of another file. The same file may have another first name by now.
        let in_place = matches!(change.kind, ChangeKind::Mode | ChangeKind::Metadata)
            && (from.link == to.link || from.ino == to.ino)
            && !from.same_metadata(to);
        // A name outside the snapshot can be found by no undo, so a file that was parted from it stays parted. It is the inode whose
        // metadata changed, and the snapshot recorded them of that inode: they are set there. Another inode may be somebody's own
        // file that the session gave this name, and is never changed.
        let foreign = self.names.is_foreign(from, to);
        let symlink = matches!(from.kind, EntryKind::Symlink(_)) && from.xattrs != to.xattrs;
        Some(if in_place && !foreign && !symlink {
            Action::Metadata
        } else {
            Action::Replace
        })
    }

    /// Keeps what git stores in other files than in the target, as it does with each `git gc`: nothing that is in the target is missing.
    fn storage_that_stays(&mut self, storage: &GitStorage<'_>) {
        for kept in self.out.iter_mut().filter(|kept| storage.may_keep(kept)) {
            kept.why = Why::Stored;
        }
        for path in storage.needless(&self.steps) {
            if let Some(step) = self.steps.remove(&path) {
                self.keep(step.change, Why::Stored);
            }
        }
    }

    /// Changes nothing whose meaning depends on the format of a repository, if that is another one than the target's and any such path stays.
    fn formats_that_stay(&mut self, witness: &ChangeHistory, beyond: BTreeMap<RelPath, RelPath>) {
        let formats = witness.links.formats();
        let kept = (self.out.as_slice(), &witness.composed);
        let torn = formats.torn(kept, beyond, self.steps.keys());
        self.stay_with(torn, Why::Format);
    }

    /// Changes no file of a database of which another one stays, also one `beyond` what was asked for.
    fn databases_that_stay(
        &mut self,
        databases: &Databases,
        beyond: &BTreeMap<RelPath, RelPath>,
        witness: &ChangeHistory,
    ) {
        let name = |change: &Change| database_holding(databases, change);
        let stays = |kept: &&KeptPath| {
            let is_meant = kept.why.is_conflict() || matches!(kept.why, Why::Others(_));
            let path = &kept.change.path;
            // The session changed it with the rest of the store.
            let is_of_both = || {
                let left = witness.last.as_ref().and_then(|last| last.entry(path));
                let [left, then] =
                    [left, kept.change.from.as_ref()].map(|entry| entry.map(|entry| &entry.kind));
                databases.names_revision(path) && left != then
            };
            is_meant && (!databases.is_derived(path) || is_of_both())
        };
        let kept = self.out.iter().filter(stays);
        let kept = kept.filter_map(|kept| Some((name(&kept.change)?, kept.change.path.clone())));
        let mut kept: BTreeMap<RelPath, RelPath> = kept.collect();
        for (database, path) in beyond {
            kept.entry(database.clone()).or_insert_with(|| path.clone());
        }
        if kept.is_empty() {
            return;
        }
        let steps = self.steps.iter();
        let torn: Vec<(RelPath, RelPath)> = steps
            .filter_map(|(path, step)| Some((path.clone(), kept.get(&name(&step.change)?)?.clone())))
            .collect();
        for (path, held) in torn {
            if let Some(step) = self.steps.remove(&path) {
                self.keep(step.change, databases.reason(&path, held));
            }
        }
    }

    /// Deletes no file of a ref that the target has in a list of packed refs, if that list stays: the ref would have another value, or none.
    fn refs_of_lists_that_stay(&mut self, links: &GitLinks) {
        let lists = self.out.iter().map(|kept| &kept.change.path);
        let lists: Vec<&RelPath> = lists
            .filter(|path| path.as_bytes().ends_with(b"packed-refs"))
            .collect();
        let torn = |(path, step): (&RelPath, &Step)| {
            let is_file = step.change.to.as_ref().is_some_and(|now| !now.is_dir());
            let list = lists.iter().find(|list| is_packed_in(list, path))?;
            let is_torn = step.action == Action::Delete && is_file && links.may_be_packed_in_target(path);
            is_torn.then(|| (path.clone(), (*list).clone()))
        };
        let torn: Vec<(RelPath, RelPath)> = self.steps.iter().filter_map(torn).collect();
        self.stay_with(torn, Why::Repository);
    }

    /// Neither deletes nor replaces a list of packed refs that has a ref, or may have it, whose own file does not come back.
    fn lists_of_refs_that_stay(&mut self, storage: &GitStorage<'_>) {
        self.stay_with(storage.torn_lists(&self.steps), Why::Repository);
    }

    /// Moves no HEAD away from a branch that stays: the next commit would go to another branch, with an index of this one.
    /// Neither from one that was not asked for, unless HEAD itself is `named`.
    fn heads_that_stay(&mut self, witness: &ChangeHistory, beyond: &BTreeSet<RelPath>, named: &[RelPath]) {
        let links = &witness.links;
        let stays = |branch: &RelPath| {
            let is_it =
                |path: &RelPath| path == branch || is_packed_in(path, branch) && links.is_later(branch);
            if witness.composed.keys().any(is_it) {
                return true;
            }
            let is_kept = |kept: &&KeptPath| kept.why.is_conflict() || matches!(kept.why, Why::Others(_));
            let mut kept = self.out.iter().filter(is_kept);
            kept.any(|kept| is_it(&kept.change.path))
        };
        let is_beyond = |head: &RelPath, branch: &RelPath| beyond.contains(branch) && !named.contains(head);
        let moves = self
            .steps
            .iter()
            .filter(|(_, step)| step.action != Action::Delete);
        let heads: Vec<(RelPath, RelPath)> = moves
            .filter_map(|(path, _)| {
                let branch = links.branch(path)?;
                (stays(branch) || is_beyond(path, branch)).then(|| (path.clone(), branch.clone()))
            })
            .collect();
        self.stay_with(heads, Why::Names);
    }

    /// A directory is removed, or replaced by something else, only with everything in it.
    fn directories_that_stay(&mut self) {
        let blocked: Vec<(RelPath, RelPath)> = self
            .steps
            .iter()
            .filter(|(_, step)| {
                let now_dir = step.change.to.as_ref().is_some_and(Entry::is_dir);
                let then_dir = step.change.from.as_ref().is_some_and(Entry::is_dir);
                now_dir && !then_dir
            })
            .filter_map(|(path, _)| Some((path.clone(), self.stay.get(path)?.clone())))
            .collect();
        for (path, held) in blocked {
            if let Some(step) = self.steps.remove(&path) {
                let why = match held == path {
                    true => Why::Closed,
                    false => Why::Holds(held),
                };
                self.keep(step.change, why);
            }
        }
    }

    /// Creates no path whose name the directory cannot have, or takes for that of another one, unless that one goes first.
    fn names_that_are_one(&mut self, folded: &FoldedNames) {
        let is_deleted = |path: &RelPath| {
            self.steps
                .get(path)
                .is_some_and(|step| step.action == Action::Delete)
        };
        let is_created = |path: &RelPath| {
            self.steps
                .get(path)
                .is_some_and(|step| step.action == Action::Create)
        };
        let in_the_way = |path: &RelPath| {
            let rivals = folded.rivals(path).iter();
            let mut standing = rivals.filter(|rival| match rival.is_there {
                true => !is_deleted(&rival.path),
                false => is_created(&rival.path),
            });
            standing.next().map(|rival| rival.path.clone())
        };
        let created = self
            .steps
            .iter()
            .filter(|(_, step)| step.action == Action::Create);
        let why = |path: &RelPath| match folded.is_refused(path) {
            true => Some(Why::Encoding),
            false => in_the_way(path).map(Why::OneName),
        };
        let blocked: Vec<(RelPath, Why)> = created
            .filter_map(|(path, _)| Some((path.clone(), why(path)?)))
            .collect();
        for (path, why) in blocked {
            if let Some(step) = self.steps.remove(&path) {
                self.keep(step.change, why);
            }
        }
    }

    /// Removes nothing that was moved from a path that stays: there it does not come back. Returns true if there was such a path.
    fn moved_paths_that_stay<'h>(
        &mut self,
        moves: &mut Option<Moves<'h>>,
        witness: &'h ChangeHistory,
    ) -> bool {
        let is_gone = |kept: &&KeptPath| kept.change.from.is_some();
        if self.steps.is_empty() || !self.out.iter().any(|kept| is_gone(&kept)) {
            return false;
        }
        let moves = moves.get_or_insert_with(|| {
            let steps = self.steps.values().map(|step| &step.change);
            let last = witness.last.as_ref();
            let last = |path: &RelPath| last.and_then(|last| last.entry(path));
            Moves::among(steps.chain(self.out.iter().map(|kept| &kept.change)), &last)
        });
        let kept = self.out.iter().filter(is_gone);
        let lost: Vec<(RelPath, RelPath)> = kept
            .flat_map(|kept| {
                let lost = moves.lost_by(kept, &|path| self.steps.get(path));
                lost.into_iter().map(|path| (path, kept.change.path.clone()))
            })
            .collect();
        self.stay_with(lost, Why::Moved)
    }

    /// Creates again the directories that git has deleted as it had emptied them, of what comes back in them.
    fn containers_that_come_back(&mut self, repositories: &Repositories) {
        let may_come = |kept: &KeptPath| {
            let is_deleted = matches!(
                kept.why,
                Why::LaterDeletion(_)
                    | Why::Shared(_)
                    | Why::Others(_)
                    | Why::Unvouched(_)
                    | Why::Unseen
                    | Why::Stored
            );
            let path = &kept.change.path;
            let own = || repositories.holding(path);
            is_deleted && blocks(&kept.change) && own().is_some_and(|own| is_container(own, path))
        };
        if !self.out.iter().any(may_come) {
            return;
        }
        let created = self
            .steps
            .iter()
            .filter(|(_, step)| step.action == Action::Create);
        let wanted = directories_above(created.map(|(path, _)| path));
        let comes = |kept: &mut KeptPath| may_come(kept) && wanted.contains(&kept.change.path);
        let back: Vec<KeptPath> = self.out.extract_if(.., comes).collect();
        for kept in back {
            self.add(kept.change, Action::Create, false);
        }
    }

    /// Keeps the paths below each directory that stays missing or of another type, as nothing can be made there.
    fn children_of_blocked(&mut self) {
        let kept = self.out.iter().map(|kept| &kept.change);
        let blocked: BTreeSet<RelPath> = kept
            .filter(|change| blocks(change))
            .map(|change| change.path.clone())
            .collect();
        let mut below: Vec<(RelPath, RelPath)> = Vec::new();
        for above in &blocked {
            let held = self.steps.range(above..).map(|(path, _)| path);
            let held = held
                .take_while(|path| path.is_within(above))
                .filter(|path| *path != above);
            below.extend(held.map(|path| (path.clone(), above.clone())));
        }
        self.stay_with(below, Why::Parent);
    }
}

/// Returns true if a path that stays was a directory and is none now, so that nothing can be made below it.
fn blocks(change: &Change) -> bool {
    let is_dir = |state: &Option<Entry>| state.as_ref().is_some_and(Entry::is_dir);
    is_dir(&change.from) && !is_dir(&change.to)
}
