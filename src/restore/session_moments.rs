//! Moments of a session at which the state of its files is known, and what its agent reported, as receipts tell it.

use super::activity::{Activity, Life};
use super::authorship::Look;
use crate::model::{AgentEvent, AgentRef, Operation, SnapshotId, SnapshotKind};
use crate::store::{AgentEventRow, CaptureRow, InstanceRow, Store, StoreError};

/// A moment at which a snapshot shows the files. The snapshot may have been pruned since.
#[derive(Clone, Debug)]
pub struct PathMoment {
    /// The snapshot.
    pub snapshot: SnapshotId,
    /// Number of the receipt with which the state was known.
    pub number: u64,
    /// True for a snapshot that was taken late: it may show edits made after the session.
    pub is_late: bool,
    /// True for an emergency snapshot, which a restore took.
    pub is_emergency: bool,
    /// True for the baseline of a session.
    pub(super) is_baseline: bool,
    pub(super) look: Look,
}

/// Moments of one session, as its receipts record them.
pub(super) struct SessionMoments<'r> {
    row: &'r InstanceRow,
    /// The agent whose hook began it.
    agent: Option<AgentRef>,
    /// Receipt before which nothing of it ran: that of the baseline, which is taken before the command starts. The one of its beginning if
    /// it went on without a baseline.
    pub(super) started: u64,
    /// Receipt after which nothing is its work: what is written after the closing snapshot is a later edit.
    ended: u64,
    /// Events of its agent, oldest first.
    pub(super) events: Vec<AgentEventRow>,
    /// Its moments, also emergency and late ones, in any order.
    pub(super) moments: Vec<PathMoment>,
}

impl<'r> SessionMoments<'r> {
    /// Reads the receipts of a session, which is number `by` among those that are compared.
    pub(super) fn read(store: &Store, row: &'r InstanceRow, by: usize) -> Result<Self, StoreError> {
        let catalog = store.catalog();
        let events = catalog.agent_events(&row.id)?;
        let (first, last) = catalog.lifetime(&row.id)?;
        let receipt = match first {
            Some(number) => catalog.receipt(number)?,
            None => None,
        };
        let is_adopted = receipt
            .as_ref()
            .is_some_and(|receipt| matches!(receipt.act, Operation::Adopt { .. }));
        let agent = receipt.and_then(|receipt| match receipt.act {
            Operation::Begin { agent, .. } => agent,
            _ => None,
        });
        let begun = first.unwrap_or(0);
        let snapshots = catalog.snapshots(&row.id)?;
        let is_late = |id: &SnapshotId| snapshots.iter().any(|row| row.id == *id && row.late);
        let captures = catalog.captures(&row.id)?;
        let taken_at = |id: &SnapshotId| snapshots.iter().find(|row| row.id == *id).map(|row| row.taken_at);
        // A baseline that a later import brought.
        let is_belated = |baseline: &CaptureRow| {
            let is_before = |other: &CaptureRow| {
                let times = taken_at(&baseline.snapshot).zip(taken_at(&other.snapshot));
                other.number < baseline.number && times.is_some_and(|(baseline, other)| baseline < other)
            };
            is_adopted && baseline.kind == SnapshotKind::Baseline && captures.iter().any(is_before)
        };
        let captured = captures.iter().map(|capture| {
            let number = match is_belated(capture) {
                true => begun,
                false => number(capture, begun, &events),
            };
            let is_late = is_late(&capture.snapshot);
            PathMoment {
                snapshot: capture.snapshot.clone(),
                number,
                is_late,
                is_emergency: capture.kind == SnapshotKind::Emergency,
                is_baseline: capture.kind == SnapshotKind::Baseline,
                look: Look {
                    since: capture.since.unwrap_or(match capture.kind {
                        // Older programs did not record it. What was written before a restore began is not the session's.
                        SnapshotKind::Emergency => number.saturating_sub(1),
                        _ => begun,
                    }),
                    number,
                    by,
                    at_rest: capture.kind == SnapshotKind::Closing && !is_late,
                },
            }
        });
        let reported = events.iter().filter_map(|row| {
            Some(PathMoment {
                snapshot: row.snapshot.clone()?,
                number: row.number,
                is_late: false,
                is_emergency: false,
                is_baseline: false,
                look: Look {
                    since: row.since,
                    number: row.number,
                    by,
                    at_rest: matches!(row.event, AgentEvent::TurnEnd { .. }),
                },
            })
        });
        let moments: Vec<PathMoment> = captured.chain(reported).collect();
        let baseline = moments.iter().find(|moment| moment.is_baseline);
        let started = match baseline {
            Some(baseline) if !catalog.has_failed_baseline(&row.id)? => baseline.number,
            _ => begun,
        };
        // Also of one that was pruned: behind the end nothing is the session's work.
        let is_behind = |capture: &CaptureRow| !is_adopted && last.is_some_and(|end| capture.number > end);
        let is_closing = |capture: &&CaptureRow| {
            capture.kind == SnapshotKind::Closing && !is_late(&capture.snapshot) && !is_behind(capture)
        };
        let closing = captures.iter().find(is_closing).map(|capture| capture.number);
        Ok(Self {
            row,
            agent,
            started,
            ended: closing.or(last).unwrap_or(u64::MAX),
            events,
            moments,
        })
    }

    /// Returns the agent's conversation whose hook began the session; `None` if there is none, or if the agent gives no id of it.
    pub(super) fn conversation(&self) -> Option<&AgentRef> {
        self.agent.as_ref().filter(|agent| !agent.session.is_empty())
    }

    /// Returns what the session did. With `is_state`, in the files that hold the state of agents.
    pub(super) fn activity(&self, is_state: bool) -> Activity {
        let life = Life {
            begun: self.started,
            ended: self.ended,
            agent: self.agent.as_ref(),
            program: self.row.command.as_ref().map(|(program, _)| program.as_str()),
            writes_at_startup: is_state,
        };
        Activity::of(&life, &self.events)
    }
}

/// Returns the receipt by which the state was known. A baseline that was stored behind the session, after events of it, shows its
/// beginning.
fn number(capture: &CaptureRow, begun: u64, events: &[AgentEventRow]) -> u64 {
    let is_deferred = || match events.first() {
        Some(first) => first.number < capture.number && first.snapshot.is_some(),
        None => false,
    };
    match capture.kind == SnapshotKind::Baseline && capture.since.is_none() && is_deferred() {
        true => begun,
        false => capture.number,
    }
}
