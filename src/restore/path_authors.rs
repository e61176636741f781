//! Work that may have changed a path between two moments: which session's, in which turn, by which tool calls.

use std::path::Path;

use super::activity::Activity;
use super::authorship::{open_calls, working_since};
use super::session_moments::{PathMoment, SessionMoments};
use crate::model::{AgentEvent, CallRef, InstanceId};
use crate::store::{AgentEventRow, InstanceRow, Store, StoreError};

/// A session that may have made a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worker {
    /// The session.
    pub session: InstanceId,
    /// Name of the agent whose tools were called or whose turn it was, as far as its hooks reported it.
    pub agent: Option<String>,
    /// Program that was launched, if the session is a command.
    pub program: Option<String>,
    /// First and last turn in which the change was made.
    pub turns: Option<(u32, u32)>,
    /// Text of the prompt that began the last of these turns, as far as it was recorded.
    pub prompt: Option<String>,
    /// Tool calls that may have made the change, oldest first; empty if none was open, or hooks reported none.
    pub calls: Vec<CallRef>,
}

/// Possible authors of a change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Workers {
    /// Sessions; several if it is unknown which of them.
    pub sessions: Vec<Worker>,
    /// True if the operator may have made it: no session was at work, or it is unknown whether one was.
    pub operator: bool,
}

struct SessionWork {
    id: InstanceId,
    program: Option<String>,
    /// Receipt with which the baseline shows its beginning: nothing before it is the session's work.
    begun: u64,
    activity: Activity,
    events: Vec<AgentEventRow>,
}

/// Moments of some sessions, and what their agents did between them.
pub struct WorkLog {
    sessions: Vec<SessionWork>,
    moments: Vec<PathMoment>,
}

impl WorkLog {
    /// Reads what the receipts tell of these sessions.
    ///
    /// # Errors
    /// [`StoreError`] if the catalog cannot be read.
    pub fn read(store: &Store, rows: &[InstanceRow]) -> Result<Self, StoreError> {
        let mut log = Self {
            sessions: Vec::new(),
            moments: Vec::new(),
        };
        for (at, row) in rows.iter().enumerate() {
            let read = SessionMoments::read(store, row, at)?;
            let activity = read.activity(false);
            let begun = read.started;
            log.moments.extend(read.moments);
            log.sessions.push(SessionWork {
                id: row.id.clone(),
                program: row.command.as_ref().map(|(program, _)| program.clone()),
                begun,
                activity,
                events: read.events,
            });
        }
        log.moments.sort_by_key(|moment| moment.number);
        Ok(log)
    }

    /// Returns the moments, oldest first. Several may show the same snapshot.
    #[must_use]
    pub fn moments(&self) -> &[PathMoment] {
        &self.moments
    }

    /// Returns the possible authors of a change of `path` between two moments; `after` is `None` for now. With `any_call`, calls that name
    /// other files may have made it too: the file has several names.
    #[must_use]
    pub fn workers(
        &self,
        before: &PathMoment,
        after: Option<&PathMoment>,
        path: &Path,
        any_call: bool,
    ) -> Workers {
        let high = after.map_or(u64::MAX, |after| after.look.number);
        let mut callers = Vec::new();
        let mut working = Vec::new();
        for (at, session) in self.sessions.iter().enumerate() {
            if high <= session.begun {
                continue;
            }
            let low = working_since(&[&before.look], at);
            let activity = &session.activity;
            let open: Vec<u64> = open_calls(activity, at, (&[&before.look], high), path, any_call)
                .map(|call| call.span.start)
                .collect();
            let waits = activity.may_wait(low, high);
            if !open.is_empty() {
                callers.push((session.worker(&open, (low, high)), waits));
            } else if activity.may_work(low, high) {
                working.push((session.worker(&[], (low, high)), waits));
            }
        }
        let found = if callers.is_empty() { working } else { callers };
        let is_late = after.is_some_and(|after| after.is_late);
        Workers {
            operator: found.is_empty() || is_late || found.iter().any(|(_, waits)| *waits),
            sessions: found.into_iter().map(|(worker, _)| worker).collect(),
        }
    }
}

impl SessionWork {
    /// Returns the session as the author of a change between two receipts, made by the calls that were opened with these receipts.
    fn worker(&self, opened: &[u64], (low, high): (u64, u64)) -> Worker {
        let called = |row: &&AgentEventRow| opened.contains(&row.number);
        let made: Vec<(&AgentEventRow, &CallRef)> = self
            .events
            .iter()
            .filter(called)
            .filter_map(|row| match &row.event {
                AgentEvent::Call { call } => Some((row, call)),
                _ => None,
            })
            .collect();
        let spans: Vec<(u64, u64)> = match made.as_slice() {
            [] => vec![(low, high)],
            some => some.iter().map(|(row, _)| (row.number, row.number + 1)).collect(),
        };
        let prompts: Vec<(&AgentEventRow, u32, Option<&String>)> = self
            .events
            .iter()
            .filter_map(|row| match &row.event {
                AgentEvent::Prompt { turn, text } => Some((row, *turn, text.as_ref())),
                _ => None,
            })
            .collect();
        let ends = prompts
            .iter()
            .skip(1)
            .map(|(row, ..)| row.number)
            .chain([u64::MAX]);
        let turns: Vec<(u32, Option<&String>)> = prompts
            .iter()
            .zip(ends)
            .filter(|((row, ..), end)| {
                let meets = |(low, high): &(u64, u64)| row.number < *high && *end > *low;
                spans.iter().any(meets)
            })
            .map(|((_, turn, text), _)| (*turn, *text))
            .collect();
        let agent = made.last().map(|(row, _)| &row.agent.name).or_else(|| {
            let mut before = self.events.iter().filter(|row| row.number <= high);
            before.next_back().map(|row| &row.agent.name)
        });
        Worker {
            session: self.id.clone(),
            agent: agent.cloned(),
            program: self.program.clone(),
            turns: turns
                .first()
                .zip(turns.last())
                .map(|(first, last)| (first.0, last.0)),
            prompt: turns.last().and_then(|(_, text)| text.cloned()),
            calls: made.into_iter().map(|(_, call)| call.clone()).collect(),
        }
    }
}
