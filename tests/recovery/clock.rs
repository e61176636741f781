//! A clock that is wrong, or set in the middle: what came first is told by the chain, and a file is believed to be unchanged only by
//! what the clock cannot fool.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::build::Build;
use crate::support::compare::assert_same_tree;
use crate::support::machine::{run_tool, skip, tool};
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;
use crate::support::volume::Volume;

/// Where what tells a program another time lies.
const PLACES: [&str; 2] = [
    "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1",
    "/usr/lib/aarch64-linux-gnu/faketime/libfaketime.so.1",
];

/// Returns the library that tells a program another time; skips the test without it.
pub(crate) fn faketime() -> Option<&'static str> {
    let found = PLACES.into_iter().find(|place| Path::new(place).exists());
    if found.is_none() {
        skip("another clock", "libfaketime is not installed");
    }
    found
}

/// Sessions of which each has a clock of its own.
struct Clocks {
    sandbox: Sandbox,
    faketime: &'static str,
}

impl Clocks {
    fn new() -> Option<Self> {
        let faketime = faketime()?;
        let sandbox = Sandbox::new();
        Some(Self { sandbox, faketime })
    }

    /// A run whose clock is so far from ours, as in `+3y`; files keep the times that the kernel gives.
    fn at(&self, shift: &str, words: &[&str], project: &Path) -> crate::support::run::Run {
        let command = self.sandbox.command(words).inside(project);
        let command = command.with("LD_PRELOAD", self.faketime).with("FAKETIME", shift);
        command.with("NO_FAKE_STAT", "1").run()
    }

    fn launch(&self, shift: &str, project: &Path, script: &str) -> String {
        let words = ["launch", "--snapshot", "project", ".", "--", "sh", "-c", script];
        self.at(shift, &words, project).ok();
        self.latest()
    }

    fn latest(&self) -> String {
        let shown = self.sandbox.jackin(["show", "@latest", "--json"]).ok().json();
        shown["instance"]["id"].as_str().unwrap().to_owned()
    }
}

#[test]
fn sessions_stand_in_the_order_in_which_they_were_and_not_of_their_clocks() {
    let Some(clocks) = Clocks::new() else { return };
    let sandbox = &clocks.sandbox;
    let project = sandbox.project("project");
    Build::at(&project).file("a", "0\n").file("b", "0\n").aged();
    let mut trees = vec![Tree::read(&project)];
    let mut ids = Vec::new();
    for (number, shift) in ["+3y", "+0", "-2y", "+1d", "-40y"].iter().enumerate() {
        let script = format!("echo {number} > a; echo {number} > new-{number}");
        ids.push(clocks.launch(shift, &project, &script));
        trees.push(Tree::read(&project));
    }
    let listed = sandbox.jackin(["list", "--json"]).ok().json();
    let listed = listed["instances"].as_array().unwrap();
    let found: Vec<&str> = listed.iter().map(|one| one["id"].as_str().unwrap()).collect();
    let wanted: Vec<&str> = ids.iter().rev().map(String::as_str).collect();
    assert_eq!(found, wanted);
    // Ages are words for people, also of what is yet to come.
    sandbox
        .jackin(["list"])
        .ok()
        .shows("in 2 years")
        .shows("39 years ago");
    // Each is taken back in turn, from the last to the first, exactly.
    for (id, tree) in ids.iter().zip(&trees).rev() {
        sandbox.restore(id, &[]);
        assert_same_tree(tree, &Tree::read(&project));
    }
    // And the other way round, by a clock that goes backwards.
    for (shift, tree) in ["+1y", "-1y"].into_iter().zip([&trees[1], &trees[0]]) {
        clocks.at(shift, &["undo", &ids[0], "--yes"], &project).ok();
        assert_same_tree(tree, &Tree::read(&project));
    }
    sandbox.jackin(["verify", "--read-data"]).ok();
    sandbox.jackin(["log", "--verify"]).ok();
    sandbox.jackin(["rebuild"]).ok();
    assert_eq!(clocks.latest(), *ids.last().unwrap());
}

/// Beside another command a query decides whether anything is that old.
#[test]
fn sessions_and_checkpoints_go_after_their_days() {
    let Some(clocks) = Clocks::new() else { return };
    let sandbox = &clocks.sandbox;
    sandbox.configure(
        "config.toml",
        "[recovery.retention]\ndays = 30\ncheckpoint_days = 5\n",
    );
    let project = sandbox.project("project");
    Build::at(&project).file("a", "0\n").aged();
    let old = clocks.launch("-40d", &project, "echo 1 > a");
    clocks
        .at("-10d", &["begin", "--snapshot", "project", "."], &project)
        .ok();
    let young = clocks.latest();
    fs::write(project.join("a"), "2\n").unwrap();
    clocks
        .at("-10d", &["checkpoint", &young, "--name", "ten"], &project)
        .ok();
    clocks.at("-10d", &["end", &young], &project).ok();
    let kinds = |id: &str| -> Vec<String> {
        let shown = sandbox.jackin(["show", id, "--json"]).ok().json();
        let all = shown["instance"]["snapshots"].as_array().unwrap().iter();
        all.map(|row| row["kind"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(kinds(&old).len(), 2);
    assert_eq!(kinds(&young), ["closing", "checkpoint", "baseline"]);
    // Another one that ended today confirms the clock.
    clocks.launch("+0", &project, "true");
    clocks.launch("+0", &project, "true");
    assert_eq!(kinds(&old), [""; 0]);
    assert_eq!(kinds(&young), ["closing", "baseline"]);
}

#[test]
fn a_restore_that_is_older_than_its_session_by_the_clock_is_known_all_the_same() {
    let Some(clocks) = Clocks::new() else { return };
    let sandbox = &clocks.sandbox;
    let project = sandbox.project("project");
    Build::at(&project).file("a", "before\n").aged();
    let id = clocks.launch("+0", &project, "echo agent > a");
    clocks.at("-5y", &["restore", &id, "--yes"], &project).ok();
    sandbox
        .jackin(["undo", &id, "--dry-run"])
        .ok()
        .hides("begun here since");
    // What a restore left is no later edit.
    sandbox.restore(&id, &["--from", "closing"]);
    assert_eq!(fs::read_to_string(project.join("a")).unwrap(), "agent\n");
    clocks.launch("-10d", &project, "echo again > a");
    let shown = sandbox.command(["diff"]).inside(&project).run();
    shown.ok().hides("@2");
}

#[test]
fn sessions_that_lived_together_did_so_whatever_their_clocks_said() {
    for (first, second) in [("+1d", "+0"), ("+0", "+1d"), ("+0", "-1d"), ("-3y", "+3y")] {
        let Some(clocks) = Clocks::new() else { return };
        let sandbox = &clocks.sandbox;
        let project = sandbox.project("project");
        Build::at(&project)
            .file("a", "before\n")
            .file("mine", "before\n")
            .aged();
        clocks
            .at(first, &["begin", "--snapshot", "project", "."], &project)
            .ok();
        let outer = clocks.latest();
        fs::write(project.join("mine"), "outer\n").unwrap();
        clocks.launch(second, &project, "echo inner > a");
        clocks.at(second, &["end", &outer], &project).ok();
        // What the inner one did is in the outer one's closing snapshot too, and is no more its work for that.
        let run = clocks.at(second, &["restore", &outer, "--yes"], &project).code(6);
        run.shows("a:");
        assert_eq!(
            fs::read_to_string(project.join("a")).unwrap(),
            "inner\n",
            "{first}, {second}"
        );
        assert_eq!(
            fs::read_to_string(project.join("mine")).unwrap(),
            "before\n",
            "{first}, {second}"
        );
    }
}

/// The clock was ahead when a file was written, and was set back. A snapshot is taken, the clock comes to that moment again, and just
/// then the file is changed: everything that can be asked of it is as before.
#[test]
fn a_change_is_seen_though_the_clock_came_to_the_same_moment_again() {
    let sandbox = Sandbox::new();
    let disk = sandbox.sources().join("disk");
    if tool("debugfs").is_none() {
        return skip("a clock set back", "debugfs is not installed");
    }
    let Some(volume) = Volume::image(&disk, "ext4", 16 << 20, &["mkfs.ext4", "-q", "-I", "256"]) else {
        return;
    };
    let project = disk.join("project");
    Build::at(&project)
        .file("ahead", "before\n")
        .file("still", "still\n")
        .aged();
    let stat = |path: &str| {
        use std::os::unix::fs::MetadataExt as _;
        let found = fs::metadata(project.join(path)).unwrap();
        let times = [
            found.mtime(),
            found.mtime_nsec(),
            found.ctime(),
            found.ctime_nsec(),
        ];
        (found.ino(), found.size(), times)
    };
    // Both times, with their nanoseconds, in three years.
    let future = || {
        let fields = ["mtime", "ctime"].map(|field| {
            let set = format!("set_inode_field /project/ahead {field} @1890000000");
            format!("{set}\nset_inode_field /project/ahead {field}_extra 0\n")
        });
        let script = sandbox.scratch("script");
        fs::write(&script, fields.concat()).unwrap();
        volume.offline(|image| {
            let mut debugfs = Command::new("debugfs");
            run_tool(
                debugfs
                    .arg("-w")
                    .arg("-f")
                    .arg(&script)
                    .arg(image)
                    .stderr(Stdio::null()),
            );
        });
    };
    future();
    let facts = stat("ahead");
    assert_eq!(facts.2, [1_890_000_000, 0, 1_890_000_000, 0]);
    let before = Tree::read(&project);
    let id = sandbox.begin(&project);
    fs::write(project.join("ahead"), "after!\n").unwrap();
    future();
    assert_eq!(stat("ahead"), facts, "the file can be told apart by its facts");
    sandbox.jackin(["end", &id]).ok();
    sandbox.diff(&id, &[]).are(&[("modified", "ahead")]);
    sandbox.restore(&id, &[]);
    assert_same_tree(&before, &Tree::read(&project));
}

#[test]
fn a_clock_that_jumps_ahead_makes_nothing_old_until_a_second_session_saw_it() {
    let Some(clocks) = Clocks::new() else { return };
    let sandbox = &clocks.sandbox;
    let project = sandbox.project("project");
    Build::at(&project).file("a", "0\n").aged();
    let first = clocks.launch("+0", &project, "echo 1 > a");
    let second = clocks.launch("+1h", &project, "echo 2 > a");
    let kept = |id: &str| {
        let shown = sandbox.jackin(["show", id, "--json"]).ok().json();
        shown["instance"]["snapshots"].as_array().unwrap().len()
    };
    clocks.launch("+1y", &project, "echo 3 > a");
    assert_eq!((kept(&first), kept(&second)), (2, 2));
    // By now a year has really passed, as far as anybody can tell.
    clocks.launch("+1y", &project, "echo 4 > a");
    assert_eq!((kept(&first), kept(&second)), (0, 0));
    sandbox.jackin(["verify", "--read-data"]).ok();
}
