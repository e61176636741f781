//! Checkpoints as tools of an agent, in a raw conversation: every tool, in both eras of the protocol, the session that they act on, and what
//! they refuse.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::compare::assert_same_tree;
use crate::support::machine::binary;
use crate::support::mcp::{ALLOWED, Client, Era, begin, called, only, workspace};
use crate::support::rows::rows;
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
    let whole: Value = serde_json::from_str(&all.text).unwrap();
    assert_eq!(all.structured, whole, "{all:?}");
    let told = &whole["checkpoints"];
    assert_eq!(told[0]["id"], mess.as_str(), "{all:?}");
    assert_eq!(told[0]["label"], "a mess, with words");
    assert_eq!(told[1]["label"], "before");
    assert!(told[1]["created"].as_str().unwrap().ends_with('Z'));
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
    sandbox.jackin(["end", &session]).code(3);
    sandbox.command(["end", &session]).by_the_operator().run().ok();
    sandbox.jackin(["undo", &session, "--yes"]).ok();
    assert_same_tree(&good, &Tree::read(&project));
    sandbox.jackin(["log", "--verify"]).ok();
    sandbox.no_litter();
}

rows! {
    every_tool:
    #[cfg_attr(not(feature = "mcp"), ignore = "the feature mcp is not built")]
    every_tool_after_a_handshake(Era::Initialize);
    #[cfg_attr(not(feature = "mcp"), ignore = "the feature mcp is not built")]
    every_tool_without_one(Era::Stateless);
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
        }
        // The handshake's revisions have a ping; none has methods of capabilities that are not offered.
        if era == Era::Initialize {
            assert_eq!(client.ask("ping", json!({}))["result"], json!({}));
        }
        for method in ["resources/list", "prompts/list", "logging/setLevel"] {
            let answer = client.ask(method, json!({"level": "info"}));
            assert_eq!(answer["error"]["code"], -32601, "{method}: {answer}");
        }
        // A model reads it in every conversation.
        let listed = client.ask("tools/list", json!({}))["result"]["tools"].to_string();
        assert!(listed.len() <= 5 << 10, "{} bytes: {listed}", listed.len());
        client.end();
    }
}

/// Some clients give a model the structured result alone, and the protocol wants an object.
#[test]
#[cfg_attr(not(feature = "mcp"), ignore = "the feature mcp is not built")]
fn structured_results_are_objects_with_the_text() {
    let (sandbox, project) = workspace(ALLOWED);
    fs::write(project.join("token"), "ghp_x\n").unwrap();
    fs::set_permissions(project.join("token"), fs::Permissions::from_mode(0o600)).unwrap();
    let mut client = Client::start(&sandbox, &project, &[], Era::Initialize);
    let names: Vec<String> = client.tools().into_iter().map(|(name, _)| name).collect();
    client.call("snapshot_create", json!({})).ok();
    fs::write(project.join("a"), "of the agent\n").unwrap();
    fs::write(project.join("token"), "ghp_y\n").unwrap();
    for name in names {
        let arguments = match name.as_str() {
            "snapshot_restore" => json!({"name": "checkpoint", "dry_run": true}),
            "snapshot_diff" => json!({"name": "baseline"}),
            _ => json!({}),
        };
        let called = client.call(&name, arguments).ok();
        assert!(called.structured.is_object(), "{name}: {called:?}");
        let is_json = serde_json::from_str::<Value>(&called.text).is_ok();
        assert_eq!(
            called.structured.get("text").is_none(),
            is_json,
            "{name}: {called:?}"
        );
        assert!(
            !called.text.contains("--show-secrets") && !called.text.contains("--json"),
            "{name} gives a hint for the operator: {called:?}"
        );
        if name == "snapshot_diff" {
            let text = called.at("/text");
            assert!(
                text.contains("+of the agent") && text.contains("content hidden"),
                "{text}"
            );
        }
    }
    client.end();
}

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
    second
        .call("snapshot_restore", json!({"name": "p"}))
        .refused("for the workspace other");
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
        ("snapshot_restore", json!({"name": null}), "name a snapshot"),
        (
            "snapshot_restore",
            json!({"name": "s1", "paths": []}),
            "or has an empty path",
        ),
        (
            "snapshot_restore",
            json!({"name": "s1", "paths": [""]}),
            "or has an empty path",
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
        client.call(tool, json!({})).refused("snapshot_create starts it");
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

#[test]
#[cfg_attr(not(feature = "mcp"), ignore = "the feature mcp is not built")]
fn odd_messages_are_answered() {
    let (sandbox, project) = workspace(ALLOWED);
    let asked = |params: &str| {
        let script = format!(
            r#"{{ printf '%s\n' '{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{"protocolVersion":"2025-06-18","capabilities":{{}},"clientInfo":{{"name":"m","version":"1"}}}}}}' '{{"jsonrpc":"2.0","method":"notifications/initialized"}}' '{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{params}}}'; sleep 0.5; }} | "$JACKIN" recovery mcp"#
        );
        let run = sandbox.command::<[&str; 0], &str>([]).with("JACKIN", binary());
        let run = run.through(&["bash", "-c", &script]).inside(&project).run().ok();
        let lines: Vec<Value> = run
            .text()
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect();
        lines
            .into_iter()
            .find(|line| line["id"] == 2)
            .unwrap_or_else(|| panic!("no answer\n{run}"))
    };
    let half = asked(r#"{"name":"snapshot_diff","arguments":{"paths":["\ud800"]}}"#);
    assert_eq!(half["result"]["isError"], true, "{half}");
    for params in [
        r#"{"name":"snapshot_diff","arguments":[1]}"#,
        r#"{"name":"snapshot_diff","arguments":"x"}"#,
        r#"{"arguments":{}}"#,
    ] {
        let told = asked(params);
        assert_eq!(told["error"]["code"], -32602, "{params}: {told}");
        assert!(
            told["error"]["message"].as_str().unwrap().contains("`name`"),
            "{told}"
        );
    }
    let deep = format!("{}{}", "[".repeat(130), "]".repeat(130));
    for arguments in [format!("{{\"paths\":{deep}}}"), "{\"a\":1e999}".to_owned()] {
        let told = asked(&format!(r#"{{"name":"snapshot_diff","arguments":{arguments}}}"#));
        assert_eq!(told["error"]["code"], -32700, "{arguments}: {told}");
    }
    // Bytes that are no text: the shell's printf makes one.
    let odd = asked(r#"{"name":"snapshot_diff","arguments":{"paths":["'"$(printf '\377')"'"]}}"#);
    assert_eq!(odd["result"]["isError"], true, "{odd}");
}
