//! `watch` prints what changes while it changes, and ends with the session.

use std::fs;
use std::path::Path;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::background::Background;
use crate::support::build::Build;
use crate::support::patience::await_that;
use crate::support::run::Run;
use crate::support::sandbox::Sandbox;

/// The lines that a watch printed, without those after its end.
fn lines(run: &Run) -> Vec<String> {
    let text = String::from_utf8(run.stdout.clone()).unwrap();
    text.lines().map(str::to_owned).collect()
}

/// Waits until the file that a watch writes to has this line.
#[track_caller]
fn sees(file: &Path, wanted: &str) {
    await_that(&format!("`{wanted}`"), || {
        let text = fs::read_to_string(file).unwrap_or_default();
        text.lines().any(|line| line.contains(wanted))
    });
}

#[test]
fn each_change_is_one_line_until_the_session_ends() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("p");
    Build::at(&project)
        .file("Cargo.toml", "[package]\n")
        .file("a", "a\n")
        .file("src/b", "b\n")
        .aged();
    let session = Background::launch(&sandbox, &project, "echo early > early");
    let watch = sandbox.command(["watch"]).inside(&project.join("src")).start();
    let shown = watch.stdout_file().to_path_buf();
    sees(&shown, "A early");
    fs::create_dir(project.join("target")).unwrap();
    fs::write(project.join("target/excluded"), "").unwrap();
    fs::write(project.join("a"), "changed\n").unwrap();
    fs::remove_file(project.join("src/b")).unwrap();
    fs::write(project.join("odd\nname\x1b[31m"), "").unwrap();
    sees(&shown, "D src/b");
    fs::write(project.join("a"), "a\n").unwrap();
    sees(&shown, "= a");
    let git = project.join(".git");
    fs::create_dir(&git).unwrap();
    for name in ["one", "two", "three", "four", "five"] {
        fs::write(git.join(name), "").unwrap();
    }
    sees(&shown, ".git/ (");
    // Nothing more happens until the end.
    fs::write(project.join("last"), "").unwrap();
    session.end().ok();
    let run = watch.finish().ok().harmless();
    let found = lines(&run);
    let count = |line: &str| found.iter().filter(|found| *found == line).count();
    for line in ["A early", "M a", "D src/b", "= a", "A last"] {
        assert_eq!(count(line), 1, "{line}\n{run}");
    }
    assert!(!run.text().contains("excluded"), "{run}");
    run.shows("watching rc-")
        .shows(" ended: ")
        .shows("details: jackin recovery diff rc-");
}

#[test]
fn json_is_a_document_a_line() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("p");
    Build::at(&project).file("a", "a\n").aged();
    let session = Background::launch(&sandbox, &project, "echo b > a");
    let id = sandbox.newest();
    let watch = sandbox.command(["watch", &id, "--json"]).start();
    let shown = watch.stdout_file().to_path_buf();
    sees(&shown, "\"change\":\"modified\"");
    session.end().ok();
    let run = watch.finish().ok();
    let all: Vec<Value> = lines(&run)
        .iter()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(all.len(), 2, "{run}");
    assert_eq!(
        (&all[0]["event"], &all[0]["path"]),
        (&"change".into(), &"a".into())
    );
    assert_eq!((&all[1]["event"], &all[1]["changed"]), (&"end".into(), &1.into()));
    assert!(
        all.iter()
            .all(|line| line["schema"] == 1 && line["instance"] == id.as_str())
    );
    assert!(run.stderr.is_empty(), "{run}");
}

#[test]
fn messages_do_not_wait_for_the_first_change() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("p");
    Build::at(&project).file("a", "a\n").aged();
    let session = Background::launch(&sandbox, &project, "");
    let id = sandbox.newest();
    let watch = sandbox.command(["watch", &id, "--json", "-v"]).start();
    await_that("a message", || watch.errors().contains("watch"));
    session.end().ok();
    watch.finish().ok();
}

#[test]
fn it_stops_for_a_signal_and_for_a_reader_that_is_gone() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("p");
    Build::at(&project).file("a", "a\n").aged();
    let session = Background::launch(&sandbox, &project, "rm a");
    // A job in the background of a shell without job control ignores it.
    let watch = sandbox.command(["watch", "@latest"]);
    let watch = watch.through(&["env", "--default-signal=INT"]).start();
    sees(watch.stdout_file(), "D a");
    let pid = Pid::from_child(&watch.child);
    kill_process(pid, Signal::INT).unwrap();
    let run = watch.finish().code(130);
    assert!(!run.text().contains("error"), "{run}");
    let watch = sandbox.command(["watch", "@latest"]);
    let run = watch.through(&["sh", "-c", "\"$0\" \"$@\" | head -n 1"]).run();
    run.ok().shows("D a").hides(" ended");
    session.end().ok();
}

#[test]
fn what_cannot_be_watched_is_refused() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("p");
    Build::at(&project).file("a", "a\n");
    sandbox.jackin(["watch", "nobody"]).code(5);
    let id = sandbox.launch(&project, "rm a");
    let run = sandbox.command(["watch", &id]).inside(&project).run().refused();
    run.shows("is not active")
        .shows(&format!("jackin recovery diff {id}"));
    sandbox
        .command(["watch", "@latest"])
        .inside(&project)
        .run()
        .refused();
}

#[test]
fn without_a_session_it_waits_for_one() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("p");
    Build::at(&project).file("a", "a\n").aged();
    // None ended here is watched, and Ctrl-C leaves.
    for has_ended in [false, true] {
        if has_ended {
            sandbox.launch(&project, "true");
        }
        let watch = sandbox.command(["watch"]).inside(&project);
        let waiting = watch.through(&["env", "--default-signal=INT"]).start();
        await_that("it waits", || waiting.errors().contains("waiting for one"));
        kill_process(Pid::from_child(&waiting.child), Signal::INT).unwrap();
        let run = waiting.finish().code(130);
        run.shows("no session is active here: waiting for one (Ctrl-C to end)");
    }
    let watch = sandbox.command(["watch"]).inside(&project).start();
    await_that("it waits", || watch.errors().contains("waiting for one"));
    let session = Background::launch(&sandbox, &project, "rm a");
    sees(watch.stdout_file(), "D a");
    session.end().ok();
    let run = watch.finish().ok();
    run.shows("waiting for one")
        .shows("watching rc-")
        .shows(" ended: ");
}

#[test]
fn whole_directories_are_one_line() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("p");
    Build::at(&project).file("a", "a\n").aged();
    let script = "mkdir -p out/deep; for i in 1 2 3 4 5 6; do echo $i > out/deep/$i; done; echo x > out/deep/run; chmod +x out/deep/run";
    let session = Background::launch(&sandbox, &project, script);
    let watch = |more: &[&str]| {
        let args = ["watch", "@latest"].iter().chain(more);
        sandbox.command(args).inside(&project).start()
    };
    let (folded, all) = (watch(&[]), watch(&["--all"]));
    sees(folded.stdout_file(), "A out/ (6 other files, 1 directory)");
    sees(folded.stdout_file(), "A out/deep/run");
    sees(all.stdout_file(), "A out/deep/6");
    session.end().ok();
    folded.finish().ok().hides("out/deep/1");
    all.finish().ok().hides("files");
}
