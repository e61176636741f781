//! Events that an agent's hooks report: prompts, tool calls, and the ends of turns.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ByteString;

/// A session of an agent, as the agent calls it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct AgentRef {
    /// Word for the agent on the command line, such as `claude`.
    pub name: String,
    /// The agent's own id of it; empty when it gives none.
    pub session: String,
}

impl AgentRef {
    /// Returns the one of a session that a tool of the MCP server began, which knows no conversation.
    #[must_use]
    pub fn of_tools() -> Self {
        Self {
            name: "mcp".to_owned(),
            session: String::new(),
        }
    }
}

/// A call of one of an agent's tools.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CallRef {
    /// The tool, as the agent calls it.
    pub tool: String,
    /// The agent's own id of the call, when it gives one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Command of a shell, as far as the configuration wants it. What looks like a secret is hidden.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Host paths of the only files that the call can write, without links; empty if it may write any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<ByteString>,
    /// True if what it starts goes on after the call has returned.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub background: bool,
    /// True if a sub-agent calls, which may go on after the turn has ended.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub subagent: bool,
}

impl CallRef {
    /// Returns the call as a person remembers it: the tool, and its command or the file that it writes.
    #[must_use]
    pub fn label(&self) -> String {
        let file = || {
            let path = self.paths.first()?.to_path();
            Some(path.file_name()?.to_string_lossy().into_owned())
        };
        match self.command.clone().or_else(file) {
            Some(object) => format!("{}: {object}", self.tool),
            None => self.tool.clone(),
        }
    }
}

/// An event of an agent's session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum AgentEvent {
    /// The operator asked for something: a turn begins.
    Prompt {
        /// Number of the turn in the session, from 1.
        turn: u32,
        /// Text of the prompt, as far as the configuration wants it. What looks like a secret is hidden.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },
    /// A tool that may change files is about to be called.
    Call {
        /// The call.
        call: CallRef,
    },
    /// A tool has returned.
    Return {
        /// The tool, as the agent calls it.
        tool: String,
        /// The agent's own id of the call, when it gives one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        /// True if what the call started goes on.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        background: bool,
    },
    /// The agent waits for the operator.
    TurnEnd {
        /// Number of the turn in the session, from 1.
        turn: u32,
    },
}

impl AgentEvent {
    /// Returns the text by which a person finds the moment before the event; `None` for the end of a call or turn.
    #[must_use]
    pub fn search_text(&self) -> Option<String> {
        match self {
            Self::Prompt { text, .. } => text.clone(),
            Self::Call { call } => Some(call.label()),
            Self::Return { .. } | Self::TurnEnd { .. } => None,
        }
    }
}
