//! `status`: the session that covers the current directory.

use schemars::JsonSchema;
use serde::Serialize;

use super::Head;
use crate::model::Time;
use crate::recovery::{SessionStatus, Standing};

/// State in `status --json`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum StatusState {
    /// No session covers the directory, or nothing is left of it, or the store cannot be read.
    None,
    /// The session is active.
    Recording,
    /// It ended, and its changes can be undone.
    Ended,
    /// It is dead and has no closing snapshot.
    Lost,
    /// It ended, and its files were restored.
    Restored,
    /// A restore of it was interrupted and waits for `resume` or `abort`.
    Interrupted,
}

/// `status --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct StatusDocument {
    #[serde(flatten)]
    head: Head,
    pub(crate) state: StatusState,
    /// Id of the session.
    pub(crate) instance: Option<String>,
    /// Its configured workspace; none for a bare directory.
    workspace: Option<String>,
    /// Time at which it began.
    started_at: Option<Time>,
    /// Time at which the state began; for `recording`, `lost` and `interrupted` the same as `started_at`.
    pub(crate) since: Option<Time>,
    /// Number of paths changed up to the last snapshot; none if there is only the baseline, or it was not counted.
    pub(crate) changed: Option<u64>,
    /// False: `changed` counts a path once for each checkpoint that saw it change, so fewer may differ.
    pub(crate) changed_is_exact: bool,
}

impl StatusDocument {
    /// Makes the report.
    pub(crate) fn of(found: Option<&SessionStatus>) -> Self {
        let state = match found.map(|found| found.standing) {
            None => StatusState::None,
            Some(Standing::Recording) => StatusState::Recording,
            Some(Standing::Ended) => StatusState::Ended,
            Some(Standing::Lost) => StatusState::Lost,
            Some(Standing::Restored) => StatusState::Restored,
            Some(Standing::Interrupted) => StatusState::Interrupted,
        };
        Self {
            head: Head::default(),
            state,
            instance: found.map(|found| found.row.id.to_string()),
            workspace: found.and_then(|found| found.row.workspace.clone()),
            started_at: found.map(|found| found.row.started_at),
            since: found.map(|found| found.since),
            changed: found.and_then(|found| found.changed),
            changed_is_exact: found.is_some_and(|found| found.is_exact && found.changed.is_some()),
        }
    }
}
