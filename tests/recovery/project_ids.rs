//! Directories that pass on a project id (`chattr -p 7 +P`), as project quotas use them. The system moves a file into such a directory only
//! if the file has the same id.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::build::Build;
use crate::support::compare::{assert_same_tree, assert_untouched};
use crate::support::git::Repository;
use crate::support::machine::{run_tool, skip, tool};
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;
use crate::support::volume::Volume;

/// Changes by an agent to the repository in the current directory.
const AGENT: &str =
    "rm a; echo agent >> b; echo new > n; mkdir made; echo new > made/n; git add -A; git commit -qm two";

/// An XFS with an empty project directory, or `None` and the reason.
fn volume(sandbox: &Sandbox) -> Option<(Volume, PathBuf)> {
    if tool("chattr").is_none() {
        skip("project ids", "chattr is not installed");
        return None;
    }
    let disk = sandbox.sources().join("disk");
    let volume = Volume::image(&disk, "xfs", 320 << 20, &["mkfs.xfs", "-q", "-f"])?;
    let project = disk.join("project");
    fs::create_dir(&project).unwrap();
    Some((volume, project))
}

/// Gives a directory a project id that is passed on, as `chattr` does without `-R`.
#[track_caller]
fn give_id(id: &str, directory: &Path) {
    run_tool(Command::new("chattr").args(["-p", id, "+P"]).arg(directory));
}

fn repository(at: &Path) -> Repository {
    let repository = Repository::init(at);
    Build::at(at).file("a", "one\n").file("b", "two\n");
    repository.commit("one");
    repository
}

#[test]
fn a_mount_root_with_a_project_id_there_and_back() {
    let sandbox = Sandbox::new();
    let Some((_volume, project)) = volume(&sandbox) else {
        return;
    };
    give_id("7", &project);
    let repository = repository(&project);
    std::os::unix::fs::symlink("a", project.join("link")).unwrap();
    let before = Tree::read(&project);
    let id = sandbox.launch(&project, &format!("{AGENT}; rm link"));
    let damaged = Tree::read(&project);
    sandbox.restore(&id, &[]);
    assert_same_tree(&before, &Tree::read(&project));
    repository.git(&["fsck", "--strict"]);
    sandbox.undo(&id);
    assert_same_tree(&damaged, &Tree::read(&project));
    repository.git(&["fsck", "--strict"]);
}

#[test]
fn a_mount_root_that_got_its_project_id_later_there_and_back() {
    let sandbox = Sandbox::new();
    let Some((_volume, project)) = volume(&sandbox) else {
        return;
    };
    repository(&project);
    Build::at(&project).file("old/kept", "k\n");
    give_id("7", &project);
    let before = Tree::read(&project);
    let id = sandbox.launch(
        &project,
        &format!("{AGENT}; echo agent > old/kept; echo x > old/new"),
    );
    let damaged = Tree::read(&project);
    // Rolled back with all moves made, too: the files of the first commit have no project.
    let restore = sandbox.command(["restore", &id, "--yes"]);
    let killed = restore.with("JACKIN_RECOVERY_FAIL_AT", "moved").run();
    assert_eq!(killed.exit(), None, "{killed}");
    sandbox.jackin(["abort", &id, "--yes"]).ok();
    assert_same_tree(&damaged, &Tree::read(&project));
    sandbox.restore(&id, &[]);
    assert_same_tree(&before, &Tree::read(&project));
    sandbox.undo(&id);
    assert_same_tree(&damaged, &Tree::read(&project));
}

#[test]
fn nothing_is_changed_where_a_directory_below_has_a_project_id() {
    let sandbox = Sandbox::new();
    let Some((_volume, project)) = volume(&sandbox) else {
        return;
    };
    let sub = project.join("sub");
    fs::create_dir(&sub).unwrap();
    give_id("7", &sub);
    let repository = repository(&sub);
    Build::at(&project).file("beside", "before\n");
    let before = Tree::read(&project);
    let id = sandbox.launch(&project, &format!("echo agent > beside; cd sub; {AGENT}"));
    let damaged = Tree::read(&project);
    let refused = sandbox.jackin(["restore", &id, "--yes"]).code(1);
    refused
        .shows("files cannot be moved between")
        .shows("project/sub")
        .shows("restore --to DIR");
    sandbox.no_litter();
    assert_untouched(&damaged, &Tree::read(&project));
    repository.git(&["fsck", "--strict"]);
    // It does not wait, and the rest can be restored.
    sandbox.restore(&id, &["beside"]);
    assert_eq!(fs::read(project.join("beside")).unwrap(), b"before\n");
    let out = sandbox.scratch("out");
    sandbox
        .jackin(["restore", &id, "--to", out.to_str().unwrap(), "--yes"])
        .ok();
    let written = Tree::read(&out);
    for path in ["sub/a", "sub/b", "beside"] {
        assert_eq!(written.at(path).kind, before.at(path).kind, "{path}");
    }
}

#[test]
fn a_restore_is_rolled_back_where_a_directory_below_has_another_project_id_than_the_root() {
    let sandbox = Sandbox::new();
    let Some((_volume, project)) = volume(&sandbox) else {
        return;
    };
    give_id("7", &project);
    let sub = project.join("sub");
    fs::create_dir(&sub).unwrap();
    give_id("8", &sub);
    let repository = repository(&sub);
    let id = sandbox.launch(&project, &format!("cd sub; {AGENT}"));
    let damaged = Tree::read(&project);
    sandbox
        .jackin(["restore", &id, "--yes"])
        .code(1)
        .shows("files cannot be moved between")
        .shows("everything is as it was");
    sandbox.no_litter();
    assert_same_tree(&damaged, &Tree::read(&project));
    repository.git(&["fsck", "--strict"]);
    sandbox
        .jackin(["resume"])
        .refused()
        .shows("no interrupted restore");
}
