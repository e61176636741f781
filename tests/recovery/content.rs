//! An agent edits, deletes, moves and empties files; they come back byte for byte (scenarios 5, 6, 7).

use std::fs;

use crate::support::build::Build;
use crate::support::compare::{assert_kept, assert_same_tree, assert_untouched};
use crate::support::documents::Change;
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

#[test]
fn s05_plain_directory_comes_back_and_no_git_appears() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("plain");
    Build::at(&project)
        .file("notes.md", "first\n")
        .file("src/lib.rs", "pub fn one() {}\n")
        .file("src/gone.rs", "pub fn gone() {}\n")
        .file("kept.txt", "kept\n")
        .aged();
    let before = Tree::read(&project);

    let id = sandbox.launch(
        &project,
        "echo second > notes.md; rm src/gone.rs; echo more >> src/lib.rs; mkdir out; echo new > out/new.txt",
    );
    sandbox.diff(&id, &[]).are(&[
        ("modified", "notes.md"),
        ("modified", "src/lib.rs"),
        ("deleted", "src/gone.rs"),
        ("added", "out"),
        ("added", "out/new.txt"),
    ]);
    sandbox
        .restore(&id, &[])
        .touched(&["notes.md", "out", "out/new.txt", "src/gone.rs", "src/lib.rs"]);

    let after = Tree::read(&project);
    assert_same_tree(&before, &after);
    assert_kept(&before, &after, &["notes.md", "src/lib.rs", "src/gone.rs", "out"]);
    assert!(!after.has(".git"), "a directory without git stays without it");
}

#[test]
fn s05_edit_that_keeps_size_and_mtime_is_found() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("sly");
    Build::at(&project)
        .file("a", "one\n")
        .file("b", "bbb\n")
        .file("c", "ccc\n")
        .aged();
    let before = Tree::read(&project);

    let id = sandbox.launch(
        &project,
        "touch -r a stamp; echo two > a; touch -r stamp a; touch -r b stamp; echo BBB > new; touch -r b new; \
         mv new b; rm stamp",
    );
    sandbox
        .diff(&id, &[])
        .are(&[("modified", "a"), ("modified", "b")]);
    sandbox.restore(&id, &[]);
    assert_same_tree(&before, &Tree::read(&project));
}

#[test]
fn s05_change_of_times_alone_is_no_change() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("touched");
    Build::at(&project)
        .file("a", "one\n")
        .dir("d")
        .file("copy", "same bytes\n")
        .aged();

    let id = sandbox.launch(&project, "touch a d; cp -p copy again; mv again copy");
    sandbox.diff(&id, &[]).are::<&str>(&[]);
    let touched = Tree::read(&project);
    sandbox.restore(&id, &[]).nothing();
    assert_untouched(&touched, &Tree::read(&project));
}

#[test]
fn s06_moved_file_is_renamed_back() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("moved");
    Build::at(&project)
        .file("src/a", "the content that makes it known again\n".repeat(20))
        .file("src/other", "other\n")
        .aged();
    let before = Tree::read(&project);

    let id = sandbox.launch(&project, "mv src/a src/b");
    let changes = sandbox.diff(&id, &[]);
    let renamed = Change {
        path: b"src/b".to_vec(),
        what: "renamed".into(),
        from: Some(b"src/a".to_vec()),
    };
    assert_eq!(changes.all, [renamed], "{}", changes.shown);
    sandbox
        .diff(&id, &["--no-renames"])
        .are(&[("deleted", "src/a"), ("added", "src/b")]);
    sandbox.jackin(["diff", &id]).ok().shows("src/a").shows("src/b");

    sandbox.restore(&id, &[]);
    let after = Tree::read(&project);
    assert_same_tree(&before, &after);
    assert_kept(&before, &after, &["src/a"]);
}

#[test]
fn s06_moved_directory_comes_back() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("moved-directory");
    let build = Build::at(&project);
    for number in 0..20 {
        build.file(
            format!("lib/part/file-{number}"),
            format!("content of file {number}\n").repeat(8),
        );
    }
    build.dir("lib/empty").mode("lib/empty", 0o750).aged();
    let before = Tree::read(&project);

    let id = sandbox.launch(
        &project,
        "mkdir -p vendor; mv lib vendor/lib; echo edited >> vendor/lib/part/file-3",
    );
    sandbox.restore(&id, &[]);
    assert_same_tree(&before, &Tree::read(&project));
}

#[test]
fn s07_emptied_big_file_comes_back() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("big");
    Build::at(&project)
        .big("big.bin", 200 << 20)
        .file("small", "small\n")
        .aged();
    let before = Tree::read(&project);

    let id = sandbox.launch(&project, "truncate -s0 big.bin");
    sandbox.diff(&id, &[]).are(&[("modified", "big.bin")]);
    // Too big for a patch, and said so: neither left out nor dumped.
    let patch = sandbox.jackin(["diff", &id, "--patch"]).ok().shows("big.bin");
    assert!(
        patch.stdout.len() < 1 << 20,
        "{} bytes of patch",
        patch.stdout.len()
    );
    sandbox.restore(&id, &[]).touched(&["big.bin"]);
    assert_same_tree(&before, &Tree::read(&project));
}

#[test]
fn s07_sparse_file_stays_sparse() {
    if crate::support::machine::is_portable(crate::support::machine::NO_HOLES) {
        return;
    }
    use std::os::unix::fs::MetadataExt as _;
    let sandbox = Sandbox::new();
    let project = sandbox.project("sparse");
    let size = 64 << 20;
    Build::at(&project)
        .sparse(
            "disk.img",
            size,
            &[(0, b"head"), (size / 2, b"middle"), (size - 4, b"tail")],
        )
        .aged();
    let before = Tree::read(&project);
    let blocks = |path| fs::metadata(path).unwrap().blocks();
    let image = project.join("disk.img");
    let used = blocks(&image);

    let id = sandbox.launch(&project, "rm disk.img");
    sandbox.restore(&id, &[]);
    assert_same_tree(&before, &Tree::read(&project));
    assert!(
        blocks(&image) <= used + 64,
        "{} blocks instead of {used}",
        blocks(&image)
    );
}

#[test]
fn s07_files_that_lose_or_get_holes_go_back_and_forth() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("holes");
    for (at, size) in [1, 5 << 20, 20 << 20].into_iter().enumerate() {
        Build::at(&project)
            .sparse(format!("filled-{at}"), size, &[])
            .big(format!("emptied-{at}"), size);
    }
    Build::at(&project).aged();
    let before = Tree::read(&project);
    let id = sandbox.launch(
        &project,
        "for at in 0 1 2; do cat emptied-$at > new; size=$(stat -c %s new); \
         : > emptied-$at; truncate -s $size emptied-$at; tr '\\0' x < new > filled-$at; done; rm new",
    );
    let after = Tree::read(&project);
    sandbox.restore(&id, &[]);
    assert_same_tree(&before, &Tree::read(&project));
    // The same bytes are the same state, wherever the holes lay when they were digested.
    for expected in [&after, &before, &after] {
        sandbox.undo(&id);
        assert_same_tree(expected, &Tree::read(&project));
    }
    sandbox
        .diff(&id, &["--from", "closing", "--to", "now"])
        .are::<&str>(&[]);
}

#[test]
fn s27_sessions_go_back_one_after_the_other() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("twice");
    Build::at(&project).file("a", "first\n").aged();
    let before = Tree::read(&project);

    let first = sandbox.launch(&project, "echo second > a");
    let between = Tree::read(&project);
    let second = sandbox.launch(&project, "echo third > a; echo b > b");
    sandbox.restore(&second, &[]).touched(&["a", "b"]);
    assert_same_tree(&between, &Tree::read(&project));
    // What our own restore left is nobody's later edit: the first session can go back too.
    sandbox.restore(&first, &[]).touched(&["a"]);
    assert_same_tree(&before, &Tree::read(&project));
}

#[test]
fn sizes_that_no_number_can_sum_up_are_no_trouble() {
    if crate::support::machine::is_portable(crate::support::machine::NO_HOLES) {
        return;
    }
    let memory = std::path::Path::new("/dev/shm");
    let made = tempfile::TempDir::with_prefix_in("jr-", memory);
    let Ok(project) = made else {
        crate::support::machine::skip("enormous sparse files", "there is no /dev/shm to write to");
        return;
    };
    let project = project.path();
    Build::at(project).file("a", "before\n");
    let sandbox = Sandbox::new();
    // Three of these are more than 64 bits hold.
    let script = "echo agent > a; truncate -s 9223372036854771712 x y z";
    let id = sandbox.launch(project, script);
    sandbox.jackin(["diff", &id, "--stat"]).ok();
    sandbox.restore(&id, &[]);
    assert_eq!(fs::read(project.join("a")).unwrap(), b"before\n");
    assert!(!project.join("x").exists());
    sandbox.undo(&id);
    assert_eq!(
        fs::metadata(project.join("z")).unwrap().len(),
        9_223_372_036_854_771_712
    );
}
