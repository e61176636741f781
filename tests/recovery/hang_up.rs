//! Signals that arrive when the command has ended: none of them cancels the closing snapshot.

use std::fs;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::build::Build;
use crate::support::compare::assert_same_tree;
use crate::support::documents::instances;
use crate::support::invocation::Started;
use crate::support::patience::{await_moment, await_that};
use crate::support::process::{children, lives};
use crate::support::sandbox::Sandbox;
use crate::support::stop::catches;
use crate::support::tmux::Tmux;
use crate::support::tree::Tree;

/// A project whose closing snapshot takes a while, with what an agent does to it.
fn project(sandbox: &Sandbox) -> (PathBuf, Tree, String) {
    let project = sandbox.project("closing");
    let build = Build::at(&project);
    for number in 0..60 {
        build.file(format!("d{number}/kept"), "kept\n");
    }
    build.aged();
    let before = Tree::read(&project);
    let damage = "s=$(seq 40); echo z > z.txt; for d in d*; do for n in $s; do echo $d$n > $d/$n; done; done"
        .to_owned();
    (project, before, damage)
}

fn launch(sandbox: &Sandbox, project: &std::path::Path, script: &str) -> Started {
    // Whoever runs the tests may ignore the signal, which is inherited.
    let hears = ["env", "--default-signal=HUP,INT,QUIT"];
    let target = project.to_str().unwrap();
    let launch = sandbox.launching(target, &["sh", "-c", script]);
    launch.inside(project).through(&hears).start()
}

fn send(pid: u32, signal: Signal) {
    let raw = i32::try_from(pid).ok().and_then(Pid::from_raw).unwrap();
    let _ = kill_process(raw, signal);
}

/// The session has its closing snapshot, taken when it ended, and a restore takes all of it back.
#[track_caller]
fn is_whole(sandbox: &Sandbox, project: &std::path::Path, before: &Tree) {
    let listed = sandbox.jackin(["list", "--json"]).ok();
    let session = &instances(&listed)[0];
    assert_eq!(session.status, "ended", "{listed}");
    let closing = &session.snapshot("closing").id;
    let record = fs::read(sandbox.store().join(format!("snapshots/{closing}.json"))).unwrap();
    let record: Value = serde_json::from_slice(&record).unwrap();
    assert_ne!(record["late"], true, "{record:#}");
    assert!(
        listed.json()["instances"][0]["closing_error"].is_null(),
        "{listed}"
    );
    sandbox.restore(&session.id, &[]);
    assert_same_tree(before, &Tree::read(project));
}

/// bash sends one when its terminal goes, and the kernel another.
#[test]
fn hang_ups_in_a_row_do_not_cancel_the_closing_snapshot() {
    for gap in [2, 10, 20, 40] {
        let sandbox = Sandbox::new();
        let (project, before, damage) = project(&sandbox);
        let ready = sandbox.scratch("ready");
        let script = format!("{damage}; touch {}; exec sleep 60", ready.display());
        let started = launch(&sandbox, &project, &script);
        await_that("the agent", || ready.exists());
        for _ in 0..8 {
            send(started.child.id(), Signal::HUP);
            sleep(Duration::from_millis(gap));
        }
        let run = started.finish();
        assert!(run.text().contains("changed") || run.exit() == Some(129), "{run}");
        is_whole(&sandbox, &project, &before);
    }
}

/// Each of them, several times, from the command's end until the closing snapshot is there.
#[test]
fn no_signal_after_the_command_cancels_the_closing_snapshot() {
    for signal in [Signal::HUP, Signal::TERM, Signal::INT, Signal::QUIT] {
        let sandbox = Sandbox::new();
        let (project, before, damage) = project(&sandbox);
        let ready = sandbox.scratch("ready");
        let script = format!("{damage}; echo $$ > {}", ready.display());
        let started = launch(&sandbox, &project, &script);
        let pid = started.child.id();
        await_moment("the agent", || ready.exists());
        let agent = || fs::read_to_string(&ready).unwrap_or_default().trim().to_owned();
        await_moment("its number", || !agent().is_empty());
        await_moment("its end", || !lives(agent().parse().unwrap()));
        let store = sandbox.store().join("snapshots");
        let stored = || fs::read_dir(&store).map_or(0, Iterator::count);
        let begun = Instant::now();
        while stored() < 2 && begun.elapsed() < Duration::from_secs(30) && catches(pid, Signal::HUP) {
            send(pid, signal);
            sleep(Duration::from_millis(10));
        }
        let run = started.finish();
        assert!(
            run.text().contains("signals do not cancel it"),
            "{signal:?}: {run}"
        );
        is_whole(&sandbox, &project, &before);
    }
}

/// A launcher's trap calls `end` when its terminal goes, and `end` is told to go as well.
#[test]
fn no_signal_cancels_what_end_stores() {
    for signal in [Signal::HUP, Signal::TERM, Signal::INT, Signal::QUIT] {
        let sandbox = Sandbox::new();
        let (project, before, damage) = project(&sandbox);
        let target = project.to_str().unwrap();
        let begun = sandbox
            .jackin(["begin", "--snapshot", "project", target, "--json"])
            .ok();
        let id = begun.json()["instance"].as_str().unwrap().to_owned();
        let made = std::process::Command::new("sh")
            .args(["-c", &damage])
            .current_dir(&project)
            .status();
        assert!(made.unwrap().success());
        let started = sandbox.command(["end", &id]).start();
        let pid = started.child.id();
        // From here on the work of the end has begun.
        let drafts = sandbox.store().join("tmp");
        await_moment("the draft", || {
            fs::read_dir(&drafts).is_ok_and(|mut all| all.next().is_some())
        });
        for _ in 0..4 {
            send(pid, signal);
            sleep(Duration::from_millis(5));
        }
        started.finish();
        is_whole(&sandbox, &project, &before);
    }
}

/// The window of a terminal is closed under bash.
#[test]
fn a_terminal_that_is_closed_leaves_a_closing_snapshot() {
    let sandbox = Sandbox::new();
    let (project, before, damage) = project(&sandbox);
    let ready = sandbox.scratch("ready");
    let agent = sandbox.scratch("agent");
    fs::write(
        &agent,
        format!("{damage}; touch {}; exec sleep 60\n", ready.display()),
    )
    .unwrap();
    let Some(tmux) = Tmux::start(
        &sandbox,
        &project,
        (100, 30),
        "exec bash --norc --noprofile -i",
        &[],
    ) else {
        return;
    };
    let line = format!(
        "jackin recovery launch --snapshot project . -- sh {}",
        agent.display()
    );
    tmux.press(&[&line, "Enter"]);
    await_that("the agent", || ready.exists());
    tmux.close();
    await_that("the end", || {
        let listed = sandbox.jackin(["list", "--json"]).ok();
        instances(&listed)[0].status == "ended"
    });
    is_whole(&sandbox, &project, &before);
}

/// A late closing snapshot that is interrupted is taken by the next command.
#[test]
fn a_late_closing_snapshot_that_is_interrupted_is_taken_by_the_next_command() {
    let sandbox = Sandbox::new();
    let (project, _, damage) = project(&sandbox);
    let ready = sandbox.scratch("ready");
    let script = format!("{damage}; touch {}; exec sleep 60", ready.display());
    let mut started = launch(&sandbox, &project, &script);
    await_that("the agent", || ready.exists());
    let agent = sandbox.jackin(["list", "--json"]).ok();
    assert_eq!(instances(&agent)[0].status, "active");
    let children = children(started.child.id());
    let _ = started.child.kill();
    let _ = started.child.wait();
    for child in children {
        send(child, Signal::KILL);
    }
    let id = sandbox.newest();
    await_that("its death", || {
        let listed = sandbox.jackin(["list", "--json"]).ok();
        instances(&listed)[0].status == "lost"
    });
    let next = sandbox.command(["restore", &id, "--yes"]).start();
    let drafts = sandbox.store().join("tmp");
    await_moment("the draft", || {
        fs::read_dir(&drafts).is_ok_and(|mut all| all.next().is_some())
    });
    send(next.child.id(), Signal::TERM);
    next.finish();
    sandbox.jackin(["restore", &id, "--yes"]).code(6);
    let listed = sandbox.jackin(["list", "--json"]).ok();
    instances(&listed)[0].snapshot("closing");
}

/// The store is in the way of its closing snapshot, and everything that looks at the session says so.
#[test]
fn a_missing_closing_snapshot_is_told_with_its_reason() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("missing");
    Build::at(&project).file("edited", "before\n").aged();
    let archives = sandbox.store().join("archives");
    // A file is in the place of the archives, so that the store takes none.
    let away = sandbox.scratch("away");
    let script = format!(
        "echo agent > edited; mv '{0}' '{1}'; echo x > '{0}'",
        archives.display(),
        away.display()
    );
    let target = project.to_str().unwrap();
    sandbox
        .command([
            "launch",
            "--snapshot",
            "project",
            "--allow-broad",
            target,
            "--",
            "sh",
            "-c",
            &script,
        ])
        .inside(&project)
        .run()
        .shows("the closing snapshot failed");
    fs::remove_file(&archives).unwrap();
    fs::rename(&away, &archives).unwrap();
    let id = sandbox.newest();
    let listed = sandbox.jackin(["list", "--json"]).ok().json();
    let reason = listed["instances"][0]["closing_error"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(!reason.is_empty());
    let shown = sandbox.jackin(["show", &id, "--json"]);
    let shown = shown.json();
    assert_eq!(shown["instance"]["closing_error"], reason.as_str());
    sandbox.jackin(["list"]).ok().shows("no closing snapshot");
    sandbox.jackin(["show", &id]).shows("no closing snapshot");
    sandbox
        .jackin(["doctor"])
        .shows(&format!("{id} has no closing snapshot"));
    let plan = sandbox.jackin(["restore", &id, "--dry-run"]).code_in(&[0, 6]);
    assert!(!plan.said().contains("no closing snapshot;"), "{plan}");
    plan.shows("no closing snapshot (");
}
