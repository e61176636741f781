//! Stock tools open every archive, and a first archive alone holds the right bytes at every path.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::build::{Build, noise};
use crate::support::compare::assert_same_tree;
use crate::support::documents::instances;
use crate::support::machine::{is_root, run_tool};
use crate::support::nasty;
use crate::support::sandbox::Sandbox;
use crate::support::tree::{Kind, Node, Tree};

/// Every archive of the store, sorted.
pub(crate) fn archives(sandbox: &Sandbox) -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = sandbox
        .store()
        .join("archives")
        .read_dir()
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    all.sort();
    all
}

pub(crate) fn baseline_archive(sandbox: &Sandbox) -> PathBuf {
    let run = sandbox.jackin(["list", "--json"]).ok();
    let all = instances(&run);
    let baseline = &all.last().unwrap().snapshot("baseline").id;
    sandbox
        .store()
        .join(format!("archives/{}.tar.zst", baseline.replacen("sn-", "ar-", 1)))
}

/// Unpacks with stock tar into a new directory and gives the one mount's directory in it.
pub(crate) fn unpacked(sandbox: &Sandbox, archive: &Path, name: &str) -> PathBuf {
    let to = sandbox.scratch(name);
    fs::create_dir(&to).unwrap();
    let mut tar = Command::new("tar");
    tar.args(["--zstd", "-xpf"]).arg(archive).args([
        "--numeric-owner",
        "--xattrs",
        "--xattrs-include=user.*",
        "-C",
    ]);
    run_tool(tar.arg(&to));
    let inside: Vec<PathBuf> = to
        .read_dir()
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    let mounts: Vec<&PathBuf> = inside
        .iter()
        .filter(|path| !path.ends_with(".jackin-recovery"))
        .collect();
    assert_eq!(mounts.len(), 1, "{inside:?}");
    mounts[0].clone()
}

#[test]
fn stock_tar_lists_and_unpacks_every_archive() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("archived");
    nasty::tree(&project);
    let first = sandbox.launch(
        &project,
        "echo agent > plain; rm -rf deep; echo new > new; echo more >> bytes",
    );
    sandbox.restore(&first, &[]);
    sandbox.launch(
        &project,
        "echo again > plain; mv script.sh other.sh; head -c 5000000 /dev/urandom > noise",
    );
    sandbox.restore("@latest", &[]);
    let all = archives(&sandbox);
    assert!(all.len() >= 3, "{all:?}");
    for (number, archive) in all.iter().enumerate() {
        let names = run_tool(Command::new("tar").arg("--zstd").arg("-tf").arg(archive));
        assert!(!names.is_empty(), "{}", archive.display());
        assert!(
            String::from_utf8_lossy(&names).contains(".jackin-recovery/index"),
            "{}",
            archive.display()
        );
        let to = sandbox.scratch(&format!("out-{number}"));
        fs::create_dir(&to).unwrap();
        run_tool(
            Command::new("tar")
                .args(["--zstd", "-xf"])
                .arg(archive)
                .arg("-C")
                .arg(&to),
        );
        // zstd alone reads it too, checksums included.
        run_tool(Command::new("zstd").arg("-tq").arg(archive));
    }
    sandbox.jackin(["verify", "--read-data"]).ok();
}

#[test]
fn first_archive_unpacks_to_the_originals() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("first");
    nasty::tree(&project);
    let before = Tree::read(&project);
    sandbox.launch(&project, "true");
    assert_eq!(
        archives(&sandbox).len(),
        1,
        "the second snapshot needs no archive"
    );
    let copy = Tree::read(&unpacked(&sandbox, &baseline_archive(&sandbox), "out"));
    assert_unpacked(&before, &copy);
}

/// Every path with its type, bytes, target; mode, owner, time and attributes wherever a tar can say them.
#[track_caller]
pub(crate) fn assert_unpacked(before: &Tree, copy: &Tree) {
    // A tar has no sockets. As another user than root, files that nobody may read are gaps.
    let expected: Vec<(&Vec<u8>, &Node)> = before
        .nodes
        .iter()
        .filter(|(_, node)| node.kind != Kind::Socket)
        .collect();
    let paths = |nodes: &mut dyn Iterator<Item = &Vec<u8>>| nodes.cloned().collect::<Vec<_>>();
    assert_eq!(
        paths(&mut expected.iter().map(|(path, _)| *path)),
        paths(&mut copy.nodes.keys()),
        "the same paths"
    );
    let mut wrong = Vec::new();
    for (path, node) in expected {
        let found = copy.at(path);
        let mut note = |what: &str, equal: bool| {
            if !equal {
                wrong.push(format!(
                    "\"{}\" {what}: {node:?} | {found:?}",
                    path.escape_ascii()
                ));
            }
        };
        note("content", node.kind == found.kind);
        // Content that occurs twice is a hard link in the tar, so the two share one inode, and its metadata.
        let twice = before
            .nodes
            .values()
            .filter(|other| other.kind == node.kind)
            .count()
            > 1;
        let own = match node.kind {
            Kind::File(_) => !twice,
            Kind::Link(_) => false,
            _ => true,
        };
        if own {
            note("mode", node.mode == found.mode);
            note("time", node.times.modified == found.times.modified);
            note("owner", !is_root() || node.owner == found.owner);
            let user = |node: &Node| {
                let all = node
                    .attributes
                    .iter()
                    .filter(|(name, _)| name.starts_with(b"user."));
                all.map(|(name, value)| (name.clone(), value.clone()))
                    .collect::<Vec<_>>()
            };
            note("attributes", user(node) == user(found));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} paths differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn first_archive_of_git_and_sources_unpacks_to_the_originals() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("repository");
    crate::support::git::Repository::with_history(&project, 4);
    Build::at(&project).file("untracked", "u\n").aged();
    let before = Tree::read(&project);
    sandbox.launch(&project, "true");
    let copy = Tree::read(&unpacked(&sandbox, &baseline_archive(&sandbox), "out"));
    let contents = |tree: &Tree| {
        tree.nodes
            .iter()
            .map(|(path, node)| (path.clone(), node.kind.clone()))
            .collect::<Vec<_>>()
    };
    assert_eq!(contents(&before), contents(&copy));
}

#[test]
fn same_input_gives_the_same_archive() {
    let bytes: Vec<Vec<u8>> = (0..2)
        .map(|_| {
            let sandbox = Sandbox::new();
            let project = sandbox.project("same");
            Build::at(&project)
                .file("a", "a\n".repeat(4000))
                .file("b/c", "c\n")
                .big("big", 3 << 20)
                .symlink("l", "a")
                .aged();
            sandbox.launch(&project, "true");
            // Without the manifest, which holds inodes and change times: those are never the same twice.
            let tar = Command::new("zstd")
                .arg("-dcq")
                .arg(baseline_archive(&sandbox))
                .output()
                .unwrap()
                .stdout;
            let chunks = tar
                .windows(16)
                .position(|window| window == b".jackin-recovery")
                .unwrap();
            tar[..chunks].to_vec()
        })
        .collect();
    assert!(bytes[0].len() > 3 << 20);
    assert!(bytes[0] == bytes[1], "two archives of the same files differ");
}

#[test]
fn known_content_is_not_stored_again() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("incremental");
    let size = 6 << 20;
    Build::at(&project)
        .file("noise", noise("known", 6 << 20))
        .file("a", "a\n")
        .aged();
    sandbox.launch(&project, "echo b > a; cp noise copy; mv noise moved; touch moved");
    let sizes: Vec<u64> = archives(&sandbox)
        .iter()
        .map(|path| path.metadata().unwrap().len())
        .collect();
    let total: u64 = sizes.iter().sum();
    assert!(sizes.len() == 2 && total < size + (size / 10), "{sizes:?}");
    let before = Tree::read(&project);
    sandbox.restore("@latest", &[]);
    sandbox.undo("@latest");
    assert_same_tree(&before, &Tree::read(&project));
}
