//! The one session that the tools of a server act on, and what they may do to it.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use serde::Serialize;
use serde_json::Value;

use super::tools::Right;
use crate::cli::agent_session::{Beginner, Client, begin_for};
use crate::cli::args::CalledAs;
use crate::cli::context::Context;
use crate::cli::error::{CliError, ErrorKind};
use crate::cli::named_session::no_store;
use crate::config::AgentRestore;
use crate::environment::Environment;
use crate::model::{AgentRef, InstanceId, ProcessRef};
use crate::process::{INSTANCE_VARIABLE, Starter};
use crate::recovery::settings::{opted_in, terms};
use crate::session::{
    Allowed, ensure_outside_session, find_called, find_instance, is_active, sessions_of_caller,
};
use crate::store::{InstanceRow, Store};
use crate::terminal::recorded::{facts, terminal};
use crate::terminal::{Verbosity, sanitize};

/// Lines of what is said are broken nowhere.
const WIDEST: usize = 10_000;

/// Reply of a tool: text for a person or a model, and JSON for a program.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Reply {
    pub(super) text: String,
    /// Further messages, kept apart because the text itself may be JSON.
    pub(super) beside: Vec<String>,
    pub(super) structured: Value,
}

impl Reply {
    pub(super) fn new(text: String, result: &impl Serialize) -> Result<Self, CliError> {
        let structured = serde_json::to_value(result)
            .map_err(|error| CliError::new(ErrorKind::Failed, "the result is no JSON").because(error))?;
        Ok(Self {
            text,
            beside: Vec::new(),
            structured,
        })
    }
}

/// Binding of the server to its caller: environment, session and rights.
#[derive(Debug)]
pub(in crate::cli) struct Bound {
    environment: Environment,
    called_as: CalledAs,
    /// The session that was named when the server was started.
    named: Option<InstanceId>,
    pub(super) read_only: bool,
}

/// The session that a call is about.
pub(super) struct Found {
    pub(super) store: Store,
    pub(super) row: InstanceRow,
    /// The caller runs in it. Any other can only be read.
    pub(super) is_own: bool,
}

impl Bound {
    /// Binds to the session that is `named`, else to the one that each call comes from.
    ///
    /// # Errors
    /// When there is no such session.
    pub(in crate::cli) fn new(
        context: &Context<'_>,
        named: Option<&str>,
        read_only: bool,
    ) -> Result<Self, CliError> {
        let named = match named {
            Some(wanted) => {
                let store = context.store_for_reading()?.ok_or_else(|| no_store(wanted))?;
                Some(find_called(&store, context.environment, wanted)?.id)
            }
            None => None,
        };
        Ok(Self {
            environment: context.environment.clone(),
            called_as: context.called_as,
            named,
            read_only,
        })
    }

    /// Returns the right that is offered now. The operator may change it while the server runs, so each call checks it again.
    pub(super) fn right(&self) -> Right {
        let (right, _) = self.within(Arc::default(), |context| {
            let found = self.find(context).ok().flatten();
            let allows = |right: &Right| self.allows(context, found.as_ref(), *right);
            [Right::Restore, Right::Mark].into_iter().find(allows)
        });
        right.unwrap_or(Right::Read)
    }

    /// Returns true if the session allows `right`; false if that cannot be determined.
    pub(super) fn allows(&self, context: &Context<'_>, found: Option<&Found>, right: Right) -> bool {
        let is_open = !self.read_only && found.is_none_or(|found| found.is_own);
        match right {
            Right::Read => true,
            Right::Mark => is_open,
            Right::Restore => {
                let terms = || match found {
                    Some(found) => terms(context.environment, &found.row),
                    None => opted_in(context.environment),
                };
                let asked = || terms().ok().flatten().map(|terms| terms.agent_restore.value);
                is_open && asked() == Some(AgentRestore::Checkpoints)
            }
        }
    }

    /// Works with a context of its own: what is said comes back beside the result, and it stops when `stop` says so.
    pub(super) fn within<T>(
        &self,
        stop: Arc<AtomicBool>,
        work: impl FnOnce(&Context<'_>) -> T,
    ) -> (T, String) {
        let (terminal, _, said) = terminal(facts(WIDEST), Verbosity::Quiet);
        let context = Context::of_a_call(&self.environment, &terminal, self.called_as, stop);
        let done = work(&context);
        (done, said.text())
    }

    /// The session, when there is one: the one that was named, else the newest that the caller runs in.
    pub(super) fn find(&self, context: &Context<'_>) -> Result<Option<Found>, CliError> {
        let Some(store) = context.store_for_reading()? else {
            return Ok(None);
        };
        let own = sessions_of_caller(&store, context.environment)?;
        let Some(named) = &self.named else {
            if own.is_empty() {
                refuse_foreign(context, &store)?;
            }
            return Ok(own.into_iter().next().map(|row| Found {
                store,
                row,
                is_own: true,
            }));
        };
        let row = find_instance(&store, named.as_str())?;
        let is_own = own.iter().any(|own| own.id == row.id);
        // Who lives in another session may not even read this one.
        ensure_outside_session(&store, context.environment, Allowed::Look(&row.id))?;
        Ok(Some(Found { store, row, is_own }))
    }

    /// The session; when there is none, one begins for the agent that calls.
    pub(super) fn find_or_begin(&self, context: &Context<'_>) -> Result<InstanceRow, CliError> {
        if let Some(found) = self.find(context)? {
            return Ok(found.row);
        }
        if opted_in(context.environment)?.is_none() {
            return Err(no_session(context));
        }
        let store = context.store_for_writing()?;
        let client = Client::of_tool(context);
        let process = match &client.starter {
            Starter::Program(ProcessRef { pid, start, .. }) => format!("{pid}/{start}"),
            Starter::Unknown => String::new(),
            Starter::Gone => return Err(no_session(context)),
        };
        let agent = AgentRef {
            name: "mcp".to_owned(),
            session: process,
        };
        // Several servers of one agent: one of them begins it.
        let _alone = store.lock_agent(&agent)?;
        if let Some(row) = sessions_of_caller(&store, context.environment)?
            .into_iter()
            .next()
        {
            return Ok(row);
        }
        let begun = begin_for(context, &store, Beginner::Tool, client)?;
        if let Some(error) = begun.baseline_error {
            return Err(error.into());
        }
        let row = store.catalog().instance(&begun.instance)?;
        row.ok_or_else(|| no_session(context))
    }
}

/// Refuses when the server's own environment names a session that lives and that its agent does not run in. The
/// user who starts a process can put anything into its environment, so that gives no right; but a second
/// session beside that one would make every change of both a conflict.
fn refuse_foreign(context: &Context<'_>, store: &Store) -> Result<(), CliError> {
    let Some(value) = context.environment.get(INSTANCE_VARIABLE) else {
        return Ok(());
    };
    let Some(id) = value.to_str().and_then(|text| InstanceId::parse(text).ok()) else {
        return Ok(());
    };
    let row = store.catalog().instance(&id)?;
    let Some(row) = row.filter(|row| row.ended_at.is_none() && is_active(store, row)) else {
        return Ok(());
    };
    let why = match &row.keeper {
        Some(keeper) => format!(
            "{id} was begun for process {}, which did not start this server",
            keeper.pid
        ),
        None => format!("{id} was begun without --pid, so no process belongs to it"),
    };
    let message = format!(
        "{INSTANCE_VARIABLE} names {id}, but this agent does not run in it: {why}; no second session is started; the \
        operator can use begin --pid with the agent's process, or let the agent read it with `{}`",
        context.command(&format!("mcp {id}"))
    );
    Err(CliError::new(ErrorKind::RefusedInside, message))
}

/// There is no session to act on.
pub(super) fn no_session(context: &Context<'_>) -> CliError {
    let unknown = |message: String| CliError::new(ErrorKind::UnknownInstance, message);
    match opted_in(context.environment) {
        Err(error) => error.into(),
        Ok(Some(_)) => {
            unknown("no snapshots: this agent has no session yet; snapshot_create starts it".to_owned())
        }
        Ok(None) => {
            let here = sanitize::path(&context.environment.current);
            unknown(format!(
                "this agent has no session, and {here} is in no workspace with recovery: the operator can enable it \
                with `{}`, or start the agent with `{}`",
                context.command("init WORKSPACE"),
                context.command("launch")
            ))
        }
    }
}
