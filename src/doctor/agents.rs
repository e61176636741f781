//! Judges the hooks of coding agents: whether the agent runs them, and whether they call a program that exists.

use std::path::Path;

use super::{Finding, Group, Severity};
use crate::agents::settings::{Standing, standing};
use crate::agents::trust::{switched_off, untrusted};
use crate::agents::{Agent, Scope, called_program};
use crate::config::shown;
use crate::environment::Environment;

pub(super) fn judge(environment: &Environment, findings: &mut Vec<Finding>) {
    for agent in Agent::ALL {
        for &scope in agent.scopes() {
            match standing(agent, scope, environment) {
                Ok(found) if found.found.events.is_empty() => {}
                Ok(found) => findings.push(of(environment, agent, scope, &found)),
                // A file in the current directory that is no settings file is the project's affair.
                Err(_) if scope.is_in_project() => {}
                Err(error) => {
                    let what = format!("the hooks of {agent} are unknown: {error}");
                    findings.push(Finding::new(Group::Agents, Severity::Note, what));
                }
            }
        }
    }
}

fn of(environment: &Environment, agent: Agent, scope: Scope, standing: &Standing) -> Finding {
    let option = match scope {
        Scope::User => String::new(),
        _ => format!(" --scope {}", scope.word()),
    };
    let install = format!("hook install {agent}{option}");
    let warning = |what: String| {
        let finding = Finding::new(Group::Agents, Severity::Warning, what);
        finding.at(&standing.path).verb(install.clone())
    };
    let found = &standing.found;
    if let Some(gone) = found
        .programs
        .iter()
        .find(|program| called_program(program, environment).is_none())
    {
        let gone = shown(Path::new(gone));
        return warning(format!("the hooks of {agent} call {gone}, which does not exist"));
    }
    if !found.missing.is_empty() {
        let missing = found.missing.join(", ");
        return warning(format!("{agent} has no hook for {missing}"));
    }
    if let Some(switch) = switched_off(agent, environment, standing) {
        let (title, key, file) = (agent.title(), switch.key, shown(&switch.file));
        let what = format!("the hooks of {agent} are disabled: {title} runs none while {file} has `{key}`");
        let finding = Finding::new(Group::Agents, Severity::Warning, what).at(&switch.file);
        return finding.words(format!("remove `{key}` from {file}"));
    }
    if untrusted(agent, scope, environment, standing).is_some_and(|events| !events.is_empty()) {
        let title = agent.title();
        return warning(format!(
            "the hooks of {agent} are untrusted: {title} does not run them"
        ));
    }
    let what = format!("{agent} calls {}", found.programs.join(", "));
    Finding::new(Group::Agents, Severity::Ok, what).at(&standing.path)
}
