//! Paths that a plan may touch, and permissions that the operator gives.

use std::collections::{BTreeMap, BTreeSet};

use super::databases::Databases;
use crate::contract::PathGlob;
use crate::diff::Change;
use crate::git_directories::dot_git_above;
use crate::model::{Entry, Manifest, RelPath};

/// Paths that a plan may touch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Everything.
    All,
    /// The given paths and everything below them.
    Below(Tops),
    /// Exactly these paths.
    Exactly(BTreeSet<RelPath>),
    /// Paths with globs. [`Scope::resolved`] makes one of the others of it once both sides are known.
    Asked(Box<AskedPaths>),
}

/// Paths that stand for everything below them as well.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tops {
    /// In the order in which they were added.
    listed: Vec<RelPath>,
    /// The same, each once. A rename of a directory makes a top of every file in it, and each changed path is looked up.
    sorted: BTreeSet<RelPath>,
}

impl Tops {
    /// Returns the paths in the order in which they were added.
    #[must_use]
    pub fn listed(&self) -> &[RelPath] {
        &self.listed
    }

    /// Adds a path.
    pub(super) fn insert(&mut self, path: RelPath) {
        self.sorted.insert(path.clone());
        self.listed.push(path);
    }

    /// Returns true if a path is one of these or below one.
    pub(super) fn holds(&self, path: &RelPath) -> bool {
        is_held(&self.sorted, path)
    }

    /// Returns true if a path is one of these or below one, apart from the root.
    fn holds_below_root(&self, path: &RelPath) -> bool {
        let mut places = path.ancestors().chain([path.clone()]);
        places.any(|place| !place.is_root() && self.sorted.contains(&place))
    }
}

impl FromIterator<RelPath> for Tops {
    fn from_iter<I: IntoIterator<Item = RelPath>>(paths: I) -> Self {
        let listed: Vec<RelPath> = paths.into_iter().collect();
        let sorted = listed.iter().cloned().collect();
        Self { listed, sorted }
    }
}

/// Paths that an operator asked for with globs, or without some.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AskedPaths {
    /// Paths that are no globs; `None` for everything, if there are no globs either.
    pub tops: Option<Vec<RelPath>>,
    /// Words that are globs, unless a path goes by that very name.
    pub globs: Vec<AskedGlob>,
    /// Paths that stay out.
    pub excluded: Option<PathGlob>,
    /// Paths that were chosen among these; `None` for all of them.
    pub chosen: Option<BTreeSet<RelPath>>,
}

/// A word that may be a path or a glob.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AskedGlob {
    /// The word.
    pub word: String,
    /// The word as a path.
    pub literal: RelPath,
    /// True if that path exists now.
    pub is_there: bool,
    /// The word as a glob.
    pub glob: PathGlob,
}

/// A glob that matches no path on either side.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no path matches {word:?}")]
pub struct UnmatchedGlob {
    /// The glob.
    pub word: String,
}

impl AskedPaths {
    /// Returns the paths at or below which everything is meant, `None` for all. `candidates` are what a glob can choose from.
    fn tops(
        &self,
        sides: &[Option<&Manifest>],
        candidates: &[(&RelPath, bool)],
    ) -> Result<Option<Vec<RelPath>>, UnmatchedGlob> {
        if self.tops.is_none() && self.globs.is_empty() {
            return Ok(None);
        }
        let mut tops = self.tops.clone().unwrap_or_default();
        for asked in &self.globs {
            let mut held = sides.iter().flatten();
            if asked.is_there || held.any(|side| side.entry(&asked.literal).is_some()) {
                tops.push(asked.literal.clone());
                continue;
            }
            let before = tops.len();
            let matching = candidates
                .iter()
                .filter(|(path, is_dir)| asked.glob.matches(path, *is_dir));
            tops.extend(matching.map(|(path, _)| (*path).clone()));
            // Unchanged paths are no mistake: nothing is to be done for them.
            let is_known = |side: &Manifest| {
                let mut entries = side.entries();
                entries.any(|(path, entry)| asked.glob.matches(&path, entry.is_dir()))
            };
            if tops.len() == before && !sides.iter().flatten().any(|side| is_known(side)) {
                return Err(UnmatchedGlob {
                    word: asked.word.clone(),
                });
            }
        }
        Ok(Some(tops))
    }

    /// Returns the unchanged files of databases and repositories that a glob can choose from: one of them means the changed ones as well.
    fn parts_of_databases(
        &self,
        databases: &Databases,
        sides: &[Option<&Manifest>],
        changes: &[Change],
    ) -> BTreeSet<RelPath> {
        if self.globs.is_empty() {
            return BTreeSet::new();
        }
        let changed: BTreeSet<&RelPath> = changes.iter().map(|change| &change.path).collect();
        let entries = sides.iter().flatten().flat_map(|side| side.entries());
        let files = entries.filter(|(_, entry)| !entry.is_dir()).map(|(path, _)| path);
        files
            .filter(|path| databases.name(path).is_some() && !changed.contains(path))
            .collect()
    }

    fn is_excluded(&self, path: &RelPath, is_dir: bool) -> bool {
        let mut globs = self.excluded.iter();
        globs.any(|globs| globs.matches(path, is_dir))
    }

    /// Returns the changed paths that stay out: those that are excluded as what they were or as what they are, and the other side of every
    /// rename. To delete that alone would lose the file. Also returns each such other side, with the excluded one.
    fn out(&self, changes: &[Change], moves: &FindMoves<'_>) -> (BTreeSet<RelPath>, Vec<(RelPath, RelPath)>) {
        let is_out = |change: &&Change| {
            let mut sides = [&change.from, &change.to].into_iter().flatten();
            sides.any(|entry| self.is_excluded(&change.path, entry.is_dir()))
        };
        let mut out: BTreeSet<RelPath> = changes
            .iter()
            .filter(is_out)
            .map(|change| change.path.clone())
            .collect();
        let mut parted = Vec::new();
        if out.is_empty() {
            return (out, parted);
        }
        let changed: BTreeSet<&RelPath> = changes.iter().map(|change| &change.path).collect();
        let pairs = moves();
        loop {
            let mut more = BTreeMap::new();
            for (old, new) in &pairs {
                for (one, other) in [(old, new), (new, old)] {
                    // Of a directory that was renamed a path in it means the same path in the other one, also if the file was edited
                    // and is no pair itself.
                    let below = out.range(one..).take_while(|path| path.is_within(one));
                    let there = below.filter_map(|path| Some((within(other, one, path)?, path.clone())));
                    more.extend(there.filter(|(there, _)| changed.contains(there) && !out.contains(there)));
                }
            }
            if more.is_empty() {
                return (out, parted);
            }
            out.extend(more.keys().cloned());
            parted.extend(more);
        }
    }
}

/// Finds the pairs of an earlier and a later path of one object, when a scope needs them.
pub(super) type FindMoves<'a> = dyn Fn() -> Vec<(RelPath, RelPath)> + 'a;

/// Scope that depends on nothing but paths, with those that it holds beyond what was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedScope {
    /// The scope.
    pub scope: Scope,
    /// Other sides of renames of which one was asked for, and files of databases of which one was.
    pub also: Vec<RelPath>,
    /// Paths that stay out because of another one that is excluded, with that: the other side of a rename.
    pub parted: Vec<(RelPath, RelPath)>,
}

/// Scope in one snapshot, with what it holds beyond what was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotScope {
    /// The scope.
    pub scope: Scope,
    /// Other files of databases of which one was asked for.
    pub also: Vec<RelPath>,
    /// Databases of which a part is excluded, each with the first such path.
    pub incomplete: BTreeMap<RelPath, RelPath>,
}

/// Permissions that the operator gives beyond the reversal of the session's changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Allow {
    /// Replace what was changed or deleted later.
    pub overwrite_later: bool,
    /// Remove what was created later.
    pub delete_later: bool,
    /// Leave everything out that is git's own.
    pub files_only: bool,
    /// Take the session's change out of files with later edits.
    pub merging: Merging,
}

/// Treatment of files that were edited later.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Merging {
    /// They stay as they are.
    #[default]
    Off,
    /// They are merged where the edits do not overlap with the session's change, and stay otherwise.
    Clean,
    /// They are merged, with conflict markers where both overlap.
    Marked,
}

impl Scope {
    /// Returns true if the plan may touch `path` itself.
    #[must_use]
    pub fn holds(&self, path: &RelPath) -> bool {
        match self {
            Self::All => true,
            Self::Below(tops) => tops.holds(path),
            Self::Exactly(paths) => paths.contains(path),
            Self::Asked(asked) => {
                let tops = asked.tops.as_deref().unwrap_or_default();
                let is_all = asked.tops.is_none() && asked.globs.is_empty();
                let mut globs = asked.globs.iter();
                (is_all
                    || tops.iter().any(|top| path.is_within(top))
                    || globs.any(|one| path.is_within(&one.literal) || one.glob.matches(path, false)))
                    && !asked.is_excluded(path, false)
                    && asked.chosen.as_ref().is_none_or(|chosen| chosen.contains(path))
            }
        }
    }

    /// Returns the scope for two sides that differ in `changes`: globs become the changed paths that they match, and both sides of a rename,
    /// which `moves` finds, belong together. Of a rename of which one side is excluded, both stay out.
    ///
    /// # Errors
    /// [`UnmatchedGlob`].
    pub fn resolved(
        &self,
        sides: &[Option<&Manifest>],
        changes: &[Change],
        moves: &FindMoves<'_>,
    ) -> Result<ResolvedScope, UnmatchedGlob> {
        let databases = || Databases::of(sides.iter().copied().flatten());
        let asked = match self {
            Self::Asked(asked) => asked,
            Self::All | Self::Exactly(_) => {
                return Ok(ResolvedScope {
                    scope: self.clone(),
                    also: Vec::new(),
                    parted: Vec::new(),
                });
            }
            Self::Below(_) => {
                let scope = self.with_others(changes, moves, &databases());
                let also = scope.beyond(self);
                return Ok(ResolvedScope {
                    scope,
                    also,
                    parted: Vec::new(),
                });
            }
        };
        let is_dir = |change: &Change| {
            let entry = change.to.as_ref().or(change.from.as_ref());
            entry.is_some_and(Entry::is_dir)
        };
        let databases = databases();
        let parts = asked.parts_of_databases(&databases, sides, changes);
        let candidates: Vec<(&RelPath, bool)> = changes
            .iter()
            .map(|change| (&change.path, is_dir(change)))
            .chain(parts.iter().map(|part| (part, false)))
            .collect();
        let named = match asked.tops(sides, &candidates)? {
            Some(tops) => Self::Below(tops.into_iter().collect()),
            None => Self::All,
        };
        let scope = named.with_others(changes, moves, &databases);
        let also = scope.beyond(&named);
        let (out, mut parted) = asked.out(changes, moves);
        let is_meant = |path: &RelPath| scope.holds(path);
        parted.retain(|(path, _)| is_meant(path));
        let held = changes.iter().map(|change| &change.path);
        let held = held.filter(|path| is_meant(path) && !out.contains(path));
        let chosen = asked.chosen.as_ref();
        let held = held.filter(|path| chosen.is_none_or(|chosen| chosen.contains(path)));
        let held: BTreeSet<RelPath> = held.cloned().collect();
        let is_part = |path: &RelPath| holds_one_below(&held, path);
        let also = also.into_iter().filter(is_part).collect();
        let scope = Self::Exactly(held);
        Ok(ResolvedScope { scope, also, parted })
    }

    /// Returns the scope for one side alone, of which any path can be meant. A file of a database means all of it.
    ///
    /// # Errors
    /// [`UnmatchedGlob`].
    pub fn resolved_in(&self, side: &Manifest) -> Result<SnapshotScope, UnmatchedGlob> {
        let asked = match self {
            Self::All | Self::Exactly(_) => {
                return Ok(SnapshotScope {
                    scope: self.clone(),
                    also: Vec::new(),
                    incomplete: BTreeMap::new(),
                });
            }
            Self::Below(tops) => &AskedPaths {
                tops: Some(tops.listed().to_vec()),
                ..AskedPaths::default()
            },
            Self::Asked(asked) => asked.as_ref(),
        };
        let databases = Databases::of([side]);
        let entries: Vec<(RelPath, bool)> = side
            .entries()
            .map(|(path, entry)| (path, entry.is_dir()))
            .collect();
        let candidates: Vec<(&RelPath, bool)> =
            entries.iter().map(|(path, is_dir)| (path, *is_dir)).collect();
        let tops = asked.tops(&[Some(side)], &candidates)?;
        let mut tops: Option<BTreeSet<RelPath>> = tops.map(|tops| tops.into_iter().collect());
        let (out, files): (Vec<_>, Vec<_>) = candidates
            .into_iter()
            .partition(|(path, is_dir)| asked.is_excluded(path, *is_dir));
        let mut held: BTreeSet<&RelPath> = files.into_iter().map(|(path, _)| path).collect();
        let mut also = Vec::new();
        if let Some(tops) = &mut tops {
            loop {
                let missing = held.iter().copied().filter(|path| !is_held(tops, path));
                let rest = databases.rest_of(tops, &missing.collect());
                if rest.is_empty() {
                    break;
                }
                also.extend(rest.iter().cloned());
                tops.extend(rest);
            }
            held.retain(|path| is_held(tops, path));
        }
        // What can be made again from the other files is no loss.
        let name = |path: &RelPath| databases.name(path).filter(|_| !databases.is_derived(path));
        let mut incomplete = BTreeMap::new();
        let excluded = out.into_iter().filter(|(_, is_dir)| !is_dir);
        for (database, path) in excluded.filter_map(|(path, _)| Some((name(path)?, path))) {
            incomplete.entry(database).or_insert_with(|| path.clone());
        }
        if !incomplete.is_empty() {
            let written: BTreeSet<RelPath> = held.iter().filter_map(|path| name(path)).collect();
            incomplete.retain(|database, _| written.contains(database));
        }
        let scope = match (self, tops) {
            (Self::Below(_), Some(tops)) => Self::Below(tops.into_iter().collect()),
            _ => Self::Exactly(held.into_iter().cloned().collect()),
        };
        Ok(SnapshotScope {
            scope,
            also,
            incomplete,
        })
    }

    /// Returns the paths that were asked for by name.
    #[must_use]
    pub fn named(&self) -> &[RelPath] {
        match self {
            Self::Below(tops) => tops.listed(),
            Self::Asked(asked) => asked.tops.as_deref().unwrap_or_default(),
            Self::All | Self::Exactly(_) => &[],
        }
    }

    /// Returns true if `path` was asked for by its name or that of a directory below the root.
    pub(super) fn names(&self, path: &RelPath) -> bool {
        match self {
            Self::Below(tops) => tops.holds_below_root(path),
            Self::Asked(asked) => {
                let mut tops = asked.tops.iter().flatten();
                tops.any(|top| !top.is_root() && path.is_within(top))
            }
            Self::All | Self::Exactly(_) => false,
        }
    }

    /// The same with the other side of every rename of which it holds one: to delete the new name of a file without bringing back the
    /// old one would lose the file. `changes` are all that differs, whatever the scope. Of a directory that was renamed a path in it
    /// means the same path in the other one, and a file of a database means all of it.
    fn with_others(&self, changes: &[Change], moves: &FindMoves<'_>, databases: &Databases) -> Self {
        let Self::Below(tops) = self else {
            return self.clone();
        };
        let pairs = moves();
        let changed: BTreeSet<&RelPath> = changes.iter().map(|change| &change.path).collect();
        let is_dir = |entry: &Option<Entry>| entry.as_ref().is_some_and(Entry::is_dir);
        let gone = |change: &&Change| is_dir(&change.from) && !is_dir(&change.to);
        let made = |change: &&Change| !is_dir(&change.from) && is_dir(&change.to);
        let gone: BTreeSet<&RelPath> = changes.iter().filter(gone).map(|change| &change.path).collect();
        let made: BTreeSet<&RelPath> = changes.iter().filter(made).map(|change| &change.path).collect();
        // A file that moved between two git directories says nothing of the others in them.
        let is_renamed = |old: &RelPath, new: &RelPath| gone.contains(old) && made.contains(new);
        let mut held = tops.sorted.clone();
        // One rename may lead to the next: a name that became free was taken.
        loop {
            let mut more = BTreeSet::new();
            for (old, new) in &pairs {
                for (one, other) in [(old, new), (new, old)] {
                    if is_held(&held, one) && !is_held(&held, other) {
                        more.insert(other.clone());
                        // A part of a git directory that was renamed is of no use without the others, nor are they without it.
                        if let (Some(own), Some(theirs)) = (dot_git_above(one), dot_git_above(other))
                            && (is_renamed(&own, &theirs) || is_renamed(&theirs, &own))
                        {
                            more.extend([own, theirs].into_iter().filter(|git| !is_held(&held, git)));
                        }
                    }
                    let below = held.range(one..).take_while(|top| top.is_within(one));
                    for top in below.filter(|top| *top != one) {
                        let whole = dot_git_above(top).filter(|git| git.is_within(one));
                        let top = whole.as_ref().unwrap_or(top);
                        let there = within(other, one, top).into_iter().chain([top.clone()]);
                        more.extend(there.filter(|there| changed.contains(there) && !is_held(&held, there)));
                    }
                }
            }
            // Another file than the one that is named may be all that changed.
            let missing = changed.iter().copied().filter(|path| !is_held(&held, path));
            more.extend(databases.rest_of(&held, &missing.collect()));
            if more.is_empty() {
                break;
            }
            held.extend(more);
        }
        let also = held.into_iter().filter(|path| !tops.sorted.contains(path));
        Self::Below(tops.listed.iter().cloned().chain(also).collect())
    }

    /// The paths that it holds and `asked` does not name.
    #[must_use]
    pub fn beyond(&self, asked: &Self) -> Vec<RelPath> {
        match (self, asked) {
            (Self::Below(all), Self::Below(named)) => {
                let beyond = all.listed.iter().filter(|path| !named.sorted.contains(path));
                beyond.cloned().collect()
            }
            _ => Vec::new(),
        }
    }

    /// Returns true if an unknown path lies at, above or below a path of the scope.
    pub(super) fn concerns(&self, path: &RelPath) -> bool {
        let meets = |tops: &BTreeSet<RelPath>| is_held(tops, path) || holds_one_below(tops, path);
        match self {
            Self::All => true,
            Self::Below(tops) => meets(&tops.sorted),
            Self::Exactly(paths) => meets(paths),
            Self::Asked(_) => true,
        }
    }
}

/// Returns true if a path is one of these or below one.
fn is_held(tops: &BTreeSet<RelPath>, path: &RelPath) -> bool {
    tops.contains(path) || path.ancestors().any(|above| tops.contains(&above))
}

/// Returns true if one of these is `path` or below it: in their order it would come next.
fn holds_one_below(tops: &BTreeSet<RelPath>, path: &RelPath) -> bool {
    tops.range(path..).next().is_some_and(|top| top.is_within(path))
}

/// `path`, which lies in `from`, as it is called in `to`.
pub(super) fn within(to: &RelPath, from: &RelPath, path: &RelPath) -> Option<RelPath> {
    let rest = path.as_bytes().strip_prefix(from.as_bytes())?;
    RelPath::new(&[to.as_bytes(), rest].concat()).ok()
}
