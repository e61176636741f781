//! Locations of the settings that hold each agent's hooks.

use std::path::{Path, PathBuf};

use super::SettingsError;
use crate::agents::{Agent, Scope};
use crate::contract::agent_variable;
use crate::environment::Environment;

/// A settings file and its base directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsLocation {
    /// Home, project, or directory that the agent's own variable names.
    pub base: PathBuf,
    /// The file below it.
    pub below: PathBuf,
}

impl SettingsLocation {
    /// Returns the path of the file.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.base.join(&self.below)
    }
}

/// Returns the file in which `agent` looks for hooks of that scope.
///
/// # Errors
/// [`SettingsError::NoHome`]; [`SettingsError::NoScope`].
pub fn place(
    agent: Agent,
    scope: Scope,
    environment: &Environment,
) -> Result<SettingsLocation, SettingsError> {
    if !agent.scopes().contains(&scope) {
        return Err(SettingsError::NoScope { agent, scope });
    }
    if scope.is_in_project() {
        let below = match agent {
            Agent::Claude if scope == Scope::Local => ".claude/settings.local.json",
            Agent::Claude => ".claude/settings.json",
            Agent::Codex => ".codex/hooks.json",
            Agent::Gemini => ".gemini/settings.json",
            Agent::Opencode => ".opencode/plugins/jackin-recovery.js",
            Agent::Cursor => ".cursor/hooks.json",
            // Copilot reads every file there, so jackin's hooks can have a file of their own.
            Agent::Copilot => ".github/hooks/jackin-recovery.json",
        };
        return Ok(SettingsLocation {
            base: environment.current.clone(),
            below: PathBuf::from(below),
        });
    }
    let (in_home, below) = match agent {
        Agent::Claude => (".claude", "settings.json"),
        Agent::Codex => (".codex", "hooks.json"),
        Agent::Gemini => (".gemini", "settings.json"),
        Agent::Opencode => (".config", "opencode/plugins/jackin-recovery.js"),
        Agent::Cursor => (".cursor", "hooks.json"),
        Agent::Copilot => (".copilot", "hooks/jackin-recovery.json"),
    };
    if let Some(base) = agent_variable(environment, in_home) {
        return Ok(SettingsLocation {
            base,
            below: PathBuf::from(below),
        });
    }
    let base = environment.home.clone().ok_or(SettingsError::NoHome)?;
    Ok(SettingsLocation {
        base,
        below: Path::new(in_home).join(below),
    })
}
