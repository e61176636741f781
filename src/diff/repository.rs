//! Changes of a git repository, read from its files: first settings that make git run programs, then HEAD, branches, commits,
//! index, stashes.

use std::collections::{BTreeMap, BTreeSet};

use super::commits::{Commits, between};
use super::{Change, ChangedPaths, HIDDEN};
use crate::git_directories::work_tree;
use crate::model::{Entry, Name, RelPath};
use git_reader::{
    Executable, Files, GitError, Head, IndexEntry, Oid, Operation, Refs, Repository, below, driver_lines,
    executables, is_dot_git,
};
use settings_redaction::redact_text;

/// Maximum number of reported doubts.
const MOST_DOUBTS: usize = 20;

/// Changed item that makes git run a program.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Execution {
    /// Name of the item: `hook pre-commit`, `core.fsmonitor`.
    pub what: String,
    /// Earlier value; `None` if it is new.
    pub was: Option<String>,
    /// Current value; `None` if it is gone.
    pub now: Option<String>,
}

/// Ref that was moved, created or deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefMove {
    /// Full name, such as `refs/heads/main`.
    pub name: Vec<u8>,
    /// Earlier object; `None` if the ref is new.
    pub from: Option<Oid>,
    /// Current object; `None` if the ref is gone.
    pub to: Option<Oid>,
}

/// Changes of one repository.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RepositoryChange {
    /// Git directory: `.git`, or the repository itself if it is bare.
    pub own: RelPath,
    /// True if the repository is new.
    pub appeared: bool,
    /// True if the repository is gone.
    pub vanished: bool,
    /// Changed items that make git run programs.
    pub executions: Vec<Execution>,
    /// HEAD before and after; `None` if it did not change.
    pub head: Option<(Head, Head)>,
    /// Refs that differ.
    pub refs: Vec<RefMove>,
    /// Commits that only the later state reaches.
    pub made: Commits,
    /// Commits that only the earlier state reaches.
    pub lost: Commits,
    /// Commits that were made and abandoned meanwhile: HEAD was at them, and only its reflog still has them.
    pub given_up: Commits,
    /// Paths of the index that differ.
    pub staged: u64,
    /// Number of stashes before and after.
    pub stashes: (u64, u64),
    /// Unfinished operations before and after: a merge, a rebase.
    pub operations: (Vec<Operation>, Vec<Operation>),
    /// True if HEAD or a ref has changed files, but cannot be read.
    pub unseen: bool,
    /// Messages about parts that could not be read, and are therefore not compared.
    pub doubts: Vec<String>,
    /// True if the later state has a doubt that the earlier one has not.
    pub is_less_known: bool,
    /// The files that configuration was read from.
    pub configs: BTreeSet<RelPath>,
}

impl RepositoryChange {
    /// Hides the values of changed settings, because only their owner may read the configuration.
    pub fn hide_values(&mut self) {
        let hidden = || HIDDEN.to_owned();
        for execution in &mut self.executions {
            let is_hook = execution.what.starts_with("hook ");
            for value in [&mut execution.was, &mut execution.now]
                .into_iter()
                .filter(|_| !is_hook)
            {
                *value = value.take().map(|_| hidden());
            }
        }
    }

    /// Hides secrets in the values of changed settings.
    pub fn hide_secrets(&mut self) {
        for execution in &mut self.executions {
            for value in [&mut execution.was, &mut execution.now].into_iter().flatten() {
                let shown = redact_text(value, HIDDEN);
                // Else the blanks in it stay as they are.
                if shown.contains(HIDDEN) {
                    *value = shown;
                }
            }
        }
    }

    /// Returns true if nothing changed.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        let bare = Self {
            own: self.own.clone(),
            stashes: (self.stashes.0, self.stashes.0),
            operations: (self.operations.0.clone(), self.operations.0.clone()),
            doubts: self.doubts.clone(),
            configs: self.configs.clone(),
            ..Self::default()
        };
        *self == bare
    }
}

/// One state of a repository.
#[derive(Default)]
struct State {
    is_there: bool,
    executables: BTreeMap<String, BTreeSet<String>>,
    head: Head,
    refs: Refs,
    index: BTreeMap<(Vec<u8>, u8), IndexEntry>,
    recent: BTreeSet<Oid>,
    /// Refs of the repository that a linked work tree belongs to.
    shared: Option<Refs>,
    stashes: u64,
    operations: Vec<Operation>,
    /// HEAD or the refs could not be read.
    is_unread: bool,
    doubts: Vec<String>,
}

/// Compares a repository before and after; `own` is its git directory. `changes` are those of the whole mount.
#[must_use]
pub fn compare_repository<'f>(
    own: &RelPath,
    before: Option<&'f dyn Files>,
    after: Option<&'f dyn Files>,
    changes: &ChangedPaths<'_>,
) -> RepositoryChange {
    let work = work_tree(own);
    let open = |files: Option<&'f dyn Files>| match files.map(|files| Repository::open(files, &work)) {
        Some(Ok(found)) => (found, None),
        Some(Err(error)) => (None, Some(error.to_string())),
        None => (None, None),
    };
    let ((old, not_opened_then), (new, not_opened)) = (open(before), open(after));
    let state = |side: &Option<Repository<'_>>| side.as_ref().map(State::of).unwrap_or_default();
    let (mut was, mut is) = (state(&old), state(&new));
    was.doubts.extend(not_opened_then);
    is.doubts.extend(not_opened);
    let mut unread = Vec::new();
    // What all work trees share is compared with the repository itself, which goes on without this one.
    let mains = [&old, &new].map(|side| side.as_ref().and_then(main_of));
    if let Some(main) = mains.iter().flatten().next() {
        let reached = |files: Option<&'f dyn Files>| {
            let repository = Repository::open(files?, &work_tree(main)).ok()??;
            repository.readable_refs().ok()
        };
        (was.shared, is.shared) = (reached(before), reached(after));
        for (side, main) in [&mut was, &mut is].into_iter().zip(&mains) {
            if main.is_some() {
                (side.refs, side.stashes) = (Refs::new(), 0);
            }
        }
    }
    let sides: Vec<&Repository<'_>> = [&new, &old].into_iter().flatten().collect();
    let hook_places: BTreeSet<RelPath> = sides.iter().flat_map(|side| hook_places(side)).collect();
    let places = sides
        .iter()
        .flat_map(|side| [side.git_dir(), side.shared_git_dir()]);
    let places: BTreeSet<&RelPath> = places.flatten().chain([own]).collect();
    let asked = places.iter().copied().chain(&hook_places).chain([&work]);
    let changes = changes.within(asked);
    let mut change = RepositoryChange {
        own: own.clone(),
        appeared: !was.is_there && is.is_there,
        vanished: was.is_there && !is.is_there,
        executions: executions(&was, &is),
        head: (was.head != is.head).then(|| (was.head.clone(), is.head.clone())),
        refs: moves(&was.refs, &is.refs),
        staged: staged(&was, &is),
        stashes: (was.stashes, is.stashes),
        operations: (was.operations.clone(), is.operations.clone()),
        ..RepositoryChange::default()
    };
    change
        .executions
        .extend(touched_hooks(own, &hook_places, &changes, &change.executions));
    change
        .executions
        .extend(attributes(&work, before, after, &changes, &mut unread));
    change.executions.sort();
    change.executions.dedup();
    change.configs = sides.iter().flat_map(|side| configs(side)).collect();
    change.made = between(&sides, &is.tips(), &was.reached());
    change.lost = between(&sides, &was.tips(), &is.reached());
    let meanwhile: Vec<Oid> = is.recent.difference(&was.recent).copied().collect();
    let known: Vec<Oid> = [was.reached(), is.reached()].concat();
    let moves_refs = |change: &Change, own: &RelPath| {
        let rest = change
            .path
            .as_bytes()
            .strip_prefix(own.as_bytes())
            .unwrap_or_default();
        let mut parts = rest.split(|byte| *byte == b'/').filter(|part| !part.is_empty());
        change.path.is_within(own)
            && parts.next().is_some_and(|part| {
                matches!(part, b"HEAD" | b"refs" | b"packed-refs" | b"reftable" | b"logs")
            })
    };
    let is_unread = was.is_unread || is.is_unread;
    change.unseen = is_unread
        && changes
            .iter()
            .any(|change| places.iter().any(|own| moves_refs(change, own)));
    change.given_up = between(&sides, &meanwhile, &known);
    // The other side may have the commits: the live files have all that were not removed.
    let is_unlisted = |commits: &Commits| commits.more && commits.listed.is_empty();
    if [&change.made, &change.lost, &change.given_up]
        .into_iter()
        .any(is_unlisted)
        && let Some(objects) = sides.iter().find_map(|side| side.excluded_objects())
    {
        let objects = String::from_utf8_lossy(objects.as_bytes()).into_owned();
        unread.push(format!(
            "{objects} is excluded from the snapshot: commits cannot be listed"
        ));
    }
    if sides.iter().any(|side| side.is_exhausted()) {
        unread.push(GitError::TooMuchWork.to_string());
    }
    let was_doubted: BTreeSet<String> = was.doubts.into_iter().collect();
    let is_new = |doubt: &String| !was_doubted.contains(doubt);
    change.is_less_known = is.doubts.iter().any(is_new);
    let doubts: BTreeSet<String> = unread
        .into_iter()
        .chain(is.doubts)
        .chain(was_doubted.iter().cloned())
        .collect();
    let (new, known): (Vec<String>, Vec<String>) = doubts.into_iter().partition(is_new);
    change.doubts = new.into_iter().chain(known).take(MOST_DOUBTS).collect();
    change
}

impl State {
    fn of(repository: &Repository<'_>) -> Self {
        let mut state = Self {
            is_there: true,
            recent: repository.recent_heads(),
            stashes: repository.stashes(),
            operations: repository.operations(),
            ..Self::default()
        };
        for Executable { what, detail } in executables(repository) {
            state.executables.entry(what).or_default().insert(detail);
        }
        let mut note = |error: String| state.doubts.push(error);
        let mut is_unread = false;
        match repository.head() {
            Ok(head) => state.head = head,
            Err(error) => {
                is_unread = true;
                note(error.to_string());
            }
        }
        match repository.readable_refs() {
            Ok(refs) => state.refs = refs,
            Err(error) => {
                is_unread = true;
                note(error.to_string());
            }
        }
        match repository.index() {
            Ok(index) => {
                let entries = index.into_iter().flat_map(|index| index.entries);
                state.index = entries
                    .map(|entry| ((entry.path.clone(), entry.stage), entry))
                    .collect();
            }
            Err(error) => note(error.to_string()),
        }
        state.is_unread = is_unread;
        state.doubts.extend(repository.doubts());
        state
    }

    /// Returns every commit that HEAD or a ref names.
    fn tips(&self) -> Vec<Oid> {
        let stash = self.refs.values().copied();
        self.head.commit.into_iter().chain(stash).collect()
    }

    /// Returns every commit that is named at all, also for another work tree.
    fn reached(&self) -> Vec<Oid> {
        let shared = self.shared.iter().flat_map(Refs::values).copied();
        self.tips().into_iter().chain(shared).collect()
    }
}

/// Returns the git directory that a linked work tree shares with others; `None` for any other repository.
fn main_of(repository: &Repository<'_>) -> Option<RelPath> {
    let main = repository.shared_git_dir()?;
    (repository.git_dir() != Some(main)).then(|| main.clone())
}

fn executions(was: &State, is: &State) -> Vec<Execution> {
    let names: BTreeSet<&String> = was.executables.keys().chain(is.executables.keys()).collect();
    let joined = |values: Option<&BTreeSet<String>>| {
        values.map(|values| values.iter().cloned().collect::<Vec<_>>().join(", "))
    };
    let mut found = Vec::new();
    for what in names {
        let (before, now) = (was.executables.get(what), is.executables.get(what));
        if before != now {
            found.push(Execution {
                what: what.clone(),
                was: joined(before),
                now: joined(now),
            });
        }
    }
    found
}

/// Returns the hooks that exist on both sides with different content, also if the session renamed the git directory to a name that git
/// takes for `.git` as well. `places` are the others from [`hook_places`].
fn touched_hooks(
    own: &RelPath,
    places: &BTreeSet<RelPath>,
    changes: &[&Change],
    known: &[Execution],
) -> Vec<Execution> {
    let work = work_tree(own);
    let is_own = |dir: &RelPath| {
        let beside = |(parent, name): (RelPath, Name)| parent == work && is_dot_git(name.as_bytes());
        dir == own || dir.split().is_some_and(beside)
    };
    let hook = |path: &RelPath| {
        let (dir, name) = path.split()?;
        let is_named = places.contains(path) || places.contains(&dir);
        if is_named && !name.as_bytes().ends_with(b".sample") {
            return Some(format!("hook {}", String::from_utf8_lossy(path.as_bytes())));
        }
        let (above, hooks) = dir.split()?;
        let is_hook =
            is_own(&above) && hooks.as_bytes() == b"hooks" && !name.as_bytes().ends_with(b".sample");
        is_hook.then(|| format!("hook {}", String::from_utf8_lossy(name.as_bytes())))
    };
    let was = changes.iter().filter_map(|change| {
        let path = change.from_path.as_ref().unwrap_or(&change.path);
        Some((hook(path)?, change.from.as_ref()?))
    });
    let was: BTreeMap<String, &Entry> = was.collect();
    let is_touched = |what: &String, now: &Entry| {
        let differs = was.get(what).is_some_and(|was| !was.same_state(now));
        differs && !known.iter().any(|execution| execution.what == *what)
    };
    let now = changes
        .iter()
        .filter_map(|change| Some((hook(&change.path)?, change.to.as_ref()?)));
    now.filter(|(what, now)| is_touched(what, now))
        .map(|(what, _)| Execution {
            what,
            was: Some("before".to_owned()),
            now: Some("changed".to_owned()),
        })
        .collect()
}

/// Returns the directories and files in which git finds hooks outside of the usual directory.
pub fn hook_places(repository: &Repository<'_>) -> Vec<RelPath> {
    [repository.hook_directories(), repository.linked_hooks()].concat()
}

/// Returns the changed lines of `.gitattributes` that assign paths to a driver.
fn attributes(
    work: &RelPath,
    before: Option<&dyn Files>,
    after: Option<&dyn Files>,
    changes: &[&Change],
    unread: &mut Vec<String>,
) -> Vec<Execution> {
    let mut found = Vec::new();
    let is_theirs = |change: &&&Change| {
        let name = change.path.split().map(|(_, name)| name);
        name.is_some_and(|name| name.as_bytes() == b".gitattributes") && change.path.is_within(work)
    };
    for change in changes.iter().filter(is_theirs) {
        let mut lines = |files: Option<&dyn Files>| {
            let lines = files.map(|files| driver_lines(files, &change.path));
            let lines = lines.unwrap_or_else(|| Ok(BTreeSet::new()));
            // What may be in it is what may be run.
            lines.unwrap_or_else(|error| {
                unread.push(error.to_string());
                BTreeSet::from(["(unknown which)".to_owned()])
            })
        };
        let (was, now) = (lines(before), lines(after));
        let what = || format!("attribute in {}", String::from_utf8_lossy(change.path.as_bytes()));
        found.extend(now.difference(&was).map(|line| Execution {
            what: what(),
            was: None,
            now: Some(line.clone()),
        }));
        found.extend(was.difference(&now).map(|line| Execution {
            what: what(),
            was: Some(line.clone()),
            now: None,
        }));
    }
    found
}

fn moves(was: &Refs, is: &Refs) -> Vec<RefMove> {
    let names: BTreeSet<&Vec<u8>> = was.keys().chain(is.keys()).collect();
    let moved = names.into_iter().map(|name| RefMove {
        name: name.clone(),
        from: was.get(name).copied(),
        to: is.get(name).copied(),
    });
    moved.filter(|moved| moved.from != moved.to).collect()
}

fn staged(was: &State, is: &State) -> u64 {
    let paths: BTreeSet<_> = was.index.keys().chain(is.index.keys()).collect();
    let differs = paths
        .into_iter()
        .filter(|path| was.index.get(*path) != is.index.get(*path));
    differs.count() as u64
}

/// Returns the configuration files of a repository.
fn configs(repository: &Repository<'_>) -> Vec<RelPath> {
    let shared = repository.shared_git_dir().map(|dir| below(dir, "config"));
    let own = repository.git_dir().into_iter();
    let own = own.flat_map(|dir| [below(dir, "config.worktree"), below(dir, "config")]);
    shared
        .into_iter()
        .chain(own)
        .chain(repository.included_files())
        .collect()
}
