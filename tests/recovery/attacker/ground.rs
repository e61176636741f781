//! Where an attack takes place: a mount that a session has damaged, a den of the attacker beside it, and a treasure.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use super::treasure::{Treasure, Vaults};
use crate::support::build::Build;
use crate::support::run::Run;
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

/// Some are changed by the session, some are not; some are there only before it or only behind it.
pub(super) const FILES: [&str; 13] = [
    "a/one",
    "a/two",
    "a/plain",
    "a/in/plain",
    "b/one",
    "b/new",
    "b/made/in/side",
    "d/0",
    "d/7",
    "gone/in/file",
    "keep/still",
    "kind",
    "kept-mode",
];
pub(super) const DIRECTORIES: [&str; 9] = [
    "a",
    "a/in",
    "b",
    "b/made",
    "b/made/in",
    "d",
    "gone",
    "gone/in",
    "keep",
];

/// A damaged mount, and the trees before and after the damage.
pub(super) struct Ground {
    pub(super) sandbox: Sandbox,
    pub(super) project: PathBuf,
    /// Where the attacker keeps what he swaps in and out.
    pub(super) den: PathBuf,
    pub(super) treasure: Treasure,
    pub(super) id: String,
    pub(super) before: Tree,
    pub(super) damaged: Tree,
    pub(super) vaults: Vaults,
}

impl Ground {
    pub(super) fn new() -> Self {
        let sandbox = Sandbox::new();
        let project = sandbox.project("field");
        let build = Build::at(&project);
        for file in [
            "a/one",
            "a/two",
            "a/plain",
            "a/in/plain",
            "a/in/deep/three",
            "b/one",
            "b/in/four",
            "gone/in/file",
            "keep/still",
            "keep/in/still",
            "kind",
            "kept-mode",
        ] {
            build.file(file, format!("before {file}\n"));
        }
        for number in 0..24 {
            build.file(format!("d/{number}"), format!("before {number}\n"));
        }
        build
            .symlink("b/link", "one")
            .file("pair/first", "pair\n")
            .hard_link("pair/second", "pair/first")
            .attribute("kept-mode", "user.tag", "before")
            .aged();
        let before = Tree::read(&project);
        let treasure = Treasure::bury(sandbox.world());
        let den = sandbox.world().join("den");
        fs::create_dir(&den).unwrap();
        let id = sandbox.session(&project, |_| damage(&project));
        let damaged = Tree::read(&project);
        Self {
            sandbox,
            project,
            den,
            treasure,
            id,
            before,
            damaged,
            vaults: Vaults::default(),
        }
    }

    /// Does once more to the tree as it was before what the session did: the states are the session's own.
    pub(super) fn damage(&mut self) {
        damage(&self.project);
        self.damaged = Tree::read(&self.project);
    }

    pub(super) fn run(&self, args: &[&str]) -> Run {
        self.sandbox.jackin(args)
    }

    /// Names that begin like a staging directory, beside the mount and directly in it.
    pub(super) fn litter(&self) -> BTreeSet<PathBuf> {
        let mut found = BTreeSet::new();
        for directory in [self.sandbox.sources(), self.project.clone()] {
            for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
                let name = entry.file_name();
                if name.as_encoded_bytes().starts_with(b".jackin-recovery-") {
                    found.insert(entry.path());
                }
            }
        }
        found
    }
}

fn damage(project: &std::path::Path) {
    let at = |path: &str| project.join(path);
    let build = Build::at(project);
    build
        .file("a/one", "by the agent: one\n")
        .mode("a/two", 0o600)
        .file("b/new", "by the agent: new\n")
        .file("b/made/in/side", "by the agent: side\n")
        .file("b/made/other", "by the agent: other\n")
        .mode("kept-mode", 0o640)
        .attribute("kept-mode", "user.tag", "after");
    fs::remove_file(at("a/in/plain")).unwrap();
    fs::remove_dir_all(at("a/in/deep")).unwrap();
    build.file("a/in/deep", "by the agent: a file now\n");
    fs::remove_dir_all(at("gone")).unwrap();
    fs::remove_file(at("kind")).unwrap();
    build.file("kind/inside", "by the agent: inside\n");
    fs::remove_file(at("b/link")).unwrap();
    build.symlink("b/link", "new");
    fs::remove_file(at("pair/second")).unwrap();
    build.file("pair/second", "by the agent: alone\n");
    for number in 0..24 {
        build.file(format!("d/{number}"), format!("by the agent: {number}\n"));
    }
}
