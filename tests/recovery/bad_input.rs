//! Wrong words and wrong places on the command line: named, and nothing half written.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use crate::support::build::{Build, noise};
use crate::support::compare::{assert_same_tree, assert_untouched};
use crate::support::documents::instances;
use crate::support::machine::{copy_program, skip};
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

#[test]
fn wrong_usage_exits_2_and_writes_nothing() {
    let home = tempfile::TempDir::new().unwrap();
    for (args, code) in [
        (&["recovery"][..], 2),
        (&["recovery", "no-such-verb"], 2),
        (&["recovery", "restore", "rc-00000000-x", "--no-such-flag"], 2),
        (&["recovery", "explain", "--snapshot"], 2),
        // Nothing is recorded that these could be about.
        (&["recovery", "restore"], 5),
        (&["recovery", "diff"], 5),
        (&["recovery", "show"], 5),
    ] {
        let mut command = assert_cmd::Command::new(env!("CARGO_BIN_EXE_jackin"));
        command
            .env_clear()
            .env("HOME", home.path())
            .timeout(Duration::from_secs(30));
        command.args(args).current_dir(home.path()).assert().code(code);
    }
    assert_eq!(home.path().read_dir().unwrap().count(), 0);
}

#[test]
fn installed_under_its_long_name_the_verbs_come_directly() {
    let home = tempfile::TempDir::new().unwrap();
    let link = home.path().join("jackin-recovery");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_jackin"), &link).unwrap();
    let mut command = assert_cmd::Command::new(&link);
    command
        .env_clear()
        .env("HOME", home.path())
        .timeout(Duration::from_secs(30));
    let output = command
        .args(["list", "--json"])
        .assert()
        .code(0)
        .get_output()
        .stdout
        .clone();
    let document: serde_json::Value = serde_json::from_slice(&output).unwrap();
    assert_eq!(document["instances"], serde_json::json!([]));
}

#[test]
fn the_second_program_runs_the_first_beside_it() {
    let home = tempfile::TempDir::new().unwrap();
    let second = home.path().join("jackin-recovery");
    copy_program(env!("CARGO_BIN_EXE_jackin-recovery").as_ref(), &second);
    let run = |args: &[&str]| {
        let mut command = assert_cmd::Command::new(&second);
        command
            .env_clear()
            .env("HOME", home.path())
            .timeout(Duration::from_secs(30));
        command.args(args).assert().get_output().clone()
    };
    let missing = run(&["list"]);
    assert_eq!(missing.status.code(), Some(127));
    assert!(String::from_utf8_lossy(&missing.stderr).contains("hint: install both again"));
    let first = home.path().join("jackin");
    std::os::unix::fs::symlink("jackin-recovery", &first).unwrap();
    assert_eq!(run(&["list"]).status.code(), Some(127));
    fs::remove_file(&first).unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_jackin"), &first).unwrap();
    let listed = run(&["list"]);
    assert_eq!(listed.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&listed.stderr).contains("jackin-recovery launch"));
    assert_eq!(run(&["list", "--no-such-flag"]).status.code(), Some(2));
}

#[test]
fn unknown_instance_gets_the_nearest_ids() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("known");
    Build::at(&project).file("a", "before\n");
    let id = sandbox.launch(&project, "echo agent > a");
    let damaged = Tree::read(&project);
    // One letter of the random part is another one.
    let letter = if id.as_bytes()[5] == b'z' { "y" } else { "z" };
    let wrong = format!("{}{letter}{}", &id[..5], &id[6..]);
    for verb in ["show", "diff", "restore", "undo"] {
        let args: &[&str] = match verb {
            "restore" | "undo" => &[verb, &wrong, "--yes"],
            _ => &[verb, &wrong],
        };
        sandbox.jackin(args).code(5).shows(&wrong).shows(&id);
    }
    let error = sandbox
        .jackin(["restore", &wrong, "--yes", "--json"])
        .code(5)
        .error();
    assert!(error.to_string().contains(&id), "{error}");
    assert_untouched(&damaged, &Tree::read(&project));
}

#[test]
fn a_relative_home_never_puts_the_store_into_what_it_captures() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("p");
    Build::at(&project).file("a", "a\n").dir("home");
    let before = Tree::read(&project);
    let launch = sandbox.command(["launch", "--", "touch", "began"]);
    let run = launch.with("HOME", "home").inside(&project).run().code(2);
    run.shows("home directory").shows("--allow-broad");
    assert_untouched(&before, &Tree::read(&project));
}

#[test]
fn a_tool_and_a_place_for_it_that_are_not_there_are_named() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("p");
    Build::at(&project).file("a", "before\n");
    sandbox.launch(&project, "echo agent > a");
    for words in [&["edit", "a"][..], &["diff"]] {
        let words = [words, &["--tool", "no-such-tool -x"]].concat();
        let run = sandbox.command(&words).inside(&project).run().code(127);
        run.shows("error: the tool `no-such-tool -x` was not found")
            .shows("--tool");
        let nowhere = sandbox.command(&words).with("TMPDIR", "/nowhere");
        let run = nowhere.inside(&project).run().code(1);
        run.shows("no temporary directory can be created in /nowhere")
            .shows("set TMPDIR");
    }
}

#[test]
fn a_wrong_command_line_is_a_document_in_each_form_of_json() {
    let sandbox = Sandbox::new();
    for verb in ["diff", "restore", "log", "find"] {
        for form in ["--json", "--json-lines"] {
            let error = sandbox.jackin([verb, form, "--no-such-flag"]).code(2).error();
            assert_eq!(error["kind"], "usage");
        }
    }
}

#[test]
fn a_dash_is_stdout_and_never_a_file() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("p");
    Build::at(&project).file("a", "before\n");
    sandbox.launch(&project, "echo agent > a");
    let run = sandbox
        .command(["cat", "--output", "-", "a"])
        .inside(&project)
        .run()
        .ok();
    assert_eq!(run.stdout, b"before\n");
    assert!(!project.join("-").exists());
}

#[test]
fn commands_on_an_empty_home_say_that_there_is_nothing() {
    let sandbox = Sandbox::new();
    let run = sandbox.jackin(["list", "--json"]).ok();
    assert!(instances(&run).is_empty(), "{run}");
    sandbox.jackin(["list"]).ok();
    for args in [
        &["show", "@latest"][..],
        &["diff", "@latest"],
        &["restore", "@latest", "--yes"],
        &["undo", "--yes"],
    ] {
        sandbox.jackin(args).code(5);
    }
}

#[test]
fn data_directory_that_cannot_be_written_is_named() {
    let Some(sandbox) = Sandbox::unprivileged() else {
        skip(
            "unwritable data directory",
            "commands cannot run as another user here",
        );
        return;
    };
    let project = sandbox.project("p");
    Build::at(&project).file("a", "a\n");
    sandbox.give(&project);
    let home = sandbox.scratch("fixed-home");
    fs::create_dir(&home).unwrap();
    sandbox.give(&home);
    fs::set_permissions(&home, fs::Permissions::from_mode(0o500)).unwrap();
    let marker = sandbox.scratch("ran");
    let script = format!("touch '{}'", marker.display());
    let before = Tree::read(sandbox.world());
    let target = project.to_str().unwrap();
    let run = sandbox
        .launching(target, &["sh", "-c", &script])
        .with("JACKIN_HOME_DIR", &home)
        .run();
    run.code(125).shows(home.to_str().unwrap());
    assert!(!marker.exists());
    let run = sandbox
        .command(["begin", "--snapshot", "project", target])
        .with("JACKIN_HOME_DIR", &home)
        .run();
    run.refused().shows(home.to_str().unwrap());
    assert_untouched(&before, &Tree::read(sandbox.world()));
    assert_eq!(home.read_dir().unwrap().count(), 0);
    fs::set_permissions(&home, fs::Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn baseline_that_fails_half_way_leaves_no_snapshot_and_no_litter() {
    let sandbox = Sandbox::new();
    let jackin = sandbox.home().join(".jackin");
    let Some(disk) = crate::support::machine::SmallDisk::mount(&jackin, 8 << 20) else {
        skip(
            "full disk during a baseline",
            "a file system cannot be mounted here",
        );
        return;
    };
    let project = sandbox.project("too-big");
    // Not compressible: it cannot fit.
    Build::at(&project)
        .file("noise", noise("too big", 16 << 20))
        .aged();
    let before = Tree::read(&project);
    let marker = sandbox.scratch("ran");
    let script = format!("touch '{}'", marker.display());
    let target = project.to_str().unwrap();
    sandbox.launching(target, &["sh", "-c", &script]).run().code(125);
    assert!(!marker.exists());
    assert_same_tree(&before, &Tree::read(&project));
    let run = sandbox.jackin(["list", "--json"]).ok();
    let held: Vec<_> = instances(&run)
        .into_iter()
        .flat_map(|instance| instance.snapshots)
        .collect();
    assert!(held.is_empty(), "{run}");
    for part in ["archives", "snapshots", "tmp"] {
        let left = sandbox.store().join(part).read_dir().map_or(0, |all| all.count());
        assert_eq!(left, 0, "left in {part}");
    }
    // And the next one, that fits, works.
    fs::write(project.join("noise"), "quiet\n").unwrap();
    sandbox.launch(&project, "true");
    drop(disk);
}

#[test]
fn limits_are_checked_before_bytes_are_written() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("limited");
    let build = Build::at(&project);
    for number in 0..50 {
        build.file(format!("{number}"), vec![b'x'; 1000]);
    }
    let table = |limits: &str| {
        format!(
            "[recovery]\nsnapshot = \"project\"\n[recovery.limits]\n{limits}\n\
             [[mounts]]\nsrc = \"~/src/limited\"\ndst = \"/l\"\n"
        )
    };
    for (limits, named) in [
        ("max_entries = 20", "max_entries"),
        ("max_bytes = \"10KiB\"", "max_bytes"),
    ] {
        sandbox.configure("workspaces/l.toml", &table(limits));
        sandbox
            .jackin(["launch", "l", "--", "true"])
            .code(125)
            .shows(named);
        let archives = sandbox
            .store()
            .join("archives")
            .read_dir()
            .map_or(0, |all| all.count());
        assert_eq!(archives, 0);
    }
    sandbox.configure("workspaces/l.toml", &table("max_entries = 1000"));
    sandbox.jackin(["launch", "l", "--", "true"]).ok();
}
