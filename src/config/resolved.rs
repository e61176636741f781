//! What the layers amount to: every value decided, each with its source.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    AgentRestore, GitClean, Integration, Mode, MountConfig, Native, OnFailure, Sensitive, Sourced,
    StateSecrets, ValueSource,
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
    /// The workspace's name, when it is one.
    #[must_use]
    pub fn workspace(&self) -> Option<&str> {
        match self {
            Self::Workspace { name } => Some(name),
            Self::Directory { .. } => None,
        }
    }

    /// The label for the instance's id.
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

/// How much a capture may take before it stops and says so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Limits {
    /// Entries of one capture.
    pub max_entries: Sourced<u64>,
    /// Bytes of one capture.
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
    /// Everything is kept.
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
}

/// Configuration and flags put together for one session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Resolved {
    /// What it is about.
    pub subject: Subject,
    /// The mounts as configured; a bare directory is one writable mount.
    pub mounts: Vec<MountConfig>,
    /// The recovery mode.
    pub mode: Sourced<Mode>,
    /// Excludes in order: defaults for all, then the workspace, then flags. Each one parses.
    pub exclude: Vec<Sourced<String>>,
    /// Track only these below each mount; empty means all.
    pub paths: Vec<Sourced<RelPath>>,
    /// Whether excludes by detected stack apply.
    pub integrations: Sourced<bool>,
    /// What the operator's own integrations leave out; none when they are switched off.
    pub defined: Vec<Integration>,
    /// What happens to the operator's own secrets.
    pub sensitive: Sourced<Sensitive>,
    /// What a launch does without a baseline.
    pub on_failure: Sourced<OnFailure>,
    /// What an agent may restore by itself.
    pub agent_restore: Sourced<AgentRestore>,
    /// What becomes of a tool call whose automatic checkpoint failed.
    pub agent_on_failure: Sourced<OnFailure>,
    /// How much of what is git's own is captured.
    pub git_dir: Sourced<GitCoverage>,
    /// What becomes of the contents of a clean work tree.
    pub git_clean: Sourced<GitClean>,
    /// What is done with snapshots of the file system itself.
    pub native: Sourced<Native>,
    /// Whether the agents' state in the operator's own home is meant when no container is named.
    pub state_home: Sourced<bool>,
    /// What happens to credentials in agents' state.
    pub state_secrets: Sourced<StateSecrets>,
    /// Public keys that they are encrypted to.
    pub recipients: Vec<Sourced<String>>,
    /// Who says that the store is copied elsewhere; none when it is not.
    pub replicated: Option<ValueSource>,
    /// What jackin does with a dirty work tree when the session ends, in its own word (`ask`, `keep`, `discard`); none when
    /// the workspace does not say.
    pub cleanup_policy: Option<String>,
    /// How jackin hands credentials to each agent, in its own words; agents of which nothing is said are missing.
    pub auth: BTreeMap<String, String>,
    /// What else jackin says of it; none for a bare directory.
    pub jackin: Option<JackinTerms>,
    /// How much a capture may take.
    pub limits: Limits,
    /// How much is kept for how long.
    pub retention: Retention,
    /// How large the store may be.
    pub room: Room,
}
