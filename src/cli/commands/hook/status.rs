//! `hook status`: which agents have jackin's hooks, and which program they call.

use super::HookStatusArgs;
use crate::agents::settings::standing;
use crate::agents::trust::{switched_off, untrusted};
use crate::agents::{Agent, Scope, called_program};
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::exit_code::{ExitCode, Status};
use crate::cli::view;
use crate::environment::Environment;
use crate::report::{
    Head, HookProgramDocument, HookStandingDocument, HookState, HookStatusDocument, HookSwitchDocument,
    HookTrust, HostPathDocument,
};
use crate::terminal::sanitize;

pub(super) fn run(context: &Context<'_>, args: &HookStatusArgs) -> Result<Status, CliError> {
    let agents = Agent::ALL
        .into_iter()
        .filter(|agent| args.agent.is_none_or(|wanted| wanted == *agent));
    let scopes = |agent: Agent| agent.scopes().iter().map(move |scope| (agent, *scope));
    let pairs = agents.flat_map(scopes);
    let hooks: Vec<HookStandingDocument> = pairs.map(|(agent, scope)| one(context, agent, scope)).collect();
    if args.json {
        context.terminal.json(&HookStatusDocument {
            head: Head::default(),
            hooks,
        });
        return Ok(ExitCode::Done.into());
    }
    for one in &hooks {
        context.terminal.out(&view::hooks::standing(one));
        for worry in one
            .programs
            .iter()
            .filter_map(|program| view::hooks::worry(one, program))
        {
            context.terminal.warn(&worry);
        }
        if let Some(switch) = &one.disabled_by {
            let file = sanitize::path(&switch.file.exact);
            context
                .terminal
                .note(&format!("to enable them: remove `{}` from {file}", switch.key));
        }
        if one.trust == Some(HookTrust::Untrusted) {
            match (one.agent, one.scope) {
                (Agent::Copilot, _) => context
                    .terminal
                    .note("to trust this directory: start copilot in it"),
                (agent, Scope::User) => context.propose("to trust them", &format!("hook install {agent}")),
                (agent, scope) => {
                    let scope = scope.word();
                    context.propose("to trust them", &format!("hook install {agent} --scope {scope}"));
                }
            }
        }
    }
    Ok(ExitCode::Done.into())
}

fn one(context: &Context<'_>, agent: Agent, scope: Scope) -> HookStandingDocument {
    let mut made = HookStandingDocument {
        agent,
        scope,
        state: HookState::Unreadable,
        file: None,
        programs: Vec::new(),
        events: Vec::new(),
        missing: Vec::new(),
        problem: None,
        trust: None,
        untrusted: Vec::new(),
        disabled_by: None,
    };
    match standing(agent, scope, context.environment) {
        Ok(standing) => {
            if let Some(untrusted) = untrusted(agent, scope, context.environment, &standing) {
                made.trust = Some(HookTrust::of(&untrusted));
                made.untrusted = untrusted;
            }
            let switch = switched_off(agent, context.environment, &standing);
            made.disabled_by = switch.as_ref().map(HookSwitchDocument::of);
            let found = standing.found;
            made.file = Some(HostPathDocument::new(&standing.path));
            made.state = match (found.events.as_slice(), found.missing.as_slice()) {
                ([], _) => HookState::NotInstalled,
                (_, []) => HookState::Installed,
                _ => HookState::PartlyInstalled,
            };
            made.programs = found
                .programs
                .into_iter()
                .map(|called| program(called, context.environment))
                .collect();
            (made.events, made.missing) = (found.events, found.missing);
        }
        Err(error) => made.problem = Some(error.to_string()),
    }
    made
}

fn program(program: String, environment: &Environment) -> HookProgramDocument {
    let file = called_program(&program, environment);
    let this = std::env::current_exe().ok();
    let real = file.as_ref().and_then(|file| std::fs::canonicalize(file).ok());
    // The program of the second name replaces itself by the one beside it.
    let beside = real.as_ref().filter(|real| real.ends_with("jackin-recovery"));
    let beside = beside.map(|real| real.with_file_name("jackin"));
    let is_this = this.is_some() && [&file, &real, &beside].contains(&&this);
    HookProgramDocument {
        is_there: file.is_some(),
        is_this,
        program,
    }
}
