//! Conversations of agents: the command that continues one after its files were restored, and the sessions of one that was resumed.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::conversation::Conversation;
use crate::support::documents::instances;
use crate::support::machine::binary;
use crate::support::patience::{await_file, await_that};
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
    let [start, tool, end, key] = match agent {
        "opencode" => [
            "session.created",
            "tool.execute.before",
            "session.deleted",
            "sessionID",
        ],
        "cursor" => ["sessionStart", "preToolUse", "sessionEnd", "conversation_id"],
        "copilot" => ["sessionStart", "preToolUse", "sessionEnd", "sessionId"],
        "gemini" => ["SessionStart", "BeforeTool", "SessionEnd", "session_id"],
        _ => ["SessionStart", "PreToolUse", "SessionEnd", "session_id"],
    };
    let event = json!({key: id, "cwd": project}).to_string();
    sandbox.tell(agent, start, event.as_bytes()).ok();
    let call = json!({key: id, "cwd": project, "tool_name": "Bash", "tool_input": {"command": "x"}, "tool_use_id": "t"});
    sandbox.tell(agent, tool, call.to_string().as_bytes()).ok();
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

/// Two clients at once: of an agent that gives no ids, or with one conversation open in both.
#[test]
fn the_end_of_one_client_is_not_the_end_of_another() {
    for id in ["", ID] {
        let (sandbox, project) = workspace();
        fs::write(project.join("b"), "before\n").unwrap();
        let states = || -> Vec<String> {
            let all = instances(&sandbox.jackin(["list", "--json"]).ok());
            all.into_iter().map(|one| one.status).collect()
        };
        let [leave, called, work] = ["leave", "called", "work"].map(|name| sandbox.scratch(name));
        let wait = |file: &Path| format!("until [ -e '{}' ]; do sleep 0.05; done", file.display());
        let mut first = Conversation::new(&sandbox, &project, id);
        first.shell(&wait(&leave));
        // The other one is killed, so to speak.
        if id.is_empty() {
            first.end();
        }
        let mut second = Conversation::new(&sandbox, &project, id);
        second.prompt("work");
        second.call_that("slow", |agent| {
            agent.shell(&format!("touch '{}'", called.display()));
            agent.shell(&wait(&work));
            agent.shell("echo agent > a; rm b");
        });
        second.stop();
        second.end();
        std::thread::scope(|scope| {
            let first = scope.spawn(|| first.run());
            await_that("the first session", || states() == ["active"]);
            let second = scope.spawn(|| second.run());
            await_file(&called);
            fs::write(&leave, "").unwrap();
            first.join().unwrap().ok();
            let left = if id.is_empty() { "ended" } else { "lost" };
            assert_eq!(states(), ["active", left]);
            let refused = sandbox.command(["restore", "--yes"]).inside(&project).run();
            refused.code(3).shows("is active");
            fs::write(&work, "").unwrap();
            second.join().unwrap().ok();
        });
        assert_eq!(states()[0], "ended");
        let blamed = sandbox.command(["blame", "a", "--json"]).inside(&project).run();
        assert_eq!(blamed.ok().json()["changes"][1]["by"], "session");
        sandbox.command(["restore", "--yes"]).inside(&project).run().ok();
        for name in ["a", "b"] {
            assert_eq!(fs::read_to_string(project.join(name)).unwrap(), "before\n");
        }
    }
}

/// A workspace, and one in its directory `inner`.
fn nested_workspaces() -> (Sandbox, PathBuf, PathBuf) {
    let (sandbox, project) = workspace();
    let inner = project.join("inner");
    fs::create_dir(&inner).unwrap();
    fs::write(inner.join("b"), "before\n").unwrap();
    let mount = format!("[[mounts]]\nsrc = \"{}\"\ndst = \"/inner\"", inner.display());
    sandbox.configure(
        "workspaces/inner.toml",
        &format!("{mount}\n\n[recovery]\nsnapshot = \"project\"\n"),
    );
    (sandbox, project, inner)
}

/// A call of a shell in the directory `inner`.
fn call_in(agent: &mut Conversation<'_>, inner: &Path, command: &str) {
    let call =
        json!({"cwd": inner, "tool_name": "Bash", "tool_input": {"command": "x"}, "tool_use_id": command});
    agent.hook("PreToolUse", &call);
    agent.shell(command);
    agent.hook("PostToolUse", &call);
}

fn session_of(sandbox: &Sandbox, workspace: &str) -> String {
    let all = instances(&sandbox.jackin(["list", "--json"]).ok());
    let found = all.iter().find(|one| one.workspace.as_deref() == Some(workspace));
    found.unwrap().id.clone()
}

/// The agent works in a workspace, and then in one that lies in it: it has a session of each.
#[test]
fn a_conversation_in_nested_workspaces_has_no_conflict_with_itself() {
    for inner_first in [true, false] {
        let (sandbox, project, inner) = nested_workspaces();
        let mut agent = Conversation::new(&sandbox, &project, ID);
        agent.prompt("work");
        agent.call("echo one > a; echo one > inner/b");
        call_in(&mut agent, &inner, "echo two > inner/b; echo two > inner/new");
        // Where the session of the inner one sees nothing, with contents that are recognized wherever they lie.
        agent.call("echo the second state of it > a; echo a new file of the agent > new");
        agent.stop();
        agent.end();
        agent.run().ok();
        let text = |path: &Path| fs::read_to_string(path).unwrap();
        if inner_first {
            let id = session_of(&sandbox, "inner");
            sandbox.jackin(["restore", &id, "--yes"]).ok();
            assert_eq!(text(&inner.join("b")), "one\n");
        } else {
            let id = session_of(&sandbox, "shop");
            sandbox.jackin(["restore", &id, "--yes"]).ok();
            assert_eq!(text(&inner.join("b")), "before\n");
            assert_eq!(text(&project.join("a")), "before\n");
            assert!(!project.join("new").exists());
        }
        assert!(!inner.join("new").exists());
    }
}

/// A file that the operator made between turns, and the agent moved, is recognized although the session of the inner workspace looks in between.
#[test]
fn what_the_agent_moves_beside_a_nested_workspace_is_not_deleted() {
    let (sandbox, project, inner) = nested_workspaces();
    let mut agent = Conversation::new(&sandbox, &project, ID);
    agent.prompt("one");
    call_in(&mut agent, &inner, "echo one > inner/b");
    agent.stop();
    agent.shell("echo a note of the operator > notes; echo u > small; echo u > inner/small");
    agent.prompt("two");
    call_in(&mut agent, &inner, "mv inner/small inner/little");
    agent.call("mv notes moved; mv small little; mv inner/little least; echo a file of the agent > new");
    agent.stop();
    agent.end();
    agent.run().ok();
    let id = session_of(&sandbox, "shop");
    let restored = sandbox.jackin(["restore", &id, "--yes"]).code(6);
    for (name, content) in [
        ("moved", "a note of the operator\n"),
        ("little", "u\n"),
        ("least", "u\n"),
        ("inner/b", "before\n"),
    ] {
        let found = fs::read_to_string(project.join(name));
        assert_eq!(found.ok().as_deref(), Some(content), "{name}: {restored}");
    }
    assert!(!project.join("new").exists(), "{restored}");
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

/// One conversation that is open in two clients, which both work.
#[test]
fn the_work_of_another_client_of_the_conversation_stays() {
    let (sandbox, project) = workspace();
    fs::write(project.join("b"), "before\n").unwrap();
    let [called, done] = ["called", "done"].map(|name| sandbox.scratch(name));
    let mut first = Conversation::new(&sandbox, &project, ID);
    first.prompt("one");
    first.call_that("slow", |agent| {
        agent.shell(&format!("touch '{}'", called.display()));
        agent.shell(&format!("until [ -e '{}' ]; do sleep 0.05; done", done.display()));
        agent.shell("echo one > a");
    });
    first.stop();
    first.end();
    let mut second = Conversation::new(&sandbox, &project, ID);
    second.shell(": the events of each client are files of their own");
    second.prompt("two");
    second.call("echo two > b; echo two > precious");
    second.stop();
    second.end();
    std::thread::scope(|scope| {
        let first = scope.spawn(|| first.run());
        await_file(&called);
        second.run().ok();
        fs::write(&done, "").unwrap();
        first.join().unwrap().ok();
    });
    let all = instances(&sandbox.jackin(["list", "--json"]).ok());
    let [_, first] = &all[..] else { panic!("{all:?}") };
    let text = |name: &str| fs::read_to_string(project.join(name)).unwrap_or_default();
    sandbox.jackin(["restore", &first.id, "--yes"]).code(6);
    let found = ["a", "b", "precious"].map(text);
    assert_eq!(found, ["before\n", "two\n", "two\n"]);
}
