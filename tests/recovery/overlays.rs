//! A session, its restore and the undo of that on file systems of layers.

use std::fs;
use std::path::{Path, PathBuf};

use crate::file_systems::{build, there_and_back};
use crate::support::build::Build;
use crate::support::compare::assert_same_tree;
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;
use crate::support::volume::Volume;

/// An overlay on a file system in memory, whose lower layer holds the project at `below`.
struct Overlay {
    merged: PathBuf,
    layers: PathBuf,
    // In this order: the overlay lies on the layers.
    overlay: Option<Volume>,
    _layers: Option<Volume>,
}

impl Overlay {
    /// With the layers in memory, or (`None`: not here) on the disk that the tests use.
    fn new(sandbox: &Sandbox, in_memory: bool, build: impl Fn(&Path)) -> Option<Self> {
        Self::with(sandbox, in_memory, "", build)
    }

    /// With further options, each behind a comma.
    fn with(sandbox: &Sandbox, in_memory: bool, more: &str, build: impl Fn(&Path)) -> Option<Self> {
        let layers = sandbox.scratch("layers");
        fs::create_dir_all(&layers).unwrap();
        let volume = if in_memory {
            Some(Volume::tmpfs(&layers)?)
        } else {
            None
        };
        let lower = layers.join("lower");
        fs::create_dir(&lower).unwrap();
        build(&lower);
        let merged = sandbox.sources().join("merged");
        Some(Self {
            overlay: Some(Volume::overlay(&merged, &lower, &layers, more)?),
            _layers: volume,
            layers,
            merged,
        })
    }

    /// Unmounts, lets `change` change the lower layer, and mounts again.
    fn mount_again(&mut self, change: impl Fn(&Path)) {
        self.overlay = None;
        let lower = self.layers.join("lower");
        change(&lower);
        self.overlay = Volume::overlay(&self.merged, &lower, &self.layers, "");
    }
}

#[test]
fn overlay_in_memory_whose_root_is_the_project() {
    let sandbox = Sandbox::new();
    let Some(overlay) = Overlay::new(&sandbox, true, build) else {
        return;
    };
    there_and_back(&sandbox, &overlay.merged);
}

#[test]
fn overlay_on_disk_whose_root_is_the_project() {
    let sandbox = Sandbox::new();
    let Some(overlay) = Overlay::new(&sandbox, false, build) else {
        return;
    };
    there_and_back(&sandbox, &overlay.merged);
}

#[test]
fn overlay_that_moves_no_directory_of_its_lower_layer() {
    let sandbox = Sandbox::new();
    let Some(overlay) = Overlay::with(&sandbox, true, ",redirect_dir=off", build) else {
        return;
    };
    let project = &overlay.merged;
    there_and_back(&sandbox, project);
    // Killed at one point after the other, and taken back: directories are made anew then.
    let id = sandbox.newest();
    sandbox.undo(&id);
    let damaged = Tree::read(project);
    for n in 1..80 {
        let restore = sandbox.command(["restore", &id, "--yes"]);
        let point = format!("any:{n}");
        if restore
            .with("JACKIN_RECOVERY_FAIL_AT", point)
            .run()
            .exit()
            .is_some()
        {
            break;
        }
        let how = if n % 2 == 0 { "abort" } else { "resume" };
        sandbox.jackin([how, &id, "--yes"]).code_in(&[0, 5]);
        let now = Tree::read(project);
        if now.nodes.contains_key(&b"gone"[..]) {
            sandbox.undo(&id);
        }
        assert_same_tree(&damaged, &Tree::read(project));
    }
}

#[test]
fn overlay_with_a_project_in_it() {
    let sandbox = Sandbox::new();
    let inside = |lower: &Path| build(&lower.join("inside"));
    let Some(overlay) = Overlay::new(&sandbox, true, inside) else {
        return;
    };
    there_and_back(&sandbox, &overlay.merged.join("inside"));
}

#[test]
fn overlay_on_disk_with_a_project_in_it() {
    let sandbox = Sandbox::new();
    let inside = |lower: &Path| build(&lower.join("inside"));
    let Some(overlay) = Overlay::new(&sandbox, false, inside) else {
        return;
    };
    there_and_back(&sandbox, &overlay.merged.join("inside"));
}

/// The agent adds a directory that holds a directory: it exists in the upper layer only.
#[test]
fn overlay_with_all_kinds_that_only_add() {
    let sandbox = Sandbox::new();
    let Some(overlay) = Overlay::new(&sandbox, true, build) else {
        return;
    };
    let project = &overlay.merged;
    let before = Tree::read(project);
    let id = sandbox.launch(
        project,
        "mkdir -p dir/old/new/x; echo a > dir/old/new/x/f; echo a > whole/sub/n; ln kept kept2",
    );
    let damaged = Tree::read(project);
    sandbox.restore(&id, &[]);
    assert_same_tree(&before, &Tree::read(project));
    sandbox.undo(&id);
    assert_same_tree(&damaged, &Tree::read(project));
}

/// One change at a time, so that it is seen which one an overlay does not bear.
#[test]
fn overlay_each_change_alone() {
    let changes = [
        ("a file of the lower layer is edited", "echo agent > edited"),
        ("a file of the lower layer is removed", "rm gone"),
        ("a directory of the lower layer is removed", "rm -r whole"),
        ("an empty directory of the lower layer is removed", "rmdir empty"),
        (
            "a file is added to a directory of the lower layer",
            "echo new > dir/new",
        ),
        (
            "a directory of the lower layer becomes a file",
            "rm -r was-dir; echo x > was-dir",
        ),
        (
            "a file becomes a directory",
            "rm was-file; mkdir was-file; echo x > was-file/x",
        ),
        ("the mode of a directory of the lower layer", "chmod 700 moded"),
        (
            "a directory of the lower layer is made anew",
            "rm -r opaque; mkdir opaque; echo x > opaque/x",
        ),
        ("a directory of the lower layer is moved", "mv moved moved-to"),
        (
            "a link of the lower layer is replaced",
            "rm link; ln -s elsewhere link",
        ),
    ];
    let mut failed = Vec::new();
    for (what, damage) in changes {
        let sandbox = Sandbox::new();
        let Some(overlay) = Overlay::new(&sandbox, true, build) else {
            return;
        };
        let project = &overlay.merged;
        let before = Tree::read(project);
        let id = sandbox.launch(project, damage);
        let damaged = Tree::read(project);
        for (verb, wanted) in [("restore", &before), ("undo", &damaged)] {
            let run = sandbox.jackin([verb, &id, "--yes", "--json"]);
            let now = Tree::read(project);
            let differs = crate::support::compare::changed_paths(wanted, &now);
            if run.exit() != Some(0) || !differs.is_empty() {
                let differs: Vec<_> = differs
                    .iter()
                    .map(|path| path.escape_ascii().to_string())
                    .collect();
                failed.push(format!("{what}: {verb}: differs {differs:?}\n{run}"));
            }
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// The lower layer is another one when the session ends, as it is when it is a checkout that is brought up to date: now
/// directories of the lower layer are to be moved, which an overlay answers with `EXDEV`.
#[test]
fn overlay_whose_lower_layer_got_a_directory() {
    lower_layer_changed(|lower| {
        Build::at(lower)
            .file("dir/late/a", "late\n")
            .file("dir/late/sub/b", "late\n");
    });
}

/// The root lies in the upper layer, whose times do not tell what came to the lower one.
#[test]
fn overlay_whose_lower_layer_got_a_directory_where_the_upper_one_has_its_parent() {
    lower_layer_changed(|lower| {
        Build::at(lower).file("late/a", "late\n");
    });
}

#[test]
fn overlay_whose_lower_layer_got_a_file() {
    lower_layer_changed(|lower| {
        Build::at(lower).file("dir/late", "late\n");
    });
}

#[test]
fn overlay_whose_lower_layer_got_a_directory_in_the_place_of_a_file() {
    lower_layer_changed(|lower| {
        fs::remove_file(lower.join("was-file")).unwrap();
        Build::at(lower).file("was-file/a", "late\n");
    });
}

#[test]
fn overlay_whose_lower_layer_got_a_file_in_the_place_of_a_directory() {
    lower_layer_changed(|lower| {
        fs::remove_dir_all(lower.join("was-dir")).unwrap();
        Build::at(lower).file("was-dir", "late\n");
    });
}

#[track_caller]
fn lower_layer_changed(change: impl Fn(&Path)) {
    let sandbox = Sandbox::new();
    let Some(mut overlay) = Overlay::new(&sandbox, true, build) else {
        return;
    };
    let project = overlay.merged.clone();
    let before = Tree::read(&project);
    let id = sandbox.session(&project, |_| overlay.mount_again(&change));
    let damaged = Tree::read(&project);
    let run = sandbox.jackin(["restore", &id, "--yes", "--json"]);
    let now = Tree::read(&project);
    assert_eq!(run.exit(), Some(0), "{run}");
    assert_same_tree(&before, &now);
    sandbox.undo(&id);
    assert_same_tree(&damaged, &Tree::read(&project));
}

/// An overlay copies a file of the lower layer when a name is linked to it, and parts it from its other names.
#[test]
fn names_of_a_lower_file_are_not_parted_for_one_that_comes_back() {
    let sandbox = Sandbox::new();
    let lower = |lower: &Path| {
        Build::at(lower)
            .file("a", "lower\n")
            .hard_link("b", "a")
            .hard_link("c", "a")
            .hard_link("d", "a")
            .file("pair-1", "pair\n")
            .hard_link("pair-2", "pair-1")
            .aged();
    };
    let Some(overlay) = Overlay::new(&sandbox, true, lower) else {
        return;
    };
    let project = &overlay.merged;
    Build::at(project)
        .file("upper-1", "upper\n")
        .hard_link("upper-2", "upper-1")
        .hard_link("upper-3", "upper-1");
    let before = Tree::read(project);
    let id = sandbox.launch(project, "rm c d pair-1 upper-1");
    let damaged = Tree::read(project);

    // A restore that is killed before it moves anything has parted nothing.
    let killed = sandbox.command(["restore", &id, "--yes"]);
    killed.with("JACKIN_RECOVERY_FAIL_AT", "staged").run();
    sandbox.jackin(["abort", &id, "--yes"]).code_in(&[0, 5]);
    assert_same_tree(&damaged, &Tree::read(project));

    for name in ["c", "d"] {
        let run = sandbox.jackin(["restore", &id, "--yes"]).code(6);
        run.shows(&format!("{name}: its content is restored, but it is not linked"));
        let after = Tree::read(project);
        let group = |name: &str| after.at(name).group.as_deref();
        assert_eq!(group("b"), Some(&b"a"[..]), "the other names are one file");
        assert_eq!(group("d"), Some(&b"c"[..]));
        assert_eq!(group("pair-2"), Some(&b"pair-1"[..]));
        assert_eq!(group("upper-3"), Some(&b"upper-1"[..]));
        assert_eq!(after.at("c").kind, before.at("c").kind);
    }
    sandbox.undo(&id);
    sandbox.undo(&id);
    for part in ["c", "d"] {
        sandbox.jackin(["restore", &id, "--yes", part]).code(6);
    }
    sandbox.undo(&id);
    sandbox.undo(&id);
}

/// To move one of the names of a lower file is to copy it for that name: the copy has another inode number, and is the same file.
#[test]
fn a_lower_file_with_several_names_that_changed_comes_back_and_goes_again() {
    let sandbox = Sandbox::new();
    let lower = |lower: &Path| {
        Build::at(lower)
            .file("a", "lower\n")
            .hard_link("b", "a")
            .hard_link("sub/c", "a")
            .aged();
    };
    let Some(mut overlay) = Overlay::new(&sandbox, true, lower) else {
        return;
    };
    let project = overlay.merged.clone();
    let before = Tree::read(&project);
    let id = sandbox.session(&project, |_| {
        overlay.mount_again(|lower| fs::write(lower.join("a"), "agent\n").unwrap());
    });
    let reads = |content: &[u8]| {
        let now = Tree::read(&project);
        for name in ["a", "b", "sub/c"] {
            assert_eq!(fs::read(project.join(name)).unwrap(), content, "{name}");
        }
        assert_eq!(now.nodes.len(), before.nodes.len(), "nothing else is left there");
        now
    };
    for n in 1..80 {
        let restore = sandbox.command(["restore", &id, "--yes"]);
        let killed = restore.with("JACKIN_RECOVERY_FAIL_AT", format!("any:{n}")).run();
        if killed.exit().is_some() {
            break;
        }
        sandbox.jackin(["abort", &id, "--yes"]).code_in(&[0, 5]);
        if fs::read(project.join("a")).unwrap() == b"lower\n" {
            sandbox.undo(&id);
        }
        reads(b"agent\n");
    }
    assert_same_tree(&before, &reads(b"lower\n"));
    sandbox.undo(&id);
    reads(b"agent\n");
    sandbox.restore(&id, &[]);
    assert_same_tree(&before, &reads(b"lower\n"));
}
