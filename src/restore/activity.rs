//! Times at which a session's agent may have written files, from the events that its hooks reported. A time is a number of a receipt: the
//! chain orders the events of all sessions, whatever the clock said.

use std::path::{Path, PathBuf};

use crate::model::{AgentEvent, AgentRef, ByteString};
use crate::store::AgentEventRow;
use handle_fs::Locations;

/// Receipts between which something went on, both excluded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) start: u64,
    pub(super) end: u64,
}

impl Span {
    /// Returns true if the span has a part in common with the receipts from `low` to `high`.
    fn meets(self, low: u64, high: u64) -> bool {
        self.start < high && self.end > low
    }
}

/// A call of a tool that may write files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) span: Span,
    /// The only files that it can write; empty if it may write any.
    pub(super) paths: Vec<ByteString>,
}

/// Work of one session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Activity {
    /// Calls of tools.
    pub(super) calls: Vec<Call>,
    /// Turns of its agent, or times at which it may have worked.
    pub(super) working: Vec<Span>,
    /// Times at which its agent waited for the operator, or may have.
    pub(super) idle: Vec<Span>,
    /// Turns that began with a prompt and ended with their end: nothing but work.
    pub(super) certain: Vec<Span>,
    /// Places on the host that its agent may write; empty if it may write every path that is asked about.
    pub(super) places: Vec<PathBuf>,
}

/// Beginning and end of a session, as far as it is known whose work it is.
#[derive(Clone, Debug)]
pub(super) struct Life<'a> {
    pub(super) begun: u64,
    /// `u64::MAX` if no end is recorded.
    pub(super) ended: u64,
    /// The agent whose hook began it.
    pub(super) agent: Option<&'a AgentRef>,
    /// Name of the program that was launched.
    pub(super) program: Option<&'a str>,
    /// True for files that an agent writes before its first prompt, such as its own state.
    pub(super) writes_at_startup: bool,
}

/// One conversation of an agent: where it stands while its events are read.
struct Conversation<'a> {
    agent: &'a AgentRef,
    /// Receipt since which it waits for the operator; `None` while it works.
    waits: Option<u64>,
    /// True for a launched agent before its first event: it waited for the operator, or was at work without a word.
    is_unknown: bool,
    /// Receipt since which it works.
    works: u64,
    /// True if it works since a prompt, and nothing else was reported between two turns.
    is_certain: bool,
    /// Number of its last event.
    last: u64,
    /// True if an agent of the session reports prompts or the ends of turns.
    says_turns: bool,
    open: Vec<Open<'a>>,
    /// A command that goes on after its call keeps it from ever being idle.
    background: bool,
}

struct Open<'a> {
    number: u64,
    tool: &'a str,
    id: Option<&'a str>,
    paths: &'a [ByteString],
    is_background: bool,
    is_of_subagent: bool,
    /// Returned without an id, so that it may be another call of the same tool that goes on.
    returned: bool,
}

impl Activity {
    /// Returns the work of a session that may write any file as long as it lives: no event divides it.
    pub(super) fn undivided(life: &Life<'_>) -> Self {
        let span = Span {
            start: life.begun,
            end: life.ended,
        };
        Self {
            calls: vec![Call {
                span,
                paths: Vec::new(),
            }],
            working: vec![span],
            ..Self::default()
        }
    }

    /// Returns the work that the events of a session tell of, oldest first.
    ///
    /// Only the events of a session that is nothing but the agent divide it: one that a hook began, or whose launched program is the agent.
    /// Other processes of a session write files that no hook reports.
    pub(super) fn of(life: &Life<'_>, events: &[AgentEventRow]) -> Self {
        let is_agent = |event: &AgentEventRow| {
            life.program
                .is_some_and(|program| is_program(program, &event.agent))
        };
        let begun_by_hook = life.agent.is_some();
        // An agent that was opened and closed did nothing. Tools of a server report nothing.
        let has_hooks = life.agent.is_some_and(|agent| *agent != AgentRef::of_tools());
        let is_silent = has_hooks && events.is_empty();
        let divides = is_silent || (!events.is_empty() && (begun_by_hook || events.iter().all(is_agent)));
        if !divides {
            return Self::undivided(life);
        }
        let is_turn =
            |event: &AgentEvent| matches!(event, AgentEvent::TurnEnd { .. } | AgentEvent::Prompt { .. });
        let says_turns = events.iter().any(|row| is_turn(&row.event));
        let mut activity = Self::default();
        let mut all: Vec<Conversation<'_>> = Vec::new();
        if let Some(agent) = life.agent {
            all.push(Conversation {
                agent,
                // It waits for its first prompt.
                waits: Some(life.begun),
                is_unknown: false,
                works: life.begun,
                is_certain: false,
                last: life.begun,
                says_turns,
                open: Vec::new(),
                background: false,
            });
        }
        for row in events {
            let at = match all.iter().position(|known| *known.agent == row.agent) {
                Some(at) => at,
                None => {
                    all.push(Conversation::new(row, life, all.is_empty(), says_turns));
                    all.len() - 1
                }
            };
            if let Some(conversation) = all.get_mut(at) {
                conversation.take(row, &mut activity);
            }
        }
        for conversation in all {
            conversation.end(life, is_silent, &mut activity);
        }
        activity.idle = without(&activity.idle, &activity.certain);
        activity
    }

    /// Names the files of its calls by the paths that they have below `root`, where mounts show that directory at other paths too.
    pub(super) fn name_below(&mut self, root: &Path, locations: &Locations) {
        if self.calls.is_empty() || !locations.may_have_others(root) {
            return;
        }
        for call in &mut self.calls {
            for path in &mut call.paths {
                let named = path.to_path();
                if named.starts_with(root) {
                    continue;
                }
                if let Some(below) = locations.below(root, &named) {
                    *path = ByteString::from(root.join(below).as_path());
                } else if locations.below(&named, root).is_some() {
                    *path = ByteString::from(root);
                }
            }
        }
    }

    /// Returns true if its agent may write a path on the host, or something below it.
    pub(super) fn covers(&self, path: &Path) -> bool {
        let mut places = self.places.iter();
        self.places.is_empty() || places.any(|place| path.starts_with(place) || place.starts_with(path))
    }

    /// Returns true if the agent may have worked between the receipts.
    pub(super) fn may_work(&self, low: u64, high: u64) -> bool {
        self.working.iter().any(|span| span.meets(low, high))
    }

    /// Returns true if the agent may have waited for the operator between the receipts.
    pub(super) fn may_wait(&self, low: u64, high: u64) -> bool {
        self.idle.iter().any(|span| span.meets(low, high))
    }

    /// Returns the calls that were open between the receipts.
    pub(super) fn open(&self, low: u64, high: u64) -> impl Iterator<Item = &Call> {
        self.calls.iter().filter(move |call| call.span.meets(low, high))
    }
}

impl<'a> Conversation<'a> {
    /// Returns a conversation whose first event is `row`; the session's own begins with it.
    fn new(row: &'a AgentEventRow, life: &Life<'_>, is_first: bool, says_turns: bool) -> Self {
        // What it did before its first event is unknown, unless that is a prompt: then it waited, or began with it.
        let is_prompt = matches!(row.event, AgentEvent::Prompt { .. });
        let is_new = is_prompt && !is_first;
        let waits = is_prompt && is_first && !life.writes_at_startup;
        Self {
            agent: &row.agent,
            waits: waits.then_some(life.begun),
            is_unknown: waits,
            works: if is_new { row.number } else { life.begun },
            is_certain: is_new,
            last: row.number,
            says_turns,
            open: Vec::new(),
            background: false,
        }
    }

    fn take(&mut self, row: &'a AgentEventRow, activity: &mut Activity) {
        let number = row.number;
        match &row.event {
            AgentEvent::Prompt { .. } => {
                match self.waits.take() {
                    Some(start) => {
                        let idle = Span { start, end: number };
                        activity.idle.push(idle);
                        // Hooks may have been installed or trusted in the meantime.
                        if self.background || self.is_unknown {
                            activity.working.push(idle);
                        }
                        self.is_unknown = false;
                        self.works = number;
                        self.is_certain = !self.background;
                        self.close_calls(number, activity);
                    }
                    // The end of the turn was not reported: it was interrupted, or this is one more prompt within it.
                    None if self.last < number => {
                        activity.idle.push(Span {
                            start: self.last,
                            end: number,
                        });
                        self.is_certain = false;
                    }
                    None => {}
                }
            }
            AgentEvent::TurnEnd { .. } => {
                self.go_on(number, activity);
                let turn = Span {
                    start: self.works,
                    end: number,
                };
                activity.working.push(turn);
                if self.is_certain {
                    activity.certain.push(turn);
                }
                self.waits = Some(number);
                self.close_calls(number, activity);
            }
            AgentEvent::Call { call } => {
                self.go_on(number, activity);
                self.background |= call.background;
                self.open.push(Open {
                    number,
                    tool: &call.tool,
                    id: call.id.as_deref(),
                    paths: &call.paths,
                    is_background: call.background,
                    is_of_subagent: call.subagent,
                    returned: false,
                });
            }
            AgentEvent::Return { tool, id, background } => {
                // A call may return behind the end of its turn. What it wrote until then is its own; the agent waits on.
                if let Some(start) = self.waits {
                    let late = Span { start, end: number };
                    activity.working.push(late);
                    activity.idle.extend(self.says_turns.then_some(late));
                    self.waits = Some(number);
                }
                match background {
                    true => self.go_on_behind(tool, id.as_deref()),
                    false => self.close_one(tool, id.as_deref(), number, activity),
                }
            }
        }
        self.last = number;
    }

    /// Goes on without a prompt: the time since the last turn may be work, or a prompt was not reported.
    fn go_on(&mut self, number: u64, activity: &mut Activity) {
        if let Some(since) = self.waits.take() {
            // An agent that reports no turns never says that it waits.
            activity.idle.extend(self.says_turns.then_some(Span {
                start: since,
                end: number,
            }));
            self.works = since;
            self.is_certain = false;
        }
    }

    /// Keeps the call open that returned although its command goes on: it took too long, or the operator sent it to the background. Without
    /// an id the oldest call of the tool stays, whose time holds those of the others.
    fn go_on_behind(&mut self, tool: &str, id: Option<&str>) {
        self.background = true;
        let mut open = self.open.iter_mut();
        if let Some(open) = open.find(|open| open.tool == tool && open.id == id && !open.is_background) {
            open.is_background = true;
        }
    }

    /// Closes the call that returned. Without an id any call of the tool may have, so all stay open until as many have returned.
    fn close_one(&mut self, tool: &str, id: Option<&str>, number: u64, activity: &mut Activity) {
        let is_same = |open: &Open<'_>| open.tool == tool && open.id == id && !open.is_background;
        if id.is_none() {
            let next = self.open.iter_mut().find(|open| is_same(open) && !open.returned);
            if let Some(open) = next {
                open.returned = true;
            }
            if self.open.iter().any(|open| is_same(open) && !open.returned) {
                return;
            }
        }
        let (closed, open) = std::mem::take(&mut self.open).into_iter().partition(is_same);
        self.open = open;
        activity.calls.extend(spans(closed, number));
    }

    /// Closes every call, but for commands that go on, and for a sub-agent's until they return. An agent's own is over with its turn, also if
    /// it was refused, interrupted or failed: such calls do not return.
    fn close_calls(&mut self, number: u64, activity: &mut Activity) {
        let (stay, closed) = std::mem::take(&mut self.open)
            .into_iter()
            .partition(|open: &Open<'_>| open.is_background || (open.is_of_subagent && !open.returned));
        self.open = stay;
        activity.calls.extend(spans(closed, number));
    }

    /// Ends it with the session.
    fn end(self, life: &Life<'_>, is_silent: bool, activity: &mut Activity) {
        let end = life.ended;
        match self.waits {
            // Without any turn it is unknown when it worked.
            Some(start) if self.says_turns || is_silent => {
                activity.idle.push(Span { start, end });
                if self.background {
                    activity.working.push(Span { start, end });
                }
            }
            Some(start) => activity.working.push(Span { start, end }),
            None => {
                activity.working.push(Span {
                    start: self.works,
                    end,
                });
                // The end of the turn was not reported: it was interrupted, and the operator went on, or the agent ended in it.
                activity.idle.extend(self.says_turns.then_some(Span {
                    start: self.last,
                    end,
                }));
            }
        }
        activity.calls.extend(spans(self.open, end));
    }
}

fn spans(open: Vec<Open<'_>>, end: u64) -> impl Iterator<Item = Call> {
    open.into_iter().map(move |open| Call {
        span: Span {
            start: open.number,
            end,
        },
        paths: open.paths.to_vec(),
    })
}

/// Returns true if `program` is the agent itself.
fn is_program(program: &str, agent: &AgentRef) -> bool {
    let name = program.rsplit('/').next().unwrap_or(program);
    name == agent.name || (agent.name == "cursor" && name == "cursor-agent")
}

/// Returns the parts of `spans` that none of `others` covers: an agent waits only while all its conversations do.
fn without(spans: &[Span], others: &[Span]) -> Vec<Span> {
    let mut left = spans.to_vec();
    for other in others {
        left = left
            .into_iter()
            .flat_map(|span| {
                let before = Span {
                    end: span.end.min(other.start),
                    ..span
                };
                let after = Span {
                    start: span.start.max(other.end),
                    ..span
                };
                let is_apart = !span.meets(other.start, other.end);
                let parts = if is_apart {
                    [Some(span), None]
                } else {
                    [Some(before), Some(after)]
                };
                parts.into_iter().flatten().filter(|span| span.start < span.end)
            })
            .collect();
    }
    left
}
