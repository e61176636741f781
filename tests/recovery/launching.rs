//! How `launch` starts a command, and what it returns.

use std::fs;

use crate::support::build::Build;
use crate::support::documents::instances;
use crate::support::machine::binary;
use crate::support::patience::await_that;
use crate::support::sandbox::Sandbox;

#[test]
fn launch_returns_the_commands_own_status() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("status");
    let target = project.to_str().unwrap();
    let launch = |command: &[&str]| {
        let args = ["launch", "--snapshot", "project", target, "--"]
            .into_iter()
            .chain(command.iter().copied());
        sandbox.command(args).inside(&project).run()
    };
    launch(&["true"]).code(0);
    launch(&["false"]).code(1);
    launch(&["sh", "-c", "exit 42"]).code(42);
    launch(&["sh", "-c", "kill -KILL $$"]).code(128 + 9);
    launch(&["no-such-command-anywhere"])
        .code(127)
        .shows("no-such-command-anywhere");
    launch(&["/etc/passwd"]).code(126);
    launch(&[target]).code(126);
    // A command that cannot run is no session.
    let run = sandbox.jackin(["list", "--json"]).ok();
    assert_eq!(instances(&run).len(), 4, "{run}");
}

#[test]
fn launch_without_a_mode_protects() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("no-mode");
    let marker = sandbox.scratch("ran");
    let script = format!("touch '{}'", marker.display());
    let target = project.to_str().unwrap();
    // Typing `launch` asks for it; no other command chooses a mode.
    sandbox
        .jackin(["launch", target, "--", "sh", "-c", &script])
        .ok()
        .shows("mode project (the default)");
    assert!(marker.exists());
    sandbox.restore(&sandbox.newest(), &[]).nothing();
    sandbox.jackin(["begin", target]).code(2).shows("--snapshot");
    sandbox.jackin(["explain", target]).code(2).shows("--snapshot");
    sandbox.command(["explain"]).inside(&project).run().code(2);
    // Without a target the current directory is the target.
    let launch = ["launch", "--", "sh", "-c", "pwd"];
    let run = sandbox.command(launch).inside(&project).run().ok();
    assert_eq!(run.stdout, format!("{target}\n").into_bytes(), "{run}");
}

#[test]
fn launch_runs_in_its_target_or_where_it_is_told_with_its_input_and_arguments() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("where");
    let elsewhere = sandbox.project("elsewhere");
    let target = project.to_str().unwrap();
    let inner = sandbox.project("where/inner");
    let script = ["--", "sh", "-c", "pwd; pwd -P; printf '<%s>' \"$@\"; cat", "sh"];
    let input = ["sh", "-c", "echo input | \"$@\"", "sh"];
    let other = elsewhere.to_str().unwrap();
    for (from, more, ran_in) in [
        (&elsewhere, &[][..], &project),
        (&project, &[], &project),
        // Below what is protected nothing moves.
        (&inner, &[], &inner),
        (&elsewhere, &["--cwd", "keep"], &elsewhere),
        (&project, &["--cwd", "../elsewhere"], &elsewhere),
        (&inner, &["--cwd", other], &elsewhere),
    ] {
        let args = ["launch", "-q"]
            .iter()
            .chain(more)
            .copied()
            .chain([target])
            .chain(script);
        let words = args.chain(["a b", "", "*", "--yes", "$HOME"]);
        let run = sandbox.command(words).inside(from).through(&input).run().ok();
        let shown = ran_in.display();
        let wanted = format!("{shown}\n{shown}\n<a b><><*><--yes><$HOME>input\n");
        assert_eq!(String::from_utf8_lossy(&run.stdout), wanted, "{run}");
        // Also `-q` says that what the command changes there cannot be undone.
        let is_told = run.said().contains("which is not protected");
        assert_eq!(is_told, ran_in == &elsewhere, "{run}");
    }
    for wrong in ["absent", "a"] {
        fs::write(project.join("a"), "a\n").unwrap();
        let args = ["launch", "--cwd", wrong, target, "--", "true"];
        let run = sandbox.command(args).inside(&project).run().code(2);
        run.shows(&format!("--cwd {wrong}: "));
    }
}

#[test]
fn launch_hides_the_commands_arguments() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("arguments");
    sandbox.launch(&project, "true MARKED-TOKEN-ON-THE-COMMAND-LINE");
    let id = sandbox.newest();
    for args in [&["show", &id][..], &["show", &id, "--json"], &["list", "--json"]] {
        sandbox.jackin(args).ok().hides("MARKED-TOKEN");
    }
    for entry in walkdir::WalkDir::new(sandbox.store())
        .into_iter()
        .flatten()
        .filter(|e| e.file_type().is_file())
    {
        let bytes = fs::read(entry.path()).unwrap();
        assert!(
            !bytes.windows(12).any(|window| window == b"MARKED-TOKEN"),
            "{}",
            entry.path().display()
        );
    }
}

#[test]
fn two_snapshots_and_their_names_are_listed() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("Listed Project");
    Build::at(&project).file("a", "a\n").file("d/b", "b\n");
    let id = sandbox.launch(&project, "echo c > c");
    let run = sandbox.jackin(["list", "--json"]).ok();
    let all = instances(&run);
    let kinds: Vec<&str> = all[0]
        .snapshots
        .iter()
        .map(|snapshot| snapshot.kind.as_str())
        .collect();
    assert_eq!(kinds, ["closing", "baseline"], "newest first\n{run}");
    assert!(
        all[0].snapshot("closing").entries > all[0].snapshot("baseline").entries,
        "{run}"
    );
    assert!(id.starts_with("rc-") && id.ends_with("-listed-project"), "{id}");
    assert_eq!(all[0].workspace, None, "{run}");
    sandbox.jackin(["list"]).ok().shows(&id);
    sandbox.jackin(["show", &id, "--json"]).ok().json();
    sandbox
        .jackin(["show", &id])
        .ok()
        .shows(project.to_str().unwrap());
}

#[test]
fn instance_is_found_by_prefix_and_as_the_latest() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("found");
    Build::at(&project).file("a", "a\n");
    let first = sandbox.launch(&project, "echo b > a");
    let second = sandbox.launch(&project, "echo c > a");
    let instance_of = |name: &str| sandbox.jackin(["diff", name, "--json"]).ok().json()["instance"].clone();
    assert_eq!(instance_of("@latest"), second);
    assert_eq!(instance_of(&first), first);
    assert_eq!(instance_of(&first[..9]), first);
    // A prefix that fits both is no answer.
    let run = sandbox.jackin(["restore", "rc-", "--yes"]).refused();
    run.shows(&first).shows(&second);
}

#[test]
fn baseline_that_cannot_be_taken_blocks_the_launch() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("blocked");
    // A file where the store's directory has to be.
    Build::at(&sandbox.home()).file(".jackin/data", "in the way\n");
    let marker = sandbox.scratch("ran");
    let script = format!("touch '{}'", marker.display());
    let target = project.to_str().unwrap();
    let run = sandbox.launching(target, &["sh", "-c", &script]).run();
    run.code(125).shows(".jackin/data");
    assert!(!marker.exists());
    let flags = [
        "launch",
        "--snapshot",
        "project",
        "--on-failure",
        "run",
        target,
        "--",
        "sh",
        "-c",
        &script,
    ];
    let run = sandbox.jackin(flags);
    assert!(marker.exists(), "the operator asked for it\n{run}");
}

#[test]
fn a_relative_jackin_home_is_the_same_one_everywhere() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("work");
    Build::at(&project).file("deep/a", "a\n").aged();
    let store = sandbox.sources().join("jackin/home/data/recovery");
    let run = |args: &[&str]| {
        let command = sandbox.command(args).inside(&sandbox.sources());
        command.with("JACKIN_HOME_DIR", "jackin/home").run()
    };
    // From below another directory, the command finds its session.
    let script = "cd deep && echo b > a && \"$0\" recovery checkpoint --name step";
    let program = binary();
    let program = program.to_str().unwrap();
    let launch = [
        "launch",
        "--snapshot",
        "project",
        "./work",
        "--",
        "sh",
        "-c",
        script,
        program,
    ];
    run(&launch).ok();
    assert!(store.is_dir());
    assert!(!project.join("deep/jackin").exists() && !project.join("jackin").exists());
    run(&[
        "diff",
        "@latest",
        "--any",
        "--from",
        "step",
        "--to",
        "closing",
        "--exit-code",
    ])
    .ok();
    // So do the processes that are left behind, whose directory is the root.
    let begun = run(&[
        "begin",
        "--checkpoint-every",
        "1s",
        "--snapshot",
        "project",
        "./work",
    ])
    .ok();
    let id = String::from_utf8_lossy(&begun.stdout).trim().to_owned();
    fs::write(project.join("deep/a"), "c\n").unwrap();
    await_that("the checkpoint is taken", || {
        let shown = run(&["show", &id, "--json"]).ok();
        shown.text().contains("\"checkpoint\"")
    });
    run(&["end", &id]).ok();
}
