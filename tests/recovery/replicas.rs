//! The store goes to a real object store, encrypted, and comes back on another machine.

use std::fs;

use serde_json::Value;

use crate::support::bucket::{Bucket, SECRET, USER};
use crate::support::compare::{Exactness, differences};
use crate::support::run::Run;
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

/// A key pair of age, made for these tests, and the private key of another.
pub(crate) const RECIPIENT: &str = "age1pv3t7xy42wx35l0gvyn29t475hgukr2cut2e9dtmcwe5ggrk7s2sjs9uq3";
const IDENTITY: &str = "AGE-SECRET-KEY-174T4CAM2X72K9H0JMEQL6WMZ8NUTHTSRGMHC0WXY4SH57LUH6EJQGSL99U\n";
pub(crate) const OTHER: &str = "AGE-SECRET-KEY-1NWWM0EL4X9NNZYMX6QE5X9YPE6S9CWCQCCAFA3NT560J07X4HS6QYPUN8K\n";
pub(crate) const PLACE: &str = "s3://bucket/machines/one";

/// A machine whose store is copied.
pub(crate) fn copied(more: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.configure(
        "config.toml",
        &format!(
            "[recovery]\nsnapshot = \"project\"\n[recovery.state]\nrecipients = [\"{RECIPIENT}\"]\n[recovery.store]\nreplicate = \"{PLACE}\"\n{more}"
        ),
    );
    sandbox
}

/// The private key in a file.
pub(crate) fn key(sandbox: &Sandbox, content: &str) -> String {
    let path = sandbox.scratch("identity");
    fs::write(&path, content).unwrap();
    path.to_str().unwrap().to_owned()
}

pub(crate) fn own_key(sandbox: &Sandbox) -> String {
    key(sandbox, IDENTITY)
}

pub(crate) fn signed(sandbox: &Sandbox, bucket: &Bucket, args: &[&str]) -> Run {
    bucket.signed(sandbox.command(args)).run()
}

/// A session with a baseline, a checkpoint and a closing snapshot; what the tree was at each.
pub(crate) fn session(sandbox: &Sandbox, bucket: &Bucket, name: &str) -> (String, Vec<(String, Tree)>) {
    let project = sandbox.project(name);
    fs::write(
        project.join("canary-file-one"),
        format!("canary-content of {name}\n").repeat(40),
    )
    .unwrap();
    fs::create_dir_all(project.join("canary-directory/deep")).unwrap();
    fs::write(project.join("canary-directory/deep/two"), "canary-content\n").unwrap();
    std::os::unix::fs::symlink("canary-target", project.join("canary-link")).unwrap();
    let begun = signed(sandbox, bucket, &["begin", project.to_str().unwrap()]).ok();
    let id = String::from_utf8(begun.stdout).unwrap().trim().to_owned();
    let mut moments = vec![("baseline".to_owned(), Tree::read(&project))];
    fs::write(project.join("canary-file-one"), "canary-content, changed\n").unwrap();
    signed(
        sandbox,
        bucket,
        &[
            "checkpoint",
            &id,
            "--name",
            "canary-step",
            "--message",
            "canary-message",
        ],
    )
    .ok();
    moments.push(("canary-step".to_owned(), Tree::read(&project)));
    fs::remove_dir_all(project.join("canary-directory")).unwrap();
    signed(sandbox, bucket, &["end", &id]).ok();
    moments.push(("closing".to_owned(), Tree::read(&project)));
    (id, moments)
}

/// Brings everything back into a home where nothing is.
pub(crate) fn brought_back(bucket: &Bucket, more: &[&str]) -> (Sandbox, Value) {
    let fresh = Sandbox::new();
    let told = bring_back(&fresh, bucket, more);
    (fresh, told)
}

fn bring_back(sandbox: &Sandbox, bucket: &Bucket, more: &[&str]) -> Value {
    let identity = own_key(sandbox);
    let mut args = vec![
        "import",
        "--from",
        PLACE,
        "--identity",
        &identity,
        "--yes",
        "--json",
    ];
    args.extend(more);
    signed(sandbox, bucket, &args).ok().json()
}

/// A snapshot, written out on a machine, is what it was.
#[track_caller]
pub(crate) fn comes_back(sandbox: &Sandbox, id: &str, snapshot: &str, expected: &Tree) {
    let to = sandbox.scratch(&format!("to-{id}-{snapshot}"));
    sandbox
        .jackin([
            "restore",
            id,
            "--from",
            snapshot,
            "--to",
            to.to_str().unwrap(),
            "--yes",
        ])
        .ok();
    let tree = Tree::read(&to);
    let mut found = differences(expected, &tree, Exactness::Content);
    // The directory itself is 0700, whatever the mount was.
    found.retain(|line| !line.starts_with("\"\": mode"));
    assert!(found.is_empty(), "{id} {snapshot}: {found:#?}");
    for (path, node) in expected.nodes.iter().filter(|(path, _)| !path.is_empty()) {
        let shown = path.escape_ascii();
        assert_eq!(
            tree.nodes[path].times.modified, node.times.modified,
            "{id} {snapshot}: {shown}"
        );
    }
    fs::remove_dir_all(&to).unwrap();
}

#[test]
#[cfg_attr(not(feature = "s3"), ignore = "the feature s3 is not built")]
fn a_store_comes_back_on_another_machine() {
    let Some(bucket) = Bucket::start() else { return };
    let sandbox = copied("");
    let (id, moments) = session(&sandbox, &bucket, "canary-workspace");
    // `end` copies too, but not while a process that the checkpoint left behind does.
    let run = signed(&sandbox, &bucket, &["replicate", "--json"]).ok();
    assert_eq!(run.json()["waiting"]["snapshots"], 0, "{run}");
    let run = signed(&sandbox, &bucket, &["replicate", "--json"]).ok();
    assert_eq!(run.json()["outcome"], "nothing", "{run}");
    let (fresh, told) = brought_back(&bucket, &[]);
    assert_eq!(told["outcome"], "imported", "{told}");
    assert_eq!(told["snapshots"].as_array().unwrap().len(), 3, "{told}");
    let head = String::from_utf8(sandbox.jackin(["log", "--anchor"]).ok().stdout).unwrap();
    assert_eq!(told["anchor"], head.trim());
    for (snapshot, tree) in &moments {
        comes_back(&fresh, &id, snapshot, tree);
    }
    let list = fresh.jackin(["list", "--json"]).ok().json();
    let here = sandbox.jackin(["list", "--json"]).ok().json();
    for field in ["id", "started_at", "ended_at"] {
        assert_eq!(
            list["instances"][0][field], here["instances"][0][field],
            "{field}"
        );
    }
    for at in 0..3 {
        for field in ["id", "kind", "name", "taken_at", "entries", "bytes"] {
            assert_eq!(
                list["instances"][0]["snapshots"][at][field], here["instances"][0]["snapshots"][at][field],
                "{field}"
            );
        }
    }
    for args in [
        vec!["show", &id],
        vec!["diff", &id, "--from", "canary-step", "--to", "closing"],
        vec!["verify", "--read-data"],
        vec!["log", "--verify"],
        vec!["rebuild"],
        vec!["fork", &id],
        vec!["list"],
    ] {
        fresh.jackin(args).ok();
    }
    // It was imported: its paths are another machine's.
    fresh
        .jackin(["restore", &id, "--yes"])
        .code(5)
        .shows("another machine");
    // Again: nothing is new.
    let again = bring_back(&fresh, &bucket, &[]);
    assert_eq!(again["there"], 3, "{again}");
    assert!(again["snapshots"].as_array().unwrap().is_empty(), "{again}");
    assert!(!fresh.store().join("incoming").exists());
    fresh.jackin(["doctor"]).ok();
}

#[test]
#[cfg_attr(not(feature = "s3"), ignore = "the feature s3 is not built")]
fn a_trusted_copy_is_this_machines_own() {
    let Some(bucket) = Bucket::start() else { return };
    let sandbox = copied("");
    let (id, moments) = session(&sandbox, &bucket, "web");
    signed(&sandbox, &bucket, &["replicate"]).ok();
    let project = sandbox.project("web");
    let (fresh, _) = brought_back(&bucket, &["--trust"]);
    fs::remove_dir_all(&project).unwrap();
    fresh.jackin(["restore", &id, "--yes"]).code_in(&[0, 6]);
    fresh
        .jackin(["restore", &id, "--yes", "--overwrite-later-edits"])
        .code_in(&[0, 6]);
    let now = Tree::read(&project);
    let found = differences(&moments[0].1, &now, Exactness::Content);
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
#[cfg_attr(not(feature = "s3"), ignore = "the feature s3 is not built")]
fn rights_are_dropped_without_trust() {
    use std::os::unix::fs::PermissionsExt as _;
    let Some(bucket) = Bucket::start() else { return };
    let sandbox = copied("");
    let project = sandbox.project("web");
    fs::write(project.join("tool"), "#!/bin/sh\n").unwrap();
    fs::set_permissions(project.join("tool"), fs::Permissions::from_mode(0o4755)).unwrap();
    let begun = signed(&sandbox, &bucket, &["begin", project.to_str().unwrap()]).ok();
    let id = String::from_utf8(begun.stdout).unwrap().trim().to_owned();
    signed(&sandbox, &bucket, &["end", &id]).ok();
    signed(&sandbox, &bucket, &["replicate"]).ok();
    for (more, dropped, mode) in [(vec![], 2, 0o755), (vec!["--trust"], 0, 0o4755)] {
        let (fresh, told) = brought_back(&bucket, &more);
        assert_eq!(told["dropped"], dropped, "{told}");
        let to = fresh.scratch("to");
        fresh
            .jackin(["restore", &id, "--to", to.to_str().unwrap(), "--yes"])
            .ok();
        let found = fs::metadata(to.join("tool")).unwrap().permissions().mode() & 0o7777;
        assert_eq!(found, mode, "{more:?}");
    }
}

#[test]
#[cfg_attr(not(feature = "s3"), ignore = "the feature s3 is not built")]
fn nothing_in_the_bucket_can_be_read() {
    let Some(bucket) = Bucket::start() else { return };
    let sandbox = copied("");
    let (id, _) = session(&sandbox, &bucket, "canary-workspace");
    signed(&sandbox, &bucket, &["replicate"]).ok();
    let label = id.splitn(3, '-').nth(2).unwrap();
    let home = sandbox.home();
    let canaries: Vec<Vec<u8>> = [
        "canary-",
        label,
        home.to_str().unwrap(),
        "baseline",
        "checkpoint",
        SECRET,
        USER,
    ]
    .iter()
    .map(|canary| canary.as_bytes().to_vec())
    .collect();
    let mut count = 0;
    for entry in walkdir::WalkDir::new(bucket.root()).min_depth(1) {
        let entry = entry.unwrap();
        let name = entry.file_name().as_encoded_bytes().to_vec();
        let content = match entry.file_type().is_file() && entry.file_name() != "server-log" {
            true => fs::read(entry.path()).unwrap(),
            false => Vec::new(),
        };
        count += 1;
        for canary in &canaries {
            let holds = |bytes: &[u8]| {
                bytes
                    .windows(canary.len())
                    .any(|window| window == canary.as_slice())
            };
            assert!(!holds(&name) && !holds(&content), "{}", entry.path().display());
        }
    }
    assert!(count > 8, "{count}");
    // What stays here of it tells no secret either.
    for entry in walkdir::WalkDir::new(sandbox.store()) {
        let entry = entry.unwrap();
        if entry.file_type().is_file() {
            let content = fs::read(entry.path()).unwrap();
            let text = String::from_utf8_lossy(&content);
            assert!(
                !text.contains(SECRET) && !text.contains(USER),
                "{}",
                entry.path().display()
            );
        }
    }
}
