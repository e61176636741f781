//! An error, and then the power fails: what was said to be done is done, what was refused left the old tree, and what waits can be
//! finished and undone. The errors are single calls that fail, and file systems that are shut down while the other goes on.

use std::collections::HashSet;

use rustix::io::Errno;

use super::done::Done;
use super::judge::Verdict;
use super::session::{left, within};
use super::{Ended, Session, Verb, cases, stride, wants_all};
use crate::contract::STAGING_PREFIX;
use handle_fs::simulated::{Fault, Losses, Moment, Tree, outcomes};

/// The file systems that are shut down: that of the mount, that of the store, both.
const OUTAGES: [(u64, u64); 3] = [(2, 2), (3, 3), (2, 3)];

/// Numbers of faults and of their results.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    faults: u64,
    done: u64,
    partly: u64,
    refused: u64,
    waited: u64,
    /// Times that something was taken up.
    runs: u64,
}

struct Trial<'a> {
    session: &'a Session,
    new: Tree,
    counts: Counts,
    seen: HashSet<([u8; 32], Verb, u8)>,
    /// True if the fault made the restore stage in the mount root.
    inside: bool,
}

impl Trial<'_> {
    /// One fault after the other, until none strikes any more, and the last one that does: all that counts is done by then. The second one comes
    /// `first` calls behind the first.
    fn run(&mut self, first: u64, every: u64, fault: impl Fn(u64) -> Fault) {
        let (mut struck, mut missed) = (0, 1);
        while self.strike(fault(missed)) {
            struck = missed;
            missed += if missed == 1 { first } else { every };
        }
        while missed - struck > 1 {
            let middle = struck.midpoint(missed);
            match self.meet(fault(middle), false) {
                Some(_) => struck = middle,
                None => missed = middle,
            }
        }
        if every > 1 && struck > 0 {
            self.strike(fault(struck));
        }
    }

    /// A restore that meets the fault, and where it ends; `None` when the fault did not strike before that.
    fn meet(&self, fault: Fault, watched: bool) -> Option<(Done, Moment, Vec<Moment>)> {
        let mut world = self.session.begin();
        world.fault = Some(fault);
        world.moments = watched.then(Vec::new);
        let (done, world) = within(world, || self.session.restore());
        let mut world = world.lock();
        world.end_process();
        let struck = world.fault.take().is_some_and(|fault| fault.struck());
        struck.then(|| (done, world.moment(), world.moments.take().unwrap_or_default()))
    }

    /// Injects `fault` and checks what it leads to. Returns true if it struck before the restore was done.
    fn strike(&mut self, fault: Fault) -> bool {
        let Some((done, last, moments)) = self.meet(fault, true) else {
            return false;
        };
        self.counts.faults += 1;
        let staged_inside = |moment: &Moment| {
            let tree = left(moment, &moment.disk()).tree(super::session::ROOT);
            tree.keys().any(|path| path.starts_with(STAGING_PREFIX))
        };
        self.inside = moments.iter().any(staged_inside);
        match &done {
            Done::Whole => self.counts.done += 1,
            Done::Partly(_) => self.counts.partly += 1,
            Done::Refused(_) => self.counts.refused += 1,
            Done::Waits(_) => self.counts.waited += 1,
        }
        let about = format!("{fault:?}: {done:?}");
        self.lose_power(&last, &done, &about);
        // It may fail before anything was said, too.
        let unsaid = match &done {
            // The paths that it could not change it will not have changed then either.
            Done::Partly(named) => Done::Partly(named.clone()),
            _ => Done::Waits(String::new()),
        };
        let every = if wants_all() { 23 } else { 97 * stride(8) };
        for moment in moments.iter().rev().step_by(every) {
            self.lose_power(moment, &unsaid, &format!("{about}, call {}", moment.call));
        }
        true
    }

    fn lose_power(&mut self, moment: &Moment, done: &Done, about: &str) {
        let most = if wants_all() { 2 } else { 1 };
        let kind = match done {
            Done::Whole => 0,
            Done::Partly(_) => 1,
            Done::Refused(_) => 2,
            Done::Waits(_) => 3,
        };
        // Four states of the contents follow one another for each state of the names, so each comes up with a third of all.
        let disks = outcomes(moment, Losses::Power { most }).into_iter();
        for disk in disks.step_by(stride(5)) {
            for verb in [Verb::Resume, Verb::Abort] {
                if !self.seen.insert((disk.print(), verb, kind)) {
                    continue;
                }
                self.counts.runs += 1;
                let (ended, world) = within(left(moment, &disk), || self.session.recover(verb));
                let nothing_waited = matches!(ended, Ok(Ended::Either));
                let ended = match (ended, done) {
                    (Ok(ended), _) => ended,
                    // What could not be made then is not there now either, and is named again.
                    (Err(again), Done::Partly(_)) if again.contains("outcome: Partial") => continue,
                    (Err(error), _) => panic!("{about}, {verb:?}: {error}"),
                };
                let ended = match (done, ended) {
                    (Done::Whole, Ended::Either) => Ended::New,
                    (Done::Whole, Ended::Old) => panic!("{about}, {verb:?}: it was said to be done"),
                    (Done::Refused(_), Ended::Either) => Ended::Old,
                    (Done::Refused(_), Ended::New) if verb == Verb::Abort => {
                        panic!("{about}: nothing was done, and it cannot be taken back")
                    }
                    (Done::Partly(_), Ended::New | Ended::Either) => Ended::Mixed,
                    (_, ended) => ended,
                };
                let said = done.said();
                let verdict = Verdict {
                    ended,
                    old: &self.session.old,
                    new: &self.new,
                    said: &said,
                };
                let mut wrong = self.session.judge_by(&world, &verdict);
                // The only thing that a power loss may change: docs/crash-safety.md names it.
                if self.inside && ended != Ended::New {
                    wrong.retain(|line| !line.contains("\"\" is Object"));
                }
                assert!(wrong.is_empty(), "{about}, {verb:?}, {ended:?}: {wrong:#?}");
                if nothing_waited {
                    // Then no verb has anything to do, and the other one would do the same.
                    break;
                }
            }
        }
    }
}

fn trial(session: &Session) -> Trial<'_> {
    let (done, world) = within(session.begin(), || session.restore());
    assert!(matches!(done, Done::Whole), "{done:?}");
    let new = world.lock().tree(super::session::ROOT);
    Trial {
        session,
        new,
        counts: Counts::default(),
        seen: HashSet::new(),
        inside: false,
    }
}

/// Tries the faults in each session with one of everything, each `every`th point of them.
fn all(name: &str, every: u64, faults: &(dyn Fn(u64) -> Vec<Fault> + Sync)) {
    let sessions = cases::rich();
    let numbered: Vec<_> = sessions.iter().enumerate().collect();
    let tried = handle_fs::parallel::map(&numbered, |(number, make)| {
        let session = make();
        let mut trial = trial(&session);
        let kinds = faults(1).len();
        for kind in 0..kinds {
            let every = if wants_all() { 1 } else { every * stride(4) as u64 };
            // The sessions have most calls in common, so each is tried at others.
            let first = every - every * *number as u64 / numbered.len() as u64;
            trial.run(first, every, |at| faults(at)[kind]);
        }
        trial.counts
    });
    for counts in &tried {
        println!("{name}, then power: {counts:?}");
        assert!(counts.refused > 0 && counts.runs > 20, "{counts:?}");
    }
    assert!(tried.iter().any(|counts| counts.done > 0 && counts.waited > 0));
}

#[test]
fn a_disk_that_is_shut_down_and_then_the_power_fails() {
    all("shut down", 127, &|at| {
        OUTAGES.map(|devices| Fault::outage(devices, at)).to_vec()
    });
}

#[test]
fn a_call_that_fails_and_then_the_power_fails() {
    all("a call fails", 31, &|at| {
        [Errno::IO, Errno::NOSPC]
            .map(|error| Fault::new(error, at, false))
            .to_vec()
    });
}
