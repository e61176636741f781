//! Trust of agents in hooks: Codex runs a hook only once its user trusts it, Copilot runs those of a project only in a trusted
//! directory. Reading it starts nothing.

pub mod codex;
mod copilot;

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
