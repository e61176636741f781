//! Current settings of the current directory and of a session.

use super::RecoveryError;
use crate::config::{Config, Flags, Resolved};
use crate::environment::Environment;
use crate::store::InstanceRow;

/// Returns the settings of the current directory; `None` if it is in no mount of a captured workspace.
pub(crate) fn opted_in(environment: &Environment) -> Result<Option<Resolved>, RecoveryError> {
    let config = Config::load(environment)?;
    let Some(workspace) = config.workspace_for_directory(&environment.current)? else {
        return Ok(None);
    };
    captured(&config, &workspace)
}

/// Returns the current settings of the workspace of a session; `None` if it has none, or it is no longer captured.
pub(crate) fn workspace_settings(
    environment: &Environment,
    row: &InstanceRow,
) -> Result<Option<Resolved>, RecoveryError> {
    match &row.workspace {
        Some(workspace) => captured(&Config::load(environment)?, workspace),
        None => Ok(None),
    }
}

fn captured(config: &Config, workspace: &str) -> Result<Option<Resolved>, RecoveryError> {
    let resolved = config.for_workspace(workspace, &Flags::default())?;
    Ok(Some(resolved).filter(|resolved| resolved.mode.value.captures()))
}

/// Returns the current settings of a session; `None` if it has neither a workspace nor a mount. Workspaces that it did not begin with cannot
/// make this fail.
pub(crate) fn terms(environment: &Environment, row: &InstanceRow) -> Result<Option<Resolved>, RecoveryError> {
    let config = Config::load(environment)?;
    // The mode is the session's own: it was asked for with a flag where the configuration has none.
    let flags = Flags {
        snapshot: Some(row.mode.clone()),
        ..Flags::default()
    };
    let resolved = match (&row.workspace, row.mounts.first()) {
        (Some(workspace), _) => config.for_workspace(workspace, &flags)?,
        (None, Some(mount)) => config.for_session(&mount.root.to_path(), &flags)?,
        (None, None) => return Ok(None),
    };
    Ok(Some(resolved))
}
