//! Turns that never began, or whose end was not reported: what the operator did meanwhile stays.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::conversation::{Conversation, report};
use crate::support::documents::{Restored, instances};
use crate::support::sandbox::Sandbox;

/// A workspace that is captured, with files that lie there.
fn workspace(more: &str) -> (Sandbox, PathBuf) {
    let sandbox = Sandbox::new();
    let project = sandbox.captured("shop", more);
    for name in ["mine", "yours"] {
        fs::write(project.join(name), "before\n").unwrap();
    }
    (sandbox, project)
}

fn newest(sandbox: &Sandbox) -> String {
    instances(&sandbox.jackin(["list", "--json"]).ok())[0].id.clone()
}

fn read(project: &Path, name: &str) -> String {
    fs::read_to_string(project.join(name)).unwrap_or_else(|_| "missing".to_owned())
}

/// In another window.
const EDITS: &str = "echo operator > yours; echo operator > notes";

#[test]
fn an_agent_that_was_opened_and_closed_did_nothing() {
    for ends in [true, false] {
        let (sandbox, project) = workspace("");
        let mut agent = Conversation::new(&sandbox, &project, "s");
        agent.shell(EDITS);
        if ends {
            agent.end();
        }
        agent.run().ok();
        let id = newest(&sandbox);
        let restored = sandbox.jackin(["restore", &id, "--yes", "--json"]).code(6);
        Restored::of(&restored).conflicted(&["notes", "yours"]);
        if ends {
            assert!(
                restored.text().contains("\"changed between turns\""),
                "{restored}"
            );
        }
        assert_eq!(read(&project, "yours"), "operator\n");
        assert_eq!(read(&project, "notes"), "operator\n");
        sandbox
            .jackin([
                "restore",
                &id,
                "--yes",
                "--overwrite-later-edits",
                "--delete-later-files",
            ])
            .ok();
        assert_eq!(
            (read(&project, "yours"), read(&project, "notes")),
            ("before\n".into(), "missing".into())
        );
    }
}

#[test]
fn what_is_edited_before_the_first_prompt_of_a_launched_agent_stays() {
    let (sandbox, project) = workspace("");
    let mut agent = Conversation::new(&sandbox, &project, "s");
    agent.shell(EDITS);
    agent.turn("improve it", "echo agent > mine; echo agent > made");
    agent.end();
    agent.launch().ok();
    let id = newest(&sandbox);
    let restored = sandbox.jackin(["restore", &id, "--yes", "--json"]).code(6);
    let document = Restored::of(&restored);
    document.conflicted(&["notes", "yours"]);
    document.touched(&["made", "mine"]);
}

#[test]
fn what_is_edited_after_an_interrupted_turn_stays() {
    // Without an end of the turn, a return of the call, or either; also in a later turn.
    for (turns, returns) in [(0, true), (0, false), (2, true)] {
        let (sandbox, project) = workspace("");
        let mut agent = Conversation::new(&sandbox, &project, "s");
        for number in 0..turns {
            agent.turn(&format!("turn {number}"), &format!("echo agent > made-{number}"));
        }
        agent.prompt("improve it");
        let call = json!({"tool_name": "Bash", "tool_input": {"command": "x"}, "tool_use_id": "last"});
        agent.hook("PreToolUse", &call);
        agent.shell("echo agent > mine");
        if returns {
            agent.hook("PostToolUse", &call);
        }
        agent.shell(EDITS);
        agent.end();
        agent.run().ok();
        let id = newest(&sandbox);
        let restored = sandbox.jackin(["restore", &id, "--yes", "--json"]).code(6);
        // Nothing was looked at between the call and the edits.
        Restored::of(&restored).conflicted(&["mine", "notes", "yours"]);
        assert_eq!(read(&project, "yours"), "operator\n");
        assert_eq!(read(&project, "notes"), "operator\n");
        for number in 0..turns {
            assert_eq!(read(&project, &format!("made-{number}")), "missing");
        }
    }
}

#[test]
fn an_agent_that_only_waits_has_no_part_in_what_another_one_does() {
    let (sandbox, project) = workspace("");
    let hook = |session: &str, event: &str, more: &Value| report(&sandbox, &project, session, event, more);
    hook("idle", "SessionStart", &json!({}));
    hook("busy", "SessionStart", &json!({}));
    hook("busy", "UserPromptSubmit", &json!({"prompt": "p"}));
    let call = json!({"tool_name": "Bash", "tool_input": {"command": "x"}, "tool_use_id": "b"});
    hook("busy", "PreToolUse", &call);
    fs::write(project.join("mine"), "agent\n").unwrap();
    hook("busy", "PostToolUse", &call);
    hook("busy", "Stop", &json!({}));
    hook("busy", "SessionEnd", &json!({}));
    hook("idle", "SessionEnd", &json!({}));
    let all = instances(&sandbox.jackin(["list", "--json"]).ok());
    let ids: Vec<&str> = all.iter().map(|session| session.id.as_str()).collect();
    let restored = sandbox.jackin(["restore", ids[0], "--yes", "--json"]).ok();
    Restored::of(&restored).touched(&["mine"]);
    assert_eq!(read(&project, "mine"), "before\n");
    let other = sandbox.jackin(["restore", ids[1], "--yes", "--json"]).ok();
    Restored::of(&other).touched::<&str>(&[]);
}

#[test]
fn pruned_checkpoints_do_not_make_later_turns_doubtful() {
    let (sandbox, project) = workspace("[recovery.retention]\ncheckpoints = 2\n");
    let mut agent = Conversation::new(&sandbox, &project, "s");
    for number in 1..=5 {
        agent.turn(&format!("turn {number}"), &format!("echo agent > made-{number}"));
        if number == 2 {
            agent.shell(EDITS);
        }
    }
    agent.end();
    agent.run().ok();
    let id = newest(&sandbox);
    let restored = sandbox.jackin(["restore", &id, "--yes", "--json"]).code(6);
    let document = Restored::of(&restored);
    document.touched(&["made-5"]);
    assert_eq!(read(&project, "yours"), "operator\n");
    assert_eq!(read(&project, "made-5"), "missing");
}

#[test]
fn an_agent_discards_no_later_edit() {
    let (sandbox, project) = workspace("");
    let mut agent = Conversation::new(&sandbox, &project, "s");
    agent.turn("one", "echo agent > mine");
    agent.shell(EDITS);
    agent.prompt("two");
    let refused =
        "\"$jackin\" recovery restore --from \"$point\" --yes --overwrite-later-edits --delete-later-files";
    agent.shell("point=$(\"$jackin\" recovery show --json | tr ',' '\\n' | sed -n 's/.*\"id\":\"\\(sn-[^\"]*\\)\".*/\\1/p' | tail -n 2 | head -n 1)");
    let (first, second) = (sandbox.scratch("first"), sandbox.scratch("second"));
    agent.shell(&format!("{refused} > '{}' 2>&1; test $? = 3", first.display()));
    agent.shell(&format!(
        "\"$jackin\" recovery restore --from \"$point\" --yes > '{}' 2>&1; test $? = 6",
        second.display()
    ));
    agent.stop();
    agent.end();
    agent.run().ok();
    let told = fs::read_to_string(first).unwrap();
    assert!(told.contains("later edits are not discarded"), "{told}");
    let told = fs::read_to_string(second).unwrap();
    assert!(!told.contains("--overwrite-later-edits"), "{told}");
    assert_eq!(read(&project, "yours"), "operator\n");
}

/// Two agents in one directory, of which the second leaves some files out. Both are asked for something.
fn two_with_other_excludes(hook: &dyn Fn(&str, &str, &Value), sandbox: &Sandbox, project: &Path) {
    let begin = |session: &str| {
        hook(session, "SessionStart", &json!({}));
        hook(session, "UserPromptSubmit", &json!({"prompt": session}));
    };
    begin("one");
    let mount = format!("[[mounts]]\nsrc = \"{}\"\ndst = \"/w\"", project.display());
    let excludes = "exclude = [\"*.log\"]";
    let recovery = format!("[recovery]\nsnapshot = \"project\"\n{excludes}\n");
    sandbox.configure("workspaces/shop.toml", &format!("{mount}\n\n{recovery}"));
    begin("two");
}

fn bash(id: &str) -> Value {
    json!({"tool_name": "Bash", "tool_input": {"command": "x"}, "tool_use_id": id})
}

/// The content of a file that is written names no other file, also where it looks like a patch.
#[test]
fn a_patch_that_is_written_to_a_file_names_no_other_file() {
    let (sandbox, project) = workspace("");
    let hook = |session: &str, event: &str, more: &Value| report(&sandbox, &project, session, event, more);
    for session in ["one", "two"] {
        hook(session, "SessionStart", &json!({}));
        hook(session, "UserPromptSubmit", &json!({"prompt": session}));
    }
    let patch = "*** Begin Patch\n*** Update File: mine\n@@\n-before\n+after\n*** End Patch\n";
    let file = project.join("fix.patch");
    let write = json!({"tool_name": "Write", "tool_input": {"file_path": file, "content": patch}, "tool_use_id": "w"});
    hook("one", "PreToolUse", &write);
    fs::write(&file, patch).unwrap();
    // By a way that its client does not report.
    fs::write(project.join("mine"), "work of the second agent\n").unwrap();
    hook("one", "PostToolUse", &write);
    for session in ["one", "two"] {
        hook(session, "Stop", &json!({}));
        hook(session, "SessionEnd", &json!({}));
    }
    let all = instances(&sandbox.jackin(["list", "--json"]).ok());
    let restored = sandbox.jackin(["restore", &all[1].id, "--yes", "--json"]).code(6);
    Restored::of(&restored).conflicted(&["mine"]);
    assert!(!file.exists());
    assert_eq!(read(&project, "mine"), "work of the second agent\n");
}

/// That a snapshot of another session does not have what that session leaves out proves nothing of it.
#[test]
fn what_another_session_leaves_out_is_not_proved_absent() {
    let (sandbox, project) = workspace("");
    let hook = |session: &str, event: &str, more: &Value| report(&sandbox, &project, session, event, more);
    two_with_other_excludes(&hook, &sandbox, &project);
    hook("one", "PreToolUse", &bash("1"));
    hook("two", "PreToolUse", &bash("2"));
    fs::write(project.join("build.log"), "a log of the second agent\n").unwrap();
    hook("two", "PostToolUse", &bash("2"));
    hook("two", "Stop", &json!({}));
    hook("one", "PostToolUse", &bash("1"));
    hook("one", "PreToolUse", &bash("3"));
    fs::write(project.join("mine"), "agent\n").unwrap();
    fs::rename(project.join("build.log"), project.join("other.log")).unwrap();
    hook("one", "PostToolUse", &bash("3"));
    hook("one", "Stop", &json!({}));
    for session in ["one", "two"] {
        hook(session, "SessionEnd", &json!({}));
    }
    let all = instances(&sandbox.jackin(["list", "--json"]).ok());
    let restored = sandbox.jackin(["restore", &all[1].id, "--yes", "--json"]).code(6);
    Restored::of(&restored).conflicted(&["other.log"]);
    assert_eq!(read(&project, "mine"), "before\n");
    assert_eq!(read(&project, "other.log"), "a log of the second agent\n");
}

/// Nor does it part what the operator made from what the agent makes of it.
#[test]
fn a_look_that_leaves_a_path_out_loses_no_track_of_it() {
    let (sandbox, project) = workspace("");
    let hook = |session: &str, event: &str, more: &Value| report(&sandbox, &project, session, event, more);
    two_with_other_excludes(&hook, &sandbox, &project);
    hook("one", "Stop", &json!({}));
    fs::write(project.join("notes.log"), "operator\n").unwrap();
    hook("one", "UserPromptSubmit", &json!({"prompt": "two"}));
    hook("two", "PreToolUse", &bash("1"));
    fs::write(project.join("yours"), "agent\n").unwrap();
    hook("two", "PostToolUse", &bash("1"));
    hook("two", "Stop", &json!({}));
    hook("one", "PreToolUse", &bash("2"));
    fs::rename(project.join("notes.log"), project.join("moved.log")).unwrap();
    fs::write(project.join("moved.log"), "operator\nagent\n").unwrap();
    hook("one", "PostToolUse", &bash("2"));
    hook("one", "Stop", &json!({}));
    for session in ["one", "two"] {
        hook(session, "SessionEnd", &json!({}));
    }
    let all = instances(&sandbox.jackin(["list", "--json"]).ok());
    let restored = sandbox.jackin(["restore", &all[1].id, "--yes"]).code(6);
    assert_eq!(read(&project, "moved.log"), "operator\nagent\n", "{restored}");
}
