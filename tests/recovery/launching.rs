//! How `launch` starts a command, and what it returns.

use crate::support::build::Build;
use crate::support::documents::instances;
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
fn launch_without_a_mode_never_runs_unprotected() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("no-mode");
    let marker = sandbox.scratch("ran");
    let script = format!("touch '{}'", marker.display());
    let target = project.to_str().unwrap();
    sandbox
        .jackin(["launch", target, "--", "sh", "-c", &script])
        .code_in(&[2, 125])
        .shows("--snapshot");
    sandbox.jackin(["explain", target]).code(2).shows("--snapshot");
    // No target and no configured mount around the current directory.
    let run = sandbox
        .command(["launch", "--snapshot", "project", "--", "sh", "-c", &script])
        .inside(&project)
        .run();
    run.code_in(&[2, 125]);
    sandbox.command(["explain"]).inside(&project).run().code(2);
    assert!(!marker.exists());
}

#[test]
fn launch_runs_in_the_callers_directory_with_its_input_and_arguments() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("where");
    let elsewhere = sandbox.project("elsewhere");
    let target = project.to_str().unwrap();
    let args = [
        "launch",
        "--snapshot",
        "project",
        target,
        "--",
        "sh",
        "-c",
        "pwd; printf '<%s>' \"$@\"; cat",
        "sh",
    ];
    let words = args.into_iter().chain(["a b", "", "*", "--yes", "$HOME"]);
    let input = ["sh", "-c", "echo input | \"$@\"", "sh"];
    let run = sandbox
        .command(words)
        .inside(&elsewhere)
        .through(&input)
        .run()
        .ok();
    let wanted = format!("{}\n<a b><><*><--yes><$HOME>input\n", elsewhere.display());
    assert_eq!(String::from_utf8_lossy(&run.stdout), wanted, "{run}");
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
        let bytes = std::fs::read(entry.path()).unwrap();
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
