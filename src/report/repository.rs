//! Changes of a git repository, in JSON.

use schemars::JsonSchema;
use serde::Serialize;

use super::PathDocument;
use crate::diff::{Commits, RefMove, RepositoryChange};
use crate::model::{Coverage, RepositoryFacts};
use git_reader::{Head, Oid, Operation};

/// One git repository at the moment of a snapshot.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RepositoryStateDocument {
    /// Git directory: `.git`, or the repository itself if it is bare.
    #[serde(flatten)]
    pub(crate) at: PathDocument,
    #[serde(flatten)]
    pub(crate) facts: RepositoryFacts,
}

impl RepositoryStateDocument {
    pub(crate) fn new(coverage: &Coverage, facts: &RepositoryFacts) -> Self {
        let at = PathDocument::new(coverage, &facts.own);
        let facts = facts.clone();
        Self { at, facts }
    }
}

/// Changes of one git repository, read from its files; git is never started.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RepositoryDocument {
    /// Git directory: `.git`, or the repository itself if it is bare.
    #[serde(flatten)]
    pub(crate) at: PathDocument,
    /// `added`, `deleted` or `changed`.
    pub(crate) state: RepositoryState,
    /// Hooks and settings that run code and that changed.
    pub(crate) executes: Vec<ExecutionDocument>,
    /// Earlier HEAD; absent if it is unchanged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) head_from: Option<HeadDocument>,
    /// Current HEAD.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) head_to: Option<HeadDocument>,
    /// Branches, tags and other refs that were moved, made or removed.
    pub(crate) refs: Vec<RefDocument>,
    /// Commits that only the later state reaches, the newest first, up to a hundred.
    pub(crate) commits_made: Vec<CommitDocument>,
    /// Commits that only the earlier state reaches, the newest first, up to a hundred.
    pub(crate) commits_lost: Vec<CommitDocument>,
    /// Commits that were made meanwhile and dropped: only the reflog of HEAD has them, the newest first, up to a hundred.
    pub(crate) commits_given_up: Vec<CommitDocument>,
    /// True if there are more commits than those listed.
    pub(crate) more_commits: bool,
    /// Number of index entries that differ.
    pub(crate) index_paths: u64,
    pub(crate) stashes_from: u64,
    pub(crate) stashes_to: u64,
    /// Operations that were in progress, such as a merge.
    pub(crate) operations_from: Vec<&'static str>,
    /// Operations in progress.
    pub(crate) operations_to: Vec<&'static str>,
    /// Problems reading the repository; what they hide is unknown.
    pub(crate) doubts: Vec<String>,
    /// There are more commits than those of `commits_made`, `commits_lost` and `commits_given_up`, in this order.
    #[serde(skip)]
    pub(crate) more: [bool; 3],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum RepositoryState {
    Added,
    Deleted,
    Changed,
}

/// Something that makes git run a program.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ExecutionDocument {
    /// e.g. `hook pre-commit`, `core.fsmonitor`.
    pub(crate) what: String,
    /// Its value; none when it was not there.
    pub(crate) from: Option<String>,
    /// Its value; none when it is gone.
    pub(crate) to: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct HeadDocument {
    /// The branch, e.g. `refs/heads/main`; none when HEAD names a commit itself.
    pub(crate) reference: Option<String>,
    /// The commit; none when there is none yet.
    pub(crate) commit: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RefDocument {
    /// e.g. `refs/heads/main`.
    pub(crate) name: String,
    pub(crate) from: Option<String>,
    pub(crate) to: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CommitDocument {
    pub(crate) id: String,
    /// The first line of its message.
    pub(crate) subject: String,
}

impl RepositoryDocument {
    pub(crate) fn new(coverage: &Coverage, change: &RepositoryChange) -> Self {
        let head = change.head.as_ref();
        let more = [&change.made, &change.lost, &change.given_up].map(|commits| commits.more);
        let executes = change.executions.iter().map(|execution| ExecutionDocument {
            what: execution.what.clone(),
            from: execution.was.clone(),
            to: execution.now.clone(),
        });
        Self {
            at: PathDocument::new(coverage, &change.own),
            state: match (change.appeared, change.vanished) {
                (true, _) => RepositoryState::Added,
                (_, true) => RepositoryState::Deleted,
                _ => RepositoryState::Changed,
            },
            executes: executes.collect(),
            head_from: head.map(|(from, _)| HeadDocument::from(from)),
            head_to: head.map(|(_, to)| HeadDocument::from(to)),
            refs: change.refs.iter().map(RefDocument::from).collect(),
            commits_made: commits(&change.made),
            commits_lost: commits(&change.lost),
            commits_given_up: commits(&change.given_up),
            more_commits: more.contains(&true),
            more,
            index_paths: change.staged,
            stashes_from: change.stashes.0,
            stashes_to: change.stashes.1,
            operations_from: words(&change.operations.0),
            operations_to: words(&change.operations.1),
            doubts: change.doubts.clone(),
        }
    }
}

impl From<&Head> for HeadDocument {
    fn from(head: &Head) -> Self {
        Self {
            reference: head.reference.as_deref().map(text),
            commit: head.commit.as_ref().map(Oid::to_string),
        }
    }
}

impl From<&RefMove> for RefDocument {
    fn from(moved: &RefMove) -> Self {
        Self {
            name: text(&moved.name),
            from: moved.from.as_ref().map(Oid::to_string),
            to: moved.to.as_ref().map(Oid::to_string),
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn commits(commits: &Commits) -> Vec<CommitDocument> {
    let listed = commits.listed.iter().map(|commit| CommitDocument {
        id: commit.id.to_string(),
        subject: commit.subject.clone(),
    });
    listed.collect()
}

fn words(operations: &[Operation]) -> Vec<&'static str> {
    operations.iter().map(|operation| operation.word()).collect()
}
