//! Facts that a snapshot records about a git repository in a mount, beside its files.

use schemars::JsonSchema;
use serde::de::IntoDeserializer as _;
use serde::de::value::{self, StrDeserializer};
use serde::{Deserialize, Serialize};

use super::RelPath;

/// How much of a repository would be lost with its directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RepositoryClass {
    /// Every covered byte is what HEAD names, and a remote has every commit.
    Clean,
    /// As clean, but some commits are in no remote branch.
    Unpushed,
    /// Something is not committed, or it is unknown.
    Dirty,
}

impl RepositoryClass {
    /// The word that is shown.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Clean => "clean",
            Self::Unpushed => "unpushed",
            Self::Dirty => "dirty",
        }
    }
}

/// Kind of a path's difference from HEAD.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Differs {
    /// Content, type or the right to run it.
    Changed,
    /// It is not there.
    Missing,
    /// HEAD does not name it; also what git ignores.
    Untracked,
}

/// How much of what is git's own is captured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum GitCoverage {
    /// All of it.
    #[default]
    Full,
    /// All but objects.
    State,
    /// None of it.
    Off,
}

impl GitCoverage {
    /// The value with this word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        let word: StrDeserializer<'_, value::Error> = word.into_deserializer();
        Self::deserialize(word).ok()
    }
}

/// A path that is not what HEAD names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DirtyPath {
    /// Below the mount root.
    pub path: RelPath,
    /// How.
    pub how: Differs,
}

/// Commits that a branch, a tag, or anything else here holds, and no remote branch has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnpushedBranch {
    /// e.g. `refs/heads/main`, `refs/tags/v1`, `HEAD`, `worktrees/side/ORIG_HEAD`.
    pub branch: String,
    /// How many.
    pub commits: u64,
    /// There are more: not all were counted.
    pub more: bool,
}

/// A remote, without what its address says about who may use it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RemoteFacts {
    /// e.g. `origin`.
    pub name: String,
    /// Its address without user names, passwords and tokens.
    pub url: String,
}

/// Where a repository stands, as its own files tell; its work tree is not looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RepositoryState {
    /// The branch that HEAD names, e.g. `refs/heads/main`; none when HEAD names a commit itself.
    pub branch: Option<String>,
    /// The commit; none when there is none yet, or when it cannot be read.
    pub commit: Option<String>,
    /// HEAD names a commit itself, which is not the tip of any branch, here or of a remote.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub adrift: bool,
    /// How many stashes there are.
    pub stashes: u64,
    /// What is in the middle: `merge`, `rebase` and others.
    pub operations: Vec<String>,
    /// Branches, tags and whatever else holds commits that no remote branch has.
    pub unpushed: Vec<UnpushedBranch>,
    /// Where commits are pushed to.
    pub remotes: Vec<RemoteFacts>,
    /// Names of further work trees, which lie elsewhere.
    pub worktrees: Vec<String>,
    /// Paths of submodules.
    pub submodules: Vec<String>,
    /// Objects are missing on purpose, and are fetched when git wants them.
    pub partial: bool,
    /// History ends somewhere.
    pub shallow: bool,
    /// Directories that objects are taken from as well, as the repository names them.
    pub alternates: Vec<String>,
    /// Where the git directory lies, as the repository names it, when that is not in this mount: nothing of it is covered.
    pub elsewhere: Option<String>,
    /// How much of what is git's own is captured.
    #[serde(default)]
    pub covered: GitCoverage,
    /// What could not be read.
    pub doubts: Vec<String>,
}

/// One repository at the moment of a snapshot, as its files tell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RepositoryFacts {
    /// What is git's own: `.git`, or the repository itself when it is bare.
    pub own: RelPath,
    /// How much would be lost.
    pub class: RepositoryClass,
    /// Why, in words.
    pub reason: String,
    /// Where it stands.
    #[serde(flatten)]
    pub state: RepositoryState,
    /// Paths that are not what HEAD names.
    pub differing: u64,
    /// The first thousand of them.
    pub differs: Vec<DirtyPath>,
    /// Paths that are staged: the index has them, or has them otherwise than HEAD.
    pub staged: u64,
    /// Sum of the sizes of what is git's own and covered, in bytes.
    pub bytes: u64,
    /// The contents of its work tree are in no archive: the objects of its commit have them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_commit: bool,
    /// Git was at work in it while it was captured, and would not stop, so what was read of it may not fit together: how that shows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsteady: Option<String>,
    /// Digest of all that holds commits: as long as it is the same, what is unpushed is the same.
    pub refs: String,
}

impl RepositoryFacts {
    /// Skips the paths that differ, and all but the first `most` of each other list.
    pub fn shorten(&mut self, most: usize) {
        self.differs.clear();
        let state = &mut self.state;
        for list in [
            &mut state.worktrees,
            &mut state.submodules,
            &mut state.alternates,
            &mut state.operations,
            &mut state.doubts,
        ] {
            list.truncate(most);
        }
        state.unpushed.truncate(most);
        state.remotes.truncate(most);
    }

    /// Adds a doubt: something about the repository is unknown, so it counts as dirty.
    pub fn doubt(&mut self, what: String) {
        if self.class != RepositoryClass::Dirty {
            (self.class, self.reason) = (RepositoryClass::Dirty, what.clone());
        }
        self.state.doubts.push(what);
    }
}
