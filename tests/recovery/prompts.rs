//! Questions on a terminal: only a plain yes is one, one that stays open keeps nobody else from working, and what is missing is chosen from a list.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::build::Build;
use crate::support::compare::assert_same_tree;
use crate::support::machine::{has_points, install_program, skip, tool};
use crate::support::run::Run;
use crate::support::sandbox::Sandbox;
use crate::support::tmux::Tmux;
use crate::support::tree::Tree;

const SIZE: (u16, u16) = (160, 40);

fn project(sandbox: &Sandbox) -> (PathBuf, Tree, String) {
    let project = sandbox.project("asked");
    Build::at(&project).file("a", "before\n").file("b", "b\n").aged();
    let before = Tree::read(&project);
    let id = sandbox.launch(&project, "echo agent > a; rm b");
    (project, before, id)
}

fn ask(sandbox: &Sandbox, project: &Path, words: &str) -> Option<Tmux> {
    let script = format!("jackin recovery {words}; echo \"code $?\"; sleep 60");
    let tmux = Tmux::start(sandbox, project, SIZE, &script, &[])?;
    tmux.asks("[y/N/?]");
    Some(tmux)
}

#[test]
fn a_restore_and_an_undo_that_wait_for_an_answer_hold_no_lock() {
    let sandbox = Sandbox::new();
    let (project, before, id) = project(&sandbox);
    let Some(tmux) = ask(&sandbox, &project, &format!("restore {id}")) else {
        return;
    };
    // Nothing happened meanwhile.
    tmux.press(&["y", "Enter"]);
    tmux.sees("code 0");
    assert_same_tree(&before, &Tree::read(&project));
    let Some(tmux) = ask(&sandbox, &project, &format!("undo {id}")) else {
        return;
    };
    // Others work there, and then the plan that was shown is no longer sure.
    sandbox.launch(&project, "echo other > c");
    tmux.press(&["y", "Enter"]);
    tmux.sees("changed something here while the question was open");
    let Some(tmux) = ask(&sandbox, &project, &format!("undo {id}")) else {
        return;
    };
    // What is forgotten meanwhile must not come back.
    let forget = ["forget", "--path", "b", "--yes"];
    sandbox.command(forget).inside(&project).run().ok();
    tmux.press(&["y", "Enter"]);
    tmux.sees("archives were rewritten while the question was open");
    tmux.sees("code 1");
    let now = Tree::read(&project);
    assert!(now.has("c") && now.has("b"));
    assert_eq!(fs::read_to_string(project.join("a")).unwrap(), "before\n");
}

#[test]
fn a_restore_goes_through_beside_one_that_waits_for_an_answer() {
    let sandbox = Sandbox::new();
    let (project, before, id) = project(&sandbox);
    let Some(tmux) = ask(&sandbox, &project, &format!("restore {id}")) else {
        return;
    };
    let elsewhere = sandbox.project("elsewhere");
    Build::at(&elsewhere).file("x", "x\n").aged();
    sandbox.launch(&elsewhere, "echo y > x");
    sandbox.restore(&id, &[]);
    assert_same_tree(&before, &Tree::read(&project));
    tmux.press(&["y", "Enter"]);
    tmux.sees("code 1");
    assert_same_tree(&before, &Tree::read(&project));
}

/// Changes elsewhere do not invalidate the plan.
#[test]
fn an_answer_counts_although_others_worked_elsewhere() {
    let sandbox = Sandbox::new();
    let (project, before, id) = project(&sandbox);
    let Some(tmux) = ask(&sandbox, &project, &format!("restore {id}")) else {
        return;
    };
    let elsewhere = sandbox.project("elsewhere");
    Build::at(&elsewhere).file("x", "x\n").aged();
    sandbox.launch(&elsewhere, "echo y > x");
    tmux.press(&["y", "Enter"]);
    tmux.sees("code 0");
    assert_same_tree(&before, &Tree::read(&project));
}

#[test]
fn who_holds_the_lock_is_named_with_the_terminal() {
    if !has_points() {
        return skip("kills at points", "a released program has none");
    }
    let sandbox = Sandbox::new();
    let (project, _, id) = project(&sandbox);
    let restore = sandbox.command(["restore", &id, "--yes"]);
    let killed = restore.with("JACKIN_RECOVERY_FAIL_AT", "moved").run();
    assert_eq!(killed.exit(), None, "{killed}");
    let Some(tmux) = ask(&sandbox, &project, &format!("resume {id}")) else {
        return;
    };
    let refused = sandbox.jackin(["abort", &id, "--yes"]).code(1);
    let said = refused.said();
    assert!(said.contains("(jackin) on /dev/pts/"), "{refused}");
    let pid = said.split("process ").nth(1).unwrap().split(' ').next().unwrap();
    let words = crate::support::process::words(pid.parse().unwrap());
    assert!(words.iter().any(|word| word == "resume"), "{words:?}");
    assert!(said.contains(&format!("ps -fp {pid}")), "{refused}");
    tmux.press(&["n", "Enter"]);
    tmux.sees("code 4");
    sandbox.jackin(["resume", &id, "--yes"]).ok();
}

/// What a list is shown on.
const SMALLER: (u16, u16) = (120, 30);

fn start(sandbox: &Sandbox, directory: &Path, words: &str) -> Option<Tmux> {
    let script = format!("jackin recovery {words}; echo \"code $?\"; sleep 60");
    Tmux::start(sandbox, directory, SMALLER, &script, &[])
}

/// The same with a program outside of the directory in which cargo builds.
fn start_installed(sandbox: &Sandbox, directory: &Path, words: &str) -> Option<Tmux> {
    let programs = sandbox.scratch("installed");
    install_program(&programs, "jackin");
    let script = format!("jackin recovery {words}; echo \"code $?\"; sleep 60");
    Tmux::start_from(&programs, sandbox, directory, SMALLER, &script, &[])
}

/// Two sessions in one project; returns the older and the newer one.
fn two(sandbox: &Sandbox) -> (PathBuf, String, String) {
    let project = sandbox.project("chosen");
    Build::at(&project).file("a", "before\n").aged();
    let older = sandbox.launch(&project, "echo older > a");
    let newer = sandbox.launch(&project, "echo newer > b");
    (project, older, newer)
}

#[test]
fn a_session_is_chosen_with_the_arrow_keys() {
    let sandbox = Sandbox::new();
    let (_, older, newer) = two(&sandbox);
    let Some(tmux) = start(&sandbox, &sandbox.sources(), "diff --name-only") else {
        return;
    };
    tmux.sees("Session (");
    let seen = tmux.lists(&older);
    let at = |id: &str| {
        seen.find(id)
            .unwrap_or_else(|| panic!("{id} is not there:\n{seen}"))
    };
    assert!(at(&newer) < at(&older), "the newest is first:\n{seen}");
    assert!(seen.contains(&format!("> {newer}")), "{seen}");
    tmux.press(&["Down"]);
    tmux.lists(&format!("> {older}"));
    tmux.press(&["Enter"]);
    let seen = tmux.sees("code 0");
    assert!(seen.lines().any(|line| line.trim() == "a"), "{seen}");
    assert!(!seen.contains("Session ("), "the list is gone:\n{seen}");
}

#[test]
fn a_chosen_session_is_restored_only_after_a_yes() {
    let sandbox = Sandbox::new();
    let (project, ..) = two(&sandbox);
    let Some(tmux) = start(&sandbox, &sandbox.sources(), "restore") else {
        return;
    };
    tmux.lists("Session (");
    tmux.press(&["Enter"]);
    tmux.asks("[y/N/?]");
    assert!(project.join("b").exists());
    tmux.press(&["y", "Enter"]);
    tmux.sees("code 0");
    assert!(!project.join("b").exists());
    assert_eq!(fs::read_to_string(project.join("a")).unwrap(), "older\n");
}

#[test]
fn who_chooses_nothing_is_told_what_is_missing() {
    let sandbox = Sandbox::new();
    two(&sandbox);
    fs::create_dir(sandbox.home().join(".codex")).unwrap();
    for (words, key, told) in [
        ("restore", "Escape", "error: cancelled\n"),
        ("show", "Escape", "error: cancelled\n"),
        ("restore", "C-c", "error: cancelled\n"),
        ("hook install", "Escape", "found on this machine: codex"),
    ] {
        let Some(tmux) = start(&sandbox, &sandbox.sources(), words) else {
            return;
        };
        tmux.sees("Esc to cancel");
        tmux.lists("> ");
        tmux.press(&[key]);
        let seen = tmux.sees(if words == "hook install" {
            "code 2"
        } else {
            "code 4"
        });
        assert!(seen.contains(told), "{words} {key}:\n{seen}");
        assert!(tmux.shows_cursor(), "{words} {key}");
    }
    // Nobody is asked for what `--json` and `--yes` leave out, nor where there is nothing to choose from.
    for words in ["show --json", "restore --yes"] {
        let Some(tmux) = start(&sandbox, &sandbox.sources(), words) else {
            return;
        };
        let seen = tmux.sees("code 5");
        assert!(!seen.contains("Esc to cancel"), "{seen}");
    }
    let empty = Sandbox::new();
    let elsewhere = empty.project("elsewhere");
    if let Some(tmux) = start(&empty, &elsewhere, "show") {
        assert!(!tmux.sees("code 5").contains("Esc to cancel"));
    }
}

#[test]
fn an_agent_and_a_mode_are_chosen() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("p");
    let file = sandbox.configure(
        "workspaces/shop.toml",
        "version = \"v1alpha8\"\n[[mounts]]\nsrc = \"~/src/p\"\ndst = '/p'\n",
    );
    for found in [".claude", ".codex"] {
        fs::create_dir(sandbox.home().join(found)).unwrap();
    }
    let Some(tmux) = start_installed(&sandbox, &project, "hook install") else {
        return;
    };
    let seen = tmux.lists("Agent (");
    assert!(seen.contains("> claude") && !seen.contains("gemini"), "{seen}");
    tmux.press(&["Down"]);
    tmux.lists("> codex");
    tmux.press(&["Enter"]);
    tmux.asks("Write ~/.codex/hooks.json? [y/N]");
    let hooks = sandbox.home().join(".codex/hooks.json");
    assert!(!hooks.exists());
    tmux.press(&["y", "Enter"]);
    // The workspace has no recovery yet.
    tmux.lists("has no recovery yet");
    tmux.press(&["Escape"]);
    tmux.sees("to enable recovery later");
    tmux.sees("code 0");
    assert!(!fs::read_to_string(&file).unwrap().contains("recovery"));
    assert!(fs::read_to_string(hooks).unwrap().contains("hook run codex"));
    let Some(tmux) = start(&sandbox, &project, "init shop") else {
        return;
    };
    tmux.lists("Mode (");
    tmux.press(&["Escape"]);
    assert!(tmux.sees("code 4").contains("not confirmed"));
    let Some(tmux) = start(&sandbox, &project, "init shop") else {
        return;
    };
    let seen = tmux.lists("Mode (");
    assert!(seen.contains("> project") && seen.contains("metadata"), "{seen}");
    tmux.press(&["Down"]);
    tmux.press(&["Down"]);
    tmux.lists("> metadata");
    tmux.press(&["Enter"]);
    tmux.asks("[y/N]");
    assert!(!fs::read_to_string(&file).unwrap().contains("recovery"));
    tmux.press(&["y", "Enter"]);
    tmux.sees("code 0");
    assert!(
        fs::read_to_string(&file)
            .unwrap()
            .contains("snapshot = \"metadata\"")
    );
}

#[test]
fn hooks_lead_to_a_workspace() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("p");
    let file = sandbox.home().join(".config/jackin/workspaces/p.toml");
    let Some(tmux) = start_installed(&sandbox, &project, "hook install claude") else {
        return;
    };
    tmux.asks("[y/N]");
    tmux.press(&["y", "Enter"]);
    tmux.lists("Mode (");
    tmux.press(&["Enter"]);
    tmux.asks("+snapshot = \"project\"");
    assert!(!file.exists());
    tmux.press(&["y", "Enter"]);
    tmux.sees("code 0");
    assert!(
        fs::read_to_string(&file)
            .unwrap()
            .contains("snapshot = \"project\"")
    );
    // From now on there is nothing to offer.
    let Some(tmux) = start_installed(&sandbox, &project, "hook install claude") else {
        return;
    };
    let seen = tmux.sees("code 0");
    assert!(
        !seen.contains("Mode (") && seen.contains("Nothing to do"),
        "{seen}"
    );
}

/// `restore @latest` on a terminal of its own, where `typed` (shell commands that print it) is typed. Among them `asked 2` waits for the
/// second question: what comes before a question is thrown away, even the end of the input.
pub(crate) fn answered(sandbox: &Sandbox, typed: &str) -> Option<Run> {
    let Some(script) = tool("script") else {
        skip("the question", "util-linux's script is not installed");
        return None;
    };
    let seen = sandbox.scratch("seen");
    let _ = fs::remove_file(&seen);
    let command = format!(
        "seen='{}'
        asked() {{
            for i in $(seq 2000); do
                [ \"$(grep -aos y/N \"$seen\" | wc -l)\" -ge \"$1\" ] && return
                sleep 0.05
            done
        }}
        ({typed}) | \"$0\" -qefc \"$1 recovery restore @latest\" \"$seen\"",
        seen.display()
    );
    let run = sandbox
        .command::<[&str; 0], &str>([])
        .through(&["/bin/sh", "-c", &command, script.to_str().unwrap()])
        .with("TERM", "xterm")
        .run();
    Some(run)
}

/// On a terminal without lists `-i` does not become a restore of everything.
#[test]
fn choosing_where_no_list_can_be_shown_is_refused() {
    let sandbox = Sandbox::new();
    let (project, _, id) = project(&sandbox);
    let damaged = Tree::read(&project);
    let script = format!("TERM=dumb jackin recovery restore {id} -i; echo \"code $?\"; sleep 60");
    let Some(tmux) = Tmux::start(&sandbox, &project, SIZE, &script, &[]) else {
        return;
    };
    let screen = tmux.sees("code 2");
    assert!(screen.contains("cannot show a list"), "{screen}");
    assert_same_tree(&damaged, &Tree::read(&project));
}

#[test]
fn a_plan_that_stdout_hides_is_shown_before_the_question() {
    let sandbox = Sandbox::new();
    let (project, _, id) = project(&sandbox);
    let damaged = Tree::read(&project);
    let file = sandbox.scratch("plan");
    for hidden in [
        ">/dev/null".to_owned(),
        ">&-".to_owned(),
        format!(">{}", file.display()),
    ] {
        let Some(tmux) = ask(&sandbox, &project, &format!("restore {id} {hidden}")) else {
            return;
        };
        let seen = tmux.asks("[y/N/?]");
        assert!(
            seen.contains("2 paths: 1 to create, 1 to replace"),
            "{hidden}: {seen}"
        );
        tmux.press(&["n", "Enter"]);
        tmux.sees("code 4");
    }
    assert!(fs::read_to_string(file).unwrap().contains("2 paths:"));
    assert_same_tree(&damaged, &Tree::read(&project));
}

#[test]
fn an_unknown_answer_asks_again() {
    let sandbox = Sandbox::new();
    let (project, before, id) = project(&sandbox);
    let damaged = Tree::read(&project);
    let Some(tmux) = ask(&sandbox, &project, &format!("restore {id}")) else {
        return;
    };
    tmux.press(&["jes", "Enter"]);
    let seen = tmux.asks("i  choose some of the paths");
    assert!(!seen.contains("code "), "{seen}");
    assert_same_tree(&damaged, &Tree::read(&project));
    tmux.press(&["y", "Enter"]);
    tmux.sees("code 0");
    assert_same_tree(&before, &Tree::read(&project));
    for answer in [&["Enter"][..], &["n", "Enter"], &["C-d"]] {
        let tmux = ask(&sandbox, &project, "undo").unwrap();
        tmux.press(answer);
        assert!(tmux.sees("code 4").contains("not confirmed"), "{answer:?}");
    }
    assert_same_tree(&before, &Tree::read(&project));
}

#[test]
fn only_yes_means_yes() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("p");
    Build::at(&project).file("a", "before\n");
    sandbox.launch(&project, "echo agent > a");
    for typed in [
        // What was pasted behind the command was meant for the shell; it has a `y`.
        "echo 'jackin recovery list'; asked 1",
        // A slip is asked again.
        "asked 1; echo maybe; asked 2",
        "asked 1; echo yn; asked 2",
        "asked 1; echo",
        "asked 1; echo n",
        "asked 1; printf '\\003'",
        "asked 1; printf '\\004'",
        "asked 1",
    ] {
        let Some(run) = answered(&sandbox, typed) else {
            return;
        };
        // Ctrl-C reaches the shell around it as well.
        let run = run.code_in(&[4, 130]);
        run.shows("Restore these files? [y/N/?]").shows("not confirmed");
        assert_eq!(fs::read(project.join("a")).unwrap(), b"agent\n", "{typed}");
    }
    for typed in ["asked 1; echo y", "asked 1; echo ' YES '"] {
        fs::write(project.join("a"), "agent\n").unwrap();
        answered(&sandbox, typed).unwrap().ok().shows("[y/N/?]");
        assert_eq!(fs::read(project.join("a")).unwrap(), b"before\n");
    }
}
