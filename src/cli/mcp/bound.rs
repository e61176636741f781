//! The one session that the tools of a server act on, and what they may do to it.

use std::ffi::OsString;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rmcp::model::JsonObject;
use serde::Serialize;
use serde_json::Value;

use super::act;
use super::tools::{Right, Tool};
use crate::cli::args::CalledAs;
use crate::cli::commands::agent::{begin_for, keeper, opted_in, terms};
use crate::cli::context::Context;
use crate::cli::error::{CliError, ErrorKind};
use crate::config::AgentRestore;
use crate::environment::Environment;
use crate::process::{self, INSTANCE_VARIABLE};
use crate::session::{Allowed, find_called, is_active, refuse_inside};
use crate::snapshot::{AgentRef, ProcessRef};
use crate::store::{InstanceRow, Store};
use crate::terminal::recorded::{facts, terminal};
use crate::terminal::{Verbosity, sanitize};

/// Lines of what is said are broken nowhere.
const WIDEST: usize = 10_000;

/// What a tool gave: for a person or a model to read, and for a program.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Reply {
    pub(super) text: String,
    pub(super) structured: Value,
}

impl Reply {
    pub(super) fn new(text: String, result: &impl Serialize) -> Result<Self, CliError> {
        let structured = serde_json::to_value(result)
            .map_err(|error| CliError::new(ErrorKind::Failed, "the result is no JSON").because(&error))?;
        Ok(Self { text, structured })
    }
}

/// Who calls the tools.
#[derive(Clone, Debug)]
pub(in crate::cli) struct Bound {
    environment: Environment,
    called_as: CalledAs,
    /// The session that was named when the server was started.
    named: Option<String>,
    read_only: bool,
}

impl Bound {
    pub(in crate::cli) fn new(context: &Context<'_>, named: Option<String>, read_only: bool) -> Self {
        Self {
            environment: context.environment.clone(),
            called_as: context.called_as,
            named,
            read_only,
        }
    }

    /// What may be called now: the operator may change it while the server runs. What cannot be found out is not allowed.
    pub(super) fn right(&self) -> Right {
        let found = self.within(Arc::default(), |context| {
            let row = self.find(context)?.map(|(_, row)| row);
            self.allowed(context, row.as_ref())
        });
        let (right, _) = found.unwrap_or_else(|_| (self.least(), String::new()));
        right
    }

    /// What may be called whatever the configuration says.
    fn least(&self) -> Right {
        if self.read_only { Right::Read } else { Right::Mark }
    }

    fn allowed(&self, context: &Context<'_>, row: Option<&InstanceRow>) -> Result<Right, CliError> {
        if self.read_only {
            return Ok(self.least());
        }
        let terms = match row {
            Some(row) => terms(context, row)?,
            None => opted_in(context.environment)?,
        };
        Ok(match terms.map(|terms| terms.agent_restore.value) {
            Some(AgentRestore::Checkpoints) => Right::Restore,
            Some(AgentRestore::Deny) | None => self.least(),
        })
    }

    /// Calls a tool; `stop` asks it to give up.
    ///
    /// # Errors
    /// What went wrong, in words.
    pub(super) fn call(&self, tool: Tool, given: JsonObject, stop: Arc<AtomicBool>) -> Result<Reply, String> {
        let told = |error: CliError| in_words(&error.as_called(self.called_as));
        let done = self.within(stop, |context| {
            let found = self.find(context)?;
            let right = self.allowed(context, found.as_ref().map(|(_, row)| row))?;
            if right < tool.needs() {
                return Err(self.refused(tool));
            }
            act::perform(self, context, tool, given, found)
        });
        let (mut reply, said) = done.map_err(told)?;
        if !said.is_empty() {
            reply.text = format!("{}\n\n{}", reply.text, said.trim_end());
        }
        // Colours are for terminals.
        reply.text = sanitize::door(&reply.text, false);
        Ok(reply)
    }

    fn refused(&self, tool: Tool) -> CliError {
        let message = format!("{} is not allowed here", tool.name());
        let error = CliError::new(ErrorKind::RefusedInside, message);
        if self.read_only {
            error.hint("the server was started with --read-only")
        } else {
            error.hint(
                "the operator allows it with restore = \"checkpoints\" in the [recovery.agent] table; what was kept is safe, and the \
                 operator can restore it",
            )
        }
    }

    /// Works with a context of its own: what is said comes back beside the result, and stops when `stop` says so.
    fn within<T>(
        &self,
        stop: Arc<AtomicBool>,
        work: impl FnOnce(&Context<'_>) -> Result<T, CliError>,
    ) -> Result<(T, String), CliError> {
        let mut environment = self.environment.clone();
        if let Some(named) = &self.named {
            let id = OsString::from(self.id_of(named)?.unwrap_or_else(|| named.clone()));
            environment.variables.insert(INSTANCE_VARIABLE.into(), id);
        }
        let (terminal, _, said) = terminal(facts(WIDEST), Verbosity::Quiet);
        let context = Context::of_a_call(&environment, &terminal, self.called_as, stop);
        let done = work(&context)?;
        Ok((done, said.text()))
    }

    /// The id behind what the session was called when the server was started.
    fn id_of(&self, named: &str) -> Result<Option<String>, CliError> {
        let (terminal, ..) = terminal(facts(WIDEST), Verbosity::Quiet);
        let context = Context::of_a_call(&self.environment, &terminal, self.called_as, Arc::default());
        let Some(store) = context.store_for_reading()? else {
            return Ok(None);
        };
        let row = find_called(&store, &self.environment, named)?;
        // Who lives in another session may not name this one.
        refuse_inside(&store, &self.environment, Allowed::Checkpoint(&row.id))?;
        Ok(Some(row.id.to_string()))
    }

    /// The session, when there is one.
    pub(super) fn find(&self, context: &Context<'_>) -> Result<Option<(Store, InstanceRow)>, CliError> {
        let named = context.environment.get(INSTANCE_VARIABLE);
        let Some(store) = context.store_for_reading()? else {
            return Ok(None);
        };
        let row = match named {
            Some(named) => Some(find_called(
                &store,
                context.environment,
                &named.to_string_lossy(),
            )?),
            None => of_the_caller(&store, context)?,
        };
        Ok(row.map(|row| (store, row)))
    }

    /// The session; when there is none, one begins for the agent that calls.
    pub(super) fn find_or_begin(&self, context: &Context<'_>) -> Result<InstanceRow, CliError> {
        let is_named = context.environment.get(INSTANCE_VARIABLE).is_some();
        if let Some((_, row)) = self.find(context)? {
            return Ok(row);
        }
        if is_named || opted_in(context.environment)?.is_none() {
            return Err(no_session(context));
        }
        let store = context.store_for_writing()?;
        let process = keeper(context).map_or_else(String::new, |ProcessRef { pid, start, .. }| {
            format!("{pid}/{start}")
        });
        let agent = AgentRef {
            name: "mcp".to_owned(),
            session: process,
        };
        // Several servers of one agent: one of them begins it.
        let _alone = store.lock_agent(&agent)?;
        if let Some(row) = of_the_caller(&store, context)? {
            return Ok(row);
        }
        let begun = begin_for(context, &store, None)?;
        if let Some(error) = begun.baseline_error {
            return Err(error.into());
        }
        let row = store.catalog().instance(&begun.instance)?;
        row.ok_or_else(|| no_session(context))
    }
}

/// An error for a model: what, why, and what can be done, each on lines of its own.
fn in_words(error: &CliError) -> String {
    let part = |label: &str, text: &str| format!("{label}{}", sanitize::text(text));
    let mut lines = vec![part("", &error.message)];
    lines.extend(error.causes.iter().map(|cause| part("because: ", cause)));
    lines.extend(error.hints.iter().map(|hint| part("hint: ", hint)));
    lines.join("\n")
}

/// The newest living session that the caller runs in, by its ancestors.
fn of_the_caller(store: &Store, context: &Context<'_>) -> Result<Option<InstanceRow>, CliError> {
    let caller = process::caller(context.environment);
    let is_own = |row: &InstanceRow| {
        let mut known = row.keeper.iter().chain(&row.survivors);
        known.any(|process| caller.ancestors.contains(process))
            || caller.sessions.iter().any(|session| session == row.id.as_str())
    };
    let rows = store.catalog().instances()?.into_iter();
    let mut own = rows.filter(|row| row.ended_at.is_none() && is_own(row));
    Ok(own.find(|row| is_active(store, row)))
}

/// There is no session to act on.
pub(super) fn no_session(context: &Context<'_>) -> CliError {
    let here = sanitize::path(&context.environment.current);
    CliError::new(
        ErrorKind::UnknownInstance,
        format!("no session is recorded for this agent, and {here} lies in no workspace that is captured"),
    )
    .command(
        "the operator turns recovery on for a workspace with",
        "init WORKSPACE",
    )
    .command(
        "or starts the agent with",
        "launch --snapshot project DIR -- COMMAND",
    )
}
