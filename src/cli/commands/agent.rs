//! Settings for an agent that calls jackin on its own, and the session that starts for it.

use super::begin::begin_instance;
use super::contract_args::{Asking, contract};
use crate::cli::args::Scope;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::config::{Config, Flags, Resolved};
use crate::contract::{ContractError, Target};
use crate::environment::Environment;
use crate::model::{AgentRef, ProcessRef};
use crate::process;
use crate::session::Begun;
use crate::store::{InstanceRow, Store};

/// Returns the settings of the current directory; `None` if it is in no mount of a captured workspace.
pub(in crate::cli) fn opted_in(environment: &Environment) -> Result<Option<Resolved>, CliError> {
    let config = Config::load(environment)?;
    match Target::Here.settings(&config, environment, &Flags::default()) {
        Ok(resolved) => Ok(Some(resolved).filter(|resolved| resolved.mode.value.captures())),
        Err(ContractError::NoTarget { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Returns the current settings of a session; `None` if it has neither a workspace nor a mount.
pub(in crate::cli) fn terms(context: &Context<'_>, row: &InstanceRow) -> Result<Option<Resolved>, CliError> {
    let config = Config::load(context.environment)?;
    // The mode is the session's own: it was asked for with a flag where the configuration has none.
    let flags = Flags {
        snapshot: Some(row.mode.clone()),
        ..Flags::default()
    };
    let resolved = match (&row.workspace, row.mounts.first()) {
        (Some(workspace), _) => config.for_workspace(workspace, &flags)?,
        (None, Some(mount)) => config.for_directory(&mount.root.to_path(), &flags)?,
        (None, None) => return Ok(None),
    };
    Ok(Some(resolved))
}

/// Begins a session for the agent that called us, in the current directory: it lives as long as the agent does.
pub(in crate::cli) fn begin_for(
    context: &Context<'_>,
    store: &Store,
    agent: Option<AgentRef>,
) -> Result<Begun, CliError> {
    let asking = Asking {
        verb: "begin",
        command: &[],
        is_shown: false,
    };
    let contract = contract(context, &Scope::default(), &asking)?;
    begin_instance(context, store, &contract, keeper(context), None, agent)
}

/// The agent's own process: the nearest one above that is no shell.
pub(in crate::cli) fn keeper(context: &Context<'_>) -> Option<ProcessRef> {
    let caller = process::caller(context.environment);
    let is_program = |process: &&ProcessRef| !process::is_shell(process);
    caller.ancestors.iter().find(is_program).cloned()
}
