//! The real clients of coding agents, each with jackin's hooks or its MCP server, in a scripted session: the model is a stub on the
//! loopback. They run their own tools; then everything is restored and compared.
//!
//! `.ci/prepare` installs the clients where npm is reachable; a client that is not installed is skipped, and the summary names it.

mod client;
mod dialect;
mod script;
mod stub;
mod world;

use client::Client;
use serde_json::Value;
use world::World;

use crate::support::machine::{is_nightly, skip};
use crate::support::rows::rows;

/// A session with writing, reading and destroying calls is one session with a checkpoint before each call that follows a change; it
/// ends with the agent, and is restored without a conflict.
fn hooks(client: Client) {
    let Some(world) = World::new(client, "hooks", "") else {
        return;
    };
    world.install();
    undone(client, &world);
    world.uninstall();
}

fn undone(client: Client, world: &World) {
    let before = world.state();
    world.run("main");
    assert_ne!(
        world.state(),
        before,
        "{client:?} has done nothing: {}",
        world.said()
    );
    let session = world.only_session();
    assert_eq!(session["status"], "ended", "{client:?}: {session}");
    let kinds: Vec<&str> = session["snapshots"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["kind"].as_str().unwrap())
        .collect();
    assert_eq!(
        (kinds.first(), kinds.last()),
        (Some(&"closing"), Some(&"baseline")),
        "{session}"
    );
    let checkpoints = kinds.iter().filter(|kind| **kind == "checkpoint").count();
    // The first call changes what the baseline has; each other one that changes something follows a change.
    assert!(checkpoints >= script::CHANGING_CALLS - 1, "{client:?}: {session}");
    world.jackin(&["restore", "@latest", "--yes"]);
    assert_eq!(world.state(), before, "{client:?}");
}

/// The work of a sub-agent belongs to the session of its conversation.
fn sub_agent(client: Client) {
    let Some(world) = World::new(client, "sub", "") else {
        return;
    };
    world.install();
    let before = world.state();
    world.run("parent");
    assert!(
        world.project().join("child.txt").exists(),
        "{client:?}: {}",
        world.said()
    );
    assert_eq!(world.only_session()["status"], "ended", "{client:?}");
    world.jackin(&["restore", "@latest", "--yes"]);
    assert_eq!(world.state(), before, "{client:?}");
}

/// The model sees the lines of a diff, goes back by itself, and no call fails.
fn tools(client: Client) {
    let allowed = "[recovery.agent]\nrestore = \"checkpoints\"\n";
    let Some(world) = World::new(client, "tools", allowed) else {
        return;
    };
    world.install();
    world.add_server();
    reads_a_diff(client, &world);
}

fn reads_a_diff(client: Client, world: &World) {
    let before = world.state();
    world.run("tools");
    let results = world.results();
    let failed: Vec<&Value> = results.iter().filter(|one| one["failed"] == true).collect();
    assert!(failed.is_empty(), "{client:?}: {failed:?}");
    let has = |text: &str| {
        results
            .iter()
            .any(|one| one["text"].as_str().unwrap().contains(text))
    };
    assert!(
        has("+oops"),
        "{client:?} shows its model no line of the diff: {results:?}"
    );
    assert!(has("checkpoints"), "{client:?}: {results:?}");
    world.only_session();
    assert_eq!(world.state(), before, "{client:?} did not go back: {results:?}");
}

/// Runs a test at night alone. By day each client is undone, and each other test runs with one client or two: a start of a client
/// computes for up to two seconds.
fn at_night(test: impl Fn(Client), client: Client) {
    match is_nightly() {
        true => test(client),
        false => skip("other real agents", ".ci/nightly runs them"),
    }
}

/// The command that a restore names leads back to the conversation, whose sessions are one history.
fn resumed(client: Client) {
    let Some(world) = World::new(client, "resume", "") else {
        return;
    };
    world.install();
    world.run("main");
    let restored = world.json(&["restore", "@latest", "--yes", "--json"]);
    let conversation = &restored["conversation"];
    let id = conversation["id"].as_str().unwrap();
    let command = conversation["command"].as_str().unwrap();
    assert_eq!(command, client.resumes_with(id), "{client:?}");
    let before = world.state();
    world.resume(id, "main");
    assert_ne!(
        world.state(),
        before,
        "{client:?} has done nothing: {}",
        world.said()
    );
    let history = world.json(&["list", "--conversation", id, "--json"]);
    let sessions = history["instances"].as_array().unwrap();
    assert_eq!(sessions.len(), 2, "{client:?}: {history}\n{}", world.said());
    world.jackin(&["restore", "@latest", "--yes"]);
    assert_eq!(world.state(), before, "{client:?}");
}

/// A client that is killed in the middle of a call is undone, but for what that call has written: no snapshot shows that the session did
/// it.
fn killed(client: Client) {
    let Some(world) = World::new(client, "killed", "") else {
        return;
    };
    world.install();
    let before = world.state();
    world.run_and_kill();
    let session = world.only_session()["id"].as_str().unwrap().to_owned();
    let (status, document) = world.status_and_json(&["restore", &session, "--yes", "--json"]);
    let conflicts = document["conflicts"].as_array().unwrap();
    let named: Vec<&Value> = conflicts.iter().map(|one| &one["path"]).collect();
    assert_eq!(named, ["late.txt"], "{client:?}: {document}");
    assert_eq!(status, Some(6), "{client:?}: {document}");
    // All else is back, and this one is untouched.
    let late = world.project().join("late.txt");
    assert_eq!(std::fs::read(&late).unwrap(), b"late\n", "{client:?}");
    let mut now = world.state();
    now.remove(&late);
    assert_eq!(now, before, "{client:?}: {document}");
    world.jackin(&["restore", &session, "--delete-later-files", "--yes"]);
    assert_eq!(world.state(), before, "{client:?}: {document}");
}

/// Runs two clients at once, in step, each on files that its calls name. Each session restores its own files.
fn two_at_once(first: Client, second: Client) {
    let Some(one) = World::new(first, "two", "") else {
        return;
    };
    let Some(two) = one.beside(second) else {
        return;
    };
    for client in [first, second] {
        let file = one.project().join(format!("step{}.txt", client.word()));
        std::fs::write(file, "old\n").unwrap();
    }
    one.install();
    two.install();
    let before = one.state();
    std::thread::scope(|scope| {
        for world in [&one, &two] {
            scope.spawn(|| world.run(&world.step()));
        }
    });
    let after = one.state();
    let is_of = |client: Client, path: &std::path::Path| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        name.starts_with(&format!("step{}", client.word()))
    };
    for client in [first, second] {
        let new = after.keys().filter(|path| is_of(client, path)).count();
        assert_eq!(new, 3, "{client:?}: {}\n{}", one.said(), two.said());
    }
    let all = one.json(&["list", "--json"]);
    let session_of = |client: Client| {
        let mut sessions = all["instances"].as_array().unwrap().iter();
        let found = sessions.find(|session| session["conversation"]["agent"] == client.word());
        found.unwrap_or_else(|| panic!("{client:?}: {all}"))["id"]
            .as_str()
            .unwrap()
    };
    assert_eq!(all["instances"].as_array().unwrap().len(), 2, "{all}");
    let restored = one.json(&["restore", session_of(second), "--yes", "--json"]);
    let mut expected = after.clone();
    expected.retain(|path, _| !is_of(second, path));
    expected.extend(before.clone().into_iter().filter(|(path, _)| is_of(second, path)));
    assert_eq!(one.state(), expected, "{second:?}: {restored}");
    let restored = one.json(&["restore", session_of(first), "--yes", "--json"]);
    assert_eq!(one.state(), before, "{first:?}: {restored}");
}

rows! {
    killed:
    claude_is_killed_in_a_call(Client::Claude);
    codex_is_killed_in_a_call(Client::Codex);
}

rows! {
    at_night:
    gemini_is_killed_in_a_call(killed, Client::Gemini);
    opencode_is_killed_in_a_call(killed, Client::Opencode);
    copilot_is_killed_in_a_call(killed, Client::Copilot);
    codex_is_resumed(resumed, Client::Codex);
    gemini_is_resumed(resumed, Client::Gemini);
    opencode_is_resumed(resumed, Client::Opencode);
    copilot_is_resumed(resumed, Client::Copilot);
    gemini_is_undone_by_the_extension(undone_by_extension, Client::Gemini);
    opencode_is_undone_by_the_plugin_file(undone_by_plugin_file, Client::Opencode);
    a_sub_agent_of_opencode_stays_in_its_session(sub_agent, Client::Opencode);
    opencode_and_gemini_at_once_are_undone_each_by_itself(|first| two_at_once(first, Client::Gemini), Client::Opencode);
    #[cfg_attr(not(feature = "mcp"), ignore = "the feature mcp is not built")]
    the_model_of_gemini_reads_a_diff(tools, Client::Gemini);
    #[cfg_attr(not(feature = "mcp"), ignore = "the feature mcp is not built")]
    the_model_of_opencode_reads_a_diff(tools, Client::Opencode);
}

#[test]
fn claude_and_codex_at_once_are_undone_each_by_itself() {
    two_at_once(Client::Claude, Client::Codex);
}

rows! {
    resumed:
    claude_is_resumed(Client::Claude);
}

rows! {
    hooks:
    claude_is_undone(Client::Claude);
    codex_is_undone(Client::Codex);
    gemini_is_undone(Client::Gemini);
    opencode_is_undone(Client::Opencode);
    copilot_is_undone(Client::Copilot);
}

#[test]
fn claude_is_undone_by_the_plugin() {
    let Some(world) = World::new(Client::Claude, "plugin", "") else {
        return;
    };
    world.install_plugin();
    undone(Client::Claude, &world);
}

/// The hooks of the extension do what installed hooks do.
fn undone_by_extension(client: Client) {
    let Some(world) = World::new(client, "extension", "") else {
        return;
    };
    world.install_extension();
    undone(client, &world);
}

/// The hooks of the plugin file do what installed hooks do.
fn undone_by_plugin_file(client: Client) {
    let Some(world) = World::new(client, "file", "") else {
        return;
    };
    world.copy_plugin();
    undone(client, &world);
    world.uninstall();
}

/// The extension has the MCP server and the commands too.
#[test]
#[cfg_attr(not(feature = "mcp"), ignore = "the feature mcp is not built")]
fn the_extension_of_gemini_has_tools_and_commands() {
    let Some(world) = World::new(
        Client::Gemini,
        "commands",
        "[recovery.agent]\nrestore = \"checkpoints\"\n",
    ) else {
        return;
    };
    world.install_extension();
    reads_a_diff(Client::Gemini, &world);
    world.ask("/jackin-recovery:changes src SCRIPT:none");
    world.ask("/jackin-recovery:undo first SCRIPT:none");
    let prompts = world.prompts().join("\n");
    for text in [
        "Show me these changes, grouped by directory.",
        "show only those: src SCRIPT:none",
        "Checkpoint, if I named one: first SCRIPT:none",
    ] {
        assert!(prompts.contains(text), "{text}: {prompts}");
    }
    assert!(!prompts.contains("!{"), "{prompts}");
}

rows! {
    sub_agent:
    a_sub_agent_of_claude_stays_in_its_session(Client::Claude);
}

rows! {
    tools:
    #[cfg_attr(not(feature = "mcp"), ignore = "the feature mcp is not built")]
    the_model_of_claude_reads_a_diff(Client::Claude);
    #[cfg_attr(not(feature = "mcp"), ignore = "the feature mcp is not built")]
    the_model_of_codex_reads_a_diff(Client::Codex);
}
