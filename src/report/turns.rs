//! Turns of an agent: what the operator asked for, and what became of it.

use schemars::JsonSchema;
use serde::Serialize;

use super::steps::Steps;
use crate::model::{AgentEvent, AgentRef, PathCounts, SnapshotId, SnapshotKind, Time};
use crate::recovery::changed_between;
use crate::store::{AgentEventRow, SnapshotRow, Store};

/// Maximum number of turns whose snapshots are compared, newest first; each reads two manifests.
const MOST: usize = 20;

/// A turn.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TurnDocument {
    /// Its number in the session, from 1; 0 for calls before the first prompt that was reported.
    pub(crate) turn: u32,
    /// The agent, and its conversation.
    agent: AgentRef,
    /// Text of the prompt, as far as it was recorded.
    pub(crate) prompt: Option<String>,
    pub(crate) started_at: Time,
    /// Time at which the agent had finished; absent if it did not report that.
    ended_at: Option<Time>,
    /// The snapshot that shows the files before it.
    pub(super) snapshot: Option<String>,
    /// Number of paths that differ before and after it; absent if a snapshot is missing, or in an older turn.
    pub(crate) changed: Option<PathCounts>,
    /// Tool calls that may have changed files, oldest first.
    pub(crate) calls: Vec<TurnCallDocument>,
    #[serde(skip)]
    before: Option<SnapshotId>,
    #[serde(skip)]
    after: Option<SnapshotId>,
}

/// A tool call in a turn.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TurnCallDocument {
    /// The tool, as the agent calls it.
    tool: String,
    /// The agent's own id of the call.
    id: Option<String>,
    /// Command of a shell, as far as it was recorded.
    command: Option<String>,
    /// Host paths of the only files that it can write, in a form that can be shown; empty if it may write any.
    paths: Vec<String>,
    pub(super) at: Time,
    /// The snapshot that shows the files before it.
    pub(super) snapshot: Option<String>,
    /// The call as a person remembers it.
    #[serde(skip)]
    pub(crate) called: String,
}

/// Returns the turns of a session, newest first.
pub(super) fn turns(
    store: &Store,
    events: Vec<AgentEventRow>,
    snapshots: &[SnapshotRow],
    known: &Steps,
) -> Vec<TurnDocument> {
    let mut turns: Vec<TurnDocument> = Vec::new();
    for row in events {
        let AgentEventRow {
            at,
            agent,
            event,
            snapshot,
            ..
        } = row;
        // A look at the files ends what came before it.
        if let (Some(last), AgentEvent::Prompt { .. }) = (turns.last_mut(), &event)
            && last.after.is_none()
        {
            last.after.clone_from(&snapshot);
        }
        let own = turns.iter().rposition(|turn| turn.agent == agent);
        let new = |turn: u32, prompt: Option<String>| TurnDocument {
            turn,
            agent: agent.clone(),
            prompt,
            started_at: at,
            ended_at: None,
            snapshot: snapshot.as_ref().map(ToString::to_string),
            changed: None,
            calls: Vec::new(),
            before: snapshot.clone(),
            after: None,
        };
        match event {
            AgentEvent::Prompt { turn, text } => turns.push(new(turn, text)),
            AgentEvent::Call { call } => {
                let open = own.filter(|own| turns.get(*own).is_some_and(|turn| turn.ended_at.is_none()));
                if open.is_none() {
                    turns.push(new(0, None));
                }
                let at_end = turns.len().saturating_sub(1);
                if let Some(turn) = turns.get_mut(open.unwrap_or(at_end)) {
                    turn.calls.push(TurnCallDocument {
                        called: call.label(),
                        tool: call.tool,
                        id: call.id,
                        command: call.command,
                        paths: call
                            .paths
                            .iter()
                            .map(|path| path.to_path().to_string_lossy().into_owned())
                            .collect(),
                        at,
                        snapshot: snapshot.as_ref().map(ToString::to_string),
                    });
                }
            }
            AgentEvent::TurnEnd { turn: number } => {
                if let Some(turn) = own.and_then(|own| turns.get_mut(own)) {
                    turn.ended_at = Some(at);
                    turn.after = snapshot;
                    turn.turn = turn.turn.max(number);
                }
            }
            AgentEvent::Return { .. } => {}
        }
    }
    let newest = snapshots.iter().find(|row| row.kind != SnapshotKind::Emergency);
    if let (Some(last), Some(newest)) = (turns.last_mut(), newest)
        && last.after.is_none()
    {
        last.after = Some(newest.id.clone());
    }
    turns.reverse();
    for turn in turns.iter_mut().take(MOST) {
        turn.changed = changed(store, turn, known);
    }
    turns
}

/// Returns the number of paths that a turn changed.
fn changed(store: &Store, turn: &TurnDocument, known: &Steps) -> Option<PathCounts> {
    let (before, after) = (turn.before.as_ref()?, turn.after.as_ref()?);
    if before == after {
        return Some(PathCounts::default());
    }
    match known.before.get(after) {
        Some(step) if step == before => known.counts.get(after).copied(),
        _ => changed_between(store, before, after),
    }
}
