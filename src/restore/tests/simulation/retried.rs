//! A call that fails once after the decision, when the new tree stays: what it kept from being cleared up, set or made durable is
//! done by the next command. Nothing lies around then, and a power loss takes nothing back.

use rustix::io::Errno;

use super::done::Done;
use super::judge::Verdict;
use super::session::{ROOT, left, within};
use super::{Ended, Session, cases};
use crate::contract::STAGING_PREFIX;
use handle_fs::simulated::{Fault, Losses, Moment, Tree, outcomes};

/// Numbers of runs.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    runs: u64,
    /// Done, and something was named that is done later.
    named: u64,
}

/// The calls of a restore without an error, and the tree that it leads to.
fn undisturbed(session: &Session) -> (u64, Tree) {
    let mut world = session.begin();
    world.fault = Some(Fault::new(Errno::IO, u64::MAX, false));
    let (done, world) = within(world, || session.restore());
    assert!(matches!(done, Done::Whole), "{done:?}");
    let world = world.lock();
    (world.fault.unwrap().seen, world.tree(ROOT))
}

/// From the last call on backwards, as long as the new tree stays.
fn run(session: &Session) -> Counts {
    let (calls, new) = undisturbed(session);
    let mut counts = Counts::default();
    for at in (1..=calls).rev() {
        let mut world = session.begin();
        world.fault = Some(Fault::new(Errno::IO, at, false));
        let (done, world) = within(world, || session.restore());
        {
            let mut world = world.lock();
            world.end_process();
            world.fault = None;
        }
        let (ended, said) = match &done {
            Done::Whole => (Ended::New, String::new()),
            Done::Partly(named) => {
                let (later, never): (Vec<&str>, Vec<&str>) = named
                    .iter()
                    .map(String::as_str)
                    .partition(|line| is_done_later(line));
                counts.named += u64::from(!later.is_empty());
                (Ended::Mixed, never.join("\n"))
            }
            Done::Waits(_) => continue,
            Done::Refused(_) => break,
        };
        counts.runs += 1;
        let verdict = Verdict {
            ended,
            old: &session.old,
            new: &new,
            said: &said,
        };
        // The next command is a part of that.
        let mut wrong = session.judge_by(&world, &verdict);
        let (last, now) = {
            let world = world.lock();
            (world.moment(), world.tree(ROOT))
        };
        if !is_lasting(&last, &now) {
            wrong.push("a power loss takes something of it back".to_owned());
        }
        assert!(wrong.is_empty(), "call {at} of {calls}: {done:?}\n{wrong:#?}");
    }
    counts
}

/// Returns true if the line names work for the next command, and not a path that could not be changed.
fn is_done_later(line: &str) -> bool {
    line.contains(STAGING_PREFIX) || line.starts_with("times and flags in ")
}

fn is_lasting(last: &Moment, now: &Tree) -> bool {
    let mut disks = outcomes(last, Losses::Power { most: 16 }).into_iter();
    disks.all(|disk| left(last, &disk).tree(ROOT) == *now)
}

#[test]
fn what_an_error_left_when_the_new_tree_stays_is_done_by_the_next_command() {
    for session in [cases::busy().exact(), cases::bound()] {
        let counts = run(&session);
        println!("one call fails after the decision: {counts:?}");
        assert!(counts.named > 5, "{counts:?}");
    }
}
