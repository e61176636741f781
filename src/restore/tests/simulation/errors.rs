//! Every error at every call of a restore, an undo, a capture, and of what takes an interrupted restore up: afterwards there is
//! the old tree or the new one, or a restore that waits, which then can be finished and undone; and nothing is said to be
//! done that is not.

use super::done::Done;
use super::judge::Verdict;
use super::session::{left, within};
use super::{Ended, Session, Verb, cases, stride, wants_all};
use handle_fs::simulated::{Fault, Moment, Shared, Tree, errors};

/// Numbers of runs and of their results.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    runs: u64,
    done: u64,
    /// Done but for paths that were named.
    partly: u64,
    refused: u64,
    waited: u64,
}

impl Counts {
    fn plus(self, other: Self) -> Self {
        Self {
            runs: self.runs + other.runs,
            done: self.done + other.done,
            partly: self.partly + other.partly,
            refused: self.refused + other.refused,
            waited: self.waited + other.waited,
        }
    }
}

/// Trial of an operation: the state before it, the trees that it may lead to, and the operation.
struct Trial<'a> {
    name: &'static str,
    session: &'a Session,
    from: Moment,
    old: Tree,
    new: Tree,
    work: &'a dyn Fn(&Session) -> Done,
}

impl Trial<'_> {
    /// Lets one call after the other fail, each `every`th, until none is left.
    fn run(&self, every: u64) -> Counts {
        let mut counts = Counts::default();
        for (number, error, stays) in errors() {
            // Each error begins elsewhere.
            let mut at = 1 + (2 * number + u64::from(stays)) * 31 % every;
            while let Some(one) = self.strike(Fault::new(error, at, stays)) {
                counts = counts.plus(one);
                at += every;
            }
        }
        counts
    }

    /// `None`: it was done before it came so far.
    fn strike(&self, fault: Fault) -> Option<Counts> {
        let about = format!("{}: {fault:?}", self.name);
        let mut world = left(&self.from, &self.from.disk());
        world.fault = Some(fault);
        let (done, world) = within(world, || (self.work)(self.session));
        let fault = {
            let mut world = world.lock();
            world.end_process();
            world.fault.take().unwrap()
        };
        if !fault.struck() {
            return None;
        }
        let mut counts = Counts {
            runs: 1,
            ..Counts::default()
        };
        let said = done.said();
        let fail = |wrong: Vec<String>| panic!("{about}: {done:?}\n{wrong:#?}");
        match &done {
            Done::Whole => {
                counts.done += 1;
                self.insist(&world, Ended::New, &said, fail);
            }
            Done::Partly(named) => {
                counts.partly += 1;
                assert!(!named.is_empty(), "{about}: nothing is named");
                self.insist(&world, Ended::Mixed, &said, fail);
            }
            Done::Refused(_) => {
                counts.refused += 1;
                self.insist(&world, Ended::Old, &said, fail);
            }
            Done::Waits(why) => {
                counts.waited += 1;
                let moment = world.lock().moment();
                for verb in [Verb::Resume, Verb::Abort] {
                    let again = left(&moment, &moment.disk());
                    let (ended, again) = within(again, || self.session.recover(verb));
                    match ended {
                        Ok(ended) => self.insist(&again, ended, "", fail),
                        Err(error) => panic!("{about}: {why}\n{verb:?}: {error}"),
                    }
                }
            }
        }
        Some(counts)
    }

    fn insist(&self, world: &Shared, ended: Ended, said: &str, fail: impl Fn(Vec<String>)) {
        let verdict = Verdict {
            ended,
            old: &self.old,
            new: &self.new,
            said,
        };
        let wrong = self.session.judge_by(world, &verdict);
        if !wrong.is_empty() {
            fail(wrong);
        }
    }
}

fn every() -> u64 {
    if wants_all() { 1 } else { 29 * stride(2) as u64 }
}

fn restored(session: &Session) -> (Moment, Tree) {
    let (done, world) = within(session.begin(), || session.restore());
    assert!(matches!(done, Done::Whole), "{done:?}");
    let world = world.lock();
    (world.moment(), world.tree(super::session::ROOT))
}

#[test]
fn a_restore_that_meets_an_error_is_done_or_not_begun_or_waits() {
    let mut counts = Counts::default();
    let sessions = [
        cases::busy(),
        cases::busy().in_steps(),
        cases::busy().layered(),
        cases::linked(),
        cases::bound(),
    ];
    for session in sessions {
        let (_, new) = restored(&session);
        let trial = Trial {
            name: "restore",
            session: &session,
            from: session.world.clone(),
            old: session.old.clone(),
            new,
            work: &Session::restore,
        };
        counts = counts.plus(trial.run(every()));
    }
    println!("errors in restore: {counts:?}");
    assert!(counts.done > 0 && counts.refused > 0);
}

#[test]
fn an_undo_that_meets_an_error_is_done_or_not_begun_or_waits() {
    let session = cases::busy();
    let (from, old) = restored(&session);
    let trial = Trial {
        name: "undo",
        session: &session,
        from,
        old,
        new: session.old.clone(),
        work: &Session::undo,
    };
    let counts = trial.run(every());
    println!("errors in undo: {counts:?}");
    assert!(counts.done > 0 && counts.refused > 0);
}

fn taken_up(session: &Session) -> Counts {
    let (_, new) = restored(session);
    let mut world = session.begin();
    world.moments = Some(Vec::new());
    let (_, world) = within(world, || session.restore());
    let moments = world.lock().moments.take().unwrap();
    let mut counts = Counts::default();
    // Some points of the whole, in its middle too.
    for moment in moments.iter().step_by(if wants_all() { 9 } else { 41 }) {
        for verb in [Verb::Resume, Verb::Abort] {
            let trial = Trial {
                name: if verb == Verb::Resume { "resume" } else { "abort" },
                session,
                from: moment.clone(),
                old: session.old.clone(),
                new: new.clone(),
                work: &|session: &Session| session.take_up(verb),
            };
            counts = counts.plus(trial.run(every() * 3 * stride(8) as u64));
        }
    }
    counts
}

#[test]
fn what_takes_up_a_restore_and_meets_an_error_can_be_tried_again() {
    let mut counts = Counts::default();
    for session in [cases::busy(), cases::busy().in_steps(), cases::busy().layered()] {
        counts = counts.plus(taken_up(&session));
    }
    println!("errors in resume and abort: {counts:?}");
    assert!(counts.done > 0 && counts.waited > 0, "{counts:?}");
}

#[test]
fn a_capture_that_meets_an_error_is_whole_or_says_what_is_missing_or_is_not_there() {
    let session = cases::busy();
    let trial = Trial {
        name: "capture",
        session: &session,
        from: session.world.clone(),
        old: session.old.clone(),
        new: session.old.clone(),
        work: &Session::capture_again,
    };
    let counts = trial.run(every());
    println!("errors in capture: {counts:?}");
    assert!(counts.done > 0 && counts.refused > 0);
}
