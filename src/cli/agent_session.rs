//! The session that starts for an agent that calls jackin on its own.

use std::ffi::OsString;

use super::contract_args::{Asking, contract, save};
use super::watcher;
use crate::agents::{Agent, codex_owner};
use crate::cli::args::{CalledAs, Scope};
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::model::{AgentRef, InstanceId, ProcessRef};
use crate::process::{self, Starter};
use crate::recovery::NewSession;
use crate::session::Begun;
use crate::store::Store;

/// Names of programs that run an agent's own.
const RUNTIMES: [&str; 6] = ["node", "bun", "deno", "python", "python3", "MainThread"];

/// The part of an agent that begins its session.
pub(super) enum Beginner {
    /// A hook, in this conversation.
    Hook(AgentRef),
    /// A tool of the MCP server.
    Tool,
}

/// Begins a session for the agent that called us, in the current directory: it lives as long as the agent does. One that a hook
/// begins also begins without a baseline: the next event tries to take it again.
pub(super) fn begin_for(
    context: &Context<'_>,
    store: &Store,
    beginner: Beginner,
    client: Client,
) -> Result<Begun, CliError> {
    let asking = Asking {
        verb: "begin",
        command: &[],
        implied: None,
        is_shown: false,
    };
    let contract = contract(context, &Scope::default(), &asking)?;
    let session_of_hook = matches!(beginner, Beginner::Hook(_));
    let keeper = client.program();
    let session = NewSession {
        keeper: keeper.clone(),
        scripts: client.scripts,
        without_baseline: session_of_hook,
        agent: Some(match beginner {
            Beginner::Hook(agent) => agent,
            Beginner::Tool => AgentRef::of_tools(),
        }),
        ..NewSession::from(&contract)
    };
    let begun = context.engine().begin_in(store, &session)?;
    save(context, store, &begun.instance, (&contract, false));
    if let Some(keeper) = &keeper {
        end_with_owner(context, keeper, &begun.instance);
    }
    if session_of_hook && begun.baseline.is_some() {
        watcher::leave(context.environment, &contract, &begun.instance);
    }
    Ok(begun)
}

/// Leaves a process behind that ends the session with the agent's client, where the agent's own process goes on without it. If that
/// fails, the session ends by an event of the agent, or with that process.
fn end_with_owner(context: &Context<'_>, keeper: &ProcessRef, instance: &InstanceId) {
    let all = process::named(&context.environment.processes, codex_owner::NAME);
    if let Some(client) = codex_owner::owner(keeper, &context.environment.current, &all) {
        let (pid, start) = (client.pid.to_string(), client.start.to_string());
        let words = ["__ending", instance.as_str(), &pid, &start].map(OsString::from);
        drop(process::leave_behind(
            context.environment,
            CalledAs::JackinRecovery.prefix(),
            &words,
        ));
    }
}

/// The agent's client that called us.
#[derive(Clone)]
pub(super) struct Client {
    /// The program that started us.
    pub(super) starter: Starter,
    /// Shells between it and us that run a script, nearest first: a script may be the agent itself.
    pub(super) scripts: Vec<ProcessRef>,
}

impl Client {
    /// Looks for the client with the shells that run a script, one of which it may be.
    pub(super) fn of_hook(context: &Context<'_>) -> Self {
        Self {
            starter: agent_process(context),
            scripts: process::scripts(context.environment, &has_name_of_agent),
        }
    }

    /// Looks for the client of a tool of the MCP server.
    pub(super) fn of_tool(context: &Context<'_>) -> Self {
        Self::from(agent_process(context))
    }

    /// Returns its program, if that runs.
    pub(super) fn program(&self) -> Option<ProcessRef> {
        match &self.starter {
            Starter::Program(process) => Some(process.clone()),
            Starter::Gone | Starter::Unknown => None,
        }
    }

    /// Returns true if a session with this keeper is the client's.
    pub(super) fn is(&self, keeper: &ProcessRef) -> bool {
        matches!(&self.starter, Starter::Program(program) if program == keeper)
            || self.scripts.contains(keeper)
    }
}

impl From<Starter> for Client {
    fn from(starter: Starter) -> Self {
        Self {
            starter,
            scripts: Vec::new(),
        }
    }
}

fn has_name_of_agent(name: &str) -> bool {
    let mut agents = Agent::ALL.iter().map(|agent| agent.word());
    agents.any(|agent| name.contains(agent))
}

/// The agent's own process: the nearest one above that is no shell. Once it has ended, none of its hooks begins a session: its keeper would be a
/// process from which the operator's shells descend as well.
fn agent_process(context: &Context<'_>) -> Starter {
    let is_agent = |name: &str| RUNTIMES.contains(&name) || has_name_of_agent(name);
    process::starter(context.environment, &is_agent)
}
