//! kill -9 at every step of a restore, and of what takes it up: afterwards `resume` gives the new tree and `abort` the old one,
//! exactly, and until then every command says that one waits.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::support::build::Build;
use crate::support::compare::{Exactness, assert_same_tree, differences};
use crate::support::machine::{is_nightly, is_root, skip};
use crate::support::rows::rows;
use crate::support::run::Run;
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

/// Dies where the program's own points of a restore say.
const VARIABLE: &str = "JACKIN_RECOVERY_FAIL_AT";

/// A session that did a bit of everything, and the trees before and after it.
struct Wreck {
    sandbox: Sandbox,
    project: PathBuf,
    id: String,
    before: Tree,
    wrecked: Tree,
    /// Flags of `restore`.
    flags: &'static [&'static str],
}

/// Files that a merge changes.
const MERGED: [&str; 9] = ["a/1", "a/2", "a/3", "a/4", "a/5", "a/6", "a/7", "a/8", "three"];

const DAMAGE: &str = "
    echo more >> a/one; rm -rf gone a/deep; echo file > a/deep; mkdir -p made/in; echo new > made/in/new
    rm swapped; mkdir swapped; echo inside > swapped/file; chmod 600 mode; chmod 700 shut; rm a/link; ln -s two a/link
    : > big; rm a/hard; echo single > a/hard; mv old-name new-name; chmod 500 locked; rm 'odd
name'";

impl Wreck {
    fn new(sandbox: Sandbox) -> Self {
        Self::with(sandbox, 0)
    }

    /// With so many files more that the session wrote to.
    fn with(sandbox: Sandbox, many: u32) -> Self {
        let project = sandbox.project("wreck");
        for n in 0..many {
            Build::at(&project).file(format!("many/{n}"), format!("before {n}\n"));
        }
        Build::at(&project)
            .file("a/one", "one\n")
            .file("a/deep/two", "two\n")
            .hard_link("a/hard", "a/one")
            .symlink("a/link", "one")
            .file("gone/in/file", "gone\n")
            .file("mode", "m\n")
            .mode("mode", 0o644)
            .file("swapped", "a file\n")
            .dir("shut")
            .mode("shut", 0o755)
            .dir("locked")
            .mode("locked", 0o755)
            .file("old-name", "moved\n")
            .file("odd\nname", "odd\n")
            .big("big", 300_000)
            .file("still", "still\n")
            .aged();
        sandbox.give(&project);
        let before = Tree::read(&project);
        let damage = format!("{DAMAGE}\nfor f in many/*; do [ ! -e $f ] || echo agent > $f; done");
        let id = sandbox.launch(&project, &damage);
        let wrecked = Tree::read(&project);
        Self {
            sandbox,
            project,
            id,
            before,
            wrecked,
            flags: &[],
        }
    }

    /// With later edits, which a restore merges.
    fn merged() -> Self {
        let sandbox = Sandbox::new();
        let project = sandbox.project("merged");
        let build = Build::at(&project);
        let text = |first: &str, last: &str| format!("{first}\n2\n3\n4\n5\n6\n7\n8\n{last}\n");
        for path in MERGED {
            build.file(path, text("1", "9"));
        }
        build.file("gone", "gone\n").aged();
        let id = sandbox.launch(
            &project,
            "sed -i 's/^1$/agent/' a/* three; rm gone; echo new > a/new; chmod 600 three",
        );
        for path in MERGED {
            // In place: the mode stays that of the session.
            std::fs::write(project.join(path), text("agent", "mine")).unwrap();
        }
        let wrecked = Tree::read(&project);
        let flags = &["--merge"];
        sandbox.restore(&id, flags);
        let before = Tree::read(&project);
        for path in MERGED {
            assert_eq!(
                std::fs::read_to_string(project.join(path)).unwrap(),
                text("1", "mine")
            );
        }
        sandbox.undo(&id);
        assert_same_tree(&wrecked, &Tree::read(&project));
        let wrecked = Tree::read(&project);
        Self {
            sandbox,
            project,
            id,
            before,
            wrecked,
            flags,
        }
    }

    fn run(&self, args: &[&str]) -> Run {
        self.sandbox.jackin(args)
    }

    /// Runs a verb that dies at `point`; `None` when it did not get there.
    fn killed(&self, verb: &str, point: &str) -> Option<()> {
        let flags = if verb == "restore" { self.flags } else { &[] };
        let run = self
            .sandbox
            .command([verb, &self.id, "--yes"].iter().chain(flags))
            .with(VARIABLE, point)
            .run();
        match run.exit() {
            None => Some(()),
            Some(0) => None,
            Some(code) => panic!("{point}: {code}\n{run}"),
        }
    }

    /// Returns true if a restore waits.
    #[track_caller]
    fn waits(&self, about: &str) -> bool {
        let plan = self.run(&[&["restore", &self.id, "--dry-run"], self.flags].concat());
        let waits = plan.exit() == Some(8);
        assert!(waits || plan.exit() == Some(0), "{about}\n{plan}");
        waits
    }

    /// Insists that every command says whether a restore waits.
    #[track_caller]
    fn is_said(&self, waits: bool, about: &str) {
        for verb in ["list", "show", "diff", "log"] {
            let args: Vec<&str> = [verb]
                .into_iter()
                .chain((verb != "list" && verb != "log").then_some(self.id.as_str()))
                .collect();
            let said = self.run(&args).ok().text();
            assert_eq!(said.contains("was interrupted"), waits, "{about}: {verb}\n{said}");
        }
        let shown = self.run(&["show", &self.id, "--json"]).ok().json();
        assert_eq!(shown["instance"]["restore_waits"], waits, "{about}: {shown}");
    }

    #[track_caller]
    fn is_new(&self, about: &str) {
        let lines = differences(&self.before, &Tree::read(&self.project), Exactness::Content);
        assert!(
            lines.is_empty(),
            "{about}: not the new tree\n{}",
            lines.join("\n")
        );
        self.is_clean(about);
    }

    /// The old tree: the same objects with the same times.
    #[track_caller]
    fn is_old(&self, about: &str) {
        let lines = differences(&self.wrecked, &Tree::read(&self.project), Exactness::Identity);
        assert!(
            lines.is_empty(),
            "{about}: not the old tree\n{}",
            lines.join("\n")
        );
        self.is_clean(about);
    }

    #[track_caller]
    fn is_clean(&self, about: &str) {
        self.sandbox.no_litter();
        // One without an intent was only being made: the next command that writes sweeps it.
        let papers = std::fs::read_dir(self.sandbox.store().join("restores")).unwrap();
        let left = papers.filter(|entry| entry.as_ref().unwrap().path().join("intent").exists());
        assert_eq!(left.count(), 0, "{about}: papers are left");
        self.run(&["log", "--verify"]).ok();
    }
}

/// Where a restore was killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moment {
    Before,
    Middle,
    After,
}

/// Kills restores at one point after the other, and looks at each what `how` makes of it; `how` is killed at a point too.
fn at_every_point(wreck: Wreck, how: &str) {
    at_points(wreck, how, 1);
}

/// The same for what passes the same points as another restore: by day it is killed at every third of them.
fn at_many_points(wreck: Wreck, how: &str) {
    at_points(wreck, how, if is_nightly() { 1 } else { 3 });
}

fn at_points(mut wreck: Wreck, how: &str, every: usize) {
    let mut seen = Vec::new();
    for n in (1..).step_by(every) {
        if wreck.killed("restore", &format!("any:{n}")).is_none() {
            break;
        }
        let about = format!("killed at {n}");
        let waits = wreck.waits(&about);
        // The same kills come before each `abort` and each `resume`, and leave the same states: what commands print of them is read once.
        if how == "abort" || is_nightly() {
            wreck.is_said(waits, &about);
        }
        let is_proposed = wreck.run(&["list"]).ok().text().contains("recovery resume");
        let same = differences(&wreck.wrecked, &Tree::read(&wreck.project), Exactness::Content).is_empty();
        let moment = match (waits, same) {
            (true, _) => Moment::Middle,
            (false, true) => Moment::Before,
            (false, false) => Moment::After,
        };
        seen.push(moment);
        let about = format!("{how} after a restore killed at {n} ({moment:?})");
        if moment == Moment::Middle {
            // It may be done before it gets there.
            let _ = wreck.killed(how, &format!("any:{}", n % 11 + 1));
        }
        let run = wreck.run(&[how, &wreck.id, "--yes"]).code_in(&[0, 5]);
        match (how, moment) {
            ("abort", Moment::Before | Moment::Middle) => wreck.is_old(&about),
            _ => {
                let must = match moment {
                    Moment::Before => true,
                    Moment::Middle => false,
                    Moment::After => how == "resume" && is_proposed,
                };
                assert!(run.exit() == Some(0) || !must, "{about}\n{run}");
                wreck.is_new(&about);
                // The agent's tree again, as other objects.
                wreck.run(&["undo", &wreck.id, "--yes"]).ok();
                wreck.wrecked = {
                    let now = Tree::read(&wreck.project);
                    assert_same_tree(&wreck.wrecked, &now);
                    now
                };
            }
        }
    }
    wreck.is_new("at last");
    let count = |wanted| seen.iter().filter(|moment| **moment == wanted).count();
    let counts = [Moment::Before, Moment::Middle, Moment::After].map(count);
    let least = [3, 15, 4].map(|least: usize| least.div_ceil(every));
    assert!(
        counts.iter().zip(least).all(|(count, least)| *count >= least),
        "{counts:?}"
    );
}

rows! {
    at_every_point:
    s29_killed_at_every_point_and_taken_back(Wreck::new(Sandbox::new()), "abort");
    s29_killed_at_every_point_and_finished(Wreck::new(Sandbox::new()), "resume");
}

rows! {
    at_many_points:
    s29_a_merge_killed_at_every_point_and_taken_back(Wreck::merged(), "abort");
    // The answer to a merge is its intent: `resume` needs no flags.
    s29_a_merge_killed_at_every_point_and_finished(Wreck::merged(), "resume");
}

#[test]
fn s29_killed_at_every_point_as_an_ordinary_user() {
    if !is_root() {
        return skip("an ordinary user", "the other tests ran as one");
    }
    let Some(sandbox) = Sandbox::unprivileged() else {
        return skip("an ordinary user", "setpriv or the binary is out of reach");
    };
    at_many_points(Wreck::new(sandbox), "abort");
}

#[test]
fn s29_an_abort_killed_behind_its_clearing_up_misses_nothing() {
    let wreck = Wreck::new(Sandbox::new());
    assert!(wreck.killed("restore", "moved").is_some());
    assert!(wreck.killed("abort", "abort-settled").is_some());
    let run = wreck.run(&["abort", &wreck.id, "--yes"]).ok();
    assert!(!run.text().contains("is gone"), "{run}");
    wreck.is_old("the second abort");
}

/// Kills a restore at `point`, then `first` at one point after the other, and takes up what that leaves with the other verb:
/// whichever decided, its tree is there.
fn first_the_one_then_the_other(point: &str, first: &str, then: &str) {
    let mut wreck = Wreck::new(Sandbox::new());
    let mut turned = 0;
    for n in 1.. {
        assert!(wreck.killed("restore", point).is_some(), "{point}");
        let died = wreck.killed(first, &format!("any:{n}")).is_some();
        let about = format!("{first} killed at {n}, then {then}");
        let waits = wreck.run(&["restore", &wreck.id, "--dry-run"]).exit() == Some(8);
        let run = wreck.run(&[then, &wreck.id, "--yes"]).code_in(&[0, 5]);
        turned += u32::from(waits);
        assert!(!waits || run.exit() == Some(0), "{about}: {run}");
        // Who was alone, or came last before all was decided, has it.
        if (waits && then == "abort") || (!waits && first == "abort") {
            let lines = differences(&wreck.wrecked, &Tree::read(&wreck.project), Exactness::Identity);
            assert!(
                lines.is_empty(),
                "{about}: not the old tree\n{}",
                lines.join("\n")
            );
            wreck.is_clean(&about);
        } else {
            wreck.is_new(&about);
            wreck.run(&["undo", &wreck.id, "--yes"]).ok();
            let now = Tree::read(&wreck.project);
            assert_same_tree(&wreck.wrecked, &now);
            wreck.wrecked = now;
        }
        if !died {
            break;
        }
    }
    assert!(turned > 10, "{first}, then {then}: only {turned} turned round");
}

rows! {
    first_the_one_then_the_other:
    s29_taking_back_that_is_killed_can_be_turned_round("moved", "abort", "resume");
    s29_finishing_that_is_killed_can_be_turned_round("journaled", "resume", "abort");
}

/// How many random moments are tried; `JACKIN_KILLS` asks for more or fewer.
fn kills() -> u32 {
    let wanted = std::env::var("JACKIN_KILLS").ok();
    let usual = if is_nightly() { 40 } else { 4 };
    wanted.and_then(|wanted| wanted.parse().ok()).unwrap_or(usual)
}

#[test]
fn s29_killed_at_random_moments() {
    let mut wreck = Wreck::with(Sandbox::new(), 400);
    // From outside, whatever the program is doing just then. The first one stores more than those that follow.
    let mut takes = Duration::ZERO;
    for _ in 0..2 {
        let begun = Instant::now();
        wreck.run(&["restore", &wreck.id, "--yes"]).ok();
        takes = begun.elapsed();
        wreck.run(&["undo", &wreck.id, "--yes"]).ok();
    }
    wreck.wrecked = Tree::read(&wreck.project);
    let (mut moments, mut seed) = ([0_u32; 3], 0x9e37_79b9_u32);
    for n in 0..kills() {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let mut restore = wreck.sandbox.command(["restore", &wreck.id, "--yes"]).start();
        std::thread::sleep(takes.mul_f64(f64::from(seed >> 8) / f64::from(1 << 24)));
        restore.child.kill().unwrap();
        restore.child.wait().unwrap();
        let waits = wreck.run(&["restore", &wreck.id, "--dry-run"]).exit() == Some(8);
        let same = differences(&wreck.wrecked, &Tree::read(&wreck.project), Exactness::Content).is_empty();
        let how = if n % 2 == 0 { "abort" } else { "resume" };
        let about = format!("{how} after kill {n}");
        wreck.run(&[how, &wreck.id, "--yes"]).code_in(&[0, 5]);
        let now = Tree::read(&wreck.project);
        let is_old = differences(&wreck.wrecked, &now, Exactness::Content).is_empty();
        let moment = match (waits, same) {
            (true, _) => 1,
            (false, true) => 0,
            (false, false) => 2,
        };
        moments[moment] += 1;
        if is_old {
            assert!(moment == 0 || how == "abort", "{about}: not the new tree");
            wreck.is_old(&about);
        } else {
            assert!(moment != 1 || how == "resume", "{about}: not the old tree");
            wreck.is_new(&about);
            wreck.run(&["undo", &wreck.id, "--yes"]).ok();
            let now = Tree::read(&wreck.project);
            assert_same_tree(&wreck.wrecked, &now);
            wreck.wrecked = now;
        }
    }
    eprintln!("killed before, in the middle, behind: {moments:?}");
}

#[test]
fn an_interrupted_restore_is_reported_once() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("told");
    Build::at(&project).file("a", "before\n").aged();
    let id = sandbox.launch(&project, "echo agent > a");
    let restore = sandbox.command(["restore", &id, "--yes"]);
    restore.with("JACKIN_RECOVERY_FAIL_AT", "moved").run();
    for words in [&["list"][..], &["show"], &["diff"], &["find", "a"]] {
        let run = sandbox.command(words).inside(&project).run();
        let said = String::from_utf8_lossy(&run.stderr).into_owned();
        for once in ["was interrupted", "to finish it", "to roll it back"] {
            assert_eq!(said.matches(once).count(), 1, "{once}\n{run}");
        }
    }
}
