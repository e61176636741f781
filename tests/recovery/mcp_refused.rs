//! What the tools of an agent refuse: wrong calls, other sessions, and what the operator does not allow.

use std::fs;

use serde_json::json;

use crate::support::compare::assert_same_tree;
use crate::support::mcp::{ALLOWED, Client, Era, begin, workspace};
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

#[test]
#[cfg_attr(not(feature = "mcp"), ignore = "the feature mcp is not built")]
fn wrong_calls_are_refused_in_words_and_change_nothing() {
    let (sandbox, project) = workspace(ALLOWED);
    let mut client = Client::start(&sandbox, &project, &[], Era::Initialize);
    client.call("snapshot_create", json!({"name": "s1"})).ok();
    fs::write(project.join("a"), "later").unwrap();
    let before = Tree::read(&project);
    for name in [
        ".secret",
        "a/b",
        "--output=/x",
        "two words",
        "",
        "../s1",
        "s1\n",
        "é",
        "now",
        "baseline",
        // No id has an `o`; with a letter of one this would at times be the beginning of a real one.
        "sn-o",
    ] {
        client.call("snapshot_create", json!({"name": name})).refused("");
        client.call("snapshot_fork", json!({"branch": name})).refused("");
        if name != "baseline" {
            for tool in ["snapshot_diff", "snapshot_restore", "snapshot_fork"] {
                client.call(tool, json!({"name": name})).refused("");
            }
            client
                .call("session_restore", json!({"checkpoint_id": name}))
                .refused("");
        }
    }
    client
        .call("snapshot_create", json!({"name": "s1"}))
        .refused("s1");
    client
        .call("snapshot_restore", json!({"name": "baseline"}))
        .refused("checkpoint");
    client
        .call("session_restore", json!({"checkpoint_id": "baseline"}))
        .refused("checkpoint");
    for (tool, arguments, fact) in [
        ("snapshot_create", json!({"nam": "x"}), "unknown field `nam`"),
        ("snapshot_create", json!({"name": 5}), "invalid type"),
        ("snapshot_restore", json!({}), "missing field `name`"),
        (
            "snapshot_restore",
            json!({"name": null}),
            "which snapshot is meant",
        ),
        (
            "snapshot_restore",
            json!({"name": "s1", "paths": []}),
            "names nothing",
        ),
        (
            "snapshot_restore",
            json!({"name": "s1", "paths": [""]}),
            "names nothing",
        ),
        ("snapshot_restore", json!({"name": 5}), "not 5"),
        ("snapshot_restore", json!({"name": ["s1"]}), "not [\"s1\"]"),
        (
            "snapshot_restore",
            json!({"name": "s1", "paths": "a"}),
            "invalid type",
        ),
        (
            "snapshot_restore",
            json!({"name": "s1", "paths": ["/etc/passwd"]}),
            "/etc/passwd",
        ),
        (
            "snapshot_restore",
            json!({"name": "s1", "paths": ["../../x"]}),
            "x",
        ),
        ("snapshot_diff", json!({"name": "sn-nothing"}), "sn-nothing"),
        ("snapshot_diff", json!({"name": "s1", "to": "s2"}), "s2"),
        (
            "snapshot_diff",
            json!({"name": {"provider": "another"}}),
            "another",
        ),
        (
            "snapshot_fork",
            json!({"name": "{\"provider\":\"jackin-recovery\"}"}),
            "missing field",
        ),
        (
            "snapshot_fork",
            json!({"directory": "/tmp/x"}),
            "unknown field `directory`",
        ),
        ("session_checkpoints", json!({"x": 1}), "unknown field `x`"),
    ] {
        client.call(tool, arguments).refused(fact);
    }
    assert_same_tree(&before, &Tree::read(&project));
    // What is no tool is no call at all.
    for tool in ["snapshot_prune", "", "__complete", "snapshot_create "] {
        let answer = client.ask("tools/call", json!({"name": tool, "arguments": {}}));
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
    let answer = client.ask("tools/call", json!({"arguments": {}}));
    assert!(answer["error"]["code"].is_i64(), "{answer}");
    let answer = client.ask("resources/list", json!({}));
    assert_eq!(answer["error"]["code"], -32601, "{answer}");
    // What is no message is no end either.
    client.say_raw(b"no json\n{\"jsonrpc\":\"2.0\"}\n[]\n");
    let request = client.request("tools/list", json!({}));
    client.say(&request);
    let answer = loop {
        let answer = client.hear();
        if answer["id"] == request["id"] {
            break answer;
        }
        assert!(answer["error"].is_object(), "{answer}");
    };
    assert!(answer["result"]["tools"].is_array(), "{answer}");
    client.end();
}

#[test]
#[cfg_attr(not(feature = "mcp"), ignore = "the feature mcp is not built")]
fn what_the_operator_does_not_allow_is_not_offered_and_not_done() {
    for (agent, args, allowed) in [
        (
            "",
            &[][..],
            &[
                "snapshot_create",
                "snapshot_list",
                "snapshot_diff",
                "session_checkpoint",
                "session_checkpoints",
            ][..],
        ),
        (
            ALLOWED,
            &["--read-only"],
            &["snapshot_list", "snapshot_diff", "session_checkpoints"],
        ),
    ] {
        let (sandbox, project) = workspace(agent);
        let id = begin(&sandbox, &project);
        sandbox.jackin(["checkpoint", &id, "--name", "s1"]).ok();
        fs::write(project.join("a"), "of the agent\n").unwrap();
        let before = Tree::read(&project);
        let mut client = Client::start(&sandbox, &project, args, Era::Initialize);
        let offered: Vec<String> = client.tools().into_iter().map(|(name, _)| name).collect();
        assert_eq!(offered, allowed);
        for (tool, arguments) in [
            ("snapshot_restore", json!({"name": "s1"})),
            ("session_restore", json!({})),
            ("snapshot_fork", json!({"name": "s1"})),
            ("snapshot_create", json!({"name": "s2"})),
            ("session_checkpoint", json!({})),
        ] {
            let called = client.call(tool, arguments);
            if allowed.contains(&tool) {
                called.ok();
            } else {
                called.refused(&format!("{tool} is not allowed here"));
            }
        }
        assert!(
            client
                .call("snapshot_diff", json!({"name": "s1"}))
                .ok()
                .text
                .contains("+of the agent")
        );
        assert_same_tree(&before, &Tree::read(&project));
        assert!(!sandbox.home().join(".jackin/data/forks").exists());
        client.end();
    }
}

#[test]
#[cfg_attr(not(feature = "mcp"), ignore = "the feature mcp is not built")]
fn what_goes_wrong_is_said_in_few_words_and_without_advice_for_operators() {
    let (sandbox, project) = workspace(ALLOWED);
    // Somebody else is at work there.
    let begun = sandbox.command(["begin"]).inside(&project).run().ok();
    let theirs = String::from_utf8_lossy(&begun.stdout).trim().to_owned();
    let mut client = Client::start(&sandbox, &project, &[], Era::Initialize);
    // Nothing is there yet, and the way to begin is named.
    for tool in ["snapshot_diff", "session_restore", "snapshot_fork"] {
        client.call(tool, json!({})).refused("snapshot_create begins it");
    }
    client.call("snapshot_create", json!({"name": "s1"})).ok();
    fs::write(project.join("a"), "later").unwrap();
    let called = client.call("snapshot_restore", json!({"name": "s1"}));
    assert!(called.failed && called.text.contains(&theirs), "{called:?}");
    assert!(
        !called.text.contains("kill") && !called.text.contains("jackin recovery"),
        "{called:?}"
    );
    // What is quoted is not quoted whole.
    let long = "x".repeat(3 << 20);
    for (tool, arguments) in [
        ("snapshot_create", json!({"name": long})),
        ("snapshot_create", json!({"description": long})),
        ("session_checkpoint", json!({"label": long})),
        ("snapshot_create", json!({long.clone(): 1})),
        ("snapshot_restore", json!({"name": [long]})),
        ("snapshot_diff", json!({"name": "s1", "paths": [long]})),
        ("snapshot_fork", json!({"branch": long})),
    ] {
        let called = client.call(tool, arguments);
        assert!(
            called.failed && called.text.len() < 20_000,
            "{tool}: {}",
            called.text.len()
        );
    }
    let answer = client.ask("tools/call", json!({"name": long, "arguments": {}}));
    assert!(answer.to_string().len() < 2_000);
    client.end();
}

#[test]
#[cfg_attr(not(feature = "mcp"), ignore = "the feature mcp is not built")]
fn where_nothing_is_captured_nothing_begins() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("loose");
    let mut client = Client::start(&sandbox, &project, &[], Era::Initialize);
    assert_eq!(client.call("snapshot_list", json!({})).ok().text, "no snapshots");
    for tool in ["snapshot_create", "snapshot_diff", "session_checkpoint"] {
        client
            .call(tool, json!({}))
            .refused("jackin recovery init WORKSPACE");
    }
    client.end();
    assert!(!sandbox.home().join(".jackin").exists());
    // A mistake in the configuration is named, and ends when it is mended.
    let (sandbox, project) = workspace("");
    let file = sandbox.home().join(".config/jackin/workspaces/shop.toml");
    let text = fs::read_to_string(&file).unwrap();
    let mut client = Client::start(&sandbox, &project, &[], Era::Initialize);
    fs::write(&file, text.replace("snapshot =", "snapshoot =")).unwrap();
    client.call("snapshot_create", json!({})).refused("snapshoot");
    fs::write(&file, text).unwrap();
    client.call("snapshot_create", json!({})).ok();
    client.end();
}

#[test]
#[cfg_attr(not(feature = "mcp"), ignore = "the feature mcp is not built")]
fn a_snapshot_that_was_pruned_is_named_as_such() {
    let (sandbox, project) = workspace(&format!("{ALLOWED}[recovery.retention]\ncheckpoints = 1\n"));
    let mut client = Client::start(&sandbox, &project, &[], Era::Initialize);
    client.call("snapshot_create", json!({"name": "s1"})).ok();
    fs::write(project.join("a"), "two").unwrap();
    client.call("snapshot_create", json!({"name": "s2"})).ok();
    for tool in ["snapshot_restore", "snapshot_diff", "snapshot_fork"] {
        client.call(tool, json!({"name": "s1"})).refused("was pruned");
    }
    let listed = client.call("snapshot_list", json!({})).ok();
    assert_eq!(
        listed.structured["snapshots"].as_array().unwrap().len(),
        1,
        "{listed:?}"
    );
    client.end();
}
