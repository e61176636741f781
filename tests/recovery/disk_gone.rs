//! The disk goes away in the middle: it turns read-only, or the power is cut and only what was synced is there at the next boot.
//! Of the store, of the mount, of both. Afterwards the tree is the old or the new one, and nothing that was acknowledged is lost.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::support::compare::{Exactness, assert_same_tree, differences};
use crate::support::invocation::{Invocation, Started};
use crate::support::kill::{Dice, Tally, Verdict, appears, fill, timed};
use crate::support::machine::{skip, tool};
use crate::support::rows::rows;
use crate::support::run::Run;
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;
use crate::support::volume::Volume;

/// What lies on the disk that goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum On {
    Store,
    Mount,
    Both,
}

const ALL: [On; 3] = [On::Store, On::Mount, On::Both];

/// How it may be said that the disk is not there any more.
const REASONS: [&str; 5] = [
    "Read-only file system",
    "readonly database",
    "Input/output error",
    "disk I/O error",
    "Structure needs cleaning",
];

const DAMAGE: &str = "
    for f in many/[0-2]/*; do echo agent > $f; done; rm -r many/3; mkdir -p new/in; for n in 1 2 3 4 5 6; do echo $n > new/in/$n; done
    echo short > big; chmod 600 mode; rm hard link; ln -s elsewhere link; mv many/4 moved; rmdir empty; echo file > empty";

struct Scene {
    sandbox: Sandbox,
    project: PathBuf,
    disk: PathBuf,
    on: On,
    id: String,
    good: Tree,
    bad: Tree,
    is_bad: bool,
    takes: Duration,
    moves: Duration,
    volume: Volume,
}

impl Scene {
    fn new(on: On, mount: impl Fn(&Path) -> Option<Volume>) -> Option<Self> {
        let sandbox = Sandbox::new();
        let disk = sandbox.sources().join("disk");
        let volume = mount(&disk)?;
        let project = match on {
            On::Store => sandbox.project("project"),
            On::Mount | On::Both => disk.join("project"),
        };
        fill(&project, 60);
        let mut scene = Self {
            good: Tree::read(&project),
            bad: Tree::read(&project),
            sandbox,
            project,
            disk,
            on,
            id: String::new(),
            is_bad: true,
            takes: Duration::ZERO,
            moves: Duration::ZERO,
            volume,
        };
        scene
            .run(&["launch", "--snapshot", "project", ".", "--", "sh", "-c", DAMAGE])
            .ok();
        let list = scene.run(&["list", "--json"]).ok().json();
        list["instances"][0]["id"]
            .as_str()
            .unwrap()
            .clone_into(&mut scene.id);
        scene.bad = scene.tree();
        for verb in ["restore", "undo"] {
            let id = scene.id.clone();
            (scene.takes, scene.moves) = timed(scene.command(&[verb, &id, "--yes"]), &scene.store());
        }
        Some(scene)
    }

    fn command(&self, words: &[&str]) -> Invocation<'_> {
        let command = self.sandbox.command(words).inside(&self.project);
        match self.on {
            On::Mount => command,
            On::Store | On::Both => command.with("JACKIN_HOME_DIR", self.disk.join("home")),
        }
    }

    fn run(&self, words: &[&str]) -> Run {
        self.command(words).run()
    }

    fn tree(&self) -> Tree {
        Tree::read(&self.project)
    }

    fn store(&self) -> PathBuf {
        match self.on {
            On::Mount => self.sandbox.store(),
            On::Store | On::Both => self.disk.join("home/data/recovery"),
        }
    }

    /// Starts a verb and stops it at a random moment; half of the time while paths are moved.
    fn halted(&self, verb: &str, dice: &mut Dice, tally: &Tally) -> (Started, Pid, Duration) {
        let started = self.command(&[verb, &self.id, "--yes"]).start();
        let pid = i32::try_from(started.child.id())
            .ok()
            .and_then(Pid::from_raw)
            .unwrap();
        let after = if dice.below(2) == 0 {
            tally.moment(dice, self.takes)
        } else {
            appears(&self.store(), "journal");
            tally.moment(dice, self.moves)
        };
        std::thread::sleep(after);
        kill_process(pid, Signal::STOP).unwrap();
        (started, pid, after)
    }

    fn waits(&self) -> bool {
        let plan = self.run(&["restore", &self.id, "--dry-run"]).code_in(&[0, 8]);
        plan.exit() == Some(8)
    }

    /// After the next boot: what was listed is listed, the tree can be had whole, and it is the old or the new one.
    fn recovered(&mut self, tally: &mut Tally, dice: &mut Dice, done: bool, about: &str) {
        self.run(&["verify", "--read-data"]).ok();
        self.run(&["log", "--verify"]).ok();
        let (old, new) = (self.current(true), self.current(false));
        let waits = self.waits();
        if waits {
            tally.midway();
        }
        assert!(!waits || !done, "{about}: it was done and waits");
        let how = ["resume", "abort"][usize::try_from(dice.below(2)).unwrap()];
        let run = self.run(&[how, &self.id, "--yes"]).code_in(&[0, 5]);
        assert!(!waits || run.exit() == Some(0), "{about}\n{run}");
        let now = self.tree();
        let verdict = Verdict::of(old, new, &now);
        tally.judge(&verdict, about);
        let is_new = verdict.new > 0;
        if waits {
            assert_eq!(is_new, how == "resume", "{about}: {how}");
        }
        assert!(is_new || !done, "{about}: it had said that it was done");
        let wanted = if is_new { new } else { old };
        let lines = differences(wanted, &now, Exactness::Content);
        assert!(lines.is_empty(), "{about}: {lines:?}");
        if is_new {
            self.is_bad = !self.is_bad;
        }
        for entry in std::fs::read_dir(self.project.parent().unwrap())
            .unwrap()
            .flatten()
        {
            let name = entry.file_name().to_string_lossy().into_owned();
            assert!(
                !name.starts_with(".jackin-recovery-"),
                "{about}: {name} is left\n{run}"
            );
        }
    }

    /// The tree before the verb that comes next, or the one after it.
    fn current(&self, before: bool) -> &Tree {
        if before == self.is_bad {
            &self.bad
        } else {
            &self.good
        }
    }

    fn next_verb(&self) -> &'static str {
        if self.is_bad { "restore" } else { "undo" }
    }
}

fn rounds() -> u32 {
    crate::support::kill::wanted().div_ceil(8)
}

/// The kernel finds an error in the file system, or somebody remounts it.
#[test]
fn read_only_in_the_middle() {
    let mut tally = Tally::of("read-only");
    let mut dice = Dice::new(41);
    let (mut refused, mut forced) = (0, 0);
    for on in ALL {
        let Some(mut scene) = Scene::new(on, |at| Volume::careful(at, 48 << 20)) else {
            return;
        };
        for round in 0..rounds() {
            let verb = scene.next_verb();
            let (started, pid, after) = scene.halted(verb, &mut dice, &tally);
            let about = format!("{verb} {round} with a read-only {on:?} after {after:?}");
            let gently = scene.volume.try_read_only();
            if !gently && !scene.volume.fail() {
                kill_process(pid, Signal::CONT).unwrap();
                started.finish().ok();
                return skip(
                    "read-only in the middle",
                    "the kernel offers no way to fail a file system",
                );
            }
            forced += u32::from(!gently);
            kill_process(pid, Signal::CONT).unwrap();
            let run = started.finish();
            tally.kill(run.exit() != Some(0));
            if run.exit() != Some(0) {
                refused += 1;
                run.names(&[1, 6, 8], &REASONS, &scene.disk, &about);
                // Looking needs no place to write.
                scene.run(&["list"]).ok();
                scene.run(&["show", &scene.id]).ok();
            }
            if gently {
                scene.volume.writable();
            } else {
                scene.volume.again();
            }
            let done = run.exit() == Some(0);
            scene.recovered(&mut tally, &mut dice, done, &about);
        }
    }
    eprintln!("{forced} by an error in the file system, the others by a remount; {refused} were refused");
    tally.done();
    assert!(refused > 0, "it was always faster");
}

/// The power goes: the file system forgets all that was not synced, and is mounted anew.
fn power_cut(kind: &'static str, verb: &'static str, make: &[&str], bytes: u64) {
    if tool("xfs_io").is_none() {
        return skip("power cuts", "xfs_io is not installed");
    }
    let mut tally = Tally::of(verb);
    let mut dice = Dice::new(42);
    for on in ALL {
        let Some(mut scene) = Scene::new(on, |at| Volume::image(at, kind, bytes, make)) else {
            return;
        };
        for round in 0..rounds() {
            handle_fs::sync_file_system(std::fs::File::open(&scene.disk).unwrap()).unwrap();
            let verb = scene.next_verb();
            let (mut started, pid, after) = scene.halted(verb, &mut dice, &tally);
            let about = format!("{verb} {round}: the power of the {on:?} cut after {after:?}");
            let done = started.child.try_wait().unwrap().is_some();
            assert!(scene.volume.cut(), "{about}: it cannot be cut");
            if on == On::Both {
                let _ = kill_process(pid, Signal::KILL);
            } else {
                // The other disk is there still, so it hears of it.
                let _ = kill_process(pid, Signal::CONT);
            }
            let run = started.finish();
            tally.kill(!done);
            let done = done && run.exit() == Some(0);
            scene.volume.again();
            scene.recovered(&mut tally, &mut dice, done, &about);
        }
        if scene.is_bad {
            scene.run(&["restore", &scene.id, "--yes"]).ok();
        }
        assert_same_tree(&scene.good, &scene.tree());
    }
    tally.done();
}

rows! {
    power_cut:
    power_cut_on_ext4("ext4", "power cut, ext4", &["mkfs.ext4", "-q", "-m0"], 48 << 20);
    power_cut_on_xfs("xfs", "power cut, xfs", &["mkfs.xfs", "-q"], 320 << 20);
}
