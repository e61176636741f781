//! Edits between turns that the agent undid: a restore names them with the snapshot that has them.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::conversation::{Conversation, report};
use crate::support::documents::instances;
use crate::support::sandbox::Sandbox;

fn workspace() -> (Sandbox, PathBuf) {
    let sandbox = Sandbox::new();
    let project = sandbox.captured("shop", "");
    for name in ["a", "b"] {
        fs::write(project.join(name), "before\n").unwrap();
    }
    (sandbox, project)
}

fn newest(sandbox: &Sandbox) -> String {
    instances(&sandbox.jackin(["list", "--json"]).ok())[0].id.clone()
}

fn read(project: &Path, name: &str) -> String {
    fs::read_to_string(project.join(name)).unwrap_or_else(|_| "missing".to_owned())
}

/// The commands that the output proposes for these edits.
fn proposed(text: &str) -> Vec<Vec<String>> {
    let parts = text.split("to restore your version:").skip(1);
    let commands =
        parts.filter_map(|rest| rest.trim_start().lines().next()?.strip_prefix("jackin recovery "));
    commands
        .map(|command| command.split(' ').map(str::to_owned).collect())
        .collect()
}

/// Runs a command that was proposed, without its question.
#[track_caller]
fn carry_out(sandbox: &Sandbox, project: &Path, command: &[String]) {
    let words = command.iter().map(String::as_str).chain(["--yes"]);
    sandbox.command(words).inside(project).run().ok();
}

#[test]
fn edits_between_turns_that_the_agent_undid_are_named_with_their_snapshot() {
    let (sandbox, project) = workspace();
    let mut agent = Conversation::new(&sandbox, &project, "s");
    agent.turn("one", "echo agent >> a");
    agent.shell("echo mine > notes; echo mine > b; echo mine > moved; echo mine > kept");
    agent.turn("two", "rm notes; echo before > b; mv moved elsewhere");
    agent.shell("echo mine > passing");
    agent.turn("three", "true");
    // What the operator deletes again is no loss.
    agent.shell("rm passing");
    agent.turn("four", "echo agent > made");
    agent.end();
    agent.run().ok();
    let id = newest(&sandbox);
    let plan = sandbox.jackin(["restore", &id, "--dry-run", "--json"]).json();
    let lost = plan["lost_edits"].as_array().unwrap();
    let paths: Vec<&str> = lost.iter().map(|edit| edit["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["b", "notes"], "{plan}");
    let restored = sandbox.jackin(["restore", &id, "--yes"]).code(6);
    restored
        .has("Edits between turns that were undone; they are not restored:")
        .has("b: overwritten by the session; your version is in sn-")
        .has("notes: deleted by the session; your version is in sn-");
    assert_eq!(read(&project, "a"), "before\n");
    let commands = proposed(&restored.text());
    assert_eq!(commands.len(), 1, "{restored}");
    carry_out(&sandbox, &project, &commands[0]);
    assert_eq!(
        (read(&project, "b"), read(&project, "notes")),
        ("mine\n".into(), "mine\n".into())
    );
    // Now it is there, so nothing is missing any more.
    let again = sandbox.jackin(["restore", &id, "--dry-run"]);
    assert!(!again.text().contains("Edits between turns"), "{again}");
}

/// The agent's version is a conflict, in which the operator's may be what counts.
#[test]
fn an_edit_that_the_agent_overwrote_with_its_own_is_named() {
    let (sandbox, project) = workspace();
    let mut agent = Conversation::new(&sandbox, &project, "s");
    agent.turn("one", "echo agent >> a");
    agent.shell("echo mine > notes; echo mine >> b");
    agent.turn("two", "echo garbage > notes; echo garbage > b");
    agent.end();
    agent.run().ok();
    let id = newest(&sandbox);
    let restored = sandbox.jackin(["restore", &id, "--yes"]).code(6);
    restored
        .has("notes: may also have been changed between turns")
        .has("b: overwritten by the session; your version is in sn-")
        .has("notes: overwritten by the session; your version is in sn-");
    assert_eq!(read(&project, "notes"), "garbage\n");
    let commands = proposed(&restored.text());
    assert_eq!(commands.len(), 1, "{restored}");
    carry_out(&sandbox, &project, &commands[0]);
    assert_eq!(
        (read(&project, "b"), read(&project, "notes")),
        ("before\nmine\n".into(), "mine\n".into())
    );
    let again = sandbox.jackin(["restore", &id, "--dry-run"]);
    assert!(!again.text().contains("overwritten by the session"), "{again}");
}

#[test]
fn a_version_of_the_agents_takes_no_place_of_the_operators() {
    let (sandbox, project) = workspace();
    let mut agent = Conversation::new(&sandbox, &project, "s");
    agent.turn("one", "true");
    agent.shell("echo mine > notes");
    agent.turn("two", "echo agent > notes");
    // Its end is not reported.
    agent.prompt("three");
    agent.call("echo again > notes");
    agent.turn("four", "rm notes; echo agent > a");
    agent.end();
    agent.run().ok();
    let id = newest(&sandbox);
    let restored = sandbox.jackin(["restore", &id, "--yes"]).code(6);
    restored.has("notes: deleted by the session; your version is in sn-");
    let commands = proposed(&restored.text());
    carry_out(&sandbox, &project, &commands[0]);
    assert_eq!(read(&project, "notes"), "mine\n");
}

#[test]
fn an_edit_that_is_asked_for_by_name_is_named_too() {
    let (sandbox, project) = workspace();
    let mut agent = Conversation::new(&sandbox, &project, "s");
    agent.turn("one", "echo agent >> a");
    agent.shell("echo mine > notes");
    agent.turn("two", "rm notes");
    agent.end();
    agent.run().ok();
    let id = newest(&sandbox);
    let run = |words: &[&str]| sandbox.command(words).inside(&project).run();
    run(&["restore", &id, "--yes", "notes"])
        .code(6)
        .has("notes: deleted by the session; your version is in sn-");
    // Of another path nothing is said.
    let other = run(&["restore", &id, "--yes", "a"]).ok();
    assert!(!other.text().contains("notes"), "{other}");
    run(&["restore", &id, "--yes", "nothing"]).code(2);
}

#[test]
fn a_commit_between_turns_that_the_agent_discards_is_named() {
    let (sandbox, project) = workspace();
    let git = "git -c user.name=o -c user.email=o@example.org";
    with_repository(&project);
    let mut agent = Conversation::new(&sandbox, &project, "s");
    agent.turn("one", "echo agent > made");
    agent.shell(&format!("echo mine > b; {git} commit -qam mine"));
    agent.turn("two", "git reset -q --hard HEAD~1");
    agent.end();
    agent.run().ok();
    let id = newest(&sandbox);
    let restored = sandbox.jackin(["restore", &id, "--yes"]).code(6);
    restored
        .has(".git/refs/heads/main: overwritten by the session; your version is in sn-")
        .has("b: overwritten by the session; your version is in sn-");
}

#[test]
fn a_branch_of_the_operators_that_the_agent_packs_stays() {
    let (sandbox, project) = workspace();
    let git = "git -c user.name=o -c user.email=o@example.org";
    let init =
        format!("git init -q -b main . && git add -A && {git} commit -qm first && git pack-refs --all");
    let shell = |script: &str| {
        let mut command = std::process::Command::new("sh");
        crate::support::machine::run_tool(command.args(["-ec", script]).current_dir(&project))
    };
    shell(&init);
    let mut agent = Conversation::new(&sandbox, &project, "s");
    agent.turn("one", "echo agent > made");
    agent.shell(&format!("echo mine > b; {git} commit -qam mine; git branch side"));
    agent.turn("two", "git pack-refs --all");
    agent.end();
    agent.run().ok();
    let mine = shell("git rev-parse main side");
    let id = newest(&sandbox);
    let restored = sandbox.jackin(["restore", &id, "--yes"]).code(6);
    assert!(!restored.text().contains("Edits between turns"), "{restored}");
    restored.has(".git/packed-refs: may also have been changed between turns, not by the agent");
    assert_eq!(shell("git rev-parse main side"), mine);
    shell("git fsck --full");
}

/// Makes a repository with a commit of all files.
fn with_repository(project: &Path) {
    let git = "git -c user.name=o -c user.email=o@example.org";
    shell(
        project,
        &format!("git init -q -b main . && git add -A && {git} commit -qm first"),
    );
}

fn shell(project: &Path, script: &str) -> String {
    let mut command = std::process::Command::new("sh");
    let output = crate::support::machine::run_tool(command.args(["-ec", script]).current_dir(project));
    String::from_utf8(output).unwrap()
}

/// The paths of the edits in a plan that the session undid.
fn lost_paths(plan: &Value) -> Vec<&str> {
    let lost = plan["lost_edits"].as_array().unwrap();
    lost.iter().map(|edit| edit["path"].as_str().unwrap()).collect()
}

#[test]
fn hooks_and_settings_of_a_repository_that_the_agent_deletes_are_named() {
    let (sandbox, project) = workspace();
    with_repository(&project);
    let mut agent = Conversation::new(&sandbox, &project, "s");
    agent.turn("one", "true");
    agent.shell("mkdir -p .git/hooks .git/info; echo 'make check' > .git/hooks/pre-commit; echo draft > .git/info/exclude");
    agent.shell("git remote add origin ssh://host/x.git; echo sample > .git/hooks/pre-push.sample");
    // These are git's own.
    agent.shell(
        "git status > /dev/null; echo x > .git/FETCH_HEAD; echo x > .git/gc.log; git update-server-info",
    );
    agent.turn("two", "rm -rf .git");
    agent.end();
    agent.run().ok();
    let id = newest(&sandbox);
    let plan = sandbox.jackin(["restore", &id, "--dry-run", "--json"]).json();
    let named = [".git/config", ".git/hooks/pre-commit", ".git/info/exclude"];
    assert_eq!(lost_paths(&plan), named, "{plan}");
    let restored = sandbox.jackin(["restore", &id, "--yes"]).code(6);
    for command in proposed(&restored.text()) {
        carry_out(&sandbox, &project, &command);
    }
    assert_eq!(read(&project, ".git/hooks/pre-commit"), "make check\n");
    assert_eq!(shell(&project, "git remote").trim(), "origin");
}

#[test]
fn a_mode_that_the_operator_set_between_turns_and_the_agent_undid_is_named() {
    let (sandbox, project) = workspace();
    fs::create_dir(project.join("private")).unwrap();
    for name in ["key", "script", "private/in"] {
        fs::write(project.join(name), format!("{name}: a content of some length\n")).unwrap();
        fs::set_permissions(project.join(name), fs::Permissions::from_mode(0o644)).unwrap();
    }
    fs::write(project.join("copy"), "key: a content of some length\n").unwrap();
    let mut agent = Conversation::new(&sandbox, &project, "s");
    agent.turn("one", "true");
    agent.shell("chmod 600 key; chmod 755 script; chmod 700 private");
    agent.turn("two", "rm key; chmod 644 script; rm -r private");
    agent.end();
    agent.run().ok();
    let id = newest(&sandbox);
    let restored = sandbox.jackin(["restore", &id, "--yes"]).code(6);
    restored
        .has("key: deleted by the session; your version is in sn-")
        .has("private: deleted by the session; your version is in sn-")
        .has("script: overwritten by the session; your version is in sn-");
    let commands = proposed(&restored.text());
    // To restore the directory is to restore what it holds.
    assert!(
        !commands.iter().flatten().any(|word| word.ends_with("private")),
        "{restored}"
    );
    for command in commands {
        carry_out(&sandbox, &project, &command);
    }
    let mode = |name: &str| fs::metadata(project.join(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("key"), mode("script")), (0o600, 0o755));
}

#[test]
fn edits_after_an_interrupted_turn_that_the_agent_undid_are_named_as_doubtful() {
    let (sandbox, project) = workspace();
    let mut agent = Conversation::new(&sandbox, &project, "s");
    // Interrupted: its end is not reported.
    agent.prompt("one");
    agent.call("echo agent > made");
    agent.shell("echo mine > b; echo mine > notes");
    agent.turn("two", "rm b notes");
    agent.end();
    agent.run().ok();
    let id = newest(&sandbox);
    let restored = sandbox.jackin(["restore", &id, "--yes"]).code(6);
    for name in ["b", "notes"] {
        restored.has(&format!("{name}: deleted later; the version in sn-"));
    }
    restored
        .has("may be yours")
        .has("to restore what may be your version:");
    assert_eq!(read(&project, "b"), "before\n");
}

#[test]
fn an_edit_that_an_interrupted_turn_undid_is_named() {
    let (sandbox, project) = workspace();
    let mut agent = Conversation::new(&sandbox, &project, "s");
    agent.turn("one", "true");
    agent.shell("echo mine > b; echo mine > notes");
    agent.prompt("two");
    agent.call("echo before > b; rm notes; echo agent > passing");
    agent.turn("three", "true");
    // What was made and deleted where both may have been at work is most likely no edit of the operator's.
    agent.prompt("four");
    agent.call("echo agent > other");
    agent.prompt("five");
    agent.call("rm other");
    agent.turn("six", "true");
    agent.end();
    agent.run().ok();
    let id = newest(&sandbox);
    let plan = sandbox.jackin(["restore", &id, "--dry-run", "--json"]).json();
    assert_eq!(lost_paths(&plan), ["b", "notes"], "{plan}");
    sandbox
        .jackin(["restore", &id, "--yes"])
        .code(6)
        .has("b: overwritten later; the version in sn-")
        .has("notes: deleted later; the version in sn-");
}

#[test]
fn edits_beside_another_agents_turn_that_the_agent_undid_are_named() {
    let (sandbox, project) = workspace();
    let hook = |session: &str, event: &str, more: &Value| report(&sandbox, &project, session, event, more);
    let call = |name: &str| json!({"tool_name": "Bash", "tool_input": {"command": "x"}, "tool_use_id": name});
    let prompt = json!({"prompt": "p"});
    for session in ["first", "second"] {
        hook(session, "SessionStart", &json!({}));
    }
    hook("second", "UserPromptSubmit", &prompt);
    fs::write(project.join("notes"), "mine\n").unwrap();
    hook("second", "PreToolUse", &call("b"));
    // Of the other agent's call, and not the operator's.
    fs::write(project.join("passing"), "second\n").unwrap();
    hook("first", "UserPromptSubmit", &prompt);
    hook("first", "PreToolUse", &call("a"));
    for name in ["notes", "passing"] {
        fs::remove_file(project.join(name)).unwrap();
    }
    hook("first", "PostToolUse", &call("a"));
    hook("first", "Stop", &json!({}));
    hook("second", "PostToolUse", &call("b"));
    for session in ["second", "first"] {
        hook(session, "Stop", &json!({}));
        hook(session, "SessionEnd", &json!({}));
    }
    let all = instances(&sandbox.jackin(["list", "--json"]).ok());
    let first = all.last().unwrap().id.clone();
    let plan = sandbox.jackin(["restore", &first, "--dry-run", "--json"]).json();
    assert_eq!(lost_paths(&plan), ["notes"], "{plan}");
    assert!(
        plan["lost_edits"][0]["reason"]
            .as_str()
            .unwrap()
            .ends_with(" may be yours"),
        "{plan}"
    );
}

#[test]
fn a_commit_between_turns_comes_back_with_its_objects() {
    // The repository was there before the session, or is the operator's.
    for (is_new, undoes, named) in [
        (
            false,
            "rm -rf .git",
            ".git/objects: objects deleted by the session; yours are in sn-",
        ),
        (
            false,
            "rm -rf .git/objects/??",
            ".git/objects: objects deleted by the session; yours are in sn-",
        ),
        (
            true,
            "rm -rf .git",
            ".git: deleted by the session; your version is in sn-",
        ),
    ] {
        let (sandbox, project) = workspace();
        let git = "git -c user.name=o -c user.email=o@example.org";
        if !is_new {
            with_repository(&project);
        }
        let mine = sandbox.scratch("mine");
        let mut agent = Conversation::new(&sandbox, &project, "s");
        agent.turn("one", "true");
        agent.shell(&format!(
            "echo mine > b; git init -q -b main .; git add -A; {git} commit -qm mine"
        ));
        agent.shell(&format!("git rev-parse HEAD > '{}'", mine.display()));
        agent.turn("two", undoes);
        agent.end();
        agent.run().ok();
        let id = newest(&sandbox);
        let restored = sandbox.jackin(["restore", &id, "--yes"]).code(6);
        restored.has(named);
        let commands = proposed(&restored.text());
        assert_eq!(commands.len(), 1, "{restored}");
        for command in commands {
            carry_out(&sandbox, &project, &command);
        }
        assert_eq!(
            shell(&project, "git rev-parse main"),
            fs::read_to_string(mine).unwrap()
        );
        assert_eq!(shell(&project, "git show main:b"), "mine\n");
        shell(&project, "git fsck --full");
        let again = sandbox.jackin(["restore", &id, "--dry-run"]);
        assert!(!again.text().contains(named), "{again}");
    }
}

#[test]
fn objects_that_lie_elsewhere_are_not_named() {
    let (sandbox, project) = workspace();
    with_repository(&project);
    let git = "git -c user.name=o -c user.email=o@example.org";
    let mut agent = Conversation::new(&sandbox, &project, "s");
    agent.turn("one", "true");
    agent.shell(&format!("echo mine > b; {git} commit -qam mine"));
    agent.turn("two", "git gc -q --prune=now");
    agent.end();
    agent.run().ok();
    let id = newest(&sandbox);
    let restored = sandbox.jackin(["restore", &id, "--yes"]).code(6);
    assert!(!restored.text().contains("deleted by the session"), "{restored}");
    shell(&project, "git fsck --full");
}
