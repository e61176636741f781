//! Metadata of files with several names, of which the session deleted, parted or replaced some.

use std::fs;

use crate::links::{inode, there_and_back};
use crate::support::build::Build;
use crate::support::compare::assert_same_tree;
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

/// The file is the same, whichever of its names is the first one.
#[test]
fn metadata_are_set_in_place_when_the_first_name_is_gone() {
    for session in ["rm a; chmod 600 b", "rm b; chmod 600 a", "mv a 0; chmod 600 b"] {
        let sandbox = Sandbox::new();
        let project = sandbox.project("first");
        Build::at(&project)
            .file("a", "before\n")
            .mode("a", 0o644)
            .hard_link("b", "a")
            .aged();
        let outside = sandbox.sources().join("out");
        fs::hard_link(project.join("a"), &outside).unwrap();
        let was = inode(&outside);
        let before = Tree::read(&sandbox.sources());
        let id = sandbox.launch(&project, session);
        sandbox.restore(&id, &[]);
        assert_same_tree(&before, &Tree::read(&sandbox.sources()));
        let inodes = ["a", "b"].map(|name| inode(&project.join(name)));
        assert_eq!(inodes, [was; 2], "{session}");
        sandbox.undo(&id);
        there_and_back(&sandbox, &id, &sandbox.sources(), &[]);
    }
}

/// Of several files that the names of a group are now, one becomes the file of all.
#[test]
fn a_group_whose_parts_got_other_modes_is_one_file_again() {
    for (session, paths) in [
        ("cp a t; mv t a; chmod 600 a; chmod 640 b", &[][..]),
        ("cp a t; mv t a; chmod 640 b", &[]),
        ("cp a t; mv t a; chmod 640 b", &["b", "c"]),
        ("cp b t; mv t b; chmod 640 a", &[]),
        ("cp c t; mv t c; chmod 600 c; rm a; chmod 640 b", &[]),
    ] {
        let sandbox = Sandbox::new();
        let project = sandbox.project("parts");
        Build::at(&project).file("a", "before\n").mode("a", 0o644);
        Build::at(&project).hard_link("b", "a").hard_link("c", "a").aged();
        let before = Tree::read(&project);
        let id = sandbox.launch(&project, &format!("umask 022; {session}"));
        let wrecked = Tree::read(&project);
        sandbox.restore(&id, paths);
        assert_same_tree(&before, &Tree::read(&project));
        sandbox.restore(&id, paths).nothing();
        sandbox.undo(&id);
        assert_same_tree(&wrecked, &Tree::read(&project));
    }
}

/// As many steps as names, and each names some of the others only: all of them would be more than the memory holds.
#[test]
fn names_that_part_from_many_others_list_few_of_them() {
    const NAMES: usize = 200;
    let sandbox = Sandbox::new();
    let project = sandbox.project("p");
    let build = Build::at(&project);
    build.file("one", "1\n").file("two", "2\n");
    for at in 0..NAMES {
        fs::hard_link(project.join("one"), project.join(format!("a{at:03}"))).unwrap();
        fs::hard_link(project.join("two"), project.join(format!("b{at:03}"))).unwrap();
    }
    build.aged();
    let good = Tree::read(&project);
    let id = sandbox.session(&project, |project| {
        for at in 1..NAMES {
            let name = project.join(format!("a{at:03}"));
            fs::remove_file(&name).unwrap();
            fs::hard_link(project.join("two"), &name).unwrap();
        }
    });
    let plan = sandbox.plan(&id, &[]);
    let steps = plan.document["applied"].as_array().unwrap();
    assert_eq!(steps.len(), NAMES - 1);
    for step in steps {
        let listed = step["parted_from"].as_array().unwrap().len() as u64;
        let omitted = step["parted_from_omitted"].as_u64().unwrap();
        assert_eq!((listed, listed + omitted), (20, NAMES as u64 + 1), "{step}");
    }
    let run = sandbox.jackin(["restore", &id, "--dry-run"]).ok();
    run.has("no longer linked to b000, b001, b002, b003, b004, 196 more names)");
    sandbox.restore(&id, &[]);
    assert_same_tree(&good, &Tree::read(&project));
}
