//! What is shown is what is done, counts are the same everywhere, and nothing is done without a yes (scenarios 32, 44).

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use crate::support::build::Build;
use crate::support::compare::{assert_same_tree, assert_untouched, changed_paths};
use crate::support::machine::run_tool;
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

fn damaged_project(sandbox: &Sandbox) -> (PathBuf, Tree, String) {
    let project = sandbox.project("plan");
    let build = Build::at(&project);
    build
        .file("edited", "before\n")
        .file(
            "src/moved",
            "moved, and long enough to be known again\n".repeat(9),
        )
        .file("run.sh", "#!/bin/sh\n")
        .symlink("link", "edited")
        .file("swap", "file\n")
        .dir("empty")
        .file("café/new\nline", "x\n")
        .file(b"raw-\xff", "y\n");
    for number in 0..30 {
        build.file(format!("many/{number}"), format!("{number}\n"));
    }
    build.aged();
    let before = Tree::read(&project);
    let id = sandbox.session(&project, |project| {
        sh(project, "echo agent > edited; mv src/moved src/away; chmod 755 run.sh; ln -sfn swap link; rm swap; mkdir swap");
        sh(project, "rmdir empty; rm -r 'café'; rm many/1*; for n in 2 3 4; do echo x >> many/$n; done; mkdir n; echo > n/n");
        fs::remove_file(project.join(OsStr::from_bytes(b"raw-\xff"))).unwrap();
    });
    (project, before, id)
}

fn sh(directory: &Path, script: &str) {
    run_tool(Command::new("sh").args(["-c", script]).current_dir(directory));
}

#[test]
fn s44_diff_plan_and_restore_say_the_same() {
    let sandbox = Sandbox::new();
    let (project, before, id) = damaged_project(&sandbox);
    let damaged = Tree::read(&project);

    let renamed = sandbox.diff(&id, &[]);
    let plain = sandbox.diff(&id, &["--no-renames"]);
    assert_eq!(
        renamed.touched(),
        plain.touched(),
        "a rename is one line for two paths"
    );
    assert_eq!(renamed.all.len() + 1, plain.all.len(), "{}", renamed.shown);
    let now = sandbox.diff(&id, &["--no-renames", "--to", "now"]);
    assert_eq!(plain.all, now.all, "nothing changed since the closing snapshot");

    let plan = sandbox.plan(&id, &[]);
    assert_eq!(plain.touched(), plan.applied, "{:#}", plan.document);
    let lines = plan.document["applied"].as_array().unwrap().len();
    assert_eq!(renamed.all.len(), lines, "counts included");
    assert_untouched(&damaged, &Tree::read(&project));

    let done = sandbox.restore(&id, &[]);
    assert_eq!(plan.applied, done.applied, "{:#}", done.document);
    for key in ["kept", "conflicts", "failed"] {
        assert_eq!(plan.document[key], done.document[key], "{key}");
    }
    assert_same_tree(&before, &Tree::read(&project));
    // And what really changed on disk is what was said.
    let differing = changed_paths(&damaged, &Tree::read(&project));
    assert_eq!(differing, plain.touched());
}

#[test]
fn s44_counts_are_shown_to_people_too() {
    let sandbox = Sandbox::new();
    let (_, _, id) = damaged_project(&sandbox);
    let count = sandbox.plan(&id, &[]).applied.len();
    let plan = sandbox.jackin(["restore", &id, "--dry-run"]).ok();
    let numbers: Vec<usize> = plan
        .text()
        .split(|c: char| !c.is_ascii_digit())
        .filter_map(|word| word.parse().ok())
        .collect();
    // One number for all, or one for each kind of step: some of the shown numbers add up to the count.
    assert!(adds_up(&numbers, count), "{count} paths\n{plan}");
}

/// Whether `count` is among the numbers, or the sum of some that stand next to each other.
fn adds_up(numbers: &[usize], count: usize) -> bool {
    (0..numbers.len()).any(|start| {
        let mut sum = 0_usize;
        numbers[start..].iter().any(|number| {
            sum = sum.saturating_add(*number);
            sum == count
        })
    })
}

#[test]
fn s44_later_edits_are_in_the_plan_as_they_are_in_the_restore() {
    let sandbox = Sandbox::new();
    let (project, _, id) = damaged_project(&sandbox);
    Build::at(&project)
        .file("edited", "later\n")
        .file("later", "later\n");
    let plan = sandbox.plan(&id, &[]);
    plan.conflicted(&["edited", "later"]);
    let done = sandbox.restore_in_part(&id, &[]);
    assert_eq!((plan.applied, plan.conflicts), (done.applied, done.conflicts));
}

#[test]
fn s44_exit_code_of_diff_says_whether_there_is_a_difference() {
    let sandbox = Sandbox::new();
    let (_, _, id) = damaged_project(&sandbox);
    sandbox.jackin(["diff", &id, "--exit-code"]).code(1);
    sandbox.jackin(["diff", &id]).ok();
    sandbox.restore(&id, &[]);
    sandbox.jackin(["diff", &id, "--to", "now", "--exit-code"]).ok();
}

#[test]
fn s32_without_terminal_and_yes_it_refuses_and_prints_the_host_paths() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("unasked");
    Build::at(&project)
        .file("edited", "before\n")
        .file("sub/deleted", "d\n")
        .aged();
    let before = Tree::read(&project);
    let id = sandbox.launch(
        &project,
        "echo agent > edited; rm sub/deleted; echo new > sub/added",
    );
    let damaged = Tree::read(&project);

    // The exact host root, and below it each path.
    let mut run = sandbox.jackin(["restore", &id]).code(4);
    run = run.shows(&format!("{}\n", project.display()));
    for path in ["edited", "sub/deleted", "sub/added"] {
        run = run.shows(&format!(" {path}\n"));
    }
    let error = sandbox.jackin(["restore", &id, "--json"]).code(4).error();
    assert!(
        error["hints"].to_string().contains("--yes") || error["message"].to_string().contains("--yes"),
        "{error}"
    );
    assert_untouched(&damaged, &Tree::read(&project));
    let world = Tree::read(sandbox.world());
    sandbox.jackin(["restore", &id]).code(4);
    assert_same_tree(&world, &Tree::read(sandbox.world()));

    sandbox.restore(&id, &[]);
    assert_same_tree(&before, &Tree::read(&project));
    sandbox.jackin(["undo", &id]).code(4);
    assert_same_tree(&before, &Tree::read(&project));
}

#[test]
fn s32_answer_on_a_pipe_is_no_confirmation() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("piped");
    Build::at(&project).file("a", "before\n").aged();
    let id = sandbox.launch(&project, "echo agent > a");
    let damaged = Tree::read(&project);
    let yes = ["sh", "-c", "yes | \"$@\"", "sh"];
    sandbox.command(["restore", &id]).through(&yes).run().code(4);
    assert_untouched(&damaged, &Tree::read(&project));
}

#[test]
#[cfg_attr(not(feature = "html"), ignore = "the feature html is not built")]
fn a_session_and_its_restore_are_counted_alike_everywhere() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("counted");
    Build::at(&project)
        .file("moved", "where it was\n")
        .file("dir/also", "another one that moves\n")
        .file("edited", "one\n")
        .file("mode", "a mode\n")
        .file("type", "a file\n")
        .file("gone", "gone\n")
        .aged();
    let script = "mv moved elsewhere; mv dir/also dir/too; echo two > edited; chmod 700 mode; rm type gone; \
        ln -s edited type; echo n > new1; echo m > new2; echo o > new3; touch -d @1000000000 dir";
    let run = sandbox
        .launching(&project, &["sh", "-c", script])
        .inside(&project)
        .run()
        .ok();
    // What the names of the session say is what the words of its end do.
    run.shows("3 added, 3 modified, 1 deleted, 2 renamed");
    let id = sandbox.newest();
    sandbox.jackin(["show", &id]).ok().shows("+3 ~3 -1 R2");
    sandbox.jackin(["log", &id]).ok().shows("(+3 ~3 -1 R2)");
    let shown = sandbox.jackin(["show", &id, "--json"]).ok().json();
    let steps = shown["steps"].as_object().unwrap();
    let counts = json!({ "added": 3, "changed": 3, "deleted": 1, "renamed": 2 });
    assert!(steps.values().any(|step| *step == counts), "{steps:?}");
    for (command, words) in [
        ("show", "+3 ~3 -1 R2"),
        ("diff", "3 added, 3 modified, 1 deleted, 2 renamed"),
    ] {
        let page = sandbox.scratch(&format!("{command}.html"));
        sandbox
            .jackin([command, &id, "--html", page.to_str().unwrap()])
            .ok();
        assert!(fs::read_to_string(page).unwrap().contains(words), "{command}");
    }
    let differing = sandbox.jackin(["diff", &id, "--json"]).ok().json();
    assert_eq!(differing["changes"].as_array().unwrap().len(), 9);
    // And so is the restore: its plan, its result, and what is recorded of it.
    let plan = sandbox.jackin(["restore", &id, "--dry-run"]).ok();
    plan.shows("9 paths: 2 to move back, 1 to create, 2 to replace, 3 to delete, 1 to change mode");
    let done = sandbox.jackin(["restore", &id, "--yes"]).ok();
    done.shows("9 paths restored");
    sandbox.jackin(["log", &id]).ok().shows("9 paths");
    let shown = sandbox.jackin(["show", &id, "--json"]).ok().json();
    assert_eq!(shown["restores"][0]["changed"], 9, "{shown:#}");
    assert_eq!(
        fs::metadata(project.join("mode")).unwrap().permissions().mode() & 0o777,
        0o644
    );
    let undone = sandbox.jackin(["undo", &id, "--yes"]).ok();
    undone.shows("9 paths restored");
    let shown = sandbox.jackin(["show", &id, "--json"]).ok().json();
    assert_eq!(shown["restores"][1]["changed"], 9, "{shown:#}");
}
