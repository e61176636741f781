//! The agents whose hooks are known.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An agent with hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Agent {
    /// Claude Code.
    Claude,
    /// Codex CLI.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// opencode.
    Opencode,
    /// Cursor.
    Cursor,
    /// Copilot CLI.
    Copilot,
}

impl Agent {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Claude,
        Self::Codex,
        Self::Gemini,
        Self::Opencode,
        Self::Cursor,
        Self::Copilot,
    ];

    /// Returns the word that stands for it on the command line.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Opencode => "opencode",
            Self::Cursor => "cursor",
            Self::Copilot => "copilot",
        }
    }
}

impl Agent {
    /// Returns the scopes for which it has a settings file.
    #[must_use]
    pub fn scopes(self) -> &'static [Scope] {
        match self {
            Self::Claude => &Scope::ALL,
            _ => &[Scope::User, Scope::Project],
        }
    }

    /// Returns the name under which people know it.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Claude => "Claude Code",
            Self::Codex => "Codex",
            Self::Gemini => "Gemini CLI",
            Self::Opencode => "opencode",
            Self::Cursor => "Cursor",
            Self::Copilot => "Copilot",
        }
    }
}

impl fmt::Display for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// Whose hooks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// The operator's own, for every project.
    #[default]
    User,
    /// Those of the project in the current directory. The agent itself can write them.
    Project,
    /// The operator's own in the project in the current directory, which are not committed. The agent itself can write them.
    Local,
}

impl Scope {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::User, Self::Project, Self::Local];

    /// Returns true if the file is in the project, where the agent can write it.
    #[must_use]
    pub fn is_in_project(self) -> bool {
        self != Self::User
    }

    /// Returns the word that stands for it on the command line.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
            Self::Local => "local",
        }
    }
}
