//! Programs of coding agents.

use std::path::PathBuf;

use super::Recovery;
use crate::agents::trust::codex::CodexProgram;
use crate::config::{Config, settle};
use crate::session::recorded_mounts;

impl Recovery<'_> {
    /// Finds Codex's own program, which records the operator's trust in hooks. It is never one that lies where an agent can write.
    #[must_use]
    pub fn codex_program(&self) -> Option<CodexProgram> {
        CodexProgram::find(self.environment, &self.places_of_agents()?)
    }

    /// Returns the directories that agents write: recorded mounts, those of all workspaces, and the current directory unless the
    /// home directory lies in it. `None` if they are not known.
    fn places_of_agents(&self) -> Option<Vec<PathBuf>> {
        let mut places = recorded_mounts(self.environment).ok()?;
        let config = Config::load(self.environment).ok()?;
        for name in config.workspace_names().ok()? {
            let mounts = config.workspace_mounts(&name).unwrap_or_default();
            places.extend(mounts.into_iter().map(|mount| settle(&mount.src)));
        }
        let current = settle(&self.environment.current);
        let home = self.environment.home.as_deref().map(settle);
        if home.is_none_or(|home| !home.starts_with(&current)) {
            places.push(current);
        }
        Some(places)
    }
}
