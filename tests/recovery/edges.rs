//! Edges that a review found: archives that stand alone, roots that are hidden, mounts that are read-only, names that
//! are ours.

use std::process::Command;

use crate::archives::{archives, assert_unpacked, baseline_archive, unpacked};
use crate::support::build::Build;
use crate::support::compare::{assert_same_tree, assert_untouched};
use crate::support::machine::{is_root, skip};
use crate::support::patience::await_moment;
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

#[test]
fn archive_that_shares_nothing_with_an_older_one_is_whole() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("anew");
    Build::at(&project).file("old", "first content\n").aged();
    sandbox.launch(&project, "true");
    let first = baseline_archive(&sandbox);
    std::fs::remove_dir_all(&project).unwrap();
    Build::at(&project)
        .file("new", "other content\n")
        .file("twin", "other content\n")
        .mode("twin", 0o600)
        .file("nothing", "")
        .symlink("link", "new")
        .dir("empty")
        .aged();
    let before = Tree::read(&project);
    sandbox.launch(&project, "true");
    let newest = archives(&sandbox).into_iter().find(|archive| *archive != first);
    let newest = newest.expect("a second archive");
    assert_unpacked(&before, &Tree::read(&unpacked(&sandbox, &newest, "anew-out")));
    sandbox.jackin(["verify", "--read-data"]).ok();
}

/// A file system mounted for the length of a test.
struct Mounted<'a>(&'a std::path::Path);

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0).status();
    }
}

#[test]
fn root_that_is_mounted_over_is_refused() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("hidden");
    Build::at(&project).file("a", "before\n").aged();
    let before = Tree::read(&project);
    let id = sandbox.launch(&project, "echo agent > a");
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "none"])
        .arg(&project)
        .status();
    if !is_root() || !mounted.is_ok_and(|status| status.success()) {
        skip("a mounted-over root", "nothing can be mounted here");
        return;
    }
    let over = Mounted(&project);
    Build::at(&project).file("a", "another file system\n");
    let hidden = Tree::read(&project);
    let flags = ["--yes", "--overwrite-later-edits", "--delete-later-files"];
    let args = ["restore", id.as_str()].into_iter().chain(flags);
    let run = sandbox.jackin(args).refused();
    assert!(run.text().contains("mounted over"), "{run}");
    assert_untouched(&hidden, &Tree::read(&project));
    drop(over);
    sandbox.restore(&id, &[]);
    assert_same_tree(&before, &Tree::read(&project));
}

#[test]
fn readonly_mount_inside_a_writable_one_is_not_restored_into() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("outer");
    Build::at(&project)
        .file("a", "before\n")
        .file("fixed/b", "before\n")
        .aged();
    sandbox.configure(
        "workspaces/nested.toml",
        concat!(
            "[recovery]\nsnapshot = \"project\"\n",
            "[[mounts]]\nsrc = \"~/src/outer\"\ndst = \"/w\"\n",
            "[[mounts]]\nsrc = \"~/src/outer/fixed\"\ndst = \"/w/fixed\"\nreadonly = true\n",
        ),
    );
    let script = "cd ~/src/outer; echo agent > a; echo someone > fixed/b; echo n > fixed/n";
    sandbox
        .jackin(["launch", "nested", "--", "sh", "-c", script])
        .ok();
    let there = Tree::read(&project).only("fixed");
    let run = sandbox.jackin(["restore", "nested", "--yes"]).ok();
    assert_eq!(
        std::fs::read_to_string(project.join("a")).unwrap(),
        "before\n",
        "{run}"
    );
    assert_untouched(&there, &Tree::read(&project).only("fixed"));
    run.shows("fixed");
    sandbox.jackin(["list", "--json"]).ok().shows("\"complete\":true");
}

#[test]
fn name_like_a_staging_directory_is_said_to_be_missing() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("staged");
    Build::at(&project)
        .file(".jackin-recovery-x/a", "hides\n")
        .file("b", "before\n")
        .aged();
    let id = sandbox.launch(&project, "rm b");
    sandbox
        .jackin(["show", &id])
        .ok()
        .shows(".jackin-recovery-x")
        .shows("not complete");
    sandbox.jackin(["restore", &id, "--yes"]).ok();
    assert!(project.join("b").exists() && project.join(".jackin-recovery-x/a").exists());
}

#[test]
fn report_does_not_follow_a_planted_link() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("reported");
    Build::at(&project).file("a", "before\n").aged();
    let precious = sandbox.scratch("precious");
    std::fs::write(&precious, "precious\n").unwrap();
    let report = project.join("report.json");
    let script = format!("ln -s '{}' '{}'", precious.display(), report.display());
    let target = project.to_str().unwrap();
    let flags = [
        "launch",
        "--snapshot",
        "project",
        "--report",
        report.to_str().unwrap(),
        target,
    ];
    let args = flags.into_iter().chain(["--", "sh", "-c", &script]);
    let run = sandbox.jackin(args).ok();
    // Neither what the link leads to nor the link is written over, and the report that is missing is named.
    assert_eq!(std::fs::read_to_string(&precious).unwrap(), "precious\n");
    assert_eq!(std::fs::read_link(&report).unwrap(), precious);
    let said = String::from_utf8_lossy(&run.stderr).into_owned();
    assert!(said.contains("report.json"), "{run}");
}

#[test]
fn report_goes_where_it_can_be_written_or_nothing_begins() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("reported");
    Build::at(&project).file("a", "before\n").aged();
    sandbox.launch(&project, "true");
    let target = project.to_str().unwrap();
    for (file, why) in [
        (sandbox.store().join("archives/report.json"), "is in the store"),
        (project.clone(), "is a directory"),
        (project.join("absent/report.json"), "mkdir -p"),
        (std::path::PathBuf::new(), "is empty"),
    ] {
        let flags = [
            "launch",
            "--snapshot",
            "project",
            "--report",
            file.to_str().unwrap(),
        ];
        let command = [target, "--", "touch", "began"];
        sandbox.jackin(flags.iter().chain(&command)).code(2).has(why);
    }
    assert!(!std::path::Path::new("began").exists());
    assert_eq!(std::fs::read_dir(&project).unwrap().count(), 1);
}

#[test]
fn session_may_checkpoint_itself_and_no_other() {
    let sandbox = Sandbox::new();
    let [one, two] = ["one", "two"].map(|name| sandbox.project(name));
    Build::at(&one).file("a", "before\n").aged();
    Build::at(&two).file("a", "before\n").aged();
    let begun = sandbox
        .jackin(["begin", "--snapshot", "project", two.to_str().unwrap()])
        .ok();
    let other = String::from_utf8(begun.stdout).unwrap().trim().to_owned();
    let binary = env!("CARGO_BIN_EXE_jackin");
    let script =
        format!("'{binary}' recovery checkpoint --name mine && ! '{binary}' recovery checkpoint {other}");
    sandbox.launch(&one, &script);
    sandbox.jackin(["show", "@latest"]).ok().shows("mine");
    sandbox.jackin(["end", &other]).ok();
}

#[test]
fn file_in_the_place_of_an_excluded_directory_is_not_provably_new() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("swapped");
    Build::at(&project)
        .file("node_modules/m", "before\n")
        .file("a", "before\n")
        .aged();
    let script = "rm -r node_modules; echo flat > node_modules; echo agent > a";
    let id = sandbox.launch_with(&["--exclude", "node_modules/"], &project, script);
    let restored = sandbox.restore(&id, &[]);
    restored.touched(&["a"]);
    assert!(restored.names("node_modules"), "{:#}", restored.document);
    assert_eq!(
        std::fs::read_to_string(project.join("node_modules")).unwrap(),
        "flat\n"
    );
}

#[test]
fn begin_that_was_killed_blocks_nothing() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("begun");
    Build::at(&project).big("big", 128 << 20).aged();
    let mut begin = sandbox
        .command(["begin", "--snapshot", "project", project.to_str().unwrap()])
        .start();
    let log = sandbox.store().join("receipts.log");
    await_moment("its beginning", || {
        std::fs::metadata(&log).is_ok_and(|meta| meta.len() > 0)
    });
    begin.child.kill().unwrap();
    begin.child.wait().unwrap();
    let run = sandbox.jackin(["list", "--json"]).ok();
    let status = crate::support::documents::instances(&run)[0].status.clone();
    assert_ne!(status, "active", "{run}");
}

#[test]
fn session_that_never_began_hides_none_before_it() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("hides");
    Build::at(&project).file("a", "before\n").file("b", "b\n").aged();
    let before = Tree::read(&project);
    sandbox.launch(&project, "echo agent > a");
    sandbox.configure("config.toml", "[recovery.limits]\nmax_entries = 1\n");
    let target = project.to_str().unwrap();
    sandbox.launching(target, &["true"]).run().code(125);
    sandbox.configure("config.toml", "");
    sandbox.restore("@latest", &[]).touched(&["a"]);
    assert_same_tree(&before, &Tree::read(&project));
}
