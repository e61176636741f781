//! What changed about a git repository, read from its files: first what makes git run programs, then HEAD, branches, commits,
//! index, stashes.

use std::collections::{BTreeMap, BTreeSet};

use super::commits::{Commits, between};
use super::{Change, HIDDEN};
use crate::git::{
    Executable, Files, Head, IndexEntry, Oid, Operation, Refs, Repository, below, driver_lines, executables,
    work_tree,
};
use crate::model::RelPath;

/// So many doubts are told.
const MOST_DOUBTS: usize = 20;

/// Something that makes git run a program, and was changed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Execution {
    /// What it is: `hook pre-commit`, `core.fsmonitor`.
    pub what: String,
    /// Its value before; `None`: it was not there.
    pub was: Option<String>,
    /// Its value now; `None`: it is gone.
    pub now: Option<String>,
}

/// A ref that was moved, made or removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefMove {
    /// e.g. `refs/heads/main`.
    pub name: Vec<u8>,
    /// Before.
    pub from: Option<Oid>,
    /// Now.
    pub to: Option<Oid>,
}

/// What changed about one repository.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RepositoryChange {
    /// What is git's own: `.git`, or the repository itself when it is bare.
    pub own: RelPath,
    /// It was not there before.
    pub appeared: bool,
    /// It is not there any more.
    pub vanished: bool,
    /// What makes git run programs.
    pub executions: Vec<Execution>,
    /// Where HEAD pointed and points, when that differs.
    pub head: Option<(Head, Head)>,
    /// Refs that differ.
    pub refs: Vec<RefMove>,
    /// Commits that only the later state reaches.
    pub made: Commits,
    /// Commits that only the earlier state reaches.
    pub lost: Commits,
    /// Commits that were made meanwhile and given up: HEAD was at them, and only its reflog has them now.
    pub given_up: Commits,
    /// Paths of the index that differ.
    pub staged: u64,
    /// How many stashes there were and are.
    pub stashes: (u64, u64),
    /// What was and is in the middle: a merge, a rebase.
    pub operations: (Vec<Operation>, Vec<Operation>),
    /// What could not be read, and is therefore not told.
    pub doubts: Vec<String>,
    /// The files that configuration was read from.
    pub configs: BTreeSet<RelPath>,
}

impl RepositoryChange {
    /// Keeps what was changed, and not to what: only its owner may read the configuration.
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

    /// Whether there is nothing to tell.
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
    stashes: u64,
    operations: Vec<Operation>,
    doubts: Vec<String>,
}

/// Compares a repository before and after, `own` being what is git's. `changes` are those of the whole mount.
#[must_use]
pub fn compare_repository<'f>(
    own: &RelPath,
    before: Option<&'f dyn Files>,
    after: Option<&'f dyn Files>,
    changes: &[Change],
) -> RepositoryChange {
    let work = work_tree(own);
    let mut unread = Vec::new();
    let mut open = |files: Option<&'f dyn Files>| match Repository::open(files?, &work) {
        Ok(found) => found,
        Err(error) => {
            unread.push(error.to_string());
            None
        }
    };
    let (old, new) = (open(before), open(after));
    let state = |side: &Option<Repository<'_>>| side.as_ref().map(State::of).unwrap_or_default();
    let (was, is) = (state(&old), state(&new));
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
        .extend(touched_hooks(own, changes, &change.executions));
    change
        .executions
        .extend(attributes(&work, before, after, changes, &mut unread));
    change.executions.sort();
    change.executions.dedup();
    let sides: Vec<&Repository<'_>> = [&new, &old].into_iter().flatten().collect();
    change.configs = sides.iter().flat_map(|side| configs(side)).collect();
    change.made = between(&sides, &is.tips(), &was.tips());
    change.lost = between(&sides, &was.tips(), &is.tips());
    let meanwhile: Vec<Oid> = is.recent.difference(&was.recent).copied().collect();
    let known: Vec<Oid> = [was.tips(), is.tips()].concat();
    change.given_up = between(&sides, &meanwhile, &known);
    let mut doubts: Vec<String> = unread.into_iter().chain(was.doubts).chain(is.doubts).collect();
    doubts.sort();
    doubts.dedup();
    doubts.truncate(MOST_DOUBTS);
    change.doubts = doubts;
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
        match repository.head() {
            Ok(head) => state.head = head,
            Err(error) => note(error.to_string()),
        }
        match repository.refs() {
            Ok(refs) => state.refs = refs,
            Err(error) => note(error.to_string()),
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
        state.doubts.extend(repository.doubts());
        state
    }

    /// Every commit that something leads to.
    fn tips(&self) -> Vec<Oid> {
        let stash = self.refs.values().copied();
        self.head.commit.into_iter().chain(stash).collect()
    }
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

/// Hooks whose content changed, though they are there before and after.
fn touched_hooks(own: &RelPath, changes: &[Change], known: &[Execution]) -> Vec<Execution> {
    let hook = |change: &Change| {
        let (dir, name) = change.path.split()?;
        let (above, hooks) = dir.split()?;
        let is_hook = above == *own && hooks.as_bytes() == b"hooks" && !name.as_bytes().ends_with(b".sample");
        let both = change.from.is_some() && change.to.is_some();
        let what = format!("hook {}", String::from_utf8_lossy(name.as_bytes()));
        (is_hook && both && !known.iter().any(|execution| execution.what == what)).then(|| Execution {
            what,
            was: Some("before".to_owned()),
            now: Some("changed".to_owned()),
        })
    };
    changes.iter().filter_map(hook).collect()
}

/// Lines of `.gitattributes` that give paths to a driver.
fn attributes(
    work: &RelPath,
    before: Option<&dyn Files>,
    after: Option<&dyn Files>,
    changes: &[Change],
    unread: &mut Vec<String>,
) -> Vec<Execution> {
    let mut found = Vec::new();
    let is_theirs = |change: &&Change| {
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
                BTreeSet::from(["(it cannot be told which)".to_owned()])
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

/// Where a repository has its configuration.
fn configs(repository: &Repository<'_>) -> Vec<RelPath> {
    let shared = repository.shared_git_dir().map(|dir| below(dir, "config"));
    let own = repository.git_dir().into_iter();
    let own = own.flat_map(|dir| [below(dir, "config.worktree"), below(dir, "config")]);
    shared.into_iter().chain(own).collect()
}
