//! kill -9 at a random moment: when, whom, and what the tree then is.

use std::collections::BTreeSet;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use super::build::Build;
use super::compare::{Exactness, node_differences};
use super::invocation::Invocation;
use super::patience::await_that;
use super::run::Run;
use super::tree::{Node, Tree};

/// Random numbers that a failure can be repeated with.
pub(crate) struct Dice(u64);

impl Dice {
    /// The same seed gives the same numbers; `JACKIN_SEED` gives others.
    pub(crate) fn new(seed: u64) -> Self {
        let more = std::env::var("JACKIN_SEED")
            .ok()
            .and_then(|more| more.parse().ok());
        Self(seed ^ u64::wrapping_mul(more.unwrap_or(0), 0x9e37_79b9_7f4a_7c15))
    }

    /// Below `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        // splitmix64: one step, then the bits are stirred.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (bits ^ (bits >> 31)) % end
    }

    /// A moment between nothing and a tenth more than `takes`.
    pub(crate) fn moment(&mut self, takes: Duration) -> Duration {
        let share = u32::try_from(self.below(1 << 20)).expect("it is below");
        takes.mul_f64(1.1 * f64::from(share) / f64::from(1 << 20))
    }
}

/// Number of kills that `JACKIN_KILLS` asks for. A few by default: they are random, and `.ci/nightly` tries many.
pub(crate) fn wanted() -> u32 {
    let wanted = std::env::var("JACKIN_KILLS").ok();
    wanted.and_then(|wanted| wanted.parse().ok()).unwrap_or(20)
}

/// How long it takes: the second of two runs, for the first one warms what all share.
pub(crate) fn measured(mut once: impl FnMut() -> Run) -> Duration {
    once();
    let begun = Instant::now();
    once();
    begun.elapsed()
}

/// When a restore under way in this store has this paper, or the moment at which it took too long.
pub(crate) fn appears(store: &Path, paper: &str) -> Instant {
    let (begun, restores) = (Instant::now(), store.join("restores"));
    let is_there = || {
        let mut papers = std::fs::read_dir(&restores).into_iter().flatten().flatten();
        papers.any(|papers| papers.path().join(paper).exists())
    };
    while !is_there() && begun.elapsed() < Duration::from_secs(2) {
        std::thread::sleep(Duration::from_micros(100));
    }
    Instant::now()
}

/// How long a restore takes, and how long of that from the journal to the decision: between the two the tree is mixed.
#[track_caller]
pub(crate) fn timed(invocation: Invocation<'_>, store: &Path) -> (Duration, Duration) {
    let begun = Instant::now();
    let restore = invocation.start();
    let [journaled, decided] = ["journal", "decision"].map(|paper| appears(store, paper));
    restore.finish().ok();
    (begun.elapsed(), decided.duration_since(journaled))
}

/// What a project has that is restored and undone by what is killed: so many small files and one of each other kind.
pub(crate) fn fill(project: &Path, files: usize) {
    let build = Build::at(project);
    for n in 0..files {
        build.file(format!("many/{}/{n}", n % 8), format!("before {n}\n").repeat(40));
    }
    build
        .big("big", 600_000)
        .hard_link("hard", "many/0/0")
        .symlink("link", "many/1/1")
        .file("mode", "m\n")
        .dir("empty")
        .aged();
}

/// Starts it, waits, and kills it with all that it started. `true` when it was still running; what is returned otherwise had its
/// own end. Returns when nobody of them lives any more.
#[track_caller]
pub(crate) fn strike(invocation: Invocation<'_>, after: Duration) -> Struck {
    strike_when(invocation, || std::thread::sleep(after))
}

/// The same, at the moment when `wait` returns.
#[track_caller]
pub(crate) fn strike_when(invocation: Invocation<'_>, wait: impl FnOnce()) -> Struck {
    let mut started = invocation.apart().start();
    let group = i32::try_from(started.child.id()).ok().and_then(Pid::from_raw);
    let group = group.expect("a process has a number");
    wait();
    // It is not collected yet, so the number is still its own.
    let _ = kill_process_group(group, Signal::KILL);
    let status = started.child.wait().unwrap();
    await_that("the end of its group", || !lives(group));
    let landed = status.signal() == Some(9);
    Struck {
        landed,
        run: (!landed).then(|| started.finish()),
    }
}

/// What came of a strike.
pub(crate) struct Struck {
    /// It was still running.
    pub(crate) landed: bool,
    /// What it said, when it was faster.
    pub(crate) run: Option<Run>,
}

/// Returns true if a process of the group lives. A dead one that is not collected does not.
pub(crate) fn lives(group: Pid) -> bool {
    let wanted = group.as_raw_nonzero().to_string();
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let mut stats = all.filter_map(|entry| std::fs::read_to_string(entry.path().join("stat")).ok());
    stats.any(|stat| {
        // Behind the name, which may hold anything: state, parent, group.
        let mut words = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
        let state = words.next();
        words.nth(1) == Some(&wanted) && !matches!(state, Some("Z" | "X"))
    })
}

/// What a tree is that should be one of two.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// Paths that are neither as in the one nor as in the other.
    pub(crate) torn: Vec<String>,
    /// Paths that both have, and it has not.
    pub(crate) lost: Vec<String>,
    /// Paths, of those at which the two differ, that are as in the old one.
    pub(crate) old: usize,
    /// The same for the new one.
    pub(crate) new: usize,
}

impl Verdict {
    /// Compares path by path what a restore brings back.
    pub(crate) fn of(old: &Tree, new: &Tree, now: &Tree) -> Self {
        let mut verdict = Self::default();
        let trees = [old, new, now];
        let paths: BTreeSet<&Vec<u8>> = trees.iter().flat_map(|tree| tree.nodes.keys()).collect();
        for path in paths {
            let [was, will, is] = trees.map(|tree| tree.nodes.get(path));
            match (same(is, was), same(is, will)) {
                (true, true) => {}
                (true, false) => verdict.old += 1,
                (false, true) => verdict.new += 1,
                (false, false) => {
                    let list = match is {
                        None => &mut verdict.lost,
                        Some(_) => &mut verdict.torn,
                    };
                    list.push(path.escape_ascii().to_string());
                }
            }
        }
        verdict
    }

    /// Some paths are old and some new.
    pub(crate) fn is_mixed(&self) -> bool {
        self.old > 0 && self.new > 0
    }
}

fn same(one: Option<&Node>, other: Option<&Node>) -> bool {
    // Which names belong together is no state of one path.
    let alone = |node: &Node| Node {
        group: None,
        ..node.clone()
    };
    match (one, other) {
        (Some(one), Some(other)) => {
            node_differences(&alone(one), &alone(other), Exactness::Content).is_empty()
        }
        (None, None) => true,
        _ => false,
    }
}

/// What so many kills of one verb came to; printed as one line, which `bench/kills` collects.
pub(crate) struct Tally {
    verb: &'static str,
    kills: u32,
    landed: u32,
    midway: u32,
    torn: u32,
    mixed: u32,
    lost: u32,
    old: u32,
    new: u32,
    faults: Vec<String>,
}

impl Tally {
    /// None so far.
    pub(crate) fn of(verb: &'static str) -> Self {
        Self {
            verb,
            kills: 0,
            landed: 0,
            midway: 0,
            torn: 0,
            mixed: 0,
            lost: 0,
            old: 0,
            new: 0,
            faults: Vec::new(),
        }
    }

    /// A moment for the next kill, of something that takes so long; sooner and sooner as long as all came too late.
    pub(crate) fn moment(&self, dice: &mut Dice, takes: Duration) -> Duration {
        let late = if self.landed > 0 { 0 } else { self.kills };
        dice.moment(takes) / 2_u32.saturating_pow(late)
    }

    /// Kills at such a moment. Also gives what this was, in words.
    #[track_caller]
    pub(crate) fn strike(
        &mut self,
        invocation: Invocation<'_>,
        dice: &mut Dice,
        takes: Duration,
    ) -> (Struck, String) {
        let after = self.moment(dice, takes);
        let struck = strike(invocation, after);
        let number = self.kill(struck.landed);
        (struck, format!("{} {number} killed after {after:?}", self.verb))
    }

    /// None came in time.
    pub(crate) fn is_late(&self) -> bool {
        self.landed == 0
    }

    /// One more, and whether it was still running.
    pub(crate) fn kill(&mut self, landed: bool) -> u32 {
        self.kills += 1;
        self.landed += u32::from(landed);
        self.kills
    }

    /// It left something that waits for `resume` or `abort`.
    pub(crate) fn midway(&mut self) {
        self.midway += 1;
    }

    /// What was there afterwards, of two trees or of two states of the store.
    pub(crate) fn ended(&mut self, new: bool) {
        if new {
            self.new += 1;
        } else {
            self.old += 1;
        }
    }

    /// A tree after recovery.
    pub(crate) fn judge(&mut self, verdict: &Verdict, about: &str) {
        self.torn += u32::from(!verdict.torn.is_empty());
        self.lost += u32::from(!verdict.lost.is_empty());
        self.mixed += u32::from(verdict.is_mixed());
        self.ended(verdict.new > 0);
        if verdict.is_mixed() || !verdict.torn.is_empty() || !verdict.lost.is_empty() {
            self.faults.push(format!("{about}: {verdict:?}"));
        }
    }

    /// A tree that nobody was to touch: each line is a difference.
    pub(crate) fn untouched(&mut self, lines: &[String], about: &str) {
        if !lines.is_empty() {
            self.torn += 1;
            self.faults.push(format!("{about}: {lines:?}"));
        }
    }

    /// Something that was there before is not.
    pub(crate) fn lost(&mut self, about: String) {
        self.lost += 1;
        self.faults.push(about);
    }

    /// Prints the line and insists that nothing was torn, mixed or lost.
    #[track_caller]
    pub(crate) fn done(self) {
        eprintln!(
            "KILLS {} kills={} landed={} midway={} torn={} mixed={} lost={} old={} new={}",
            self.verb,
            self.kills,
            self.landed,
            self.midway,
            self.torn,
            self.mixed,
            self.lost,
            self.old,
            self.new
        );
        assert!(self.faults.is_empty(), "{}", self.faults.join("\n"));
        assert!(!self.is_late(), "{}: it was always faster", self.verb);
    }
}
