//! Copies of a snapshot whose git works on something outside of them: each such place is named, and no agent is proposed there.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::git::Repository;
use crate::support::mcp::{ALLOWED, Client, Era, workspace};
use crate::support::run::Run;
use crate::support::sandbox::Sandbox;

const PROPOSAL: &str = "to run an agent there";

/// Forks and writes the baseline, and returns both copies with what the documents say of git in them.
#[track_caller]
fn copies(sandbox: &Sandbox, id: &str) -> [(PathBuf, Run, Value); 2] {
    let (fork, to) = (sandbox.scratch("fork"), sandbox.scratch("to"));
    for earlier in [&fork, &to] {
        let _ = fs::remove_dir_all(earlier);
    }
    let forked = sandbox.jackin(["fork", id, fork.to_str().unwrap()]).ok();
    let words = ["restore", id, "--yes", "--to", to.to_str().unwrap()];
    let written = sandbox.jackin(words).ok();
    let found = |name: &str, words: &[&str]| {
        let place = sandbox.scratch(name);
        let words: Vec<&str> = words.iter().copied().chain([place.to_str().unwrap()]).collect();
        let told = sandbox.jackin(&words).ok().json();
        fs::remove_dir_all(&place).unwrap();
        told["outside_git"].clone()
    };
    let of_fork = found("fork-json", &["fork", id, "--json"]);
    let of_to = found("to-json", &["restore", id, "--yes", "--json", "--to"]);
    [(fork, forked, of_fork), (to, written, of_to)]
}

/// Insists that both copies name the place that git in `below` of them works on, as git itself says with `asked`.
#[track_caller]
fn warned(sandbox: &Sandbox, id: &str, below: &str, place: &Path, asked: &str) {
    for (copy, run, told) in copies(sandbox, id) {
        let directory = match below {
            "" => copy,
            below => copy.join(below),
        };
        let git = Repository {
            path: directory.clone(),
        };
        let said = git.git(&["rev-parse", asked]);
        assert_eq!(Path::new(said.trim_end()), place);
        let line = format!(
            "warning: git in {} uses {}, outside this copy",
            directory.display(),
            place.display()
        );
        run.has(&line);
        assert!(!run.text().contains(PROPOSAL), "{run}");
        assert_eq!(told.as_array().unwrap().len(), 1, "{told}");
        assert!(told[0]["path"].as_str().unwrap().ends_with(below), "{told}");
        assert_eq!(told[0]["place"], place.to_str().unwrap(), "{told}");
    }
}

#[track_caller]
fn quiet(sandbox: &Sandbox, id: &str) {
    let [(_, forked, of_fork), (_, written, of_to)] = copies(sandbox, id);
    for run in [&forked, &written] {
        assert!(!run.text().contains("git in "), "{run}");
    }
    forked.has(PROPOSAL);
    assert_eq!((of_fork, of_to), (json!([]), json!([])));
}

#[test]
fn a_copy_of_a_linked_work_tree_works_on_the_repository_of_the_original() {
    let sandbox = Sandbox::new();
    let original = Repository::with_history(&sandbox.project("main"), 1);
    let tree = sandbox.project("tree");
    original.git(&["worktree", "add", "-q", "-b", "topic", tree.to_str().unwrap()]);
    let id = sandbox.launch(&tree, "echo agent > new");
    let own = original.path.join(".git/worktrees/tree");
    warned(&sandbox, &id, "", &own, "--absolute-git-dir");
    // Its repository has one of its own.
    let sandbox = Sandbox::new();
    let original = Repository::with_history(&sandbox.project("main"), 1);
    original.git(&["worktree", "add", "-q", "-b", "topic", "../tree"]);
    let id = sandbox.launch(&original.path, "echo agent > new");
    quiet(&sandbox, &id);
}

#[test]
fn a_copy_whose_configuration_names_a_work_tree_works_on_that() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("all");
    let inner = Repository::with_history(&project.join("deep/inner"), 1);
    inner.git(&["config", "core.worktree", inner.path.to_str().unwrap()]);
    let id = sandbox.launch(&project, "echo agent > new");
    warned(&sandbox, &id, "deep/inner", &inner.path, "--show-toplevel");
}

#[test]
fn a_copy_of_an_ordinary_repository_with_a_submodule_is_its_own() {
    let sandbox = Sandbox::new();
    let other = Repository::with_history(&sandbox.project("other"), 1);
    let repository = Repository::with_history(&sandbox.project("all"), 1);
    let allowed = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add"];
    let from = other.path.to_str().unwrap();
    repository.git(&[&allowed[..], &[from, "sub"]].concat());
    repository.commit("submodule");
    let id = sandbox.launch(&repository.path, "echo agent > new");
    quiet(&sandbox, &id);
    // An old git wrote the whole path.
    let module = repository.path.join(".git/modules/sub");
    let pointer = format!("gitdir: {}\n", module.display());
    fs::write(repository.path.join("sub/.git"), pointer).unwrap();
    let id = sandbox.launch(&repository.path, "echo agent > newer");
    warned(&sandbox, &id, "sub", &module, "--absolute-git-dir");
}

#[test]
fn two_mounts_of_one_copy_may_lead_to_each_other() {
    let sandbox = Sandbox::new();
    let original = Repository::with_history(&sandbox.project("main"), 1);
    original.git(&["worktree", "add", "-q", "-b", "topic", "../tree"]);
    let tree = sandbox.sources().join("tree");
    let workspace = concat!(
        "[recovery]\nsnapshot = \"project\"\n",
        "[[mounts]]\nsrc = \"~/src/main\"\ndst = \"/workspace/main\"\n",
        "[[mounts]]\nsrc = \"~/src/tree\"\ndst = \"/workspace/tree\"\n",
    );
    sandbox.configure("workspaces/both.toml", workspace);
    for (pointer, expected) in [("../main/", 0), ("../../main/", 1)] {
        fs::write(
            tree.join(".git"),
            format!("gitdir: {pointer}.git/worktrees/tree\n"),
        )
        .unwrap();
        let words = ["launch", "both", "--", "true"];
        sandbox.command(words).inside(&tree).run().ok();
        let told = sandbox.jackin(["fork", "--any", "@latest", "--json"]).ok().json();
        assert_eq!(told["mounts"].as_array().unwrap().len(), 2, "{told}");
        assert_eq!(told["outside_git"].as_array().unwrap().len(), expected, "{told}");
    }
}

#[test]
#[cfg_attr(not(feature = "mcp"), ignore = "the feature mcp is not built")]
fn an_agent_that_forks_is_warned() {
    let (sandbox, project) = workspace(ALLOWED);
    let repository = Repository::with_history(&project, 1);
    repository.git(&["config", "core.worktree", project.to_str().unwrap()]);
    let mut client = Client::start(&sandbox, &project, &[], Era::Initialize);
    client.call("snapshot_create", json!({"name": "s1"})).ok();
    let fork = client.call("snapshot_fork", json!({"name": "s1"})).ok();
    let line = format!("uses {}, outside this copy", project.display());
    assert!(fork.text.contains(&line), "{fork:?}");
    assert_eq!(fork.at("/outside_git/0/place"), project.to_str().unwrap());
    assert_eq!(fork.at("/outside_git/0/path"), fork.at("/directory"));
    client.end();
}
