//! What is recorded of the git repositories in a mount: told from their files and from the manifest, git is never started. A content
//! is hashed as git does only when it may have changed since the snapshot before.

mod dirty;
mod named;
mod staged;

use std::collections::BTreeSet;

use self::dirty::Dirt;
use crate::contract::{GitTerms, Matcher, Verdict};
use crate::git::{GitDir, Live, Oid, Refs, Repositories, Repository, unpushed, work_tree};
use crate::mount::Root;
use crate::snapshot::{
    Coverage, Digest, GitCoverage, Manifest, RelPath, RemoteFacts, RepositoryClass, RepositoryFacts,
    UnpushedBranch, add_sizes,
};

/// So many repositories of a mount are looked at.
const MOST_REPOSITORIES: usize = 200;
/// So many doubts stand in a contract.
const MOST_TOLD: usize = 5;
/// So many of what a list can be long of are recorded.
const MOST_LISTED: usize = 1000;

/// A state of the mount that is known, with what was recorded of it.
#[derive(Clone, Copy)]
pub(super) struct Before<'a> {
    pub(super) manifest: &'a Manifest,
    pub(super) facts: &'a [RepositoryFacts],
}

/// Looks at every repository of a mount. `skipped` are the paths that excludes left out.
pub(super) fn survey(
    root: &Root,
    manifest: &Manifest,
    skipped: &BTreeSet<&RelPath>,
    before: Option<Before<'_>>,
) -> Vec<RepositoryFacts> {
    let mut all: BTreeSet<RelPath> = Repositories::of([manifest]).iter().cloned().collect();
    all.extend(
        skipped
            .iter()
            .filter(|path| is_git(path))
            .map(|path| (*path).clone()),
    );
    let works: BTreeSet<RelPath> = all.iter().map(work_tree).collect();
    let look = |own: &RelPath| {
        let live = Live::new(root);
        let known =
            before.and_then(|before| Some((before, before.facts.iter().find(|facts| facts.own == *own)?)));
        let bytes = size(manifest, own);
        let covered = covered(own, skipped);
        let facts = match Repository::open(&live, &work_tree(own)) {
            Ok(Some(repository)) => {
                let dirt = Dirt {
                    root,
                    manifest,
                    skipped,
                    own,
                    works: &works,
                    repository: &repository,
                };
                facts(&repository, &dirt, known, bytes)
            }
            // A directory of that name with nothing of a repository in it.
            Ok(None) => return None,
            Err(error) => unreadable(own, bytes, error.to_string()),
        };
        Some(RepositoryFacts { covered, ..facts })
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
        let doubt = format!("{more} more repositories of the mount are not looked at");
        (first.class, first.reason) = (RepositoryClass::Dirty, doubt.clone());
        first.doubts.push(doubt);
    }
    found.sort_by(|a, b| a.own.cmp(&b.own));
    found
}

/// What can be told of the repository at a mount root without a look at its files. `None`: there is none.
#[must_use]
pub fn glance(coverage: &Coverage) -> Option<GitTerms> {
    let root = Root::open(&coverage.root.to_path()).ok()?;
    let live = Live::new(&root);
    let own = RelPath::new(b".git").ok()?;
    let mut facts = match Repository::open(&live, &RelPath::root()) {
        Ok(None) => return None,
        Ok(Some(repository)) => told(&repository, &own, None, 0),
        Err(error) => unreadable(&own, 0, error.to_string()),
    };
    facts.doubts.truncate(MOST_TOLD);
    let matcher = Matcher::new(coverage).ok()?;
    let left_out = |path: &[u8]| {
        let path = RelPath::new(path).ok();
        path.is_some_and(|path| matches!(matcher.verdict_with_parents(&path, true), Verdict::Excluded(_)))
    };
    let covered = match (left_out(b".git"), left_out(b".git/objects")) {
        (true, _) => GitCoverage::Off,
        (false, true) => GitCoverage::State,
        (false, false) => GitCoverage::Full,
    };
    Some(GitTerms {
        branch: facts.branch,
        commit: facts.commit,
        covered,
        unpushed: facts.unpushed,
        stashes: facts.stashes,
        operations: facts.operations,
        submodules: facts.submodules,
        worktrees: facts.worktrees,
        elsewhere: facts.elsewhere,
        doubts: facts.doubts,
    })
}

/// Whether what was recorded says nothing of now though no captured file changed: excludes left out some of what is git's own.
pub(super) fn is_stale(facts: Option<&[RepositoryFacts]>, skipped: &BTreeSet<&RelPath>) -> bool {
    let partly = |facts: &[RepositoryFacts]| facts.iter().any(|facts| facts.covered != GitCoverage::Full);
    facts.is_none_or(partly) || skipped.iter().any(|path| is_git(path))
}

fn is_git(path: &RelPath) -> bool {
    path.split().is_some_and(|(_, name)| name.as_bytes() == b".git")
}

fn covered(own: &RelPath, skipped: &BTreeSet<&RelPath>) -> GitCoverage {
    if skipped.contains(own) {
        GitCoverage::Off
    } else if skipped.iter().any(|path| path.is_within(own)) {
        GitCoverage::State
    } else {
        GitCoverage::Full
    }
}

fn unreadable(own: &RelPath, bytes: u64, why: String) -> RepositoryFacts {
    RepositoryFacts {
        own: own.clone(),
        class: RepositoryClass::Dirty,
        reason: why.clone(),
        branch: None,
        commit: None,
        differing: 0,
        differs: Vec::new(),
        staged: 0,
        stashes: 0,
        operations: Vec::new(),
        unpushed: Vec::new(),
        remotes: Vec::new(),
        worktrees: Vec::new(),
        submodules: Vec::new(),
        partial: false,
        shallow: false,
        alternates: Vec::new(),
        elsewhere: None,
        covered: GitCoverage::Full,
        bytes,
        doubts: vec![why],
        refs: String::new(),
    }
}

fn facts(
    repository: &Repository<'_>,
    dirt: &Dirt<'_>,
    known: Option<(Before<'_>, &RepositoryFacts)>,
    bytes: u64,
) -> RepositoryFacts {
    let mut facts = told(repository, dirt.own, known.map(|(_, facts)| facts), bytes);
    let why = dirt.find(&mut facts, known);
    facts.doubts.extend(repository.doubts());
    facts.doubts.sort();
    facts.doubts.dedup();
    facts.doubts.truncate(MOST_LISTED);
    (facts.class, facts.reason) = classify(&facts, why);
    facts
}

/// All but how the files differ from what HEAD names.
fn told(
    repository: &Repository<'_>,
    own: &RelPath,
    known: Option<&RepositoryFacts>,
    bytes: u64,
) -> RepositoryFacts {
    let mut facts = unreadable(own, bytes, String::new());
    facts.doubts.clear();
    let mut note = |error: String| facts.doubts.push(error);
    let head = repository
        .head()
        .map_err(|error| note(error.to_string()))
        .unwrap_or_default();
    let refs = repository
        .refs()
        .map_err(|error| note(error.to_string()))
        .unwrap_or_default();
    facts.branch = head.reference.as_deref().map(text);
    facts.commit = head.commit.map(|commit| commit.to_string());
    facts.refs = digest(&refs);
    facts.stashes = repository.stashes();
    let operations = repository.operations();
    facts.operations = operations
        .iter()
        .map(|operation| operation.word().to_owned())
        .collect();
    facts.remotes = listed(repository.remotes(), |remote| RemoteFacts {
        name: text(&remote.name),
        url: text(&remote.url),
    });
    facts.worktrees = listed(repository.worktrees(), |name| text(&name));
    facts.submodules = listed(repository.submodules(), |submodule| text(&submodule.path));
    facts.partial = repository.is_partial();
    facts.shallow = repository.is_shallow();
    facts.alternates = listed(repository.alternates(), |path| text(&path));
    if let GitDir::Elsewhere(path) = repository.shape() {
        facts.elsewhere = Some(text(path));
    }
    // What could not be told then must be asked again.
    let same_refs = known
        .filter(|before| before.refs == facts.refs && !before.refs.is_empty() && before.doubts.is_empty());
    facts.unpushed = match same_refs {
        Some(before) => before
            .unpushed
            .iter()
            .filter(|branch| branch.branch != "HEAD")
            .cloned()
            .collect(),
        None => not_pushed(repository, &mut facts.doubts),
    };
    let at_head = |(name, oid): (&Vec<u8>, &Oid)| {
        let is_branch = name.starts_with(b"refs/heads/") || name.starts_with(b"refs/remotes/");
        is_branch && Some(*oid) == head.commit
    };
    if head.reference.is_none() && head.commit.is_some() && !refs.iter().any(at_head) {
        // Where it lies is looked for nowhere: only a branch is known to be pushed.
        facts.unpushed.push(UnpushedBranch {
            branch: "HEAD".to_owned(),
            commits: 1,
            more: true,
        });
    }
    facts.doubts.extend(repository.doubts());
    facts.doubts.sort();
    facts.doubts.dedup();
    facts
}

fn not_pushed(repository: &Repository<'_>, doubts: &mut Vec<String>) -> Vec<UnpushedBranch> {
    let found = unpushed(repository).unwrap_or_else(|error| {
        doubts.push(error.to_string());
        Vec::new()
    });
    let some = found
        .into_iter()
        .filter(|branch| branch.commits > 0 || branch.more);
    listed(some, |branch| UnpushedBranch {
        branch: text(&branch.branch),
        commits: branch.commits,
        more: branch.more,
    })
}

/// Any doubt means dirty. `why` is what git itself could hide.
fn classify(facts: &RepositoryFacts, why: Option<String>) -> (RepositoryClass, String) {
    let counted = |count: u64, one: &str, more: &str| match count {
        1 => format!("1 {one}"),
        _ => format!("{count} {more}"),
    };
    let dirty = |why: String| (RepositoryClass::Dirty, why);
    if let Some(path) = &facts.elsewhere {
        return dirty(format!("its git directory lies elsewhere: {path}"));
    }
    if let Some(doubt) = facts.doubts.first() {
        return dirty(doubt.clone());
    }
    if let Some(operation) = facts.operations.first() {
        return dirty(format!("a {operation} is under way"));
    }
    if facts.commit.is_none() {
        return dirty("nothing was committed yet".to_owned());
    }
    if facts.differing > 0 {
        let paths = counted(facts.differing, "path is", "paths are");
        return dirty(format!("{paths} not what HEAD names"));
    }
    if facts.staged > 0 {
        return dirty(format!(
            "{} staged",
            counted(facts.staged, "path is", "paths are")
        ));
    }
    if facts.stashes > 0 {
        return dirty(counted(facts.stashes, "stash", "stashes"));
    }
    if let Some(why) = why {
        return dirty(why);
    }
    if facts.partial || facts.shallow || !facts.alternates.is_empty() {
        return dirty("it has not all of its objects itself".to_owned());
    }
    match facts.unpushed.first() {
        Some(branch) => (
            RepositoryClass::Unpushed,
            format!("{} has commits that no remote branch has", branch.branch),
        ),
        None => (
            RepositoryClass::Clean,
            "every byte is what HEAD names, and a remote has its branches".to_owned(),
        ),
    }
}

fn digest(refs: &Refs) -> String {
    let mut bytes = Vec::new();
    for (name, oid) in refs {
        bytes.extend_from_slice(name);
        bytes.push(0);
        bytes.extend_from_slice(oid.as_bytes());
    }
    Digest::of(&bytes).hex()
}

fn size(manifest: &Manifest, own: &RelPath) -> u64 {
    let first = manifest.directories.partition_point(|dir| dir.path < *own);
    let dirs = manifest
        .directories
        .iter()
        .skip(first)
        .take_while(|dir| dir.path.is_within(own));
    let entries = dirs
        .flat_map(|dir| &dir.entries)
        .filter(|entry| entry.link.is_none());
    let sizes = entries.filter_map(|entry| Some(entry.content()?.size));
    sizes.fold(0, add_sizes)
}

fn listed<T, R>(all: impl IntoIterator<Item = T>, told: impl Fn(T) -> R) -> Vec<R> {
    all.into_iter().take(MOST_LISTED).map(told).collect()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
