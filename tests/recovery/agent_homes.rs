//! Agents' state in a home: sessions beside each other, links in the way, agents that come and go with their credentials.

use std::fs;
use std::path::Path;

use crate::agent_state::{agents, configure, said, write};
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
    let contract = said(&sandbox.jackin(["explain", "shop"]).ok());
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
