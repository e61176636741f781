//! `hook run`: what an agent calls. It must never break the agent: nothing stands on standard output, what goes wrong is said once in a
//! session and is no reason to stop, unless the operator wants it to be.

use std::io::Read as _;

use super::{HookRunArgs, recorded};
use crate::agents::{Effect, Event, HookEvent, LARGEST, ToolCall};
use crate::cli::agent_session::begin_for;
use crate::cli::context::Context;
use crate::cli::error::{CliError, ErrorKind};
use crate::cli::exit_code::{ExitCode, Status};
use crate::cli::replication::leave;
use crate::cli::session_end::end_held;
use crate::config::{AgentRestore, OnFailure, Resolved};
use crate::model::{AgentEvent, AgentRef, Ending, InstanceId, Operation, SnapshotId, SnapshotKind};
use crate::process::INSTANCE_VARIABLE;
use crate::recovery::settings::opted_in;
use crate::recovery::survivors;
use crate::report::begun;
use crate::session::{CheckpointRequest, EndRequest, is_active, sessions_of_caller};
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
            | HookEvent::ToolEnd(ToolCall {
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
            // The variable can be set by anything: the session is one that this process descends from.
            let mut sessions = sessions_of_caller(self.store, self.context.environment)?.into_iter();
            return match sessions.find(|row| row.id.as_str() == own) {
                Some(row) => self.record(&row, &event.happening),
                None => Ok(()),
            };
        }
        // Hooks of one session run at the same time; only one of them begins it.
        let _alone = self.store.lock_agent(&self.agent)?;
        let begins = matches!(
            event.happening,
            HookEvent::Start | HookEvent::Prompt(_) | HookEvent::Tool(_)
        );
        let joined = match self.joined()? {
            None if begins => self.beside()?,
            joined => joined,
        };
        match (&event.happening, joined) {
            (HookEvent::End, Some(row)) => self.end(&row),
            (happening, Some(row)) => {
                self.take_missing_baseline(&row, happening)?;
                self.record(&row, happening)
            }
            (happening, None) if begins => self.begin(happening),
            _ => Ok(()),
        }
    }

    /// Returns the session that is recorded for that of the agent, while it lives.
    fn joined(&self) -> Result<Option<InstanceRow>, Failure> {
        let is_alive = |row: &InstanceRow| row.ended_at.is_none() && is_active(self.store, row);
        Ok(self.own()?.into_iter().find(is_alive))
    }

    /// Returns every session that is recorded for that of the agent, newest first.
    fn own(&self) -> Result<Vec<InstanceRow>, Failure> {
        let mut rows = self.store.catalog().instances_of_agent(&self.agent)?;
        let workspace = self.resolved.subject.workspace();
        rows.retain(|row| row.workspace.as_deref() == workspace);
        Ok(rows)
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

    /// Returns true if a failure at this event prevents a tool call. A prompt is never refused, and no turn is kept from ending.
    fn blocks(&self, happening: &HookEvent) -> bool {
        let is_call = !matches!(
            happening,
            HookEvent::Prompt(_) | HookEvent::TurnEnd | HookEvent::ToolEnd(_)
        );
        is_call && self.resolved.agent_on_failure.value == OnFailure::Block
    }

    fn begin(&self, happening: &HookEvent) -> Result<(), Failure> {
        let never_began = |row: &InstanceRow| matches!(row.ending, Some(Ending::Failed(_)));
        let is_told = self.own()?.iter().any(never_began);
        let fails = |error: CliError| Failure {
            error,
            blocks: self.blocks(happening),
            is_told,
        };
        let agent = Some(self.agent.clone());
        let begun = begin_for(self.context, self.store, agent).map_err(fails)?;
        let snapshot = begun.baseline.as_ref().map(|captured| captured.record.id.clone());
        if let Some(event) = self.event(&begun.instance, happening)? {
            self.append(&begun.instance, event, snapshot)?;
        }
        // Whether the call runs or not: the operator must know that there is nothing to go back to.
        match begun.baseline_error {
            Some(error) => Err(fails(error.into())),
            None => Ok(()),
        }
    }

    /// Takes the baseline of a session that began without one. Its first failure was printed; a later one only blocks, if the operator
    /// wants that.
    fn take_missing_baseline(&self, row: &InstanceRow, happening: &HookEvent) -> Result<(), Failure> {
        if matches!(happening, HookEvent::ToolEnd(_)) {
            return Ok(());
        }
        let limits = &self.resolved.limits;
        match self.context.engine().baseline_again(self.store, row, limits) {
            Err(error) if self.blocks(happening) => Err(Failure {
                error: error.into(),
                blocks: true,
                is_told: true,
            }),
            _ => Ok(()),
        }
    }

    /// Returns what a receipt records of an event in a session; `None` if that is nothing.
    fn event(&self, session: &InstanceId, happening: &HookEvent) -> Result<Option<AgentEvent>, Failure> {
        let wanted = self.resolved.prompts.value;
        let last_turn = || self.store.catalog().last_turn(session);
        Ok(Some(match happening {
            HookEvent::Prompt(text) => AgentEvent::Prompt {
                turn: last_turn()?.0.saturating_add(1),
                text: text.as_ref().and_then(|text| recorded::text(text, wanted)),
            },
            // An agent that reports no prompts has turns anyway.
            HookEvent::TurnEnd => {
                let (last, has_ended) = last_turn()?;
                AgentEvent::TurnEnd {
                    turn: last.saturating_add(u32::from(has_ended)),
                }
            }
            HookEvent::Tool(call) => AgentEvent::Call {
                call: recorded::call(call, &self.context.environment.current, wanted),
            },
            HookEvent::ToolEnd(call) => {
                let (tool, id) = recorded::name(call);
                AgentEvent::Return {
                    tool,
                    id,
                    background: call.background,
                }
            }
            HookEvent::Start | HookEvent::End | HookEvent::Other => return Ok(None),
        }))
    }

    fn append(
        &self,
        session: &InstanceId,
        event: AgentEvent,
        snapshot: Option<SnapshotId>,
    ) -> Result<(), Failure> {
        let world = self.context.world();
        let act = Operation::AgentEvent {
            agent: self.agent.clone(),
            event,
            since: self.store.newest_known_receipt()?,
            snapshot,
        };
        self.store.append(world.clock.now(), world.uid, session, act)?;
        Ok(())
    }

    /// Records an event, with a checkpoint of the files as they were then, when anything changed since the last one.
    fn record(&self, row: &InstanceRow, happening: &HookEvent) -> Result<(), Failure> {
        let Some(event) = self.event(&row.id, happening)? else {
            return Ok(());
        };
        let message = match &event {
            AgentEvent::Prompt { turn, text: None } => format!("before turn {turn}"),
            AgentEvent::Prompt {
                turn,
                text: Some(text),
            } => {
                format!("before turn {turn}: {}", text.lines().next().unwrap_or_default())
            }
            AgentEvent::Call { call } => {
                format!("before {}", call.label().lines().next().unwrap_or_default())
            }
            AgentEvent::TurnEnd { turn } => format!("end of turn {turn}"),
            // What the call left is seen at the next event.
            AgentEvent::Return { .. } => return self.append(&row.id, event, None),
        };
        let mark = CheckpointRequest {
            name: None,
            message: Some(&message),
            event: Some((&self.agent, &event)),
            beside_baseline: self.resolved.agent_restore.value == AgentRestore::Checkpoints
                && matches!(event, AgentEvent::Prompt { .. } | AgentEvent::Call { .. }),
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
                    blocks: self.blocks(happening),
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
