//! The tools: their names, what they take, and what they say of themselves.

use rmcp::model::{JsonObject, Tool as Definition, ToolAnnotations};
use schemars::{JsonSchema, Schema};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tool {
    Create,
    List,
    Diff,
    Restore,
    Fork,
    SessionCheckpoint,
    SessionCheckpoints,
    SessionRestore,
}

/// Right of a caller, in ascending order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Right {
    /// Look.
    Read,
    /// Also mark moments.
    Mark,
    /// Also go back to them, and work on in a copy.
    Restore,
}

impl Tool {
    /// All of them, as they are listed.
    pub(super) const ALL: [Self; 8] = [
        Self::Create,
        Self::List,
        Self::Diff,
        Self::Restore,
        Self::Fork,
        Self::SessionCheckpoint,
        Self::SessionCheckpoints,
        Self::SessionRestore,
    ];

    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Create => "snapshot_create",
            Self::List => "snapshot_list",
            Self::Diff => "snapshot_diff",
            Self::Restore => "snapshot_restore",
            Self::Fork => "snapshot_fork",
            Self::SessionCheckpoint => "session_checkpoint",
            Self::SessionCheckpoints => "session_checkpoints",
            Self::SessionRestore => "session_restore",
        }
    }

    /// Returns the right that a caller needs for the tool.
    pub(super) fn needs(self) -> Right {
        match self {
            Self::List | Self::Diff | Self::SessionCheckpoints => Right::Read,
            Self::Create | Self::SessionCheckpoint => Right::Mark,
            Self::Restore | Self::Fork | Self::SessionRestore => Right::Restore,
        }
    }

    /// Returns the definition that clients see. Each client gives it to its model in every conversation, so it has no schema of the
    /// results: these explain themselves.
    pub(super) fn definition(self) -> Definition {
        let made =
            Definition::new(self.name(), self.description(), JsonObject::new()).with_title(self.title());
        let made = match self {
            Self::Create => made.with_input_schema::<Create>(),
            Self::List | Self::SessionCheckpoints => made.with_input_schema::<Nothing>(),
            Self::Diff => made.with_input_schema::<Diff>(),
            Self::Restore => made.with_input_schema::<Restore>(),
            Self::Fork => made.with_input_schema::<Fork>(),
            Self::SessionCheckpoint => made.with_input_schema::<Label>(),
            Self::SessionRestore => made.with_input_schema::<Which>(),
        };
        let reads = self.needs() == Right::Read;
        let replaces = matches!(self, Self::Restore | Self::SessionRestore);
        made.with_annotations(ToolAnnotations::from_raw(
            None,
            Some(reads),
            Some(replaces),
            Some(reads || replaces),
            Some(false),
        ))
    }

    fn title(self) -> &'static str {
        match self {
            Self::Create => "Take a snapshot",
            Self::List => "List snapshots",
            Self::Diff => "What changed since a snapshot",
            Self::Restore => "Restore a snapshot",
            Self::Fork => "Copy a snapshot into a new directory",
            Self::SessionCheckpoint => "Take a checkpoint",
            Self::SessionCheckpoints => "List checkpoints",
            Self::SessionRestore => "Restore a checkpoint",
        }
    }

    fn description(self) -> &'static str {
        match self {
            Self::Create => {
                "Takes a snapshot of the project's files, including ignored files, .git, modes and links. Take one \
                before a risky step."
            }
            Self::List => "Lists the snapshots of this session, newest first.",
            Self::Diff => {
                "Returns a unified diff of the project since a snapshot of this session. The default is the newest \
                snapshot, or the start of the session if there is none."
            }
            Self::Restore => {
                "Restores the project's files from a snapshot of this session: later changes are reverted, later \
                files deleted. The current files are kept for the operator, who can undo this."
            }
            Self::Fork => {
                "Writes a snapshot of this session to a new directory, to try something there. The project does not \
                change. The result names the directory."
            }
            Self::SessionCheckpoint => "Takes a checkpoint of the project's files, and returns its id.",
            Self::SessionCheckpoints => "Lists the checkpoints of this session, newest first.",
            Self::SessionRestore => {
                "Restores the project's files from a checkpoint of this session [default: the newest]. The current \
                files are kept for the operator, who can undo this."
            }
        }
    }
}

/// Understands what a tool was called with.
///
/// # Errors
/// What is wrong with it, in words.
pub(super) fn arguments<T: DeserializeOwned>(given: JsonObject) -> Result<T, String> {
    serde_json::from_value(Value::Object(given)).map_err(|error| error.to_string())
}

/// Removes what no model needs. An argument that is skipped has no value of its own; clients that check defaults against types stumble
/// over `null`.
fn without_defaults(schema: &mut Schema) {
    for key in ["$schema", "title", "description"] {
        schema.remove(key);
    }
    let arguments = schema.get_mut("properties").and_then(Value::as_object_mut);
    for argument in arguments.into_iter().flat_map(|all| all.values_mut()) {
        if let Some(argument) = argument.as_object_mut() {
            argument.remove("default");
        }
    }
}

/// No arguments.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = without_defaults)]
pub(super) struct Nothing {}

/// Arguments of `snapshot_create`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(transform = without_defaults)]
pub(super) struct Create {
    /// Name the checkpoint: letters, digits, `_`, `.` and `-`. Each can be given once.
    #[schemars(with = "String")]
    pub(super) name: Option<String>,
    /// What this moment is.
    #[schemars(with = "String")]
    pub(super) description: Option<String>,
}

/// Arguments of `snapshot_diff`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(transform = without_defaults)]
pub(super) struct Diff {
    /// The earlier snapshot: its name or id, `baseline` for the beginning of the session, or the reference of a fork.
    #[serde(alias = "id", alias = "from")]
    #[schemars(with = "String")]
    pub(super) name: Option<Value>,
    /// The later snapshot; without it the files as they are.
    #[schemars(with = "String")]
    pub(super) to: Option<Value>,
    /// Only these paths and everything below them.
    #[schemars(with = "Vec<String>")]
    pub(super) paths: Option<Vec<String>>,
}

/// Arguments of `snapshot_restore`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = without_defaults)]
pub(super) struct Restore {
    /// The snapshot: its name or id, or the reference of a fork.
    #[serde(alias = "id")]
    #[schemars(with = "String")]
    pub(super) name: Value,
    /// Only these paths and everything below them.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub(super) paths: Option<Vec<String>>,
    /// Only say what would change.
    #[serde(default)]
    #[schemars(with = "bool")]
    pub(super) dry_run: Option<bool>,
}

/// Arguments of `snapshot_fork`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(transform = without_defaults)]
pub(super) struct Fork {
    /// The snapshot: its name or id, `baseline` for the beginning of the session, or the reference of a fork; without it the newest one.
    #[serde(alias = "id")]
    #[schemars(with = "String")]
    pub(super) name: Option<Value>,
    /// What to call the fork: letters, digits, `_`, `.` and `-`.
    #[schemars(with = "String")]
    pub(super) branch: Option<String>,
}

/// Arguments of `session_checkpoint`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(transform = without_defaults)]
pub(super) struct Label {
    /// What this moment is.
    #[schemars(with = "String")]
    pub(super) label: Option<String>,
}

/// Arguments of `session_restore`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(transform = without_defaults)]
pub(super) struct Which {
    /// The checkpoint; without it the newest one.
    #[serde(alias = "id")]
    #[schemars(with = "String")]
    pub(super) checkpoint_id: Option<Value>,
}

#[cfg(test)]
mod tests {
    //! Tests of how hooks classify the tools.

    use super::Tool;
    use crate::agents::{Agent, Effect, Event, HookEvent, may_be_own};

    #[test]
    fn a_hook_takes_each_of_our_tools_for_one_that_only_reads() {
        for tool in Tool::ALL {
            let name = format!("mcp__jackin-recovery__{}", tool.name());
            let told = serde_json::json!({
                "session_id": "s", "cwd": "/w", "hook_event_name": "PreToolUse", "tool_name": name,
                "tool_input": {"name": "x"}, "tool_use_id": "t",
            });
            let event = Event::parse(Agent::Claude, "PreToolUse", told.to_string().as_bytes()).unwrap();
            let HookEvent::Tool(call) = event.happening else {
                panic!("{event:?}")
            };
            assert_eq!(call.effect, Effect::Reads, "{name}");
            assert!(may_be_own(&name) && may_be_own(tool.name()), "{name}");
        }
    }
}
