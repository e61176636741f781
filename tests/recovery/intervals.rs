//! Checkpoints that come by themselves, beside a command that was launched and beside a session that was only begun.

use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::support::documents::instances;
use crate::support::patience::await_that;
use crate::support::process;
use crate::support::sandbox::Sandbox;

#[test]
fn checkpoints_come_by_themselves_when_something_changed() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("work");
    let launch = |script: &str| {
        let directory = project.to_str().unwrap();
        let args = [
            "launch",
            "--checkpoint-every",
            "1s",
            "--snapshot",
            "project",
            directory,
            "--",
            "sh",
            "-c",
            script,
        ];
        sandbox.command(args).inside(&project).run()
    };
    // Directories, which are made in one step.
    let script = format!(
        "stored() {{ for i in $(seq 2000); do [ $(ls '{}' | wc -l) -ge $1 ] && break; sleep 0.05; done; }}
        mkdir one; stored 2; sleep 2.5; mkdir two; stored 3; sleep 2.5",
        sandbox.store().join("snapshots").display()
    );
    launch(&script).ok();
    let all = instances(&sandbox.jackin(["list", "--json"]).ok());
    let taken: Vec<&str> = all[0]
        .snapshots
        .iter()
        .map(|snapshot| snapshot.kind.as_str())
        .collect();
    // One for each change, though more than two seconds passed after each.
    assert_eq!(taken, ["closing", "checkpoint", "checkpoint", "baseline"]);
    launch("sleep 3; exit 7").code(7);
    let all = instances(&sandbox.jackin(["list", "--json"]).ok());
    assert_eq!(all[0].snapshots.len(), 2);
    sandbox.jackin(["verify", "--read-data"]).ok();
    for wrong in ["10", "0s", "x", "-1m", "1d", ""] {
        sandbox
            .jackin([
                "launch",
                "--checkpoint-every",
                wrong,
                "--snapshot",
                "project",
                "/",
                "--",
                "true",
            ])
            .code(2);
    }
}

/// The processes that were left behind for a session.
fn left_behind(id: &str) -> Vec<u32> {
    let is_one = |pid: &u32| {
        let words = process::words(*pid);
        let mut words = words.iter();
        words.any(|word| word == "__checkpoints") && words.any(|word| word == id)
    };
    process::all().into_iter().filter(is_one).collect()
}

fn begun(sandbox: &Sandbox, project: &Path) -> String {
    let directory = project.to_str().unwrap();
    let begin = sandbox.command([
        "begin",
        "--json",
        "--checkpoint-every",
        "1s",
        "--snapshot",
        "project",
        directory,
    ]);
    // What is wrong with how other machines are reached is no matter where none is.
    let begun = begin.with("JACKIN_RECOVERY_AGENT", "other").run();
    begun.ok().json()["instance"].as_str().unwrap().to_owned()
}

#[test]
fn a_session_that_was_only_begun_has_them_until_it_ends() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("work");
    fs::write(project.join("one"), "1").unwrap();
    let id = begun(&sandbox, &project);
    let count = || {
        instances(&sandbox.jackin(["list", "--json"]).ok())[0]
            .snapshots
            .len()
    };
    assert_eq!(left_behind(&id).len(), 1);
    for number in 0..2 {
        // In one step, which no checkpoint comes into.
        let made = sandbox.scratch("two");
        fs::write(&made, number.to_string()).unwrap();
        fs::rename(made, project.join("two")).unwrap();
        await_that("a checkpoint", || count() == 2 + number);
    }
    sandbox.jackin(["end", &id]).ok();
    await_that("the process is gone", || left_behind(&id).is_empty());
    // Nothing changed since the last one, and nothing is alive.
    assert_eq!(count(), 4);
    sandbox.jackin(["restore", &id, "--yes"]).ok();
    assert!(!project.join("two").exists());
}

#[test]
fn one_that_cannot_be_taken_has_a_receipt_and_others_follow() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("work");
    fs::write(project.join("one"), "1").unwrap();
    let id = begun(&sandbox, &project);
    let archives = sandbox.store().join("archives");
    let aside = sandbox.store().join("elsewhere");
    // Nothing can be stored while a file is in the way.
    fs::rename(&archives, &aside).unwrap();
    fs::write(&archives, "").unwrap();
    fs::write(project.join("two"), "2").unwrap();
    std::thread::sleep(Duration::from_secs(3));
    fs::remove_file(&archives).unwrap();
    fs::rename(&aside, &archives).unwrap();
    let count = || {
        instances(&sandbox.jackin(["list", "--json"]).ok())[0]
            .snapshots
            .len()
    };
    await_that("a checkpoint", || count() == 2);
    sandbox.jackin(["end", &id]).ok();
    await_that("the process is gone", || left_behind(&id).is_empty());
    sandbox.jackin(["verify", "--read-data"]).ok();
}

#[test]
fn the_contract_says_how_often_and_how_long_they_are_kept() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("work");
    let directory = project.to_str().unwrap();
    let explain = |more: &[&str]| {
        let words = ["explain", "--snapshot", "project", directory];
        sandbox.jackin(words.iter().chain(more).copied())
    };
    let usual = explain(&[]).ok();
    let text = usual.said();
    assert!(!text.contains("A checkpoint every"), "{text}");
    for said in [
        "the newest 20 sessions of this directory for 30 days, 100 checkpoints, at most 50.0 GiB, 5.0 GiB free",
        "and what is pinned or `undo` needs",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
    let often = explain(&["--checkpoint-every", "90s"]).ok();
    often
        .has("A checkpoint every 90 seconds while it runs")
        .has("--checkpoint-every 90s");
    sandbox.configure(
        "config.toml",
        "[recovery.retention]\ninstances = 0\ndays = 0\ncheckpoints = 7\ncheckpoint_days = 1\nmax_bytes = \"1GiB\"\n",
    );
    let text = explain(&[]).ok().said();
    assert!(
        text.contains("every session of this directory, 7 checkpoints for 1 day, at most 1.0 GiB, "),
        "{text}"
    );
    let document = explain(&["--json", "--checkpoint-every", "2m"]).ok().json();
    let retention = &document["retention"];
    assert_eq!(retention["checkpoints"]["value"], 7);
    assert_eq!(retention["max_bytes"], 1 << 30);
    assert_eq!(document["checkpoint_every"], 120);
}
