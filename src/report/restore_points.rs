//! Prompts and tool calls of a session, as points that a restore can go back to before.

use std::collections::HashSet;

use super::SessionReport;
use crate::model::{PathCounts, Time};

/// A prompt or tool call, and the snapshot right before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RestorePoint {
    pub(crate) at: Time,
    /// Text of the prompt or the call, as far as it was recorded.
    pub(crate) text: Option<String>,
    /// Number of the turn that begins with the prompt, and of its calls; `None` for a call.
    pub(crate) turn: Option<(u32, usize)>,
    /// Paths that the turn or the call changed; `None` if that is unknown.
    pub(crate) changed: Option<PathCounts>,
    /// Id of the snapshot right before it; `None` if none was taken, or it was deleted.
    pub(crate) snapshot: Option<String>,
}

impl SessionReport {
    /// Returns the points of the session: the newest turn first, each with its calls below it, oldest first.
    pub(crate) fn restore_points(&self) -> Vec<RestorePoint> {
        let there: HashSet<&str> = self
            .instance
            .snapshots
            .iter()
            .map(|row| row.id.as_str())
            .collect();
        let is_there = |id: &String| there.contains(id.as_str());
        let mut points = Vec::new();
        for turn in &self.turns {
            // Calls before the first prompt have no turn of their own.
            if turn.turn > 0 {
                points.push(RestorePoint {
                    at: turn.started_at,
                    text: turn.prompt.clone(),
                    turn: Some((turn.turn, turn.calls.len())),
                    changed: turn.changed,
                    snapshot: turn.snapshot.clone().filter(is_there),
                });
            }
            for (at, call) in turn.calls.iter().enumerate() {
                // Of several calls after one snapshot only the last can have changed what the next one has.
                let next = turn.calls.get(at + 1).and_then(|next| next.snapshot.as_ref());
                let is_last = call.snapshot.is_some() && next != call.snapshot.as_ref();
                points.push(RestorePoint {
                    at: call.at,
                    text: Some(call.called.clone()),
                    turn: None,
                    changed: call
                        .snapshot
                        .as_ref()
                        .filter(|_| is_last)
                        .and_then(|id| self.step_from(id)),
                    snapshot: call.snapshot.clone().filter(is_there),
                });
            }
        }
        points
    }

    /// Returns the number of paths that changed from a snapshot to the next one.
    fn step_from(&self, snapshot: &str) -> Option<PathCounts> {
        let (next, _) = self.before.iter().find(|(_, before)| *before == snapshot)?;
        self.steps.get(next).copied()
    }
}
