//! The session that the tools of an agent act on: the one that it runs in, found by its process, and no other.

use std::fs;

use serde_json::{Value, json};

use crate::support::compare::assert_same_tree;
use crate::support::machine::binary;
use crate::support::mcp::{ALLOWED, Client, Era, begin, called, workspace};
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

#[test]
#[cfg_attr(not(feature = "mcp"), ignore = "the feature mcp is not built")]
fn the_session_is_the_one_that_the_agent_runs_in_and_no_other() {
    let (sandbox, project) = workspace(ALLOWED);
    let other = sandbox.project("other");
    fs::write(other.join("x"), "x").unwrap();
    let earlier = sandbox.launch(&other, "echo y > x");
    let theirs = sandbox.jackin(["show", &earlier, "--json"]).ok().json();
    let theirs = theirs["instance"]["snapshots"][0]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let fork = sandbox.jackin(["fork", &earlier, "--json"]).ok().json();
    let id = begin(&sandbox, &project);
    let before = Tree::read(&other);
    // Whatever the environment that the server is given says: it is found by the agent's process.
    for variable in [&[][..], &[("JACKIN_RECOVERY_INSTANCE", earlier.as_str())]] {
        let mut client = Client::start_with(&sandbox, &project, &[], Era::Initialize, variable);
        let made = client.call("snapshot_create", json!({})).ok();
        assert_eq!(made.at("/instance"), id);
        assert!(made.text.contains(project.to_str().unwrap()), "{made:?}");
        for (tool, arguments) in [
            ("snapshot_restore", json!({"name": theirs})),
            ("session_restore", json!({"checkpoint_id": theirs})),
            ("snapshot_diff", json!({"name": theirs})),
            ("snapshot_fork", json!({"name": theirs})),
            ("snapshot_restore", json!({"name": fork})),
            ("snapshot_diff", json!({"name": fork.to_string()})),
            ("snapshot_fork", json!({"name": fork})),
        ] {
            client.call(tool, arguments).refused("");
        }
        client.end();
    }
    // Another one by name: not from within a session.
    let mut client = Client::start(&sandbox, &project, &[&earlier], Era::Initialize);
    for tool in [
        "snapshot_create",
        "session_restore",
        "snapshot_diff",
        "snapshot_fork",
        "snapshot_list",
    ] {
        client.call(tool, json!({})).refused(&id);
    }
    client.end();
    assert_same_tree(&before, &Tree::read(&other));
    sandbox.jackin(["mcp", "nosuch"]).code(5);
}

/// A session of somebody else's that lives, named on the command line by whoever lives in none.
#[test]
#[cfg_attr(not(feature = "mcp"), ignore = "the feature mcp is not built")]
fn a_session_that_the_agent_does_not_run_in_is_only_read() {
    let (sandbox, project) = workspace(ALLOWED);
    let begun = sandbox.command(["begin"]).inside(&project).run().ok();
    let id = String::from_utf8_lossy(&begun.stdout).trim().to_owned();
    sandbox.jackin(["checkpoint", &id, "--name", "s1"]).ok();
    fs::write(project.join("a"), "of their agent\n").unwrap();
    let before = Tree::read(&project);
    for (named, variable) in [
        (id.as_str(), &[][..]),
        ("shop", &[]),
        ("@latest", &[]),
        (&id, &[("JACKIN_RECOVERY_INSTANCE", id.as_str())]),
    ] {
        let mut client = Client::start_with(&sandbox, &project, &[named], Era::Initialize, variable);
        assert_eq!(client.tools().len(), 3);
        for tool in [
            "snapshot_create",
            "session_checkpoint",
            "snapshot_restore",
            "session_restore",
            "snapshot_fork",
        ] {
            client
                .call(tool, json!({}))
                .refused(&format!("this agent does not run in {id}, so it can only read"));
        }
        let diff = client.call("snapshot_diff", json!({"name": "s1"})).ok();
        assert!(diff.text.contains("+of their agent"), "{diff:?}");
        client.end();
    }
    assert_same_tree(&before, &Tree::read(&project));
    // What it was called when the server was started is what it is about, whatever that comes to mean.
    let mut client = Client::start(&sandbox, &project, &["@latest"], Era::Initialize);
    let other = sandbox.project("other");
    sandbox.launch(&other, "true");
    let listed = client.call("snapshot_list", json!({})).ok();
    assert_eq!(listed.at("/instance"), id);
    sandbox.jackin(["end", &id]).ok();
    client
        .call("snapshot_restore", json!({"name": "s1"}))
        .refused("is not active");
    client.call("snapshot_list", json!({})).ok();
    client.end();
}

/// A session that the server's environment names, and that was begun for another process or for none.
#[test]
#[cfg_attr(not(feature = "mcp"), ignore = "the feature mcp is not built")]
fn no_second_session_begins_beside_the_one_that_the_environment_names() {
    let mut other = std::process::Command::new("sleep").arg("120").spawn().unwrap();
    let pid = other.id().to_string();
    for (flags, why) in [
        (vec![], "begun without --pid".to_owned()),
        (vec!["--pid", &pid], format!("begun for process {pid}")),
    ] {
        let (sandbox, project) = workspace(ALLOWED);
        let words = [&["begin"], flags.as_slice()].concat();
        let begun = sandbox.command(words).inside(&project).run().ok();
        let id = String::from_utf8_lossy(&begun.stdout).trim().to_owned();
        let variable = [("JACKIN_RECOVERY_INSTANCE", id.as_str())];
        let mut client = Client::start_with(&sandbox, &project, &[], Era::Initialize, &variable);
        for tool in ["snapshot_create", "session_checkpoint", "snapshot_list"] {
            client.call(tool, json!({})).refused(&format!(
                "JACKIN_RECOVERY_INSTANCE names {id}, but this agent does not run in it"
            ));
            client.call(tool, json!({})).refused(&why);
        }
        let listed = sandbox.jackin(["list", "--json"]).ok().json();
        assert_eq!(listed["instances"].as_array().unwrap().len(), 1, "{listed}");
        // One that has ended is in nobody's way.
        sandbox.jackin(["end", &id]).ok();
        let made = client.call("snapshot_create", json!({})).ok();
        assert_ne!(made.at("/instance"), id);
        client.end();
    }
    other.kill().unwrap();
    other.wait().unwrap();
}

/// One process of an agent, and two directories that it works in.
#[test]
#[cfg_attr(not(feature = "mcp"), ignore = "the feature mcp is not built")]
fn each_directory_has_a_session_of_its_own_and_its_own_rights() {
    let (sandbox, project) = workspace(ALLOWED);
    let other = sandbox.captured("other", "");
    fs::write(other.join("o"), "good").unwrap();
    let mut first = Client::start(&sandbox, &project, &[], Era::Initialize);
    let mut second = Client::start(&sandbox, &other, &[], Era::Initialize);
    let mut third = Client::start(&sandbox, &sandbox.sources(), &[], Era::Initialize);
    let made = first.call("snapshot_create", json!({"name": "p"})).ok();
    let theirs = second.call("snapshot_create", json!({"name": "p"})).ok();
    assert_ne!(made.at("/instance"), theirs.at("/instance"));
    assert_eq!((first.tools().len(), second.tools().len()), (8, 5));
    fs::write(other.join("o"), "bad").unwrap();
    assert!(
        second
            .call("snapshot_diff", json!({"name": "p"}))
            .ok()
            .text
            .contains("+bad")
    );
    second
        .call("snapshot_restore", json!({"name": "p"}))
        .refused("for the workspace other");
    // Each goes on beside the other.
    fs::write(project.join("a"), "worse").unwrap();
    let went = first.call("session_restore", json!({})).ok();
    assert_eq!(went.structured["files_changed"], 1);
    // A directory above both is neither's alone: what holds both is the newest of them.
    let listed = third.call("snapshot_list", json!({})).ok();
    assert_eq!(listed.at("/instance"), theirs.at("/instance"));
    for client in [first, second, third] {
        client.end();
    }
}

#[test]
#[cfg_attr(not(feature = "mcp"), ignore = "the feature mcp is not built")]
fn a_server_that_a_session_started_elsewhere_without_its_name_works_for_that_session() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("shop");
    fs::write(project.join("a"), "a\n").unwrap();
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let call = json!({"name": "snapshot_create", "arguments": {"name": "s1"}, "_meta": meta});
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call});
    let away = sandbox.scratch("away");
    fs::create_dir(&away).unwrap();
    let script = format!(
        "cd '{}'; (echo '{request}'; until grep -q jsonrpc out; do sleep 0.05; done) | \
         env -u JACKIN_RECOVERY_INSTANCE '{}' recovery mcp > out",
        away.display(),
        binary().display()
    );
    let id = sandbox.launch(&project, &script);
    let answer: Value = serde_json::from_str(&fs::read_to_string(away.join("out")).unwrap()).unwrap();
    let made = called(&answer).ok();
    assert_eq!((made.at("/instance"), made.at("/name")), (id, "s1".to_owned()));
}
