//! The question before files are changed: only a plain yes is one.

use std::fs;

use crate::support::build::Build;
use crate::support::machine::{skip, tool};
use crate::support::run::Run;
use crate::support::sandbox::Sandbox;

/// `restore @latest` on a terminal of its own, where `typed` (shell commands that print it) is typed.
pub(crate) fn answered(sandbox: &Sandbox, typed: &str) -> Option<Run> {
    let Some(script) = tool("script") else {
        skip("the question", "util-linux's script is not installed");
        return None;
    };
    let command = format!("({typed}) | \"$0\" -qec \"$1 recovery restore @latest\" /dev/null");
    let run = sandbox
        .command::<[&str; 0], &str>([])
        .through(&["/bin/sh", "-c", &command, script.to_str().unwrap()])
        .with("TERM", "xterm")
        .run();
    Some(run)
}

#[test]
fn only_yes_means_yes() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("p");
    Build::at(&project).file("a", "before\n");
    sandbox.launch(&project, "echo agent > a");
    // Said again and again: what comes before the question is thrown away, and nobody knows how long that takes here.
    let again = |what: &str| format!("for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 0.4; {what}; done");
    for typed in [
        // What was pasted behind the command was meant for the shell; it has a `y`.
        "echo 'jackin recovery list'; sleep 2".to_owned(),
        again("echo maybe"),
        again("echo"),
        again("echo yn"),
        again("echo n"),
        again("printf '\\003'"),
        again("printf '\\004'"),
        "sleep 1".to_owned(),
    ] {
        let Some(run) = answered(&sandbox, &typed) else {
            return;
        };
        // Ctrl-C reaches the shell around it as well.
        let run = run.code_in(&[4, 130]);
        run.shows("Restore these files? [y/N]").shows("not confirmed");
        assert_eq!(fs::read(project.join("a")).unwrap(), b"agent\n", "{typed}");
    }
    for typed in [again("echo y"), again("echo ' YES '")] {
        fs::write(project.join("a"), "agent\n").unwrap();
        answered(&sandbox, &typed).unwrap().ok().shows("[y/N]");
        assert_eq!(fs::read(project.join("a")).unwrap(), b"before\n");
    }
}
