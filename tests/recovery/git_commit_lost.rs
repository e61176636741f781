//! `clean = "commit"` when something is gone: what an archive has and what a commit has are not mistaken for each other.

use std::fs;

use crate::git_commit::{clean, configure, facts};
use crate::support::compare::assert_same_tree;
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

#[test]
fn what_git_reads_is_archived_also_when_a_tracked_file_has_the_same_bytes() {
    let sandbox = Sandbox::new();
    configure(&sandbox, "full");
    let repository = clean(&sandbox);
    let at = |path: &str| repository.path.join(path);
    fs::create_dir_all(at(".git/hooks")).unwrap();
    fs::write(at(".git/hooks/pre-push"), "exit 0\n").unwrap();
    for (own, copy) in [
        (".git/config", "config"),
        (".git/HEAD", "head"),
        (".git/hooks/pre-push", "hook"),
    ] {
        fs::copy(at(own), at(copy)).unwrap();
    }
    repository.commit("copies of what is git's");
    repository.git(&["push", "-q", "origin", "main"]);
    let same = |own: &str, copy: &str| fs::read(at(own)).unwrap() == fs::read(at(copy)).unwrap();
    assert!(same(".git/config", "config") && same(".git/HEAD", "head"));
    let before = Tree::read(&repository.path);
    let id = sandbox.launch(&repository.path, "find . -mindepth 1 -delete");
    assert_eq!(facts(&sandbox, &id)["by_commit"], true);
    sandbox.restore(&id, &[]);
    assert_same_tree(&before, &Tree::read(&repository.path));
    assert!(repository.try_git(&["fsck", "--strict"]));
}

#[test]
fn a_lost_archive_is_not_blamed_on_the_commit() {
    let sandbox = Sandbox::new();
    configure(&sandbox, "full");
    let repository = clean(&sandbox);
    sandbox.launch(&repository.path, "true");
    let archives = sandbox.store().join("archives");
    for archive in fs::read_dir(&archives).unwrap() {
        let path = archive.unwrap().path();
        let mut bytes = fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle..middle + 4096].fill(0);
        fs::write(&path, bytes).unwrap();
    }
    // The repository lies there still, and has what its commit is to have.
    let found = sandbox.jackin(["verify", "--read-data"]).code(7).said();
    assert!(!found.contains("recorded by the commit"), "{found}");
    // Now the objects are nowhere whole, and looking for them in the archive ends.
    fs::remove_dir_all(repository.path.join(".git")).unwrap();
    let found = sandbox.jackin(["verify", "--read-data"]).code(7).said();
    assert!(
        found.contains("README in project: it was recorded by the commit"),
        "{found}"
    );
    for archive in fs::read_dir(&archives).unwrap() {
        fs::remove_file(archive.unwrap().path()).unwrap();
    }
    let found = sandbox.jackin(["verify", "--read-data"]).code(7).said();
    assert!(found.contains("archive"), "{found}");
}

#[test]
fn of_two_work_trees_the_one_that_lost_its_objects_is_named() {
    let sandbox = Sandbox::new();
    configure(&sandbox, "off");
    let top = sandbox.project("top");
    for name in ["first", "second"] {
        let repository = clean(&sandbox);
        fs::write(repository.path.join("own"), format!("of the {name}")).unwrap();
        repository.commit("its own");
        repository.git(&["push", "-q", "origin", "main"]);
        fs::rename(repository.path, top.join(name)).unwrap();
        fs::rename(sandbox.scratch("project.git"), sandbox.scratch(name)).unwrap();
        let address = sandbox.scratch(name);
        crate::support::git::Repository { path: top.join(name) }.git(&[
            "remote",
            "set-url",
            "origin",
            address.to_str().unwrap(),
        ]);
    }
    let id = sandbox.launch(&top, "rm -rf second/.git first/own second/own");
    let lost = sandbox.scratch("second");
    let run = sandbox.jackin(["restore", &id, "--yes", "second/own"]).code(7);
    let told = run.said();
    assert!(
        told.contains(&format!("fetch it from {}", lost.display())),
        "{told}"
    );
    let found = sandbox.jackin(["verify"]).code(7).said();
    assert!(found.contains("second/own in top: it was recorded"), "{found}");
    assert!(!found.contains("first/own in top"), "{found}");
    sandbox.restore(&id, &["first/own"]);
    assert_eq!(fs::read(top.join("first/own")).unwrap(), b"of the first");
}

#[test]
fn what_a_restore_saves_relies_on_no_commit() {
    let sandbox = Sandbox::new();
    configure(&sandbox, "off");
    let repository = clean(&sandbox);
    let script = "echo agent > README; git add -A; git -c user.name=a -c user.email=a@x commit -qm agents; git push -q origin main";
    let id = sandbox.launch(&repository.path, script);
    sandbox.restore(&id, &["README"]);
    assert_eq!(fs::read(repository.path.join("README")).unwrap(), b"read me\n");
    fs::remove_dir_all(repository.path.join(".git")).unwrap();
    sandbox.undo(&id);
    assert_eq!(fs::read(repository.path.join("README")).unwrap(), b"agent\n");
}
