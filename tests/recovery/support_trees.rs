//! The trees that tests start from are what they claim to be.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt as _;

use tempfile::TempDir;

use crate::support::build::Build;
use crate::support::machine::is_root;
use crate::support::nasty;
use crate::support::real_tree;
use crate::support::run::{Run, is_harmful};
use crate::support::tree::{Kind, Tree};

#[test]
fn nasty_tree_holds_one_of_everything() {
    let directory = TempDir::new().unwrap();
    nasty::tree(directory.path());
    let tree = Tree::read(directory.path());
    // A second opinion on completeness, by a walker that is not ours.
    let walked = walkdir::WalkDir::new(directory.path())
        .into_iter()
        .filter(Result::is_ok)
        .count();
    assert_eq!(tree.nodes.len(), walked);

    let kinds: BTreeSet<&str> = tree
        .nodes
        .values()
        .map(|node| match node.kind {
            Kind::File(_) => "file",
            Kind::Directory => "directory",
            Kind::Link(_) => "link",
            Kind::Fifo => "fifo",
            Kind::Socket => "socket",
            Kind::Character(_) | Kind::Block(_) => "device",
        })
        .collect();
    assert_eq!(
        kinds.into_iter().collect::<Vec<_>>(),
        ["directory", "fifo", "file", "link", "socket"]
    );
    for name in nasty::names() {
        assert!(name.len() <= 255 && tree.has(&name), "{}", name.escape_ascii());
    }
    assert!(tree.paths().any(|path| std::str::from_utf8(path).is_err()));
    assert_eq!(tree.at("setuid").mode, 0o4755);
    assert_eq!(tree.at("pair-2").group, tree.at("deep/pair-3").group);
    assert_eq!(tree.at("plain").times.modified, -4_750_000_000);
    assert!(!is_root() || tree.at("no-permission").mode == 0);
    let sparse = fs::metadata(directory.path().join("sparse")).unwrap();
    assert_eq!(sparse.size(), 5 << 20);
    let values = &tree.at("plain").attributes;
    assert!(
        values.is_empty() || values[&b"user.binary"[..]] == b"\x00\xff\nnewline=7 ",
        "{values:?}"
    );
}

#[test]
fn real_tree_is_real() {
    let directory = TempDir::new().unwrap();
    let copy = directory.path().join("copy");
    real_tree::copy_to(&copy);
    assert!(real_tree::count_files(&copy) >= real_tree::FILES);
    let sources = walkdir::WalkDir::new(&copy)
        .into_iter()
        .flatten()
        .filter(|entry| {
            entry
                .path()
                .extension()
                .is_some_and(|extension| extension == "rs")
        });
    assert!(sources.count() > 1000, "these are sources");
}

#[test]
fn every_built_page_of_a_big_file_is_its_own() {
    let directory = TempDir::new().unwrap();
    Build::at(directory.path()).big("big", 3 * 4096 + 10);
    let bytes = fs::read(directory.path().join("big")).unwrap();
    assert_eq!(bytes.len(), 3 * 4096 + 10);
    assert!(bytes.chunks(4096).collect::<BTreeSet<_>>().len() == 4);
}

#[test]
fn harmful_characters_are_known() {
    for c in [
        '\u{1b}', '\r', '\u{8}', '\u{7f}', '\u{9b}', '\u{202e}', '\u{2067}', '\u{0}',
    ] {
        assert!(is_harmful(c), "{c:?}");
    }
    for c in ['\n', '\t', 'a', 'é', '💾', '\u{2026}'] {
        assert!(!is_harmful(c), "{c:?}");
    }
}

#[test]
fn a_failed_run_shows_all_that_it_said() {
    let run = || Run {
        command: "jackin recovery list".into(),
        status: Some(std::os::unix::process::ExitStatusExt::from_raw(3 << 8)),
        stdout: b"on stdout \x1b[31m".to_vec(),
        stderr: b"on stderr".to_vec(),
    };
    assert_eq!(run().exit(), Some(3));
    let missed = std::panic::catch_unwind(|| run().ok()).err().unwrap();
    let text = missed.downcast_ref::<String>().unwrap();
    for fact in ["jackin recovery list", "exit code 3", "on stdout", "on stderr"] {
        assert!(text.contains(fact), "{fact}: {text}");
    }
    assert!(!text.contains('\u{1b}'), "a message must not hurt either");
    for check in [
        |run: Run| run.harmless(),
        |run: Run| run.shows("nowhere"),
        |run: Run| run.hides("on stderr"),
    ] {
        assert!(std::panic::catch_unwind(|| check(run())).is_err());
    }
}
