//! Every command reports the same counts; a renamed file is one path.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use crate::support::build::Build;
use crate::support::sandbox::Sandbox;

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
        .command([
            "launch",
            "--snapshot",
            "project",
            project.to_str().unwrap(),
            "--",
            "sh",
            "-c",
            script,
        ])
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
    plan.shows("9 paths: 2 to move back, 1 to create, 2 to replace, 3 to delete, 1 to set modes or");
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
