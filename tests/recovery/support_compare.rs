//! The workshop itself: a comparison that finds nothing would pass every test, and the trees that tests start from are what they claim to be.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use tempfile::TempDir;

use crate::support::build::Build;
use crate::support::compare::{Exactness, assert_kept, changed_paths, differences};
use crate::support::machine::{is_root, skip};
use crate::support::run::{Run, is_harmful};
use crate::support::tree::{Kind, Tree};
use crate::support::{nasty, real_tree};

/// The lines that tell a fresh tree from the same tree after `change`.
fn found(exactness: Exactness, change: impl FnOnce(&Path)) -> Vec<String> {
    let directory = TempDir::new().unwrap();
    let root = directory.path();
    Build::at(root)
        .file("file", "content\n")
        .file("pair-1", "pair\n")
        .hard_link("pair-2", "pair-1")
        .file("dir/inner", "inner\n")
        .dir("empty")
        .symlink("link", "file")
        .fifo("pipe")
        .attribute("file", "user.one", "1")
        .aged();
    let before = Tree::read(root);
    change(root);
    differences(&before, &Tree::read(root), exactness)
}

#[track_caller]
fn one_line(lines: &[String], path: &str, what: &str) {
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(
        lines[0].starts_with(&format!("\"{path}\"")) && lines[0].contains(what),
        "{lines:?}"
    );
}

#[test]
fn nothing_is_found_where_nothing_is() {
    assert!(found(Exactness::Everything, |_| ()).is_empty());
    assert!(found(Exactness::Everything, |root| drop(Tree::read(root))).is_empty());
}

#[test]
fn each_kind_of_difference_is_found() {
    use Exactness::Content;
    let build = Build::at;
    one_line(
        &found(Content, |root| fs::write(root.join("file"), "Content\n").unwrap()),
        "file",
        "content",
    );
    one_line(
        &found(Content, |root| fs::remove_file(root.join("file")).unwrap()),
        "file",
        "only on the left",
    );
    one_line(
        &found(Content, |root| {
            build(root).file("new", "");
        }),
        "new",
        "only on the right",
    );
    one_line(
        &found(Content, |root| {
            build(root).mode("file", 0o600);
        }),
        "file",
        "mode: 0644 | 0600",
    );
    one_line(
        &found(Content, |root| {
            build(root).mode("empty", 0o2755);
        }),
        "empty",
        "mode: 0755 | 2755",
    );
    one_line(
        &found(Content, |root| {
            build(root).mode("", 0o711);
        }),
        "",
        "mode",
    );
    one_line(
        &found(Content, |root| fs::remove_dir(root.join("empty")).unwrap()),
        "empty",
        "only on the left",
    );
    one_line(
        &found(Content, |root| {
            build(root).attribute("file", "user.one", "2");
        }),
        "file",
        "attributes",
    );
    one_line(
        &found(Content, |root| {
            build(root).attribute("dir", "user.two", "");
        }),
        "dir",
        "attributes",
    );
    let retargeted = found(Content, |root| {
        fs::remove_file(root.join("link")).unwrap();
        build(root).symlink("link", "other");
    });
    one_line(&retargeted, "link", "content");
    let turned_into_a_file = found(Content, |root| {
        fs::remove_file(root.join("link")).unwrap();
        build(root).file("link", "file");
    });
    assert!(
        turned_into_a_file.iter().any(|line| line.contains("Link")),
        "{turned_into_a_file:?}"
    );
    let not_a_pipe = found(Content, |root| {
        fs::remove_file(root.join("pipe")).unwrap();
        build(root).socket("pipe");
    });
    one_line(&not_a_pipe, "pipe", "Fifo | Socket");
    let filled = found(Content, |root| {
        build(root).sparse("file", 8, &[]);
    });
    one_line(&filled, "file", "content");
}

#[test]
fn hard_link_groups_are_compared() {
    let broken = found(Exactness::Content, |root| {
        fs::copy(root.join("pair-1"), root.join("copy")).unwrap();
        fs::rename(root.join("copy"), root.join("pair-1")).unwrap();
    });
    assert_eq!(broken.len(), 2, "{broken:?}");
    assert!(
        broken.iter().all(|line| line.contains("hard link group")),
        "{broken:?}"
    );
    let linked = found(Exactness::Content, |root| {
        Build::at(root).hard_link("dir/pair-3", "pair-1");
    });
    // The group's first name is now the one in `dir`, so every member says so.
    assert_eq!(linked.len(), 3, "{linked:?}");
}

#[test]
fn owner_is_compared() {
    if !is_root() {
        skip("owner_is_compared", "only root gives files away");
        return;
    }
    let given = found(Exactness::Content, |root| {
        std::os::unix::fs::lchown(root.join("link"), Some(1), Some(2)).unwrap();
    });
    one_line(&given, "link", "owner: (0, 0) | (1, 2)");
}

#[test]
fn identity_and_times_are_compared_when_asked() {
    let touch = |root: &Path| {
        Build::at(root).time("file", 1, 2);
    };
    assert!(found(Exactness::Content, touch).is_empty());
    one_line(&found(Exactness::Identity, touch), "file", "mtime");
    let replaced = |root: &Path| {
        let (file, copy) = (root.join("file"), root.join("copy"));
        // Made beside it first, so that the inode cannot be the same one again.
        std::process::Command::new("cp")
            .arg("-a")
            .args([&file, &copy])
            .status()
            .unwrap();
        fs::rename(copy, file).unwrap();
        Build::at(root).time("", 1_700_000_009, 0);
    };
    assert!(found(Exactness::Content, replaced).is_empty());
    let lines = found(Exactness::Identity, replaced);
    assert!(
        lines.iter().any(|line| line.contains("\"file\": inode")),
        "{lines:?}"
    );
    // The same mode set again changes the change time only.
    let again =
        |root: &Path| fs::set_permissions(root.join("file"), fs::Permissions::from_mode(0o644)).unwrap();
    assert!(found(Exactness::Identity, again).is_empty());
    one_line(&found(Exactness::Everything, again), "file", "ctime");
}

#[test]
fn kept_allows_the_touched_paths_and_no_other() {
    let directory = TempDir::new().unwrap();
    let build = Build::at(directory.path());
    build.file("a/x", "x").file("a/y", "y").file("b/z", "z").aged();
    let before = Tree::read(directory.path());
    fs::remove_file(directory.path().join("a/x")).unwrap();
    build.file("a/x", "changed");
    let after = Tree::read(directory.path());
    assert_kept(&before, &after, &["a/x"]);
    assert_kept(&before, &after, &["a"]);
    for touched in [&["a/y"][..], &["b"], &[]] {
        let missed = std::panic::catch_unwind(|| assert_kept(&before, &after, touched));
        assert!(missed.is_err(), "{touched:?}");
    }
    build.mode("a/y", 0o600);
    let after = Tree::read(directory.path());
    assert!(std::panic::catch_unwind(|| assert_kept(&before, &after, &["a/x"])).is_err());
    assert_eq!(changed_paths(&before, &after), [b"a/x".to_vec(), b"a/y".to_vec()]);
}

#[test]
fn parts_of_a_tree_end_at_names() {
    let directory = TempDir::new().unwrap();
    Build::at(directory.path())
        .file("a/x", "")
        .file("ab", "")
        .file("a-b/y", "");
    let tree = Tree::read(directory.path());
    let paths = |tree: &Tree| {
        tree.paths()
            .map(|path| String::from_utf8_lossy(path).into_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(paths(&tree.only("a")), ["a", "a/x"]);
    assert_eq!(paths(&tree.without("a")), ["a-b", "a-b/y", "ab"]);
}

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
