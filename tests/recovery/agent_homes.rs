//! Agents' state in a home: sessions beside each other, links in the way, agents that come and go with their credentials.

use std::fs;
use std::path::Path;

use crate::agent_state::{agents, configure, has_no_canary, write};
use crate::support::jackin::write_instance;
use crate::support::sandbox::Sandbox;

#[test]
fn sessions_beside_each_other_in_one_home_do_not_get_in_each_others_way() {
    let sandbox = Sandbox::new();
    configure(&sandbox, "[recovery.state]\nhome = true\n");
    agents(&sandbox.home());
    let with_state = sandbox.jackin(["begin", "shop"]).ok();
    let with_state = String::from_utf8_lossy(&with_state.stdout).trim().to_owned();
    let other = sandbox.project("other");
    fs::write(other.join("a"), "original").unwrap();
    let id = sandbox.launch(&other, "echo agent > a");
    // The first one lives, and lies elsewhere.
    sandbox.restore(&id, &[]);
    sandbox.jackin(["restore", &with_state, "--yes"]).code(3);
    sandbox.jackin(["end", &with_state]).ok();
}

#[test]
fn an_agent_that_comes_with_its_credential_goes_without_it() {
    let sandbox = Sandbox::new();
    let project = configure(&sandbox, "[recovery.state]\nhome = true\n");
    let home = sandbox.home();
    write(&home, "dotfiles/claude/settings.json", "{}");
    std::os::unix::fs::symlink("dotfiles/claude", home.join(".claude")).unwrap();
    let contract = sandbox.jackin(["explain", "shop"]).ok().said();
    assert!(
        contract.contains("captured .claude WARNING: a link is on the way"),
        "{contract}"
    );
    let script = "mkdir -p ~/.grok/deep && echo x > ~/.grok/deep/settings.json && echo secret > ~/.grok/auth.json; rm ~/.claude; mkdir ~/.claude";
    sandbox.jackin(["launch", "shop", "--", "sh", "-c", script]).ok();
    sandbox.jackin(["restore", "@latest", "--yes"]).code_in(&[0, 6]);
    assert_eq!(fs::read(home.join(".grok/auth.json")).unwrap(), b"secret\n");
    assert!(!home.join(".grok/deep").exists());
    assert_eq!(
        fs::read_link(home.join(".claude")).unwrap(),
        Path::new("dotfiles/claude")
    );
    assert!(project.join("a").exists());
    let id = sandbox.newest();
    sandbox.jackin(["undo", &id, "--yes"]).code_in(&[0, 6]);
    assert_eq!(fs::read(home.join(".grok/deep/settings.json")).unwrap(), b"x\n");
    assert_eq!(fs::read(home.join(".grok/auth.json")).unwrap(), b"secret\n");
    assert!(home.join(".claude").is_dir());
}

#[test]
fn no_mount_is_a_way_around() {
    let sandbox = Sandbox::new();
    agents(&sandbox.home());
    let directory = sandbox.home().join(".jackin/data/jk-1");
    agents(&directory.join("home"));
    write(&directory, "claude/credentials.json", "x");
    for place in [
        ".kimi-code",
        ".kimi-code/deep",
        ".jackin/data/jk-1/home/.kimi-code",
    ] {
        let place = sandbox.home().join(place);
        let run = sandbox
            .jackin(["explain", "--snapshot", "project", place.to_str().unwrap()])
            .code(2);
        assert!(run.said().contains("an agent's credentials"), "{run}");
    }
    for place in [directory.clone(), directory.join("home")] {
        let id = sandbox.launch(&place, "true");
        has_no_canary(&sandbox, &[]);
        sandbox.jackin(["verify", "--read-data"]).ok();
        drop(id);
    }
}

#[test]
fn a_mount_in_a_state_directory_takes_its_part_and_no_more() {
    let sandbox = Sandbox::new();
    agents(&sandbox.home());
    let skills = sandbox.home().join(".claude/a b[1]");
    fs::create_dir_all(&skills).unwrap();
    fs::write(skills.join("one"), "1").unwrap();
    sandbox.configure(
        "config.toml",
        "[recovery]\nsnapshot = \"project-and-state\"\n[recovery.state]\nhome = true\n",
    );
    let run = sandbox
        .jackin([
            "launch",
            skills.to_str().unwrap(),
            "--",
            "sh",
            "-c",
            "echo 2 > \"$HOME/.claude/a b[1]/one\"; echo x > ~/.claude/settings.json",
        ])
        .ok();
    drop(run);
    let told = sandbox.jackin(["diff", "@latest", "--json"]).ok().json();
    let changes: Vec<(&str, &str)> = told["changes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|change| {
            (
                change["mount"].as_str().unwrap(),
                change["path"].as_str().unwrap(),
            )
        })
        .collect();
    let home = sandbox.home().canonicalize().unwrap();
    assert_eq!(
        changes,
        [
            (skills.canonicalize().unwrap().to_str().unwrap(), "one"),
            (home.to_str().unwrap(), ".claude/settings.json")
        ]
    );
    sandbox.jackin(["restore", "@latest", "--yes"]).ok();
    assert_eq!(fs::read(skills.join("one")).unwrap(), b"1");
}

#[test]
fn that_only_a_credential_changed_is_a_difference_and_a_path_is_found_from_elsewhere() {
    let sandbox = Sandbox::new();
    let project = configure(&sandbox, "[recovery.state]\nhome = true\n");
    agents(&sandbox.home());
    sandbox
        .jackin([
            "launch",
            "shop",
            "--",
            "sh",
            "-c",
            "echo new > ~/.codex/auth.json",
        ])
        .ok();
    let run = sandbox.jackin(["diff", "@latest", "--exit-code"]).code(1);
    assert!(!run.text().contains("no differences"), "{run}");
    sandbox
        .jackin(["launch", "shop", "--", "sh", "-c", "echo agent > ~/src/shop/a"])
        .ok();
    sandbox.jackin(["restore", "@latest", "a", "--yes"]).ok();
    assert_eq!(fs::read(project.join("a")).unwrap(), b"original");
    let run = sandbox.jackin(["diff", "@latest", "--from", "typo"]).code(5);
    assert!(!run.said().contains("has no files"), "{run}");
    // A container that works elsewhere in the home is nobody's business here.
    let other = sandbox.project("other");
    sandbox.configure(
        "workspaces/other.toml",
        &format!("[[mounts]]\nsrc = \"{}\"\ndst = \"/o\"\n", other.display()),
    );
    let elsewhere = "{\"version\": 2, \"workspace_name\": \"other\", \"status\": \"running\"}";
    write_instance(&sandbox, "jk-2", elsewhere);
    sandbox.jackin(["restore", "@latest", "--dry-run"]).ok();
    // Without the key nothing can be said, and that is said.
    fs::remove_file(sandbox.store().join("digest.key")).unwrap();
    let told = sandbox.jackin(["diff", "@latest", "--now", "--json"]).ok().json();
    let reasons: Vec<&str> = told["withheld"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["reason"].as_str().unwrap())
        .collect();
    assert!(
        !reasons.is_empty()
            && reasons
                .iter()
                .all(|reason| *reason == "whether it changed cannot be told"),
        "{told}"
    );
}
