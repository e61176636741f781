//! Conversations of agents: the command that continues one after its files were restored, and the sessions of one that was resumed.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::conversation::Conversation;
use crate::support::machine::binary;
use crate::support::run::Run;
use crate::support::sandbox::Sandbox;

/// Id of a conversation as most clients make them.
const ID: &str = "0c5e2f10-5a3b-4a0e-9c11-6f2d7b8e9a01";

fn workspace() -> (Sandbox, PathBuf) {
    let sandbox = Sandbox::new();
    let project = sandbox.captured("shop", "");
    fs::write(project.join("a"), "before\n").unwrap();
    (sandbox, project)
}

/// Reports a session of an agent in which a file changed, with the agent's names for its events and ids.
fn reported(sandbox: &Sandbox, project: &Path, agent: &str, id: &str) {
    let [start, end, key] = match agent {
        "opencode" => ["session.created", "session.deleted", "sessionID"],
        "cursor" => ["sessionStart", "sessionEnd", "conversation_id"],
        "copilot" => ["sessionStart", "sessionEnd", "sessionId"],
        _ => ["SessionStart", "SessionEnd", "session_id"],
    };
    let event = json!({key: id, "cwd": project}).to_string();
    sandbox.tell(agent, start, event.as_bytes()).ok();
    fs::write(project.join("a"), "agent\n").unwrap();
    sandbox.tell(agent, end, event.as_bytes()).ok();
}

/// Restores the newest session of the project, and returns what was said and the document of its undo.
fn restored(sandbox: &Sandbox, project: &Path) -> (Run, Value) {
    let run = |words: &[&str]| sandbox.command(words).inside(project).run().ok();
    let said = run(&["restore", "--yes"]);
    let undone = run(&["undo", "--yes", "--json"]).json();
    (said, undone["conversation"].clone())
}

#[test]
fn a_restore_names_the_command_that_continues_the_conversation() {
    for (agent, id, command, then) in [
        (
            "claude",
            ID,
            "claude --resume 0c5e2f10-5a3b-4a0e-9c11-6f2d7b8e9a01",
            "/rewind",
        ),
        (
            "codex",
            ID,
            "codex resume 0c5e2f10-5a3b-4a0e-9c11-6f2d7b8e9a01",
            "Esc Esc",
        ),
        (
            "gemini",
            ID,
            "gemini --resume 0c5e2f10-5a3b-4a0e-9c11-6f2d7b8e9a01",
            "/rewind",
        ),
        ("opencode", "ses_5f3aB", "opencode --session ses_5f3aB", "/undo"),
        (
            "copilot",
            ID,
            "copilot --resume=0c5e2f10-5a3b-4a0e-9c11-6f2d7b8e9a01",
            "/rewind",
        ),
    ] {
        let (sandbox, project) = workspace();
        reported(&sandbox, &project, agent, id);
        let (said, conversation) = restored(&sandbox, &project);
        let line = format!("to roll back the conversation as well (then {then}):");
        said.has("to undo: jackin recovery undo\n")
            .has(&line)
            .has(command);
        let expected = json!({"agent": agent, "id": id, "command": command, "then": then});
        assert_eq!(conversation, expected);
        sandbox.command(["undo", "--yes"]).inside(&project).run().ok();
        let said = sandbox.command(["undo", "--yes"]).inside(&project).run().ok();
        said.has("to continue the conversation:").has(command);
        let shown = sandbox.command(["show"]).inside(&project).run().ok();
        shown.has(&format!("continue   {command}\n"));
        // Elsewhere the client would not find it.
        let id = sandbox.jackin(["list", "--json"]).ok().json()["instances"][0]["id"].clone();
        let elsewhere = sandbox.jackin(["undo", id.as_str().unwrap(), "--yes"]).ok();
        elsewhere.has(&format!("cd {} && {command}", project.display()));
    }
}

#[test]
fn an_id_that_no_client_gives_and_a_client_without_a_command_name_none() {
    for (agent, id) in [
        ("claude", "--dangerously-skip-permissions"),
        ("claude", "x; rm -rf ~"),
        ("codex", "$(touch pwned)"),
        ("copilot", "a\nb\u{1b}[2J"),
        ("gemini", "latest"),
        ("cursor", ID),
    ] {
        let (sandbox, project) = workspace();
        reported(&sandbox, &project, agent, id);
        let (said, conversation) = restored(&sandbox, &project);
        assert!(!said.said().contains("conversation"), "{said}");
        let expected = json!({"agent": agent, "id": id, "command": null, "then": null});
        assert_eq!(conversation, expected);
        let shown = sandbox.command(["show"]).inside(&project).run().ok();
        assert!(!shown.text().contains("continue  "), "{shown}");
        shown.harmless();
    }
}

#[test]
fn a_session_without_an_agent_has_no_conversation() {
    let (sandbox, project) = workspace();
    let id = sandbox.launch(&project, "echo agent > a");
    let restored = sandbox.jackin(["restore", &id, "--yes", "--json"]).ok().json();
    assert_eq!(restored["conversation"], Value::Null);
    let undone = sandbox.jackin(["undo", &id, "--yes"]).ok();
    assert!(!undone.said().contains("conversation"), "{undone}");
}

#[test]
fn the_sessions_of_a_resumed_conversation_are_one_history() {
    let (sandbox, project) = workspace();
    for (session, text) in [(ID, "one"), ("other", "two"), (ID, "three")] {
        let mut agent = Conversation::new(&sandbox, &project, session);
        agent.turn("again", &format!("echo {text} > a"));
        agent.end();
        agent.run().ok();
    }
    let ids = |words: &[&str]| -> Vec<String> {
        let listed = sandbox.jackin(words).ok().json();
        let all = listed["instances"].as_array().unwrap().iter();
        all.map(|one| one["id"].as_str().unwrap().to_owned()).collect()
    };
    let all = ids(&["list", "--json"]);
    let (newest, oldest) = (&all[0], &all[2]);
    assert_eq!(
        ids(&["list", "--conversation", ID, "--json"]),
        [newest.clone(), oldest.clone()]
    );
    assert!(ids(&["list", "--conversation", "none", "--json"]).is_empty());
    sandbox
        .jackin(["list", "--conversation", "none"])
        .ok()
        .has("no session of the conversation none");
    let line = format!("one conversation of claude {ID}: {newest}, {oldest}");
    sandbox.jackin(["list"]).ok().has(&line);
    let shown = sandbox.jackin(["show", newest, "--json"]).ok().json();
    assert_eq!(shown["conversation_sessions"], json!([oldest]));
    assert_eq!(shown["instance"]["conversation"]["id"], ID);
    sandbox
        .jackin(["show", oldest])
        .ok()
        .has(&format!("also in    {newest} (the same conversation)\n"));
    // The index is made again from the log.
    sandbox.jackin(["rebuild"]).ok();
    sandbox.jackin(["list"]).ok().has(&line);
}

/// An agent that was launched, and that reports its conversation.
#[test]
fn a_launched_agent_has_its_conversation() {
    let (sandbox, project) = workspace();
    let event = json!({"session_id": ID, "cwd": project, "prompt": "please"}).to_string();
    let file = sandbox.scratch("prompt");
    fs::write(&file, event).unwrap();
    let script = format!(
        "'{}' recovery hook run claude UserPromptSubmit < '{}' && echo agent > a",
        binary().display(),
        file.display()
    );
    let id = sandbox.launch(&project, &script);
    let shown = sandbox.jackin(["show", &id]).ok();
    shown.has(&format!("agent      claude, its session {ID}\n"));
    let restored = sandbox.jackin(["restore", &id, "--yes", "--json"]).ok().json();
    assert_eq!(
        restored["conversation"]["command"],
        format!("claude --resume {ID}")
    );
}
