//! Checkpoints as tools of an agent, in a raw conversation: every tool, in both eras of the protocol.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::compare::assert_same_tree;
use crate::support::mcp::{ALLOWED, Client, Era, only, workspace};
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

/// Through every tool.
fn every_tool(era: Era) {
    let (sandbox, project) = workspace(ALLOWED);
    let mut client = Client::start(&sandbox, &project, &[], era);
    let offered: Vec<String> = client.tools().into_iter().map(|(name, _)| name).collect();
    assert_eq!(
        offered,
        [
            "snapshot_create",
            "snapshot_list",
            "snapshot_diff",
            "snapshot_restore",
            "snapshot_fork",
            "session_checkpoint",
            "session_checkpoints",
            "session_restore"
        ]
    );
    // Looking begins nothing.
    assert_eq!(client.call("snapshot_list", json!({})).ok().text, "no snapshots");
    assert!(!sandbox.store().exists());
    let made = client
        .call("snapshot_create", json!({"name": "s1", "description": "before"}))
        .ok();
    let id = made.at("/snapshot");
    assert!(
        made.text.starts_with(&format!("snapshot s1 created: {id}")),
        "{made:?}"
    );
    assert_eq!(made.at("/instance"), only(&sandbox));
    assert_eq!(
        client.call("snapshot_diff", json!({"name": "s1"})).ok().text,
        "no differences"
    );
    // The agent does its worst.
    let good = Tree::read(&project);
    fs::write(project.join("a"), "of the agent\n").unwrap();
    fs::remove_file(project.join(".env")).unwrap();
    fs::create_dir(project.join("junk")).unwrap();
    fs::write(project.join("junk/x"), "x").unwrap();
    let bad = Tree::read(&project);
    let diff = client.call("snapshot_diff", json!({"name": "s1"})).ok();
    assert!(diff.text.contains("-of the operator\n+of the agent"), "{diff:?}");
    assert_eq!(diff.structured["files_changed"], 4, "{diff:?}");
    assert_eq!(diff.at("/from"), id);
    let one = client
        .call("snapshot_diff", json!({"name": id, "paths": [".env"]}))
        .ok();
    assert_eq!(one.structured["files_changed"], 1, "{one:?}");
    let label = client
        .call("session_checkpoint", json!({"label": "a mess, with words"}))
        .ok();
    let mess = label.at("/checkpoint_id");
    assert_eq!(label.text, json!({"checkpoint_id": mess}).to_string());
    // Newest first, by the name that each has.
    let listed = client.call("snapshot_list", json!({})).ok();
    let lines: Vec<&str> = listed.text.lines().collect();
    assert_eq!(lines.len(), 2, "{listed:?}");
    assert!(lines[0].starts_with(&format!("-\t{mess}\t")) && lines[0].ends_with("a mess, with words"));
    assert!(lines[0].contains("changed +2 ~1 -1"), "{listed:?}");
    assert!(lines[1].starts_with(&format!("s1\t{id}\t")) && lines[1].ends_with("before"));
    let all = client.call("session_checkpoints", json!({})).ok();
    let told: Value = serde_json::from_str(&all.text).unwrap();
    assert_eq!(told[0]["id"], mess.as_str(), "{all:?}");
    assert_eq!(told[0]["label"], "a mess, with words");
    assert_eq!(told[1]["label"], "before");
    assert!(told[1]["created"].as_str().unwrap().ends_with('Z'));
    // An array is a structured result only in the newer era.
    let is_newer = era == Era::Stateless;
    assert_eq!(all.structured == told, is_newer, "{all:?}");
    let between = client
        .call("snapshot_diff", json!({"name": "s1", "to": mess}))
        .ok();
    assert_eq!(between.structured["changes"], diff.structured["changes"]);
    // What would be done, then a part of it, then all.
    let plan = client
        .call("snapshot_restore", json!({"name": "s1", "dry_run": true}))
        .ok();
    assert!(
        plan.text
            .starts_with("would restore snapshot s1 (4 file(s) would change):"),
        "{plan:?}"
    );
    assert_same_tree(&bad, &Tree::read(&project));
    let part = client
        .call("snapshot_restore", json!({"name": "s1", "paths": ["a"]}))
        .ok();
    assert_eq!(
        part.text,
        format!(
            "restored snapshot s1 (1 file(s) changed):\n{}",
            project.join("a").display()
        )
    );
    assert!(project.join("junk").exists());
    let whole = client.call("snapshot_restore", json!({"name": id})).ok();
    assert!(
        whole
            .text
            .starts_with("restored snapshot s1 (3 file(s) changed):\n"),
        "{whole:?}"
    );
    assert_eq!(whole.at("/restored_to"), id);
    assert_eq!(whole.at("/outcome"), "restored");
    assert_same_tree(&good, &Tree::read(&project));
    let nothing = client.call("snapshot_restore", json!({"name": "s1"})).ok();
    assert_eq!(nothing.text, "restored snapshot s1 (no files changed)");
    let planned = client
        .call("snapshot_restore", json!({"name": "s1", "dry_run": true}))
        .ok();
    assert_eq!(planned.text, "would restore snapshot s1 (no files would change)");
    // The newest one, without a word.
    let newest = client.call("session_restore", json!({})).ok();
    assert_eq!(
        newest.structured,
        json!({"restored_to": mess, "files_changed": 4})
    );
    assert_eq!(
        serde_json::from_str::<Value>(&newest.text).unwrap(),
        newest.structured
    );
    assert_same_tree(&bad, &Tree::read(&project));
    let back = client.call("session_restore", json!({"checkpoint_id": id})).ok();
    assert_eq!(back.at("/restored_to"), id);
    assert_same_tree(&good, &Tree::read(&project));
    // A copy, and what names it, in the place of a name: as text and as an object.
    let fork = client
        .call("snapshot_fork", json!({"name": mess, "branch": "try"}))
        .ok();
    let directory = PathBuf::from(fork.at("/directory"));
    assert!(
        directory.starts_with(sandbox.home().join(".jackin/data/forks")),
        "{fork:?}"
    );
    assert_eq!(fs::read_to_string(directory.join("a")).unwrap(), "of the agent\n");
    let reference = json!({
        "provider": fork.structured["provider"], "id": fork.structured["id"],
        "snapshot": fork.structured["snapshot"], "mounts": fork.structured["mounts"],
    });
    for named in [
        reference.clone(),
        json!(reference.to_string()),
        fork.structured.clone(),
    ] {
        let diff = client.call("snapshot_diff", json!({"name": named})).ok();
        assert_eq!(diff.at("/from"), mess);
    }
    let again = client.call("snapshot_fork", json!({"name": reference})).ok();
    assert_eq!(again.at("/snapshot"), mess);
    client.call("snapshot_restore", json!({"name": reference})).ok();
    assert_same_tree(&bad, &Tree::read(&project));
    client
        .call("snapshot_fork", json!({"branch": "try"}))
        .refused("\"try\"");
    client.end();
    // Every one of them can be taken back by the operator, and the session whole.
    let session = only(&sandbox);
    sandbox.jackin(["end", &session]).ok();
    sandbox.jackin(["undo", &session, "--yes"]).ok();
    assert_same_tree(&good, &Tree::read(&project));
    sandbox.jackin(["log", "--verify"]).ok();
    sandbox.no_litter();
}

#[test]
#[cfg_attr(not(feature = "mcp"), ignore = "the feature mcp is not built")]
fn every_tool_after_a_handshake() {
    every_tool(Era::Initialize);
}

#[test]
#[cfg_attr(not(feature = "mcp"), ignore = "the feature mcp is not built")]
fn every_tool_without_one() {
    every_tool(Era::Stateless);
}

#[test]
#[cfg_attr(not(feature = "mcp"), ignore = "the feature mcp is not built")]
fn each_tool_says_what_it_takes_gives_and_does() {
    let (sandbox, project) = workspace(ALLOWED);
    for era in [Era::Initialize, Era::Stateless] {
        let mut client = Client::start(&sandbox, &project, &[], era);
        for (name, tool) in client.tools() {
            let hint = |key: &str| tool["annotations"][key].as_bool().unwrap();
            let reads = ["snapshot_list", "snapshot_diff", "session_checkpoints"].contains(&name.as_str());
            let restores = ["snapshot_restore", "session_restore"].contains(&name.as_str());
            assert_eq!(hint("readOnlyHint"), reads, "{tool}");
            assert_eq!(hint("destructiveHint"), restores, "{tool}");
            assert!(!hint("openWorldHint"), "{tool}");
            assert!(tool["description"].as_str().unwrap().len() > 20 && tool["title"].is_string());
            let input = &tool["inputSchema"];
            assert_eq!(input["type"], "object", "{tool}");
            assert_eq!(input["additionalProperties"], false, "{tool}");
            jsonschema::meta::validate(input).unwrap();
            for (argument, schema) in input["properties"].as_object().into_iter().flatten() {
                assert!(
                    schema["type"].is_string() && schema["description"].is_string(),
                    "{name} {argument}"
                );
                assert!(schema.get("default").is_none(), "{name} {argument}: {schema}");
            }
            // An array is no structured result before there was one.
            let array = name == "session_checkpoints" && era == Era::Initialize;
            assert_eq!(tool.get("outputSchema").is_none(), array, "{tool}");
        }
        client.end();
    }
}

/// What each tool gives is what it said that it gives.
#[test]
#[cfg_attr(not(feature = "mcp"), ignore = "the feature mcp is not built")]
fn results_fit_their_schemas() {
    let (sandbox, project) = workspace(ALLOWED);
    let mut client = Client::start(&sandbox, &project, &[], Era::Stateless);
    let schemas: Vec<(String, Value)> = client
        .tools()
        .into_iter()
        .map(|(name, tool)| (name, tool["outputSchema"].clone()))
        .collect();
    client.call("snapshot_create", json!({})).ok();
    fs::write(project.join("new"), "new").unwrap();
    for (name, schema) in schemas {
        let arguments = if name == "snapshot_restore" {
            json!({"name": "checkpoint"})
        } else {
            json!({})
        };
        let called = client.call(&name, arguments).ok();
        let validator = jsonschema::validator_for(&schema).unwrap();
        let faults: Vec<String> = validator
            .iter_errors(&called.structured)
            .map(|error| error.to_string())
            .collect();
        assert!(faults.is_empty(), "{name}: {faults:?} {called:?}");
    }
    client.end();
}

/// An agent calls its hook.
fn hook(sandbox: &Sandbox, project: &Path, event: &str, tool: &str) {
    let said = json!({
        "session_id": "s", "cwd": project, "hook_event_name": event, "source": "startup",
        "tool_name": tool, "tool_input": {}, "tool_use_id": "t",
    });
    sandbox.tell("claude", event, said.to_string().as_bytes()).ok();
}

#[test]
#[cfg_attr(not(feature = "mcp"), ignore = "the feature mcp is not built")]
fn a_hook_joins_the_session_that_the_tools_began() {
    let (sandbox, project) = workspace(ALLOWED);
    let mut client = Client::start(&sandbox, &project, &[], Era::Stateless);
    client.call("snapshot_create", json!({"name": "s1"})).ok();
    let id = only(&sandbox);
    hook(&sandbox, &project, "SessionStart", "");
    fs::write(project.join("a"), "changed\n").unwrap();
    hook(&sandbox, &project, "PreToolUse", "Write");
    assert_eq!(only(&sandbox), id);
    let listed = client.call("snapshot_list", json!({})).ok();
    assert!(listed.text.contains("before Write, t"), "{listed:?}");
    // It ends when the agent does, not when one of its conversations does.
    hook(&sandbox, &project, "SessionEnd", "");
    client.call("snapshot_restore", json!({"name": "s1"})).ok();
    client.end();
}

#[test]
#[cfg_attr(not(feature = "mcp"), ignore = "the feature mcp is not built")]
fn a_session_that_a_hook_began_is_the_one() {
    let (sandbox, project) = workspace(ALLOWED);
    let hook = |event: &str, tool: &str| hook(&sandbox, &project, event, tool);
    hook("SessionStart", "");
    let id = only(&sandbox);
    let mut client = Client::start(&sandbox, &project, &[], Era::Initialize);
    fs::write(project.join("a"), "good\n").unwrap();
    let made = client.call("session_checkpoint", json!({})).ok();
    fs::write(project.join("a"), "bad\n").unwrap();
    // As the agent does: a hook runs before each call of a tool. Before one of ours it marks nothing, or the newest would be what is there.
    hook("PreToolUse", "mcp__jackin-recovery__session_restore");
    let went = client.call("session_restore", json!({})).ok();
    assert_eq!(went.at("/restored_to"), made.at("/checkpoint_id"));
    assert_eq!(fs::read_to_string(project.join("a")).unwrap(), "good\n");
    // Before another's it does.
    fs::write(project.join("a"), "worse\n").unwrap();
    hook("PreToolUse", "mcp__another__session_restore");
    let listed = client.call("snapshot_list", json!({})).ok();
    assert_eq!(listed.at("/instance"), id);
    assert!(
        listed.text.contains("before mcp__another__session_restore, t"),
        "{listed:?}"
    );
    let call = &listed.structured["snapshots"][0]["call"];
    assert_eq!(*call, json!({"tool": "mcp__another__session_restore", "id": "t"}));
    // An agent that says no server's name may mean ours: what was marked before such a call is not where it wants to go.
    let went = client.call("session_restore", json!({})).ok();
    assert_eq!(went.at("/restored_to"), made.at("/checkpoint_id"));
    assert_eq!(fs::read_to_string(project.join("a")).unwrap(), "good\n");
    client.end();
}
