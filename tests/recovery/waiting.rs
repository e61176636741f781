//! Changes that another process makes while an interrupted restore waits: neither `resume` nor `abort` loses them, and neither calls a mix of
//! two trees one of them.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::support::build::Build;
use crate::support::compare::assert_same_tree;
use crate::support::machine::{has_points, is_root, skip, tool};
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

/// A session, and a restore of it that was killed at `point`. `None` if this program cannot be killed there.
struct Interrupted {
    sandbox: Sandbox,
    project: PathBuf,
    id: String,
    before: Tree,
    wrecked: Tree,
}

impl Interrupted {
    fn at(point: &str, build: impl Fn(&Path), session: &str) -> Option<Self> {
        if !has_points() {
            return None;
        }
        let sandbox = Sandbox::new();
        let project = sandbox.project("waiting");
        build(&project);
        Build::at(&project).aged();
        let before = Tree::read(&project);
        let id = sandbox.launch(&project, session);
        let wrecked = Tree::read(&project);
        let restore = sandbox.command(["restore", &id, "--yes"]);
        let run = restore.with("JACKIN_RECOVERY_FAIL_AT", point).run();
        assert_eq!(run.exit(), None, "{run}");
        Some(Self {
            sandbox,
            project,
            id,
            before,
            wrecked,
        })
    }

    fn set_mode(&self, path: &str, mode: u32) {
        fs::set_permissions(self.project.join(path), Permissions::from_mode(mode)).unwrap();
    }
}

/// New files and modes are rolled back where they are. A directory that was moved away meanwhile has them.
#[test]
fn abort_names_the_paths_of_a_directory_that_is_away() {
    let build = |project: &Path| {
        Build::at(project)
            .file("made/1", "1\n")
            .file("made/2", "2\n")
            .file("mode/3", "3\n")
            .mode("mode/3", 0o644)
            .file("f", "f\n");
    };
    for away in ["made", "mode"] {
        let session = "rm made/1; chmod 600 mode/3; echo agent >> f";
        let Some(waiting) = Interrupted::at("moved", build, session) else {
            return;
        };
        fs::rename(waiting.project.join(away), waiting.project.join("away")).unwrap();
        let run = waiting.sandbox.jackin(["abort", &waiting.id, "--yes"]).code(6);
        let path = if away == "made" { "made/1" } else { "mode/3" };
        run.shows(&format!("{path} is missing"))
            .shows("Rolled back in part");
        let now = Tree::read(&waiting.project);
        let rest = |tree: &Tree| tree.without("made").without("mode").without("away");
        assert_same_tree(&rest(&waiting.wrecked), &rest(&now));
    }
}

/// Attributes and access lists are a part of each path: one that another process sets is no state that the restore may replace.
#[test]
fn attributes_set_meanwhile_stop_resume_and_survive_abort() {
    let build = |project: &Path| {
        Build::at(project)
            .file("k", "k\n")
            .file("twin", "twin\n")
            .file("mode", "mode\n")
            .mode("mode", 0o644);
    };
    let session = "echo agent >> k; mkdir made; echo agent >> twin; ln twin second; chmod 600 mode";
    for path in ["k", "made", "twin", "mode"] {
        let Some(waiting) = Interrupted::at("journaled", build, session) else {
            return;
        };
        Build::at(&waiting.project).attribute(path, "user.mine", "1");
        let now = Tree::read(&waiting.project);
        if now.at(path).attributes.is_empty() {
            return;
        }
        let run = waiting.sandbox.jackin(["resume", &waiting.id, "--yes"]).code(8);
        run.shows("changed since the restore");
        assert_same_tree(&now, &Tree::read(&waiting.project));
        waiting.sandbox.jackin(["abort", &waiting.id, "--yes"]).ok();
        assert_same_tree(&now, &Tree::read(&waiting.project));
        waiting.sandbox.no_litter();
    }
}

/// A mode that no step of the restore sets is another process's, also where attributes come back.
#[test]
fn a_mode_set_meanwhile_survives_abort() {
    if !is_root() {
        return skip(
            "modes",
            "an ordinary user's restore sets this mode itself on its way",
        );
    }
    let build = |project: &Path| {
        Build::at(project)
            .file("s", "s\n")
            .attribute("s", "user.a", "1")
            .mode("s", 0o444);
    };
    if tool("setfattr").is_none() {
        return skip("modes", "setfattr is not installed");
    }
    let Some(waiting) = Interrupted::at("journaled", build, "setfattr -n user.a -v 2 s") else {
        return;
    };
    waiting.set_mode("s", 0o644);
    let now = Tree::read(&waiting.project);
    let run = waiting.sandbox.jackin(["abort", &waiting.id, "--yes"]).code(6);
    run.shows("and stays");
    assert_same_tree(&now, &Tree::read(&waiting.project));
}

/// A new object that another process changed is not removed by the rollback, whatever of it was changed.
#[test]
fn a_restored_path_that_was_changed_meanwhile_is_kept_aside() {
    let build = |project: &Path| {
        Build::at(project)
            .file("f", "f\n")
            .mode("f", 0o644)
            .file("gone/g", "g\n")
            .file("still", "still\n");
    };
    for (path, content) in [("f", "f\n"), ("gone/g", "g\n")] {
        let session = "echo agent > f; rm -r gone; echo new > new";
        let Some(waiting) = Interrupted::at("moved", build, session) else {
            return;
        };
        // Later than a clock ticks.
        std::thread::sleep(Duration::from_millis(100));
        waiting.set_mode(path, 0o751);
        waiting.sandbox.jackin(["abort", &waiting.id, "--yes"]).code(6);
        assert_same_tree(&waiting.wrecked, &Tree::read(&waiting.project));
        let kept = walkdir::WalkDir::new(waiting.sandbox.sources())
            .into_iter()
            .flatten()
            .find(|entry| {
                entry
                    .metadata()
                    .is_ok_and(|meta| meta.permissions().mode() & 0o7777 == 0o751)
            });
        let kept = kept.unwrap_or_else(|| panic!("{path} is nowhere"));
        assert_eq!(fs::read_to_string(kept.path()).unwrap(), content);
    }
    // And without any change nothing stays.
    let Some(waiting) = Interrupted::at("moved", build, "echo agent > f; rm -r gone") else {
        return;
    };
    assert_same_tree(&waiting.before, &Tree::read(&waiting.project));
    waiting.sandbox.jackin(["abort", &waiting.id, "--yes"]).ok();
    assert_same_tree(&waiting.wrecked, &Tree::read(&waiting.project));
    waiting.sandbox.no_litter();
}

/// A staged name of a file of the tree may become its only one. That is no sign of a move whose journal is lost.
#[test]
fn a_staged_link_that_became_the_last_name_is_cleared_up() {
    let build = |project: &Path| {
        Build::at(project).file("a", "a\n").hard_link("b", "a");
    };
    for verb in ["restore", "abort"] {
        let Some(waiting) = Interrupted::at("staged", build, "rm b") else {
            return;
        };
        fs::remove_file(waiting.project.join("a")).unwrap();
        let run = waiting.sandbox.jackin([verb, &waiting.id, "--yes"]);
        run.code_in(&[0, 6]).hides("damaged");
        waiting.sandbox.no_litter();
        if verb == "restore" {
            assert_eq!(fs::read(waiting.project.join("b")).unwrap(), b"a\n");
        }
    }
}

/// The mark of the moves was made after the one of staged links, and a power loss may keep it alone.
#[test]
fn a_mark_that_a_power_loss_kept_alone_is_cleared_up() {
    let build = |project: &Path| {
        Build::at(project).file("a", "a\n").hard_link("b", "a");
    };
    for verb in ["resume", "abort"] {
        let Some(waiting) = Interrupted::at("moved", build, "rm b; echo new > c") else {
            return;
        };
        let places = [&waiting.project, waiting.project.parent().unwrap()];
        let entries = places.iter().flat_map(|place| fs::read_dir(place).unwrap());
        let mut stages = entries.map(|entry| entry.unwrap().path()).filter(|path| {
            let name = path.file_name().unwrap().to_string_lossy();
            name.starts_with(".jackin-recovery-")
        });
        let stage = stages.next().unwrap();
        assert!(stage.join("moving").is_dir());
        fs::remove_dir(stage.join("linked")).unwrap();
        waiting.sandbox.jackin([verb, "--yes"]).ok();
        let after = if verb == "resume" {
            &waiting.before
        } else {
            &waiting.wrecked
        };
        assert_same_tree(after, &Tree::read(&waiting.project));
        assert!(!stage.exists());
        waiting.sandbox.no_litter();
    }
}
