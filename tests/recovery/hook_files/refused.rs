//! Broken settings, links, and callers inside a session.

use std::fs;
use std::os::unix::fs::symlink;

use super::{CLAUDE, Desk};
use crate::support::background::Background;
use crate::support::tree::Tree;

#[test]
fn what_is_broken_stays_and_is_named() {
    let desk = Desk::new();
    for (text, says) in [
        (
            "{\n \"hooks\": [] }",
            "line 2: `hooks` must be an object, but it is a list",
        ),
        (
            "{\n\n\"hooks\": {\n",
            "line 4: it ends before everything is closed",
        ),
        ("", "it is empty"),
        ("[]", "line 1: the file must be an object"),
    ] {
        let file = desk.settings("user", ".gemini/settings.json", text);
        let path = file.to_str().unwrap();
        for verb in ["install", "uninstall"] {
            desk.hook(&[verb, "gemini", "--yes"])
                .code(2)
                .shows(path)
                .shows(says)
                .shows("fix the file");
        }
        let error = desk
            .hook(&["install", "gemini", "--yes", "--json"])
            .code(2)
            .error();
        assert_eq!(error["kind"], "config");
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
        desk.hook(&["status"]).ok().shows("unknown: ").shows(says);
        assert_eq!(desk.state("gemini", "user"), "unreadable");
    }
    let file = desk.settings("user", ".gemini/settings.json", "");
    fs::write(&file, b"{\n\"a\": \"\xff\" }").unwrap();
    desk.hook(&["install", "gemini", "--yes"])
        .code(2)
        .shows("line 2: it is not UTF-8");
    fs::write(&file, vec![b' '; (4 << 20) + 1]).unwrap();
    desk.hook(&["install", "gemini", "--yes"])
        .code(1)
        .shows("larger than 4 MiB");
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    desk.hook(&["install", "gemini", "--yes"])
        .code(1)
        .shows("no regular file");
    // A file of that name that is somebody else's.
    let file = desk.settings("user", ".config/opencode/plugins/jackin-recovery.js", "// mine\n");
    desk.hook(&["install", "opencode", "--yes"])
        .code(2)
        .shows("this file was not written by jackin");
    desk.hook(&["uninstall", "opencode", "--yes"])
        .ok()
        .shows("Nothing to do");
    assert_eq!(fs::read_to_string(&file).unwrap(), "// mine\n");
    desk.hook(&["install"]).code(2);
    desk.hook(&[]).code(2).shows("install");
    desk.hook(&["instal", "claude"])
        .code(2)
        .shows("no action `instal`");
}

#[test]
fn the_operators_links_are_followed_and_a_projects_do_not_lead_out_of_it() {
    let desk = Desk::new();
    let kept = desk.sandbox.home().join("dotfiles.json");
    fs::write(&kept, CLAUDE).unwrap();
    let file = desk.file("user", ".claude/settings.json");
    fs::create_dir(file.parent().unwrap()).unwrap();
    symlink(&kept, &file).unwrap();
    desk.hook(&["install", "claude", "--yes"])
        .ok()
        .shows("reached through a link")
        .shows(kept.to_str().unwrap());
    assert!(file.is_symlink());
    assert!(fs::read_to_string(&kept).unwrap().contains("hook run claude"));
    desk.hook(&["uninstall", "claude", "--yes"]).ok();
    assert_eq!(fs::read_to_string(&kept).unwrap(), CLAUDE);
    // In a project somebody may have put the link there for us.
    let before = Tree::read(desk.sandbox.world());
    let link = desk.file("project", ".claude");
    symlink(desk.sandbox.home().join(".claude"), &link).unwrap();
    desk.hook(&["install", "claude", "--scope", "project", "--yes"])
        .code(1)
        .shows("out of the project");
    fs::remove_file(&link).unwrap();
    fs::create_dir(&link).unwrap();
    let link = link.join("settings.json");
    symlink(desk.sandbox.home().join("new"), &link).unwrap();
    desk.hook(&["install", "claude", "--scope", "project", "--yes"])
        .code(1)
        .shows("out of the project");
    fs::remove_file(&link).unwrap();
    symlink("gone.json", &link).unwrap();
    desk.hook(&["install", "claude", "--scope", "project", "--yes"])
        .code(1)
        .shows("nowhere");
    fs::remove_dir_all(desk.file("project", ".claude")).unwrap();
    assert!(
        before.paths().eq(Tree::read(desk.sandbox.world()).paths()),
        "something is left"
    );
}

#[test]
fn a_session_may_neither_install_nor_uninstall() {
    let desk = Desk::new();
    let file = desk.settings("user", ".claude/settings.json", CLAUDE);
    let project = desk.sandbox.project("q");
    let jackin = env!("CARGO_BIN_EXE_jackin");
    let status = desk.sandbox.scratch("status");
    let script = format!(
        "for verb in install uninstall; do '{jackin}' recovery hook $verb claude --yes; echo $? >> '{}'; done",
        status.display()
    );
    let session = Background::launch(&desk.sandbox, &project, &script);
    assert_eq!(fs::read_to_string(&status).unwrap(), "3\n3\n");
    assert_eq!(fs::read_to_string(&file).unwrap(), CLAUDE);
    session.end().ok();
}
