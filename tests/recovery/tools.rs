//! `edit` and `diff --tool`: tools of the operator on private copies, which do not outlive them.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};

use crate::support::build::Build;
use crate::support::run::Run;
use crate::support::sandbox::Sandbox;

/// A session with changes of each kind, and a directory for temporary files.
fn session(sandbox: &Sandbox) -> (PathBuf, PathBuf) {
    let project = sandbox.project("shop");
    Build::at(&project)
        .file("a.rs", "one\n")
        .file("src/gone", "gone\n")
        .file(".env", "KEY=hunter2\n")
        .file(b"odd '\n\xff*", "odd\n")
        .symlink("link", "/etc/passwd");
    sandbox.session(&project, |project| {
        fs::write(project.join("a.rs"), "two\n").unwrap();
        fs::write(project.join(".env"), "KEY=hunter3\n").unwrap();
        fs::write(Build::at(project).place(b"odd '\n\xff*"), "changed\n").unwrap();
        fs::remove_file(project.join("src/gone")).unwrap();
        fs::remove_file(project.join("link")).unwrap();
        std::os::unix::fs::symlink("/etc/shadow", project.join("link")).unwrap();
        fs::create_dir(project.join("dir")).unwrap();
        fs::write(project.join("dir/new"), "new\n").unwrap();
    });
    let temporary = sandbox.scratch("tmp");
    fs::create_dir(&temporary).unwrap();
    (project, temporary)
}

fn inside(sandbox: &Sandbox, (project, temporary): (&Path, &Path), words: &[&str]) -> Run {
    let run = sandbox
        .command(words)
        .inside(project)
        .with("TMPDIR", temporary)
        .run();
    assert!(
        fs::read_dir(temporary).unwrap().next().is_none(),
        "litter after {run}"
    );
    run
}

#[test]
fn edit_opens_the_stored_file_beside_the_live_one() {
    let sandbox = Sandbox::new();
    let (project, temporary) = session(&sandbox);
    let places = (project.as_path(), temporary.as_path());
    let tool = "f() { stat -c %a \"$1\" \"${1%/*/*}\"; cat \"$1\" \"$2\"; pwd; echo mine >> \"$2\"; }; f";
    let run = inside(&sandbox, places, &["edit", "a.rs", "--tool", tool]).ok();
    let text = String::from_utf8_lossy(&run.stdout).into_owned();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[..4], ["400", "700", "one", "two"], "{run}");
    assert!(Path::new(lines[4]).starts_with(&temporary), "{run}");
    assert_eq!(fs::read(project.join("a.rs")).unwrap(), b"two\nmine\n");
    // The editor of the environment, and a file that is gone.
    let editor = sandbox.command(["edit", "src/gone"]).inside(&project);
    let run = editor
        .with("TMPDIR", &temporary)
        .with("EDITOR", "cat -n")
        .run()
        .ok();
    assert_eq!(String::from_utf8_lossy(&run.stdout).trim(), "1\tgone");
    run.has("does not exist now");
    inside(&sandbox, places, &["edit", "a.rs"])
        .code(2)
        .shows("--tool");
    inside(&sandbox, places, &["edit", "a.rs", "--tool", "exit 9; :"]).code(9);
    inside(&sandbox, places, &["edit", ".env", "--tool", "cat"])
        .code(2)
        .hides("hunter");
    let several = ["edit", "a.rs", "src/gone", "--tool", "cat"];
    inside(&sandbox, places, &several).code(2).shows("one file");
    let shown = ["edit", ":closing", ".env", "--tool", "cat", "--show-secrets"];
    inside(&sandbox, places, &shown).ok().shows("hunter3");
}

#[test]
fn a_tool_gets_both_sides_of_a_diff() {
    let sandbox = Sandbox::new();
    let (project, temporary) = session(&sandbox);
    let places = (project.as_path(), temporary.as_path());
    let run = inside(&sandbox, places, &["diff", "--tool", "diff -rN"]).code(1);
    let text = String::from_utf8_lossy(&run.stdout).into_owned();
    for line in [
        "< one",
        "> two",
        "< gone",
        "> new",
        "< odd",
        "> changed",
        "> /etc/shadow",
    ] {
        assert!(
            text.lines()
                .any(|known| known.trim_end_matches("\\ No newline") == line),
            "{line}\n{run}"
        );
    }
    run.has("likely to hold secrets");
    run.hides("hunter");
    fs::write(project.join("a.rs"), "now\n").unwrap();
    let now = ["diff", "--now", "a.rs", "--tool", "cat \"$2/a.rs\"; :"];
    assert_eq!(inside(&sandbox, places, &now).ok().stdout, b"now\n");
    let none = ["diff", ":closing..:closing", "--tool", "exit 9; :"];
    inside(&sandbox, places, &none).ok().shows("no contents differ");
    inside(&sandbox, places, &["diff", "--tool", "cat", "--json"]).code(2);
    inside(&sandbox, places, &["diff", "--tool", "no-such-tool"]).code(127);
}

#[test]
fn copies_do_not_outlive_a_tool_that_is_stopped() {
    let sandbox = Sandbox::new();
    let (project, temporary) = session(&sandbox);
    for (at, words) in [&["edit", "a.rs"][..], &["diff"]].into_iter().enumerate() {
        for signal in [Signal::INT, Signal::TERM] {
            let ready = sandbox.scratch(&format!("ready-{at}-{}", signal.as_raw()));
            let tool = format!(": > '{}'; exec sleep 60; :", ready.display());
            let words: Vec<&str> = words.iter().copied().chain(["--tool", &tool]).collect();
            let started = sandbox
                .command(&words)
                .inside(&project)
                .with("TMPDIR", &temporary)
                // A job in the background of a shell without job control ignores SIGINT.
                .through(&["env", "--default-signal=INT"])
                .apart()
                .start();
            while !ready.exists() {
                std::thread::sleep(Duration::from_millis(10));
            }
            assert!(fs::read_dir(&temporary).unwrap().next().is_some());
            let group = Pid::from_child(&started.child);
            kill_process_group(group, signal).unwrap();
            started.finish().refused();
            assert!(
                fs::read_dir(&temporary).unwrap().next().is_none(),
                "{words:?} {signal:?}"
            );
        }
    }
}

#[test]
fn a_tool_gets_no_text_with_a_login() {
    let sandbox = Sandbox::new();
    let (project, temporary) = session(&sandbox);
    let places = (project.as_path(), temporary.as_path());
    sandbox.session(&project, |project| {
        fs::write(project.join("a.rs"), "https://me:hunter4@example.com/\n").unwrap();
    });
    let run = inside(&sandbox, places, &["diff", "--tool", "diff -rN"]).ok();
    run.shows("1 file is likely to hold secrets").hides("hunter");
    let shown = ["diff", "--tool", "diff -rN", "--show-secrets"];
    inside(&sandbox, places, &shown).code(1).shows("hunter4");
}

#[test]
fn edit_opens_no_file_that_a_link_leads_to() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("shop");
    Build::at(&project)
        .file("plain", "stored\n")
        .file("dir/below", "stored\n")
        .file("pipe", "stored\n");
    let outside = sandbox.scratch("outside");
    Build::at(&outside).file("below", "mine\n");
    sandbox.session(&project, |project| {
        fs::remove_file(project.join("plain")).unwrap();
        std::os::unix::fs::symlink(outside.join("below"), project.join("plain")).unwrap();
        fs::remove_dir_all(project.join("dir")).unwrap();
        std::os::unix::fs::symlink(&outside, project.join("dir")).unwrap();
        fs::remove_file(project.join("pipe")).unwrap();
        Build::at(project).fifo("pipe");
    });
    let temporary = sandbox.scratch("tmp");
    fs::create_dir(&temporary).unwrap();
    for path in ["plain", "dir/below", "pipe"] {
        let run = inside(&sandbox, (&project, &temporary), &["edit", path, "--tool", "cat"]).ok();
        assert_eq!(run.stdout, b"stored\n", "{run}");
        run.has("is not a regular file now");
    }
}
