//! The merged layers: every value decided, each with its source.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    AgentRestore, CommandDetail, GitClean, Integration, Mode, MountConfig, Native, OnFailure, Prompts,
    Replication, Sensitive, Sourced, StateSecrets,
};
use crate::model::{ByteString, GitCoverage, RelPath, label_from};

/// What a session is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Subject {
    /// A configured workspace.
    Workspace {
        /// Its name.
        name: String,
    },
    /// A directory without a workspace.
    Directory {
        /// Absolute, as given.
        path: ByteString,
    },
}

impl Subject {
    /// Returns the workspace's name; `None` for a directory.
    #[must_use]
    pub fn workspace(&self) -> Option<&str> {
        match self {
            Self::Workspace { name } => Some(name),
            Self::Directory { .. } => None,
        }
    }

    /// Returns the label for the session's id.
    #[must_use]
    pub fn label(&self) -> String {
        match self {
            Self::Workspace { name } => label_from(name.as_bytes()),
            Self::Directory { path } => {
                let last = path.0.split(|b| *b == b'/').rfind(|part| !part.is_empty());
                label_from(last.unwrap_or_default())
            }
        }
    }
}

/// Limits of a baseline: one that exceeds them stops and names the limit. Later snapshots have none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Limits {
    /// Entries of a baseline.
    pub max_entries: Sourced<u64>,
    /// Bytes of a baseline.
    pub max_bytes: Sourced<u64>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_entries: Sourced::built_in(5_000_000),
            max_bytes: Sourced::built_in(20 << 30),
        }
    }
}

/// How much of a workspace is kept for how long. In each 0 means no limit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Retention {
    /// Checkpoints, and as many emergency snapshots.
    pub checkpoints: Sourced<u64>,
    /// Days that a checkpoint is kept.
    pub checkpoint_days: Sourced<u64>,
    /// Sessions.
    pub instances: Sourced<u64>,
    /// Days that a session is kept after its end.
    pub days: Sourced<u64>,
}

impl Default for Retention {
    fn default() -> Self {
        Self {
            checkpoints: Sourced::built_in(100),
            checkpoint_days: Sourced::built_in(0),
            instances: Sourced::built_in(20),
            days: Sourced::built_in(30),
        }
    }
}

impl Retention {
    /// Returns a policy that deletes nothing.
    #[must_use]
    pub fn unlimited() -> Self {
        Self {
            checkpoints: Sourced::built_in(0),
            checkpoint_days: Sourced::built_in(0),
            instances: Sourced::built_in(0),
            days: Sourced::built_in(0),
        }
    }
}

/// How large the store may be. In each 0 means no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Room {
    /// Bytes of archives.
    pub max_bytes: u64,
    /// Bytes that must be free on its file system.
    pub min_free: u64,
}

impl Default for Room {
    fn default() -> Self {
        Self {
            max_bytes: 50 << 30,
            min_free: 5 << 30,
        }
    }
}

/// What jackin says of the session, in its own words: texts that are only shown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct JackinTerms {
    /// The container, when the session is about one.
    pub container: Option<String>,
    /// jackin's id of it.
    pub instance_id: Option<String>,
    /// Its status.
    pub status: Option<String>,
    /// Its role; of a workspace the one that is used when none is chosen.
    pub role: Option<String>,
    /// Its agent; of a workspace the one that is used when none is chosen.
    pub agent: Option<String>,
    /// Version of the workspace's file, if it is unknown: the file may mean something else than what was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unknown_version: Option<String>,
}

/// Configuration and flags, merged for one session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Resolved {
    /// Workspace or directory of the session.
    pub subject: Subject,
    /// The mounts as configured; a bare directory is one writable mount.
    pub mounts: Vec<MountConfig>,
    /// The recovery mode.
    pub mode: Sourced<Mode>,
    /// Excludes in order: defaults for all, then the workspace, then flags. Each one parses.
    pub exclude: Vec<Sourced<String>>,
    /// Paths to capture below each mount; empty means all.
    pub paths: Vec<Sourced<RelPath>>,
    /// True if excludes by detected stack apply.
    pub integrations: Sourced<bool>,
    /// True if a watcher of the files spares checkpoints a walk.
    pub watch: Sourced<bool>,
    /// The operator's own integrations; empty if they are switched off.
    pub defined: Vec<Integration>,
    /// Handling of the operator's own secrets.
    pub sensitive: Sourced<Sensitive>,
    /// Action of a launch whose baseline cannot be taken.
    pub on_failure: Sourced<OnFailure>,
    /// Detail in which a launched command is recorded.
    pub command: Sourced<CommandDetail>,
    /// Restores that an agent may start by itself.
    pub agent_restore: Sourced<AgentRestore>,
    /// Handling of a tool call whose automatic checkpoint failed.
    pub agent_on_failure: Sourced<OnFailure>,
    /// Text of prompts and commands that hooks record.
    pub prompts: Sourced<Prompts>,
    /// Extent of git's own files that is captured.
    pub git_dir: Sourced<GitCoverage>,
    /// Handling of the contents of a clean work tree.
    pub git_clean: Sourced<GitClean>,
    /// Use of file-system snapshots.
    pub native: Sourced<Native>,
    /// True if a session without a container covers the agents' state in the operator's own home.
    pub state_home: Sourced<bool>,
    /// Handling of credentials in agents' state.
    pub state_secrets: Sourced<StateSecrets>,
    /// Public keys that these credentials are encrypted to.
    pub recipients: Vec<Sourced<String>>,
    /// Copy of the store; `None` if the store is not copied.
    pub replication: Option<Replication>,
    /// jackin's own word for a dirty work tree at the end of the session (`ask`, `keep`, `discard`); `None` if the workspace sets
    /// none.
    pub cleanup_policy: Option<String>,
    /// jackin's own word, by agent, for passing credentials to it; agents without a setting are missing.
    pub auth: BTreeMap<String, String>,
    /// jackin's other words for the session; `None` for a bare directory.
    pub jackin: Option<JackinTerms>,
    /// Limits of a capture.
    pub limits: Limits,
    /// Retention policy.
    pub retention: Retention,
    /// Size limits of the store.
    pub room: Room,
}
