//! Snapshots that are written into claims other than their own, over a stand-in for kubectl.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::carried_bounds::make_volume;
use crate::carried_cluster::Claimed;
use crate::support::carried::CONTEXT;
use crate::support::compare::assert_same_tree;
use crate::support::machine::run_tool;
use crate::support::tree::Tree;

/// A claim that was made anew is filled; one that holds anything is never touched.
#[test]
fn a_snapshot_goes_into_a_new_claim_and_into_no_other() {
    let Some(claimed) = Claimed::new("anew") else {
        return;
    };
    let sandbox = &claimed.sandbox;
    let before = Tree::read(&claimed.project);
    let begin = ["begin", "--snapshot", "project", "k8s-pvc://default/data"];
    let id = String::from_utf8_lossy(&sandbox.jackin(begin).ok().stdout)
        .trim()
        .to_owned();
    fs::remove_file(claimed.project.join("run.sh")).unwrap();
    sandbox.jackin(["end", &id]).ok();
    let new = sandbox.project("new-volume");
    let volume = format!("jr-claim-new-{}", std::process::id());
    make_volume(&volume, &new);
    claimed.cluster().change(|state| {
        state["claims"]["new"] = json!({ "volume": volume, "modes": ["ReadWriteOnce"] });
    });
    // As a new ext4 has it.
    let lost = new.join("lost+found");
    fs::create_dir(&lost).unwrap();
    fs::set_permissions(&lost, fs::Permissions::from_mode(0o700)).unwrap();
    let to = |claim: &str, how: &str| {
        let to = format!("k8s-pvc://default/{claim}");
        sandbox.jackin(["restore", &id, "--from", "baseline", "--to", &to, how])
    };
    to("new", "--dry-run")
        .ok()
        .shows(&format!("k8s-pvc://{CONTEXT}/default/new:"));
    assert_eq!(Tree::read(&new).nodes.len(), 2);
    to("data", "--yes").code(2).shows("is not empty");
    to("new", "--yes").ok().shows("written");
    to("new", "--yes").code(2).shows("is not empty");
    fs::remove_dir(&lost).unwrap();
    let [mut wanted, mut written] = [before, Tree::read(&new)];
    for tree in [&mut wanted, &mut written] {
        tree.nodes.remove([].as_slice());
    }
    assert_same_tree(&wanted, &written);
    assert_eq!(claimed.helpers(), Vec::<String>::new());
    run_tool(Command::new("docker").args(["volume", "rm", &volume]));
}

/// A claim that was deleted, or a second one beside it: it is made like the first, or large enough, and is the operator's.
#[test]
fn a_claim_that_is_not_there_is_made_first() {
    let Some(claimed) = Claimed::new("made") else {
        return;
    };
    let sandbox = &claimed.sandbox;
    let before = Tree::read(&claimed.project);
    let begin = ["begin", "--snapshot", "project", "k8s-pvc://default/data"];
    let id = String::from_utf8_lossy(&sandbox.jackin(begin).ok().stdout)
        .trim()
        .to_owned();
    sandbox.jackin(["end", &id]).ok();
    let to = |claim: &str, how: &[&str]| {
        let to = format!("k8s-pvc://default/{claim}");
        let words = ["restore", &id, "--from", "baseline", "--to", &to];
        sandbox.jackin(words.iter().chain(how).copied())
    };
    let is_there = |claim: &str| claimed.cluster().state()["claims"].get(claim).is_some();
    to("second", &["--dry-run"])
        .ok()
        .shows("is made first: 4Gi of the class quick, like data.");
    to("second", &[]).refused();
    let set = |key: &'static str, value: Value| claimed.cluster().change(|state| state[key] = value);
    set(
        "refused",
        json!({ "PersistentVolumeClaim": "Error from server (Forbidden): exceeded quota: storage" }),
    );
    to("second", &["--yes"]).code(1).shows("exceeded quota: storage");
    assert!(!is_there("second"));
    set("refused", json!({}));
    let done = to("second", &["--yes", "--json"]).ok().json();
    assert_eq!(done["new_claim"]["storage"], "4Gi");
    let made = claimed.cluster().claimed();
    assert_eq!(made["spec"]["storageClassName"], "quick");
    assert_eq!(made["spec"]["accessModes"], json!(["ReadWriteOnce"]));
    claimed.cluster().change(|state| {
        state["claims"].as_object_mut().unwrap().remove("data");
    });
    to("data", &["--yes"])
        .ok()
        .shows("is made first: 1Gi of the cluster's default class.");
    to("data", &["--yes"]).code(2).shows("is not empty");
    for claim in ["second", "data"] {
        let claims = claimed.cluster().state()["claims"].clone();
        let [mut wanted, mut written] = [
            before.clone(),
            Tree::read(Path::new(claims[claim]["made"].as_str().unwrap())),
        ];
        for tree in [&mut wanted, &mut written] {
            tree.nodes.remove([].as_slice());
        }
        assert_same_tree(&wanted, &written);
        let volume = claims[claim]["volume"].as_str().unwrap().to_owned();
        run_tool(Command::new("docker").args(["volume", "rm", &volume]));
    }
    assert_eq!(claimed.helpers(), Vec::<String>::new());
}
