//! `restore -p`: asks by hunk, on a terminal.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::support::build::Build;
use crate::support::compare::{assert_same_tree, assert_untouched};
use crate::support::kill::Dice;
use crate::support::machine::has_points;
use crate::support::sandbox::Sandbox;
use crate::support::tmux::Tmux;
use crate::support::tree::Tree;

const SIZE: (u16, u16) = (80, 24);

/// Sixty lines, some of them replaced.
fn lines(replaced: &[(u32, &str)]) -> String {
    let line = |number: u32| match replaced.iter().find(|(at, _)| *at == number) {
        Some((_, line)) => format!("{line}\n"),
        None => format!("line {number}\n"),
    };
    (1..=60).map(line).collect()
}

/// A project with one of everything that a session may do, its tree before and after, and the session's id.
fn project(sandbox: &Sandbox) -> (PathBuf, Tree, Tree, String) {
    let project = sandbox.project("asked");
    Build::at(&project)
        .file("a.txt", lines(&[]))
        .file("b.bin", b"before\0")
        .file("c-gone", "gone\n")
        .file("e/one", "one\n")
        .aged();
    let before = Tree::read(&project);
    let script = "sed -i 's/^line 5$/agent 5/; s/^line 8$/agent 8/; s/^line 30$/agent 30/; s/^line 60$/agent 60/' a.txt
        chmod 600 a.txt; chmod 640 a.txt; printf 'after\\0' > b.bin; rm c-gone; echo new > d-new; mkdir f; echo x > f/x; rm -r e";
    let id = sandbox.launch(&project, script);
    let after = Tree::read(&project);
    (project, before, after, id)
}

/// Begins a restore by hunks.
fn ask(sandbox: &Sandbox, project: &Path, words: &str, more: &[&str]) -> Option<Tmux> {
    let script = format!("jackin recovery restore -p {words}; echo \"code $?\"; sleep 60");
    Tmux::start(sandbox, project, SIZE, &script, more)
}

/// Waits for a question at the end of the screen, and answers it.
#[track_caller]
fn answer(tmux: &Tmux, question: &str, key: &str) {
    let begun = Instant::now();
    loop {
        let screen = tmux.screen();
        let last = screen.trim_end().lines().last().unwrap_or_default();
        if last.contains(question) && last.ends_with(']') {
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "{question}:\n{screen}");
        sleep(Duration::from_millis(20));
    }
    let asked = tmux.screen();
    tmux.press(&[key, "Enter"]);
    while tmux.screen() == asked {
        sleep(Duration::from_millis(10));
    }
}

#[test]
fn chosen_hunks_are_named_in_the_plan_restored_and_undone() {
    let sandbox = Sandbox::new();
    let (project, before, after, id) = project(&sandbox);
    let Some(tmux) = ask(&sandbox, &project, &id, &[]) else {
        return;
    };
    answer(&tmux, "(1/4) Undo this change of mode", "n");
    answer(&tmux, "(2/4) Undo this hunk?", "y");
    answer(&tmux, "(3/4) Undo this hunk?", "n");
    answer(&tmux, "(4/4) Undo this hunk?", "x");
    tmux.sees("a  undo this hunk and all later ones");
    answer(&tmux, "(4/4) Undo this hunk?", "y");
    answer(&tmux, "(1/1) Undo this change?", "n");
    answer(&tmux, "(1/1) Undo this change?", "y");
    // What was not asked for stays.
    answer(&tmux, "(1/1) Undo this change?", "q");
    let screen = tmux.sees("[y/N/?]");
    assert!(screen.contains("replace   a.txt: 2 of 4 hunks"), "{screen}");
    assert!(screen.contains("2 paths: 1 to create, 1 to replace."), "{screen}");
    tmux.press(&["y", "Enter"]);
    tmux.sees("code 0");
    let now = Tree::read(&project);
    let text = fs::read_to_string(project.join("a.txt")).unwrap();
    assert_eq!(text, lines(&[(30, "agent 30")]));
    assert_eq!(now.at("a.txt").mode, 0o640);
    assert_same_tree(&before.only("c-gone"), &now.only("c-gone"));
    for path in ["b.bin", "d-new", "f"] {
        assert_untouched(&after.only(path), &now.only(path));
    }
    // What is left of the session can be restored, for no later edit is in it.
    sandbox
        .plan(&id, &[])
        .touched(&["a.txt", "b.bin", "d-new", "e", "e/one", "f", "f/x"]);
    sandbox.undo(&id);
    assert_same_tree(&after, &Tree::read(&project));
    sandbox.undo(&id);
    assert_same_tree(&now, &Tree::read(&project));
    sandbox.restore(&id, &[]);
    assert_same_tree(&before, &Tree::read(&project));
}

#[test]
fn all_hunks_are_the_whole_restore_and_none_changes_nothing() {
    let sandbox = Sandbox::new();
    let (project, before, after, id) = project(&sandbox);
    let Some(tmux) = ask(&sandbox, &project, &id, &[]) else {
        return;
    };
    let answers = |tmux: &Tmux, key: &str| {
        answer(tmux, "(1/4) Undo this change of mode", key);
        // What is in a directory decides about it.
        for _ in ["b.bin", "c-gone", "d-new", "e/one", "f/x"] {
            answer(tmux, "(1/1) Undo this change?", key);
        }
    };
    answers(&tmux, "d");
    tmux.sees("no hunk was chosen; nothing was changed");
    tmux.sees("code 4");
    assert_untouched(&after, &Tree::read(&project));
    assert!(!sandbox.jackin(["log"]).ok().text().contains("restore"));
    let Some(tmux) = ask(&sandbox, &project, &id, &[]) else {
        return;
    };
    answers(&tmux, "a");
    tmux.sees("[y/N/?]");
    tmux.press(&["y", "Enter"]);
    tmux.sees("code 0");
    assert_same_tree(&before, &Tree::read(&project));
    sandbox.undo(&id);
    assert_same_tree(&after, &Tree::read(&project));
}

/// Answers each question of a hunk with `key`, until there is another question or the end. Returns the number of them.
#[track_caller]
fn answer_all(tmux: &Tmux, key: &str) -> u32 {
    let begun = Instant::now();
    let mut asked = 0;
    loop {
        let screen = tmux.screen();
        let last = screen.trim_end().lines().last().unwrap_or_default();
        if last.contains("[y/N/?]") || last.starts_with("code ") {
            return asked;
        }
        assert!(begun.elapsed() < Duration::from_secs(120), "{screen}");
        if last.contains("Undo this") && last.ends_with(']') {
            asked += 1;
            tmux.press(&[key, "Enter"]);
            while tmux.screen() == screen {
                sleep(Duration::from_millis(10));
            }
        }
        sleep(Duration::from_millis(10));
    }
}

/// Random edits of the agent in some files, in each of two projects.
#[test]
fn hunks_of_any_edits_come_back_one_by_one_or_stay() {
    const FILES: u64 = 8;
    for seed in [37, 73] {
        let sandbox = Sandbox::new();
        let project = sandbox.project("random");
        let scripted = sandbox.scratch("agent");
        let (build, agent) = (Build::at(&project), Build::at(&scripted));
        let mut dice = Dice::new(seed);
        for file in 0..FILES {
            let mut text: Vec<String> = (0..60).map(|line| format!("{line}\n")).collect();
            build.file(format!("{file}"), text.concat());
            for edit in 0..=dice.below(4) {
                let at = usize::try_from(dice.below(text.len() as u64)).unwrap();
                match dice.below(3) {
                    0 => text[at] = format!("agent {edit}\n"),
                    1 => text.insert(at, format!("agent {edit}\n")),
                    _ => drop(text.remove(at)),
                }
            }
            agent.file(format!("{file}"), text.concat());
        }
        build.aged();
        let before = Tree::read(&project);
        let id = sandbox.launch(&project, &format!("cp {}/* .", scripted.display()));
        let after = Tree::read(&project);
        let Some(tmux) = ask(&sandbox, &project, &id, &[]) else {
            return;
        };
        let hunks = answer_all(&tmux, "n");
        assert!(hunks > 8, "{hunks} hunks");
        tmux.sees("code 4");
        assert_untouched(&after, &Tree::read(&project));

        let tmux = ask(&sandbox, &project, &id, &[]).unwrap();
        assert_eq!(answer_all(&tmux, "y"), hunks);
        tmux.press(&["y", "Enter"]).sees("code 0");
        assert_same_tree(&before, &Tree::read(&project));
        sandbox.undo(&id);
        assert_same_tree(&after, &Tree::read(&project));
    }
}

#[test]
fn a_hunk_is_split_and_edited() {
    let sandbox = Sandbox::new();
    let (project, _, after, id) = project(&sandbox);
    let editor = sandbox.scratch("editor");
    // Keeps the agent's line beside the one that comes back.
    let script = "sed -i 's/^+agent 30$/ agent 30/' \"$1\"";
    fs::write(&editor, script).unwrap();
    let variable = format!("EDITOR=sh {}", editor.display());
    let Some(tmux) = ask(&sandbox, &project, &format!("{id} a.txt"), &[&variable]) else {
        return;
    };
    answer(&tmux, "(1/4) Undo this change of mode", "j");
    answer(&tmux, "(2/4) Undo this hunk?", "s");
    let screen = tmux.sees("(2/5) Undo this hunk?");
    assert!(
        screen.contains("-line 5") && screen.contains("+agent 5"),
        "{screen}"
    );
    answer(&tmux, "(2/5) Undo this hunk?", "n");
    answer(&tmux, "(3/5) Undo this hunk?", "y");
    answer(&tmux, "(4/5) Undo this hunk?", "e");
    answer(&tmux, "(5/5) Undo this hunk?", "n");
    // The one that was left open.
    answer(&tmux, "(1/5) Undo this change of mode", "y");
    let screen = tmux.sees("[y/N/?]");
    assert!(screen.contains("a.txt: 3 of 5 hunks"), "{screen}");
    tmux.press(&["y", "Enter"]);
    tmux.sees("code 0");
    let text = fs::read_to_string(project.join("a.txt")).unwrap();
    let wanted = [(5, "agent 5"), (30, "line 30\nagent 30"), (60, "agent 60")];
    assert_eq!(text, lines(&wanted));
    assert_eq!(Tree::read(&project).at("a.txt").mode, 0o644);
    sandbox.undo(&id);
    assert_same_tree(&after, &Tree::read(&project));
    // What does not fit is asked for again.
    let garbage = "EDITOR=sh -c 'echo garbage > \"$1\"' sh";
    let Some(tmux) = ask(&sandbox, &project, &format!("{id} a.txt"), &[garbage]) else {
        return;
    };
    answer(&tmux, "(1/4) Undo this change of mode", "n");
    answer(&tmux, "(2/4) Undo this hunk?", "e");
    tmux.sees("does not fit");
    answer(&tmux, "(2/4) Undo this hunk?", "q");
    tmux.sees("code 4");
    assert_same_tree(&after, &Tree::read(&project));
}

#[test]
fn hostile_lines_are_shown_harmless_and_leaving_changes_nothing() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("hostile");
    Build::at(&project).file("f", "before\n").aged();
    let id = sandbox.launch(&project, "printf '\\033]0;owned\\007\\033[2J\\033[31mred\\n' > f");
    let after = Tree::read(&project);
    for key in ["C-c", "C-d"] {
        let Some(tmux) = ask(&sandbox, &project, &id, &[]) else {
            return;
        };
        let screen = tmux.sees("(1/1) Undo this hunk?");
        assert!(screen.contains("-before") && screen.contains("red"), "{screen}");
        assert!(!tmux.painted().contains("\u{1b}[31mred"), "{screen}");
        tmux.press(&[key]);
        tmux.sees("nothing was changed");
        assert_untouched(&after, &Tree::read(&project));
    }
}

#[test]
fn both_names_of_a_renamed_file_come_or_stay() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("renamed");
    Build::at(&project).file("old.txt", "some lines\n").aged();
    let before = Tree::read(&project);
    let id = sandbox.launch(&project, "mv old.txt new.txt");
    for asked in ["new.txt", "old.txt", "'n*'"] {
        let Some(tmux) = ask(&sandbox, &project, &format!("{id} {asked}"), &[]) else {
            return;
        };
        answer(&tmux, "(1/1) Undo this change?", "y");
        tmux.sees("[y/N/?]");
        tmux.press(&["y", "Enter"]);
        tmux.sees("code 0");
        assert_same_tree(&before, &Tree::read(&project));
        sandbox.undo(&id);
    }
}

#[test]
fn what_was_typed_in_a_hunk_is_a_later_edit() {
    let sandbox = Sandbox::new();
    let (project, before, _, id) = project(&sandbox);
    let editor = sandbox.scratch("editor");
    fs::write(&editor, "sed -i 's/^-line 30$/-mine/' \"$1\"").unwrap();
    let variable = format!("EDITOR=sh {}", editor.display());
    let mut more = vec![variable.as_str()];
    if has_points() {
        more.push("JACKIN_RECOVERY_FAIL_AT=intent");
    }
    let Some(tmux) = ask(&sandbox, &project, &format!("{id} a.txt"), &more) else {
        return;
    };
    answer(&tmux, "(1/4) Undo this change of mode", "n");
    answer(&tmux, "(2/4) Undo this hunk?", "n");
    answer(&tmux, "(3/4) Undo this hunk?", "e");
    answer(&tmux, "(4/4) Undo this hunk?", "y");
    let screen = tmux.sees("[y/N/?]");
    assert!(!screen.contains("discards"), "{screen}");
    tmux.press(&["y", "Enter"]);
    if has_points() {
        tmux.sees("code 1");
        sandbox.jackin(["resume", &id, "--yes"]).ok();
    } else {
        tmux.sees("code 0");
    }
    let typed = Tree::read(&project);
    assert!(
        fs::read_to_string(project.join("a.txt"))
            .unwrap()
            .contains("\nmine\n")
    );
    sandbox.restore_in_part(&id, &[]).conflicted(&["a.txt"]);
    assert_untouched(&typed.only("a.txt"), &Tree::read(&project).only("a.txt"));
    sandbox.restore(&id, &["--overwrite-later-edits"]);
    assert_same_tree(&before, &Tree::read(&project));
}

#[test]
fn a_file_that_changes_while_hunks_are_asked_for_stays() {
    let sandbox = Sandbox::new();
    let (project, _, _, id) = project(&sandbox);
    let Some(tmux) = ask(&sandbox, &project, &format!("{id} a.txt"), &[]) else {
        return;
    };
    answer(&tmux, "(1/4) Undo this change of mode", "n");
    tmux.sees("(2/4)");
    fs::write(project.join("a.txt"), "mine\n").unwrap();
    let mine = Tree::read(&project);
    answer(&tmux, "(2/4) Undo this hunk?", "y");
    answer(&tmux, "(3/4) Undo this hunk?", "q");
    tmux.sees("code 1");
    assert_untouched(&mine, &Tree::read(&project));
}

#[test]
fn chosen_hunks_need_no_second_answer_after_a_kill() {
    if !has_points() {
        return;
    }
    for point in ["intent", "staged", "journaled", "moved", "decided"] {
        let sandbox = Sandbox::new();
        let (project, _, after, id) = project(&sandbox);
        let variable = format!("JACKIN_RECOVERY_FAIL_AT={point}");
        let Some(tmux) = ask(&sandbox, &project, &format!("{id} a.txt"), &[&variable]) else {
            return;
        };
        answer(&tmux, "(1/4) Undo this change of mode", "n");
        answer(&tmux, "(2/4) Undo this hunk?", "y");
        answer(&tmux, "(3/4) Undo this hunk?", "d");
        tmux.sees("[y/N/?]");
        tmux.press(&["y", "Enter"]);
        tmux.sees("code 1");
        sandbox.jackin(["resume", &id, "--yes"]).ok();
        let text = fs::read_to_string(project.join("a.txt")).unwrap();
        let wanted = lines(&[(30, "agent 30"), (60, "agent 60")]);
        assert_eq!(text, wanted, "{point}");
        sandbox.no_litter();
        sandbox.undo(&id);
        assert_same_tree(&after, &Tree::read(&project));
    }
}

#[test]
fn hunks_need_a_terminal_and_exclude_a_merge() {
    let sandbox = Sandbox::new();
    let (project, _, after, id) = project(&sandbox);
    let run = sandbox.jackin(["restore", &id, "-p"]).code(2);
    run.has("--patch asks for each hunk on a terminal")
        .has("restore PATH");
    sandbox
        .jackin(["restore", &id, "-p", "--merge"])
        .code(2)
        .has("cannot be used together");
    sandbox.jackin(["restore", &id, "-p", "--yes"]).code(2);
    sandbox
        .jackin(["restore", &id, "-p", "--dry-run"])
        .ok()
        .shows("+agent 30");
    assert_untouched(&after, &Tree::read(&project));
}

#[test]
fn secrets_are_neither_shown_nor_edited() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("asked");
    Build::at(&project)
        .file(".env", "KEY=hunter1\n")
        .file("login", "https://me:hunter2@example.com/\n");
    let script = "echo KEY=hunter3 > .env; echo https://me:hunter4@example.com/ > login";
    sandbox.launch(&project, script);
    let [go, written] = ["go", "written"].map(|name| sandbox.scratch(name));
    let script = format!(
        "until [ -e '{}' ]; do sleep 0.02; done; jackin recovery restore -p; echo \"code $?\"; sleep 60",
        go.display()
    );
    let Some(tmux) = Tmux::start(&sandbox, &project, SIZE, &script, &["EDITOR=cat"]) else {
        return;
    };
    tmux.record(&written);
    fs::write(go, "").unwrap();
    answer(&tmux, "Undo this change?", "n");
    answer(&tmux, "Undo this hunk? [y,n,q,a,d,?]", "e");
    answer(&tmux, "Undo this hunk? [y,n,q,a,d,?]", "n");
    tmux.sees("code 4");
    let begun = Instant::now();
    let all = loop {
        let all = fs::read_to_string(&written).unwrap_or_default();
        if all.contains("code 4") {
            break all;
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "{all}");
        sleep(Duration::from_millis(20));
    };
    assert_eq!(all.matches("Undo this hunk?").count(), 2, "{all}");
    assert!(all.contains("(diff --patch --show-secrets shows it)"), "{all}");
    assert!(!all.contains("hunter"), "{all}");
}

/// Returns the largest amount of memory that `restore -p` took up to its first question, in KiB, with so many changed files of 4 MiB; `None`
/// if the test is skipped because tmux is missing.
#[cfg(target_os = "linux")]
fn peak(files: usize) -> Option<u64> {
    let sandbox = Sandbox::new();
    let project = sandbox.project("large");
    let text = format!("{}\n", "x".repeat(1023)).repeat(4096);
    for number in 0..files {
        Build::at(&project).file(format!("{number}"), &text);
    }
    let id = sandbox.launch(&project, "for file in *; do echo end >> $file; done");
    let script = format!("exec jackin recovery restore -p {id}");
    let tmux = Tmux::start(&sandbox, &project, SIZE, &script, &[])?;
    tmux.sees("(1/1) Undo this hunk?");
    let is_it = |process: &PathBuf| {
        let line = fs::read(process.join("cmdline")).unwrap_or_default();
        let mut words = line.split(|byte| *byte == 0);
        words.any(|word| word == b"-p") && words.next() == Some(id.as_bytes())
    };
    let processes = fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path());
    let process = processes.into_iter().find(is_it).unwrap();
    let status = fs::read_to_string(process.join("status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    tmux.close();
    Some(line.split_whitespace().nth(1).unwrap().parse().unwrap())
}

#[test]
#[cfg(target_os = "linux")]
fn only_the_file_that_is_asked_for_is_in_memory() {
    let (Some(few), Some(many)) = (peak(2), peak(20)) else {
        return;
    };
    // The other files have 144 MiB on both sides.
    assert!(many < few + (48 << 10), "{few} and {many} KiB");
}
