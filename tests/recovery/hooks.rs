//! What an agent's hooks do: sessions that begin by themselves, checkpoints before tool calls, and nothing that gets in the agent's way.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::documents::{Instance, instances};
use crate::support::run::Run;
use crate::support::sandbox::Sandbox;

/// A workspace that is captured, and what `[recovery.agent]` says of it.
fn workspace(agent: &str) -> (Sandbox, PathBuf) {
    let sandbox = Sandbox::new();
    let project = sandbox.captured("shop", agent);
    fs::write(project.join("a"), "of the operator\n").unwrap();
    (sandbox, project)
}

fn say(sandbox: &Sandbox, event: &str, directory: &Path, more: &Value) -> Run {
    let mut what = json!({
        "session_id": "session-1",
        "transcript_path": "/x/transcript.jsonl",
        "cwd": directory,
        "permission_mode": "default",
        "hook_event_name": event,
    });
    let all = what.as_object_mut().unwrap();
    all.extend(more.as_object().unwrap().clone());
    sandbox.tell("claude", event, what.to_string().as_bytes())
}

fn bash(sandbox: &Sandbox, directory: &Path, command: &str, id: &str) -> Run {
    let call = json!({"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": id});
    say(sandbox, "PreToolUse", directory, &call)
}

fn listed(sandbox: &Sandbox) -> Vec<Instance> {
    instances(&sandbox.jackin(["list", "--json"]).ok())
}

fn kinds(sandbox: &Sandbox) -> Vec<String> {
    let all = listed(sandbox);
    assert_eq!(all.len(), 1, "{all:?}");
    all[0].snapshots.iter().map(|one| one.kind.clone()).collect()
}

#[test]
fn a_session_of_an_agent_has_a_checkpoint_before_each_call_that_may_change_what_changed() {
    let (sandbox, project) = workspace("");
    say(&sandbox, "SessionStart", &project, &json!({"source": "startup"})).ok();
    assert_eq!(kinds(&sandbox), ["baseline"]);
    let id = listed(&sandbox)[0].id.clone();
    assert_eq!(listed(&sandbox)[0].workspace.as_deref(), Some("shop"));
    // Nothing changed, or nothing will.
    bash(&sandbox, &project, "rm -rf /", "t1").ok();
    fs::write(project.join("a"), "one\n").unwrap();
    bash(&sandbox, &project, "ls -la | head; git rev-parse HEAD", "t2").ok();
    say(
        &sandbox,
        "PreToolUse",
        &project,
        &json!({"tool_name": "Read", "tool_input": {"file_path": "a"}}),
    )
    .ok();
    assert_eq!(kinds(&sandbox), ["baseline"]);
    // From a directory below, too.
    fs::create_dir(project.join("below")).unwrap();
    bash(&sandbox, &project.join("below"), "rm a", "toolu_3").ok();
    assert_eq!(kinds(&sandbox), ["checkpoint", "baseline"]);
    sandbox
        .jackin(["show", &id])
        .ok()
        .has("before Bash: rm a")
        .has("claude, its session session-1");
    let shown = sandbox.jackin(["show", &id, "--json"]).ok().json();
    assert_eq!(shown["agent"], json!({"name": "claude", "session": "session-1"}));
    let marked = shown["instance"]["snapshots"][0]["id"].as_str().unwrap();
    assert_eq!(
        shown["calls"],
        json!({marked: {"tool": "Bash", "id": "toolu_3", "command": "rm a"}})
    );
    sandbox
        .jackin(["log", &id])
        .ok()
        .has(&format!("checkpoint snapshot {marked} before Bash"));
    fs::write(project.join("a"), "two\n").unwrap();
    let write = json!({"tool_name": "Write", "tool_input": {"file_path": "b", "content": "x"}, "tool_use_id": "toolu_4"});
    say(&sandbox, "PreToolUse", &project, &write).ok();
    fs::remove_file(project.join("a")).unwrap();
    say(&sandbox, "SessionEnd", &project, &json!({"reason": "exit"})).ok();
    assert_eq!(
        kinds(&sandbox),
        ["closing", "checkpoint", "checkpoint", "baseline"]
    );
    assert_eq!(listed(&sandbox)[0].status, "ended");
    // Going back to each of them.
    let steps = sandbox.jackin(["show", &id, "--json"]).ok().json();
    let of = |at: usize| {
        steps["instance"]["snapshots"][at]["id"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    for (snapshot, text) in [(of(1), "two\n"), (of(2), "one\n"), (of(3), "of the operator\n")] {
        sandbox
            .jackin([
                "restore",
                &id,
                "--from",
                &snapshot,
                "--yes",
                "--overwrite-later-edits",
            ])
            .ok();
        assert_eq!(fs::read_to_string(project.join("a")).unwrap(), text);
    }
    // The same session goes on: another one of ours.
    say(&sandbox, "SessionStart", &project, &json!({"source": "resume"})).ok();
    assert_eq!(listed(&sandbox).len(), 2);
}

#[test]
fn who_did_not_ask_for_it_notices_nothing() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("shop");
    for event in ["SessionStart", "PreToolUse", "SessionEnd"] {
        let run = say(
            &sandbox,
            event,
            &project,
            &json!({"tool_name": "Bash", "tool_input": {"command": "rm x"}}),
        );
        assert!(run.ok().stderr.is_empty());
    }
    sandbox.configure(
        "workspaces/shop.toml",
        "[[mounts]]\nsrc = \"~/src/shop\"\ndst = \"/w\"\n\n[recovery]\nsnapshot = \"off\"\n",
    );
    bash(&sandbox, &project, "rm x", "t").ok();
    assert!(!sandbox.store().exists());
}

#[test]
fn hooks_at_the_same_time_begin_one_session() {
    let (sandbox, project) = workspace("");
    // Made once, not by all of them.
    fs::write(sandbox.scratch("ready"), "").unwrap();
    std::thread::scope(|scope| {
        for number in 0..6 {
            let (sandbox, project) = (&sandbox, &project);
            scope.spawn(move || bash(sandbox, project, "rm x", &"t".repeat(number + 1)).ok());
        }
    });
    assert_eq!(kinds(&sandbox), ["baseline"]);
    sandbox.jackin(["verify", "--read-data"]).ok();
}

#[test]
fn an_agent_that_was_launched_stays_in_its_session() {
    let (sandbox, project) = workspace("");
    let event = sandbox.scratch("event");
    let what =
        json!({"session_id": "s", "cwd": project, "tool_name": "Bash", "tool_input": {"command": "rm a"}});
    fs::write(&event, what.to_string()).unwrap();
    let program = crate::support::machine::binary();
    let script = format!(
        "echo x > a; '{}' recovery hook run claude PreToolUse < '{}'",
        program.display(),
        event.display()
    );
    sandbox.launch(&project, &script);
    assert_eq!(kinds(&sandbox), ["closing", "checkpoint", "baseline"]);
}

#[test]
fn what_fails_is_said_once_and_blocks_only_when_that_is_wanted() {
    for (agent, codes) in [
        ("", [1, 0]),
        ("\n[recovery.agent]\non_failure = \"block\"\n", [2, 2]),
    ] {
        let (sandbox, project) = workspace(agent);
        say(&sandbox, "SessionStart", &project, &json!({})).ok();
        // There is no directory to look at any more.
        fs::rename(&project, project.with_extension("away")).unwrap();
        fs::write(&project, "a file").unwrap();
        for code in codes {
            let run = bash(&sandbox, &project, "rm x", "t").code(code);
            assert_eq!(run.stderr.is_empty(), code == 0, "{run}");
        }
        fs::remove_file(&project).unwrap();
        fs::rename(project.with_extension("away"), &project).unwrap();
        fs::write(project.join("a"), "more\n").unwrap();
        bash(&sandbox, &project, "rm x", "t").ok();
        assert_eq!(kinds(&sandbox), ["checkpoint", "baseline"]);
    }
}

#[test]
fn a_baseline_that_failed_is_said_once_and_tried_again_at_the_next_event() {
    let limits = "\n[recovery.limits]\nmax_entries = 1\n";
    let block = "\n[recovery.agent]\non_failure = \"block\"\n";
    for session in ["", "on_failure = \"run\"\n"] {
        // With `block` a call waits for its baseline; else it runs, and no checkpoint stores what the limits keep from a baseline.
        for (agent, codes) in [("", [1, 0]), (block, [2, 2])] {
            let (sandbox, project) = workspace(&format!("{session}{limits}{agent}"));
            fs::write(project.join("b"), "more than one\n").unwrap();
            for code in codes {
                let run = bash(&sandbox, &project, "rm x", "t").code(code);
                assert_eq!(run.stderr.is_empty(), code == 0, "{run}");
            }
            fs::remove_file(project.join("b")).unwrap();
            bash(&sandbox, &project, "rm x", "t").ok();
            assert_eq!(kinds(&sandbox), ["baseline"]);
            assert_eq!(listed(&sandbox)[0].status, "active");
        }
    }
    // Where nothing is blocked, only the first call of a turn waits for it.
    let (sandbox, project) = workspace(limits);
    fs::write(project.join("b"), "more than one\n").unwrap();
    let prompt = || say(&sandbox, "UserPromptSubmit", &project, &json!({"prompt": "x"}));
    prompt().code(1);
    bash(&sandbox, &project, "rm x", "t").ok();
    fs::remove_file(project.join("b")).unwrap();
    bash(&sandbox, &project, "rm y", "u").ok();
    assert!(kinds(&sandbox).is_empty());
    prompt().ok();
    assert_eq!(kinds(&sandbox), ["baseline"]);
    // Once it can be taken it is, at any event of the conversation, and never at a prompt is anything refused.
    for event in ["SessionStart", "UserPromptSubmit", "Stop"] {
        for agent in ["", block] {
            let (sandbox, project) = workspace(&format!("{limits}{agent}"));
            fs::write(project.join("b"), "more than one\n").unwrap();
            let text = say(&sandbox, "UserPromptSubmit", &project, &json!({"prompt": "x"}));
            text.code(1).has("no snapshot was taken");
            let file = sandbox.home().join(".config/jackin/workspaces/shop.toml");
            let larger = fs::read_to_string(&file)
                .unwrap()
                .replace("max_entries = 1", "max_entries = 9");
            fs::write(&file, larger).unwrap();
            say(&sandbox, event, &project, &json!({})).ok();
            assert_eq!(kinds(&sandbox), ["baseline"], "{event} {agent}");
        }
    }
}

/// Kills the hook of an event once its session is recorded, and before the baseline is.
fn killed_in_the_baseline(sandbox: &Sandbox, project: &Path) {
    let event = sandbox.scratch("start");
    let what = json!({"session_id": "session-1", "cwd": project, "hook_event_name": "SessionStart"});
    fs::write(&event, what.to_string()).unwrap();
    let script = format!("exec \"$@\" < '{}'", event.display());
    let hook = sandbox.command(["hook", "run", "claude", "SessionStart"]);
    let hook = hook.with("JACKIN_RECOVERY_FAIL_AT", "session-begun");
    let run = hook.through(&["sh", "-c", &script, "sh"]).run();
    assert_eq!(run.exit(), None, "{run}");
}

/// The last turn of a session, in which the agent makes a file.
fn turn_that_makes(sandbox: &Sandbox, project: &Path) {
    say(
        sandbox,
        "UserPromptSubmit",
        project,
        &json!({"prompt": "make it"}),
    )
    .ok();
    bash(sandbox, project, "echo > made", "t").ok();
    fs::write(project.join("made"), "by the agent\n").unwrap();
    for event in ["Stop", "SessionEnd"] {
        say(sandbox, event, project, &json!({})).ok();
    }
}

/// Of several processes that find no baseline one takes it, and the others wait for it.
#[test]
fn a_missing_baseline_is_taken_once() {
    for _ in 0..3 {
        let (sandbox, project) = workspace("");
        for number in 0..400 {
            fs::write(project.join(format!("f{number}")), [b'x'; 3000]).unwrap();
        }
        killed_in_the_baseline(&sandbox, &project);
        let id = listed(&sandbox)[0].id.clone();
        std::thread::scope(|scope| {
            for name in ["one", "two", "three"] {
                let checkpoint = sandbox.command(["checkpoint", id.as_str(), "--name", name]);
                scope.spawn(move || checkpoint.run().ok());
            }
        });
        let expected = ["checkpoint", "checkpoint", "checkpoint", "baseline"];
        assert_eq!(kinds(&sandbox), expected);
    }
}

#[test]
fn a_baseline_whose_hook_was_killed_is_taken_at_the_next_event() {
    for event in ["UserPromptSubmit", "PreToolUse", "Stop"] {
        let (sandbox, project) = workspace("");
        let earlier = sandbox.launch(&project, "echo done > work");
        killed_in_the_baseline(&sandbox, &project);
        let what = json!({"prompt": "x", "tool_name": "Bash", "tool_input": {"command": "rm x"}});
        say(&sandbox, event, &project, &what).ok();
        let newest = &listed(&sandbox)[0];
        assert_ne!(newest.id, earlier);
        let kinds: Vec<&str> = newest.snapshots.iter().map(|one| one.kind.as_str()).collect();
        assert_eq!(kinds, ["baseline"], "{event}");
        turn_that_makes(&sandbox, &project);
        // Its own work goes, and that of the session before it stays.
        sandbox
            .command(["restore", "--yes"])
            .inside(&project)
            .by_the_operator()
            .run()
            .ok();
        assert!(
            !project.join("made").exists() && project.join("work").exists(),
            "{event}"
        );
        sandbox
            .jackin(["log"])
            .ok()
            .shows("the process that took it was killed");
    }
}

#[test]
fn a_checkpoint_by_name_takes_the_baseline_that_was_killed() {
    let (sandbox, project) = workspace("");
    killed_in_the_baseline(&sandbox, &project);
    let id = listed(&sandbox)[0].id.clone();
    sandbox.jackin(["checkpoint", &id, "--name", "own"]).ok();
    assert_eq!(kinds(&sandbox), ["checkpoint", "baseline"]);
    turn_that_makes(&sandbox, &project);
    sandbox.restore(&id, &[]);
    assert!(!project.join("made").exists());
}

#[test]
fn what_is_no_event_is_said_and_changes_nothing() {
    let (sandbox, project) = workspace("");
    for what in [&b""[..], b"{", b"[]", b"null", b"\xff\xfe", b"{\"cwd\": 3"] {
        sandbox.tell("claude", "PreToolUse", what).code(1);
    }
    say(&sandbox, "Unheard", &project, &json!({}))
        .code(1)
        .has("Unheard");
    // 2 would mean that the call must not happen.
    sandbox.tell("nobody", "PreToolUse", b"{}").code(1);
    sandbox.jackin(["hook", "run"]).code(1);
    sandbox.configure("config.toml", "[recovery]\nsnapshot = 3\n");
    bash(&sandbox, &project, "rm x", "t").code(1).has("snapshot");
    fs::remove_file(sandbox.home().join(".config/jackin/config.toml")).unwrap();
    assert!(!sandbox.store().exists());
    // Names that mean harm are shown so that they cannot.
    let odd = json!({"tool_name": "Bash\u{1b}[2J\n", "tool_input": {"command": 3}, "tool_use_id": "--output=/x\u{7}"});
    say(&sandbox, "PreToolUse", &project, &odd).ok();
    fs::write(project.join("a"), "x").unwrap();
    say(&sandbox, "PreToolUse", &project, &odd).ok();
    assert_eq!(kinds(&sandbox), ["checkpoint", "baseline"]);
    let shown = sandbox.jackin(["show", "@latest"]).ok();
    assert!(!shown.text().contains(['\u{1b}', '\u{7}']), "{shown}");
}

#[test]
fn an_event_that_needs_nothing_is_ignored_for_an_agent_that_has_it() {
    let (sandbox, project) = workspace("");
    let event = json!({"session_id": "s", "cwd": project}).to_string();
    for (agent, event_name, is_known) in [
        ("codex", "PermissionRequest", true),
        ("codex", "PreCompact", true),
        ("codex", "PostCompact", true),
        ("copilot", "errorOccurred", true),
        ("claude", "PreCompact", true),
        ("gemini", "BeforeModel", true),
        ("gemini", "AfterModel", true),
        ("gemini", "BeforeToolSelection", true),
        ("gemini", "PreCompress", true),
        ("gemini", "Notification", true),
        ("cursor", "beforeReadFile", true),
        ("claude", "BeforeModel", false),
        ("gemini", "PermissionRequest", false),
        ("cursor", "Unheard", false),
    ] {
        let run = sandbox.tell(agent, event_name, event.as_bytes());
        match is_known {
            true => assert_eq!(run.ok().text().trim(), "", "{agent} {event_name}"),
            false => drop(run.code(1).shows("unknown event")),
        }
    }
    assert!(listed(&sandbox).is_empty());
}

#[test]
fn a_command_runs_without_its_checkpoint_unless_that_blocks() {
    let block = "\n[recovery.agent]\non_failure = \"block\"\n";
    for (agent, is_there, code) in [("", true, 0), (block, true, 1), (block, false, 0)] {
        let (sandbox, project) = workspace(agent);
        let begun = sandbox.jackin(["begin", "shop"]).ok();
        let id = String::from_utf8_lossy(&begun.stdout).trim().to_owned();
        if !is_there {
            fs::remove_file(sandbox.home().join(".config/jackin/workspaces/shop.toml")).unwrap();
        }
        fs::rename(&project, project.with_extension("away")).unwrap();
        fs::write(&project, "a file").unwrap();
        let mark = sandbox.scratch("ran");
        let run = sandbox.jackin(["exec", &id, "--", "touch", mark.to_str().unwrap()]);
        match code {
            0 => run.ok().has("no checkpoint was taken"),
            _ => run.code(code).has("the command was not run"),
        };
        assert_eq!(mark.exists(), code == 0);
        fs::remove_file(&project).unwrap();
        fs::rename(project.with_extension("away"), &project).unwrap();
        assert_eq!(kinds(&sandbox), ["baseline"]);
    }
}

#[test]
fn scripts_have_the_same_with_exec() {
    let (sandbox, project) = workspace("");
    let id = sandbox.jackin(["begin", "shop", "--json"]).ok().json()["instance"]
        .as_str()
        .unwrap()
        .to_owned();
    let exec = |words: &[&str]| {
        let all = ["exec", id.as_str(), "--"];
        sandbox
            .command(all.iter().chain(words).copied())
            .inside(&project)
            .run()
    };
    exec(&["sh", "-c", "echo one > a; exit 3"]).code(3);
    assert_eq!(kinds(&sandbox), ["baseline"]);
    exec(&["cat", "a"]).ok().has("one");
    assert_eq!(kinds(&sandbox), ["baseline"]);
    exec(&["sh", "-c", "echo $JACKIN_RECOVERY_INSTANCE > a"]).ok();
    assert_eq!(kinds(&sandbox), ["checkpoint", "baseline"]);
    assert_eq!(fs::read_to_string(project.join("a")).unwrap().trim(), id);
    exec(&["no-such-command"]).code(127);
    sandbox.jackin(["end", &id]).ok();
    exec(&["true"]).refused();
    // A session that keeps no file has no moments.
    let target = project.to_str().unwrap();
    let bare = sandbox
        .jackin(["begin", "--snapshot", "metadata", target, "--json"])
        .ok()
        .json();
    let bare = bare["instance"].as_str().unwrap().to_owned();
    for words in [vec!["exec", &bare, "--", "rm", "x"], vec!["checkpoint", &bare]] {
        sandbox.jackin(words).code(5);
    }
    assert!(listed(&sandbox)[0].snapshots.is_empty());
    sandbox.jackin(["exec", "nobody", "--", "true"]).code(5);
    sandbox.jackin(["exec", &id]).code(2);
}

#[test]
fn an_event_with_half_a_character_is_an_event() {
    let (sandbox, project) = workspace("");
    say(&sandbox, "SessionStart", &project, &json!({})).ok();
    for (number, half) in [&br"\ud83d"[..], b"\xf0\x9f"].into_iter().enumerate() {
        fs::write(project.join("a"), number.to_string()).unwrap();
        let call = json!({"session_id": "session-1", "cwd": project, "tool_name": "Bash", "tool_input": {"command": "rm HALF"}});
        let text = call.to_string();
        let (before, after) = text.split_once("HALF").unwrap();
        let event = [before.as_bytes(), half, after.as_bytes()].concat();
        let run = sandbox.tell("claude", "PreToolUse", &event).ok();
        assert!(run.stderr.is_empty(), "{run}");
    }
    assert_eq!(kinds(&sandbox), ["checkpoint", "checkpoint", "baseline"]);
    sandbox
        .jackin(["show", "@latest"])
        .ok()
        .has("before Bash: rm \u{fffd}");
}

#[test]
fn a_session_goes_on_and_ends_where_the_agent_works_elsewhere() {
    let (sandbox, project) = workspace("");
    let elsewhere = sandbox.project("elsewhere");
    say(&sandbox, "UserPromptSubmit", &project, &json!({"prompt": "go"})).ok();
    fs::write(project.join("a"), "one\n").unwrap();
    bash(&sandbox, &elsewhere, "rm -rf ../shop/a", "t1").ok();
    assert_eq!(kinds(&sandbox), ["checkpoint", "baseline"]);
    // A workspace of its own has a session of its own; what runs there may change files of the other.
    let other = sandbox.captured("other", "");
    fs::write(project.join("a"), "two\n").unwrap();
    bash(&sandbox, &other, "rm -rf ../shop/a", "t2").ok();
    let all = listed(&sandbox);
    let of = |workspace: &str| {
        let mut sessions = all.iter();
        sessions
            .find(|one| one.workspace.as_deref() == Some(workspace))
            .unwrap()
    };
    assert_eq!(of("shop").snapshots.len(), 3, "{all:?}");
    assert_eq!(of("other").snapshots.len(), 1, "{all:?}");
    // A workspace that is no longer captured is left alone.
    let file = sandbox.home().join(".config/jackin/workspaces/shop.toml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("\"project\"", "\"off\"")).unwrap();
    fs::write(project.join("a"), "three\n").unwrap();
    bash(&sandbox, &elsewhere, "rm -rf ../shop/a", "t3").ok();
    fs::write(&file, text).unwrap();
    say(&sandbox, "SessionEnd", &elsewhere, &json!({})).ok();
    let all = listed(&sandbox);
    assert!(all.iter().all(|one| one.status == "ended"), "{all:?}");
    let kinds: Vec<usize> = all.iter().map(|one| one.snapshots.len()).collect();
    assert_eq!(kinds, [2, 4]);
}

#[test]
fn agents_without_ids_are_told_apart_by_their_workspaces() {
    let (sandbox, project) = workspace("");
    let other = sandbox.captured("other", "");
    let call = |directory: &Path| {
        let what = json!({"cwd": directory, "toolName": "bash", "toolArgs": {"command": "rm x"}});
        sandbox
            .tell("copilot", "preToolUse", what.to_string().as_bytes())
            .ok();
    };
    call(&project);
    fs::write(project.join("a"), "changed\n").unwrap();
    call(&other);
    call(&sandbox.project("elsewhere"));
    let all = listed(&sandbox);
    assert_eq!(all.len(), 2, "{all:?}");
    assert!(all.iter().all(|one| one.snapshots.len() == 1), "{all:?}");
}

#[test]
fn an_agent_that_is_launched_in_a_plain_directory_has_its_checkpoints() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("plain");
    let event = |name: &str, more: &Value| {
        let mut what = json!({"session_id": "s", "cwd": project});
        what.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        let file = sandbox.scratch(name);
        fs::write(&file, what.to_string()).unwrap();
        let program = crate::support::machine::binary();
        format!(
            "'{}' recovery hook run claude {name} < '{}'",
            program.display(),
            file.display()
        )
    };
    let prompt = event("UserPromptSubmit", &json!({"prompt": "make it"}));
    let call = event(
        "PreToolUse",
        &json!({"tool_name": "Bash", "tool_input": {"command": "rm made"}}),
    );
    let id = sandbox.launch(&project, &format!("{prompt}; echo x > made; {call}; rm made"));
    assert_eq!(kinds(&sandbox), ["closing", "checkpoint", "baseline"]);
    sandbox
        .jackin(["restore", &id, "--before", "rm made", "--yes", "made"])
        .ok();
    assert_eq!(fs::read_to_string(project.join("made")).unwrap(), "x\n");
    // A session that keeps no file has no checkpoints, and the agent is not bothered.
    let target = project.to_str().unwrap();
    let launch = ["launch", "--snapshot", "metadata", target, "--", "sh", "-c"];
    let script = format!("{prompt} && {call}");
    sandbox.jackin(launch.into_iter().chain([script.as_str()])).ok();
    assert!(listed(&sandbox)[0].snapshots.is_empty());
}

#[test]
fn an_agent_in_a_terminal_that_outlived_its_session_has_one_of_its_own() {
    let (sandbox, project) = workspace("");
    let over = sandbox.launch(&project, "true");
    let event = json!({"session_id": "s", "cwd": project, "prompt": "go on"}).to_string();
    let file = sandbox.scratch("event");
    fs::write(&file, event).unwrap();
    let script = format!(
        "JACKIN_RECOVERY_INSTANCE={over} exec \"$@\" < '{}'",
        file.display()
    );
    let hook = sandbox.command(["hook", "run", "claude", "UserPromptSubmit"]);
    hook.through(&["sh", "-c", &script, "sh"]).run().ok();
    let all = listed(&sandbox);
    assert_eq!(all.len(), 2, "{all:?}");
    let shown = sandbox.jackin(["show", &all[0].id]).ok();
    shown.has("go on").has("claude, its session s");
}

/// A slip in the configuration does not turn `block` into `run`, nor `run` into `block`.
#[test]
fn a_configuration_that_cannot_be_read_blocks_where_it_says_so() {
    for (agent, code) in [
        ("\n[recovery.agent]\non_failure = \"block\"\n", 2),
        ("\n[recovery.agent]\non_failure = \"run\"\n", 1),
        ("", 1),
    ] {
        for slip in ["\n[recovery.agnt]\n", "\nx = \n"] {
            let (sandbox, project) = workspace(&format!("{agent}{slip}"));
            bash(&sandbox, &project, "rm a", "t")
                .code(code)
                .has("no snapshot was taken")
                .has("shop.toml");
            say(&sandbox, "UserPromptSubmit", &project, &json!({"prompt": "x"})).code(1);
        }
    }
}

#[test]
fn a_call_without_its_checkpoint_is_refused_where_that_is_wanted_whatever_failed() {
    for (agent, code) in [("", 1), ("\n[recovery.agent]\non_failure = \"block\"\n", 2)] {
        let (sandbox, project) = workspace(agent);
        // A store that cannot be written.
        fs::create_dir_all(sandbox.store().parent().unwrap()).unwrap();
        fs::write(sandbox.store(), "a file").unwrap();
        bash(&sandbox, &project, "rm a", "t")
            .code(code)
            .has("no snapshot was taken");
        // No beginning and no end, no prompt and no return is refused.
        say(&sandbox, "SessionStart", &project, &json!({})).code(1);
        say(&sandbox, "SessionEnd", &project, &json!({})).code(1);
        say(&sandbox, "UserPromptSubmit", &project, &json!({"prompt": "x"})).code(1);
        let call = json!({"tool_name": "Bash", "tool_input": {"command": "rm a"}});
        say(&sandbox, "PostToolUse", &project, &call).code(1);
        fs::remove_file(sandbox.store()).unwrap();
        // A call that cannot be read; the agent does not find its pipe broken.
        let file = sandbox.scratch("long");
        fs::write(&file, vec![b' '; 33 << 20]).unwrap();
        let script = format!(
            "{{ cat '{}'; echo $? > '{}'; }} | \"$@\"",
            file.display(),
            sandbox.scratch("status").display()
        );
        for (event, code) in [("PreToolUse", code), ("PostToolUse", 1)] {
            let hook = sandbox.command(["hook", "run", "claude", event]).inside(&project);
            hook.through(&["sh", "-c", &script, "sh"])
                .run()
                .code(code)
                .has("too long");
            assert_eq!(fs::read_to_string(sandbox.scratch("status")).unwrap(), "0\n");
        }
    }
}

#[test]
fn exec_takes_a_baseline_that_failed_within_its_limits() {
    let (sandbox, project) = workspace("\n[recovery.limits]\nmax_entries = 1\n");
    fs::write(project.join("b"), "more than one\n").unwrap();
    bash(&sandbox, &project, "rm x", "t").code(1);
    let id = listed(&sandbox)[0].id.clone();
    let exec = || sandbox.jackin(["exec", &id, "--", "touch", "x"]).ok();
    exec().has("no checkpoint was taken");
    assert!(kinds(&sandbox).is_empty());
    fs::remove_file(project.join("b")).unwrap();
    exec();
    assert_eq!(kinds(&sandbox), ["baseline"]);
}

#[test]
fn a_failure_denies_no_call_of_an_agent_that_denies_them_at_any_status() {
    for (agent, denied) in [("", 0), ("\n[recovery.agent]\non_failure = \"block\"\n", 2)] {
        let (sandbox, project) = workspace(agent);
        fs::create_dir_all(sandbox.store().parent().unwrap()).unwrap();
        fs::write(sandbox.store(), "a file").unwrap();
        let what = json!({"sessionId": "s", "cwd": project, "toolName": "bash", "toolArgs": "{\"command\":\"rm x\"}"});
        let what = what.to_string();
        let tell = |event: &str, what: &str| {
            let run = sandbox.tell("copilot", event, what.as_bytes());
            run.has("no snapshot was taken");
            assert!(run.stdout.is_empty(), "{run}");
            run
        };
        tell("preToolUse", &what).code(denied);
        tell("preToolUse", "no event").ok();
        tell("postToolUse", &what).code(1);
    }
}

#[test]
fn a_prompt_of_a_single_long_line_is_recorded_in_time() {
    let (sandbox, project) = workspace("\n[recovery.agent]\nprompts = \"full\"\n");
    let line = format!("{} use ghp_0123456789abcdefghij", "word ".repeat(100_000));
    let event = sandbox.scratch("long-prompt");
    let what = json!({"session_id": "s-1", "cwd": project, "prompt": line});
    fs::write(&event, what.to_string()).unwrap();
    // An agent waits for 60 seconds; with work for each pair of words this takes many minutes. The limit is one of CPU
    // time, which does not depend on what else runs.
    let limited = format!("ulimit -t 30; exec \"$@\" < '{}'", event.display());
    let hook = sandbox.command(["hook", "run", "claude", "UserPromptSubmit"]);
    hook.through(&["sh", "-c", &limited, "sh"]).run().ok();
    let shown = sandbox.jackin(["log", "--json"]).ok();
    assert!(shown.text().contains("word word"), "{shown}");
    assert!(!shown.text().contains("ghp_"));
}

#[test]
fn a_secret_in_quotes_is_hidden_up_to_the_closing_quote() {
    for setting in ["", "\n[recovery.agent]\nprompts = \"full\"\n"] {
        let (sandbox, project) = workspace(setting);
        let prompt = "password = \"a b STAPLE\"\n-----BEGIN PRIVATE KEY-----\nMC4CAQAw\nSTAPLE==\n\
                      -----END PRIVATE KEY-----\nplease";
        say(&sandbox, "UserPromptSubmit", &project, &json!({"prompt": prompt})).ok();
        for command in [
            "export DB_PASSWORD=\"a b STAPLE\"; ./deploy",
            "mysql --password 'a b STAPLE' -e x",
            "sshpass -p 'a b STAPLE' ssh host",
            "curl -u 'bob:a b STAPLE' https://example.org",
            "curl -d '{\"password\": \"a b STAPLE\"}' https://example.org",
            "POSTGRES_PASSWORD='a b\nSTAPLE' docker compose up",
        ] {
            let what = json!({"tool_name": "Bash", "tool_input": {"command": command}});
            say(&sandbox, "PreToolUse", &project, &what).ok();
        }
        let receipts = fs::read_to_string(sandbox.store().join("receipts.log")).unwrap();
        assert!(!receipts.contains("STAPLE"), "{receipts}");
        assert!(receipts.contains("sshpass -p (hidden) ssh host"), "{receipts}");
        assert_eq!(receipts.contains("please"), !setting.is_empty());
        let id = listed(&sandbox)[0].id.clone();
        for words in [&["show", &id][..], &["list", "--json"], &["log", &id]] {
            sandbox.jackin(words).ok().hides("STAPLE");
        }
    }
}

/// An event of Cursor, which names the roots of its window.
fn cursor(sandbox: &Sandbox, event: &str, roots: &[&Path], more: &Value) {
    let mut what = json!({"conversation_id": "k1", "hook_event_name": event, "workspace_roots": roots});
    let all = what.as_object_mut().unwrap();
    all.extend(more.as_object().unwrap().clone());
    sandbox.tell("cursor", event, what.to_string().as_bytes()).ok();
}

#[test]
fn the_first_root_in_a_workspace_is_protected() {
    let (sandbox, project) = workspace("");
    let other = sandbox.project("other");
    let roots = [other.as_path(), project.as_path()];
    cursor(&sandbox, "sessionStart", &roots, &json!({}));
    let file = project.join("a");
    let write = json!({"tool_name": "Write", "tool_input": {"file_path": file}, "tool_use_id": "t"});
    cursor(&sandbox, "preToolUse", &roots, &write);
    fs::write(&file, "of the agent\n").unwrap();
    cursor(&sandbox, "sessionEnd", &roots, &json!({}));
    let all = listed(&sandbox);
    assert_eq!(all.len(), 1);
    assert_eq!(all[0].workspace.as_deref(), Some("shop"));
    sandbox.jackin(["restore", &all[0].id, "--yes"]).ok();
    assert_eq!(fs::read_to_string(&file).unwrap(), "of the operator\n");
    // None of them is in a workspace.
    cursor(&sandbox, "sessionStart", &[&other], &json!({}));
    assert_eq!(listed(&sandbox).len(), 1);
}

#[test]
fn a_command_that_cursor_reports_twice_is_recorded_once() {
    let (sandbox, project) = workspace("");
    let roots = [project.as_path()];
    let run = |command: &str, id: &str| {
        let named = json!({"tool_name": "Shell", "tool_input": {"command": command}, "tool_use_id": id});
        cursor(&sandbox, "preToolUse", &roots, &named);
        cursor(
            &sandbox,
            "beforeShellExecution",
            &roots,
            &json!({"command": command, "cwd": project}),
        );
    };
    cursor(&sandbox, "beforeSubmitPrompt", &roots, &json!({"prompt": "go"}));
    run("rm a", "c1");
    fs::remove_file(project.join("a")).unwrap();
    run("rm a", "c2");
    run("make", "c3");
    cursor(&sandbox, "stop", &roots, &json!({}));
    // Two that run beside each other.
    for (event, tool) in [("preToolUse", "tool_input"), ("beforeShellExecution", "")] {
        for command in ["make a", "make b"] {
            let named = match tool {
                "" => json!({"command": command, "cwd": project}),
                _ => json!({"tool_name": "Shell", "tool_input": {"command": command}}),
            };
            cursor(&sandbox, event, &roots, &named);
        }
    }
    cursor(&sandbox, "stop", &roots, &json!({}));
    // Versions without `preToolUse` report only this.
    cursor(
        &sandbox,
        "beforeShellExecution",
        &roots,
        &json!({"command": "make"}),
    );
    let id = listed(&sandbox)[0].id.clone();
    let log = sandbox.jackin(["log", &id, "--json"]).ok().json();
    let acts = log["receipts"].as_array().unwrap().iter().rev();
    let calls = acts.filter(|receipt| receipt["act"]["event"] == "call");
    let calls: Vec<&Value> = calls.map(|receipt| &receipt["act"]["call"]).collect();
    let tools: Vec<&str> = calls.iter().filter_map(|call| call["tool"].as_str()).collect();
    let shell = "Shell";
    assert_eq!(tools, [shell, shell, shell, shell, shell, "shell"], "{log:#}");
}
