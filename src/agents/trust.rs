//! Trust of agents in hooks: Codex runs a hook only once its user trusts it, Copilot runs those of a project only in a trusted
//! directory. Claude Code runs none while a setting turns off all of them. Reading it starts nothing.

mod claude;
pub mod codex;
mod copilot;

use std::path::PathBuf;

use super::settings::Standing;
use super::{Agent, Scope};
use crate::environment::Environment;

/// Returns the events whose hooks the agent does not run, because it does not trust them. `None` if it runs every hook that it finds,
/// or if there is no hook of jackin.
#[must_use]
pub fn untrusted(
    agent: Agent,
    scope: Scope,
    environment: &Environment,
    standing: &Standing,
) -> Option<Vec<String>> {
    if standing.found.events.is_empty() {
        return None;
    }
    match (agent, scope) {
        (Agent::Codex, _) => Some(codex::untrusted(environment, standing)),
        (Agent::Copilot, Scope::Project) => Some(match copilot::is_trusted(environment) {
            true => Vec::new(),
            false => standing.found.events.clone(),
        }),
        _ => None,
    }
}

/// Setting of an agent that turns off all hooks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookSwitch {
    /// Key of the setting.
    pub key: &'static str,
    /// File that has it.
    pub file: PathBuf,
}

/// Returns the setting that turns off all hooks of an agent; `None` if there is none, or no hook of jackin.
#[must_use]
pub fn switched_off(agent: Agent, environment: &Environment, standing: &Standing) -> Option<HookSwitch> {
    if agent != Agent::Claude || standing.found.events.is_empty() {
        return None;
    }
    let file = claude::disabled_in(environment)?;
    Some(HookSwitch {
        key: claude::SWITCH,
        file,
    })
}
