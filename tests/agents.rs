//! The real clients of coding agents, each with jackin's hooks or its MCP server, in a scripted session: the model is a stub on the
//! loopback. They run their own tools; then everything is restored and compared.
//!
//! `.ci/prepare` installs the clients where npm is reachable; a client that is not installed is skipped, and the summary names it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "a test shall stop with a message where it meets the unexpected, in its helpers too"
)]

#[path = "agents/client.rs"]
mod client;
#[path = "agents/dialect.rs"]
mod dialect;
#[path = "agents/script.rs"]
mod script;
#[path = "recovery/support/skipped.rs"]
mod skipped;
#[path = "agents/stub.rs"]
mod stub;
#[path = "agents/world.rs"]
mod world;

use client::Client;
use serde_json::Value;
use world::World;

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

#[test]
fn claude_is_resumed() {
    resumed(Client::Claude);
}

#[test]
fn codex_is_resumed() {
    resumed(Client::Codex);
}

#[test]
fn gemini_is_resumed() {
    resumed(Client::Gemini);
}

#[test]
fn opencode_is_resumed() {
    resumed(Client::Opencode);
}

#[test]
fn copilot_is_resumed() {
    resumed(Client::Copilot);
}

#[test]
fn claude_is_undone() {
    hooks(Client::Claude);
}

#[test]
fn claude_is_undone_by_the_plugin() {
    let Some(world) = World::new(Client::Claude, "plugin", "") else {
        return;
    };
    world.install_plugin();
    undone(Client::Claude, &world);
}

#[test]
fn codex_is_undone() {
    hooks(Client::Codex);
}

#[test]
fn gemini_is_undone() {
    hooks(Client::Gemini);
}

#[test]
fn gemini_is_undone_by_the_extension() {
    let Some(world) = World::new(Client::Gemini, "extension", "") else {
        return;
    };
    world.install_extension();
    undone(Client::Gemini, &world);
}

#[test]
fn opencode_is_undone_by_the_plugin_file() {
    let Some(world) = World::new(Client::Opencode, "file", "") else {
        return;
    };
    world.copy_plugin();
    undone(Client::Opencode, &world);
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

#[test]
fn opencode_is_undone() {
    hooks(Client::Opencode);
}

#[test]
fn copilot_is_undone() {
    hooks(Client::Copilot);
}

#[test]
fn a_sub_agent_of_claude_stays_in_its_session() {
    sub_agent(Client::Claude);
}

#[test]
fn a_sub_agent_of_opencode_stays_in_its_session() {
    sub_agent(Client::Opencode);
}

#[test]
#[cfg_attr(not(feature = "mcp"), ignore = "the feature mcp is not built")]
fn the_model_of_claude_reads_a_diff() {
    tools(Client::Claude);
}

#[test]
#[cfg_attr(not(feature = "mcp"), ignore = "the feature mcp is not built")]
fn the_model_of_codex_reads_a_diff() {
    tools(Client::Codex);
}

#[test]
#[cfg_attr(not(feature = "mcp"), ignore = "the feature mcp is not built")]
fn the_model_of_gemini_reads_a_diff() {
    tools(Client::Gemini);
}

#[test]
#[cfg_attr(not(feature = "mcp"), ignore = "the feature mcp is not built")]
fn the_model_of_opencode_reads_a_diff() {
    tools(Client::Opencode);
}
