//! Files that are called like a session, and paths that exist in two places: a name that the agent chose decides neither about the session
//! nor about the file that the operator means.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::build::Build;
use crate::support::compare::assert_untouched;
use crate::support::run::Run;
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

fn run(sandbox: &Sandbox, directory: &Path, args: &[&str]) -> Run {
    sandbox.command(args).inside(directory).run()
}

/// A project with two sessions, of which the second one made files that are called like the first. Returns the id of that.
fn planted() -> (Sandbox, PathBuf, String) {
    let sandbox = Sandbox::new();
    let project = sandbox.project("shop");
    Build::at(&project)
        .file("f", "v1\n")
        .file("gone", "precious\n")
        .aged();
    let first = sandbox.launch(&project, "echo v2 > f; echo s1 > s1only");
    let script = format!("echo v3 > f; rm gone; for name in @2 @2:closing {first}; do echo x > $name; done");
    sandbox.launch(&project, &script);
    (sandbox, project, first)
}

#[test]
fn a_planted_file_has_no_other_session_chosen() {
    let (sandbox, project, first) = planted();
    let before = Tree::read(&project);
    let short = &first[..11];
    for word in ["@2", &first] {
        for args in [
            // As a shell writes `*`.
            &["restore", "--yes", word, "f", "s1only"][..],
            &["restore", "--yes", word],
            &["diff", word],
            &["log", word],
            &["cat", word, "f"],
        ] {
            run(&sandbox, &project, args)
                .code(2)
                .has("both a session and a path")
                .has(&format!("for the path, write ./{word}"))
                .has(&format!("for the session, write {short}"));
        }
    }
    run(&sandbox, &project, &["cat", "@2:closing", "f"])
        .code(2)
        .has("both a session and a path");
    assert_untouched(&before, &Tree::read(&project));
    // What it proposes is understood.
    run(&sandbox, &project, &["diff", short]).ok().shows("s1only");
    run(&sandbox, &project, &["restore", "./@2", "--dry-run"])
        .ok()
        .shows("@2")
        .hides("s1only");
    // Where there is no such file, the session is meant.
    run(&sandbox, &sandbox.sources(), &["diff", &first])
        .ok()
        .shows("s1only");
}

#[test]
fn where_every_name_of_a_session_is_planted_another_way_is_named() {
    let (sandbox, project, first) = planted();
    let short = &first[..11];
    fs::write(project.join(short), "x\n").unwrap();
    for word in ["@2", short, &first] {
        run(&sandbox, &project, &["diff", word])
            .code(2)
            .has("both a session and a path")
            .has("for the session, run the command in another directory");
    }
}

#[test]
fn words_behind_two_dashes_are_paths() {
    let (sandbox, project, first) = planted();
    for name in ["@2", &first] {
        let listed = run(&sandbox, &project, &["diff", "--name-only", "--", name]).ok();
        assert_eq!(listed.stdout, format!("{name}\n").as_bytes(), "{listed}");
        run(&sandbox, &project, &["restore", "--yes", "--", name]).ok();
        assert!(!project.join(name).exists());
        assert_eq!(fs::read_to_string(project.join("f")).unwrap(), "v3\n");
        assert!(project.join("s1only").exists() && !project.join("gone").exists());
    }
    run(&sandbox, &project, &["log", "--", "@2"]).ok();
    let printed = run(&sandbox, &project, &["cat", "--", "f", "gone"]).ok();
    assert_eq!(printed.stdout, b"v2\nprecious\n");
    let printed = run(&sandbox, &project, &["cat", &first, "--", "f"]).ok();
    assert_eq!(printed.stdout, b"v1\n");
    // A session before them is one.
    run(
        &sandbox,
        &project,
        &["restore", &first, "--dry-run", "--", "s1only"],
    )
    .ok()
    .shows("s1only")
    .hides("gone");
}

#[test]
fn a_name_that_no_session_has_is_a_path_however_it_begins() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("shop");
    Build::at(&project)
        .file("rc-notes", "one\n")
        .file("@types/index", "types\n")
        .aged();
    sandbox.launch(&project, "echo two > rc-notes; rm -r @types");
    run(&sandbox, &project, &["diff", "rc-notes"])
        .ok()
        .shows("rc-notes")
        .hides("@types");
    run(&sandbox, &project, &["restore", "--yes", "rc-notes"]).ok();
    assert_eq!(fs::read_to_string(project.join("rc-notes")).unwrap(), "one\n");
    run(&sandbox, &project, &["restore", "--yes", "@types"]).ok();
    assert!(project.join("@types/index").exists());
    for word in ["rc-nothing", "@nothing", "rc-00000000-shop"] {
        run(&sandbox, &project, &["restore", "--yes", word])
            .code(5)
            .has("not found");
    }
}
