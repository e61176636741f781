//! `hook install`, `hook uninstall`, `hook status`.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Head, HostPathDocument};
use crate::agents::{Agent, Scope};

/// How far it went.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(in crate::cli) enum HookOutcome {
    /// There was nothing to do.
    Unchanged,
    /// `--dry-run`: this would be done.
    Planned,
    /// The file was written.
    Written,
    /// The file was removed: nothing but ours was in it.
    Removed,
}

/// `hook install --json` and `hook uninstall --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::cli) struct HookEditDocument {
    #[serde(flatten)]
    pub(in crate::cli) head: Head,
    pub(in crate::cli) agent: Agent,
    pub(in crate::cli) scope: Scope,
    pub(in crate::cli) outcome: HookOutcome,
    /// The file, where links of the operator lead.
    #[serde(flatten)]
    pub(in crate::cli) file: HostPathDocument,
    /// The file was reached through a link.
    pub(in crate::cli) linked: bool,
    /// What changes, as a unified diff. Values that are not ours are hidden in it.
    pub(in crate::cli) diff: String,
}

/// What of ours the settings of an agent have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(in crate::cli) enum HookState {
    /// Every hook.
    Installed,
    /// Some of them.
    PartlyInstalled,
    /// None.
    NotInstalled,
    /// It cannot be told.
    Unreadable,
}

/// A program that hooks call.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::cli) struct HookProgramDocument {
    /// Its path.
    pub(in crate::cli) program: String,
    /// It is there.
    pub(in crate::cli) is_there: bool,
    /// It is the program that says this.
    pub(in crate::cli) is_this: bool,
}

/// One agent and scope.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::cli) struct HookStandingDocument {
    pub(in crate::cli) agent: Agent,
    pub(in crate::cli) scope: Scope,
    pub(in crate::cli) state: HookState,
    /// The file in which the agent looks.
    #[serde(flatten)]
    pub(in crate::cli) file: Option<HostPathDocument>,
    pub(in crate::cli) programs: Vec<HookProgramDocument>,
    /// The events that have a hook of ours, as the agent calls them.
    pub(in crate::cli) events: Vec<String>,
    /// Those that should have one.
    pub(in crate::cli) missing: Vec<String>,
    /// Why it cannot be told.
    pub(in crate::cli) problem: Option<String>,
}

/// `hook status --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub(in crate::cli) struct HookStatusDocument {
    #[serde(flatten)]
    pub(in crate::cli) head: Head,
    pub(in crate::cli) hooks: Vec<HookStandingDocument>,
}
