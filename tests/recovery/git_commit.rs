//! `[recovery.git] clean = "commit"`: of a clean work tree the commit is recorded, and its objects give the contents back; what an archive
//! has and what a commit has are not mistaken for each other.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use serde_json::Value;

use crate::git_class::pushed;
use crate::support::build::noise;
use crate::support::compare::assert_same_tree;
use crate::support::git::Repository;
use crate::support::machine::write_script;
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

/// A clean repository with files of several kinds, one of which is large.
pub(crate) fn clean(sandbox: &Sandbox) -> Repository {
    let repository = pushed(sandbox, "project");
    let at = |path: &str| repository.path.join(path);
    fs::write(at("large.bin"), noise("large", 1_000_000)).unwrap();
    fs::write(at("empty"), "").unwrap();
    fs::write(at("run.sh"), "#!/bin/sh\n").unwrap();
    fs::set_permissions(at("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    symlink("README", at("link")).unwrap();
    fs::copy(at("README"), at("src/README")).unwrap();
    repository.commit("many kinds");
    repository.git(&["push", "-q", "origin", "main"]);
    repository.git(&["gc", "-q"]);
    repository
}

pub(crate) fn configure(sandbox: &Sandbox, dir: &str) {
    let text = format!("[recovery.git]\nclean = \"commit\"\ndir = \"{dir}\"\n");
    sandbox.configure("config.toml", &text);
}

pub(crate) fn facts(sandbox: &Sandbox, id: &str) -> Value {
    let run = sandbox.jackin(["show", id, "--json"]).ok();
    run.json()["git"][0].clone()
}

fn archived(sandbox: &Sandbox) -> u64 {
    let all = fs::read_dir(sandbox.store().join("archives")).unwrap();
    all.map(|entry| entry.unwrap().metadata().unwrap().len()).sum()
}

#[test]
fn a_clean_work_tree_is_recorded_by_its_commit_and_comes_back_from_its_objects() {
    for dir in ["full", "state", "off"] {
        let sandbox = Sandbox::new();
        configure(&sandbox, dir);
        let repository = clean(&sandbox);
        let objects = if dir == "full" { 1_000_000 } else { 0 };
        let before = Tree::read(&repository.path);
        let id = sandbox.launch(&repository.path, "true");
        assert_eq!(facts(&sandbox, &id)["by_commit"], true, "{dir}");
        let size = archived(&sandbox);
        assert!((objects..objects + 100_000).contains(&size), "{dir}: {size}");
        sandbox.jackin(["verify"]).ok();

        // What the agent leaves is dirty, and archived.
        let damage =
            "rm -rf README src large.bin link; echo agent > history.txt; chmod 600 run.sh; echo new > new";
        let id = sandbox.launch(&repository.path, damage);
        assert_eq!(facts(&sandbox, &id)["by_commit"], true, "{dir}");
        let damaged = Tree::read(&repository.path);
        let patch = sandbox.jackin(["diff", &id, "--patch"]).ok().text();
        assert!(patch.contains("-version 3\n+agent"), "{patch}");
        sandbox.restore(&id, &[]);
        assert_same_tree(&before, &Tree::read(&repository.path));
        assert!(repository.try_git(&["fsck", "--strict"]));
        sandbox.undo(&id);
        assert_same_tree(&damaged, &Tree::read(&repository.path));
        sandbox.jackin(["verify"]).ok();
        sandbox.no_litter();
    }
}

#[test]
fn objects_that_were_captured_are_enough() {
    let sandbox = Sandbox::new();
    configure(&sandbox, "full");
    let repository = clean(&sandbox);
    let before = Tree::read(&repository.path);
    let id = sandbox.launch(&repository.path, "find . -mindepth 1 -delete");
    sandbox.restore(&id, &[]);
    assert_same_tree(&before, &Tree::read(&repository.path));
    assert!(repository.try_git(&["fsck", "--strict"]));
}

#[test]
fn what_the_agent_puts_into_the_repository_is_not_taken_for_the_content() {
    let sandbox = Sandbox::new();
    configure(&sandbox, "state");
    let repository = clean(&sandbox);
    // Replacement objects, and an object that is not what its name says.
    let script = "
        old=$(git rev-parse HEAD:README); git cat-file blob $old > /dev/null
        new=$(echo poison | git hash-object -w --stdin); git replace $old $new
        git unpack-objects -q < $(mv .git/objects/pack/*.pack p; echo p); rm -f .git/objects/pack/* p
        f=.git/objects/$(echo $old | cut -c1-2)/$(echo $old | cut -c3-); g=.git/objects/$(echo $new | cut -c1-2)/$(echo $new | cut -c3-)
        cp -f $g $f; echo agent > README";
    let id = sandbox.launch(&repository.path, script);
    let damaged = Tree::read(&repository.path);
    let run = sandbox.jackin(["restore", &id, "--yes", "README"]).code(7);
    assert!(run.said().contains("recorded by the commit"), "{run}");
    assert_same_tree(&damaged, &Tree::read(&repository.path));
}

#[test]
fn a_repository_that_is_gone_is_named_with_the_remote_and_nothing_is_touched() {
    let sandbox = Sandbox::new();
    configure(&sandbox, "off");
    let repository = clean(&sandbox);
    let remote = repository.git(&["remote", "get-url", "origin"]);
    let before = Tree::read(&repository.path.join("src"));
    let id = sandbox.launch(&repository.path, "rm -rf .git src; echo agent > README");
    let damaged = Tree::read(&repository.path);
    let run = sandbox.jackin(["restore", &id, "--yes"]).code(7);
    assert!(
        run.said().contains(&format!("fetch it from {}", remote.trim())),
        "{run}"
    );
    assert_same_tree(&damaged, &Tree::read(&repository.path));
    let found = sandbox.jackin(["verify"]).code(7).said();
    assert!(
        found.contains("README in project: it was recorded by the commit"),
        "{found}"
    );
    // What it asks for helps.
    repository.git(&["init", "-q"]);
    repository.git(&["fetch", "-q", remote.trim(), "main"]);
    sandbox.restore(&id, &[]);
    assert_same_tree(&before, &Tree::read(&repository.path.join("src")));
}

#[test]
fn any_doubt_archives_the_files() {
    let sandbox = Sandbox::new();
    configure(&sandbox, "full");
    let repository = clean(&sandbox);
    let at = |path: &str| repository.path.join(path);
    let recorded = || {
        let id = sandbox.launch(&repository.path, "true");
        facts(&sandbox, &id)["by_commit"] == true
    };
    assert!(recorded());
    let mut small = archived(&sandbox);
    let grown = |then: &mut u64| {
        let more = archived(&sandbox) - *then;
        *then += more;
        more
    };
    type Change<'a> = (&'a dyn Fn(), &'a dyn Fn());
    let git = |args: &[&str]| drop(repository.git(args));
    let changes: [Change<'_>; 4] = [
        (&|| fs::write(at(".env"), "S=1").unwrap(), &|| {
            fs::remove_file(at(".env")).unwrap()
        }),
        (&|| fs::write(at("README"), "x").unwrap(), &|| {
            git(&["checkout", "-q", "README"])
        }),
        (&|| git(&["update-index", "--skip-worktree", "README"]), &|| {
            git(&["update-index", "--no-skip-worktree", "README"])
        }),
        (&|| git(&["config", "core.autocrlf", "input"]), &|| {
            git(&["config", "--unset", "core.autocrlf"])
        }),
    ];
    for (number, (spoil, mend)) in changes.into_iter().enumerate() {
        spoil();
        assert!(!recorded(), "{number}");
        // The work tree was stored, and what the archives before have is not stored again.
        let more = grown(&mut small);
        assert!((900_000..1_300_000).contains(&more), "{number}: {more}");
        mend();
        assert!(recorded(), "{number}");
        grown(&mut small);
    }
}

#[test]
fn a_commit_is_recorded_also_in_a_nested_repository() {
    let sandbox = Sandbox::new();
    configure(&sandbox, "full");
    let top = sandbox.project("top");
    fs::write(top.join("notes"), "not git's").unwrap();
    fs::rename(clean(&sandbox).path, top.join("inner")).unwrap();
    let before = Tree::read(&top);
    let id = sandbox.launch(&top, "rm -rf inner/src inner/.git notes");
    assert_eq!(facts(&sandbox, &id)["by_commit"], true);
    sandbox.restore(&id, &[]);
    assert_same_tree(&before, &Tree::read(&top));
}

#[test]
fn the_contract_says_what_a_restore_will_need() {
    let sandbox = Sandbox::new();
    let repository = clean(&sandbox);
    let explain = || {
        let target: &Path = &repository.path;
        let run = sandbox.jackin(["explain", "--snapshot", "project", target.to_str().unwrap()]);
        run.ok().said()
    };
    configure(&sandbox, "full");
    assert!(
        explain().contains("which are captured with .git; origin has the commit:"),
        "{}",
        explain()
    );
    configure(&sandbox, "state");
    assert!(
        explain().contains("so a restore needs .git to survive; origin has the commit:"),
        "{}",
        explain()
    );
}

#[test]
fn what_is_planted_in_the_repository_is_not_started_to_read_its_objects() {
    let sandbox = Sandbox::new();
    configure(&sandbox, "state");
    let repository = clean(&sandbox);
    let marker = sandbox.scratch("started");
    let trap = sandbox.scratch("trap.sh");
    write_script(&trap, &format!("#!/bin/sh\ntouch '{}'\ncat\n", marker.display()));
    for key in [
        "core.fsmonitor",
        "core.sshCommand",
        "filter.x.smudge",
        "uploadpack.packObjectsHook",
        "core.alternateRefsCommand",
    ] {
        repository.git(&["config", key, trap.to_str().unwrap()]);
    }
    repository.git(&["config", "remote.origin.promisor", "false"]);
    fs::create_dir_all(repository.path.join(".git/hooks")).unwrap();
    for hook in [
        "post-checkout",
        "post-index-change",
        "reference-transaction",
        "pre-auto-gc",
    ] {
        fs::copy(&trap, repository.path.join(".git/hooks").join(hook)).unwrap();
    }
    let _ = fs::remove_file(&marker);
    let before = Tree::read(&repository.path);
    let id = sandbox.launch(&repository.path, "rm -rf src README");
    assert_eq!(facts(&sandbox, &id)["by_commit"], true);
    for args in [
        &["diff", &id, "--patch"][..],
        &["verify"],
        &["restore", &id, "--yes"],
        &["undo", &id, "--yes"],
        &["restore", &id, "--yes"],
    ] {
        sandbox.jackin(args).ok();
        assert!(!marker.exists(), "{args:?} started what was planted");
    }
    assert_same_tree(&before, &Tree::read(&repository.path));
}

#[test]
fn what_was_recorded_by_its_commit_is_archived_when_that_is_not_asked_for_any_more() {
    let sandbox = Sandbox::new();
    configure(&sandbox, "off");
    let repository = clean(&sandbox);
    let before = Tree::read(&repository.path).without(".git");
    let id = sandbox.launch(&repository.path, "true");
    assert_eq!(facts(&sandbox, &id)["by_commit"], true);
    sandbox.configure("config.toml", "[recovery.git]\ndir = \"off\"\n");
    let id = sandbox.launch(&repository.path, "rm -rf .git src large.bin");
    assert!(facts(&sandbox, &id)["by_commit"].is_null());
    sandbox.restore(&id, &[]);
    assert_same_tree(&before, &Tree::read(&repository.path).without(".git"));
}

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
        Repository { path: top.join(name) }.git(&["remote", "set-url", "origin", address.to_str().unwrap()]);
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
