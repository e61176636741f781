//! Authorship of changes, against a model of two agents and an operator that write at random.

use std::collections::BTreeSet;

use proptest::prelude::*;

use crate::diff::tests::{file, tree};
use crate::model::{AgentEvent, AgentRef, CallRef, InstanceId, Manifest, SnapshotId, Time};
use crate::restore::activity::{Activity, Life};
use crate::restore::authorship::Look;
use crate::restore::tests::path;
use crate::restore::timeline::{Author, Timeline};
use crate::simulated_share::cases;
use crate::store::AgentEventRow;

const PATHS: [&str; 3] = ["a", "b", "c"];

/// One step of the model.
#[derive(Clone, Debug)]
enum Act {
    /// The operator asks an agent for something.
    Prompt(usize),
    /// An agent calls a tool that may write this path alone, or any.
    Call(usize, Option<usize>),
    /// An agent's newest call writes a path, if it may.
    Write(usize, usize),
    /// An agent's oldest call returns.
    Return(usize),
    /// An agent ends its turn.
    End(usize),
    /// The operator writes a path, while the first agent waits.
    Edit(usize),
}

fn act() -> impl Strategy<Value = Act> {
    let (agent, at) = (0..2_usize, 0..PATHS.len());
    prop_oneof![
        2 => agent.clone().prop_map(Act::Prompt),
        3 => (agent.clone(), prop::option::of(at.clone())).prop_map(|(agent, path)| Act::Call(agent, path)),
        4 => (agent.clone(), at.clone()).prop_map(|(agent, path)| Act::Write(agent, path)),
        2 => agent.clone().prop_map(Act::Return),
        2 => agent.prop_map(Act::End),
        2 => at.prop_map(Act::Edit),
    ]
}

/// The author of a change in the model: an agent, or the operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Writer {
    Agent(usize),
    Operator,
}

struct Open {
    id: usize,
    path: Option<usize>,
}

#[derive(Default)]
struct Agent {
    works: bool,
    open: Vec<Open>,
}

struct World {
    /// Value of each path; a new one with each write.
    state: [usize; PATHS.len()],
    written: Vec<(usize, Writer)>,
    number: u64,
    agents: [Agent; 2],
    events: [Vec<AgentEventRow>; 2],
    looks: Vec<(Look, SnapshotId)>,
    found: Vec<(SnapshotId, Manifest)>,
    newest: [Option<(SnapshotId, [usize; PATHS.len()])>; 2],
    calls: usize,
}

fn agent_of(agent: usize) -> AgentRef {
    AgentRef {
        name: "claude".to_owned(),
        session: agent.to_string(),
    }
}

impl World {
    fn new() -> Self {
        let mut world = Self {
            state: [0; PATHS.len()],
            written: Vec::new(),
            number: 2,
            agents: Default::default(),
            events: Default::default(),
            looks: Vec::new(),
            found: Vec::new(),
            newest: [None, None],
            calls: 0,
        };
        for agent in 0..2 {
            let state = world.state;
            world.number += 1;
            let id = world.snapshot(agent, state);
            let look = Look {
                since: agent as u64,
                number: world.number,
                by: agent,
                at_rest: false,
            };
            world.looks.push((look, id));
        }
        world
    }

    /// Stores what was found, unless nothing changed since the agent's newest snapshot.
    fn snapshot(&mut self, agent: usize, state: [usize; PATHS.len()]) -> SnapshotId {
        if let Some((id, same)) = &self.newest[agent]
            && *same == state
        {
            return id.clone();
        }
        let mut random = [u8::try_from(agent).unwrap(); 12];
        random[0] = u8::try_from(self.found.len()).unwrap();
        let id = SnapshotId::new(random);
        let values: Vec<String> = state.iter().map(ToString::to_string).collect();
        let entries = PATHS.iter().zip(&values).map(|(at, value)| (*at, file(value)));
        self.found.push((id.clone(), tree(entries).build().manifest));
        self.newest[agent] = Some((id.clone(), state));
        id
    }

    fn write(&mut self, at: usize, by: Writer) {
        self.written.push((at, by));
        self.state[at] = self.written.len();
    }

    /// Records an event with what jackin found: of each path what it was before or after `meanwhile`.
    fn event(&mut self, agent: usize, event: AgentEvent, meanwhile: &[(Act, bool)]) {
        let (since, before) = (self.number, self.state);
        for (act, _) in meanwhile {
            self.step(act, &[]);
        }
        let mut seen = self.state;
        for (at, (_, is_late)) in meanwhile.iter().enumerate().take(PATHS.len()) {
            if *is_late {
                seen[at] = before[at];
            }
        }
        let at_rest = matches!(event, AgentEvent::TurnEnd { .. });
        let is_return = matches!(event, AgentEvent::Return { .. });
        self.number += 1;
        let number = self.number;
        let snapshot = (!is_return).then(|| self.snapshot(agent, seen));
        if let Some(id) = &snapshot {
            let look = Look {
                since,
                number,
                by: agent,
                at_rest,
            };
            self.looks.push((look, id.clone()));
        }
        self.events[agent].push(AgentEventRow {
            number,
            at: Time::default(),
            agent: agent_of(agent),
            event,
            since,
            snapshot,
        });
    }

    fn step(&mut self, act: &Act, meanwhile: &[(Act, bool)]) {
        match act {
            Act::Prompt(agent) if !self.agents[*agent].works => {
                let event = AgentEvent::Prompt { turn: 1, text: None };
                self.event(*agent, event, meanwhile);
                self.agents[*agent].works = true;
            }
            Act::Call(agent, at) if self.agents[*agent].works => {
                self.calls += 1;
                let id = self.calls;
                let paths = at.map(|at| std::path::Path::new("/").join(PATHS[at]).as_path().into());
                let call = CallRef {
                    tool: "Tool".to_owned(),
                    id: Some(id.to_string()),
                    paths: paths.into_iter().collect(),
                    ..CallRef::default()
                };
                self.event(*agent, AgentEvent::Call { call }, meanwhile);
                self.agents[*agent].open.push(Open { id, path: *at });
            }
            Act::Write(agent, at) => {
                let open = self.agents[*agent].open.last();
                if open.is_some_and(|open| open.path.is_none_or(|path| path == *at)) {
                    self.write(*at, Writer::Agent(*agent));
                }
            }
            Act::Return(agent) if !self.agents[*agent].open.is_empty() => {
                let open = self.agents[*agent].open.remove(0);
                let event = AgentEvent::Return {
                    tool: "Tool".to_owned(),
                    id: Some(open.id.to_string()),
                    background: false,
                };
                self.event(*agent, event, &[]);
            }
            Act::End(agent) if self.agents[*agent].works => {
                self.agents[*agent].open.clear();
                let event = AgentEvent::TurnEnd { turn: 1 };
                self.event(*agent, event, meanwhile);
                self.agents[*agent].works = false;
            }
            Act::Edit(at) if !self.agents[0].works => self.write(*at, Writer::Operator),
            _ => {}
        }
    }

    fn timeline(mut self) -> Timeline {
        let last = self.looks.iter().rposition(|(look, _)| look.by == 0).unwrap();
        // The agents' events come in the order of their receipts.
        self.looks.sort_by_key(|(look, _)| look.number);
        let first = self.looks.iter().position(|(look, _)| look.by == 0).unwrap();
        let looks = self.looks.get(first..=last).unwrap().to_vec();
        let sessions = [0, 1].map(|agent| {
            let own = agent_of(agent);
            let life = Life {
                begun: agent as u64,
                ended: u64::MAX,
                agent: Some(&own),
                program: None,
                writes_at_startup: false,
            };
            let id = InstanceId::new([u8::try_from(agent).unwrap(); 8], "x");
            (id, Activity::of(&life, &self.events[agent]))
        });
        Timeline::made(sessions.to_vec(), looks, self.found)
    }
}

/// Acts of others while jackin looks, none of the agent that waits for jackin. The other agent's own events are looks within that look.
fn meanwhile(agent: usize, drawn: &[(Act, bool)]) -> Vec<(Act, bool)> {
    let is_other = |act: &Act| match act {
        Act::Prompt(by) | Act::Call(by, _) | Act::Write(by, _) | Act::Return(by) | Act::End(by) => {
            *by != agent
        }
        // What the operator writes after a prompt counts as the agent's, and jackin looks after it.
        Act::Edit(_) => agent == 1,
    };
    let drawn = drawn.iter().filter(|(act, _)| is_other(act));
    drawn.cloned().collect()
}

fn of(act: &Act) -> usize {
    match act {
        Act::Prompt(agent)
        | Act::Call(agent, _)
        | Act::Write(agent, _)
        | Act::Return(agent)
        | Act::End(agent) => *agent,
        Act::Edit(_) => 0,
    }
}

/// Runs the acts, and a last look of the first agent. Returns who wrote each path, and the verdicts.
fn run(acts: &[(Act, Vec<(Act, bool)>)]) -> Vec<(BTreeSet<Writer>, Author)> {
    let mut world = World::new();
    for (act, drawn) in acts {
        world.step(act, &meanwhile(of(act), drawn));
    }
    for act in [Act::Prompt(0), Act::End(0)] {
        world.step(&act, &[]);
    }
    let written = world.written.clone();
    let timeline = world.timeline();
    let then = file("0");
    let verdict = |(at, name): (usize, &&str)| {
        let writers = written.iter().filter(|(of, _)| *of == at).map(|(_, by)| *by);
        (writers.collect(), timeline.author(&path(name), Some(&then), None))
    };
    PATHS.iter().enumerate().map(verdict).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases(3000)) })]

    /// No change of another is taken for the session's, and none of its own for another's, whatever happens at the same time.
    #[test]
    fn no_change_is_attributed_to_another(
        acts in prop::collection::vec((act(), prop::collection::vec((act(), any::<bool>()), 0..4)), 1..40),
    ) {
        for (writers, author) in run(&acts) {
            let own = writers.contains(&Writer::Agent(0));
            match author {
                Author::Session => prop_assert!(writers.iter().all(|by| *by == Writer::Agent(0)), "{writers:?}"),
                Author::Others(_) => prop_assert!(!own, "{writers:?}"),
                Author::Both(_) => {}
            }
        }
    }

    /// Every author is known if calls of the two never overlap and one that may write anything runs while the other agent waits.
    #[test]
    fn every_author_is_known_where_calls_do_not_overlap(
        turns in prop::collection::vec((0..3_usize, 0..PATHS.len(), any::<bool>()), 1..12),
    ) {
        let mut acts = vec![Act::Prompt(1)];
        for (by, at, named) in turns {
            match by {
                2 => acts.extend([Act::End(0), Act::Edit(at), Act::Prompt(0)]),
                agent => {
                    acts.extend((!named).then_some(Act::End(1 - agent)));
                    acts.extend([
                        Act::Prompt(agent),
                        Act::Call(agent, named.then_some(at)),
                        Act::Write(agent, at),
                        Act::Return(agent),
                    ]);
                }
            }
        }
        let acts: Vec<_> = acts.into_iter().map(|act| (act, Vec::new())).collect();
        for (writers, author) in run(&acts) {
            let own = writers.contains(&Writer::Agent(0));
            let others = writers.iter().any(|by| *by != Writer::Agent(0));
            match author {
                Author::Session => prop_assert!(!others, "{writers:?}"),
                Author::Others(_) => prop_assert!(!own && others, "{writers:?}"),
                Author::Both(_) => prop_assert!(own && others, "{writers:?}"),
            }
        }
    }
}

/// A look that ends last may have begun first: what another session's prompt found within it was not written before that prompt.
#[test]
fn a_look_within_another_tells_when_a_change_was_made() {
    let prompt = |agent| (Act::Prompt(agent), false);
    for (writer, expected) in [
        (0, Author::Session),
        (1, Author::Others(vec![InstanceId::new([1; 8], "x")])),
    ] {
        let first = 1 - writer;
        let mut acts = vec![(Act::Prompt(first), vec![])];
        let (call, within) = match writer {
            // The look of the other one's call goes on while the first agent is asked and calls.
            0 => (
                Act::Call(1, Some(2)),
                vec![prompt(0), (Act::Call(0, Some(1)), false)],
            ),
            _ => (Act::Call(1, Some(1)), vec![prompt(0)]),
        };
        if writer == 1 {
            acts = vec![(Act::Prompt(1), vec![])];
        }
        acts.push((call, within));
        acts.extend([Act::Write(writer, 1), Act::Return(writer)].map(|act| (act, vec![])));
        let authors = run(&acts);
        assert_eq!(authors[1].1, expected, "{writer}");
    }
}

/// The changes of two agents that name their files are attributed although their calls overlap, in whatever order they write.
#[test]
fn calls_that_name_their_files_may_overlap() {
    let orders = [
        [0, 0, 1, 1],
        [0, 1, 0, 1],
        [0, 1, 1, 0],
        [1, 0, 0, 1],
        [1, 0, 1, 0],
        [1, 1, 0, 0],
    ];
    for order in orders {
        let mut acts = vec![
            Act::Prompt(0),
            Act::Prompt(1),
            Act::Call(0, Some(0)),
            Act::Call(1, Some(1)),
        ];
        acts.extend(order.map(|agent| Act::Write(agent, agent)));
        acts.extend([Act::Return(0), Act::Return(1)]);
        let acts: Vec<_> = acts.into_iter().map(|act| (act, Vec::new())).collect();
        let authors = run(&acts).into_iter().map(|(_, author)| author);
        let other = Author::Others(vec![InstanceId::new([1; 8], "x")]);
        let expected = [Author::Session, other, Author::Session];
        assert_eq!(authors.collect::<Vec<_>>(), expected, "{order:?}");
    }
}
