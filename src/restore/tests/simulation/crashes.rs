//! A crash at every call of a restore, of what takes it up, and of what takes that up: the tree is the old one or the new one
//! afterwards, as the operator wishes.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use super::cases::Make;
use super::done::Done;
use super::session::{left, within};
use super::{Ended, Session, Verb, World, cases, stride, wants_all};
use handle_fs::simulated::{Disk, Losses, Moment, Object, Shared, Tree, outcomes};

const VERBS: [Verb; 2] = [Verb::Resume, Verb::Abort];

/// Numbers of trials and of their results.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    sessions: u64,
    /// Calls before which it crashed.
    points: u64,
    /// Different states that a crash left.
    states: u64,
    /// Times that something was taken up.
    runs: u64,
    old: u64,
    new: u64,
    either: u64,
}

impl Counts {
    fn add(&mut self, ended: Ended) {
        self.runs += 1;
        match ended {
            Ended::Old => self.old += 1,
            Ended::New => self.new += 1,
            Ended::Either | Ended::Mixed => self.either += 1,
        }
    }

    fn plus(self, other: Self) -> Self {
        Self {
            sessions: self.sessions + other.sessions,
            points: self.points + other.points,
            states: self.states + other.states,
            runs: self.runs + other.runs,
            old: self.old + other.old,
            new: self.new + other.new,
            either: self.either + other.either,
        }
    }
}

/// Depth of the trials of one session.
#[derive(Clone, Copy)]
struct Depth {
    losses: Losses,
    /// Crash again within what takes it up, at so many of its calls: each `nth` one; none for 0.
    nested: usize,
    /// Losses of the crashes within.
    again: Losses,
    /// Crash at every n-th call of the restore.
    every: usize,
}

/// One session, and the tree that its restore leads to.
struct Trial {
    session: Session,
    new: Tree,
    depth: Depth,
    counts: Counts,
    /// States and commands that were tried, and whether with crashes within.
    seen: HashMap<([u8; 32], Verb), bool>,
}

impl Trial {
    fn run(session: Session, depth: Depth) -> Counts {
        Self::run_from(session, depth, |_| true)
    }

    /// The same, with crashes only at the moments that are `wanted`.
    fn run_from(session: Session, depth: Depth, wanted: impl Fn(&World) -> bool) -> Counts {
        let mut world = session.begin();
        world.moments = Some(Vec::new());
        let (done, world) = within(world, || session.restore());
        assert!(matches!(done, Done::Whole), "{done:?}");
        let (last, mut moments) = {
            let mut world = world.lock();
            (world.moment(), world.moments.take().unwrap())
        };
        moments.push(last);
        let new = world.lock().tree(super::session::ROOT);
        let mut wrong = session.judge(&world, Ended::New, &new);
        wrong.extend(session.judge_model(&new));
        assert!(wrong.is_empty(), "{wrong:#?}");
        let mut trial = Self {
            session,
            new,
            depth,
            counts: Counts {
                sessions: 1,
                ..Counts::default()
            },
            seen: HashMap::new(),
        };
        for moment in moments
            .iter()
            .filter(|moment| wanted(&left(moment, &moment.disk())))
            .step_by(depth.every)
        {
            trial.counts.points += 1;
            for disk in outcomes(moment, depth.losses) {
                let about = format!("call {}", moment.call);
                trial.crash_and_take_up(moment, &disk, depth.nested, &about);
            }
        }
        trial.counts
    }

    /// Takes up what a crash left with each verb. Where nothing waits, no verb has anything to do, and one is enough.
    fn crash_and_take_up(&mut self, moment: &Moment, disk: &Disk, nested: usize, about: &str) {
        for verb in VERBS {
            if self.crash(moment, disk, verb, nested, about) == Some(Ended::Either) {
                self.seen.insert((disk.print(), Verb::Abort), nested > 0);
                break;
            }
        }
    }

    /// Takes up what a crash left. `None` if that was tried before.
    fn crash(
        &mut self,
        moment: &Moment,
        disk: &Disk,
        verb: Verb,
        nested: usize,
        about: &str,
    ) -> Option<Ended> {
        let state = (disk.print(), verb);
        let tried = self.seen.get(&state).copied();
        if tried.is_some_and(|deep| deep || nested == 0) {
            return None;
        }
        self.seen.insert(state, nested > 0);
        self.counts.states += u64::from(verb == Verb::Resume && tried.is_none());
        let mut world = left(moment, disk);
        if nested > 0 {
            world.moments = Some(Vec::new());
        }
        let session = self.session.clone();
        let (done, world) = within(world, || session.recover(verb));
        let about = format!("{about}, {verb:?}");
        let ended = match done {
            Ok(ended) => ended,
            Err(error) => panic!("{about}: {error}\n{}", self.told(&world)),
        };
        self.counts.add(ended);
        let moments = world.lock().moments.take().unwrap_or_default();
        let mut wrong = self.session.judge(&world, ended, &self.new);
        // Killed again while it cleared up: docs/crash-safety.md says what of the root's time is lost then.
        if self.session.world.crowded && self.depth.nested > 0 && nested == 0 {
            wrong.retain(|line| !line.contains("\"\" is Object"));
        }
        assert!(
            wrong.is_empty(),
            "{about}, {ended:?}: {wrong:#?}\n{}",
            self.told(&world)
        );
        if nested == 0 {
            return Some(ended);
        }
        for again in moments.iter().step_by(nested) {
            for disk in outcomes(again, self.depth.again) {
                let about = format!("{about}, then call {}", again.call);
                self.crash_and_take_up(again, &disk, 0, &about);
            }
        }
        Some(ended)
    }

    fn told(&self, world: &Shared) -> String {
        let lines = |tree: &Tree| -> String {
            let line = |(path, object): (&String, &Object)| format!("  {path:?} {}\n", object.what);
            tree.iter().map(line).collect()
        };
        let world = world.lock();
        format!(
            "old\n{}new\n{}is\n{}store\n{}",
            lines(&self.session.old),
            lines(&self.new),
            lines(&world.tree("/disk")),
            lines(&world.tree("/data/recovery/restores")),
        )
    }
}

/// Runs trials on all cores; the first that fails ends it.
fn all(name: &str, sessions: Vec<Make>, depth: Depth) {
    let (runs, ended) = (AtomicU64::new(0), AtomicU64::new(0));
    let done = handle_fs::parallel::map(&sessions, |session| {
        let counts = Trial::run(session(), depth);
        let runs = runs.fetch_add(counts.runs, Ordering::Relaxed) + counts.runs;
        let ended = ended.fetch_add(1, Ordering::Relaxed) + 1;
        if wants_all() {
            println!("{name}: {ended} of {} sessions, {runs} runs", sessions.len());
        }
        counts
    });
    let counts = done.into_iter().fold(Counts::default(), Counts::plus);
    println!("{name}: {counts:?}");
    assert!(
        counts.old > 0 && counts.new > 0 && counts.either > 0,
        "{counts:?}"
    );
}

/// Every session from one small tree to another.
fn small(every: usize) -> Vec<Make> {
    let trees = cases::small();
    let mut all: Vec<Make> = Vec::new();
    for before in &trees {
        for after in trees.iter().filter(|after| *after != before) {
            let (before, after) = (*before, *after);
            all.push(Box::new(move || before.to(after)));
        }
    }
    assert_eq!(
        (trees.len(), all.len()),
        (20, 380),
        "docs/crash-safety.md says so"
    );
    all.into_iter().step_by(every).collect()
}

#[test]
fn a_process_that_is_killed_at_any_call_leaves_the_old_tree_or_the_new_one() {
    let depth = Depth {
        losses: Losses::Kill,
        nested: if wants_all() { 1 } else { 120 },
        again: Losses::Kill,
        every: stride(5),
    };
    let mut sessions = cases::rich();
    sessions.push(Box::new(|| cases::busy().crowded()));
    all("killed, rich", sessions, depth);
}

#[test]
fn what_clears_up_after_a_decision_may_be_killed_anywhere_and_leaves_nothing_around() {
    let depth = Depth {
        losses: Losses::Kill,
        nested: 1,
        again: Losses::Kill,
        every: 1,
    };
    let counts = Trial::run_from(cases::busy(), depth, |world| {
        let papers = world.tree("/data/recovery/restores");
        papers.keys().any(|path| path.ends_with("/decision"))
    });
    println!("killed after the decision: {counts:?}");
    assert!(counts.points > 10 && counts.new > 100, "{counts:?}");
}

/// File systems that fold names, can exchange none, or lie below an overlay. At night everything is tried on each of them.
#[test]
fn names_that_fold_may_meet_a_crash_at_any_call() {
    let settings: [fn(Session) -> Session; 4] = [
        Session::folded,
        |session| session.folded().in_steps(),
        |session| session.folded().layered(),
        |session| session.folded().crowded(),
    ];
    let kill = Depth {
        losses: Losses::Kill,
        nested: if wants_all() { 1 } else { 120 },
        again: Losses::Kill,
        every: stride(11),
    };
    let of = |make: fn() -> Session| settings.map(|set| Box::new(move || set(make())) as Make);
    all("killed, folded", of(cases::recased).into(), kill);
    let power = Depth {
        losses: Losses::Power {
            most: if wants_all() { 64 } else { 2 },
        },
        nested: 0,
        again: Losses::Kill,
        every: stride(40),
    };
    let [folded, in_steps, ..] = of(cases::recased);
    all("power, folded", vec![folded, in_steps], power);
    if stride(2) == 1 {
        for make in [cases::busy, cases::linked, cases::bound, cases::nested] {
            all("killed, folded, rich", of(make).into(), kill);
        }
    }
}

/// Returns true if something may have moved and no decision is recorded.
fn is_under_way(world: &World) -> bool {
    let papers = world.tree("/data/recovery/restores");
    let has = |paper: &str| papers.keys().any(|path| path.ends_with(paper));
    has("/journal") && !has("/decision")
}

/// macOS syncs otherwise, walks paths by single names, and has file systems without exclusive renames. At night everything is tried.
#[test]
fn the_rules_of_macos_may_meet_a_crash_at_any_call() {
    let settings: [fn(Session) -> Session; 4] = [
        Session::on_macos,
        |session| session.exact().on_macos(),
        |session| session.on_macos().in_steps(),
        |session| session.on_macos().crowded(),
    ];
    let of = |make: fn() -> Session| settings.map(|set| Box::new(move || set(make())) as Make);
    let cases = [
        cases::busy,
        cases::recased,
        cases::linked,
        cases::bound,
        cases::nested,
    ];
    // No divisor of the number of settings, so that each of them is among those of the ordinary run.
    let few = stride(3);
    let all_of = || -> Vec<Make> { cases.into_iter().flat_map(of).step_by(few).collect() };
    let kill = Depth {
        losses: Losses::Kill,
        nested: if wants_all() { 1 } else { 120 },
        again: Losses::Kill,
        every: stride(5),
    };
    all("killed, macOS", all_of(), kill);
    // A crowded root may lose its time then: docs/crash-safety.md.
    let uncrowded = |make| {
        let [usual, exact, in_steps, _] = of(make);
        [usual, exact, in_steps]
    };
    let few = stride(4);
    let sessions: Vec<Make> = cases.into_iter().flat_map(uncrowded).step_by(few).collect();
    let power = Depth {
        losses: Losses::Power {
            most: if wants_all() { 64 } else { 2 },
        },
        nested: 0,
        again: Losses::Kill,
        every: stride(40),
    };
    all("power, macOS", sessions, power);
}

#[test]
fn an_exchange_in_steps_may_be_killed_at_any_call_there_and_back() {
    let depth = Depth {
        losses: Losses::Kill,
        nested: 1,
        again: Losses::Kill,
        every: 1,
    };
    let counts = Trial::run_from(cases::edited().in_steps(), depth, is_under_way);
    println!("killed, in steps: {counts:?}");
    assert!(counts.old > 50 && counts.new > 50, "{counts:?}");
}

/// Tests the case of an ordinary user, where directories are opened and closed again; root does not need that.
#[test]
fn a_directory_that_its_owner_may_not_write_is_shut_again_wherever_a_crash_came() {
    let kill = Depth {
        losses: Losses::Kill,
        nested: if wants_all() { 1 } else { 120 },
        again: Losses::Kill,
        every: 1,
    };
    let power = Depth {
        losses: Losses::Power { most: 64 },
        nested: 0,
        again: Losses::Kill,
        every: 1,
    };
    // Minutes, all of it; `bench/simulate` has them.
    if !wants_all() {
        return all("crashed, shut", vec![Box::new(cases::shut)], kill);
    }
    for depth in [kill, power] {
        let sessions: Vec<Make> = vec![
            Box::new(cases::shut),
            Box::new(|| cases::shut().in_steps()),
            Box::new(|| cases::shut().layered()),
        ];
        all("crashed, shut", sessions, depth);
    }
}

#[test]
fn metadata_that_are_set_one_after_the_other_may_be_killed_in_between() {
    let depth = Depth {
        losses: Losses::Kill,
        nested: 1,
        again: Losses::Kill,
        every: 1,
    };
    let counts = Trial::run_from(cases::dressed(), depth, is_under_way);
    println!("killed, dressed: {counts:?}");
    assert!(counts.old > 50 && counts.new > 50, "{counts:?}");
}

#[test]
fn what_takes_a_directory_apart_or_puts_it_together_may_meet_a_power_loss() {
    let depth = Depth {
        losses: Losses::Kill,
        nested: 1,
        again: Losses::Power {
            most: if wants_all() { 64 } else { 2 },
        },
        every: stride(8),
    };
    let counts = Trial::run_from(cases::nested().layered(), depth, is_under_way);
    println!("killed, then power, taken apart: {counts:?}");
    assert!(counts.old > 100 && counts.new > 100, "{counts:?}");
}

#[test]
fn a_power_loss_at_any_call_leaves_the_old_tree_or_the_new_one() {
    let depth = Depth {
        losses: Losses::Power {
            most: if wants_all() { 64 } else { 2 },
        },
        nested: 0,
        again: Losses::Kill,
        every: stride(96),
    };
    all("power, rich", cases::rich(), depth);
}

#[test]
fn a_power_loss_in_any_small_tree_leaves_the_old_tree_or_the_new_one() {
    let depth = Depth {
        losses: Losses::Power {
            most: if wants_all() { 64 } else { 2 },
        },
        nested: 0,
        again: Losses::Kill,
        every: stride(16),
    };
    all("power, small", small(if wants_all() { 1 } else { 97 }), depth);
}
