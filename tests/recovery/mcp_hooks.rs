//! The tools of an agent whose hooks run as well: both have one session and the same checkpoints.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::support::mcp::{ALLOWED, Client, Era, only, workspace};
use crate::support::sandbox::Sandbox;

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
    assert!(listed.text.contains("before Write"), "{listed:?}");
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
        listed.text.contains("before mcp__another__session_restore"),
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

/// The work of the first prompt can be undone by an agent that may restore checkpoints only.
#[test]
#[cfg_attr(not(feature = "mcp"), ignore = "the feature mcp is not built")]
fn the_first_prompt_has_a_checkpoint_before_it() {
    let (sandbox, project) = workspace(ALLOWED);
    let prompt = |text: &str| {
        let said = json!({"session_id": "s", "cwd": project, "prompt": text}).to_string();
        sandbox.tell("claude", "UserPromptSubmit", said.as_bytes()).ok();
    };
    let hook = |event: &str, tool: &str| hook(&sandbox, &project, event, tool);
    let before = fs::read(project.join("a")).unwrap();
    hook("SessionStart", "");
    prompt("Free some disk space");
    hook("PreToolUse", "Bash");
    fs::remove_file(project.join("a")).unwrap();
    hook("Stop", "");
    prompt("Undo your work");
    let mut client = Client::start(&sandbox, &project, &[], Era::Initialize);
    let listed = client.call("snapshot_list", json!({})).ok();
    // One before the prompt, one after the work; none before the call, when nothing had changed.
    assert_eq!(listed.structured["total"], 2, "{listed:?}");
    assert_eq!(
        listed.at("/snapshots/1/description"),
        "before turn 1: Free some disk space"
    );
    let first = listed.at("/snapshots/1/id");
    client.call("snapshot_restore", json!({"name": first})).ok();
    assert_eq!(fs::read(project.join("a")).unwrap(), before);
    client.end();
}

/// The commands of an agent are inside each of its sessions: they end none, and restore nothing of an ended one while another one lives.
#[test]
fn an_agent_with_hooks_ends_no_session_and_restores_none_that_has_ended() {
    let sandbox = Sandbox::new();
    let (one, two) = (sandbox.captured("one", ""), sandbox.captured("two", ""));
    for project in [&one, &two] {
        fs::write(project.join("a"), "base\n").unwrap();
    }
    let told = |session: &str, project: &Path, event: &str| {
        let said =
            json!({"session_id": session, "cwd": project, "prompt": "work", "source": "startup"}).to_string();
        sandbox.tell("claude", event, said.as_bytes()).ok();
    };
    told("s1", &one, "SessionStart");
    fs::write(one.join("a"), "agent\n").unwrap();
    told("s1", &one, "Stop");
    fs::write(one.join("a"), "mine\n").unwrap();
    let first = only(&sandbox);
    let forced = ["restore", &first, "--yes", "--overwrite-later-edits"];
    sandbox
        .jackin(["end", &first])
        .code(3)
        .shows("not allowed from inside");
    sandbox.jackin(forced).code(3);
    told("s1", &one, "SessionEnd");
    told("s2", &two, "SessionStart");
    sandbox.jackin(forced).code(3).shows("not allowed from inside");
    assert_eq!(fs::read_to_string(one.join("a")).unwrap(), "mine\n");
    let second = sandbox.newest();
    sandbox.command(forced).by_the_operator().run().ok();
    assert_eq!(fs::read_to_string(one.join("a")).unwrap(), "base\n");
    sandbox.command(["end", &second]).by_the_operator().run().ok();
}
