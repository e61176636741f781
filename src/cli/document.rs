//! The JSON that scripts rely on (DESIGN section 7). Fields are only ever added.

use std::path::Path;

use base64::Engine as _;
use serde::Serialize;

use crate::diff::{Change, NotCovered};
use crate::restore::{Action, Why};
use crate::session::State;
use crate::snapshot::{Coverage, RelPath, Time};
use crate::store::{InstanceRow, SnapshotRow};

/// The version of every document.
pub(super) const SCHEMA: u32 = 1;

/// A path below a mount: text, and the exact bytes beside it when they are no text.
#[derive(Clone, Debug, Serialize)]
pub(super) struct PathDocument {
    pub(super) mount: String,
    pub(super) path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) path_bytes: Option<String>,
}

impl PathDocument {
    pub(super) fn new(coverage: &Coverage, path: &RelPath) -> Self {
        let (text, path_bytes) = lossy(path);
        let mount = String::from_utf8_lossy(&coverage.root.0).into_owned();
        Self {
            mount,
            path: text,
            path_bytes,
        }
    }
}

/// A path of the host: text, and the exact bytes beside it when they are no text.
#[derive(Clone, Debug, Serialize)]
pub(super) struct HostPathDocument {
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    path_bytes: Option<String>,
}

impl HostPathDocument {
    pub(super) fn new(path: &Path) -> Self {
        let bytes = path.as_os_str().as_encoded_bytes();
        Self {
            path: path.to_string_lossy().into_owned(),
            path_bytes: path.to_str().is_none().then(|| encoded(bytes)),
        }
    }
}

/// The root itself is `.`.
fn lossy(path: &RelPath) -> (String, Option<String>) {
    if path.is_root() {
        return (".".to_owned(), None);
    }
    match std::str::from_utf8(path.as_bytes()) {
        Ok(text) => (text.to_owned(), None),
        Err(_) => {
            let bytes = encoded(path.as_bytes());
            (String::from_utf8_lossy(path.as_bytes()).into_owned(), Some(bytes))
        }
    }
}

fn encoded(bytes: &[u8]) -> String {
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

/// One change.
#[derive(Clone, Debug, Serialize)]
pub(super) struct ChangeDocument {
    #[serde(flatten)]
    at: PathDocument,
    change: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    from_path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    from_path_bytes: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    binary: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    action: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

impl ChangeDocument {
    pub(super) fn new(coverage: &Coverage, change: &Change) -> Self {
        let (from_path, from_path_bytes) = match &change.from_path {
            Some(path) => {
                let (text, bytes) = lossy(path);
                (Some(text), bytes)
            }
            None => (None, None),
        };
        Self {
            at: PathDocument::new(coverage, &change.path),
            change: change.kind.word(),
            from_path,
            from_path_bytes,
            binary: None,
            action: None,
            reason: None,
        }
    }

    /// What a restore does about it.
    pub(super) fn action(mut self, action: &'static str) -> Self {
        self.action = Some(action);
        self
    }

    /// Why it stays.
    pub(super) fn reason(mut self, reason: String) -> Self {
        self.reason = Some(reason);
        self
    }
}

/// The word for an action.
pub(super) fn action_word(action: Action) -> &'static str {
    match action {
        Action::Create => "create",
        Action::Replace => "replace",
        Action::Delete => "delete",
        Action::Metadata => "metadata",
    }
}

/// Why something stays, in words; `path` texts are not cleaned.
pub(super) fn why_words(why: &Why) -> String {
    match why {
        Why::LaterEdit => "changed after the session".to_owned(),
        Why::LaterFile => "created after the session".to_owned(),
        Why::LaterDeletion => "deleted after the session".to_owned(),
        Why::Unvouched => "nobody saw the session end, so this may be later work".to_owned(),
        Why::Shared(others) => {
            let ids: Vec<String> = others.iter().map(ToString::to_string).collect();
            format!("also changed by {} while both were active", ids.join(", "))
        }
        Why::Holds(path) => format!("holds {}, which stays", String::from_utf8_lossy(path.as_bytes())),
        Why::Parent(path) => {
            format!(
                "lies in {}, which stays what it is",
                String::from_utf8_lossy(path.as_bytes())
            )
        }
        Why::Linked(first) => format!(
            "was another name of {}, which stays what it is; its bytes are right",
            String::from_utf8_lossy(first.as_bytes())
        ),
        Why::Excluded => {
            "may have been there as an excluded directory, so it is not known to be new".to_owned()
        }
        Why::Settled => "another session's restore left it so, and this session did not change it".to_owned(),
        Why::Socket => "only the program that listens on a socket can make it".to_owned(),
    }
}

/// A path with a reason.
#[derive(Clone, Debug, Serialize)]
pub(super) struct ReasonDocument {
    #[serde(flatten)]
    at: PathDocument,
    reason: String,
}

impl ReasonDocument {
    pub(super) fn new(coverage: &Coverage, path: &RelPath, reason: impl Into<String>) -> Self {
        Self {
            at: PathDocument::new(coverage, path),
            reason: reason.into(),
        }
    }

    pub(super) fn gap(coverage: &Coverage, gap: &NotCovered) -> Self {
        Self::new(coverage, &gap.path, gap.reason.clone())
    }
}

/// `diff --json`.
#[derive(Debug, Serialize)]
pub(super) struct DiffDocument {
    pub(super) schema: u32,
    pub(super) instance: String,
    pub(super) from: String,
    pub(super) to: String,
    pub(super) changes: Vec<ChangeDocument>,
    pub(super) not_covered: Vec<ReasonDocument>,
}

/// `restore --json`, `undo --json`; with `--dry-run` the plan under the same names.
#[derive(Debug, Serialize)]
pub(super) struct RestoreDocument {
    pub(super) schema: u32,
    pub(super) instance: String,
    pub(super) outcome: &'static str,
    pub(super) target: String,
    pub(super) receipt: Option<u64>,
    pub(super) emergency: Option<String>,
    pub(super) applied: Vec<ChangeDocument>,
    pub(super) kept: Vec<ChangeDocument>,
    pub(super) conflicts: Vec<ChangeDocument>,
    pub(super) failed: Vec<ReasonDocument>,
    pub(super) not_covered: Vec<ReasonDocument>,
    pub(super) not_checked: Vec<ReasonDocument>,
}

/// One snapshot in `list` and `show`.
#[derive(Debug, Serialize)]
pub(super) struct SnapshotDocument {
    id: String,
    kind: &'static str,
    name: Option<String>,
    message: Option<String>,
    late: bool,
    taken_at: Time,
    complete: bool,
    entries: u64,
    bytes: u64,
}

impl From<&SnapshotRow> for SnapshotDocument {
    fn from(row: &SnapshotRow) -> Self {
        Self {
            id: row.id.to_string(),
            kind: row.kind.word(),
            name: row.name.clone(),
            message: row.message.clone(),
            late: row.late,
            taken_at: row.taken_at,
            complete: row.complete,
            entries: row.entries,
            bytes: row.bytes,
        }
    }
}

/// One instance in `list` and `show`.
#[derive(Debug, Serialize)]
pub(super) struct InstanceDocument {
    id: String,
    workspace: Option<String>,
    status: &'static str,
    mode: String,
    started_at: Time,
    ended_at: Option<Time>,
    mounts: Vec<String>,
    snapshots: Vec<SnapshotDocument>,
}

impl InstanceDocument {
    pub(super) fn new(row: &InstanceRow, state: &State, snapshots: &[SnapshotRow]) -> Self {
        let roots = row
            .mounts
            .iter()
            .map(|mount| String::from_utf8_lossy(&mount.root.0).into_owned());
        Self {
            id: row.id.to_string(),
            workspace: row.workspace.clone(),
            status: state.word(),
            mode: row.mode.clone(),
            started_at: row.started_at,
            ended_at: row.ended_at,
            mounts: roots.collect(),
            snapshots: snapshots.iter().map(SnapshotDocument::from).collect(),
        }
    }
}
