//! `export`: one file that stock tar unpacks to the tree, and that holds no more than the snapshot.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::agent_encrypted::state as encrypted;
use crate::agent_settings::settings;
use crate::agent_state::{agents, configure, holds};
use crate::support::build::Build;
use crate::support::compare::{assert_same_tree, assert_untouched};
use crate::support::machine::{has_points, is_root, run_tool, tool};
use crate::support::nasty;
use crate::support::sandbox::Sandbox;
use crate::support::tree::{Kind, Tree};

/// Unpacks with the system's own tar, and gives the directory of the mount.
fn unpacked(sandbox: &Sandbox, file: &Path, label: &str) -> PathBuf {
    let to = sandbox.scratch("unpacked");
    fs::create_dir(&to).unwrap();
    let mut tar = Command::new("tar");
    tar.args(["--zstd", "-xpf"]).arg(file);
    run_tool(tar.args(["--xattrs", "--xattrs-include=*", "-C"]).arg(&to));
    to.join(label)
}

fn comparable(tree: &Tree) -> Tree {
    let mut tree = tree.clone();
    tree.nodes
        .retain(|path, node| !path.is_empty() && node.kind != Kind::Socket);
    tree
}

#[test]
fn stock_tar_gives_the_tree() {
    if tool("tar").is_none() || tool("zstd").is_none() {
        return;
    }
    let sandbox = Sandbox::new();
    let project = sandbox.project("nasty");
    nasty::tree(&project);
    let before = Tree::read(&project);
    let id = sandbox.launch(&project, "echo agent > plain; rm -r deep");
    let live = Tree::read(&project);
    let file = sandbox.scratch("before.tar.zst");
    let run = sandbox
        .jackin(["export", &id, file.to_str().unwrap(), "--json"])
        .ok();
    let document = run.json();
    let bytes = fs::read(&file).unwrap();
    assert_eq!(document["size"], bytes.len() as u64);
    assert_eq!(document["digest"], blake3::hash(&bytes).to_hex().as_str());
    assert_eq!(fs::metadata(&file).unwrap().mode() & 0o7777, 0o600);
    let tree = Tree::read(&unpacked(&sandbox, &file, "nasty"));
    assert_same_tree(&comparable(&before), &comparable(&tree));
    for (path, node) in comparable(&before).nodes {
        let modified = tree.at(&path).times.modified;
        assert_eq!(node.times.modified, modified, "mtime of {}", path.escape_ascii());
    }
    assert_untouched(&live, &Tree::read(&project));
    sandbox.jackin(["log"]).ok().shows("exported");
    // A later snapshot, whose content lies in two archives of the store.
    let later = sandbox.scratch("later.tar.zst");
    sandbox
        .jackin(["export", &id, later.to_str().unwrap(), "--from", "closing"])
        .ok()
        .shows("BLAKE3");
    fs::remove_dir_all(sandbox.scratch("unpacked")).unwrap_or_else(|_| {
        assert!(!is_root());
        run_tool(
            Command::new("chmod")
                .args(["-R", "u+rwx"])
                .arg(sandbox.scratch("unpacked")),
        );
        fs::remove_dir_all(sandbox.scratch("unpacked")).unwrap();
    });
    let tree = Tree::read(&unpacked(&sandbox, &later, "nasty"));
    assert_same_tree(&comparable(&live), &comparable(&tree));
}

#[test]
fn nothing_is_written_over() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("shop");
    Build::at(&project).file("a", "a\n").aged();
    let id = sandbox.launch(&project, "true");
    let there = sandbox.scratch("there");
    fs::write(&there, "mine\n").unwrap();
    std::os::unix::fs::symlink(sandbox.scratch("nowhere"), sandbox.scratch("link")).unwrap();
    for taken in [&there, &sandbox.scratch("link"), &sandbox.scratch("no/such/file")] {
        sandbox
            .jackin(["export", &id, taken.to_str().unwrap()])
            .code(2)
            .shows(taken.to_str().unwrap());
    }
    assert_eq!(fs::read_to_string(&there).unwrap(), "mine\n");
    let inside = sandbox.store().join("archives/x.tar.zst");
    sandbox.jackin(["export", &id, inside.to_str().unwrap()]).code(2);
    sandbox.jackin(["verify"]).ok();
    let file = sandbox.scratch("x");
    sandbox
        .jackin(["export", "nobody", file.to_str().unwrap()])
        .code(5);
    sandbox
        .jackin(["export", &id, file.to_str().unwrap(), "--from", "before"])
        .code(5);
    assert!(!file.exists());
}

#[test]
fn a_killed_one_leaves_no_file_that_looks_finished() {
    if !has_points() {
        return;
    }
    let sandbox = Sandbox::new();
    let project = sandbox.project("shop");
    Build::at(&project).file("a", "a\n").aged();
    let id = sandbox.launch(&project, "true");
    for point in ["export-made", "export-written"] {
        let file = sandbox.scratch(&format!("{point}.tar.zst"));
        let export = sandbox.command(["export", &id, file.to_str().unwrap()]);
        assert_eq!(export.with("JACKIN_RECOVERY_FAIL_AT", point).run().exit(), None);
        assert!(!file.exists(), "{point}");
        if !cfg!(feature = "portable") {
            let left = fs::read_dir(file.parent().unwrap()).unwrap();
            let names = left.map(|entry| entry.unwrap().file_name().into_string().unwrap());
            let drafts: Vec<String> = names
                .filter(|name| name.starts_with(".jackin-recovery-"))
                .collect();
            assert!(drafts.is_empty(), "{point}: {drafts:?}");
        }
        sandbox.jackin(["export", &id, file.to_str().unwrap()]).ok();
    }
}

#[test]
fn a_damaged_archive_is_not_exported() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("shop");
    Build::at(&project).big("big", 300_000).aged();
    let id = sandbox.launch(&project, "true");
    for archive in fs::read_dir(sandbox.store().join("archives")).unwrap().flatten() {
        let mut bytes = fs::read(archive.path()).unwrap();
        bytes[100] ^= 1;
        fs::write(archive.path(), bytes).unwrap();
    }
    let file = sandbox.scratch("x.tar.zst");
    sandbox.jackin(["export", &id, file.to_str().unwrap()]).code(7);
    assert!(!file.exists());
    let left = fs::read_dir(file.parent().unwrap()).unwrap().count();
    assert_eq!(left, 0, "the draft went, too");
}

#[test]
#[cfg_attr(not(feature = "encrypt"), ignore = "the feature encrypt is not built")]
fn no_credential_is_in_an_export() {
    const CANARY: &str = "canary-7f3a9c1e5b";
    const KEY: &str = "age1pv3t7xy42wx35l0gvyn29t475hgukr2cut2e9dtmcwe5ggrk7s2sjs9uq3";
    if tool("zstd").is_none() {
        return;
    }
    let plain = "[recovery.state]\nhome = true\n".to_owned();
    for state in [plain, encrypted(&[KEY])] {
        let (there, here) = (Sandbox::new(), Sandbox::new());
        configure(&there, &state);
        agents(&there.home());
        settings(&there.home());
        there.jackin(["launch", "shop", "--", "true"]).ok();
        let file = there.scratch("shop.tar.zst");
        there.jackin(["export", "shop", file.to_str().unwrap()]).ok();
        let stream = run_tool(Command::new("zstd").arg("-dcq").arg(&file));
        assert!(holds(&stream, "be kind") && !holds(&stream, CANARY), "{state}");
        assert!(!holds(&fs::read(&file).unwrap(), CANARY));
        let run = here
            .jackin(["import", file.to_str().unwrap(), "--yes", "--json"])
            .ok();
        assert!(!holds(&run.stdout, CANARY));
        let new = run.json()["instance"].as_str().unwrap().to_owned();
        here.jackin(["verify", "--read-data"]).ok();
        let to = here.scratch("fork");
        here.jackin(["fork", &new, to.to_str().unwrap()]).ok();
        for entry in walkdir::WalkDir::new(&to).into_iter().flatten() {
            let bytes = fs::read(entry.path()).unwrap_or_default();
            assert!(!holds(&bytes, CANARY), "{}", entry.path().display());
        }
        assert!(here.store().join("archives").read_dir().unwrap().count() == 2);
    }
}
