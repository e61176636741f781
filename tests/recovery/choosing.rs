//! On a terminal, a missing session, agent or mode is chosen from a list. A choice changes nothing by itself.

use std::fs;
use std::path::Path;

use crate::support::build::Build;
use crate::support::sandbox::Sandbox;
use crate::support::tmux::Tmux;

const SIZE: (u16, u16) = (120, 30);

fn start(sandbox: &Sandbox, directory: &Path, words: &str) -> Option<Tmux> {
    let script = format!("jackin recovery {words}; echo \"code $?\"; sleep 60");
    Tmux::start(sandbox, directory, SIZE, &script, &[])
}

/// Two sessions in one project; returns the older and the newer one.
fn two(sandbox: &Sandbox) -> (std::path::PathBuf, String, String) {
    let project = sandbox.project("chosen");
    Build::at(&project).file("a", "before\n").aged();
    let older = sandbox.launch(&project, "echo older > a");
    let newer = sandbox.launch(&project, "echo newer > b");
    (project, older, newer)
}

#[test]
fn a_session_is_chosen_with_the_arrow_keys() {
    let sandbox = Sandbox::new();
    let (project, older, newer) = two(&sandbox);
    let Some(tmux) = start(&sandbox, &project, "diff --name-only") else {
        return;
    };
    let seen = tmux.sees("Session (");
    let at = |id: &str| {
        seen.find(id)
            .unwrap_or_else(|| panic!("{id} is not there:\n{seen}"))
    };
    assert!(at(&newer) < at(&older), "the newest is first:\n{seen}");
    assert!(seen.contains(&format!("> {newer}")), "{seen}");
    tmux.press(&["Down"]);
    tmux.sees(&format!("> {older}"));
    tmux.press(&["Enter"]);
    let seen = tmux.sees("code 0");
    assert!(seen.lines().any(|line| line.trim() == "a"), "{seen}");
    assert!(!seen.contains("Session ("), "the list is gone:\n{seen}");
}

#[test]
fn a_chosen_session_is_restored_only_after_a_yes() {
    let sandbox = Sandbox::new();
    let (project, ..) = two(&sandbox);
    let Some(tmux) = start(&sandbox, &project, "restore") else {
        return;
    };
    tmux.sees("Session (");
    tmux.press(&["Enter"]);
    tmux.sees("[y/N]");
    assert!(project.join("b").exists());
    tmux.press(&["y", "Enter"]);
    tmux.sees("code 0");
    assert!(!project.join("b").exists());
    assert_eq!(fs::read_to_string(project.join("a")).unwrap(), "older\n");
}

#[test]
fn who_chooses_nothing_is_told_what_is_missing() {
    let sandbox = Sandbox::new();
    let (project, ..) = two(&sandbox);
    for (words, key, told) in [
        ("restore", "Escape", "<INSTANCE>"),
        ("show", "q", "<INSTANCE>"),
        ("restore", "C-c", "<INSTANCE>"),
        ("hook install", "Escape", "<AGENT>"),
    ] {
        let Some(tmux) = start(&sandbox, &project, words) else {
            return;
        };
        tmux.sees("Esc to cancel");
        tmux.sees("> ");
        tmux.press(&[key]);
        let seen = tmux.sees("code 2");
        assert!(seen.contains(told), "{words} {key}:\n{seen}");
        assert!(tmux.shows_cursor(), "{words} {key}");
    }
    // Nobody is asked for what `--json` and `--yes` leave out, nor where there is nothing to choose from.
    for words in ["show --json", "restore --yes"] {
        let Some(tmux) = start(&sandbox, &project, words) else {
            return;
        };
        let seen = tmux.sees("code 2");
        assert!(!seen.contains("Esc to cancel"), "{seen}");
    }
    let empty = Sandbox::new();
    let elsewhere = empty.project("elsewhere");
    if let Some(tmux) = start(&empty, &elsewhere, "show") {
        assert!(!tmux.sees("code 2").contains("Esc to cancel"));
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
    let Some(tmux) = start(&sandbox, &project, "hook install") else {
        return;
    };
    tmux.sees("Agent (");
    tmux.press(&["Down"]);
    tmux.sees("> codex");
    tmux.press(&["Enter"]);
    tmux.sees("[y/N]");
    let hooks = sandbox.home().join(".codex/hooks.json");
    assert!(!hooks.exists());
    tmux.press(&["y", "Enter"]);
    tmux.sees("code 0");
    assert!(fs::read_to_string(hooks).unwrap().contains("hook run codex"));
    let Some(tmux) = start(&sandbox, &project, "init shop") else {
        return;
    };
    tmux.sees("Mode (");
    tmux.press(&["Escape"]);
    assert!(tmux.sees("code 4").contains("not confirmed"));
    let Some(tmux) = start(&sandbox, &project, "init shop") else {
        return;
    };
    let seen = tmux.sees("Mode (");
    assert!(seen.contains("> project") && seen.contains("metadata"), "{seen}");
    tmux.press(&["Down"]);
    tmux.sees("> metadata");
    tmux.press(&["Enter"]);
    tmux.sees("[y/N]");
    assert!(!fs::read_to_string(&file).unwrap().contains("recovery"));
    tmux.press(&["y", "Enter"]);
    tmux.sees("code 0");
    assert!(
        fs::read_to_string(&file)
            .unwrap()
            .contains("snapshot = \"metadata\"")
    );
}
