//! Folding: a list of changes as fewer lines. Each line states exactly which changes it covers.

mod renamed;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::Change;
use crate::contract::PrivateFiles;
use crate::diff::{ChangeKind, is_secret_path};
use crate::git_directories::dot_git_above;
use crate::model::{Coverage, Entry, EntryKind, RelPath, directories_above};
use git_reader::is_dot_git;

/// Fewest changes that a fold replaces. The names of fewer ones say more than their number.
const FEWEST: usize = 5;
/// Number of lines above which changed files of one directory fold although the directory itself stays.
const MANY: usize = 100;

/// One change, as far as folding needs it.
#[derive(Clone, Debug)]
pub(crate) struct Foldable<'a> {
    /// Path below the mount.
    pub(crate) path: &'a RelPath,
    /// Earlier path of a renamed one.
    pub(crate) from_path: Option<&'a RelPath>,
    pub(crate) kind: ChangeKind,
    pub(crate) is_directory: bool,
    /// Its line ends with a note that a fold may end with as well: of a difference that the path became again what the earlier snapshot
    /// has, of a step that it makes again what was deleted later.
    pub(crate) is_marked: bool,
    /// The change is a line of its own in any case.
    pub(crate) stands_alone: bool,
}

/// A line of a folded list. Numbers are positions in the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FoldedLine {
    /// One change.
    One(usize),
    /// Several changes.
    Fold(Fold),
}

/// Several changes on one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fold {
    pub(crate) extent: Extent,
    /// The directory that holds all of them; of a renamed one its new path.
    pub(crate) path: RelPath,
    /// Earlier path of a renamed directory.
    pub(crate) from_path: Option<RelPath>,
    /// Positions of the changes, ascending.
    pub(crate) items: Vec<usize>,
    /// Number of changes below `path` that are no directories.
    pub(crate) files: u64,
    /// Number of directories below `path`.
    pub(crate) directories: u64,
    /// Changes below `path` are also on other lines.
    pub(crate) has_others: bool,
    /// The note is that of all its changes.
    pub(crate) is_marked: bool,
}

/// Part of a directory that a fold covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// The directory with everything below it: all was changed in this way.
    Whole(ChangeKind),
    /// A renamed directory: each file in it kept its place and content.
    Moved,
    /// Files directly in a directory that itself stays: each was changed in this way.
    Files(ChangeKind),
    /// Git's own data. `None`: changes of several kinds.
    Git(Option<ChangeKind>),
}

/// Returns the lines of a list. `unknown` are paths beside the list that keep the directories above them unfolded.
pub(crate) fn fold<'a>(
    list: &[Foldable<'_>],
    repositories: &[&RelPath],
    unknown: impl Iterator<Item = &'a RelPath>,
) -> Vec<FoldedLine> {
    let mut folding = Folding {
        list,
        owner: vec![None; list.len()],
        folds: Vec::new(),
    };
    folding.git(repositories);
    let unknown = directories_above(unknown);
    folding.renamed(&unknown);
    folding.directories(&unknown);
    if folding.lines() > MANY {
        folding.files();
    }
    folding.into_lines()
}

/// Returns what folding needs of each change. Beside each: whether its line ends with the note that folds have, and
/// whether something else than its name and mode keeps it out of folds.
pub(crate) fn foldable<'a>(
    coverage: &Coverage,
    changes: impl Iterator<Item = (&'a Change, bool, bool)>,
) -> Vec<Foldable<'a>> {
    let private = PrivateFiles::of(coverage);
    let of_change = |(change, is_marked, stands_alone): (&'a Change, bool, bool)| Foldable {
        path: &change.path,
        from_path: change.from_path.as_ref(),
        kind: change.kind,
        is_directory: change
            .to
            .as_ref()
            .or(change.from.as_ref())
            .is_some_and(Entry::is_dir),
        is_marked,
        stands_alone: stands_alone || matters(coverage, &private, change),
    };
    changes.map(of_change).collect()
}

/// Returns the lines for the changes of a session that are only listed.
pub(crate) fn fold_changes(coverage: &Coverage, changes: &[Change]) -> Vec<FoldedLine> {
    let list = foldable(coverage, changes.iter().map(|change| (change, false, false)));
    fold(&list, &[], std::iter::empty())
}

/// Returns true if a change is one that folds never hide.
pub(crate) fn is_notable(coverage: &Coverage, change: &Change) -> bool {
    matters(coverage, &PrivateFiles::of(coverage), change)
}

struct Folding<'l, 'a> {
    list: &'l [Foldable<'a>],
    /// The fold of each change.
    owner: Vec<Option<usize>>,
    folds: Vec<Fold>,
}

impl Folding<'_, '_> {
    /// Folds what changed in each git directory.
    fn git(&mut self, repositories: &[&RelPath]) {
        let mut found: Vec<(RelPath, Vec<usize>)> = Vec::new();
        let mut at: HashMap<RelPath, usize> = HashMap::new();
        for (number, item) in self.list.iter().enumerate() {
            let Some(own) = git_directory(item.path, repositories) else {
                continue;
            };
            let place = *at.entry(own.clone()).or_insert_with(|| {
                found.push((own, Vec::new()));
                found.len() - 1
            });
            if let Some((_, all)) = found.get_mut(place) {
                all.push(number);
            }
        }
        for (own, all) in found {
            let moved_in = |item: &Foldable<'_>| item.from_path.is_some_and(|from| !from.is_within(&own));
            let (alone, items): (Vec<usize>, Vec<usize>) = all.iter().partition(|at| {
                self.item(**at)
                    .is_none_or(|item| item.stands_alone || moved_in(item))
            });
            let kind = self.common_kind(&all, &own);
            self.add(Extent::Git(kind), own, None, items, !alone.is_empty());
        }
    }

    /// Returns the kind of all these changes, if the directory itself was changed in the same way.
    fn common_kind(&self, all: &[usize], own: &RelPath) -> Option<ChangeKind> {
        let items = || all.iter().filter_map(|at| self.item(*at));
        let own = items().find(|item| item.path == own)?.kind;
        let is_whole = matches!(own, ChangeKind::Added | ChangeKind::Deleted);
        (is_whole && items().all(|item| item.kind == own)).then_some(own)
    }

    /// Folds directories that were added or deleted with everything below them.
    fn directories(&mut self, unknown: &BTreeSet<RelPath>) {
        let is_whole = |at: usize| {
            let item = self.item(at).filter(|item| {
                let folds = matches!(item.kind, ChangeKind::Added | ChangeKind::Deleted);
                folds && item.is_directory && !item.stands_alone && !item.path.is_root()
            });
            item.is_some() && self.owner.get(at).is_some_and(Option::is_none)
        };
        let above = self.innermost(&is_whole);
        let dirs_above = |at: usize| {
            let above = |at: &usize| above.get(*at).copied().flatten();
            std::iter::successors(above(&at), above)
        };
        let mut mixed: HashSet<usize> = HashSet::new();
        for (at, item) in self.list.iter().enumerate() {
            if is_whole(at) && unknown.contains(item.path) {
                mixed.insert(at);
            }
            let fits = |dir: &usize| self.item(*dir).is_some_and(|dir| is_part_of(item, dir));
            mixed.extend(dirs_above(at).filter(|dir| !fits(dir)));
        }
        let mut groups: BTreeMap<usize, (Vec<usize>, bool)> = BTreeMap::new();
        for (number, item) in self.list.iter().enumerate() {
            let itself = Some(number).filter(|at| is_whole(*at));
            let tops = itself.into_iter().chain(dirs_above(number));
            let Some(top) = tops.filter(|dir| !mixed.contains(dir)).last() else {
                continue;
            };
            let (items, has_others) = groups.entry(top).or_default();
            match item.stands_alone || self.owner.get(number).is_some_and(Option::is_some) {
                true => *has_others = true,
                false => items.push(number),
            }
        }
        let mut groups: Vec<_> = groups.into_iter().collect();
        groups.sort_by(|one, other| one.1.0.cmp(&other.1.0));
        for (top, (items, has_others)) in groups {
            if let Some((path, kind)) = self.item(top).map(|item| (item.path.clone(), item.kind)) {
                self.add(Extent::Whole(kind), path, None, items, has_others);
            }
        }
    }

    /// Returns for each change the innermost one of these directories that holds it. Only paths that follow each other are compared, as those of
    /// a deep tree are long.
    fn innermost(&self, is_one: &dyn Fn(usize) -> bool) -> Vec<Option<usize>> {
        let mut order: Vec<(&RelPath, usize)> = self.list.iter().map(|item| item.path).zip(0..).collect();
        order.sort_unstable();
        let mut found = vec![None; self.list.len()];
        let mut open: Vec<(&RelPath, usize)> = Vec::new();
        for (path, at) in order {
            while open
                .pop_if(|(dir, _)| !path.is_within(dir) || path == *dir)
                .is_some()
            {}
            if let Some(found) = found.get_mut(at) {
                *found = open.last().map(|(_, dir)| *dir);
            }
            if is_one(at) {
                open.push((path, at));
            }
        }
        found
    }

    /// Folds files of one directory that were changed in one way.
    fn files(&mut self) {
        let mut groups: Vec<((RelPath, ChangeKind, bool), Vec<usize>)> = Vec::new();
        let mut at: HashMap<(RelPath, ChangeKind, bool), usize> = HashMap::new();
        for (number, (item, owner)) in self.list.iter().zip(&self.owner).enumerate() {
            let folds = matches!(
                item.kind,
                ChangeKind::Added | ChangeKind::Deleted | ChangeKind::Modified
            );
            let Some((above, _)) = item.path.split() else {
                continue;
            };
            if !folds || item.is_directory || item.stands_alone || owner.is_some() {
                continue;
            }
            let key = (above, item.kind, item.is_marked);
            let place = *at.entry(key.clone()).or_insert_with(|| {
                groups.push((key, Vec::new()));
                groups.len() - 1
            });
            if let Some((_, items)) = groups.get_mut(place) {
                items.push(number);
            }
        }
        for ((path, kind, _), items) in groups {
            self.add(Extent::Files(kind), path, None, items, false);
        }
    }

    /// Adds a fold if it replaces enough lines.
    fn add(
        &mut self,
        extent: Extent,
        path: RelPath,
        from_path: Option<RelPath>,
        items: Vec<usize>,
        has_others: bool,
    ) {
        let all = || items.iter().filter_map(|at| self.item(*at));
        let below = || all().filter(|item| *item.path != path && item.path.is_within(&path));
        if below().count() < FEWEST {
            return;
        }
        let directories = below().filter(|item| item.is_directory);
        let fold = Fold {
            extent,
            files: below().filter(|item| !item.is_directory).count() as u64,
            directories: directories.count() as u64,
            is_marked: all().all(|item| item.is_marked),
            path,
            from_path,
            has_others,
            items: items.clone(),
        };
        let number = self.folds.len();
        self.folds.push(fold);
        for at in items {
            if let Some(owner) = self.owner.get_mut(at) {
                *owner = Some(number);
            }
        }
    }

    fn item(&self, at: usize) -> Option<&Foldable<'_>> {
        self.list.get(at)
    }

    fn lines(&self) -> usize {
        self.owner.iter().filter(|owner| owner.is_none()).count() + self.folds.len()
    }

    /// Each fold stands where its first change was.
    fn into_lines(self) -> Vec<FoldedLine> {
        let mut folds: Vec<Option<Fold>> = self.folds.into_iter().map(Some).collect();
        let mut lines = Vec::new();
        for (at, owner) in self.owner.iter().enumerate() {
            match owner {
                None => lines.push(FoldedLine::One(at)),
                Some(fold) => {
                    lines.extend(folds.get_mut(*fold).and_then(Option::take).map(FoldedLine::Fold));
                }
            }
        }
        lines
    }
}

/// Returns true if a change below a directory is part of the change of the directory.
fn is_part_of(item: &Foldable<'_>, dir: &Foldable<'_>) -> bool {
    item.kind == dir.kind && item.is_marked == dir.is_marked
}

/// Returns the outermost git directory that a path is or is in.
fn git_directory(path: &RelPath, repositories: &[&RelPath]) -> Option<RelPath> {
    // A repository without a work tree; the root of a mount would fold everything.
    let bare = || {
        let all = repositories.iter().filter(|own| !own.is_root());
        all.filter(|own| path.is_within(own))
            .min_by_key(|own| own.as_bytes().len())
            .map(|own| (*own).clone())
    };
    dot_git_above(path).or_else(bare)
}

/// Names of directories and files from which agents and git take orders.
const ORDERS: [&[u8]; 17] = [
    b".claude",
    b".codex",
    b".cursor",
    b".gemini",
    b".opencode",
    b".githooks",
    b".husky",
    b".vscode",
    b".mcp.json",
    b".claude.json",
    b".gitattributes",
    b".gitmodules",
    b".pre-commit-config.yaml",
    b"CLAUDE.md",
    b"AGENTS.md",
    b"GEMINI.md",
    b"opencode.json",
];

/// Returns true if a change must not be hidden in a fold: programs, hooks, settings of agents and of git, secrets.
fn matters(coverage: &Coverage, private: &PrivateFiles, change: &Change) -> bool {
    let sides = [change.from.as_ref(), change.to.as_ref()];
    let is_executable = |entry: &Entry| matches!(entry.kind, EntryKind::File(_)) && entry.mode & 0o111 != 0;
    let paths = [Some(&change.path), change.from_path.as_ref()];
    let in_git = change.path.parts().any(is_dot_git);
    let root = coverage.root.to_path();
    let is_directory = sides.iter().flatten().all(|entry| entry.is_dir());
    if is_directory {
        return false;
    }
    let is_named_so = |path| {
        is_secret_path(&root, path, None)
            || private.holds(path)
            || private.is_by_key(path)
            || is_order(path, coverage.state)
    };
    change.has_secret_name
        || paths.into_iter().flatten().any(is_named_so)
        || (!in_git && sides.into_iter().flatten().any(is_executable))
}

/// Returns true if git or an agent takes orders from a file of this path. An agent's home holds much that is no order.
fn is_order(path: &RelPath, in_agent_home: bool) -> bool {
    // Where case does not count, each of them is found under the usual name.
    let is_named_so = |name: &[u8]| ORDERS.iter().any(|order| name.eq_ignore_ascii_case(order));
    let mut parts = path.parts().skip_while(|part| !is_dot_git(part));
    if parts.next().is_some() {
        let below: Vec<&[u8]> = parts.collect();
        return match below.as_slice() {
            [.., b"hooks", name] => !name.ends_with(b".sample"),
            [.., b"info", b"attributes"] => true,
            [name] => matches!(*name, b"config" | b"config.worktree" | b"HEAD"),
            [b"modules", .., name] => matches!(*name, b"config" | b"config.worktree"),
            [b"worktrees", _, name] => *name == b"config.worktree",
            [..] => false,
        };
    }
    if in_agent_home {
        let name = path.parts().last().unwrap_or_default();
        return is_named_so(name) || name.starts_with(b"settings") || name.starts_with(b"config");
    }
    path.parts().any(is_named_so)
}

#[cfg(test)]
mod tests;
