//! Long results go through the operator's pager, chosen by the operator's environment alone.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::build::Build;
use crate::support::machine::{run_tool, skip, tool};
use crate::support::run::Run;
use crate::support::sandbox::Sandbox;
use crate::support::tmux::Tmux;

/// A session that changed one file, and many more than a screen holds.
fn session(sandbox: &Sandbox, name: &str) -> std::path::PathBuf {
    let project = sandbox.project(name);
    Build::at(&project).file("a", "before\n");
    sandbox.launch(
        &project,
        "echo agent > a; i=0; while [ $i -lt 60 ]; do echo > f$i; i=$((i+1)); done",
    );
    project
}

/// Runs `words` on a terminal of its own, with `PAGER` set so.
fn on_a_terminal(sandbox: &Sandbox, words: &[&str], pager: &str, inside: &Path) -> Option<Run> {
    let Some(script) = tool("script") else {
        skip("the pager", "util-linux's script is not installed");
        return None;
    };
    let run = sandbox
        .command(words)
        .through(&[
            "/bin/sh",
            "-c",
            "cmd=$(printf '%s ' \"$@\"); exec \"$0\" -qec \"$cmd\" /dev/null",
        ])
        .through(&[script.to_str().unwrap()])
        .with("TERM", "xterm")
        .with("PAGER", pager)
        .inside(inside)
        .run();
    Some(run)
}

#[test]
fn a_result_on_a_terminal_is_given_to_it_and_the_next_command_stands_last() {
    let sandbox = Sandbox::new();
    let project = session(&sandbox, "p");
    let paged = sandbox.scratch("paged");
    let pager = format!("sed 's/^/paged: /' | tee '{}'", paged.display());
    let Some(run) = on_a_terminal(&sandbox, &["diff", "@latest", "--patch"], &pager, &project) else {
        return;
    };
    let run = run.ok();
    let text = fs::read_to_string(&paged).unwrap();
    assert!(text.contains("+agent") && text.contains('\x1b'), "{text:?}");
    assert!(!text.contains("to undo:"), "{text:?}");
    let first = text.lines().next().unwrap();
    assert!(first.contains(&sandbox.newest()), "{text:?}");
    let said = String::from_utf8(run.stdout).unwrap();
    let last = said.trim_end().lines().next_back().unwrap();
    assert!(last.contains("to undo: jackin recovery restore"), "{said:?}");
    assert!(
        said.find("paged: ").unwrap() < said.find("to undo:").unwrap(),
        "{said:?}"
    );

    // What is not there to be read has none, nor what was told not to, nor what the screen holds.
    for words in [
        &["verify"][..],
        &["diff", "@latest", "a"],
        &["diff", "@latest", "--no-pager"],
        &["list", "--json"],
    ] {
        fs::remove_file(&paged).ok();
        on_a_terminal(&sandbox, words, &pager, &project).unwrap().ok();
        assert!(!paged.exists(), "{words:?}");
    }
    // Without a terminal there is nobody to leaf through it.
    sandbox
        .command(["list"])
        .with("TERM", "xterm")
        .with("PAGER", &pager)
        .run()
        .ok();
    assert!(!paged.exists());
}

#[test]
fn one_that_is_missing_or_leaves_early_harms_nothing() {
    let sandbox = Sandbox::new();
    let project = session(&sandbox, "p");
    for pager in [
        "LESS=R no-such-pager",
        "'/no/such pager'",
        "no-such-pager --flag",
        "",
        "cat",
        "/no/such/pager",
        "true",
        "head -c 1",
        "false",
    ] {
        let Some(run) = on_a_terminal(
            &sandbox,
            &["diff", "@latest", "--color", "never"],
            pager,
            &project,
        ) else {
            return;
        };
        let run = run.ok();
        let shown = run.text().contains("M a");
        // One that fails has not shown it.
        let reads = !["true", "head -c 1"].contains(&pager);
        assert_eq!(shown, reads, "{pager:?}\n{run}");
    }
    let Some(run) = on_a_terminal(&sandbox, &["diff", "@latest", "--exit-code"], "true", &project) else {
        return;
    };
    run.code(1);
}

#[test]
fn keys_of_the_pager_do_not_end_us_and_a_wish_to_end_does() {
    let sandbox = Sandbox::new();
    let project = session(&sandbox, "p");
    // Its parent is this program.
    let keys = "kill -INT $PPID; sleep 0.1; kill -INT $PPID; sleep 0.1; cat";
    let Some(run) = on_a_terminal(&sandbox, &["diff", "@latest", "-v"], keys, &project) else {
        return;
    };
    let run = run.ok().shows("f59").shows("to undo:");
    // What is said when all is over is said with a pager too.
    run.shows("exit code 0");
    let stays = "kill -TERM $PPID; exec sleep 100";
    let begun = std::time::Instant::now();
    on_a_terminal(&sandbox, &["diff", "@latest"], stays, &project).unwrap();
    assert!(begun.elapsed().as_secs() < 60, "it waited for the pager");
}

/// A pager that fails has shown nothing, and one that is ended leaves the terminal as it was.
#[test]
fn a_pager_that_fails_hides_nothing_and_one_that_is_ended_leaves_no_trace() {
    let sandbox = Sandbox::new();
    let project = session(&sandbox, "p");
    let Some(run) = on_a_terminal(&sandbox, &["diff", "@latest"], "false", &project) else {
        return;
    };
    run.ok().shows("f59");
    if tool("less").is_none() {
        return skip("a pager that is ended", "less is not installed");
    }
    let script = "stty -a > before; sh -c 'echo $$ > pid; PAGER=less exec jackin recovery diff @latest'; stty -a > after; \
                  cmp before after && echo same; sleep 60";
    let Some(tmux) = Tmux::start(&sandbox, &project, (80, 10), script, &[]) else {
        return;
    };
    tmux.sees(":");
    let pid = fs::read_to_string(project.join("pid")).unwrap();
    run_tool(Command::new("kill").args(["-TERM", pid.trim()]));
    tmux.sees("same");
}

#[test]
fn nothing_in_the_current_directory_is_started_as_one() {
    let sandbox = Sandbox::new();
    let project = session(&sandbox, "p");
    let marker = sandbox.scratch("planted ran");
    Build::at(&project)
        .file("less", format!("#!/bin/sh\ntouch '{}'\n", marker.display()))
        .mode("less", 0o755);
    let Some(script) = tool("script") else {
        return;
    };
    let with_others = format!(":.:{}", std::env::var("PATH").unwrap());
    for path in [&with_others, ".", "node_modules/.bin", ""] {
        planted(&sandbox, &project, &script, path);
        assert!(!marker.exists(), "PATH={path}");
    }
    // A relative path leads there too; it is no pager.
    let by_path = on_a_terminal(&sandbox, &["diff", "@latest"], "./less", &project);
    assert!(by_path.is_none_or(|run| run.text().contains("f59")) && !marker.exists());
}

/// A long result on a terminal, with this `PATH`.
fn planted(sandbox: &Sandbox, project: &Path, script: &Path, path: &str) {
    sandbox
        .command(["diff", "@latest", "--color", "never"])
        .through(&[
            "/bin/sh",
            "-c",
            "cmd=$(printf '%s ' \"$@\"); (/bin/sleep 0.5; echo q; /bin/sleep 3; echo q) | \"$0\" -qec \"$cmd\" /dev/null",
        ])
        .through(&[script.to_str().unwrap()])
        .with("TERM", "xterm")
        .with("PATH", path)
        .inside(project)
        .run()
        .ok();
}

#[test]
fn a_manual_page_is_set_for_a_terminal_and_raw_for_a_file() {
    let sandbox = Sandbox::new();
    sandbox.jackin(["man", "restore"]).ok().shows(".SH NAME");
    if tool("man").is_none() {
        return skip("manual pages on a terminal", "man is not installed");
    }
    let project = sandbox.project("p");
    let Some(run) = on_a_terminal(&sandbox, &["man", "restore"], "cat", &project) else {
        return;
    };
    run.ok()
        .shows("NAME")
        .shows("jackin-recovery-restore")
        .hides(".SH");
}

#[test]
fn a_manual_page_is_text_where_man_is_missing() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("p");
    let words = "PATH=; exec '@' recovery man restore";
    let words = words.replace('@', env!("CARGO_BIN_EXE_jackin"));
    let script = format!("({words}); echo \"code $?\"; read end");
    let Some(tmux) = Tmux::start(&sandbox, &project, (100, 400), &script, &[]) else {
        return;
    };
    let seen = tmux.sees("code 0");
    assert!(seen.contains("SYNOPSIS") && seen.contains("--dry-run"), "{seen}");
    assert!(!seen.contains("\\f") && !seen.contains(".SH"), "{seen}");
}
