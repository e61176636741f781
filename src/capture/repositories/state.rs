//! State of a repository, read from its own files: everything but its work tree.

use super::{MOST_LISTED, Standing};
use crate::model::{Digest, RemoteFacts, RepositoryFacts, RepositoryState, UnpushedBranch};
use git_reader::{GitDir, Oid, Refs, Repository, Tip, unpushed};

/// Reads the state. `known` holds the facts recorded last.
pub(super) fn state(repository: &Repository<'_>, known: Option<&RepositoryFacts>) -> Standing {
    let mut doubts = Vec::new();
    let mut note = |error: String| doubts.push(error);
    let head = repository
        .head()
        .map_err(|error| note(error.to_string()))
        .unwrap_or_default();
    let refs = repository
        .readable_refs()
        .map_err(|error| note(error.to_string()))
        .unwrap_or_default();
    let digest = digest(&refs, &repository.tips(&refs));
    // What could not be told then must be asked again.
    let same_refs = known
        .filter(|before| before.refs == digest && !before.refs.is_empty() && before.state.doubts.is_empty());
    let unpushed = match same_refs {
        Some(before) => before.state.unpushed.clone(),
        None => not_pushed(repository, &mut doubts),
    };
    let at_head = |(name, oid): (&Vec<u8>, &Oid)| {
        let is_branch = name.starts_with(b"refs/heads/") || name.starts_with(b"refs/remotes/");
        is_branch && Some(*oid) == head.commit
    };
    let operations = repository.operations();
    let mut state = RepositoryState {
        branch: head.reference.as_deref().map(text),
        commit: head.commit.map(|commit| commit.to_string()),
        // Where it lies in a history is looked for nowhere: only a branch is known to be pushed.
        adrift: head.reference.is_none() && head.commit.is_some() && !refs.iter().any(at_head),
        stashes: repository.stashes(),
        operations: listed(operations, |operation| operation.word().to_owned()),
        unpushed,
        remotes: listed(repository.remotes(), |remote| RemoteFacts {
            name: text(&remote.name),
            url: text(&remote.url),
        }),
        worktrees: listed(repository.worktrees(), |name| text(&name)),
        submodules: listed(repository.submodules(), |submodule| text(&submodule.path)),
        partial: repository.is_partial(),
        shallow: repository.is_shallow(),
        alternates: listed(repository.alternates(), |path| text(&path)),
        elsewhere: match repository.shape() {
            GitDir::Elsewhere(path) => Some(text(path)),
            _ => None,
        },
        ..RepositoryState::default()
    };
    doubts.extend(repository.doubts());
    state.doubts = doubts;
    Standing { state, refs: digest }
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

/// Returns the digest of all refs and tips. A version of this program that counts unpushed commits differently has another one.
fn digest(refs: &Refs, tips: &[Tip]) -> String {
    let mut bytes = b"tips\0".to_vec();
    let tips = tips.iter().map(|tip| (&tip.name, &tip.oid));
    for (name, oid) in refs.iter().chain(tips) {
        bytes.extend_from_slice(name);
        bytes.push(0);
        bytes.extend_from_slice(oid.as_bytes());
    }
    Digest::of(&bytes).hex()
}

fn listed<T, R>(all: impl IntoIterator<Item = T>, told: impl Fn(T) -> R) -> Vec<R> {
    all.into_iter().take(MOST_LISTED).map(told).collect()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
