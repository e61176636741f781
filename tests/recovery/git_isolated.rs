//! jackin's isolated mounts: the agent works in a worktree or clone of its container, and that is what is captured.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::compare::assert_same_tree;
use crate::support::git::Repository;
use crate::support::jackin::{write_instance, write_isolation};
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

fn configure(sandbox: &Sandbox, isolation: &str) {
    let text = format!(
        "[recovery]\nsnapshot = \"project\"\n[[mounts]]\nsrc = \"~/src/tool\"\ndst = \"/workspace/tool\"\nisolation = \"{isolation}\"\n"
    );
    sandbox.configure("workspaces/tool.toml", &text);
}

/// Writes down that a container has a copy at `place`, as jackin does.
fn isolate(sandbox: &Sandbox, container: &str, place: &Path, status: &str) -> PathBuf {
    let record = serde_json::json!({
        "workspace": "tool", "mount_dst": "/workspace/tool", "original_src": "/elsewhere", "isolation": "worktree",
        "worktree_path": place, "scratch_branch": "x", "base_commit": "y", "selector_key": "z",
        "container_name": container, "cleanup_status": status, "of_a_later_jackin": [1],
    });
    let text = serde_json::json!({"version": 1, "records": [record]}).to_string();
    write_isolation(sandbox, container, &text)
}

#[test]
fn a_worktree_of_a_container_is_captured_where_it_lies() {
    let sandbox = Sandbox::new();
    let original = Repository::with_history(&sandbox.project("tool"), 3);
    let place = sandbox.home().join(".jackin/data/jk-1/git/tool");
    fs::create_dir_all(place.parent().unwrap()).unwrap();
    original.git(&["worktree", "add", "-q", "-b", "scratch", place.to_str().unwrap()]);
    configure(&sandbox, "worktree");
    isolate(&sandbox, "jk-1", &place, "active");
    isolate(&sandbox, "jk-0", &sandbox.scratch("gone"), "preserved_dirty");
    let (untouched, before) = (Tree::read(&original.path), Tree::read(&place));

    let contract = sandbox.jackin(["explain", "tool"]).ok().text();
    assert!(
        contract.contains("the worktree of the container jk-1"),
        "{contract}"
    );
    let place = place.canonicalize().unwrap();
    let told = sandbox.jackin(["explain", "tool", "--json"]).ok().json();
    let mount = &told["mounts"][0];
    assert_eq!(
        (&mount["container"], &mount["state"]),
        (&"jk-1".into(), &"captured".into())
    );
    assert_eq!(mount["root"], place.to_str().unwrap());
    // What belongs to it and lies elsewhere is told.
    let elsewhere = mount["git"]["elsewhere"].as_str().unwrap();
    assert!(elsewhere.ends_with("tool/.git/worktrees/tool"), "{mount}");

    let script = format!("cd {} && rm -rf src && echo agent > README", place.display());
    sandbox.jackin(["launch", "tool", "--", "sh", "-c", &script]).ok();
    sandbox.restore("tool", &[]);
    assert_same_tree(&before, &Tree::read(&place));
    assert_same_tree(&untouched, &Tree::read(&original.path));
}

#[test]
fn what_jackin_does_not_say_clearly_is_not_captured() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("tool");
    fs::write(project.join("a"), "original").unwrap();
    configure(&sandbox, "clone");
    let refused = |about: &str| {
        let run = sandbox.jackin(["explain", "tool"]).refused();
        let said = run.said();
        assert!(said.contains(about), "{about}: {said}");
    };
    refused("no container has one now");
    let place = sandbox.home().join("clone");
    fs::create_dir(&place).unwrap();
    isolate(&sandbox, "jk-1", &place, "preserved_unpushed");
    refused("no container has one now");
    isolate(&sandbox, "jk-1", Path::new("relative"), "active");
    refused("no container has one now");
    let file = isolate(&sandbox, "jk-1", &place, "active");
    sandbox
        .jackin(["explain", "tool"])
        .ok()
        .shows("the clone of the container jk-1");
    for damage in ["{", "[]", "{\"version\": 2, \"records\": []}"] {
        fs::write(&file, damage).unwrap();
        refused("cannot find which container has one");
        refused("isolation.json");
    }
    // One that can be read does not help while another may tell of one, too.
    isolate(&sandbox, "jk-2", &place, "active");
    refused("cannot find which container has one");
    fs::remove_dir_all(sandbox.home().join(".jackin/data/jk-2")).unwrap();
    isolate(&sandbox, "jk-1", &place, "active");
    isolate(&sandbox, "jk-2", &place, "active");
    refused("several containers have one: give the directory of one");
    // Unless it is said which one is meant.
    write_instance(
        &sandbox,
        "jk-2",
        "{\"version\": 2, \"status\": \"running\", \"workspace_name\": \"tool\"}",
    );
    sandbox
        .jackin(["explain", "jk-2"])
        .ok()
        .shows("the clone of the container jk-2");
    // Another mount is captured all the same, and this one named with the reason.
    fs::write(&file, "{").unwrap();
    fs::remove_dir_all(sandbox.home().join(".jackin/data/jk-2")).unwrap();
    let other = sandbox.project("other");
    let text = format!(
        "[recovery]\nsnapshot = \"project\"\n[[mounts]]\nsrc = \"~/src/tool\"\ndst = \"/workspace/tool\"\nisolation = \"clone\"\n\
         [[mounts]]\nsrc = \"{}\"\ndst = \"/o\"\n",
        other.display()
    );
    sandbox.configure("workspaces/tool.toml", &text);
    sandbox
        .jackin(["explain", "tool"])
        .ok()
        .shows("isolation.json: it is not JSON (line 1)");
    assert_eq!(fs::read(project.join("a")).unwrap(), b"original");
}

#[test]
fn a_container_cannot_hand_out_what_no_mount_may_be() {
    let sandbox = Sandbox::new();
    configure(&sandbox, "clone");
    fs::create_dir_all(sandbox.home().join(".ssh")).unwrap();
    for place in [sandbox.home(), sandbox.home().join(".ssh"), sandbox.store()] {
        fs::create_dir_all(&place).unwrap();
        isolate(&sandbox, "jk-1", &place, "active");
        let run = sandbox.jackin(["launch", "tool", "--", "true"]).refused();
        let said = run.said();
        assert!(said.contains(place.to_str().unwrap()), "{said}");
    }
}
