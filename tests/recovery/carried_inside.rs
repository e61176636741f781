//! From inside a session whose files lie on other machines: `exec`, and hooks of agents.

use std::fs;

use serde_json::json;

use crate::carried::{chosen, project};
use crate::support::carried::Kind;
use crate::support::compare::assert_same_tree;
use crate::support::documents::instances;
use crate::support::sandbox::Sandbox;

/// The kinds of snapshots of the only session, and its id.
fn kinds(sandbox: &Sandbox) -> (String, Vec<String>) {
    let all = instances(&sandbox.jackin(["list", "--json"]).ok());
    assert_eq!(all.len(), 1, "{all:?}");
    let kinds = all[0].snapshots.iter().map(|one| one.kind.clone()).collect();
    (all[0].id.clone(), kinds)
}

#[test]
fn a_command_that_may_change_something_there_has_a_checkpoint_before_it() {
    for kind in chosen(Kind::Pod) {
        let Some(sandbox) = Sandbox::carried(kind) else {
            continue;
        };
        let project = project(&sandbox);
        let target = sandbox.target(&project);
        sandbox.jackin(["begin", "--snapshot", "project", &target]).ok();
        let (id, _) = kinds(&sandbox);
        fs::write(project.join("own/a"), "by the agent\n").unwrap();
        let between = sandbox.tree(&project);
        let key = project.join("key");
        sandbox
            .jackin(["exec", &id, "--", "rm", key.to_str().unwrap()])
            .ok();
        assert_eq!(kinds(&sandbox).1, ["checkpoint", "baseline"], "{kind:?}");
        sandbox.jackin(["end", &id]).ok();
        let back = ["restore", &id, "--from", "checkpoint", "--yes"];
        sandbox.jackin(back).ok();
        assert_same_tree(&between, &sandbox.tree(&project));
    }
}

#[test]
fn a_hook_takes_checkpoints_of_what_lies_on_other_machines() {
    for kind in chosen(Kind::Docker) {
        let Some(sandbox) = Sandbox::carried(kind) else {
            continue;
        };
        // The agent works here; what it may change lies here and there.
        let there = project(&sandbox);
        let here = sandbox.project("here");
        let mounts = format!(
            "[[mounts]]\nsrc = \"{}\"\ndst = \"/here\"\n[[mounts]]\nsrc = \"{}\"\ndst = \"/there\"\n\n[recovery]\nsnapshot = \"project\"\n",
            here.display(),
            sandbox.target(&there)
        );
        sandbox.configure("workspaces/both.toml", &mounts);
        let say = |event: &str, id: &str| {
            let what = json!({
                "session_id": "session-1", "transcript_path": "/x/transcript.jsonl", "cwd": here, "permission_mode": "default",
                "hook_event_name": event, "source": "startup", "tool_name": "Bash",
                "tool_input": {"command": "make install"}, "tool_use_id": id,
            });
            sandbox.tell("claude", event, what.to_string().as_bytes()).ok();
        };
        say("SessionStart", "0");
        assert_eq!(kinds(&sandbox).1, ["baseline"], "{kind:?}");
        say("PreToolUse", "1");
        fs::remove_file(there.join(".env")).unwrap();
        say("PreToolUse", "2");
        let (id, taken) = kinds(&sandbox);
        assert_eq!(taken, ["checkpoint", "baseline"], "{kind:?}: only what changed");
        let diff = ["diff", &id, "--from", "baseline", "--to", "checkpoint"];
        sandbox.jackin(diff).code_in(&[0, 1]).shows("D .env");
    }
}
