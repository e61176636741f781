//! Nothing that an agent names or writes reaches the operator's terminal as a command (scenario 42).

use std::fs;

use crate::support::build::Build;
use crate::support::compare::assert_same_tree;
use crate::support::machine::tool;
use crate::support::nasty;
use crate::support::run::is_harmful;
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

/// Clears the screen, sets the title, turns the text, rings.
const ATTACK: &str = "\u{1b}[2J\u{1b}]0;owned\u{7}\u{9b}31m\u{202e}txt.exe\u{2066}\r\u{8}\u{7f}";

#[test]
fn s42_no_verb_prints_a_control_character() {
    let sandbox = Sandbox::new();
    // The project's own directory, and so the host paths in every plan, are hostile too.
    let project = sandbox.project(&format!("pro{ATTACK}ject"));
    nasty::named(&project);
    Build::at(&project)
        .file("text", "one\ntwo\n")
        .file(ATTACK, "one\n")
        .symlink("link", "harmless")
        .file("Cargo.toml", format!("# {ATTACK}\n"))
        .dir(format!("{ATTACK}-dir/target"))
        .aged();
    let before = Tree::read(&project);
    let target = project.to_str().unwrap();

    sandbox
        .jackin(["explain", "--snapshot", "project", target])
        .ok()
        .harmless();
    let script = format!(
        "printf '%s\\n' '{ATTACK}' > text; rm -- '{ATTACK}x' 2>/dev/null; echo x > '{ATTACK}-dir/new'; ln -sfn '{ATTACK}' link; \
         mv 'café.txt' '{ATTACK}-moved'; mkfifo '{ATTACK}-pipe'"
    );
    sandbox
        .launching(target, &["sh", "-c", &script])
        .inside(&project)
        .run()
        .ok()
        .harmless();
    let id = sandbox.newest();
    for args in [
        &["list"][..],
        &["show", &id],
        &["diff", &id],
        &["diff", &id, "--stat"],
        &["diff", &id, "--name-status"],
        &["diff", &id, "--patch"],
        &["diff", &id, "--patch", "--show-secrets"],
        &["restore", &id, "--dry-run"],
    ] {
        sandbox.jackin(args).ok().harmless();
    }
    sandbox.jackin(["restore", &id]).code(4).harmless();
    // A later edit makes a conflict, which is named.
    Build::at(&project).file(format!("{ATTACK}-later"), "by the operator\n");
    sandbox.jackin(["restore", &id, "--yes"]).code(6).harmless();
    fs::remove_file(project.join(format!("{ATTACK}-later"))).unwrap();
    assert_same_tree(&before, &Tree::read(&project));
    sandbox.jackin(["undo", &id, "--yes"]).code_in(&[0, 6]).harmless();
    sandbox.jackin(["verify"]).ok().harmless();
}

#[test]
fn s42_errors_neutralize_what_they_quote() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("quoted");
    Build::at(&project).file("a", "a\n").aged();
    let id = sandbox.launch(&project, "echo b > a");
    let missing = format!("{}/{ATTACK}", sandbox.sources().display());
    for args in [
        &["restore", ATTACK, "--yes"][..],
        &["show", ATTACK],
        &["explain", &missing, "--snapshot", "project"],
        &["explain", ATTACK],
        &["diff", &id, "--from", ATTACK],
        &["restore", &id, ATTACK, "--yes"],
        &["restore", &id, "--from", ATTACK, "--yes"],
    ] {
        let run = sandbox.jackin(args).harmless();
        assert_ne!(run.exit(), Some(101), "{run}");
    }
    sandbox.configure(
        "workspaces/bad.toml",
        &format!("[recovery]\nsnapshot = \"{}\"\n", "\\u001b[31mred"),
    );
    sandbox.jackin(["explain", "bad"]).refused().harmless();
}

#[test]
fn s42_json_holds_the_raw_names() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("raw");
    Build::at(&project).file("kept", "k\n").aged();
    let id = sandbox.session(&project, |project| {
        Build::at(project).file(ATTACK, "x").file(b"\xff\x1b[0m", "y");
    });
    sandbox
        .diff(&id, &[])
        .are(&[("added", ATTACK.as_bytes()), ("added", b"\xff\x1b[0m")]);
    // Escaped by JSON's own rules, so that the document too can be looked at.
    let run = sandbox.jackin(["diff", &id, "--json"]).ok();
    assert!(!run.stdout.contains(&0x1b), "{run}");
}

#[test]
fn s42_on_a_terminal_too() {
    let Some(script) = tool("script") else {
        crate::support::machine::skip("s42 on a terminal", "util-linux's script is not installed");
        return;
    };
    let sandbox = Sandbox::new();
    let project = sandbox.project("tty");
    Build::at(&project)
        .file(ATTACK, "one\n")
        .file("text", "one\n")
        .aged();
    let id = sandbox.launch(&project, &format!("echo two >> text; rm -- '{ATTACK}'"));
    for verb in ["show", "diff"] {
        // `script` gives the command a terminal of its own and writes what it said; the words come as arguments.
        let run = sandbox
            .command([verb, &id])
            .through(&[
                "sh",
                "-c",
                "cmd=$(printf '%s ' \"$@\"); exec \"$0\" -qec \"$cmd\" /dev/null",
            ])
            .through(&[script.to_str().unwrap()])
            .run()
            .ok();
        // Colors are ours and allowed here; everything else of an attack is not.
        let text = run.text();
        let uncolored = without_colors(&text);
        let bad = uncolored.chars().find(|c| is_harmful(*c) && *c != '\r');
        assert!(bad.is_none(), "{bad:?} in {uncolored:?}");
    }
}

/// The text without SGR sequences (`ESC [ digits ; … m`) and without the switch of the cursor's visibility.
fn without_colors(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("\u{1b}[") {
        out.push_str(&rest[..at]);
        let body = &rest[at + 2..];
        let end = body
            .find(|c: char| !c.is_ascii_digit() && !matches!(c, ';' | '?'))
            .unwrap_or(body.len());
        match body[end..].chars().next() {
            Some('m' | 'h' | 'l' | 'K') => rest = &body[end + 1..],
            _ => {
                out.push('\u{1b}');
                rest = body;
            }
        }
    }
    out + rest
}
