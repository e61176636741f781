//! What `diff` shows in full: numbers in one column, patches that patch(1) takes, and secrets when they are asked for.

use std::fs;

use crate::support::build::Build;
use crate::support::machine::{skip, tool};
use crate::support::sandbox::Sandbox;

#[test]
fn numbers_stand_in_one_column() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("columns");
    Build::at(&project)
        .file("a", "1\n")
        .file("a-longer-name", "1\n")
        .aged();
    let id = sandbox.launch(&project, "echo 2 > a; echo 2 > a-longer-name");
    let run = sandbox.jackin(["diff", &id, "--stat"]).ok();
    let text = String::from_utf8(run.stdout.clone()).unwrap();
    let columns: Vec<_> = text.lines().filter_map(|line| line.find("+1 -1")).collect();
    assert!(columns.len() == 2 && columns[0] == columns[1], "{run}");
    assert!(text.lines().all(|line| line.len() < 60), "{run}");
}

#[test]
fn patch_is_taken_by_patch() {
    let sandbox = Sandbox::new();
    if tool("patch").is_none() {
        skip("patch_is_taken_by_patch", "patch is not installed");
        return;
    }
    let project = sandbox.project("patched");
    let long: String = (0..40).map(|n| format!("{n}\n")).collect();
    Build::at(&project)
        .file("long", &long)
        .file("sub/gone", "one\ntwo\n")
        .file("unended", "no newline")
        .aged();
    let copy = sandbox.scratch("copy");
    let id = sandbox.launch(
        &project,
        "sed -i 's/^7$/seven/;s/^33$/x/' long; rm sub/gone; printf end > unended; echo new > sub/new",
    );
    sandbox
        .jackin(["restore", &id, "--to", copy.to_str().unwrap(), "--yes"])
        .ok();
    let run = sandbox.jackin(["diff", &id, "--patch"]).ok();
    let patch = sandbox.scratch("patch");
    fs::write(&patch, &run.stdout).unwrap();
    let done = std::process::Command::new("patch")
        .args(["-p1", "--batch", "-i"])
        .arg(&patch)
        .current_dir(&copy)
        .output()
        .unwrap();
    assert!(done.status.success(), "{done:?}\n{run}");
    for file in ["long", "unended", "sub/new"] {
        let read = |at: &std::path::Path| fs::read(at.join(file)).unwrap();
        assert_eq!(read(&copy), read(&project), "{file}\n{run}");
    }
    assert!(!copy.join("sub/gone").exists(), "{run}");
}

#[test]
fn plan_counts_what_it_shows() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("counted");
    Build::at(&project)
        .file("moved", "some content that is long enough\n")
        .file("gone", "gone\n")
        .aged();
    let id = sandbox.launch(&project, "mv moved elsewhere; rm gone; echo new > new");
    let run = sandbox.jackin(["restore", &id, "--dry-run"]).ok();
    let text = String::from_utf8(run.stdout.clone()).unwrap();
    let lines = |word: &str| {
        text.lines()
            .filter(|line| line.trim_start().starts_with(word))
            .count()
    };
    assert_eq!(
        (lines("move back"), lines("create"), lines("delete")),
        (1, 1, 1),
        "{run}"
    );
    run.shows("3 paths: 1 to move back, 1 to create, 1 to delete.");
}

#[test]
fn settings_that_every_form_hides_are_shown_in_every_form() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("shop");
    sandbox.configure(
        "config.toml",
        "[recovery]\nsnapshot = \"project-and-state\"\n[recovery.state]\nhome = true\n",
    );
    // Every file of this form in an agent's home is stored without its secrets.
    Build::at(&sandbox.home()).file(".claude/tool.json", "{}");
    Build::at(&project).file(".env", "KEY=hunter1\n").aged();
    let target = project.to_str().unwrap();
    let script = "echo '{\"apiToken\": \"hunter2\"}' > ~/.claude/tool.json; echo KEY=hunter3 > .env";
    let launch = ["launch", target, "--", "sh", "-c", script];
    sandbox.command(launch).inside(&project).run().ok();
    for form in ["--name-status", "--stat", "--json"] {
        let diff = ["diff", "@latest", form];
        let run = sandbox.jackin(diff).ok().hides("hunter");
        run.shows("apiToken").shows("(withheld by jackin recovery)");
        let run = sandbox.jackin(diff.into_iter().chain(["--show-secrets"])).ok();
        // No snapshot holds the value, so no flag shows it. What a file holds is content: that is what a patch is for.
        run.shows("apiToken").hides("hunter");
    }
    let patch = ["diff", "@latest", "--patch"];
    sandbox.jackin(patch).ok().hides("hunter1").hides("hunter3");
    let run = sandbox.jackin(patch.into_iter().chain(["--show-secrets"])).ok();
    run.shows("-KEY=hunter1").shows("+KEY=hunter3");
}
