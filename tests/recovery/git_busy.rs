//! Git at work while its repository is captured: what a snapshot holds is whole, or the snapshot says that it may not be.

use std::fs;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::support::git::Repository;
use crate::support::sandbox::Sandbox;

/// A shell that commits, with a pause of so many seconds each time, until this is dropped.
struct Busy(Child);

impl Busy {
    fn at(repository: &Repository, pause: &str) -> Self {
        let script = "n=0; while :; do n=$((n+1)); echo $n > f$((n % 7)); git add -A && git commit -qm $n; git branch -qf b$((n % 5));
            [ $((n % 9)) = 0 ] && git pack-refs --all; [ $((n % 25)) = 0 ] && git gc -q --prune=now; sleep $0; done";
        let mut command = Command::new("sh");
        command.args(["-c", script, pause]).current_dir(&repository.path);
        for (name, value) in [
            ("GIT_AUTHOR_NAME", "a"),
            ("GIT_AUTHOR_EMAIL", "a@x"),
            ("GIT_COMMITTER_NAME", "a"),
            ("GIT_COMMITTER_EMAIL", "a@x"),
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ] {
            command.env(name, value);
        }
        Self(
            command
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap(),
        )
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(crate) fn is_unsteady(sandbox: &Sandbox, snapshot: &str) -> bool {
    let path = sandbox.store().join(format!("snapshots/{snapshot}.json"));
    let record: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    record["mounts"][0]["git"][0]["unsteady"].is_string()
}

#[test]
fn what_is_captured_while_git_works_is_whole_or_flagged() {
    let sandbox = Sandbox::new();
    let repository = Repository::with_history(&sandbox.project("project"), 40);
    for number in 0..300 {
        fs::write(repository.path.join(format!("much{number}")), vec![b'x'; 5000]).unwrap();
    }
    repository.commit("much");
    let target = repository.path.to_str().unwrap();
    let run = sandbox.jackin(["begin", "--snapshot", "project", target]).ok();
    let id = String::from_utf8_lossy(&run.stdout).trim().to_owned();
    let mut told = 0;
    let mut checkpoint = |name: &str| {
        let run = sandbox.jackin(["checkpoint", &id, "--name", name]).ok();
        told += u32::from(String::from_utf8_lossy(&run.stderr).contains("git was at work in"));
    };
    for pause in ["0", "0.1"] {
        let busy = Busy::at(&repository, pause);
        (0..8).for_each(|number| checkpoint(&format!("{pause}-{number}")));
        drop(busy);
        // What it was killed in the middle of.
        for lock in ["index.lock", "HEAD.lock", "packed-refs.lock", "gc.pid"] {
            let _ = fs::remove_file(repository.path.join(".git").join(lock));
        }
    }
    checkpoint("quiet");
    sandbox.jackin(["end", &id]).ok();

    let shown = sandbox.jackin(["show", &id, "--json"]).ok().json();
    let mut flagged = 0;
    let mut seen = 0;
    for snapshot in shown["instance"]["snapshots"].as_array().unwrap() {
        let (Some(name), Some(snapshot)) = (snapshot["name"].as_str(), snapshot["id"].as_str()) else {
            continue;
        };
        seen += 1;
        let is_flagged = is_unsteady(&sandbox, snapshot);
        let copy = sandbox.scratch(name);
        sandbox
            .jackin([
                "restore",
                &id,
                "--from",
                snapshot,
                "--to",
                copy.to_str().unwrap(),
                "--yes",
            ])
            .ok();
        let copy = Repository { path: copy };
        let (is_whole, said) = copy.tried(&["fsck", "--connectivity-only"]);
        assert!(is_whole || is_flagged, "{name}: {said}");
        assert!(name != "quiet" || !is_flagged);
        flagged += u32::from(is_flagged);
    }
    assert_eq!((seen, flagged), (17, told));
    println!("{flagged} of {seen} are flagged");
}

#[test]
fn a_lock_that_nobody_takes_away_is_told_by_everything_that_captures() {
    let sandbox = Sandbox::new();
    let repository = Repository::with_history(&sandbox.project("project"), 2);
    fs::write(repository.path.join(".git/index.lock"), "").unwrap();
    let target = repository.path.to_str().unwrap();
    let tells = |args: &[&str]| {
        let run = sandbox.jackin(args).ok();
        let said = String::from_utf8_lossy(&run.stderr);
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        let words = ".git all the while";
        assert_eq!(said.matches(words).count(), 1, "{args:?}: {said}");
        assert!(
            said.contains(".git/index.lock: git is at work there, or was killed"),
            "{said}"
        );
        String::from_utf8_lossy(&run.stdout).trim().to_owned()
    };
    let id = tells(&["begin", "--snapshot", "project", target]);
    tells(&["checkpoint", &id, "--name", "one"]);
    tells(&["end", &id]);
    let run = sandbox
        .jackin(["launch", "--snapshot", "project", target, "--", "true"])
        .ok();
    let said = String::from_utf8_lossy(&run.stderr).into_owned();
    // Both its snapshots have it.
    assert_eq!(
        said.split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
            .matches(".git all the while")
            .count(),
        2,
        "{said}"
    );
    fs::remove_file(repository.path.join(".git/index.lock")).unwrap();
    let run = sandbox
        .jackin(["launch", "--snapshot", "project", target, "--", "true"])
        .ok();
    assert!(!String::from_utf8_lossy(&run.stderr).contains("all the while"));
}
