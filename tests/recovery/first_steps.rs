//! Commands that a newcomer types first: those that lack something, lists, and names.

use std::fs;

use crate::support::build::Build;
use crate::support::sandbox::Sandbox;

#[test]
fn missing_arguments_are_answered_with_what_there_is() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("p");
    let target = project.to_str().unwrap();
    let run = |words: &[&str]| sandbox.command(words).inside(&project).run();
    run(&["launch"]).code(2).shows("recovery launch -- claude");
    let missing = run(&["launch", "--cwd", "missing", "--", "true"]).code(2);
    missing
        .shows(&format!("{target}/missing does not exist"))
        .shows("--cwd keep");
    run(&["end"])
        .code(2)
        .shows("no session that `begin` started is active");
    let begin = run(&["begin", "--snapshot", "project", "."]).ok();
    let id = String::from_utf8(begin.stdout).unwrap().trim().to_owned();
    let told = run(&["end"]).code(2);
    told.shows(&format!("recovery end {id}"))
        .shows("in ~/src/p, began");
    run(&["end", &id]).ok();
    let shell = sandbox
        .command(["completions", "--install", "--yes"])
        .with("SHELL", "/bin/tcsh");
    shell
        .run()
        .code(2)
        .shows("no completions for tcsh: name bash, zsh or fish");
    run(&["completions", "tcsh"])
        .code(2)
        .shows("bash, zsh, fish")
        .hides("similar");
}

#[test]
fn a_mode_is_enough_for_the_current_directory() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("p");
    Build::at(&project).file("a", "x\n");
    let run = |words: &[&str]| sandbox.command(words).inside(&project).run();
    run(&["explain"]).code(2).shows("explain --snapshot project");
    run(&["explain", "--snapshot", "project"])
        .ok()
        .shows(project.to_str().unwrap());
    run(&["begin", "--snapshot", "project"]).ok();
    // A default for all directories is a configured mode.
    sandbox.configure("config.toml", "[recovery]\nsnapshot = \"project\"\n");
    run(&["explain"]).ok().shows("config.toml, line 2");
}

#[test]
fn deleted_files_are_found_without_a_pattern() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("p");
    Build::at(&project).file("gone", "x\n").file("kept", "y\n");
    sandbox.launch(&project, "rm gone");
    let run = |words: &[&str]| sandbox.command(words).inside(&project).run();
    run(&["find", "--in", "deleted"]).ok().shows("gone").hides("kept");
    run(&["find"]).code(2);
    run(&["find", "absent"]).ok().shows("recovery find --any absent");
}

#[test]
fn hooks_name_the_agents_that_were_found_and_the_file() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("p");
    let install = || {
        sandbox
            .command(["hook", "install"])
            .with("PATH", "/nowhere")
            .inside(&project)
            .run()
    };
    let run = install().code(2);
    run.shows("none was found on this machine")
        .shows("name one of claude, codex, gemini, opencode, cursor, copilot");
    fs::create_dir(sandbox.home().join(".codex")).unwrap();
    let run = install().code(2);
    run.shows("found on this machine: codex")
        .shows("hook install codex");
}

#[test]
fn init_names_the_workspace_that_covers_the_directory() {
    let sandbox = Sandbox::new();
    let project = sandbox.captured("shop", "");
    let below = project.join("below");
    fs::create_dir(&below).unwrap();
    let run = sandbox.command(["init", "--yes"]).inside(&below).run().code(2);
    run.shows("the workspace shop has recovery; to change it, edit ~/.config/jackin/workspaces/shop.toml")
        .shows("recovery explain shop");
}

#[test]
fn a_list_marks_unrecorded_arguments_and_refuses_what_is_no_path() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("p");
    Build::at(&project).file("gone", "x\n");
    let run = |words: &[&str]| sandbox.command(words).inside(&project).run();
    sandbox.launch_with(&["--name", "first"], &project, "rm gone");
    run(&["launch", "--", "true"]).ok();
    let list = run(&["list"]).ok();
    list.has("sh …").has("true     nothing");
    run(&["list", "gone"]).ok().shows("first");
    run(&["list", "nope"]).code(5).shows("nope not found");
    let told = run(&["list", "first"]).code(2);
    told.shows("first is a session and not a path")
        .shows("show first");
}

#[test]
fn a_name_that_a_newer_session_has_is_said_to_be_its() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("p");
    let run = |words: &[&str]| sandbox.command(words).inside(&project).run();
    let old = sandbox.launch_with(&["--name", "fix"], &project, "true");
    let new = sandbox.launch_with(&["--name", "fix"], &project, "true");
    run(&["list"])
        .ok()
        .shows(&format!("{old}: its name fix now means {new}"));
    // A part of the list says the same.
    run(&["show", &old])
        .ok()
        .shows(&format!("fix (now the name of {new}"));
    run(&["show", &new]).ok().hides("now the name of");
    let renamed = run(&["rename", &new, "other"]).ok();
    renamed.shows(&format!("session {new} is renamed from fix to other"));
    run(&["list"]).ok().hides("now means");
    let taken = run(&["rename", &new, "fix", "-m", "again"]).ok();
    taken
        .shows(&format!("session {new} is renamed from other to fix"))
        .shows(&format!("session {new} is described: again"))
        .shows(&format!("{old} has the name fix too"));
    run(&["rename", &new, "--no-name"])
        .ok()
        .shows("has no name, was fix");
}

#[test]
fn sessions_elsewhere_are_listed_in_a_table() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("p");
    let elsewhere = sandbox.project("elsewhere");
    sandbox.launch_with(&["--name", "fix"], &project, "true");
    let run = sandbox.command(["show"]).inside(&elsewhere).run().code(5);
    let text = run.text();
    let rows: Vec<Vec<&str>> = text
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert!(rows.contains(&vec!["SESSION", "WHEN", "WHERE"]), "{run}");
    let row = rows.iter().find(|row| row.first() == Some(&"fix")).unwrap();
    assert_eq!(row.last().copied(), project.to_str(), "{run}");
}
