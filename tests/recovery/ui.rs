//! `ui` on a real terminal: looked at, and gone back with, by keys; however it ends, the terminal is as it was.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::support::background::Background;
use crate::support::build::Build;
use crate::support::compare::assert_same_tree;
use crate::support::machine::{binary, has_points, write_script};
use crate::support::patience::{await_file, await_that};
use crate::support::sandbox::Sandbox;
use crate::support::tmux::Tmux;
use crate::support::tree::Tree;

const SMALL: (u16, u16) = (80, 24);

/// A session of which much is lost.
fn damaged() -> (Sandbox, PathBuf, String) {
    let sandbox = Sandbox::new();
    let project = sandbox.project("shop");
    Build::at(&project)
        .file("a.txt", "one\nport = 80;\nthree\n")
        .file(".env", "SECRET=1\n")
        .file("lib/deep/x", "x\n")
        .file("lib/y", "y\n")
        .aged();
    let id = sandbox.session(&project, |project| {
        fs::write(project.join("a.txt"), "one\nport = 8080;\nthree\n").unwrap();
        fs::remove_file(project.join(".env")).unwrap();
        fs::remove_dir_all(project.join("lib/deep")).unwrap();
        fs::write(project.join("run.sh"), "#!/bin/sh\n").unwrap();
        fs::set_permissions(project.join("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(project.join("bad\u{1b}[2Jname\u{202e}"), "x").unwrap();
    });
    (sandbox, project, id)
}

/// A small screen on which a session is open.
pub(crate) fn opened(sandbox: &Sandbox, project: &Path, id: &str) -> Option<Tmux> {
    let tmux = Tmux::start(sandbox, project, SMALL, &format!("jackin recovery ui {id}"), &[])?;
    tmux.sees("baseline");
    Some(tmux)
}

#[test]
#[cfg_attr(not(feature = "tui"), ignore = "the feature tui is not built")]
fn a_terminal_without_a_cursor_is_called_so() {
    let (sandbox, project, _) = damaged();
    let script = "TERM=dumb jackin recovery ui; echo code=$?; sleep 99";
    let Some(tmux) = Tmux::start(&sandbox, &project, SMALL, script, &[]) else {
        return;
    };
    let screen = tmux.sees("code=2");
    assert!(screen.contains("TERM is not set, or is dumb"), "{screen}");
}

#[test]
#[cfg_attr(not(feature = "tui"), ignore = "the feature tui is not built")]
fn a_session_is_browsed_restored_and_the_restore_undone_by_keys() {
    let (sandbox, project, id) = damaged();
    let bad = Tree::read(&project);
    let Some(tmux) = Tmux::start(
        &sandbox,
        &project,
        SMALL,
        "jackin recovery ui --any; echo code=$?; sleep 99",
        &[],
    ) else {
        return;
    };
    tmux.sees(&id);
    tmux.press(&["Enter"]).sees("baseline");
    // Of all moments the baseline is the last one.
    tmux.press(&["G", "Enter"]).sees("executables and hooks: 1 path");
    let screen = tmux.sees("bad\\x1b[2Jname\\u{202e}");
    assert!(
        screen.contains("D .env") && screen.contains("6 paths"),
        "{screen}"
    );
    // Narrowed, and looked into.
    tmux.press(&["/"]).press(&["-l", "a.TXT"]).sees("1 of 6 paths");
    tmux.press(&["Enter", "Enter"]).sees("+port = 8080;");
    tmux.press(&["Escape"]).sees("1 of 6 paths");
    // Marked, and one more of another kind.
    tmux.press(&["Space"]).sees("1 marked");
    tmux.press(&["Escape"]).sees("6 paths");
    tmux.press(&["f", "f", "f"]).sees("only: deleted");
    tmux.press(&["a"]).sees("4 marked");
    tmux.press(&["r"]).sees("Restore 4 paths?");
    let plan = tmux.screen();
    let has_line = |end: &str| plan.lines().any(|line| line.trim_end().ends_with(end));
    assert!(has_line(project.to_str().unwrap()), "{plan}");
    for path in [" .env", " a.txt", " lib/deep/x"] {
        assert!(has_line(path), "{plan}");
    }
    // Not yet: a restore that is not agreed to does nothing.
    tmux.press(&["Escape"]).sees("4 marked");
    assert_same_tree(&bad, &Tree::read(&project));
    tmux.press(&["r"]).sees("Restore 4 paths?");
    tmux.press(&["y"]).sees("Done: 4 paths restored and verified.");
    assert!(tmux.screen().contains("to undo: jackin recovery undo"));
    assert_eq!(
        fs::read_to_string(project.join("a.txt")).unwrap(),
        "one\nport = 80;\nthree\n"
    );
    assert!(project.join(".env").exists() && project.join("lib/deep/x").exists());
    // What was not marked is as it was.
    assert!(project.join("run.sh").exists());
    tmux.press(&["u"]).sees("Undo restore ");
    tmux.press(&["y"]).sees("Done: 4 paths restored");
    assert_same_tree(&bad, &Tree::read(&project));
    // Back to where it was asked for.
    tmux.press(&["Enter"]).sees("only: deleted");
    tmux.press(&["Escape"]).misses("only: deleted");
    tmux.press(&["Escape"]).sees("undid receipt");
    tmux.press(&["l"]).sees("undid");
    tmux.press(&["Escape", "s"]).sees("in archives");
    tmux.press(&["?"]).sees("An active session is read-only");
    tmux.press(&["x", "q"]).sees("code=0");
    tmux.is_plain();
    let log = sandbox.jackin(["log", &id]).ok();
    log.has("undid").has("restored");
}

#[test]
#[cfg_attr(not(feature = "tui"), ignore = "the feature tui is not built")]
fn the_changes_of_a_file_and_the_author_of_each_line_are_shown_by_keys() {
    let (sandbox, project, id) = damaged();
    let script = "jackin recovery ui; echo code=$?; sleep 99";
    let Some(tmux) = Tmux::start(&sandbox, &project, SMALL, script, &[]) else {
        return;
    };
    tmux.sees("baseline");
    tmux.press(&["G", "Enter"]).sees("6 paths");
    tmux.press(&["/"]).press(&["-l", "a.txt"]).sees("1 of 6 paths");
    tmux.press(&["Enter", "H"]).sees("changes of a file");
    let short = id.get(..11).unwrap();
    let screen = tmux.sees("modified +1 -1");
    assert!(screen.contains(short), "{screen}");
    tmux.press(&["Escape"]).sees("1 of 6 paths");
    tmux.press(&["B"]).sees("2) port = 8080;");
    let screen = tmux.screen();
    let of = |text: &str| {
        screen
            .lines()
            .find(|line| line.ends_with(text))
            .unwrap_or_default()
    };
    assert!(of("2) port = 8080;").contains(short), "{screen}");
    assert!(of("1) one").trim_start().starts_with('-'), "{screen}");
    // With Ctrl the key of an undo scrolls.
    tmux.press(&["C-u", "Escape"]).sees("1 of 6 paths");
    tmux.press(&["q"]).sees("code=0");
    tmux.is_plain();
}

/// Keys, and a text that they bring to the screen or, after `!`, take away.
const KEYS: &[(&[&str], &str)] = &[
    (&["?"], "An active session is read-only"),
    (&["x"], "!An active session is read-only"),
    // The history.
    (&["G", "t"], "It is the first snapshot"),
    (&["x"], "!It is the first snapshot"),
    (&["g", "t"], "half \u{2192} closing"),
    (&["Escape"], "!half \u{2192} closing"),
    (&["Space", "Space"], "compare the marked"),
    (&["Enter"], "half \u{2192} closing"),
    (&["Escape"], "!half \u{2192} closing"),
    (&["Escape"], "!compare the marked"),
    (&["b"], "No agent reported a prompt"),
    (&["x"], "!No agent reported a prompt"),
    (&["k", "k", "j"], ""),
    (&["P"], "Pin the snapshot half"),
    (&["y"], "is pinned"),
    (&["x", "P"], "Unpin the snapshot half"),
    (&["y"], "is unpinned"),
    (&["x", "m"], "Name of"),
    (&["Escape"], "!Name of"),
    (&["c"], "Checkpoint of"),
    (&["Escape"], "!Checkpoint of"),
    (&["F"], "Fork"),
    (&["Escape"], "!Fork"),
    (&["x"], "Export"),
    (&["~/kept", "Enter"], "BLAKE3"),
    (&["x"], "!BLAKE3"),
    (&["y"], "i  id"),
    (&["Escape"], "!i  id"),
    (&["D"], "Delete this permanently?"),
    (&["Escape"], "!Delete this permanently?"),
    (&["s"], " ~/src/shop  "),
    (&["Escape"], "!in archives"),
    (&["l"], "closing snapshot sn-"),
    (&["Escape"], "!closing snapshot sn-"),
    (&["u"], "nothing to undo"),
    (&["x"], "!nothing to undo"),
    (&["r"], "y  yes    Esc  no"),
    (&["Escape"], "!y  yes    Esc  no"),
    // The changes.
    (&["G", "Enter"], "4 paths"),
    (&["f"], "only: added"),
    (&["Escape"], "!only: added"),
    (&["/"], "filter: _"),
    (&["a", ".", "r", "s"], "1 of 4 paths"),
    (&["Enter", "Escape"], "!1 of 4 paths"),
    (&["z"], "!a.rs"),
    (&["z"], "a.rs"),
    (&["a"], "4 marked"),
    (&["a"], "!4 marked"),
    (&["Space"], "1 marked"),
    (&["k", "Space"], "!1 marked"),
    (&["y"], "p  path"),
    (&["Escape"], "!p  path"),
    (&["k", "H"], "changes of a file"),
    (&["Escape"], "!changes of a file"),
    (&["B"], "1) one"),
    (&["Escape"], "!1) one"),
    // The preview.
    (&["g", "j", "j", "j"], "agent_0()"),
    (&["J", "J", "J", "J", "J", "J", "J", "J"], "!agent_0()"),
    (&["K", "K", "K", "K", "K", "K", "K", "K"], "agent_0()"),
    (&["Tab"], "\u{203a} lines"),
    (&["v"], "mark these lines"),
    (&["Escape"], "!mark these lines"),
    (&["+"], "line_4()"),
    (&["-"], "!line_4()"),
    (&["]", "Space", "Tab"], "lines marked"),
    (&["Tab", "a", "a", "Tab"], "!lines marked"),
    (&["Tab", "/"], "search: _"),
    (&["a", "g", "e", "n", "t", "_", "4", "Enter"], "n N match"),
    (&["n", "N", "Escape"], "!n N match"),
    (&["p"], "-gone"),
    (&["p"], "END"),
    (&["w"], "!END"),
    (&["e"], "opened"),
    (&["Enter"], "!opened"),
    (&["Tab", "R"], "Restore 4 paths?"),
    (&["o"], "later edits are overwritten"),
    (&["d"], "later files are deleted"),
    (&["y"], "Done: 4 paths restored"),
    (&["u"], "Undo restore "),
    (&["C-y"], ""),
    (&["y"], "Done: 4 paths"),
    (&["Enter", "Escape"], "undid receipt"),
    (&["q"], "code=0"),
];

#[test]
#[cfg_attr(not(feature = "tui"), ignore = "the feature tui is not built")]
fn every_key_answers_on_a_small_and_on_a_large_screen() {
    for size in [SMALL, (160, 50)] {
        let sandbox = Sandbox::new();
        let project = sandbox.project("shop");
        let code = |name: &str| -> String {
            (0..300)
                .map(|line| format!("fn {name}_{line}() {{}}\n"))
                .collect()
        };
        Build::at(&project)
            .file("b.txt", format!("one\n{}END\n", "long ".repeat(60)))
            .file("gone", "gone\n")
            .file("lib/a.rs", code("line"))
            .aged();
        let id = sandbox.launch(
            &project,
            &format!(
                "sed -i 's/line_\\([0-9]*0\\)()/agent_\\1()/' lib/a.rs
                 '{}' recovery checkpoint --name half
                 sed -i s/long/LONG/g b.txt; rm gone; echo new > new",
                binary().display()
            ),
        );
        let kept = sandbox.home().join("kept");
        let editor = sandbox.scratch("editor");
        write_script(&editor, "#!/bin/sh\necho opened; read -r line\n");
        let script = "jackin recovery ui; echo code=$?; sleep 99";
        let editor = format!("EDITOR={}", editor.display());
        let Some(tmux) = Tmux::start(&sandbox, &project, size, script, &[&editor]) else {
            return;
        };
        tmux.sees(&id);
        tmux.sees("baseline");
        for (keys, wanted) in KEYS {
            let (text, comes) = match wanted.strip_prefix('!') {
                Some(text) => (text, false),
                None => (*wanted, true),
            };
            let before = tmux.screen();
            let is_there = before.contains(text);
            assert!(
                text.is_empty() || is_there != comes,
                "before {keys:?}: {wanted}\n{before}"
            );
            for key in *keys {
                tmux.press(&[key]);
                // Each key is read by itself.
                sleep(Duration::from_millis(60));
            }
            match comes {
                true => tmux.sees(text),
                false => tmux.misses(text),
            };
        }
        tmux.is_plain();
        assert!(kept.exists(), "the file of the export");
    }
}

/// Lines of a text, with some of them replaced.
fn numbered(replaced: &[(usize, &str)]) -> String {
    let line = |at: usize| {
        let found = replaced.iter().find(|(other, _)| *other == at);
        found.map_or_else(|| format!("line {at}\n"), |(_, text)| (*text).to_owned())
    };
    (1..=40).map(line).collect()
}

#[test]
#[cfg_attr(not(feature = "tui"), ignore = "the feature tui is not built")]
fn marked_hunks_and_lines_are_restored_and_the_restore_undone() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("shop");
    Build::at(&project)
        .file("a.txt", numbered(&[]))
        .file("b.txt", "b\n")
        .aged();
    let agent = numbered(&[(3, "three\n"), (30, "thirty\nmore\n"), (31, "thirty-one\n")]);
    let id = sandbox.session(&project, |project| {
        fs::write(project.join("a.txt"), &agent).unwrap();
        fs::write(project.join("b.txt"), "bad\n").unwrap();
    });
    let now = || fs::read_to_string(project.join("a.txt")).unwrap();
    let Some(tmux) = opened(&sandbox, &project, &id) else {
        return;
    };
    // The preview lies below the tree; the second hunk is marked in it.
    tmux.press(&["G", "Enter"]).sees("+three");
    tmux.press(&["Tab", "]", "Space"]).sees("marked");
    tmux.press(&["r"]).sees("a.txt: 1 of 2 hunks");
    assert!(!tmux.screen().contains("b.txt"), "{}", tmux.screen());
    tmux.press(&["y"]).sees("Done: 1 path restored and verified.");
    assert_eq!(now(), numbered(&[(3, "three\n")]));
    tmux.press(&["u"]).sees("Undo restore ");
    tmux.press(&["y"]).sees("Done: 1 path restored");
    assert_eq!(now(), agent);
    // One of the lines that were added, and one that was replaced.
    tmux.press(&["Enter", "Escape"]).sees("undid receipt");
    tmux.press(&["G", "Enter"]).sees("+three");
    tmux.press(&["Tab", "/"])
        .press(&["-l", "more"])
        .press(&["Enter"])
        .sees("search: more (1 line)");
    tmux.press(&["v", "Space"]).sees("1 line marked");
    tmux.press(&["Escape"]).misses("search: more");
    tmux.press(&["g", "j", "j", "j", "v", "j", "Space"])
        .sees("3 lines marked");
    tmux.press(&["r"]).sees("a.txt: 2 of 2 hunks");
    tmux.press(&["y"]).sees("Done: 1 path restored");
    assert_eq!(now(), numbered(&[(30, "thirty\n"), (31, "thirty-one\n")]));
    assert_eq!(fs::read_to_string(project.join("b.txt")).unwrap(), "bad\n");
    // A text that changed meanwhile is refused.
    tmux.press(&["u"]).sees("Undo restore ");
    tmux.press(&["y"]).sees("Done: 1 path restored");
    tmux.press(&["Enter", "Escape"]).sees("undid receipt");
    tmux.press(&["G", "Enter"]).sees("+three");
    tmux.press(&["Tab", "Space"]).sees("marked");
    fs::write(project.join("a.txt"), numbered(&[(3, "mine\n")])).unwrap();
    tmux.press(&["r"]).sees("conflict");
    tmux.press(&["o"]).sees("is no longer the text");
    assert_eq!(now(), numbered(&[(3, "mine\n")]));
}

#[test]
#[cfg_attr(not(feature = "tui"), ignore = "the feature tui is not built")]
fn later_edits_are_marked_in_the_tree_before_any_plan() {
    let (sandbox, project, id) = damaged();
    fs::write(project.join("a.txt"), "mine\n").unwrap();
    fs::write(project.join("new.txt"), "mine\n").unwrap();
    let Some(tmux) = opened(&sandbox, &project, &id) else {
        return;
    };
    tmux.press(&["G", "Enter"]).sees("a.txt  edited later");
    tmux.sees("new.txt  created later");
}

#[test]
#[cfg_attr(not(feature = "tui"), ignore = "the feature tui is not built")]
fn sessions_and_snapshots_are_pinned_named_copied_forked_and_forgotten_by_keys() {
    let (sandbox, project, id) = damaged();
    let Some(tmux) = opened(&sandbox, &project, &id) else {
        return;
    };
    tmux.press(&["G", "P"]).sees("Pin the snapshot baseline");
    tmux.press(&["y"]).sees("is pinned");
    // Any key closes a message.
    tmux.press(&["j"]).sees("baseline  pinned");
    tmux.press(&["P"]).sees("Unpin the snapshot");
    tmux.press(&["y"]).sees("is unpinned");
    tmux.press(&["j"]).misses("is unpinned");
    tmux.press(&["m"]).sees("Name of");
    tmux.press(&["-l", "broken"])
        .press(&["Enter"])
        .sees("is named broken");
    tmux.press(&["j"]).misses("is named broken");
    tmux.press(&["x"]).sees("Export the baseline");
    let file = sandbox.scratch("before.tar.zst");
    tmux.press(&["-l", file.to_str().unwrap()])
        .press(&["Enter"])
        .sees("BLAKE3");
    assert!(file.exists());
    tmux.press(&["j"]).misses("BLAKE3");
    let place = sandbox.scratch("copy");
    tmux.press(&["F"]).sees("Fork the baseline");
    tmux.press(&["-l", place.to_str().unwrap()])
        .press(&["Enter"])
        .sees("forked the baseline");
    assert!(place.join(".env").exists() || place.join("shop/.env").exists());
    tmux.press(&["j"]).misses("forked the baseline");
    tmux.press(&["y"]).sees("command");
    tmux.press(&["c"]).sees("copied the command: jackin recovery re");
    // Two marked snapshots are compared.
    tmux.press(&["Space", "Up", "Space"]).sees("compare the marked");
    tmux.press(&["Enter"]).sees("baseline \u{2192} closing");
    tmux.press(&["Escape"]).sees("compare the marked");
    tmux.press(&["Escape"]).misses("compare the marked");
    // A checkpoint needs a session that is active.
    tmux.press(&["c"]).sees("Checkpoint of");
    tmux.press(&["Enter"]).sees("error:");
    tmux.press(&["j"]).misses("error:");
    tmux.press(&["D"]).sees("cannot be undone");
    tmux.press(&["Escape"]).sees("closing");
    tmux.press(&["D"]).sees("cannot be undone");
    // The seconds that pass over the answer change the age in the plan, not the plan.
    sleep(Duration::from_millis(1_100));
    tmux.press(&["y"]).sees("Done:");
    tmux.press(&["j"]).sees("no sessions yet");
}

#[test]
#[cfg_attr(not(feature = "tui"), ignore = "the feature tui is not built")]
fn a_stored_file_is_opened_in_the_editor_and_the_screen_comes_back() {
    let (sandbox, project, id) = damaged();
    let script = format!("jackin recovery ui {id}");
    let editor = "VISUAL=echo opened; read line; true";
    let Some(tmux) = Tmux::start(&sandbox, &project, SMALL, &script, &[editor]) else {
        return;
    };
    tmux.sees("baseline");
    tmux.press(&["G", "Enter"]).sees("6 paths");
    tmux.press(&["/"])
        .press(&["-l", "a.txt"])
        .press(&["Enter"])
        .sees("1 of 6");
    tmux.press(&["e"]).sees("opened");
    // The line goes to the editor, and the keys after it to the screen.
    tmux.press(&["-l", "q"]).press(&["Enter"]).sees("1 of 6 paths");
    tmux.press(&["Escape"]).sees(" 6 paths");
}

#[test]
#[cfg_attr(not(feature = "tui"), ignore = "the feature tui is not built")]
fn what_changed_between_plan_and_yes_is_shown_and_not_done() {
    let (sandbox, project, id) = damaged();
    let Some(tmux) = opened(&sandbox, &project, &id) else {
        return;
    };
    tmux.press(&["G", "r"]).sees("y  yes    Esc  no");
    fs::write(project.join("lib/y"), "mine\n").unwrap();
    tmux.press(&["y"]).sees("changed meanwhile");
    assert!(!project.join(".env").exists());
    let plan = tmux.press(&["x"]).misses("changed meanwhile");
    assert!(plan.contains("Conflicts, not changed:"), "{plan}");
    tmux.press(&["o"]).sees("later edits are overwritten");
    tmux.press(&["o"]).misses("later edits are overwritten");
    tmux.press(&["y"]).sees("Done:");
    assert_eq!(fs::read_to_string(project.join("lib/y")).unwrap(), "mine\n");
    assert!(project.join(".env").exists());
}

#[test]
#[cfg_attr(not(feature = "tui"), ignore = "the feature tui is not built")]
fn a_session_that_lives_is_looked_at_and_not_touched() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("shop");
    Build::at(&project).file("a.txt", "one\n").aged();
    let session = Background::launch(&sandbox, &project, "echo agent > a.txt");
    let Some(tmux) = Tmux::start(
        &sandbox,
        &project,
        SMALL,
        "jackin recovery ui shop || jackin recovery ui --any",
        &[],
    ) else {
        return;
    };
    tmux.sees("read-only until it ends");
    tmux.press(&["Enter"]).sees("M a.txt");
    tmux.press(&["R"]).sees("is active");
    tmux.press(&["x"]).misses("is active");
    assert_eq!(fs::read_to_string(project.join("a.txt")).unwrap(), "agent\n");
    session.end().ok();
    // It is seen as it is now, and put back.
    tmux.press(&["Escape"]).misses("M a.txt");
    tmux.press(&["F5"]).sees("closing");
    tmux.press(&["G", "r"]).sees("y  yes    Esc  no");
    tmux.press(&["y"]).sees("Done: 1 path");
    assert_eq!(fs::read_to_string(project.join("a.txt")).unwrap(), "one\n");
}

#[test]
#[cfg_attr(not(feature = "tui"), ignore = "the feature tui is not built")]
fn a_wide_screen_shows_the_lines_beside_the_tree_and_follows_its_size() {
    let (sandbox, project, id) = damaged();
    let Some(tmux) = opened(&sandbox, &project, &id) else {
        return;
    };
    tmux.press(&["G", "Enter"]).sees("a.txt");
    tmux.press(&["/"])
        .press(&["-l", "a.txt"])
        .press(&["Enter"])
        .sees("1 of 6");
    tmux.sees("+port = 8080;");
    assert!(!is_beside(&tmux), "{}", tmux.screen());
    tmux.resize(160, 50);
    lies_beside(&tmux);
    let painted = tmux.painted();
    let before = painted.split("+port").next().unwrap_or_default();
    let code = before.rsplit("38;5;").next().unwrap_or_default();
    assert!(code.starts_with("2m"), "added lines are green: {painted}");
    tmux.resize(30, 5);
    tmux.sees("at least");
    tmux.resize(80, 24);
    tmux.sees("1 of 6");
}

#[test]
#[cfg_attr(not(feature = "tui"), ignore = "the feature tui is not built")]
fn a_resize_is_followed_without_its_signal() {
    let (sandbox, project, id) = damaged();
    // The signal goes to the session of the terminal. A key that is pressed at the same moment may have it lost, too.
    let script = format!("setsid -w jackin recovery ui {id}");
    let Some(tmux) = Tmux::start(&sandbox, &project, SMALL, &script, &[]) else {
        return;
    };
    tmux.sees("baseline");
    tmux.press(&["G", "Enter"]).sees("a.txt");
    tmux.press(&["/"])
        .press(&["-l", "a.txt"])
        .press(&["Enter"])
        .sees("+port = 8080;");
    tmux.resize(160, 50);
    lies_beside(&tmux);
}

/// Returns true if the preview of `a.txt` is beside the tree.
fn is_beside(tmux: &Tmux) -> bool {
    let screen = tmux.screen();
    let mut lines = screen.lines();
    lines.any(|line| line.contains("1 of 6 paths") && line.contains("\u{2500} M a.txt"))
}

/// Waits until the preview is beside the tree.
#[track_caller]
fn lies_beside(tmux: &Tmux) {
    await_that("the preview beside the tree", || is_beside(tmux));
}

#[test]
#[cfg_attr(not(feature = "tui"), ignore = "the feature tui is not built")]
fn no_color_is_heard() {
    let (sandbox, project, id) = damaged();
    let script = format!("jackin recovery ui {id}");
    for variable in ["NO_COLOR=1", "CLICOLOR=1"] {
        let Some(tmux) = Tmux::start(&sandbox, &project, SMALL, &script, &[variable]) else {
            return;
        };
        tmux.sees("baseline");
        tmux.press(&["G", "Enter"]).sees("D .env");
        let painted = tmux.painted();
        let colored = (1..=6).any(|color| painted.contains(&format!("[38;5;{color}m")));
        assert_eq!(colored, variable != "NO_COLOR=1", "{painted}");
        assert!(
            painted.contains("\u{1b}[7m"),
            "the chosen row stands out: {painted}"
        );
    }
}

#[test]
#[cfg_attr(not(feature = "tui"), ignore = "the feature tui is not built")]
fn without_a_terminal_or_a_session_it_says_so() {
    let (sandbox, project, _) = damaged();
    sandbox
        .jackin(["ui"])
        .code(2)
        .has("is not a terminal")
        .has("jackin recovery list");
    let empty = Sandbox::new();
    let Some(tmux) = Tmux::start(&empty, &project, SMALL, "jackin recovery ui", &[]) else {
        return;
    };
    tmux.sees("no sessions yet");
    tmux.press(&["Enter", "u", "r"]).sees("Open a session first");
    tmux.press(&["x", "s"]).sees("nothing is stored yet");
    assert!(!empty.store().exists(), "looking makes nothing");
    let Some(tmux) = Tmux::start(&sandbox, &project, SMALL, "jackin recovery ui nobody", &[]) else {
        return;
    };
    tmux.sees("nobody");
    tmux.press(&["x"]).sees("SESSION");
    let elsewhere = sandbox.project("elsewhere");
    let Some(tmux) = Tmux::start(&sandbox, &elsewhere, SMALL, "jackin recovery ui", &[]) else {
        return;
    };
    tmux.sees("No session covers the current directory.");
}

fn session() -> (Sandbox, PathBuf, String) {
    let sandbox = Sandbox::new();
    let project = sandbox.project("shop");
    Build::at(&project).file("a.txt", "one\n").aged();
    let id = sandbox.launch(&project, "echo agent > a.txt");
    (sandbox, project, id)
}

/// Runs it, and then says how it ended and how the terminal is set, at once if as before: its child may clear up later.
const SCRIPT: &str = "stty -a > before; jackin recovery ui; echo code=$?
    for i in $(seq 1000); do stty -a > now; cmp -s now before && break; sleep 0.1; done
    mv now after; sleep 99";

/// Waits until it ended, and looks at the terminal.
#[track_caller]
fn ends_well(tmux: &Tmux, place: &Path, code: &str) {
    if !code.is_empty() {
        tmux.sees(code);
    }
    await_file(&place.join("after"));
    let read = |name: &str| fs::read_to_string(place.join(name)).unwrap();
    assert_eq!(read("after"), read("before"));
    tmux.is_plain();
    assert!(
        read("after").contains(" icanon") && read("after").contains(" echo "),
        "{}",
        read("after")
    );
}

/// Processes whose command line holds this word.
fn processes(word: &str, sandbox: &Sandbox) -> Vec<Pid> {
    let home = format!("HOME={}", sandbox.home().display());
    let all = fs::read_dir("/proc").unwrap().flatten();
    let found = all.filter_map(|entry| {
        let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
        let line = fs::read(entry.path().join("cmdline")).ok()?;
        let variables = fs::read(entry.path().join("environ")).ok()?;
        let words: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();
        let is_ours = variables
            .split(|byte| *byte == 0)
            .any(|one| one == home.as_bytes());
        let is_meant = words.first()?.ends_with(b"jackin") && words.contains(&word.as_bytes());
        Pid::from_raw(pid).filter(|_| is_ours && is_meant)
    });
    found.collect()
}

#[track_caller]
fn one(word: &str, sandbox: &Sandbox) -> Pid {
    let found = processes(word, sandbox);
    assert_eq!(found.len(), 1, "{word}");
    found[0]
}

#[test]
#[cfg_attr(not(feature = "tui"), ignore = "the feature tui is not built")]
fn a_panic_in_the_middle_leaves_the_terminal_as_it_was() {
    if !has_points() {
        return;
    }
    for point in ["screen", "screen-work"] {
        let (sandbox, project, id) = session();
        let place = sandbox.scratch("place");
        fs::create_dir(&place).unwrap();
        let variable = format!("JACKIN_RECOVERY_FAIL_AT={point}");
        let Some(tmux) = Tmux::start(&sandbox, &place, (80, 24), SCRIPT, &[&variable]) else {
            return;
        };
        if point == "screen" {
            tmux.sees(&id);
            tmux.press(&["Down"]);
        }
        ends_well(&tmux, &place, "code=1");
        let screen = tmux.screen();
        assert!(
            screen.contains("a test asked for it") && screen.contains("error:"),
            "{screen}"
        );
        assert_eq!(fs::read_to_string(project.join("a.txt")).unwrap(), "agent\n");
    }
}

#[test]
#[cfg_attr(not(feature = "tui"), ignore = "the feature tui is not built")]
fn signals_to_it_and_to_its_child_leave_the_terminal_as_it_was() {
    for (word, signal, code) in [
        ("ui", Signal::TERM, "code="),
        ("__screen", Signal::TERM, "code="),
        ("__screen", Signal::HUP, "code="),
        ("__screen", Signal::KILL, "code=1"),
        // Nobody is left who could: the child sees that, and clears up.
        ("ui", Signal::KILL, ""),
    ] {
        let (sandbox, _, id) = session();
        let place = sandbox.scratch("place");
        fs::create_dir(&place).unwrap();
        let Some(tmux) = Tmux::start(&sandbox, &place, (80, 24), SCRIPT, &[]) else {
            return;
        };
        tmux.sees(&id);
        kill_process(one(word, &sandbox), signal).unwrap();
        ends_well(&tmux, &place, code);
        await_that(&format!("{word} {signal:?}: the end"), || {
            processes("__screen", &sandbox).is_empty()
        });
    }
}

#[test]
#[cfg_attr(not(feature = "tui"), ignore = "the feature tui is not built")]
fn it_is_suspended_and_goes_on() {
    let (sandbox, project, id) = session();
    let Some(tmux) = Tmux::start(
        &sandbox,
        &project,
        (80, 24),
        "exec bash --norc --noprofile -i",
        &[],
    ) else {
        return;
    };
    tmux.press(&["jackin recovery ui --any", "Enter"]).sees(&id);
    tmux.press(&["C-z"]).sees("Stopped");
    tmux.is_plain();
    tmux.press(&["echo typed", "Enter"]).sees("\ntyped");
    tmux.press(&["fg", "Enter"]).sees("SESSION");
    tmux.press(&["Enter"]).sees("baseline");
    tmux.press(&["q"]).misses("baseline");
    tmux.is_plain();
}

#[test]
#[cfg_attr(not(feature = "tui"), ignore = "the feature tui is not built")]
fn a_terminal_that_goes_away_takes_it_along() {
    let (sandbox, project, id) = session();
    let Some(tmux) = Tmux::start(&sandbox, &project, (80, 24), "jackin recovery ui", &[]) else {
        return;
    };
    tmux.sees(&id);
    one("__screen", &sandbox);
    tmux.close();
    await_that("its end without a terminal", || {
        let mut words = ["ui", "__screen"].into_iter();
        words.all(|word| processes(word, &sandbox).is_empty())
    });
}
