//! Files that programs write to while they are restored, and parts of databases.

use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::support::build::Build;
use crate::support::compare::assert_same_tree;
use crate::support::machine::{has_points, write_script};
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

/// A process that has a file open for writing, and goes with the test.
struct Writer(Child);

impl Writer {
    fn to(file: &Path) -> Self {
        let file = OpenOptions::new().append(true).create(true).open(file).unwrap();
        let mut command = Command::new("sleep");
        command.arg("600").stdin(Stdio::null()).stdout(file);
        Self(command.spawn().unwrap())
    }

    fn name(&self) -> String {
        format!("sleep (process {})", self.0.id())
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "this system shows no open files")]
fn a_plan_names_the_processes_that_write_to_what_it_replaces_or_deletes() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("written");
    Build::at(&project)
        .file("app.db", "before\n")
        .file("other", "before\n")
        .aged();
    let id = sandbox.launch(
        &project,
        "echo agent > app.db; echo agent > other; echo agent > server.log",
    );
    let database = Writer::to(&project.join("app.db"));
    let log = Writer::to(&project.join("server.log"));
    let reader = File::open(project.join("other")).unwrap();
    let title = "Open for writing; what these processes write after the restore is lost:";
    sandbox
        .jackin(["restore", &id, "--dry-run"])
        .ok()
        .shows(title)
        .shows(&format!("app.db: {}", database.name()))
        .shows(&format!("server.log: {}", log.name()))
        .hides("other: ");
    drop((database, reader));
    let told = sandbox.jackin(["restore", &id, "--yes", "--json"]).ok().json();
    let open = told["open_files"].as_array().unwrap();
    let names_log = |open: &serde_json::Value| open["path"] == "server.log";
    assert!(!open.is_empty() && open.iter().all(names_log), "{told}");
    assert!(open.iter().any(|open| open["reason"] == log.name()), "{told}");
    drop(log);
    sandbox.jackin(["undo", &id, "--dry-run"]).ok().hides(title);
}

/// A session that changed a database of LevelDB.
fn leveldb(sandbox: &Sandbox) -> (PathBuf, String) {
    let project = sandbox.project("shop");
    Build::at(&project)
        .file("db/CURRENT", "MANIFEST-000002\n")
        .file("db/MANIFEST-000002", "before\n")
        .file("db/000003.log", "before\n")
        .file("code", "before\n")
        .aged();
    let script = "echo agent > code; cd db; echo MANIFEST-000004 > CURRENT; rm MANIFEST-000002 000003.log; \
        echo agent > MANIFEST-000004; echo agent > 000005.log";
    let id = sandbox.launch(&project, script);
    (project, id)
}

#[test]
fn a_part_of_a_database_brings_the_rest_of_it_back() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("shop");
    let (_, id) = leveldb(&sandbox);
    let damaged = Tree::read(&project);
    for word in ["db/CURRENT", "db/*.log"] {
        let run = sandbox
            .command(["restore", &id, word, "--yes"])
            .inside(&project)
            .run()
            .ok();
        let run = run.shows("Also included, as they belong to what was asked for");
        assert_eq!(
            fs::read_to_string(project.join("db/CURRENT")).unwrap(),
            "MANIFEST-000002\n"
        );
        assert_eq!(fs::read_dir(project.join("db")).unwrap().count(), 3, "{run}");
        assert_eq!(fs::read_to_string(project.join("code")).unwrap(), "agent\n");
        sandbox.jackin(["undo", &id, "--yes"]).ok();
        assert_same_tree(&damaged, &Tree::read(&project));
    }
}

/// A session that changed two files of a database of SQLite, not the first, and one file of a database of LevelDB.
fn changed_beside(sandbox: &Sandbox) -> (PathBuf, String) {
    let project = sandbox.project("shop");
    let page = "before\n".repeat(512);
    Build::at(&project)
        .file("notes", "before\n")
        .file("data/app.db", &page)
        .file("data/app.db-wal", "before\n")
        .file("data/app.db-shm", "before\n")
        .file("db/CURRENT", "MANIFEST-000002\n")
        .file("db/MANIFEST-000002", "before\n")
        .file("db/000003.log", "before\n")
        .aged();
    let script = "echo agent | tee notes data/app.db-wal data/app.db-shm db/000003.log";
    let id = sandbox.launch(&project, script);
    (project, id)
}

#[test]
fn a_file_of_a_database_that_did_not_change_brings_the_changed_ones_back() {
    let sandbox = Sandbox::new();
    let (project, id) = changed_beside(&sandbox);
    let damaged = Tree::read(&project);
    let (sqlite, leveldb) = (
        &["data/app.db-wal", "data/app.db-shm"][..],
        &["db/000003.log"][..],
    );
    for (word, meant) in [
        ("data/app.db", sqlite),
        ("data/app.db-wal", sqlite),
        ("data/app.db-shm", sqlite),
        ("*.db", sqlite),
        ("db/CURRENT", leveldb),
        ("db/MANIFEST-*", leveldb),
    ] {
        let command = |words: &[&str]| sandbox.command(words).inside(&project).run().ok();
        let shown = command(&["diff", &id, word, "--json"]).json();
        assert_eq!(shown["changes"].as_array().unwrap().len(), meant.len(), "{shown}");
        command(&["restore", &id, word, "--yes"])
            .shows("Also included, as they belong to what was asked for");
        for path in ["notes", "data/app.db-wal", "data/app.db-shm", "db/000003.log"] {
            let expected = if meant.contains(&path) {
                "before\n"
            } else {
                "agent\n"
            };
            assert_eq!(
                fs::read_to_string(project.join(path)).unwrap(),
                expected,
                "{word}: {path}"
            );
        }
        command(&["restore", &id, word, "--yes"]).hides("Also included");
        command(&["undo", &id, "--yes"]);
        assert_same_tree(&damaged, &Tree::read(&project));
    }
}

#[test]
fn a_part_of_a_database_is_written_elsewhere_with_the_rest_of_it() {
    let sandbox = Sandbox::new();
    let (project, id) = changed_beside(&sandbox);
    let sqlite = &["data/app.db", "data/app.db-shm", "data/app.db-wal"][..];
    let leveldb = &["db/000003.log", "db/CURRENT", "db/MANIFEST-000002"][..];
    let write = |number: usize, words: &[&str]| {
        let to = sandbox.world().join(format!("to-{number}"));
        let mut all = vec!["restore", &id, "--yes", "--to", to.to_str().unwrap()];
        all.extend(words);
        (sandbox.command(all).inside(&project).run().ok(), to)
    };
    let cases = [
        (&["data/app.db"][..], sqlite, "data/app.db-wal"),
        (&["data/app.db-shm"], sqlite, "data/app.db"),
        (&["*.db"], sqlite, "data/app.db-wal"),
        (&["db/CURRENT"], leveldb, "db"),
        (&["db/*.log", "--exclude", "notes"], leveldb, "db"),
    ];
    for (number, (words, meant, other)) in cases.into_iter().enumerate() {
        let (run, to) = write(number, words);
        let title = "Also included, as they belong to what was asked for:";
        let run = run.shows(title).shows(&format!("\n    {other}\n"));
        for path in sqlite.iter().chain(leveldb).chain(&["notes"]) {
            assert_eq!(
                to.join(path).exists(),
                meant.contains(path),
                "{words:?}: {path}\n{run}"
            );
        }
    }
    // All of it was asked for.
    write(10, &["data"]).0.hides("Also included");
    // That the copy lacks a part is said.
    let (run, to) = write(11, &["data", "--exclude", "*-wal"]);
    run.shows("data/app.db-wal is excluded: the copy of the database data/app.db is incomplete");
    assert!(to.join("data/app.db").exists() && !to.join("data/app.db-wal").exists());
    write(12, &["--exclude", "*-shm"]).0.hides("incomplete");
}

#[test]
fn a_database_of_which_a_part_stays_stays_as_a_whole() {
    let sandbox = Sandbox::new();
    let (project, id) = leveldb(&sandbox);
    let of_agent = Tree::read(&project.join("db"));
    // What is excluded stays, so all of it does.
    sandbox
        .command(["restore", &id, "--exclude", "*.log", "--yes"])
        .inside(&project)
        .run()
        .code(6)
        .shows("belongs to the same database as db/000003.log, which stays");
    assert_same_tree(&of_agent, &Tree::read(&project.join("db")));
    assert_eq!(fs::read_to_string(project.join("code")).unwrap(), "before\n");
    // What the operator wrote since stays, whatever part is asked for.
    let mut log = OpenOptions::new()
        .append(true)
        .open(project.join("db/000005.log"))
        .unwrap();
    std::io::Write::write_all(&mut log, b"later\n").unwrap();
    drop(log);
    let later = Tree::read(&project.join("db"));
    for word in ["db/CURRENT", "db/MANIFEST-*"] {
        sandbox
            .command(["restore", &id, word, "--yes"])
            .inside(&project)
            .run()
            .code(6)
            .shows("db/000005.log");
        assert_same_tree(&later, &Tree::read(&project.join("db")));
    }
}

#[test]
fn a_file_beside_a_database_that_is_excluded_keeps_the_database() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("shop");
    // A page, the smallest that there is.
    let before = "before\n".repeat(512);
    Build::at(&project)
        .file("a.db", &before)
        .file("a.db-wal", "before\n")
        .file("notes", "before\n")
        .file("notes-journal", "before\n")
        .aged();
    let id = sandbox.launch(
        &project,
        "for name in a.db a.db-wal a.db-shm notes notes-journal; do echo agent > $name; done",
    );
    let restore = |glob: &str| {
        let words = ["restore", &id, "--exclude", glob, "--yes"];
        sandbox.command(words).inside(&project).run()
    };
    let read = |name: &str| fs::read_to_string(project.join(name)).unwrap();
    restore("*-wal")
        .code(6)
        .shows("same database as a.db-wal, which stays");
    assert_eq!(read("a.db"), "agent\n");
    // It holds nothing that SQLite needs.
    restore("*-shm").ok();
    assert_eq!((read("a.db"), read("a.db-wal")), (before, "before\n".to_owned()));
}

#[test]
fn files_that_are_only_called_like_those_of_a_database_are_none() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("shop");
    Build::at(&project)
        .file("notes", "before\n")
        .file("notes-journal", "before\n")
        .aged();
    let id = sandbox.launch(&project, "echo agent > notes; echo agent > notes-journal");
    let words = ["restore", &id, "--exclude", "notes", "--yes"];
    sandbox.command(words).inside(&project).run().ok();
    let read = |name: &str| fs::read_to_string(project.join(name)).unwrap();
    assert_eq!(read("notes"), "agent\n");
    assert_eq!(read("notes-journal"), "before\n");
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "this system shows no open files")]
fn a_database_that_a_server_works_on_is_not_changed() {
    let sandbox = Sandbox::new();
    let (project, id) = leveldb(&sandbox);
    let damaged = Tree::read(&project);
    let server = Writer::to(&project.join("db/000005.log"));
    let named = format!("{} is in use by {}", project.join("db").display(), server.name());
    let plan = sandbox.jackin(["restore", &id, "--dry-run"]).ok();
    plan.shows("would be refused now").shows(&named);
    sandbox
        .jackin(["restore", &id, "--yes"])
        .code(3)
        .shows(&named)
        .shows("--exclude");
    assert_same_tree(&damaged, &Tree::read(&project));
    let without = ["restore", &id, "--exclude", "db", "--yes"];
    sandbox.command(without).inside(&project).run().ok();
    assert_eq!(fs::read_to_string(project.join("code")).unwrap(), "before\n");
    drop(server);
    sandbox.jackin(["restore", &id, "--yes"]).ok();
    // Neither is it by an undo, which has no such flag.
    let server = Writer::to(&project.join("db/000003.log"));
    let undo = sandbox.jackin(["undo", &id, "--yes"]).code(3);
    undo.shows(&server.name()).hides("--exclude");
    drop(server);
    assert_eq!(
        fs::read_to_string(project.join("db/CURRENT")).unwrap(),
        "MANIFEST-000002\n"
    );
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "this system shows no open files")]
fn a_restore_that_was_interrupted_waits_for_the_end_of_a_server() {
    if !has_points() {
        return;
    }
    let sandbox = Sandbox::new();
    let (project, id) = leveldb(&sandbox);
    let damaged = Tree::read(&project);
    for verb in ["resume", "abort"] {
        let restore = sandbox.command(["restore", &id, "--yes"]);
        restore.with("JACKIN_RECOVERY_FAIL_AT", "moved").run();
        // Started on what lies there now.
        let server = Writer::to(&project.join("db/made-by-the-server"));
        sandbox.jackin([verb, &id, "--yes"]).code(3).shows(&server.name());
        drop(server);
        fs::remove_file(project.join("db/made-by-the-server")).unwrap();
        sandbox.jackin([verb, &id, "--yes"]).ok();
        if verb == "resume" {
            sandbox.jackin(["undo", &id, "--yes"]).ok();
        }
        assert_same_tree(&damaged, &Tree::read(&project));
    }
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "this system shows no open files")]
fn a_process_cannot_add_lines_to_a_plan() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("shop");
    Build::at(&project).file("log", "before\n").aged();
    let id = sandbox.launch(&project, "echo agent > log");
    let program = sandbox.scratch("a\nforged line");
    write_script(&program, "#!/bin/sh\nread line\n");
    let file = OpenOptions::new().append(true).open(project.join("log")).unwrap();
    let mut command = Command::new(&program);
    command.stdin(Stdio::piped()).stdout(file);
    let _writer = Writer(command.spawn().unwrap());
    let plan = sandbox.jackin(["restore", &id, "--dry-run"]).ok();
    plan.shows("\"a\\nforged").hides("\nforged");
}
