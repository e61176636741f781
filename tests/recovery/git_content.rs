//! What git ignores, tracks or forgets changes nothing about what is protected (scenarios 1, 20, 21).

use crate::support::build::Build;
use crate::support::compare::{assert_kept, assert_same_tree, assert_untouched};
use crate::support::git::Repository;
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

#[test]
fn s01_ignored_files_come_back_byte_for_byte() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("ignored");
    let repository = Repository::with_history(&project, 2);
    let build = Build::at(&project);
    build.file(".gitignore", ".env\nlocal.db\ndata/*.csv\n");
    repository.commit("ignore");
    build
        .file(".env", "TOKEN=not-a-real-one\n")
        .mode(".env", 0o600)
        .file("local.db", (0..=255_u8).cycle().take(300_000).collect::<Vec<_>>())
        .file("data/one.csv", "1,2,3\n")
        .file("data/two.csv", "4,5,6\n")
        .file("data/readme", "tracked by nobody\n")
        .aged();
    let before = Tree::read(&project);

    let id = sandbox.launch(&project, "rm .env local.db data/*.csv");
    let gone = [".env", "data/one.csv", "data/two.csv", "local.db"];
    sandbox.diff(&id, &[]).are(&gone.map(|path| ("deleted", path)));
    sandbox.restore(&id, &[]).touched(&gone);
    let after = Tree::read(&project);
    assert_same_tree(&before, &after);
    assert_kept(&before, &after, &gone);
}

#[test]
fn s20_tracked_and_ignored_file_is_never_deleted() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("forced");
    let repository = Repository::init(&project);
    Build::at(&project)
        .file(".gitignore", "*.log\nbuild/\n")
        .file("keep.log", "added with -f\n")
        .file("build/keep.txt", "added with -f\n")
        .file("a", "before\n");
    repository.git(&["add", "-f", "keep.log", "build/keep.txt"]);
    repository.commit("all");
    Build::at(&project)
        .file("loose.log", "ignored, tracked by nobody\n")
        .aged();
    let before = Tree::read(&project);

    let id = sandbox.launch(
        &project,
        "echo agent > a; git rm -q --cached keep.log; echo x > new.log; echo x > build/new",
    );
    sandbox.restore(&id, &[]);
    let after = Tree::read(&project);
    assert_same_tree(&before, &after);
    for path in ["keep.log", "build/keep.txt", "loose.log"] {
        assert_untouched(&before.only(path), &after.only(path));
    }
}

#[test]
fn s21_line_taken_out_of_gitignore_costs_no_file() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("unignored");
    let repository = Repository::init(&project);
    Build::at(&project)
        .file(".gitignore", ".env\nsecrets/\n")
        .file("a", "before\n");
    repository.commit("all");
    Build::at(&project)
        .file(".env", "TOKEN=x\n")
        .mode(".env", 0o600)
        .file("secrets/key", "k\n")
        .aged();
    let before = Tree::read(&project);

    let id = sandbox.launch(&project, ": > .gitignore; echo agent > a");
    sandbox
        .diff(&id, &[])
        .are(&[("modified", ".gitignore"), ("modified", "a")]);
    sandbox.restore(&id, &[]).touched(&[".gitignore", "a"]);
    let after = Tree::read(&project);
    assert_same_tree(&before, &after);
    for path in [".env", "secrets"] {
        assert_untouched(&before.only(path), &after.only(path));
    }
}

#[test]
fn s21_line_put_into_gitignore_hides_nothing() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("hidden");
    let repository = Repository::init(&project);
    Build::at(&project)
        .file("a", "before\n")
        .file("b", "before\n")
        .file(".gitignore", "none\n");
    repository.commit("all");
    Build::at(&project).aged();
    let before = Tree::read(&project);

    // Today's .gitignore says that all of this is not worth looking at.
    let id = sandbox.launch(
        &project,
        "echo '*' > .gitignore; echo agent > a; rm b; echo x > planted; mkdir -p d/e",
    );
    sandbox.restore(&id, &[]);
    assert_same_tree(&before, &Tree::read(&project));
}
