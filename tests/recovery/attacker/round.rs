//! One round: a verb runs while the attacker is at work. Then everything is looked at, what waits is taken up, and in the end the
//! tree from before the session must be there once more, whatever he did.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::blows::{Blow, Target, War};
use super::ground::{DIRECTORIES, FILES, Ground};
use super::judge::Judge;
use super::share::Share;
use super::tally::Tally;
use crate::support::machine::tool;
use crate::support::run::Run;
use crate::support::tree::Tree;

/// What runs under attack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    Begin,
    Checkpoint,
    End,
    Diff,
    To,
    Restore,
    Undo,
    Resume,
    Abort,
}

/// Where he strikes.
#[derive(Clone, Debug)]
enum Front {
    /// At these paths of the mount.
    Paths(Vec<&'static str>),
    /// At the mount root itself.
    Root,
    /// At what is staged, and at the name that staging will have.
    Staging,
    /// At the directory that `--to` makes.
    To,
}

/// Every call that finds, opens or changes something takes so much longer that a blow falls between two of them.
const CALLS: &str = "openat,openat2,renameat2,unlinkat,mkdirat,linkat,symlinkat,mknodat,chmod,fchmod,fchownat,utimensat,\
    statx,newfstatat,readlinkat,llistxattr,lgetxattr,lsetxattr,lremovexattr,getdents64";

/// All rounds of one verb, on one ground after the other.
pub(super) struct Campaign {
    pub(super) tally: Tally,
    verb: Verb,
    /// Always this, when it is not drawn.
    only: Option<(Blow, Vec<&'static str>)>,
    made: AtomicU64,
    seed: u64,
}

impl Campaign {
    pub(super) fn new(verb: Verb) -> Self {
        Self {
            tally: Tally::default(),
            verb,
            only: None,
            made: AtomicU64::new(0),
            seed: 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(verb as u64 + 1),
        }
    }

    /// The same blow at the same paths, each time.
    pub(super) fn with(verb: Verb, blow: Blow, paths: &[&'static str]) -> Self {
        Self {
            only: Some((blow, paths.to_vec())),
            ..Self::new(verb)
        }
    }

    /// So many rounds; a new ground now and then, so that no store grows without end.
    pub(super) fn fight(mut self, rounds: u32) -> Tally {
        // A few more where no blow fell while the command ran.
        let most = rounds * 5;
        let mut left = rounds;
        while left > 0 {
            let mut ground = Ground::new();
            for number in 0..left.min(40) {
                self.round(&mut ground, number);
                left -= 1;
                if !self.tally.wrong.is_empty() && self.tally.wrong.len() > 20 {
                    return self.tally;
                }
            }
            self.tally.outside += ground.treasure.changed_bytes().len();
            if left == 0 && self.tally.collided == 0 && self.tally.rounds < most {
                left = 1;
            }
        }
        self.tally
    }

    fn draw(&mut self, below: usize) -> usize {
        self.seed = self
            .seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.seed >> 33).unwrap() % below
    }

    fn front(&mut self) -> Front {
        let restores = matches!(self.verb, Verb::Restore | Verb::Undo | Verb::Resume | Verb::Abort);
        match (self.verb, self.draw(8)) {
            (Verb::To, _) => Front::To,
            (_, 0) => Front::Root,
            (_, 1 | 2) if restores => Front::Staging,
            (_, other) => {
                let one = if other % 2 == 0 {
                    DIRECTORIES[self.draw(DIRECTORIES.len())]
                } else {
                    FILES[self.draw(FILES.len())]
                };
                let two = FILES[self.draw(FILES.len())];
                let apart = !Path::new(two).starts_with(one) && !Path::new(one).starts_with(two);
                Front::Paths(if apart { vec![one, two] } else { vec![one] })
            }
        }
    }

    /// Brings about the state in which the verb is to run; gives its words.
    fn prepare(&mut self, ground: &Ground, number: u32) -> (Vec<String>, Option<String>) {
        let (id, project) = (ground.id.clone(), ground.project.to_str().unwrap().to_owned());
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let begin = ["begin", "--snapshot", "project", &project];
        match self.verb {
            Verb::Begin => (words(&begin), None),
            Verb::Checkpoint | Verb::End => {
                let begun = ground.run(&begin).ok();
                let session = String::from_utf8_lossy(&begun.stdout).trim().to_owned();
                let args = if self.verb == Verb::End {
                    words(&["end", &session])
                } else {
                    words(&["checkpoint", &session, "--name", &format!("point-{number}")])
                };
                (args, Some(session))
            }
            Verb::Diff => (words(&["diff", &id, "--json", "--no-renames"]), None),
            Verb::To => {
                let to = ground.den.join("to");
                let to = to.to_str().unwrap();
                (words(&["restore", &id, "--yes", "--to", to]), None)
            }
            Verb::Restore => (words(&["restore", &id, "--yes"]), None),
            Verb::Undo => {
                ground.run(&["restore", &id, "--yes"]).ok();
                (words(&["undo", &id, "--yes"]), None)
            }
            Verb::Resume | Verb::Abort => {
                let points = ["journaled", "move:9", "move:20", "moved", "compared"];
                let point = points[self.draw(points.len())];
                let killed = ground.sandbox.command(["restore", &id, "--yes"]);
                let killed = killed.with("JACKIN_RECOVERY_FAIL_AT", point).run();
                assert_eq!(killed.exit(), None, "{point}\n{killed}");
                let verb = if self.verb == Verb::Resume {
                    "resume"
                } else {
                    "abort"
                };
                (words(&[verb, &id, "--yes"]), None)
            }
        }
    }

    fn round(&mut self, ground: &mut Ground, number: u32) {
        let (args, session) = self.prepare(ground, number);
        let mut blow = Blow::ALL[self.draw(Blow::ALL.len())];
        let mut front = self.front();
        if let Some((always, paths)) = &self.only {
            (blow, front) = (*always, Front::Paths(paths.clone()));
        }
        if matches!(front, Front::Staging) && blow != Blow::Directory {
            blow = [Blow::File, Blow::Link, Blow::HardLink][self.draw(3)];
        } else if matches!(front, Front::To) && blow == Blow::Neighbor {
            blow = Blow::Link;
        }
        let begun = Tree::read(&ground.project);
        let slow = number % 2 == 1 && tool("strace").is_some();
        let first = self.made.load(Ordering::Relaxed);
        let (run, hits, staying) = self.under_attack(ground, &args, &front, blow, slow);
        let about = format!(
            "{:?} round {number}: {blow:?} at {front:?}{}",
            self.verb,
            if slow { ", slow" } else { "" }
        );
        self.tally.rounds += 1;
        self.tally.hits += hits;
        self.tally.collided += u32::from(hits > 0);
        let share = match &front {
            Front::Paths(paths) => Share::of(paths, blow == Blow::Neighbor),
            Front::Root | Front::Staging => Share::all(),
            Front::To => Share::none(),
        };
        let mut judge = Judge {
            ground,
            tally: &mut self.tally,
            about,
            share,
            begun,
            verb: self.verb,
            in_place: blow.is_in_place(),
            only_staged: matches!(front, Front::Staging),
            staying,
            said: Vec::new(),
        };
        judge.run(run, session.as_deref());
        judge.recover(number % 4 < 2);
        judge.lost(first..self.made.load(Ordering::Relaxed));
        judge.clean();
        for entry in fs::read_dir(&ground.den).unwrap() {
            let path = entry.unwrap().path();
            if path.symlink_metadata().unwrap().is_dir() {
                fs::remove_dir_all(path).unwrap();
            } else {
                fs::remove_file(path).unwrap();
            }
        }
        ground.damage();
    }

    /// Runs the words while the attacker strikes; gives how often he hit meanwhile.
    fn under_attack(
        &self,
        ground: &Ground,
        args: &[String],
        front: &Front,
        blow: Blow,
        slow: bool,
    ) -> (Run, u64, BTreeSet<u64>) {
        let war = War {
            den: &ground.den,
            vault: &ground.treasure.vault,
            bait: &ground.treasure.bait,
            over: AtomicBool::new(false),
            hits: AtomicU64::new(0),
            made: &self.made,
            staying: Mutex::new(BTreeSet::new()),
        };
        let targets: Vec<Target> = match front {
            Front::Paths(paths) => paths
                .iter()
                .filter_map(|path| Target::at(&ground.project.join(path)))
                .collect(),
            Front::Root => Target::at(&ground.project).into_iter().collect(),
            Front::Staging | Front::To => Vec::new(),
        };
        let (beside, to) = (ground.sandbox.sources(), ground.den.join("to"));
        let (papers, seed) = (ground.sandbox.store().join("restores"), self.seed);
        let shared = &war;
        let (run, hits) = std::thread::scope(|scope| {
            for (number, target) in (self.seed..).zip(&targets) {
                scope.spawn(move || shared.wage(blow, target, number));
            }
            match front {
                Front::Staging => drop(scope.spawn(|| war.haunt(&beside, &papers, blow, seed))),
                Front::To => drop(scope.spawn(|| war.wander(&to, blow, seed))),
                Front::Paths(_) | Front::Root => {
                    let begun = Instant::now();
                    while war.hits.load(Ordering::Relaxed) == 0 && begun.elapsed() < Duration::from_millis(20)
                    {
                        std::thread::yield_now();
                    }
                }
            }
            let before = war.hits.load(Ordering::Relaxed);
            let trace = format!("trace={CALLS}");
            let inject = format!("inject={CALLS}:delay_enter=150");
            let mut command = ground.sandbox.command(args);
            if slow {
                let through = [
                    "strace",
                    "-f",
                    "--seccomp-bpf",
                    "-qq",
                    "-o",
                    "/dev/null",
                    "-e",
                    &trace,
                    "-e",
                    &inject,
                ];
                command = command.through(&through);
            }
            let run = command.run();
            let hits = war.hits.load(Ordering::Relaxed) - before;
            war.over.store(true, Ordering::Relaxed);
            (run, hits)
        });
        (run, hits, war.staying.into_inner().unwrap())
    }
}
