//! Facts of the git repositories in a mount, taken from their files and the manifest; git is never started. Content is hashed as
//! git does only if it may have changed since the parent snapshot.

mod clean_worktrees;
mod git_status;
mod staged;
mod state;

use std::collections::BTreeSet;
use std::path::Path;

pub(super) use self::clean_worktrees::{Settled, settle};
use self::state::state;
use crate::contract::{Matcher, Verdict};
use crate::git_directories::{Repositories, work_tree};
use crate::model::{
    Coverage, GitCoverage, Manifest, RelPath, RepositoryClass, RepositoryFacts, RepositoryState, add_sizes,
};
use git_reader::{Files as _, Found, Live, Repository};
use handle_fs::Root;
use handle_fs::remote::{Transports, above, upwards};

/// Maximum number of repositories of a mount that are examined.
const MOST_REPOSITORIES: usize = 200;
/// Maximum number of doubts in a contract.
const MOST_TOLD: usize = 5;
/// Maximum length of a recorded list.
const MOST_LISTED: usize = 1000;

/// Known state of the mount, with the facts recorded for it.
#[derive(Clone, Copy)]
pub(super) struct Before<'a> {
    pub(super) manifest: &'a Manifest,
    pub(super) facts: &'a [RepositoryFacts],
}

/// A repository and its work tree.
struct WorktreeStatus<'a> {
    root: &'a Root,
    manifest: &'a Manifest,
    /// Excluded paths.
    skipped: &'a BTreeSet<&'a RelPath>,
    /// Git directory of the repository.
    own: &'a RelPath,
    /// The work trees of all repositories of the mount.
    works: &'a BTreeSet<RelPath>,
    repository: &'a Repository<'a>,
}

impl WorktreeStatus<'_> {
    /// Returns true if a path belongs to this work tree, and to no repository inside it.
    fn is_ours(&self, work: &RelPath, path: &RelPath) -> bool {
        let inner = |above: &RelPath| above != work && above.is_within(work) && self.works.contains(above);
        let foreign = inner(path) || path.ancestors().any(|above| inner(&above));
        path.is_within(work) && !path.is_within(self.own) && !foreign
    }
}

/// Examines every repository of a mount. `skipped` are the excluded paths; `kept` is true if the rest is captured.
pub(super) fn survey(
    root: &Root,
    manifest: &Manifest,
    skipped: &BTreeSet<&RelPath>,
    before: Option<Before<'_>>,
    kept: bool,
) -> Vec<RepositoryFacts> {
    let mut all: BTreeSet<RelPath> = Repositories::of([manifest]).iter().cloned().collect();
    all.extend(
        skipped
            .iter()
            .filter(|path| is_git(path))
            .map(|path| (*path).clone()),
    );
    let works: BTreeSet<RelPath> = all.iter().map(work_tree).collect();
    // One tree, so that the effort for its objects is bounded for all repositories together.
    let live = Live::new(root);
    let look = |own: &RelPath| {
        let known =
            before.and_then(|before| Some((before, before.facts.iter().find(|facts| facts.own == *own)?)));
        let mut facts = match Repository::open(&live, &work_tree(own)) {
            Ok(Some(repository)) => {
                let dirt = WorktreeStatus {
                    root,
                    manifest,
                    skipped,
                    own,
                    works: &works,
                    repository: &repository,
                };
                facts(&repository, &dirt, known)
            }
            // A directory of that name with nothing of a repository in it.
            Ok(None) => return None,
            Err(error) => unreadable(own, error.to_string()),
        };
        facts.bytes = size(manifest, own);
        let (covered, partly) = covered(own, skipped);
        facts.state.covered = if kept { covered } else { GitCoverage::Off };
        if let Some(first) = partly.first().filter(|_| kept) {
            facts.doubt(format!("{} is excluded", first.as_path().display()));
        }
        Some(facts)
    };
    // Those nearest to the root first: what is planted deep must not push them out.
    let mut nearest: Vec<&RelPath> = all.iter().collect();
    nearest.sort_by_key(|own| own.parts().count());
    let more = nearest.len().saturating_sub(MOST_REPOSITORIES);
    let mut found: Vec<RepositoryFacts> = nearest
        .into_iter()
        .take(MOST_REPOSITORIES)
        .filter_map(look)
        .collect();
    if let Some(first) = found.first_mut().filter(|_| more > 0) {
        first.doubt(format!("{more} more repositories of the mount are not checked"));
    }
    found.sort_by(|a, b| a.own.cmp(&b.own));
    found
}

/// Returns the state of the repository at a mount root without reading its work tree; `None` if there is none.
#[must_use]
pub fn repository_summary(transports: &Transports, coverage: &Coverage) -> Option<RepositoryState> {
    let root = Root::open(transports, &coverage.root.to_path()).ok()?;
    let live = Live::new(&root);
    let mut state = match Repository::open(&live, &RelPath::root()) {
        Ok(None) => return None,
        Ok(Some(repository)) => state(&repository, None).state,
        Err(error) => RepositoryState {
            doubts: vec![error.to_string()],
            ..RepositoryState::default()
        },
    };
    tidy(&mut state.doubts, MOST_TOLD);
    let matcher = Matcher::new(coverage).ok()?;
    let left_out = |path: &[u8]| {
        let path = RelPath::new(path).ok();
        path.is_some_and(|path| matches!(matcher.verdict_with_parents(&path, true), Verdict::Excluded(_)))
    };
    state.covered = match (left_out(b".git"), left_out(b".git/objects")) {
        (true, _) => GitCoverage::Off,
        (false, true) => GitCoverage::State,
        (false, false) => GitCoverage::Full,
    };
    Some(state)
}

/// Returns the state of the repository whose work tree holds a mount root below it; `None` if there is none. All of its own lies outside of
/// the mount, and is not read.
#[must_use]
pub fn repository_around(transports: &Transports, coverage: &Coverage) -> Option<RepositoryState> {
    let mount = coverage.root.to_path();
    let own = upwards(above(&mount)?).find_map(|dir| {
        let root = Root::open(transports, dir).ok()?;
        let live = Live::new(&root);
        let look = |path: &[u8]| live.look(&RelPath::new(path).ok()?).ok()?;
        let is_one = match look(b".git")? {
            Found::Directory => look(b".git/HEAD").is_some(),
            found => matches!(found, Found::File { .. }),
        };
        is_one.then(|| dir.join(".git"))
    })?;
    Some(RepositoryState {
        elsewhere: Some(own.display().to_string()),
        covered: GitCoverage::Off,
        ..RepositoryState::default()
    })
}

/// Returns the paths that git tracks in the work tree at `root`; empty if there is no repository. `None` if they are unknown: the
/// index cannot be read, or lies elsewhere.
#[must_use]
pub fn tracked_by_git(transports: &Transports, root: &Path) -> Option<Vec<RelPath>> {
    let Ok(root) = Root::open(transports, root) else {
        return Some(Vec::new());
    };
    let live = Live::new(&root);
    let own = RelPath::new(b".git").ok()?;
    let is_own = match live.look(&own).ok()? {
        None => return Some(Vec::new()),
        Some(found) => found == Found::Directory,
    };
    let repository = Repository::open(&live, &RelPath::root()).ok()??;
    let index = match repository.index().ok()? {
        Some(index) => index,
        // Nothing was added yet.
        None => return is_own.then(Vec::new),
    };
    let paths = index.entries.into_iter();
    Some(paths.filter_map(|entry| RelPath::new(&entry.path).ok()).collect())
}

/// Returns true if the recorded facts may be outdated although no captured file changed: excludes cover some of git's own files,
/// or git was at work then.
pub(super) fn is_stale(facts: Option<&[RepositoryFacts]>, skipped: &BTreeSet<&RelPath>) -> bool {
    let partly = |facts: &[RepositoryFacts]| {
        facts
            .iter()
            .any(|facts| facts.unsteady.is_some() || facts.state.covered != GitCoverage::Full)
    };
    facts.is_none_or(partly) || skipped.iter().any(|path| is_git(path))
}

fn is_git(path: &RelPath) -> bool {
    path.split()
        .is_some_and(|(_, name)| git_reader::is_dot_git(name.as_bytes()))
}

/// Returns how much of the repository is captured, and the excluded paths that are neither all of it nor objects.
fn covered<'p>(own: &RelPath, skipped: &BTreeSet<&'p RelPath>) -> (GitCoverage, Vec<&'p RelPath>) {
    if skipped.contains(own) {
        return (GitCoverage::Off, Vec::new());
    }
    let inside = skipped.iter().copied().filter(|path| path.is_within(own));
    let is_objects = |path: &&RelPath| {
        let name = path.split().map(|(_, name)| name);
        name.is_some_and(|name| matches!(name.as_bytes(), b"objects" | b"lfs"))
    };
    let (objects, others): (Vec<_>, Vec<_>) = inside.partition(is_objects);
    if objects.is_empty() {
        (GitCoverage::Full, others)
    } else {
        (GitCoverage::State, others)
    }
}

/// State of a repository, with the digest of its refs.
struct Standing {
    state: RepositoryState,
    refs: String,
}

fn unreadable(own: &RelPath, why: String) -> RepositoryFacts {
    let state = RepositoryState {
        doubts: vec![why.clone()],
        ..RepositoryState::default()
    };
    let standing = Standing {
        state,
        refs: String::new(),
    };
    RepositoryFacts {
        reason: why,
        ..standing.at(own)
    }
}

impl Standing {
    /// Returns the facts of a repository whose files were not examined yet; it counts as dirty.
    fn at(self, own: &RelPath) -> RepositoryFacts {
        RepositoryFacts {
            own: own.clone(),
            class: RepositoryClass::Dirty,
            reason: String::new(),
            state: self.state,
            differing: 0,
            differs: Vec::new(),
            staged: 0,
            bytes: 0,
            by_commit: false,
            unsteady: None,
            refs: self.refs,
        }
    }
}

fn facts(
    repository: &Repository<'_>,
    dirt: &WorktreeStatus<'_>,
    known: Option<(Before<'_>, &RepositoryFacts)>,
) -> RepositoryFacts {
    let mut facts = state(repository, known.map(|(_, facts)| facts)).at(dirt.own);
    let why = dirt.find(&mut facts, known);
    facts.state.doubts.extend(repository.doubts());
    tidy(&mut facts.state.doubts, MOST_LISTED);
    (facts.class, facts.reason) = classify(&facts, why);
    facts
}

fn tidy(doubts: &mut Vec<String>, most: usize) {
    doubts.sort();
    doubts.dedup();
    doubts.truncate(most);
}

/// Classifies a repository. Any doubt means dirty; `why` is a difference that git itself could hide.
fn classify(facts: &RepositoryFacts, why: Option<String>) -> (RepositoryClass, String) {
    let counted = |count: u64, one: &str, more: &str| match count {
        1 => format!("1 {one}"),
        _ => format!("{count} {more}"),
    };
    let state = &facts.state;
    let dirty = |why: String| (RepositoryClass::Dirty, why);
    if let Some(path) = &state.elsewhere {
        return dirty(format!("its git directory is elsewhere: {path}"));
    }
    if let Some(doubt) = state.doubts.first() {
        return dirty(doubt.clone());
    }
    if let Some(operation) = state.operations.first() {
        return dirty(format!("a {operation} is under way"));
    }
    if state.commit.is_none() {
        return dirty("nothing was committed yet".to_owned());
    }
    if facts.differing > 0 {
        let paths = counted(facts.differing, "path is", "paths are");
        return dirty(format!("{paths} not committed, ignored files included"));
    }
    if facts.staged > 0 {
        return dirty(format!(
            "{} staged",
            counted(facts.staged, "path is", "paths are")
        ));
    }
    if state.stashes > 0 {
        return dirty(counted(state.stashes, "stash", "stashes"));
    }
    if let Some(why) = why {
        return dirty(why);
    }
    if state.partial || state.shallow || !state.alternates.is_empty() {
        return dirty("it has not all of its objects itself".to_owned());
    }
    if state.adrift {
        let why = "HEAD names a commit that is the tip of no branch";
        return (RepositoryClass::Unpushed, why.to_owned());
    }
    match state.unpushed.first() {
        Some(branch) => (
            RepositoryClass::Unpushed,
            format!("{} has commits that no remote branch has", branch.branch),
        ),
        None => (
            RepositoryClass::Clean,
            "everything is committed, and a remote has its branches".to_owned(),
        ),
    }
}

fn size(manifest: &Manifest, own: &RelPath) -> u64 {
    let entries = manifest
        .directories_within(own)
        .flat_map(|dir| &dir.entries)
        .filter(|entry| entry.link.is_none());
    let sizes = entries.filter_map(|entry| Some(entry.content()?.size));
    sizes.fold(0, add_sizes)
}
