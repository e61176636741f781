//! Servers of tools among others: the official client of the protocol, several clients at once, clients that go away, and a kill in the middle.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{fs, thread};

use serde_json::json;

use crate::support::compare::{Exactness, assert_same_tree, differences};
use crate::support::machine::{binary, skip};
use crate::support::mcp::{ALLOWED, Client, Era, called, only, workspace};
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

#[test]
#[cfg_attr(not(feature = "mcp"), ignore = "the feature mcp is not built")]
fn two_clients_at_once_take_their_snapshots_side_by_side() {
    let (sandbox, project) = workspace(ALLOWED);
    // Neither finds a session, and both need one.
    let sessions: Vec<Vec<String>> = thread::scope(|scope| {
        let runs: Vec<_> = ["x", "y"]
            .into_iter()
            .map(|who| {
                let (sandbox, project) = (&sandbox, &project);
                scope.spawn(move || {
                    let mut client = Client::start(sandbox, project, &[], Era::Stateless);
                    let ids = (0..5).map(|at| {
                        fs::write(project.join(who), at.to_string()).unwrap();
                        let made = client
                            .call("snapshot_create", json!({"name": format!("{who}{at}")}))
                            .ok();
                        made.at("/instance")
                    });
                    let ids = ids.collect();
                    client.end();
                    ids
                })
            })
            .collect();
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    });
    let id = only(&sandbox);
    assert!(
        sessions.iter().flatten().all(|session| *session == id),
        "{sessions:?}"
    );
    // Many requests of one client, none waited for.
    let mut client = Client::start(&sandbox, &project, &[], Era::Initialize);
    let mut asked = Vec::new();
    for at in 0..20 {
        let (tool, arguments) = match at % 4 {
            0 => ("snapshot_create", json!({"name": format!("z{at}")})),
            1 => ("snapshot_diff", json!({"name": "x0"})),
            2 => ("snapshot_list", json!({})),
            _ => ("snapshot_restore", json!({"name": "x4"})),
        };
        let request = client.request("tools/call", json!({"name": tool, "arguments": arguments}));
        client.say(&request);
        asked.push(request["id"].clone());
    }
    for _ in 0..20 {
        let answer = client.hear();
        called(&answer).ok();
        asked.retain(|id| *id != answer["id"]);
    }
    assert!(asked.is_empty(), "{asked:?}");
    let listed = client.call("snapshot_list", json!({})).ok();
    assert_eq!(listed.structured["snapshots"].as_array().unwrap().len(), 15);
    client.end();
    sandbox.jackin(["verify", "--read-data"]).ok();
    sandbox.jackin(["log", "--verify"]).ok();
    sandbox.no_litter();
}

/// A project with a few hundred files, a snapshot of it, and then all of it changed: before and after.
fn spoiled(sandbox: &Sandbox, project: &Path) -> (Tree, Tree) {
    for number in 0..300 {
        fs::write(project.join(format!("f{number}")), format!("good {number}")).unwrap();
    }
    let good = Tree::read(project);
    let mut client = Client::start(sandbox, project, &[], Era::Initialize);
    client.call("snapshot_create", json!({"name": "good"})).ok();
    client.end();
    for number in 0..300 {
        fs::write(project.join(format!("f{number}")), format!("bad {number} bad")).unwrap();
    }
    fs::write(project.join("junk"), "junk").unwrap();
    (good, Tree::read(project))
}

/// The client is gone, or somebody wants the server gone; it goes in order.
fn leave(mut client: Client, by_signal: bool) {
    if by_signal {
        let pid = client.pid().to_string();
        let sent = Command::new("kill").args(["-TERM", &pid]).status().unwrap();
        assert!(sent.success());
    } else {
        client.close();
    }
    let status = client.gone();
    assert!(status.success(), "{status}");
}

#[test]
#[cfg_attr(not(feature = "mcp"), ignore = "the feature mcp is not built")]
fn a_client_that_goes_away_leaves_the_old_tree_or_the_new_one() {
    let (sandbox, project) = workspace(ALLOWED);
    let (good, bad) = spoiled(&sandbox, &project);
    let id = only(&sandbox);
    for (pause, by_signal) in [(0, false), (20, false), (60, false), (0, true), (40, true)] {
        let mut client = Client::start(&sandbox, &project, &[], Era::Initialize);
        let request = client.request(
            "tools/call",
            json!({"name": "snapshot_restore", "arguments": {"name": "good"}}),
        );
        client.say(&request);
        thread::sleep(Duration::from_millis(pause));
        leave(client, by_signal);
        let now = Tree::read(&project);
        if differences(&now, &good, Exactness::Content).is_empty() {
            sandbox.jackin(["show", &id]).ok();
        } else {
            assert_same_tree(&bad, &now);
        }
        sandbox.no_litter();
        // As it was, for the next one.
        for number in 0..300 {
            fs::write(project.join(format!("f{number}")), format!("bad {number} bad")).unwrap();
        }
        fs::write(project.join("junk"), "junk").unwrap();
    }
    sandbox.jackin(["log", "--verify"]).ok();
}

#[test]
#[cfg_attr(not(feature = "mcp"), ignore = "the feature mcp is not built")]
fn a_server_killed_in_a_restore_leaves_it_to_resume_or_abort() {
    let (sandbox, project) = workspace(ALLOWED);
    let (good, bad) = spoiled(&sandbox, &project);
    let id = only(&sandbox);
    let mut waited = 0;
    for at in [5, 40, 200, 330] {
        let point = format!("any:{at}");
        let mut client = Client::start_with(
            &sandbox,
            &project,
            &[],
            Era::Initialize,
            &[("JACKIN_RECOVERY_FAIL_AT", &point)],
        );
        let request = client.request(
            "tools/call",
            json!({"name": "snapshot_restore", "arguments": {"name": "good"}}),
        );
        client.say(&request);
        let status = client.gone();
        assert!(!status.success(), "any:{at}: {status}");
        let mut client = Client::start(&sandbox, &project, &[], Era::Initialize);
        let called = client.call("snapshot_create", json!({}));
        client.end();
        if sandbox.jackin(["show", &id]).text().contains("was interrupted") {
            waited += 1;
            assert!(called.failed || !called.text.is_empty(), "{called:?}");
            sandbox.command(["end", &id]).by_the_operator().run().ok();
            sandbox.jackin(["abort", &id, "--yes"]).ok();
            assert_same_tree(&bad, &Tree::read(&project));
            break;
        }
    }
    assert!(waited > 0, "no kill came in the middle of the moves");
    sandbox
        .jackin([
            "restore",
            &id,
            "--from",
            "good",
            "--yes",
            "--overwrite-later-edits",
            "--delete-later-files",
        ])
        .ok();
    assert_same_tree(&good, &Tree::read(&project));
    sandbox.no_litter();
}

/// More is asked than can be done before the client goes away: the server goes, too, and with it what had not begun.
#[test]
#[cfg_attr(not(feature = "mcp"), ignore = "the feature mcp is not built")]
fn a_server_with_much_to_do_ends_when_it_is_asked_to() {
    let (sandbox, project) = workspace(ALLOWED);
    for by_signal in [true, false] {
        let mut client = Client::start(&sandbox, &project, &[], Era::Initialize);
        for _ in 0..200 {
            let request = client.request("tools/call", json!({"name": "snapshot_create", "arguments": {}}));
            client.say(&request);
        }
        client.hear();
        leave(client, by_signal);
    }
    sandbox.jackin(["verify"]).ok();
    sandbox.jackin(["log", "--verify"]).ok();
}

/// A Python that has the client.
fn python() -> Option<OsString> {
    let named = std::env::var_os("MCP_PYTHON").unwrap_or_else(|| "python3".into());
    let has_it = Command::new(&named)
        .args(["-c", "from mcp import Client"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    has_it.then_some(named)
}

#[test]
#[cfg_attr(not(feature = "mcp"), ignore = "the feature mcp is not built")]
fn the_official_client_goes_through_every_tool() {
    let Some(python) = python() else {
        return skip(
            "the official MCP client",
            "no Python with it: pip install -r tests/sdk/requirements.txt, and name it in MCP_PYTHON",
        );
    };
    let (sandbox, project) = workspace(&format!("{ALLOWED}[recovery.retention]\ncheckpoints = 2\n"));
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/sdk/client.py");
    let done = Command::new(python)
        .arg(script)
        .arg(binary())
        .arg(&project)
        .env("HOME", sandbox.home())
        .env_remove("JACKIN_RECOVERY_INSTANCE")
        .env_remove("JACKIN_HOME_DIR")
        .env_remove("JACKIN_CONFIG_DIR")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let (out, err) = (
        String::from_utf8_lossy(&done.stdout),
        String::from_utf8_lossy(&done.stderr),
    );
    assert!(done.status.success(), "{out}\n{err}");
    for fact in [
        "every tool, legacy",
        "every tool, 2026-07-28",
        "every tool, auto",
        "two clients at once",
        "only reading",
    ] {
        assert!(out.contains(fact), "{fact}: {out}\n{err}");
    }
    sandbox.jackin(["log", "--verify"]).ok();
    sandbox.jackin(["verify", "--read-data"]).ok();
    sandbox.no_litter();
}
