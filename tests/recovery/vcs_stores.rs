//! Repositories of Mercurial and Jujutsu: their files stay together or come back together.

use std::fs;
use std::path::Path;

use crate::support::build::Build;
use crate::support::compare::assert_same_tree;
use crate::support::machine::{run_tool, skip, tool};
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

/// Files of a store before a session, what the agent does to them, and files that stand for a later commit.
struct Store {
    dir: &'static str,
    before: &'static [&'static str],
    script: &'static str,
    later: &'static [&'static str],
    /// The file that a look at the work tree writes.
    looked: &'static str,
    settings: &'static str,
}

const STORES: [Store; 2] = [
    Store {
        dir: ".hg",
        before: &[
            "store/00changelog.i",
            "store/00manifest.i",
            "store/data/a.i",
            "store/data/b.i",
            "store/phaseroots",
            "dirstate",
            "branch",
            "cache/tags2-visible",
            "hgrc",
        ],
        script: "cd .hg; for f in store/00changelog.i store/00manifest.i store/data/a.i dirstate cache/tags2-visible hgrc; \
            do echo agent >> $f; done; mkdir strip-backup; echo agent > strip-backup/1.hg",
        later: &["store/00changelog.i", "store/data/b.i"],
        looked: "dirstate",
        settings: "hgrc",
    },
    Store {
        dir: ".jj",
        before: &[
            "repo/op_store/operations/1",
            "repo/op_store/views/1",
            "repo/op_heads/heads/1",
            "repo/store/extra/1",
            "repo/config.toml",
            "working_copy/tree_state",
            "working_copy/checkout",
        ],
        script: "cd .jj; echo 1 > repo/op_store/operations/2; echo 1 > repo/op_store/views/2; rm repo/op_heads/heads/1; \
            echo 2 > repo/op_heads/heads/2; echo agent >> working_copy/tree_state; echo agent >> repo/config.toml",
        later: &["repo/op_store/operations/3", "repo/op_heads/heads/3"],
        looked: "working_copy/tree_state",
        settings: "repo/config.toml",
    },
];

impl Store {
    fn build(&self, project: &Path) {
        let build = Build::at(project);
        build.file("code", "before\n");
        for file in self.before {
            build.file(format!("{}/{file}", self.dir), "before\n");
        }
        build.aged();
    }

    /// The store without its settings.
    fn tree(&self, project: &Path) -> Tree {
        Tree::read(&project.join(self.dir)).without(self.settings)
    }

    fn append(&self, project: &Path, file: &str) {
        let path = project.join(self.dir).join(file);
        let before = fs::read_to_string(&path).unwrap_or_default();
        fs::write(path, format!("{before}later\n")).unwrap();
    }
}

#[test]
fn a_store_of_which_a_part_stays_stays_as_a_whole() {
    for store in STORES {
        let sandbox = Sandbox::new();
        let project = sandbox.project("shop");
        store.build(&project);
        let original = Tree::read(&project);
        let id = sandbox.launch(&project, &format!("echo agent > code; {}", store.script));
        let by_agent = store.tree(&project);
        let excluded = format!("/{}/{}", store.dir, store.before[0]);
        let words = ["restore", &id, "--exclude", &excluded, "--yes"];
        if store.dir == ".hg" {
            let run = sandbox.command(words).inside(&project).run().code(6);
            run.shows("belongs to the same repository as .hg/store/00changelog.i, which stays");
            assert_same_tree(&by_agent, &store.tree(&project));
            sandbox.undo(&id);
        }
        for file in store.later {
            store.append(&project, file);
        }
        let later = store.tree(&project);
        let all = Tree::read(&project);
        for more in [&[][..], &["--merge"]] {
            let run = sandbox
                .jackin([&["restore", &id, "--yes"], more].concat())
                .code(6);
            run.shows("belongs to the same repository as ");
            assert_same_tree(&later, &store.tree(&project));
            assert_eq!(fs::read_to_string(project.join("code")).unwrap(), "before\n");
            let settings = project.join(store.dir).join(store.settings);
            assert_eq!(fs::read_to_string(settings).unwrap(), "before\n");
            sandbox.undo(&id);
            assert_same_tree(&all, &Tree::read(&project));
        }
        sandbox.restore(&id, &["--overwrite-later-edits", "--delete-later-files"]);
        assert_same_tree(&original, &Tree::read(&project));
    }
}

#[test]
fn a_part_of_a_store_brings_the_rest_of_it_back() {
    for store in STORES {
        let sandbox = Sandbox::new();
        let project = sandbox.project("shop");
        store.build(&project);
        let before = store.tree(&project);
        let id = sandbox.launch(&project, &format!("echo agent > code; {}", store.script));
        let part = match store.dir {
            ".hg" => ".hg/store/data",
            _ => ".jj/repo/op_heads",
        };
        let asked = sandbox.command(["restore", &id, part, "--yes"]);
        let run = asked.inside(&project).run().ok();
        run.shows("Also included, as they belong to what was asked for");
        assert_same_tree(&before, &store.tree(&project));
        assert_eq!(fs::read_to_string(project.join("code")).unwrap(), "agent\n");
        let settings = project.join(store.dir).join(store.settings);
        assert!(fs::read_to_string(settings).unwrap().ends_with("agent\n"));
    }
}

#[test]
fn a_look_at_the_work_tree_keeps_a_store_only_if_the_session_went_to_another_revision() {
    for store in STORES {
        for moves in [false, true] {
            let sandbox = Sandbox::new();
            let project = sandbox.project("shop");
            store.build(&project);
            let path = format!("{}/{}", store.dir, store.looked);
            let stays = format!("cp {path} kept; ({}); cat kept > {path}; rm kept", store.script);
            let before = store.tree(&project).without(store.looked);
            let id = sandbox.launch(&project, if moves { store.script } else { &stays });
            let after = store.tree(&project).without(store.looked);
            store.append(&project, store.looked);
            sandbox.plan(&id, &[]).conflicted(&[&path]);
            sandbox.restore_in_part(&id, &[]);
            // It names the revision that the session made.
            let expected = if moves { &after } else { &before };
            assert_same_tree(expected, &store.tree(&project).without(store.looked));
        }
    }
}

#[test]
fn mercurial_finds_its_repository_sound_with_a_later_commit() {
    let Some(program) = tool("hg") else {
        return skip("a repository of Mercurial", "hg is not installed");
    };
    let hg = format!("{} --config ui.username=a", program.display());
    for script in [
        format!("echo agent >> a; {hg} commit -m agent"),
        format!("{hg} --config extensions.strip= strip -q tip"),
    ] {
        let sandbox = Sandbox::new();
        let project = sandbox.project("shop");
        fs::create_dir_all(&project).unwrap();
        let run = |script: &str| {
            let mut shell = std::process::Command::new("sh");
            let output = run_tool(shell.args(["-ec", script]).current_dir(&project));
            String::from_utf8(output).unwrap()
        };
        run(&format!(
            "{hg} init; echo 1 > a; echo 1 > b; {hg} add -q a b; {hg} commit -m 1; echo 2 >> a; {hg} commit -m 2"
        ));
        let id = sandbox.launch(&project, &script);
        run(&format!(
            "{hg} update -q -C tip; echo mine >> b; {hg} commit -m mine"
        ));
        let log = run(&format!("{hg} log -p"));
        let backups = Tree::read(&project.join(".hg/store"));
        sandbox.restore_in_part(&id, &[]);
        run(&format!("{hg} verify -q"));
        assert_eq!(run(&format!("{hg} log -p")), log);
        assert_same_tree(&backups, &Tree::read(&project.join(".hg/store")));
        assert_eq!(
            script.contains("strip"),
            project.join(".hg/strip-backup").exists(),
            "{script}"
        );
    }
}
