//! Captures of what is large, unchanged, in motion, or fails: what a snapshot says is what was there.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, kill_process};

use crate::support::build::Build;
use crate::support::documents::instances;
use crate::support::machine::{SmallDisk, is_nightly, skip};
use crate::support::process::lives;
use crate::support::real_tree;
use crate::support::run::Run;
use crate::support::sandbox::Sandbox;
use crate::support::stop::{catches, interrupt};
use crate::support::tree::Tree;

/// Begins a session on `project` and gives its id.
fn begin(sandbox: &Sandbox, project: &Path) -> String {
    let run = sandbox
        .jackin([
            "begin",
            "--snapshot",
            "project",
            "--json",
            project.to_str().unwrap(),
        ])
        .ok();
    run.json()["instance"].as_str().unwrap().to_owned()
}

/// Bytes that the store takes, as written.
fn store_bytes(sandbox: &Sandbox) -> u64 {
    let files = walkdir::WalkDir::new(sandbox.store())
        .into_iter()
        .map(Result::unwrap);
    files
        .filter(|entry| entry.file_type().is_file())
        .map(|entry| entry.metadata().unwrap().len())
        .sum()
}

/// What grew by how much, the smallest of a few times: the catalog grows by pages, every few snapshots.
fn growth(sandbox: &Sandbox, mut step: impl FnMut()) -> u64 {
    let mut once = || {
        let before = store_bytes(sandbox);
        step();
        store_bytes(sandbox) - before
    };
    (0..3).map(|_| once()).min().unwrap()
}

/// Ten directories of so many entries: links to a few files, because names are what is counted here.
fn large_tree(root: &Path, entries: usize) {
    let build = Build::at(root);
    for top in 0..10 {
        build.file(format!("d{top}/f00000"), format!("content {top}\n"));
        let directory = root.join(format!("d{top}"));
        let first = directory.join("f00000");
        for number in 1..entries {
            fs::hard_link(&first, directory.join(format!("f{number:05}"))).unwrap();
        }
    }
}

/// 300,000 entries at night, otherwise 30,000.
#[test]
fn s38_very_many_entries_and_an_interrupt() {
    let (entries, waits) = if is_nightly() {
        (30_000, [40, 200, 700])
    } else {
        (3_000, [1, 20, 70])
    };
    let sandbox = Sandbox::new();
    let project = sandbox.project("huge");
    large_tree(&project, entries);
    // Stopped a few times, at moments that are spread over the capture.
    let mut stopped = 0;
    for wait in waits {
        let begun = sandbox
            .command(["begin", "--snapshot", "project", project.to_str().unwrap()])
            .start();
        // On a busy machine it takes a while until it listens at all.
        let listens = || catches(begun.child.id(), interrupt());
        while !listens() && lives(begun.child.id()) {
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_millis(wait));
        let pid = Pid::from_raw(i32::try_from(begun.child.id()).unwrap()).unwrap();
        kill_process(pid, interrupt()).unwrap();
        let asked = Instant::now();
        let run = begun.finish();
        assert!(asked.elapsed() < Duration::from_secs(30), "{run}");
        if run.exit() != Some(0) {
            assert!(run.text().contains("interrupted"), "{run}");
            stopped += 1;
        }
    }
    assert!(stopped > 0, "it was always faster");
    let all = instances(&sandbox.jackin(["list", "--json"]).ok());
    let taken = all.iter().flat_map(|instance| &instance.snapshots).count();
    assert_eq!(taken + stopped, 3);
    sandbox.no_litter();

    let limit = 600 << 10;
    let through = ["sh", "-c", "ulimit -v $0; exec \"$@\"", &limit.to_string()].map(str::to_owned);
    let run = sandbox
        .command([
            "begin",
            "--snapshot",
            "project",
            "--json",
            project.to_str().unwrap(),
        ])
        .through(&through)
        .run()
        .ok();
    let id = serde_json::from_slice::<serde_json::Value>(&run.stdout).unwrap()["instance"].clone();
    let id = id.as_str().unwrap();
    let all = instances(&sandbox.jackin(["list", "--json"]).ok());
    let baseline = all
        .iter()
        .find(|instance| instance.id == id)
        .unwrap()
        .snapshot("baseline");
    assert_eq!(
        (baseline.entries, baseline.complete),
        (10 * entries as u64 + 10, true)
    );
}

#[test]
fn s39_an_unchanged_tree_costs_a_record() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("same");
    real_tree::copy_to(&project);
    std::thread::sleep(Duration::from_millis(50));
    let id = begin(&sandbox, &project);
    let first = store_bytes(&sandbox);
    assert!(first > 1 << 20, "{first} bytes are no real tree");
    let same = growth(&sandbox, || drop(sandbox.jackin(["checkpoint", &id]).ok()));
    assert!(same < 4 << 10, "an unchanged tree costs {same} bytes");
    let mut number = 0;
    let changed = growth(&sandbox, || {
        number += 1;
        fs::write(project.join("changed.txt"), format!("the {number}. time\n")).unwrap();
        drop(sandbox.jackin(["checkpoint", &id]).ok());
    });
    assert!(changed < 100 << 10, "one changed file costs {changed} bytes");
    sandbox.no_litter();
}

#[test]
fn s39_killed_captures_leave_no_litter() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("killed");
    Build::at(&project).big("big", 512 << 20).file("a", "a\n").aged();
    let id = begin(&sandbox, &sandbox.project("other"));
    for wait in [30, 60, 120] {
        let mut begun = sandbox
            .command(["begin", "--snapshot", "project", project.to_str().unwrap()])
            .start();
        std::thread::sleep(Duration::from_millis(wait));
        begun.child.kill().unwrap();
        begun.child.wait().unwrap();
    }
    // The next command that writes sweeps what they left.
    sandbox.jackin(["end", &id]).ok();
    sandbox.no_litter();
    let names = |directory: &str| -> Vec<String> {
        let entries = fs::read_dir(sandbox.store().join(directory)).unwrap().flatten();
        entries
            .map(|entry| entry.file_name().into_string().unwrap())
            .collect()
    };
    assert!(names("tmp").is_empty());
    let records = names("snapshots");
    for archive in names("archives") {
        let letters = archive.strip_prefix("ar-").unwrap().split('.').next().unwrap();
        assert!(
            records.contains(&format!("sn-{letters}.json")),
            "{archive} belongs to nothing"
        );
    }
}

#[test]
fn s40_a_failed_capture_is_no_snapshot_and_hides_none() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("failing");
    Build::at(&project).file("a", "before\n").aged();
    let id = begin(&sandbox, &project);
    fs::write(project.join("a"), "agent\n").unwrap();
    // What cannot be written: no file may grow.
    let small = ["sh", "-c", "trap '' XFSZ; ulimit -f 0; exec \"$0\" \"$@\""];
    let run = sandbox.command(["checkpoint", &id]).through(&small).run();
    assert_ne!(run.exit(), Some(0), "{run}");
    let snapshots = |run: &Run| -> Vec<String> {
        let all = instances(run);
        let mine = all.iter().find(|instance| instance.id == id).unwrap();
        mine.snapshots
            .iter()
            .map(|snapshot| snapshot.kind.clone())
            .collect()
    };
    assert_eq!(snapshots(&sandbox.jackin(["list", "--json"]).ok()), ["baseline"]);
    sandbox.no_litter();
    // The next one succeeds and shows what is there now, not what was there then.
    sandbox.jackin(["checkpoint", &id, "--name", "later"]).ok();
    let to = sandbox.scratch("to");
    sandbox.jackin(["end", &id]).ok();
    let args = [
        "restore",
        &id,
        "--from",
        "later",
        "--to",
        to.to_str().unwrap(),
        "--yes",
    ];
    sandbox.jackin(args).ok();
    assert_eq!(fs::read_to_string(to.join("a")).unwrap(), "agent\n");
}

#[test]
fn what_might_not_fit_is_refused_before_a_byte_is_written() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("wide");
    Build::at(&project)
        .big("assets/film", 24 << 20)
        .file("a", "a\n")
        .aged();
    // Not where holes cost as much as data.
    if !crate::support::machine::is_portable(crate::support::machine::NO_HOLES) {
        Build::at(&project).sparse("hole", 1 << 40, &[]).aged();
    }
    let Some(_disk) = SmallDisk::mount(&sandbox.home().join(".jackin"), 16 << 20) else {
        return skip("a store on a small disk", "nothing can be mounted here");
    };
    let begin = [
        "begin",
        "--json",
        "--snapshot",
        "project",
        project.to_str().unwrap(),
    ];
    let run = sandbox.jackin(begin).refused();
    assert_eq!(run.error()["kind"], "limit-exceeded", "{run}");
    let text = run.said();
    assert!(
        text.contains("assets/ has 24") || text.contains("assets has 24"),
        "{run}"
    );
    assert!(text.contains("--exclude '/assets/'"), "{run}");
    sandbox.no_litter();
    let more = begin.into_iter().chain(["--exclude", "/assets/"]);
    let begun = sandbox.jackin(more).ok().json();
    // What comes later is measured as well.
    Build::at(&project).big("b", 24 << 20);
    let id = begun["instance"].as_str().unwrap();
    let run = sandbox.jackin(["checkpoint", id, "--json"]).refused();
    assert_eq!(run.error()["kind"], "limit-exceeded", "{run}");
}

/// What the n-th version of a file holds; its length depends on the number, so no mixture of two looks like a third.
fn version(number: u32) -> Vec<u8> {
    let line = format!("{number:08}\n").into_bytes();
    line.repeat(64 + usize::try_from(number % 97).unwrap() * 8)
}

/// Whether the bytes are one version that existed: nothing, a whole version, or a log that ends behind a line.
fn is_one_version(name: &str, bytes: &[u8]) -> bool {
    let text = std::str::from_utf8(bytes).unwrap();
    if name.starts_with("log") {
        let numbers = text.lines().map(|line| line.parse::<u64>().unwrap());
        return (text.is_empty() || text.ends_with('\n'))
            && numbers.zip(0..).all(|(line, number)| line == number);
    }
    match text.lines().next() {
        None => true,
        Some(line) => bytes == version(line.parse().unwrap()),
    }
}

/// Changes everything all the time: appends to a log, rewrites in place, replaces by rename, deletes and makes again.
fn meddle(root: &Path, stop: &AtomicBool) {
    let mut log = fs::OpenOptions::new()
        .append(true)
        .create(true)
        .open(root.join("log"))
        .unwrap();
    for number in 0.. {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        writeln!(log, "{number}").unwrap();
        let content = version(number);
        let at = |name: &str| root.join(format!("{name}{}", number % 7));
        fs::write(at("new"), &content).unwrap();
        fs::rename(at("new"), at("replaced")).unwrap();
        fs::write(at("rewritten"), &content).unwrap();
        match number % 3 {
            0 => drop(fs::remove_file(at("fleeting"))),
            _ => fs::write(at("fleeting"), &content).unwrap(),
        }
        let directory = root.join(format!("dir{}", number % 5));
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("file"), &content).unwrap();
        if number % 2 == 0 {
            fs::remove_dir_all(&directory).unwrap();
        }
        std::thread::sleep(Duration::from_micros(u64::from(number % 5) * 400));
    }
}

#[test]
fn a_tree_in_motion_gives_versions_that_existed_or_says_so() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("moving");
    let build = Build::at(&project);
    for number in 0..300 {
        build.file(format!("still/{number}"), version(number));
    }
    fs::create_dir(project.join("busy")).unwrap();
    let stop = AtomicBool::new(false);
    let id = std::thread::scope(|scope| {
        let writer = scope.spawn(|| meddle(&project.join("busy"), &stop));
        std::thread::sleep(Duration::from_millis(100));
        let id = begin(&sandbox, &project);
        for name in ["one", "two", "three", "four"] {
            sandbox.jackin(["checkpoint", &id, "--name", name]).ok();
        }
        stop.store(true, Ordering::Relaxed);
        writer.join().unwrap();
        id
    });
    sandbox.jackin(["end", &id]).ok();
    let (mut seen, mut flagged) = (0, 0);
    for name in ["baseline", "one", "two", "three", "four"] {
        let to = sandbox.scratch(name);
        let args = [
            "restore",
            &id,
            "--from",
            name,
            "--to",
            to.to_str().unwrap(),
            "--yes",
        ];
        sandbox.jackin(args).code_in(&[0, 6]);
        let gaps = gaps_of(&sandbox, &id, name);
        assert_eq!(Tree::read(&to).only("still").paths().count(), 301);
        for entry in walkdir::WalkDir::new(&to).into_iter().map(Result::unwrap) {
            if !entry.file_type().is_file() {
                continue;
            }
            let path = entry
                .path()
                .strip_prefix(&to)
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned();
            let name_of_file = entry.file_name().to_str().unwrap();
            let bytes = fs::read(entry.path()).unwrap();
            seen += 1;
            if gaps.contains(&path) {
                flagged += 1;
            } else if !path.starts_with("still/") {
                assert!(
                    is_one_version(name_of_file, &bytes),
                    "{name}: {path} mixes versions and nobody says so"
                );
            } else {
                assert_eq!(bytes, version(name_of_file.parse().unwrap()), "{path}");
            }
        }
    }
    assert!(seen > 1500 && flagged < seen, "{flagged} of {seen} flagged");
}

/// The paths that a snapshot does not vouch for; the closing one, of a tree that stands still, vouches for all.
fn gaps_of(sandbox: &Sandbox, id: &str, snapshot: &str) -> Vec<String> {
    let args = ["diff", id, "--from", snapshot, "--to", "closing", "--json"];
    let document = sandbox.jackin(args).code_in(&[0, 5]).json();
    let paths = document["not_covered"].as_array().unwrap().iter();
    paths
        .map(|gap| gap["path"].as_str().unwrap().to_owned())
        .collect()
}

/// An object that a program moves while a baseline is taken is in none of its lists if it leaves one directory before that is listed and comes into another
/// one after that was. Nothing proves that it was not there.
#[test]
fn what_is_moved_while_a_baseline_is_taken_is_not_deleted() {
    const ROUNDS: u32 = 12;
    let sandbox = Sandbox::new();
    let build = |name: &str| {
        let project = sandbox.project(name);
        let build = Build::at(&project);
        build.big("aaa.bin", 40 << 20).file("todo/x", "precious\n");
        build.file("todo/inner/y", "precious\n");
        fs::create_dir(project.join("done")).unwrap();
        project
    };
    let launch = |project: &Path| {
        let words = ["launch", "-q", "--snapshot", "project", ".", "--", "true"];
        sandbox.command(words).inside(project).run().code_in(&[0, 6]);
    };
    let began = Instant::now();
    launch(&build("first"));
    let whole = began.elapsed();
    for round in 0..ROUNDS {
        let project = build(&format!("project{round}"));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(whole * round / ROUNDS);
                fs::rename(project.join("todo/x"), project.join("done/x")).unwrap();
                fs::rename(project.join("todo/inner"), project.join("outer")).unwrap();
            });
            launch(&project);
        });
        let words = ["restore", "--yes"];
        let run = sandbox.command(words).inside(&project).by_the_operator().run();
        let is_there = |before: &str, after: &str| {
            let at = [before, after].map(|at| project.join(at));
            at.iter()
                .any(|at| fs::read(at).is_ok_and(|bytes| bytes == b"precious\n"))
        };
        assert!(is_there("todo/x", "done/x"), "{round}: {run}");
        assert!(is_there("todo/inner/y", "outer/y"), "{round}: {run}");
        run.code_in(&[0, 5, 6]);
    }
}
