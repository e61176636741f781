//! `hook install`, `hook uninstall`, `hook status`.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Head, HostPathDocument, hook_change};
use crate::agents::settings::{After, Edit};
use crate::agents::trust::HookSwitch;
use crate::agents::{Agent, Scope};
use crate::diff::Line;

/// Result of the change.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum HookOutcome {
    /// There was nothing to do.
    Unchanged,
    /// `--dry-run`: this would be done.
    Planned,
    /// The file was written.
    Written,
    /// The file was removed: it had only jackin's hooks.
    Removed,
}

/// Trust of an agent in hooks: Codex runs only those that its user trusts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum HookTrust {
    /// It runs all of jackin's hooks.
    Trusted,
    /// It does not run some of them.
    Untrusted,
}

impl HookTrust {
    /// Returns the trust, given the events whose hooks are not run.
    pub(crate) fn of(untrusted: &[String]) -> Self {
        match untrusted {
            [] => Self::Trusted,
            _ => Self::Untrusted,
        }
    }
}

/// `hook install --json` and `hook uninstall --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct HookEditDocument {
    #[serde(flatten)]
    pub(crate) head: Head,
    pub(crate) agent: Agent,
    pub(crate) scope: Scope,
    pub(crate) outcome: HookOutcome,
    /// The file, where links of the operator lead.
    #[serde(flatten)]
    pub(crate) file: HostPathDocument,
    /// The file was reached through a link.
    pub(crate) linked: bool,
    /// Changes as a unified diff. Values that are not jackin's are hidden.
    pub(crate) diff: String,
    /// Trust of the agent in the hooks; none if the agent asks for no trust, or has no hooks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) trust: Option<HookTrust>,
    /// Setting that turns off all hooks of the agent, if one does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) disabled_by: Option<HookSwitchDocument>,
    /// Its lines; `None` stands for the names of the file.
    #[serde(skip)]
    pub(crate) lines: Vec<(Option<Line>, String)>,
}

impl HookEditDocument {
    /// Makes the report of an edit.
    pub(crate) fn new(agent: Agent, scope: Scope, edit: &Edit, outcome: HookOutcome) -> Self {
        let lines = hook_change::lines(edit);
        Self {
            head: Head::default(),
            agent,
            scope,
            outcome,
            file: HostPathDocument::new(edit.file()),
            linked: edit.is_linked(),
            diff: match edit.after() {
                After::Same => String::new(),
                _ => lines.iter().map(|(_, text)| format!("{text}\n")).collect(),
            },
            trust: None,
            disabled_by: None,
            lines,
        }
    }
}

/// Hooks of jackin in the settings of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum HookState {
    /// Every hook.
    Installed,
    /// Some of them.
    PartlyInstalled,
    /// None.
    NotInstalled,
    /// It is unknown.
    Unreadable,
}

/// A program that hooks call.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct HookProgramDocument {
    /// Its path.
    pub(crate) program: String,
    /// It is there.
    pub(crate) is_there: bool,
    /// It is the program that says this.
    pub(crate) is_this: bool,
}

/// One agent and scope.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct HookStandingDocument {
    pub(crate) agent: Agent,
    pub(crate) scope: Scope,
    pub(crate) state: HookState,
    /// The file in which the agent looks.
    #[serde(flatten)]
    pub(crate) file: Option<HostPathDocument>,
    pub(crate) programs: Vec<HookProgramDocument>,
    /// The events that have a hook of jackin, as the agent calls them.
    pub(crate) events: Vec<String>,
    /// Those that should have one.
    pub(crate) missing: Vec<String>,
    /// Reason that it is unknown.
    pub(crate) problem: Option<String>,
    /// Trust of the agent in the hooks; none if the agent asks for no trust, or has no hooks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) trust: Option<HookTrust>,
    /// The events whose hooks the agent does not run, because they are not trusted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) untrusted: Vec<String>,
    /// Setting that turns off all hooks of the agent, if one does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) disabled_by: Option<HookSwitchDocument>,
}

/// Setting of an agent that turns off all hooks.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct HookSwitchDocument {
    /// Its key.
    pub(crate) key: &'static str,
    /// The file that has it.
    #[serde(flatten)]
    pub(crate) file: HostPathDocument,
}

impl HookSwitchDocument {
    pub(crate) fn of(switch: &HookSwitch) -> Self {
        Self {
            key: switch.key,
            file: HostPathDocument::new(&switch.file),
        }
    }
}

/// `hook status --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct HookStatusDocument {
    #[serde(flatten)]
    pub(crate) head: Head,
    pub(crate) hooks: Vec<HookStandingDocument>,
}
