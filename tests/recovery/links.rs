//! Symbolic and hard links (scenarios 10, 13, 14): also when only some names of a file are put back, or only metadata differ. The undo has to find
//! all of them names of one file again.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::Command;

use crate::support::build::Build;
use crate::support::compare::{assert_kept, assert_same_tree, assert_untouched};
use crate::support::machine::run_tool;
use crate::support::sandbox::Sandbox;
use crate::support::tree::{Kind, Tree};

const SECRET: &str = "-----BEGIN MARKED PRIVATE KEY-----";

#[test]
fn s10_symlinks_come_back_with_their_targets() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("links");
    Build::at(&project)
        .file("target", "t\n")
        .file("other", "o\n")
        .file("dir/inside", "i\n")
        .symlink("deleted", "target")
        .symlink("retargeted", "target")
        .symlink("replaced", "target")
        .symlink("became-dir", "dir")
        .symlink("dangling", "no/such")
        .symlink("absolute", "/nonexistent/place")
        .symlink("untouched", "dir/../target")
        .aged();
    let before = Tree::read(&project);

    let id = sandbox.launch(
        &project,
        "rm deleted dangling; ln -sfn other retargeted; rm replaced; echo file > replaced; \
         rm became-dir; mkdir became-dir; echo x > became-dir/x; ln -sfn /etc absolute",
    );
    sandbox.diff(&id, &["--no-renames"]).are(&[
        ("deleted", "deleted"),
        ("deleted", "dangling"),
        ("modified", "retargeted"),
        ("modified", "absolute"),
        ("type", "replaced"),
        ("type", "became-dir"),
        ("added", "became-dir/x"),
    ]);
    sandbox.restore(&id, &[]);
    let after = Tree::read(&project);
    assert_same_tree(&before, &after);
    assert_kept(
        &before,
        &after,
        &[
            "deleted",
            "dangling",
            "retargeted",
            "absolute",
            "replaced",
            "became-dir",
        ],
    );
}

#[test]
fn s10_files_and_directories_replaced_by_links_come_back() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("replaced");
    let outside = sandbox.project("outside");
    Build::at(&outside)
        .file("a", "outside a\n")
        .file("b", "outside b\n")
        .aged();
    Build::at(&project)
        .file("file", "f\n")
        .file("dir/a", "a\n")
        .file("dir/sub/b", "b\n")
        .aged();
    let before = Tree::read(&project);
    let outside_before = Tree::read(&outside);

    let id = sandbox.launch(
        &project,
        "rm file; ln -s ../outside/a file; rm -r dir; ln -s ../outside dir",
    );
    sandbox.restore(&id, &[]);
    assert_same_tree(&before, &Tree::read(&project));
    assert_untouched(&outside_before, &Tree::read(&outside));
}

#[test]
fn s13_planted_link_never_pulls_in_its_target() {
    let sandbox = Sandbox::new();
    let key = sandbox.home().join(".ssh/id_rsa");
    Build::at(&sandbox.home())
        .file(".ssh/id_rsa", format!("{SECRET}\n"))
        .mode(".ssh/id_rsa", 0o600);
    Build::at(&sandbox.home()).mode(".ssh", 0o700);
    let key_before = Tree::read(key.parent().unwrap());
    let project = sandbox.project("planted");
    Build::at(&project)
        .file("notes", "notes\n")
        .file("kept", "k\n")
        .symlink("old", key.to_str().unwrap())
        .aged();
    let before = Tree::read(&project);

    let id = sandbox.launch(
        &project,
        "ln -s ~/.ssh/id_rsa x; rm notes; ln -s ~/.ssh/id_rsa notes; ln -s ~/.ssh d",
    );
    let report = sandbox.scratch("report.html");
    let html = ["diff", &id, "--html", report.to_str().unwrap()];
    for args in [
        &["show", &id][..],
        &["diff", &id],
        &["diff", &id, "--patch"],
        &["diff", &id, "--patch", "--show-secrets"],
        &["diff", &id, "--json"],
        &["restore", &id, "--dry-run"],
        &["list"],
    ] {
        sandbox.jackin(args).ok().hides(SECRET);
    }
    if sandbox.jackin(html).exit() == Some(0) {
        assert!(!fs::read_to_string(report).unwrap().contains(SECRET));
    }
    sandbox
        .diff(&id, &[])
        .are(&[("added", "x"), ("added", "d"), ("type", "notes")]);
    sandbox.restore(&id, &[]).touched(&["d", "notes", "x"]);
    assert_same_tree(&before, &Tree::read(&project));
    assert_untouched(&key_before, &Tree::read(key.parent().unwrap()));
    assert_store_lacks(&sandbox, SECRET);
}

/// Insists that no file of the store, and no archive's content, holds `secret`.
#[track_caller]
fn assert_store_lacks(sandbox: &Sandbox, secret: &str) {
    let mut archives = 0;
    for entry in walkdir::WalkDir::new(sandbox.store())
        .into_iter()
        .flatten()
        .filter(|e| e.file_type().is_file())
    {
        let mut bytes = fs::read(entry.path()).unwrap();
        if entry
            .path()
            .extension()
            .is_some_and(|extension| extension == "zst")
        {
            archives += 1;
            bytes = run_tool(Command::new("zstd").arg("-dcq").arg(entry.path()));
        }
        let found = bytes
            .windows(secret.len())
            .any(|window| window == secret.as_bytes());
        assert!(!found, "the secret is in {}", entry.path().display());
    }
    assert!(archives > 0, "no archive was looked at");
}

#[test]
fn s14_hard_links_come_back_as_links() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("hard");
    Build::at(&project)
        .file("edited-1", "edited through one name\n")
        .hard_link("edited-2", "edited-1")
        .file("broken-1", "one name becomes a copy\n")
        .hard_link("sub/broken-2", "broken-1")
        .file("gone-1", "all names go\n")
        .hard_link("gone-2", "gone-1")
        .hard_link("sub/gone-3", "gone-1")
        .file("half-1", "one name goes\n")
        .hard_link("half-2", "half-1")
        .file("single-1", "the same bytes, never linked\n")
        .file("single-2", "the same bytes, never linked\n")
        .file("kept-1", "kept\n")
        .hard_link("kept-2", "kept-1")
        .aged();
    let before = Tree::read(&project);

    let id = sandbox.launch(
        &project,
        "echo more >> edited-1; cp broken-1 c; mv c broken-1; echo x >> broken-1; \
         rm gone-1 gone-2 sub/gone-3 half-2; rm single-2; ln single-1 single-2; ln kept-1 planted",
    );
    sandbox.restore(&id, &[]);
    let after = Tree::read(&project);
    assert_same_tree(&before, &after);
    assert_eq!(after.at("edited-2").group.as_deref(), Some(&b"edited-1"[..]));
    assert_eq!(before.at("kept-1").times.inode, after.at("kept-1").times.inode);
    assert_eq!(
        fs::metadata(project.join("kept-1")).unwrap().nlink(),
        2,
        "the planted name is gone"
    );
}

#[test]
fn s14_name_outside_the_mount_keeps_its_bytes() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("shared");
    let outside = sandbox.project("outside");
    Build::at(&project).file("inside", "first\n");
    Build::at(&sandbox.sources()).hard_link("outside/name", "shared/inside");
    Build::at(&project).aged();
    let before = Tree::read(&project);

    let id = sandbox.launch(&project, "echo second > inside");
    let outside_then = Tree::read(&outside);
    sandbox.restore(&id, &[]);
    assert_same_tree(&before, &Tree::read(&project));
    let outside_now = Tree::read(&outside);
    assert_eq!(
        outside_now.at("name").kind,
        outside_then.at("name").kind,
        "what lies outside is not ours to change"
    );
    assert!(matches!(&outside_now.at("name").kind, Kind::File(content) if content.size == 7));
}

#[test]
fn one_name_of_a_pair_is_put_back_and_that_is_all_there_is_to_do() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("pair");
    Build::at(&project)
        .file("a", "before\n")
        .hard_link("b", "a")
        .aged();
    let id = sandbox.launch(&project, "rm a b; echo agent > a; echo agent > b");
    sandbox.restore(&id, &["b"]).touched(&["b"]);
    let read = |name: &str| fs::read_to_string(project.join(name)).unwrap();
    assert_eq!((read("a").as_str(), read("b").as_str()), ("agent\n", "before\n"));
    sandbox.restore(&id, &["b"]).nothing();
    // Both together are one file again.
    sandbox.restore(&id, &[]);
    let inode = |name: &str| project.join(name).metadata().unwrap().ino();
    assert_eq!(inode("a"), inode("b"));
}

#[test]
fn name_that_lost_its_partner_later_is_not_made_anew() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("lost");
    Build::at(&project)
        .file("a", "before\n")
        .hard_link("b", "a")
        .aged();
    let id = sandbox.launch(&project, "echo new > c");
    fs::remove_file(project.join("a")).unwrap();
    let inode = project.join("b").metadata().unwrap().ino();
    let restored = sandbox.restore_in_part(&id, &[]);
    restored.touched(&["c"]);
    restored.conflicted(&["a"]);
    assert_eq!(project.join("b").metadata().unwrap().ino(), inode);
}

#[test]
fn mode_of_a_pair_is_put_back_through_one_name_for_both() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("modes");
    Build::at(&project)
        .file("a", "before\n")
        .hard_link("d/b", "a")
        .aged();
    let before = Tree::read(&project);
    let id = sandbox.launch(&project, "chmod 777 a");
    let damaged = Tree::read(&project);
    sandbox.restore(&id, &[]).touched(&["a", "d/b"]);
    assert_same_tree(&before, &Tree::read(&project));
    sandbox.undo(&id);
    assert_same_tree(&damaged, &Tree::read(&project));
}

#[test]
fn second_name_comes_back_beside_one_whose_mode_does() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("beside");
    Build::at(&project).file("a", "before\n").dir("d").aged();
    let before = Tree::read(&project);
    let id = sandbox.launch(&project, "ln a d/b; chmod 751 a");
    let damaged = Tree::read(&project);
    sandbox.restore(&id, &[]);
    assert_same_tree(&before, &Tree::read(&project));
    sandbox.undo(&id);
    assert_same_tree(&damaged, &Tree::read(&project));
}

#[test]
fn mode_of_one_name_is_put_back_without_touching_the_other() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("apart");
    Build::at(&project)
        .file("a", "before\n")
        .hard_link("b", "a")
        .mode("a", 0o640)
        .aged();
    let before = Tree::read(&project);
    let id = sandbox.launch(&project, "chmod 777 a");
    sandbox.restore(&id, &["b"]).touched(&["b"]);
    let mode = |name: &str| project.join(name).metadata().unwrap().mode() & 0o7777;
    assert_eq!((mode("a"), mode("b")), (0o777, 0o640));
    sandbox.restore(&id, &[]);
    assert_same_tree(&before, &Tree::read(&project));
}

pub(crate) fn inode(path: &Path) -> u64 {
    path.symlink_metadata().unwrap().ino()
}

fn mode(path: &Path) -> u32 {
    path.symlink_metadata().unwrap().mode() & 0o7777
}

/// Runs `restore`, which may leave conflicts, then `undo` and the undo of that; each has to find link groups as they were.
#[track_caller]
pub(crate) fn there_and_back(sandbox: &Sandbox, id: &str, world: &Path, more: &[&str]) {
    let now = Tree::read(world);
    let args = ["restore", id, "--yes", "--json"]
        .into_iter()
        .chain(more.iter().copied());
    sandbox.jackin(args).code_in(&[0, 6]);
    let after = Tree::read(world);
    sandbox.undo(id);
    assert_same_tree(&now, &Tree::read(world));
    sandbox.undo(id);
    assert_same_tree(&after, &Tree::read(world));
    sandbox.undo(id);
    assert_same_tree(&now, &Tree::read(world));
}

#[test]
fn undo_joins_a_name_that_was_made_later() {
    let damages: [&dyn Fn(&Path); 2] = [
        &|project| _ = Build::at(project).attribute("c", "user.k", "1"),
        &|project| _ = Build::at(project).mode("c", 0o600),
    ];
    for damage in damages {
        let sandbox = Sandbox::new();
        let project = sandbox.project("later");
        Build::at(&project).file("c", "x\n").mode("c", 0o644).aged();
        let id = sandbox.session(&project, damage);
        Build::at(&project).hard_link("d/b", "c");
        let plan = sandbox.jackin(["restore", &id, "--dry-run"]).code_in(&[0, 6]);
        plan.has("no longer linked to d/b");
        let plan = sandbox.plan(&id, &[]);
        assert_eq!(plan.document["applied"][0]["parted_from"][0]["path"], "d/b");
        there_and_back(&sandbox, &id, &project, &[]);
        assert_eq!(inode(&project.join("c")), inode(&project.join("d/b")));
    }
}

#[test]
fn undo_joins_a_name_that_was_not_asked_for() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("asked");
    Build::at(&project)
        .file("a", "x\n")
        .hard_link("b", "a")
        .hard_link("c", "a")
        .mode("a", 0o644)
        .aged();
    let id = sandbox.launch(&project, "chmod 600 a");
    sandbox
        .jackin(["restore", &id, "--dry-run", "a"])
        .ok()
        .shows("no longer linked to b, c");
    for one in ["a", "b", "c"] {
        there_and_back(&sandbox, &id, &project, &[one]);
    }
}

#[test]
fn metadata_of_a_file_with_an_excluded_name_are_set_in_place() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("excluded");
    Build::at(&project).file("c", "x\n").mode("c", 0o644).aged();
    let was = inode(&project.join("c"));
    let id = sandbox.launch_with(&["--exclude", "/b"], &project, "chmod 600 c; ln c b");
    let plan = sandbox.jackin(["restore", &id, "--dry-run"]).ok();
    plan.has("1 other name outside");
    let plan = sandbox.plan(&id, &[]);
    assert_eq!(plan.document["applied"][0]["names_outside"], 1);
    sandbox.restore(&id, &[]);
    assert_eq!(inode(&project.join("c")), was);
    assert_eq!(mode(&project.join("c")), 0o644);
    sandbox.undo(&id);
    assert_eq!((inode(&project.join("b")), inode(&project.join("c"))), (was, was));
    assert_eq!(mode(&project.join("c")), 0o600);
    there_and_back(&sandbox, &id, &project, &[]);
}

#[test]
fn metadata_of_a_file_with_a_name_outside_the_mount_are_set_in_place() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("inside");
    Build::at(&project).file("c", "x\n").mode("c", 0o640).aged();
    let outside = sandbox.sources().join("out");
    fs::hard_link(project.join("c"), &outside).unwrap();
    let (was, mtime) = (inode(&outside), outside.metadata().unwrap().mtime());
    let id = sandbox.session(&project, |project| {
        Build::at(project).mode("c", 0o600).attribute("c", "user.k", "1");
    });
    sandbox
        .jackin(["restore", &id, "--dry-run"])
        .ok()
        .shows("1 other name outside");
    sandbox.restore(&id, &[]);
    assert_eq!(
        (inode(&project.join("c")), inode(&outside), mode(&outside)),
        (was, was, 0o640)
    );
    assert_eq!(outside.metadata().unwrap().mtime(), mtime);
    sandbox.undo(&id);
    assert_eq!(
        (inode(&project.join("c")), inode(&outside), mode(&outside)),
        (was, was, 0o600)
    );
    there_and_back(&sandbox, &id, &sandbox.sources(), &[]);
}

#[test]
fn metadata_of_a_file_that_the_session_linked_in_from_outside_are_not_changed_there() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("planted");
    Build::at(&project).file("c", "").mode("c", 0o666).aged();
    Build::at(&sandbox.sources()).file("lock", "").mode("lock", 0o600);
    let id = sandbox.launch(&project, "ln -f ../lock c");
    let outside = sandbox.sources().join("lock");
    assert_eq!(inode(&project.join("c")), inode(&outside));
    sandbox
        .jackin(["restore", &id, "--dry-run"])
        .ok()
        .shows("no longer linked to 1 name outside");
    sandbox.restore(&id, &[]);
    assert_eq!((mode(&project.join("c")), mode(&outside)), (0o666, 0o600));
}

#[test]
fn a_file_whose_content_changed_says_that_it_is_parted_from_a_name_outside() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("content");
    Build::at(&project).file("c", "first\n").aged();
    let outside = sandbox.sources().join("out");
    fs::hard_link(project.join("c"), &outside).unwrap();
    let id = sandbox.launch(&project, "echo second > c");
    sandbox
        .jackin(["restore", &id, "--dry-run"])
        .ok()
        .shows("no longer linked to 1 name outside");
    let plan = sandbox.plan(&id, &[]);
    assert_eq!(plan.document["applied"][0]["names_outside"], 1);
    assert_eq!(
        plan.document["applied"][0]["parted_from"],
        serde_json::Value::Null
    );
}

#[test]
fn undo_finds_the_excluded_name_of_a_file_whose_content_came_back() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("hidden");
    Build::at(&project).file("c", "first\n").aged();
    let id = sandbox.launch_with(
        &["--exclude", "/out/"],
        &project,
        "echo second > c; mkdir -p out/deep; ln c out/deep/b",
    );
    there_and_back(&sandbox, &id, &project, &[]);
    assert_eq!(inode(&project.join("c")), inode(&project.join("out/deep/b")));
}

#[test]
fn flags_of_a_file_with_a_name_outside_are_set_in_place() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("flags");
    Build::at(&project).file("c", "x\n").aged();
    let outside = sandbox.sources().join("out");
    fs::hard_link(project.join("c"), &outside).unwrap();
    let set = Command::new("chattr").arg("+d").arg(project.join("c")).status();
    if !set.is_ok_and(|status| status.success()) {
        return crate::support::machine::skip(
            "flags of a file with a name outside",
            "chattr has no effect here",
        );
    }
    run_tool(Command::new("chattr").arg("-d").arg(project.join("c")));
    let id = sandbox.launch(&project, "chattr +d c");
    there_and_back(&sandbox, &id, &sandbox.sources(), &[]);
    assert_eq!(inode(&project.join("c")), inode(&outside));
}

#[test]
fn links_to_names_outside_that_are_not_made_again_are_counted() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("linked");
    let outside = sandbox.sources().join("outside");
    fs::create_dir(&outside).unwrap();
    // As a package manager links a directory to its cache.
    let modules = (0..12).map(|number| format!("modules/{number}"));
    for name in modules.chain(["f".to_owned()]) {
        Build::at(&project).file(&name, format!("{name}\n"));
        let other = outside.join(Path::new(&name).file_name().unwrap());
        fs::hard_link(project.join(&name), other).unwrap();
    }
    let id = sandbox.launch(&project, "echo after > f; rm -r modules");
    let plan = sandbox.jackin(["restore", &id, "--dry-run"]).ok();
    plan.has("no longer linked to 1 name outside this directory's snapshot")
        .has("modules/ (12 files)")
        .has("Note: 12 files are not linked again to names outside this directory's snapshot");
    sandbox.restore(&id, &[]);
    let undo = sandbox.jackin(["undo", &id, "--yes"]).ok();
    undo.has("Note: 1 file is not linked again to a name outside this directory's snapshot");
    assert_eq!(
        fs::read(project.join("f")).unwrap(),
        fs::read(outside.join("f")).unwrap()
    );
}

#[test]
fn a_name_that_the_operator_linked_to_another_later_keeps_its_file() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("later");
    Build::at(&project)
        .file("a", "one\n")
        .file("K", "K\n")
        .file("b", "b\n")
        .aged();
    let id = sandbox.session(&project, |project| {
        fs::write(project.join("b"), "oops\n").unwrap()
    });
    fs::remove_file(project.join("K")).unwrap();
    fs::hard_link(project.join("a"), project.join("K")).unwrap();
    let linked = inode(&project.join("a"));
    sandbox
        .jackin(["restore", &id, "--yes"])
        .code(6)
        .shows("    K: changed after the session");
    assert_eq!(
        [inode(&project.join("a")), inode(&project.join("K"))],
        [linked; 2]
    );
    assert_eq!(fs::read_to_string(project.join("b")).unwrap(), "b\n");
    // A flag allows it.
    sandbox
        .jackin(["restore", &id, "--yes", "--overwrite-later-edits"])
        .ok();
    assert_ne!(inode(&project.join("a")), inode(&project.join("K")));
    assert_eq!(inode(&project.join("a")), linked);
}

/// Only the name that the session made, deleted or replaced changes. The file keeps its other names, its inode and its times.
#[test]
fn the_other_names_of_a_file_are_not_touched() {
    for (session, touched) in [
        ("rm a", &["a"][..]),
        ("ln a 0", &["0"]),
        ("cp a t; mv t a", &["a"]),
        ("cp b t; mv t b", &["b"]),
        ("cp a t; echo more >> t; mv t a", &["a"]),
        ("cp -p a t; chmod 600 t; mv t a", &["a"]),
        ("rm a; ln b 0", &["0", "a"]),
        ("ln -f other a", &["a"]),
    ] {
        let sandbox = Sandbox::new();
        let project = sandbox.project("names");
        Build::at(&project)
            .file("a", "one\n")
            .file("other", "one\n")
            .aged();
        for name in ["b", "sub-c"] {
            fs::hard_link(project.join("a"), project.join(name)).unwrap();
        }
        let before = Tree::read(&project);
        let id = sandbox.launch(&project, session);
        let wrecked = Tree::read(&project);
        sandbox.restore(&id, &["--mtimes", "exact"]).touched(touched);
        let after = Tree::read(&project);
        assert_same_tree(&before, &after);
        for name in ["a", "b", "sub-c"] {
            let metadata = |tree: &Tree| (tree.at(name).times.inode, tree.at(name).times.modified);
            assert_eq!(metadata(&before), metadata(&after), "{session}: {name}");
        }
        sandbox.undo(&id).touched(touched);
        assert_same_tree(&wrecked, &Tree::read(&project));
    }
}

/// The first name by its path need not be a name of that file any more.
#[test]
fn a_name_is_linked_to_the_file_that_it_was_a_name_of() {
    for (session, later, step) in [
        ("rm a", "cp b t; mv t b", &[][..]),
        ("rm a; cp b t; mv t b", "true", &["a"]),
    ] {
        let sandbox = Sandbox::new();
        let project = sandbox.project("names");
        Build::at(&project).file("a", "one\n").aged();
        for name in ["b", "c"] {
            fs::hard_link(project.join("a"), project.join(name)).unwrap();
        }
        let file = inode(&project.join("c"));
        let id = sandbox.launch(&project, session);
        run_tool(Command::new("sh").args(["-c", later]).current_dir(&project));
        sandbox
            .jackin([&["restore", &id, "--yes"][..], step].concat())
            .code_in(&[0, 6]);
        assert_eq!(inode(&project.join("a")), file, "{session}, {later}");
        assert_ne!(inode(&project.join("b")), file, "{session}, {later}");
        if !step.is_empty() {
            sandbox.restore(&id, &["b"]);
            assert_eq!(inode(&project.join("b")), file);
        }
    }
}

/// In a copy all files are others, and none was linked or parted since.
#[test]
fn a_copy_of_the_tree_has_no_later_edit() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("copied");
    Build::at(&project).file("a", "one\n").aged();
    for name in ["b", "c"] {
        fs::hard_link(project.join("a"), project.join(name)).unwrap();
    }
    let before = Tree::read(&project);
    let id = sandbox.launch(&project, "cp -p a t; mv t a");
    let copy = project.with_file_name("copy");
    run_tool(Command::new("cp").arg("-a").args([&project, &copy]));
    fs::remove_dir_all(&project).unwrap();
    fs::rename(&copy, &project).unwrap();
    sandbox.restore(&id, &[]);
    assert_same_tree(&before, &Tree::read(&project));
}

#[test]
fn a_name_that_the_operator_parted_later_stays_so() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("parted");
    Build::at(&project).file("a", "one\n").aged();
    fs::hard_link(project.join("a"), project.join("b")).unwrap();
    let id = sandbox.launch(&project, "echo session > new");
    fs::copy(project.join("a"), project.join("copy")).unwrap();
    fs::rename(project.join("copy"), project.join("a")).unwrap();
    let parted = inode(&project.join("a"));
    let restored = sandbox.restore_in_part(&id, &[]);
    assert_eq!(restored.conflicts, [b"a"]);
    assert_eq!(inode(&project.join("a")), parted);
    assert!(!project.join("new").exists());
}

/// The other names of a file, outside of the mount or excluded, may all be gone by the time it comes back.
#[test]
fn a_file_comes_back_after_its_last_other_name_is_gone() {
    for (session, later) in [
        ("echo agent >> a", "rm ../other"),
        ("mv a moved; rm ../other", "true"),
        ("chmod 600 a; echo agent > a; rm -r out", "true"),
        ("rm -r out; mkdir d; mv a d/moved", "rm ../other"),
    ] {
        let sandbox = Sandbox::new();
        let project = sandbox.project("alone");
        Build::at(&project)
            .file("a", "before\n")
            .file("b", "before\n")
            .aged();
        fs::hard_link(project.join("a"), sandbox.sources().join("other")).unwrap();
        if session.contains("out") {
            Build::at(&project).hard_link("out/a", "a");
        }
        let before = Tree::read(&project);
        let session = format!("{session}; echo agent > b");
        let id = sandbox.launch_with(&["--exclude", "/out/"], &project, &session);
        run_tool(Command::new("sh").args(["-c", later]).current_dir(&project));
        let wrecked = Tree::read(&project);
        sandbox.restore(&id, &[]);
        let after = Tree::read(&project);
        for name in ["a", "b"] {
            assert_eq!(after.at(name).kind, before.at(name).kind, "{session}, {later}");
            assert_eq!(after.at(name).mode, before.at(name).mode, "{session}, {later}");
        }
        sandbox.restore(&id, &[]).nothing();
        sandbox.undo(&id);
        assert_same_tree(&wrecked, &Tree::read(&project));
    }
}

#[test]
fn a_file_that_goes_under_another_name_stays_linked_to_the_names_outside() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("moved");
    Build::at(&project).file("a", "before\n").aged();
    let outside = sandbox.sources().join("out");
    fs::hard_link(project.join("a"), &outside).unwrap();
    let id = sandbox.launch(&project, "mv a b");
    there_and_back(&sandbox, &id, &sandbox.sources(), &[]);
    sandbox.restore(&id, &[]);
    assert_eq!(inode(&project.join("a")), inode(&outside));
}

#[test]
fn what_comes_back_shares_no_file_with_a_name_that_stays() {
    for session in ["mv a b; rm ../out", "mv a b"] {
        let sandbox = Sandbox::new();
        let project = sandbox.project("kept");
        Build::at(&project).file("a", "before\n").aged();
        let outside = sandbox.sources().join("out");
        fs::hard_link(project.join("a"), &outside).unwrap();
        let id = sandbox.launch(&project, session);
        fs::rename(project.join("b"), project.join("mine")).unwrap();
        let restored = sandbox.restore_in_part(&id, &[]);
        restored.touched(&["a"]);
        restored.conflicted(&["mine"]);
        Build::at(&project).file("mine", "edited in place\n");
        assert_eq!(fs::read_to_string(project.join("a")).unwrap(), "before\n");
    }
}

/// A file from outside that the session gave a name of the group is nothing that the others may be names of.
#[test]
fn a_group_comes_back_without_the_file_that_the_session_linked_in() {
    for (session, touched) in [
        ("rm m1 m2; ln ../master m1", ["m1", "m2"]),
        ("rm m1 m2; ln ../master m2", ["m1", "m2"]),
        ("rm m1; echo agent > m2; ln ../master m1", ["m1", "m2"]),
    ] {
        let sandbox = Sandbox::new();
        let project = sandbox.project("foreign");
        Build::at(&project)
            .file("m1", "master\n")
            .hard_link("m2", "m1")
            .aged();
        let master = sandbox.sources().join("master");
        fs::write(&master, "master\n").unwrap();
        let before = Tree::read(&project);
        let id = sandbox.launch(&project, session);
        let plan = sandbox.jackin(["restore", &id, "--dry-run"]).ok();
        plan.has("no longer linked to 1 name outside");
        sandbox.restore(&id, &[]).touched(&touched);
        assert_same_tree(&before, &Tree::read(&project));
        assert_eq!(master.metadata().unwrap().nlink(), 1, "{session}");
        sandbox.restore(&id, &[]).nothing();
    }
}

#[test]
fn one_name_comes_back_beside_a_file_that_the_session_linked_in() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("beside");
    Build::at(&project)
        .file("m1", "master\n")
        .hard_link("m2", "m1")
        .aged();
    let master = sandbox.sources().join("master");
    fs::write(&master, "master\n").unwrap();
    let before = Tree::read(&project);
    let id = sandbox.launch(&project, "rm m1 m2; ln ../master m1");
    sandbox.restore(&id, &["m2"]).touched(&["m2"]);
    assert_eq!(master.metadata().unwrap().nlink(), 2);
    sandbox.restore(&id, &["m2"]).nothing();
    sandbox.restore(&id, &[]);
    assert_same_tree(&before, &Tree::read(&project));
    assert_eq!(master.metadata().unwrap().nlink(), 1);
}

#[test]
fn a_file_that_the_operator_links_in_later_stays() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("own");
    Build::at(&project)
        .file("m1", "master\n")
        .hard_link("m2", "m1")
        .aged();
    let master = sandbox.sources().join("master");
    fs::write(&master, "master\n").unwrap();
    let id = sandbox.launch(&project, "rm m2");
    fs::remove_file(project.join("m1")).unwrap();
    fs::hard_link(&master, project.join("m1")).unwrap();
    let restored = sandbox.restore_in_part(&id, &[]);
    restored.touched(&["m2"]);
    restored.conflicted(&["m1"]);
    assert_eq!(inode(&project.join("m1")), inode(&master));
    assert_eq!(master.metadata().unwrap().nlink(), 2);
}
