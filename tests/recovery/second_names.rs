//! Hard links when only one of the names is put back.

use std::os::unix::fs::MetadataExt as _;

use crate::support::build::Build;
use crate::support::compare::assert_same_tree;
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

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
    let read = |name: &str| std::fs::read_to_string(project.join(name)).unwrap();
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
    std::fs::remove_file(project.join("a")).unwrap();
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
