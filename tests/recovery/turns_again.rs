//! Restores of a conversation after other restores of it: what these brought back may be the operator's.

use std::fs;
use std::path::{Path, PathBuf};

use crate::agent_state::configure;
use crate::support::conversation::Conversation;
use crate::support::documents::{Restored, instances};
use crate::support::run::Run;
use crate::support::sandbox::Sandbox;

const NOTE: &str = "a note of the operator\n";

/// Three turns that have ended: the operator wrote a note before the second one, which moved or edited it.
fn conversation(second: &str) -> (Sandbox, PathBuf, String) {
    let sandbox = Sandbox::new();
    let project = sandbox.captured("shop", "");
    for name in ["mine", "yours"] {
        fs::write(project.join(name), "before\n").unwrap();
    }
    let mut agent = Conversation::new(&sandbox, &project, "s");
    agent.turn("one", "echo agent > mine; echo of the agent itself > made");
    agent.shell(&format!(
        "printf '{}' > yours; printf '{}' > notes",
        NOTE.escape_debug(),
        NOTE.escape_debug()
    ));
    agent.turn("two", second);
    agent.turn("three", "echo three >> mine");
    agent.end();
    agent.run().ok();
    let id = instances(&sandbox.jackin(["list", "--json"]).ok())[0].id.clone();
    (sandbox, project, id)
}

fn read(project: &Path, name: &str) -> String {
    fs::read_to_string(project.join(name)).unwrap_or_else(|_| "missing".to_owned())
}

fn restore(sandbox: &Sandbox, id: &str, more: &[&str]) -> Run {
    let words = ["restore", id, "--yes", "--json"];
    sandbox.jackin(words.iter().chain(more))
}

#[test]
fn what_a_restore_brought_back_of_the_operators_is_a_conflict_of_the_next_one() {
    for undone in [false, true] {
        let (sandbox, project, id) = conversation("echo agent-too >> yours; mv notes moved");
        restore(&sandbox, &id, &["--before", "two"]).ok();
        assert_eq!(
            (read(&project, "yours").as_str(), read(&project, "notes").as_str()),
            (NOTE, NOTE)
        );
        assert_eq!(read(&project, "mine"), "agent\n");
        if undone {
            sandbox.jackin(["undo", &id, "--yes"]).ok();
            assert_eq!(read(&project, "moved"), NOTE);
        }
        let kept = read(&project, "yours");
        let restored = restore(&sandbox, &id, &[]).code(6);
        assert_eq!(read(&project, "yours"), kept, "{restored}");
        let note = if undone { "moved" } else { "notes" };
        assert_eq!(read(&project, note), NOTE, "{restored}");
        assert_eq!(read(&project, "mine"), "before\n", "{restored}");
        assert_eq!(read(&project, "made"), "missing", "{restored}");
        Restored::of(&restored).conflicted(&["yours", note]);
    }
}

#[test]
fn a_restore_goes_forward_to_a_later_moment_and_back_again() {
    let (sandbox, project, id) = conversation("echo more > made");
    for name in ["yours", "notes"] {
        fs::remove_file(project.join(name)).unwrap();
    }
    for (moment, mine, made) in [
        ("three", "agent\n", "more\n"),
        ("two", "agent\n", "of the agent itself\n"),
        ("three", "agent\n", "more\n"),
        ("one", "before\n", "missing"),
        ("two", "agent\n", "of the agent itself\n"),
    ] {
        let restored = restore(&sandbox, &id, &["--before", moment]);
        assert_eq!(
            (read(&project, "mine").as_str(), read(&project, "made").as_str()),
            (mine, made),
            "{moment}: {restored}"
        );
    }
}

/// A conversation in a workspace with the agent's state in the home, in whose settings a secret lies.
fn with_settings(work: impl FnOnce(&mut Conversation<'_>, &str)) -> (Sandbox, PathBuf, String, PathBuf) {
    let sandbox = Sandbox::new();
    let project = configure(&sandbox, "[recovery.state]\nhome = true\n");
    let home = sandbox.home().join(".claude");
    fs::create_dir_all(&home).unwrap();
    let settings = home.join("settings.json");
    fs::write(&settings, SETTINGS).unwrap();
    fs::write(project.join("mine"), "before\n").unwrap();
    let mut agent = Conversation::new(&sandbox, &project, "s");
    work(&mut agent, settings.to_str().unwrap());
    agent.end();
    agent.run().ok();
    let id = instances(&sandbox.jackin(["list", "--json"]).ok())[0].id.clone();
    (sandbox, project, id, settings)
}

const SETTINGS: &str =
    "{\"model\": \"old\", \"env\": {\"ANTHROPIC_API_KEY\": \"sk-ant-0123456789abcdef\"}}\n";

#[test]
fn settings_that_the_operator_changes_between_turns_stay() {
    let (sandbox, project, id, settings) = with_settings(|agent, settings| {
        agent.turn("one", "echo one > mine");
        agent.shell(&format!("sed -i s/old/operators/ {settings}"));
        agent.turn("two", "echo two > mine");
    });
    let restored = restore(&sandbox, &id, &[]).code(6);
    assert!(
        fs::read_to_string(&settings).unwrap().contains("operators"),
        "{restored}"
    );
    assert_eq!(read(&project, "mine"), "before\n", "{restored}");
}

#[test]
fn settings_that_the_agent_alone_changes_in_a_turn_come_back() {
    let (sandbox, _project, id, settings) = with_settings(|agent, settings| {
        agent.turn("one", &format!("sed -i s/old/agents/ {settings}"));
        agent.turn("two", "echo two > mine");
    });
    restore(&sandbox, &id, &["--before", "two"]).ok();
    assert!(fs::read_to_string(&settings).unwrap().contains("agents"));
    let restored = restore(&sandbox, &id, &[]).ok();
    assert_eq!(fs::read_to_string(&settings).unwrap(), SETTINGS, "{restored}");
}

#[test]
fn what_an_emergency_snapshot_brought_back_is_a_later_edit_as_before() {
    let (sandbox, project, id) = conversation("echo agent-too >> yours");
    fs::write(project.join("yours"), "later\n").unwrap();
    restore(&sandbox, &id, &["--overwrite-later-edits"]).code_in(&[0, 6]);
    assert_eq!(read(&project, "yours"), "before\n");
    let shown = sandbox.jackin(["show", &id, "--json"]).ok().json();
    let snapshots = shown["instance"]["snapshots"].as_array().unwrap();
    let emergency = snapshots.iter().find(|one| one["kind"] == "emergency").unwrap();
    restore(&sandbox, &id, &["--from", emergency["id"].as_str().unwrap()]).code_in(&[0, 6]);
    assert_eq!(read(&project, "yours"), "later\n");
    let restored = restore(&sandbox, &id, &[]).code(6);
    assert_eq!(read(&project, "yours"), "later\n", "{restored}");
}

#[test]
fn works_of_the_operator_that_the_agent_moves_in_turn_are_all_kept() {
    for third in [
        "mv y z; mv x y",
        "mv x t; mv y x; mv t y",
        "mv y z; mv x y; echo more >> y",
    ] {
        let sandbox = Sandbox::new();
        let project = sandbox.captured("shop", "");
        fs::write(project.join("mine"), "before\n").unwrap();
        let mut agent = Conversation::new(&sandbox, &project, "s");
        agent.turn("one", "echo agent > mine");
        agent.shell("echo a > u1; echo b > u2");
        agent.turn("two", "mv u1 x; mv u2 y; echo own > new");
        agent.shell("echo o > other");
        agent.turn("three", third);
        agent.end();
        agent.run().ok();
        let id = instances(&sandbox.jackin(["list", "--json"]).ok())[0].id.clone();
        let restored = restore(&sandbox, &id, &[]).code(6);
        let all: String = ["x", "y", "z"]
            .iter()
            .map(|name| read(&project, name))
            .filter(|text| text != "missing")
            .collect();
        assert!(
            all.contains("a\n") && all.contains("b\n"),
            "{third}: {all}\n{restored}"
        );
        assert_eq!(read(&project, "new"), "missing", "{third}\n{restored}");
    }
}
