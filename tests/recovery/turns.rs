//! Turns of an agent: what it did in them, what the operator did between them, and what two agents did at once.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::agent_state::configure;
use crate::support::background::Background;
use crate::support::compare::assert_same_tree;
use crate::support::conversation::{Conversation, report};
use crate::support::documents::{Instance, Restored, instances};
use crate::support::git::Repository;
use crate::support::run::Run;
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

/// A workspace that is captured, with files that lie there.
fn workspace(more: &str) -> (Sandbox, PathBuf) {
    let sandbox = Sandbox::new();
    let project = sandbox.captured("shop", more);
    for name in ["mine", "yours", "both", "gone"] {
        fs::write(project.join(name), "before\n").unwrap();
    }
    (sandbox, project)
}

fn listed(sandbox: &Sandbox) -> Vec<Instance> {
    instances(&sandbox.jackin(["list", "--json"]).ok())
}

fn read(project: &Path, name: &str) -> String {
    fs::read_to_string(project.join(name)).unwrap_or_else(|_| "missing".to_owned())
}

fn restore(sandbox: &Sandbox, id: &str, more: &[&str]) -> Run {
    let words = ["restore", id, "--yes", "--json"];
    sandbox.jackin(words.iter().chain(more))
}

#[test]
fn an_agent_that_is_killed_after_a_turn_leaves_no_conflict() {
    let (sandbox, project) = workspace("");
    let mut agent = Conversation::new(&sandbox, &project, "s");
    agent.turn(
        "fix the login test",
        "echo agent > mine; rm gone; echo new > made",
    );
    agent.run().ok();
    let id = listed(&sandbox)[0].id.clone();
    assert_eq!(listed(&sandbox)[0].status, "lost");
    // Later edits of the operator, whatever the agent did there.
    fs::write(project.join("later"), "operator\n").unwrap();
    fs::write(project.join("yours"), "operator\n").unwrap();
    let restored = restore(&sandbox, &id, &[]).code(6);
    Restored::of(&restored).conflicted(&["later", "yours"]);
    assert!(restored.text().contains("after the session"), "{restored}");
    fs::remove_file(project.join("later")).unwrap();
    fs::write(project.join("yours"), "before\n").unwrap();
    restore(&sandbox, &id, &[]).ok();
    for (name, text) in [("mine", "before\n"), ("gone", "before\n"), ("made", "missing")] {
        assert_eq!(read(&project, name), text, "{name}");
    }
}

#[test]
fn an_agent_that_is_killed_in_a_call_leaves_at_most_what_that_wrote() {
    let (sandbox, project) = workspace("");
    let mut agent = Conversation::new(&sandbox, &project, "s");
    agent.turn("one", "echo agent > mine; rm gone");
    agent.prompt("two");
    agent.hook(
        "PreToolUse",
        &json!({"tool_name": "Bash", "tool_input": {"command": "x"}}),
    );
    agent.shell("echo half > half; rm yours; kill -9 $PPID; exit 0");
    agent.run();
    let id = listed(&sandbox)[0].id.clone();
    let restored = restore(&sandbox, &id, &[]).code(6);
    Restored::of(&restored).conflicted(&["half"]);
    for name in ["mine", "gone", "yours"] {
        assert_eq!(read(&project, name), "before\n", "{name}");
    }
}

#[test]
fn edits_between_turns_are_the_operators() {
    for ends in [true, false] {
        let (sandbox, project) = workspace("");
        let mut agent = Conversation::new(&sandbox, &project, "s");
        agent.turn("one", "echo agent > mine; echo agent > both");
        // In another window.
        agent.shell("echo operator > yours; echo operator > both; echo operator > notes; rm gone");
        agent.turn("two", "echo again > mine; echo again > both");
        agent.shell("echo operator > after");
        if ends {
            agent.end();
        }
        agent.run().ok();
        let id = listed(&sandbox)[0].id.clone();
        let restored = restore(&sandbox, &id, &[]).code(6);
        Restored::of(&restored).conflicted(&["after", "both", "gone", "notes", "yours"]);
        assert!(
            restored.text().contains("\"changed between turns\""),
            "{restored}"
        );
        let expected = [
            ("mine", "before\n"),
            ("yours", "operator\n"),
            ("notes", "operator\n"),
            ("both", "again\n"),
            ("gone", "missing"),
            ("after", "operator\n"),
        ];
        for (name, text) in expected {
            assert_eq!(read(&project, name), text, "{name}");
        }
        // Nothing of the agent is left but the conflict; that goes when it is asked for.
        sandbox
            .jackin(["restore", &id, "both", "--yes", "--overwrite-later-edits"])
            .ok();
        assert_eq!(read(&project, "both"), "before\n");
    }
}

#[test]
fn a_merge_takes_out_what_the_session_did_alone() {
    let (sandbox, project) = workspace("");
    let lines = |first: &str, last: &str| format!("{first}\n2\n3\n4\n5\n{last}\n");
    for name in ["mine", "yours", "both"] {
        fs::write(project.join(name), lines("1", "6")).unwrap();
    }
    let mut agent = Conversation::new(&sandbox, &project, "s");
    agent.turn("one", "sed -i 's/^1$/agent/' mine");
    agent.shell("sed -i 's/^1$/operator/' yours both");
    agent.turn("two", "sed -i 's/^3$/agent/' both");
    agent.end();
    agent.run().ok();
    let id = listed(&sandbox)[0].id.clone();
    for name in ["mine", "yours", "both"] {
        let text = read(&project, name).replace('6', "later");
        fs::write(project.join(name), text).unwrap();
    }
    let restored = restore(&sandbox, &id, &["--merge"]).code(6);
    Restored::of(&restored).conflicted(&["both", "yours"]);
    assert_eq!(read(&project, "mine"), lines("1", "later"));
    assert_eq!(read(&project, "yours"), lines("operator", "later"));
    assert!(read(&project, "both").starts_with("operator\n"));
}

#[test]
fn a_call_that_never_returned_is_over_with_its_turn() {
    let (sandbox, project) = workspace("");
    let mut agent = Conversation::new(&sandbox, &project, "s");
    agent.prompt("one");
    agent.hook(
        "PreToolUse",
        &json!({"tool_name": "Write", "tool_input": {"file_path": "yours"}, "tool_use_id": "refused"}),
    );
    agent.call("echo agent > mine");
    agent.stop();
    agent.shell("echo operator > yours");
    agent.turn("two", "echo again > mine");
    agent.end();
    agent.run().ok();
    let id = listed(&sandbox)[0].id.clone();
    let restored = restore(&sandbox, &id, &[]).code(6);
    Restored::of(&restored).conflicted(&["yours"]);
    assert!(
        restored.text().contains("\"changed between turns\""),
        "{restored}"
    );
    assert_eq!(read(&project, "mine"), "before\n");
}

#[test]
fn a_path_that_only_the_operator_changed_stays_and_its_step_can_be_reverted() {
    let (sandbox, project) = workspace("");
    let mut agent = Conversation::new(&sandbox, &project, "s");
    agent.turn("one", "echo agent > mine");
    agent.shell("echo operator > yours");
    agent.turn("two", "echo again > mine");
    agent.end();
    agent.run().ok();
    let id = listed(&sandbox)[0].id.clone();
    let restored = restore(&sandbox, &id, &[]).code(6);
    let restored = Restored::of(&restored);
    restored.touched(&["mine"]);
    restored.conflicted(&["yours"]);
    assert_eq!(read(&project, "yours"), "operator\n");
    // The step itself is reverted when it is asked for.
    let shown = sandbox.jackin(["show", &id, "--json"]).ok().json();
    let snapshots = shown["instance"]["snapshots"].as_array().unwrap();
    let step = snapshots
        .iter()
        .find(|one| one["message"] == "before turn 2: two")
        .unwrap();
    let step = step["id"].as_str().unwrap();
    sandbox
        .jackin(["restore", &id, "--only-changes-of", step, "--yes"])
        .ok();
    assert_eq!(read(&project, "yours"), "before\n");
}

/// Begins two conversations, each with a prompt.
fn two_at_work(hook: &dyn Fn(&str, &str, &Value)) {
    for session in ["one", "two"] {
        hook(session, "SessionStart", &json!({}));
        hook(session, "UserPromptSubmit", &json!({"prompt": session}));
    }
}

/// Ends both.
fn two_at_rest(hook: &dyn Fn(&str, &str, &Value)) {
    for session in ["one", "two"] {
        hook(session, "Stop", &json!({}));
        hook(session, "SessionEnd", &json!({}));
    }
}

#[test]
fn each_of_two_agents_restores_the_files_that_its_calls_name() {
    let (sandbox, project) = workspace("");
    let hook = |session: &str, event: &str, more: &Value| report(&sandbox, &project, session, event, more);
    two_at_work(&hook);
    let bash = json!({"tool_name": "Bash", "tool_input": {"command": "x"}, "tool_use_id": "b"});
    let write =
        |name: &str| json!({"tool_name": "Write", "tool_input": {"file_path": name}, "tool_use_id": name});
    // One after the other, each with a shell that may write anything. What the other's turn left running may have written it as well.
    hook("one", "PreToolUse", &bash);
    fs::write(project.join("mine"), "one\n").unwrap();
    hook("one", "PostToolUse", &bash);
    hook("two", "PreToolUse", &bash);
    fs::write(project.join("yours"), "two\n").unwrap();
    hook("two", "PostToolUse", &bash);
    // At once, with files that they name.
    hook("one", "PreToolUse", &write("by-one"));
    hook("two", "PreToolUse", &write("by-two"));
    fs::write(project.join("by-one"), "one\n").unwrap();
    fs::write(project.join("by-two"), "two\n").unwrap();
    hook("one", "PostToolUse", &write("by-one"));
    hook("two", "PostToolUse", &write("by-two"));
    // At once, with a shell: either may have written it.
    hook("one", "PreToolUse", &bash);
    hook("two", "PreToolUse", &write("both"));
    fs::write(project.join("both"), "two\n").unwrap();
    hook("two", "PostToolUse", &write("both"));
    hook("one", "PostToolUse", &bash);
    two_at_rest(&hook);
    let all = listed(&sandbox);
    let (two, one) = (all[0].id.clone(), all[1].id.clone());
    let restored = restore(&sandbox, &one, &[]).code(6);
    let document = Restored::of(&restored);
    document.touched(&["by-one"]);
    document.conflicted(&["both", "mine", "yours"]);
    assert!(
        restored
            .text()
            .contains(&format!("changed by {two}, not by this session")),
        "{restored}"
    );
    assert_eq!(read(&project, "by-two"), "two\n");
    let restored = restore(&sandbox, &two, &[]).code(6);
    let document = Restored::of(&restored);
    document.touched(&["by-two"]);
    document.conflicted(&["both", "mine", "yours"]);
}

/// A file that one agent writes is no move of what the other one replaced, also if it is the same.
#[test]
fn an_agent_that_writes_what_another_one_had_written_moved_nothing() {
    let (sandbox, project) = workspace("");
    let hook = |session: &str, event: &str, more: &Value| report(&sandbox, &project, session, event, more);
    two_at_work(&hook);
    let write =
        |name: &str| json!({"tool_name": "Write", "tool_input": {"file_path": name}, "tool_use_id": name});
    hook("one", "PreToolUse", &write("by-one"));
    hook("two", "PreToolUse", &write("by-two"));
    fs::write(project.join("by-two"), "a line\n").unwrap();
    hook("two", "PostToolUse", &write("by-two"));
    hook("two", "PreToolUse", &write("by-two"));
    fs::write(project.join("by-two"), "another line\n").unwrap();
    fs::write(project.join("by-one"), "a line\n").unwrap();
    hook("two", "PostToolUse", &write("by-two"));
    hook("one", "PostToolUse", &write("by-one"));
    two_at_rest(&hook);
    let all = listed(&sandbox);
    for (session, name) in [(&all[1], "by-one"), (&all[0], "by-two")] {
        Restored::of(&restore(&sandbox, &session.id, &[]).ok()).touched(&[name]);
    }
}

/// Runs a conversation in which the operator changes files between the first turn and `second`, and returns what a restore did.
fn with_operator(operator: &str, second: impl FnOnce(&mut Conversation<'_>)) -> (Sandbox, PathBuf, Run) {
    let (sandbox, project) = workspace("");
    let mut agent = Conversation::new(&sandbox, &project, "s");
    agent.turn("one", "echo agent > mine");
    agent.shell(operator);
    second(&mut agent);
    agent.end();
    agent.run().ok();
    let id = listed(&sandbox)[0].id.clone();
    let restored = restore(&sandbox, &id, &[]).code(6);
    (sandbox, project, restored)
}

#[test]
fn what_the_agent_moves_of_the_operators_is_not_deleted() {
    let edit = "echo 'a note of the operator' > yours; echo 'another note of the operator' > notes";
    let (_sandbox, project, restored) = with_operator(edit, |agent| {
        agent.turn(
            "two",
            "mkdir lib; mv yours notes lib/; echo of the agent itself > lib/new",
        );
    });
    assert_eq!(
        read(&project, "lib/yours"),
        "a note of the operator\n",
        "{restored}"
    );
    assert_eq!(
        read(&project, "lib/notes"),
        "another note of the operator\n",
        "{restored}"
    );
    assert_eq!(read(&project, "lib/new"), "missing", "{restored}");
    assert_eq!(read(&project, "mine"), "before\n", "{restored}");
    // Creating what is missing loses nothing.
    assert_eq!(read(&project, "yours"), "before\n", "{restored}");
}

#[test]
fn what_the_agent_moves_of_the_operators_is_recognized_also_where_it_is_small_or_edited() {
    for (operator, agent, stays) in [
        ("echo u > u", "mv u v", "v"),
        ("ln -s some/target u", "mv u v", "v"),
        ("seq 1000 > u", "mv u v; echo more >> v", "v"),
        ("seq 1000 > u", "mv u v; sed -i 1d v", "v"),
        ("seq 1000 > u", "sed 1d u > v; rm u", "v"),
        ("mkdir n; touch n/__init__.py", "mv n m", "m/__init__.py"),
        ("mkdir u", "mv u v", "v"),
        ("echo u > below/u", "mv below other", "other/u"),
        ("echo u >> below/old", "mv below other", "other/old"),
        ("echo u >> below/old", "mv below/old v; rmdir below", "v"),
        ("echo u > u", "mv u v; mv v w; mkdir x; mv w x", "x/w"),
        ("echo u > u", "mv u yours", "yours"),
        ("echo u > u", "cp u v; rm u", "v"),
        ("echo u > u", "mv u t; mv yours u; mv t yours", "yours"),
    ] {
        let (sandbox, project) = workspace("");
        let mut conversation = Conversation::new(&sandbox, &project, "s");
        conversation.shell("mkdir below; echo old > below/old");
        conversation.turn("one", "echo agent > mine");
        conversation.shell(operator);
        conversation.turn("two", &format!("{agent}; echo of the agent itself > new"));
        conversation.end();
        conversation.run().ok();
        let id = listed(&sandbox)[0].id.clone();
        let before = Tree::read(&project);
        let content = read(&project, stays);
        let restored = restore(&sandbox, &id, &[]).code(6);
        assert!(
            project.join(stays).symlink_metadata().is_ok(),
            "{operator}; {agent}\n{restored}"
        );
        assert_eq!(read(&project, stays), content, "{operator}; {agent}\n{restored}");
        assert_eq!(read(&project, "mine"), "before\n", "{restored}");
        assert_eq!(
            read(&project, "new"),
            "missing",
            "{operator}; {agent}\n{restored}"
        );
        sandbox.jackin(["undo", &id, "--yes"]).ok();
        assert_same_tree(&before, &Tree::read(&project));
    }
}

/// A branch that the operator made between two turns, and git packed after the session.
#[test]
fn a_branch_of_the_operators_stays_in_the_list_of_packed_refs() {
    let (sandbox, project) = workspace("");
    let repository = Repository::with_history(&project, 2);
    repository.git(&["pack-refs", "--all"]);
    let mut conversation = Conversation::new(&sandbox, &project, "s");
    conversation.turn("one", "echo agent > mine");
    conversation.shell("git branch of-the-operator");
    conversation.turn("two", "git branch of-the-agent");
    conversation.end();
    conversation.run().ok();
    repository.git(&["pack-refs", "--all"]);
    let id = listed(&sandbox)[0].id.clone();
    restore(&sandbox, &id, &[]).code(6);
    repository.git(&["rev-parse", "--verify", "refs/heads/of-the-operator"]);
    assert_eq!(read(&project, "mine"), "before\n");
}

/// The inode of a file that is gone may be given to the next one.
#[test]
fn what_the_agent_makes_in_place_of_the_operators_is_its_own() {
    for agent in [
        "rm u; echo something else > v",
        "rm u; echo else > v",
        "rm -r d; mkdir e; echo else > e/f",
    ] {
        let (sandbox, project) = workspace("");
        let mut conversation = Conversation::new(&sandbox, &project, "s");
        conversation.turn("one", "echo agent > mine");
        conversation.shell("echo a note of the operator > u; mkdir d; echo another one > d/f");
        conversation.turn("two", agent);
        conversation.end();
        conversation.run().ok();
        let id = listed(&sandbox)[0].id.clone();
        let restored = restore(&sandbox, &id, &[]).code_in(&[0, 6]);
        assert_eq!(read(&project, "v"), "missing", "{agent}\n{restored}");
        assert_eq!(read(&project, "e/f"), "missing", "{agent}\n{restored}");
    }
}

#[test]
fn edits_where_the_end_of_a_turn_was_not_reported_are_conflicts() {
    // Interrupted: no Stop; a prompt that was not reported; a call that returns behind the end of its turn.
    for case in ["interrupted", "no prompt", "late return"] {
        let (sandbox, project) = workspace("");
        let mut agent = Conversation::new(&sandbox, &project, "s");
        let call = json!({"tool_name": "Bash", "tool_input": {"command": "x"}, "tool_use_id": "t"});
        agent.prompt("one");
        agent.hook("PreToolUse", &call);
        agent.shell("echo agent > mine");
        match case {
            "interrupted" => agent.hook("PostToolUse", &call),
            "late return" => {
                agent.stop();
                agent.hook("PostToolUse", &call);
            }
            _ => {
                agent.hook("PostToolUse", &call);
                agent.stop();
            }
        }
        agent.shell("echo operator > yours; echo operator > notes; rm gone");
        if case == "no prompt" {
            agent.call("echo again > mine");
            agent.stop();
        } else {
            agent.turn("two", "echo again > mine");
        }
        agent.end();
        agent.run().ok();
        let id = listed(&sandbox)[0].id.clone();
        restore(&sandbox, &id, &[]).code(6);
        assert_eq!(read(&project, "yours"), "operator\n", "{case}");
        assert_eq!(read(&project, "notes"), "operator\n", "{case}");
    }
}

/// Claude Code no longer waits for a command whose time is over: the call returns, the command goes on.
#[test]
fn a_call_that_returns_while_its_command_goes_on_stays_open() {
    for goes_on in [false, true] {
        let (sandbox, project) = workspace("");
        let hook =
            |session: &str, event: &str, more: &Value| report(&sandbox, &project, session, event, more);
        two_at_work(&hook);
        let bash = json!({"tool_name": "Bash", "tool_input": {"command": "x"}, "tool_use_id": "b"});
        let mut returned = bash.clone();
        returned["tool_response"] = match goes_on {
            true => json!({"stdout": "", "backgroundTaskId": "b1", "timedOutAfterMs": 1500}),
            false => json!({"stdout": ""}),
        };
        hook("one", "PreToolUse", &bash);
        hook("one", "PostToolUse", &returned);
        hook("one", "Stop", &json!({}));
        // A call that names its file has written it, if no other call may have.
        let write = json!({"tool_name": "Write", "tool_input": {"file_path": "made"}, "tool_use_id": "w"});
        hook("two", "PreToolUse", &write);
        fs::write(project.join("made"), "?\n").unwrap();
        hook("two", "PostToolUse", &write);
        two_at_rest(&hook);
        let two = listed(&sandbox)[0].id.clone();
        if goes_on {
            Restored::of(&restore(&sandbox, &two, &[]).code(6)).conflicted(&["made"]);
        } else {
            Restored::of(&restore(&sandbox, &two, &[]).ok()).touched(&["made"]);
        }
    }
}

#[test]
fn a_process_that_one_agent_left_running_is_not_the_others() {
    let (sandbox, project) = workspace("");
    let hook = |session: &str, event: &str, more: &Value| report(&sandbox, &project, session, event, more);
    two_at_work(&hook);
    let bash = json!({"tool_name": "Bash", "tool_input": {"command": "x"}, "tool_use_id": "b"});
    hook("one", "PreToolUse", &bash);
    hook("one", "PostToolUse", &bash);
    hook("two", "PreToolUse", &bash);
    // Written by what the first one's call left running.
    fs::write(project.join("yours"), "one\n").unwrap();
    fs::write(project.join("made"), "one\n").unwrap();
    hook("two", "PostToolUse", &bash);
    two_at_rest(&hook);
    let two = listed(&sandbox)[0].id.clone();
    Restored::of(&restore(&sandbox, &two, &[]).code(6)).conflicted(&["made", "yours"]);
    assert_eq!(read(&project, "yours"), "one\n");
    assert_eq!(read(&project, "made"), "one\n");
}

#[test]
fn a_hook_records_nothing_in_a_session_that_it_does_not_run_in() {
    let (sandbox, project) = workspace("");
    let other = sandbox.project("other");
    let running = Background::launch(&sandbox, &other, "true");
    let theirs = listed(&sandbox)[0].id.clone();
    let event = json!({"session_id": "x", "cwd": project, "prompt": "forged"}).to_string();
    let file = sandbox.scratch("forged");
    fs::write(&file, event).unwrap();
    let script = format!(
        "JACKIN_RECOVERY_INSTANCE={theirs} exec \"$@\" < '{}'",
        file.display()
    );
    let hook = sandbox.command(["hook", "run", "claude", "UserPromptSubmit"]);
    hook.through(&["sh", "-c", &script, "sh"]).run().ok();
    let shown = sandbox.jackin(["show", &theirs, "--json"]).ok().text();
    assert!(!shown.contains("forged"), "{shown}");
    running.end().ok();
}

#[test]
fn prompts_and_commands_are_recorded_as_the_configuration_wants() {
    let secret = "deploy with ghp_0123456789abcdefghij";
    for (setting, prompt, command) in [
        (
            "",
            Some("deploy with (hidden)"),
            Some("TOKEN=(hidden) rm -rf data"),
        ),
        ("\n[recovery.agent]\nprompts = \"off\"\n", None, None),
    ] {
        let (sandbox, project) = workspace(setting);
        let mut agent = Conversation::new(&sandbox, &project, "s");
        agent.prompt(&format!("{secret}\nand more"));
        agent.call("echo x > mine");
        agent.call("TOKEN=swordfish rm -rf data");
        agent.stop();
        agent.end();
        agent.run().ok();
        let id = listed(&sandbox)[0].id.clone();
        let log = sandbox.jackin(["log", &id]).ok();
        let text = log.text();
        assert!(
            !text.contains("ghp_0123") && !text.contains("swordfish") && !text.contains("and more"),
            "{log}"
        );
        let told = |words: &str| {
            text.split_whitespace()
                .collect::<Vec<_>>()
                .join(" ")
                .contains(words)
        };
        assert_eq!(
            told("turn 1 began: \"deploy with (hidden)\""),
            prompt.is_some(),
            "{log}"
        );
        assert_eq!(
            told("called Bash: TOKEN=(hidden) rm -rf data"),
            command.is_some(),
            "{log}"
        );
        assert!(told("turn 1 ended"), "{log}");
        let files = fs::read_to_string(sandbox.store().join("receipts.log")).unwrap();
        assert!(!files.contains("ghp_0123") && !files.contains("swordfish"));
    }
}

/// A conversation of three turns that has ended.
fn three_turns() -> (Sandbox, PathBuf, String) {
    let (sandbox, project) = workspace("");
    let mut agent = Conversation::new(&sandbox, &project, "s");
    agent.turn("fix the login test", "echo one > mine");
    agent.turn("Clean up", "rm -f gone yours both");
    agent.turn("go on", "echo two > mine");
    agent.end();
    agent.run().ok();
    let id = listed(&sandbox)[0].id.clone();
    (sandbox, project, id)
}

#[test]
fn a_session_reads_as_a_person_remembers_it() {
    let (sandbox, _, id) = three_turns();
    sandbox.jackin(["list"]).ok().has("\"go on\"");
    assert_eq!(
        sandbox.jackin(["list", "--json"]).ok().json()["instances"][0]["prompt"],
        "go on"
    );
    let shown = sandbox.jackin(["show", &id]).ok();
    for words in [
        "\"fix the login test\" (Bash: echo one > mine)",
        "-3 \"Clean up\" (Bash: rm -f gone yours both)",
    ] {
        shown.has(words);
    }
    let document = sandbox.jackin(["show", &id, "--json"]).ok().json();
    let turns = document["turns"].as_array().unwrap();
    let facts: Vec<_> = turns
        .iter()
        .map(|turn| (turn["turn"].as_u64().unwrap(), turn["prompt"].as_str().unwrap()))
        .collect();
    assert_eq!(facts, [(3, "go on"), (2, "Clean up"), (1, "fix the login test")]);
    assert_eq!(
        turns[1]["changed"],
        json!({"added": 0, "changed": 0, "deleted": 3})
    );
    assert_eq!(turns[1]["calls"][0]["command"], "rm -f gone yours both");
    let page = sandbox.scratch("page.html");
    sandbox
        .jackin(["show", &id, "--html", page.to_str().unwrap()])
        .ok();
    assert!(
        fs::read_to_string(page)
            .unwrap()
            .contains("rm -f gone yours both")
    );
}

#[test]
fn a_restore_goes_back_to_the_moment_before_a_prompt_or_call() {
    let (sandbox, project, id) = three_turns();
    let before = |text: &str| sandbox.jackin(["restore", &id, "--yes", "--before", text]);
    before("RM -F").ok();
    assert_eq!(
        (read(&project, "mine").as_str(), read(&project, "gone").as_str()),
        ("one\n", "before\n")
    );
    sandbox.jackin(["undo", &id, "--yes"]).ok();
    before("clean").ok();
    assert_eq!(
        (read(&project, "mine").as_str(), read(&project, "gone").as_str()),
        ("one\n", "before\n")
    );
    // Two moments: both are named, with what restores them.
    let several = before("echo").code(2);
    several
        .has("Bash: echo one > mine")
        .has("Bash: echo two > mine")
        .has("--from sn-");
    before("never said").code(5).has("never said");
    sandbox
        .jackin(["restore", &id, "--before", "x", "--from", "baseline"])
        .code(2);
}

#[test]
fn without_prompts_there_is_no_moment_to_name_but_each_snapshot() {
    let (sandbox, project) = workspace("\n[recovery.agent]\nprompts = \"off\"\n");
    let mut agent = Conversation::new(&sandbox, &project, "s");
    agent.turn("fix the login test", "echo one > mine");
    agent.turn("clean up", "rm -f gone");
    agent.end();
    agent.run().ok();
    let session = listed(&sandbox).remove(0);
    let refused = sandbox.jackin(["restore", &session.id, "--yes", "--before", "clean up"]);
    println!("{refused}");
    refused.code(5).has("prompts = \"off\"").has("--from");
    assert_eq!(read(&project, "gone"), "missing");
}

/// Commits of the agent in its own work tree: a checkpoint before the call that removes it has them.
#[test]
fn a_commit_in_a_work_tree_that_the_agent_discarded_comes_back() {
    let (sandbox, project) = workspace("");
    let repository = Repository::init(&project);
    repository.git(&["add", "."]);
    repository.git(&["commit", "-qm", "first"]);
    let before = Tree::read(&project);
    let place = ".claude/worktrees/wt";
    let called = |agent: &mut Conversation<'_>, tool: &str, input: &Value, work: &str| {
        let call = json!({"tool_name": tool, "tool_input": input, "tool_use_id": format!("call of {tool}")});
        agent.hook("PreToolUse", &call);
        agent.shell(work);
        agent.hook("PostToolUse", &call);
    };
    let mut agent = Conversation::new(&sandbox, &project, "s");
    agent.prompt("try it elsewhere");
    let enter = format!("git worktree add -q -b worktree-wt {place}");
    called(&mut agent, "EnterWorktree", &json!({"name": "wt"}), &enter);
    agent.call(&format!(
        "cd {place} && echo wt > wt.txt && git add wt.txt && git commit -qm wt && cd ../../.."
    ));
    let exit = format!("git worktree remove --force {place} && git branch -qD worktree-wt");
    let discarded = json!({"action": "remove", "discard_changes": true});
    called(&mut agent, "ExitWorktree", &discarded, &exit);
    agent.stop();
    agent.end();
    agent.run().ok();
    let id = listed(&sandbox)[0].id.clone();
    sandbox
        .jackin(["restore", &id, "--yes", "--before", "ExitWorktree"])
        .ok();
    assert_eq!(read(&project, &format!("{place}/wt.txt")), "wt\n");
    assert!(
        repository
            .git(&["log", "--format=%s", "worktree-wt"])
            .starts_with("wt\n")
    );
    assert_eq!(repository.git(&["fsck", "--strict"]), "");
    sandbox.jackin(["restore", &id, "--yes"]).ok();
    assert_same_tree(&before, &Tree::read(&project));
}

#[test]
fn what_a_late_closing_shows_is_not_the_sessions() {
    let (sandbox, project) = workspace("");
    let hook = |event: &str, more: &Value| report(&sandbox, &project, "two", event, more);
    hook("SessionStart", &json!({}));
    hook("UserPromptSubmit", &json!({"prompt": "two"}));
    let mut agent = Conversation::new(&sandbox, &project, "one");
    agent.turn("one", "echo agent > mine");
    agent.run().ok();
    // After the death of the first agent, and before a command closes its session.
    let call = json!({"tool_name": "Write", "tool_input": {"file_path": "yours"}, "tool_use_id": "w"});
    hook("PreToolUse", &call);
    fs::write(project.join("yours"), "two\n").unwrap();
    hook("PostToolUse", &call);
    hook("Stop", &json!({}));
    hook("SessionEnd", &json!({}));
    let all = listed(&sandbox);
    let (one, two) = (all[0].id.clone(), all[1].id.clone());
    restore(&sandbox, &one, &["mine"]).code(6);
    listed(&sandbox)[0].snapshot("closing");
    let step = restore(&sandbox, &one, &["--only-changes-of", "closing"]).ok();
    Restored::of(&step).touched::<&str>(&[]);
    assert!(step.text().contains(&two), "{step}");
    assert_eq!(read(&project, "yours"), "two\n");
}

#[test]
fn a_change_of_two_agents_common_state_is_each_ones_own() {
    let sandbox = Sandbox::new();
    let project = configure(&sandbox, "[recovery.state]\nhome = true\n");
    let state = sandbox.home().join(".claude");
    fs::create_dir(&state).unwrap();
    fs::write(state.join("CLAUDE.md"), "before\n").unwrap();
    let hook = |session: &str, event: &str, more: &Value| report(&sandbox, &project, session, event, more);
    let write = |session: &str, name: &str| {
        let file = state.join(name);
        let call = json!({"tool_name": "Write", "tool_input": {"file_path": file}, "tool_use_id": name});
        hook(session, "PreToolUse", &call);
        fs::write(file, format!("{session}\n")).unwrap();
        hook(session, "PostToolUse", &call);
    };
    let begin = |session: &str| {
        hook(session, "SessionStart", &json!({}));
        hook(session, "UserPromptSubmit", &json!({"prompt": session}));
    };
    begin("one");
    write("one", "CLAUDE.md");
    begin("two");
    write("two", "CLAUDE.md");
    write("one", "one.md");
    two_at_rest(&hook);
    let all = listed(&sandbox);
    let (two, one) = (all[0].id.clone(), all[1].id.clone());
    let plan = sandbox.jackin(["restore", &one, "--dry-run", "--json"]).code(6);
    assert!(plan.text().contains(&two), "{plan}");
    let plan = Restored::of(&plan);
    plan.touched(&[".claude/one.md"]);
    plan.conflicted(&[".claude/CLAUDE.md"]);
    Restored::of(&restore(&sandbox, &two, &[]).ok()).touched(&[".claude/CLAUDE.md"]);
    assert_eq!(read(&state, "CLAUDE.md"), "one\n");
    assert_eq!(read(&state, "one.md"), "one\n");
}

#[test]
fn a_prompt_is_quoted_once() {
    let (sandbox, project) = workspace("");
    let mut agent = Conversation::new(&sandbox, &project, "s");
    agent.turn("\"mine\" is wrong", "echo agent > mine");
    agent.run().ok();
    let id = listed(&sandbox)[0].id.clone();
    let shown = sandbox.jackin(["show", &id]).ok();
    shown.shows("\"\\\"mine\\\" is wrong\"").hides("\"\"");
}
