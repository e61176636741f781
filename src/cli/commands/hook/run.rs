//! `hook run`: what an agent calls. It must never break the agent: nothing stands on standard output, what goes wrong is said once in a
//! session and is no reason to stop, unless the operator wants it to be.

use std::collections::HashSet;
use std::io::Read as _;
use std::mem::discriminant;

use super::{HookRunArgs, recorded};
use crate::agents::{Agent, Effect, Event, HookEvent, LARGEST, ToolCall, is_reported_twice};
use crate::cli::agent_session::{Beginner, Client, begin_for};
use crate::cli::context::Context;
use crate::cli::error::{CliError, ErrorKind};
use crate::cli::exit_code::{ExitCode, Status};
use crate::cli::replication::leave;
use crate::cli::session_end::end_held;
use crate::config::{AgentRestore, OnFailure, Resolved, may_block_calls};
use crate::environment::Environment;
use crate::model::{
    AgentEvent, AgentRef, CallRef, Ending, InstanceId, Operation, ProcessRef, SnapshotId, SnapshotKind,
};
use crate::process::{self, INSTANCE_VARIABLE, Starter};
use crate::recovery::settings::{opted_in, terms, workspace_settings};
use crate::recovery::survivors;
use crate::session::{CheckpointRequest, EndRequest, SessionError, is_active, sessions_of_caller};
use crate::store::{AgentEventRow, InstanceRow, Store, StoreError};
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
    match failure.blocks {
        true => Status::of_command(BLOCK),
        false if failure.is_told || is_denied_by_any_failure(args) => ExitCode::Done.into(),
        false => ExitCode::Failed.into(),
    }
}

fn happened(context: Context<'_>, args: &HookRunArgs) -> Result<(), Failure> {
    let event = match read(args) {
        Ok(event) => event,
        Err(error) => {
            let settings =
                opted_in(context.environment).map_err(|error| unreadable(&context, args, error))?;
            let is_wanted = |settings: &Resolved| settings.agent_on_failure.value == OnFailure::Block;
            let blocks = is_call(args) && settings.as_ref().is_some_and(is_wanted);
            return Err(Failure {
                blocks,
                ..error.into()
            });
        }
    };
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
    let (environment, here) =
        place(context.environment, &event).map_err(|error| unreadable(&context, args, error))?;
    let agent = AgentRef {
        name: args.agent.word().to_owned(),
        session: event.session.clone(),
    };
    let context = context.within(&environment);
    // A session goes on wherever its agent works meanwhile.
    if here.is_none() && !goes_on(&context, &agent).unwrap_or(false) {
        return Ok(());
    }
    let is_kept = |settings: &Resolved| blocks(&event.happening, settings);
    let blocks = here.as_ref().is_some_and(is_kept);
    let recorded = context
        .store_for_writing()
        .map_err(Failure::from)
        .and_then(|store| {
            let hook = Hook {
                context: &context,
                store: &store,
                here: here.as_ref(),
                agent,
                client: Client::of_hook(&context),
            };
            hook.on(&event.happening)
        });
    recorded.map_err(|failure| Failure {
        blocks: failure.blocks || blocks,
        ..failure
    })
}

/// Settings that cannot be read do not let a call run that they may block.
fn unreadable(context: &Context<'_>, args: &HookRunArgs, error: impl Into<CliError>) -> Failure {
    Failure {
        blocks: is_call(args) && may_block_calls(context.environment),
        ..Failure::from(error)
    }
}

/// Returns the first of the agent's directories that is in a captured workspace, with the settings of that; else the first of all.
fn place(environment: &Environment, event: &Event) -> Result<(Environment, Option<Resolved>), CliError> {
    let mut first = environment.clone();
    if let Some(directory) = event.directories.first() {
        first.current.clone_from(directory);
    }
    let mut here = opted_in(&first)?;
    for directory in event.directories.iter().skip(1) {
        if here.is_some() {
            break;
        }
        let mut other = environment.clone();
        other.current.clone_from(directory);
        here = opted_in(&other)?;
        if here.is_some() {
            first = other;
        }
    }
    Ok((first, here))
}

/// Reads the event from standard input.
fn read(args: &HookRunArgs) -> Result<Event, CliError> {
    let mut input = std::io::stdin().lock();
    let mut bytes = Vec::new();
    let failed =
        |error| CliError::new(ErrorKind::Failed, "cannot read the event of the agent").because(error);
    let read = input.by_ref().take(LARGEST + 1).read_to_end(&mut bytes);
    read.map_err(failed)?;
    if bytes.len() as u64 > LARGEST {
        // An agent may take a pipe that breaks for an error of its own.
        std::io::copy(&mut input, &mut std::io::sink()).map_err(failed)?;
        return Err(CliError::new(
            ErrorKind::Usage,
            "the event of the agent is too long",
        ));
    }
    Ok(Event::parse(args.agent, &args.event, &bytes)?)
}

/// Returns true if the agent denies the call of a tool whenever its hook fails; the others run it after any status but [`BLOCK`].
fn is_denied_by_any_failure(args: &HookRunArgs) -> bool {
    args.agent == Agent::Copilot && is_call(args)
}

/// Returns true if the event is a call of a tool, also if nothing else is known of it.
fn is_call(args: &HookRunArgs) -> bool {
    let event = Event::parse(args.agent, &args.event, b"{}");
    event.is_ok_and(|event| matches!(event.happening, HookEvent::Tool(_)))
}

/// Returns true if a session that the agent works in is alive, whatever the current directory is.
fn goes_on(context: &Context<'_>, agent: &AgentRef) -> Result<bool, CliError> {
    let Some(store) = Store::open_read(&context.engine().layout()?)? else {
        return Ok(false);
    };
    let is_launched = context.environment.get(INSTANCE_VARIABLE).is_some();
    let is_in_one = is_launched && !sessions_of_caller(&store, context.environment)?.is_empty();
    Ok(is_in_one || !living(context, &store, agent, &Client::of_hook(context), None)?.is_empty())
}

/// Returns the living sessions that hooks began for a conversation in the client that calls, newest first. A conversation without an id is
/// one in each workspace.
///
/// A conversation that is open in two clients has sessions in each: the end of one client is not the end of the other, and each reports
/// turns and calls of its own.
fn living(
    context: &Context<'_>,
    store: &Store,
    agent: &AgentRef,
    client: &Client,
    here: Option<&Resolved>,
) -> Result<Vec<InstanceRow>, StoreError> {
    let mut rows = store.catalog().instances_of_agent(agent)?;
    let has_id = !agent.session.is_empty();
    let is_own = |row: &InstanceRow| has_id || here.is_some_and(|here| is_of(row, here));
    rows.retain(|row| row.ended_at.is_none() && is_own(row) && is_active(store, row));
    if rows.is_empty() {
        return Ok(rows);
    }
    let is_unknown = client.program().is_none();
    // With an id, a helper of the client may call, and a client that cannot be determined is the only one there is.
    let ancestors = process::caller(context.environment).ancestors;
    let is_only = rows
        .iter()
        .all(|row| rows.first().is_some_and(|first| row.keeper == first.keeper));
    rows.retain(|row| match &row.keeper {
        Some(keeper) if has_id => ancestors.contains(keeper) || is_unknown && is_only,
        Some(keeper) => client.is(keeper),
        None => is_unknown || has_id,
    });
    Ok(rows)
}

/// Returns true if a failure at this event prevents a tool call. A prompt is never refused, and no turn is kept from ending.
fn blocks(happening: &HookEvent, settings: &Resolved) -> bool {
    matches!(happening, HookEvent::Tool(_)) && settings.agent_on_failure.value == OnFailure::Block
}

/// Returns true if a session is one of the workspace that the settings are of.
fn is_of(row: &InstanceRow, settings: &Resolved) -> bool {
    row.workspace.as_deref() == settings.subject.workspace()
}

struct Hook<'a> {
    context: &'a Context<'a>,
    store: &'a Store,
    /// Settings of the workspace of the current directory; `None` if no workspace that is captured has it.
    here: Option<&'a Resolved>,
    agent: AgentRef,
    client: Client,
}

impl Hook<'_> {
    fn on(&self, happening: &HookEvent) -> Result<(), Failure> {
        let environment = self.context.environment;
        // An agent that `launch` started lives in a session already.
        if let Some(own) = environment.get(INSTANCE_VARIABLE) {
            // The variable can be set by anything: the session is one that this process descends from.
            let mut sessions = sessions_of_caller(self.store, environment)?.into_iter();
            if let Some(row) = sessions.find(|row| row.id.as_str() == own) {
                // Only one of several hooks takes the baseline that is missing.
                let lacks_baseline = self.store.catalog().snapshots(&row.id)?.is_empty();
                let _alone = lacks_baseline
                    .then(|| self.store.lock_agent(&self.agent))
                    .transpose()?;
                return match terms(environment, &row)? {
                    Some(settings) if settings.mode.value.captures() => self.take(&row, &settings, happening),
                    _ => Ok(()),
                };
            }
            // A terminal that outlives the session it was started in keeps the variable.
            let mut open = self.store.catalog().open_instances()?.into_iter();
            if open.any(|row| row.id.as_str() == own) {
                return Ok(());
            }
        }
        // Hooks of one session run at the same time; only one of them begins it.
        let _alone = self.store.lock_agent(&self.agent)?;
        let begins = matches!(
            happening,
            HookEvent::Start | HookEvent::Prompt(_) | HookEvent::Tool(_)
        );
        let mut joined = living(self.context, self.store, &self.agent, &self.client, self.here)?;
        if *happening == HookEvent::End && self.client.program().is_some() {
            // A client that the agent itself runs in one of its calls ends no session but its own.
            joined.retain(|row| row.keeper.as_ref().is_none_or(|keeper| self.client.is(keeper)));
        }
        let is_here = |row: &InstanceRow| self.here.is_some_and(|here| is_of(row, here));
        let mut failures = Vec::new();
        if let Some(here) = self.here
            && begins
            && !joined.iter().any(is_here)
        {
            match self.beside(here)? {
                Some(row) => joined.push(row),
                None => failures.extend(self.begin(here, happening, &joined).err()),
            }
        }
        // An agent that works in several workspaces has a session in each, and each of its commands may change any of them.
        for row in &joined {
            let recorded = match (happening, self.here) {
                (HookEvent::End, _) => self.end(row),
                (_, Some(here)) if is_of(row, here) => self.take(row, here, happening),
                _ => match workspace_settings(environment, row)? {
                    Some(settings) => self.take(row, &settings, happening),
                    None => Ok(()),
                },
            };
            failures.extend(recorded.err());
        }
        let worst = failures.into_iter().max_by_key(|failure| failure.blocks);
        worst.map_or(Ok(()), Err)
    }

    fn take(&self, row: &InstanceRow, settings: &Resolved, happening: &HookEvent) -> Result<(), Failure> {
        self.take_missing_baseline(row, settings, happening)?;
        self.record(row, settings, happening)
    }

    /// A living session of this very process that no hook began: by the tools that we give it, or by who started it. Another one
    /// beside it would keep both from being restored.
    fn beside(&self, here: &Resolved) -> Result<Option<InstanceRow>, Failure> {
        for row in sessions_of_caller(self.store, self.context.environment)? {
            let beginner = self.store.catalog().beginner(&row.id)?;
            if is_of(&row, here) && beginner.is_none_or(|agent| agent == AgentRef::of_tools()) {
                return Ok(Some(row));
            }
        }
        Ok(None)
    }

    /// Begins a session. `joined`: those of the same conversation in other workspaces.
    fn begin(&self, here: &Resolved, happening: &HookEvent, joined: &[InstanceRow]) -> Result<(), Failure> {
        let mut keepers = joined.iter().filter_map(|row| row.keeper.as_ref());
        let client = match keepers.find(|keeper| self.client.scripts.contains(keeper)) {
            Some(agent) => Client::from(Starter::Program(agent.clone())),
            None => self.client.clone(),
        };
        if client.starter == Starter::Gone {
            return Ok(());
        }
        let never_began = |row: &InstanceRow| matches!(row.ending, Some(Ending::Failed(_)));
        let own = self.store.catalog().instances_of_agent(&self.agent)?;
        let is_told = own.iter().any(|row| is_of(row, here) && never_began(row));
        let fails = |error: CliError| Failure {
            error,
            blocks: blocks(happening, here),
            is_told,
        };
        let beginner = Beginner::Hook(self.agent.clone());
        let begun = begin_for(self.context, self.store, beginner, client).map_err(fails)?;
        let snapshot = begun.baseline.as_ref().map(|captured| captured.record.id.clone());
        if let Some(event) = self.event(&begun.instance, here, happening)? {
            self.append(&begun.instance, event, snapshot, None)?;
        }
        // Whether the call runs or not: the operator must know that there is nothing to go back to.
        match begun.baseline_error {
            Some(error) => Err(fails(error.into())),
            None => Ok(()),
        }
    }

    /// Takes the baseline of a session that began without one. Its first failure was printed; a later one only blocks, if the operator
    /// wants that. Where it blocks nothing, only the first call of a turn waits for it: in a tree that is too large it takes a while.
    fn take_missing_baseline(
        &self,
        row: &InstanceRow,
        settings: &Resolved,
        happening: &HookEvent,
    ) -> Result<(), Failure> {
        let catalog = self.store.catalog();
        if matches!(happening, HookEvent::ToolEnd(_)) || !catalog.snapshots(&row.id)?.is_empty() {
            return Ok(());
        }
        if matches!(happening, HookEvent::Tool(_)) && !blocks(happening, settings) {
            let events = catalog.agent_events(&row.id)?;
            let is_bound = |row: &&AgentEventRow| {
                matches!(row.event, AgentEvent::Prompt { .. } | AgentEvent::TurnEnd { .. })
            };
            let mut turn = events.iter().rev().take_while(|row| !is_bound(row));
            let was_tried = turn.any(|row| matches!(row.event, AgentEvent::Call { .. }));
            if was_tried && events.iter().any(|row| is_bound(&row)) {
                return Ok(());
            }
        }
        let again = self
            .context
            .engine()
            .baseline_again(self.store, row, &settings.limits);
        match again {
            Err(error) if blocks(happening, settings) => Err(Failure {
                error: error.into(),
                blocks: true,
                is_told: true,
            }),
            _ => Ok(()),
        }
    }

    /// Returns what a receipt records of an event in a session; `None` if that is nothing.
    fn event(
        &self,
        session: &InstanceId,
        settings: &Resolved,
        happening: &HookEvent,
    ) -> Result<Option<AgentEvent>, Failure> {
        let wanted = settings.prompts.value;
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
            HookEvent::Tool(call) => {
                let call = recorded::call(call, &self.context.environment.current, wanted);
                if self.was_reported(session, &call)? {
                    return Ok(None);
                }
                AgentEvent::Call { call }
            }
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

    /// Returns true if another event of the agent reported the call before, in this turn.
    fn was_reported(&self, session: &InstanceId, call: &CallRef) -> Result<bool, Failure> {
        // No other agent does, and the events of a long session take a moment to read.
        if self.agent.name != Agent::Cursor.word() {
            return Ok(false);
        }
        let events = self.store.catalog().agent_events(session)?;
        let is_in_turn =
            |row: &&AgentEventRow| matches!(row.event, AgentEvent::Call { .. } | AgentEvent::Return { .. });
        // Calls that run beside each other are reported one way one after the other, then the other way.
        let mut turn = events.iter().rev().take_while(is_in_turn);
        Ok(turn.any(|row| match &row.event {
            AgentEvent::Call { call: known } => is_reported_twice(known, call),
            _ => false,
        }))
    }

    fn append(
        &self,
        session: &InstanceId,
        event: AgentEvent,
        snapshot: Option<SnapshotId>,
        keeper: Option<ProcessRef>,
    ) -> Result<(), Failure> {
        let world = self.context.world();
        let act = Operation::AgentEvent {
            agent: self.agent.clone(),
            event,
            since: self.store.newest_known_receipt()?,
            snapshot,
            keeper,
        };
        self.store.append(world.clock.now(), world.uid, session, act)?;
        Ok(())
    }

    /// Returns the shell script that is the agent of a session, once that is known: the script that the session began with has reported
    /// three different events after the beginning, or another one after a call returned or a turn ended. A script that wraps a hook runs
    /// for each event, or for those of one moment.
    fn script_that_is_agent(
        &self,
        row: &InstanceRow,
        event: &AgentEvent,
    ) -> Result<Option<ProcessRef>, Failure> {
        let scripts = &self.client.scripts;
        let is_known = row.keeper.as_ref().is_some_and(|keeper| scripts.contains(keeper));
        if scripts.is_empty() || is_known {
            return Ok(None);
        }
        let first = self.store.catalog().first_scripts(&row.id)?;
        let Some(script) = scripts.iter().find(|script| first.contains(script)) else {
            return Ok(None);
        };
        // They are of this script, which is still the one that began the session. A wrapper may report an event again that failed.
        let events = self.store.catalog().agent_events(&row.id)?;
        let is_over =
            |last: &AgentEvent| matches!(last, AgentEvent::Return { .. } | AgentEvent::TurnEnd { .. });
        let goes_on = events
            .last()
            .is_some_and(|last| is_over(&last.event) && discriminant(&last.event) != discriminant(event));
        let reported = events.iter().map(|row| &row.event).chain([event]);
        let kinds: HashSet<_> = reported.map(discriminant).collect();
        Ok((goes_on || kinds.len() >= 3).then(|| script.clone()))
    }

    /// Records an event, with a checkpoint of the files as they were then, when anything changed since the last one.
    fn record(&self, row: &InstanceRow, settings: &Resolved, happening: &HookEvent) -> Result<(), Failure> {
        let Some(event) = self.event(&row.id, settings, happening)? else {
            return Ok(());
        };
        let keeper = self.script_that_is_agent(row, &event)?;
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
            AgentEvent::Return { .. } => return self.append(&row.id, event, None, keeper),
        };
        let mark = CheckpointRequest {
            name: None,
            message: Some(&message),
            event: Some((&self.agent, &event)),
            keeper: keeper.as_ref(),
            beside_baseline: settings.agent_restore.value == AgentRestore::Checkpoints
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
                    blocks: blocks(happening, settings),
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
            lock: None,
        };
        let closed = match end_held(self.context, self.store, request) {
            Err(SessionError::AlreadyEnded(_)) => return Ok(()),
            other => other?,
        };
        drop(self.context.engine().apply_retention(self.store, &row.id));
        leave(self.context.environment);
        match closed.error {
            Some(error) => Err(CliError::from(error).into()),
            None => Ok(()),
        }
    }
}
