//! Prompts and tool calls that a restore goes back to before: chosen from the list of `restore --before`, and in `ui`.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::conversation::Conversation;
use crate::support::run::Run;
use crate::support::sandbox::Sandbox;
use crate::support::tmux::Tmux;

const SIZE: (u16, u16) = (120, 30);

/// A session of two turns; the second has two calls.
fn worked() -> (Sandbox, PathBuf) {
    let sandbox = Sandbox::new();
    let project = sandbox.captured("shop", "");
    for name in ["a", "b", "c"] {
        fs::write(project.join(name), "before\n").unwrap();
    }
    let mut agent = Conversation::new(&sandbox, &project, "s");
    agent.turn("fix the \u{1b}[2Jlogin", "echo fixed > a");
    agent.prompt("clean up");
    agent.call("rm b");
    agent.call("echo new > c");
    agent.stop();
    agent.end();
    agent.run().ok();
    (sandbox, project)
}

/// The files, each with its first letters; `-` if it is missing.
fn state(project: &Path) -> String {
    let word = |name: &str| fs::read_to_string(project.join(name)).unwrap_or_else(|_| "-".to_owned());
    ["a", "b", "c"].map(|name| word(name).trim().to_owned()).join(" ")
}

fn restore(sandbox: &Sandbox, project: &Path, words: &[&str]) -> Run {
    sandbox.command(words).inside(project).run()
}

#[test]
fn a_prompt_or_call_is_chosen_from_a_list_and_restored_after_a_yes() {
    let (sandbox, project) = worked();
    let script = "jackin recovery restore --before; echo \"code $?\"; sleep 60";
    let Some(tmux) = Tmux::start(&sandbox, &project, SIZE, script, &[]) else {
        return;
    };
    tmux.sees("Restore the files from before (");
    let seen = tmux.lists("login\"");
    let lines: Vec<&str> = seen.lines().map(str::trim_end).collect();
    let at = |end: &str| {
        let found = lines.iter().position(|line| line.ends_with(end));
        found.unwrap_or_else(|| panic!("{end} is not there:\n{seen}"))
    };
    // The newest turn is first; its calls stand below it, and each names what it changed.
    let turns = [
        at("~1 -1    \"clean up\" (2 calls)"),
        at("-1         Bash: rm b"),
        at("~1         Bash: echo new > c"),
        at("fix the \\x1b[2Jlogin\" (1 call)"),
    ];
    assert!(turns.is_sorted(), "{seen}");
    tmux.press(&["-l", "echo new"]).lists("> ");
    tmux.press(&["Enter"]).asks("[y/N/?]");
    assert_eq!(state(&project), "fixed - new");
    tmux.press(&["y", "Enter"]).sees("code 0");
    assert_eq!(state(&project), "fixed - before");
    let script = "jackin recovery restore --before --dry-run; echo \"code $?\"; sleep 60";
    let Some(tmux) = Tmux::start(&sandbox, &project, SIZE, script, &[]) else {
        return;
    };
    tmux.lists("Restore the files from before (");
    tmux.press(&["Escape"]).sees("code 4");
}

#[test]
fn without_a_terminal_the_newest_prompts_and_calls_are_listed() {
    let (sandbox, project) = worked();
    for more in [&[][..], &["--yes"], &["--json"]] {
        let words = [&["restore", "--before"][..], more].concat();
        let refused = restore(&sandbox, &project, &words).code(2);
        refused.has("--before needs a part of a prompt or tool call");
        for text in ["clean up", "Bash: rm b", "Bash: echo new > c", "restore rc-"] {
            refused.has(text);
        }
        refused.harmless();
    }
    assert_eq!(state(&project), "fixed - new");
    // One of the commands that it lists.
    let refused = restore(&sandbox, &project, &["restore", "--before"]);
    let text = refused.text();
    let command = text
        .split("before Bash: rm b:")
        .nth(1)
        .unwrap()
        .lines()
        .nth(1)
        .unwrap();
    let words: Vec<&str> = command.split_whitespace().skip(2).chain(["--yes"]).collect();
    restore(&sandbox, &project, &words).ok();
    assert_eq!(state(&project), "fixed before before");
    restore(&sandbox, &project, &["restore", "--before", "LOGIN", "--yes"]).ok();
    assert_eq!(state(&project), "before before before");
}

#[test]
fn a_session_without_prompts_and_calls_has_none_to_choose() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("bare");
    fs::write(project.join("a"), "before\n").unwrap();
    let id = sandbox.launch(&project, "echo agent > a");
    let refused = sandbox.jackin(["restore", &id, "--before"]).code(5);
    refused
        .has("no prompt or tool call of")
        .has(&format!("show {id}"));
}

#[test]
#[cfg_attr(not(feature = "tui"), ignore = "the feature tui is not built")]
fn a_prompt_or_call_is_chosen_on_the_screen_and_the_restore_undone() {
    let (sandbox, project) = worked();
    let script = "jackin recovery ui; echo code=$?; sleep 99";
    let Some(tmux) = Tmux::start(&sandbox, &project, SIZE, script, &[]) else {
        return;
    };
    tmux.sees("baseline");
    tmux.press(&["b"]).sees("5 prompts and calls");
    assert!(
        tmux.screen().contains("fix the \\x1b[2Jlogin"),
        "{}",
        tmux.screen()
    );
    tmux.press(&["/"]).press(&["-l", "RM B"]).sees("(1 of 5)");
    tmux.press(&["Enter", "Enter"]).sees("Restore 2 paths?");
    assert_eq!(state(&project), "fixed - new");
    tmux.press(&["y"]).sees("Done: 2 paths restored and verified.");
    tmux.sees("to roll back the conversation as well (then /rewind)");
    assert_eq!(state(&project), "fixed before before");
    tmux.press(&["u"]).sees("Undo restore ");
    tmux.press(&["y"]).sees("Done: 2 paths restored");
    assert_eq!(state(&project), "fixed - new");
    tmux.press(&["q"]).sees("code=0");
}

#[test]
fn cat_prints_a_file_from_before_a_prompt_or_call() {
    let (sandbox, project) = worked();
    let cat = |words: &[&str]| restore(&sandbox, &project, &[&["cat", "--before"][..], words].concat());
    for (words, text) in [
        (["RM B", "a"], "fixed\n"),
        (["RM B", "b"], "before\n"),
        (["login", "a"], "before\n"),
        (["echo new", "a"], "fixed\n"),
    ] {
        assert_eq!(cat(&words).ok().stdout, text.as_bytes(), "{words:?}");
    }
    cat(&["echo new", "b"])
        .code(5)
        .has("the nearest snapshot that has it");
    cat(&["no such call", "a"]).code(5);
    cat(&["rm b", ":closing", "b"])
        .code(2)
        .has("--before and :SNAP both name the snapshot");
}
