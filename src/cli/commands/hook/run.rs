//! `hook run`: what an agent calls. It must never break the agent: nothing stands on standard output, what goes wrong is said once in a
//! session and is no reason to stop, unless the operator wants it to be.

use std::io::Read as _;

use super::HookRunArgs;
use crate::agents::{Effect, Event, HookEvent, LARGEST, ToolCall};
use crate::cli::agent_session::begin_for;
use crate::cli::context::Context;
use crate::cli::error::{CliError, ErrorKind};
use crate::cli::exit_code::{ExitCode, Status};
use crate::cli::replication::leave;
use crate::cli::session_end::end_held;
use crate::config::{OnFailure, Resolved};
use crate::model::{AgentRef, CallRef, Ending, Operation, SnapshotKind};
use crate::process::INSTANCE_VARIABLE;
use crate::recovery::settings::opted_in;
use crate::recovery::survivors;
use crate::report::begun;
use crate::session::{CheckpointRequest, EndRequest, find_instance, is_active, sessions_of_caller};
use crate::store::{InstanceRow, Store};
use crate::terminal::sanitize;

/// Exit status by which an agent skips the tool call; standard error has the reason.
const BLOCK: i32 = 2;

/// Reason for a missing checkpoint.
struct Failure {
    error: CliError,
    /// True if the operator wants this failure to block the tool call.
    blocks: bool,
    /// True if the session has reported such a failure before.
    is_told: bool,
}

impl<E: Into<CliError>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self {
            error: error.into(),
            blocks: false,
            is_told: false,
        }
    }
}

pub(super) fn run(context: Context<'_>, args: &HookRunArgs) -> Status {
    let terminal = context.terminal;
    let failure = match happened(context, args) {
        Ok(()) => return ExitCode::Done.into(),
        Err(failure) => failure,
    };
    if failure.blocks || !failure.is_told {
        let what = sanitize::text(&failure.error.message);
        terminal.err(&format!("jackin recovery: no snapshot was taken: {what}"));
    }
    match (failure.blocks, failure.is_told) {
        (true, _) => Status::of_command(BLOCK),
        (false, false) => ExitCode::Failed.into(),
        (false, true) => ExitCode::Done.into(),
    }
}

fn happened(context: Context<'_>, args: &HookRunArgs) -> Result<(), Failure> {
    let agent = args.agent;
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().take(LARGEST + 1).read_to_end(&mut bytes);
    read.map_err(|error| {
        CliError::new(ErrorKind::Failed, "cannot read the event of the agent").because(error)
    })?;
    if bytes.len() as u64 > LARGEST {
        return Err(CliError::new(ErrorKind::Usage, "the event of the agent is too long").into());
    }
    let event = Event::parse(agent, &args.event, &bytes)?;
    // What only reads costs nothing: not even a look at the configuration.
    let is_idle = matches!(
        &event.happening,
        HookEvent::Other
            | HookEvent::Tool(ToolCall {
                effect: Effect::Reads,
                ..
            })
    );
    if is_idle {
        return Ok(());
    }
    let mut environment = context.environment.clone();
    if let Some(directory) = &event.directory {
        environment.current.clone_from(directory);
    }
    let Some(resolved) = opted_in(&environment)? else {
        return Ok(());
    };
    let context = context.within(&environment);
    let store = context.store_for_writing()?;
    let hook = Hook {
        context: &context,
        store: &store,
        resolved: &resolved,
        agent: AgentRef {
            name: agent.word().to_owned(),
            session: event.session.clone(),
        },
    };
    hook.on(&event)
}

struct Hook<'a> {
    context: &'a Context<'a>,
    store: &'a Store,
    resolved: &'a Resolved,
    agent: AgentRef,
}

impl Hook<'_> {
    fn on(&self, event: &Event) -> Result<(), Failure> {
        // An agent that `launch` started lives in a session already.
        if let Some(own) = self.context.environment.get(INSTANCE_VARIABLE) {
            let row = find_instance(self.store, &own.to_string_lossy())?;
            return match &event.happening {
                HookEvent::Tool(call) if is_active(self.store, &row) => self.checkpoint(&row, call),
                _ => Ok(()),
            };
        }
        // Hooks of one session run at the same time; only one of them begins it.
        let _alone = self.store.lock_agent(&self.agent)?;
        let joined = match (self.joined()?, &event.happening) {
            (None, HookEvent::Start | HookEvent::Tool(_)) => self.beside()?,
            (joined, _) => joined,
        };
        match (&event.happening, joined) {
            (HookEvent::Tool(call), Some(row)) => self.checkpoint(&row, call),
            (HookEvent::Start | HookEvent::Tool(_), None) => self.begin(),
            (HookEvent::End, Some(row)) => self.end(&row),
            _ => Ok(()),
        }
    }

    /// The session that is recorded for that of the agent, while it lives. One that could not begin is not tried again.
    fn joined(&self) -> Result<Option<InstanceRow>, Failure> {
        let rows = self.store.catalog().instances_of_agent(&self.agent)?;
        let workspace = self.resolved.subject.workspace();
        for row in rows
            .into_iter()
            .filter(|row| row.workspace.as_deref() == workspace)
        {
            if let Some(Ending::Failed(why)) = &row.ending {
                return Err(Failure {
                    error: CliError::new(ErrorKind::Failed, why.clone()),
                    blocks: self.blocks(),
                    is_told: true,
                });
            }
            if row.ended_at.is_none() && is_active(self.store, &row) {
                return Ok(Some(row));
            }
        }
        Ok(None)
    }

    /// A living session of this very process that no hook began: by the tools that we give it, or by who started it. Another one
    /// beside it would keep both from being restored.
    fn beside(&self) -> Result<Option<InstanceRow>, Failure> {
        let workspace = self.resolved.subject.workspace();
        for row in sessions_of_caller(self.store, self.context.environment)? {
            if row.workspace.as_deref() == workspace && begun(self.store, &row.id)?.agent.is_none() {
                return Ok(Some(row));
            }
        }
        Ok(None)
    }

    fn blocks(&self) -> bool {
        self.resolved.agent_on_failure.value == OnFailure::Block
    }

    fn begin(&self) -> Result<(), Failure> {
        let fails = |error: CliError| Failure {
            error,
            blocks: self.blocks(),
            is_told: false,
        };
        let agent = Some(self.agent.clone());
        let begun = begin_for(self.context, self.store, agent).map_err(fails)?;
        // With `on_failure = "run"` the session goes on without a baseline, and whoever works in it must know.
        match begun.baseline_error {
            Some(error) => Err(fails(error.into())),
            None => Ok(()),
        }
    }

    /// A checkpoint before a tool call, when anything changed since the last one.
    fn checkpoint(&self, row: &InstanceRow, call: &ToolCall) -> Result<(), Failure> {
        let most = |text: &str, most: usize| text.chars().take(most).collect::<String>();
        let call = CallRef {
            tool: most(&call.tool, 80),
            id: call.id.as_ref().map(|id| most(id, 120)),
        };
        let message = match &call.id {
            Some(id) => format!("before {}, {id}", call.tool),
            None => format!("before {}", call.tool),
        };
        let mark = CheckpointRequest {
            name: None,
            message: Some(&message),
            call: Some(&call),
        };
        let engine = self.context.engine();
        match engine.checkpoint_if_changed(self.store, row, mark) {
            Ok(None) => Ok(()),
            Ok(Some(_)) => {
                // What goes beyond the rules goes another time when it cannot go now.
                drop(engine.apply_retention(self.store, &row.id));
                leave(self.context.environment);
                Ok(())
            }
            Err(error) => {
                let is_told = self.was_told(row)?;
                let act = Operation::CaptureFailed {
                    kind: SnapshotKind::Checkpoint,
                    error: error.to_string(),
                };
                if !is_told {
                    let world = self.context.world();
                    drop(self.store.append(world.clock.now(), world.uid, &row.id, act));
                }
                Err(Failure {
                    error: error.into(),
                    blocks: self.blocks(),
                    is_told,
                })
            }
        }
    }

    /// Returns true if a checkpoint of the session has failed before.
    fn was_told(&self, row: &InstanceRow) -> Result<bool, Failure> {
        let receipts = self.store.catalog().receipts_of(&row.id)?;
        Ok(receipts.iter().any(|receipt| {
            let failed = SnapshotKind::Checkpoint;
            matches!(&receipt.act, Operation::CaptureFailed { kind, .. } if *kind == failed)
        }))
    }

    fn end(&self, row: &InstanceRow) -> Result<(), Failure> {
        let request = EndRequest {
            row,
            ending: Ending::Ended,
            survivors: survivors(self.store, row),
        };
        let closed = end_held(self.context, self.store, request)?;
        drop(self.context.engine().apply_retention(self.store, &row.id));
        leave(self.context.environment);
        match closed.error {
            Some(error) => Err(CliError::from(error).into()),
            None => Ok(()),
        }
    }
}
