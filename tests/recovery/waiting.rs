//! Changes that somebody makes while an interrupted restore waits: neither `resume` nor `abort` loses them, and neither calls a mix of
//! two trees one of them.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::support::build::Build;
use crate::support::compare::assert_same_tree;
use crate::support::machine::has_points;
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
fn a_directory_that_is_away_keeps_the_restore_waiting() {
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
        let (here, there) = (waiting.project.join(away), waiting.project.join("away"));
        fs::rename(&here, &there).unwrap();
        let run = waiting.sandbox.jackin(["abort", &waiting.id, "--yes"]).code(8);
        run.shows("its directory is missing");
        fs::rename(&there, &here).unwrap();
        waiting.sandbox.jackin(["abort", &waiting.id, "--yes"]).ok();
        assert_same_tree(&waiting.wrecked, &Tree::read(&waiting.project));
        waiting.sandbox.no_litter();
    }
}
