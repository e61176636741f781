//! What `chattr` set: immutable, append only, not to be dumped. It comes back last, and it is taken off where it is in the
//! way of what the plan shows.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::build::Build;
use crate::support::compare::{assert_kept, assert_same_tree, assert_untouched};
use crate::support::git::Repository;
use crate::support::machine::{is_root, run_tool, skip, tool};
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

/// Takes all flags off again, so that the sandbox can be removed.
pub(crate) struct Flagged(PathBuf);

impl Drop for Flagged {
    fn drop(&mut self) {
        let _ = Command::new("chattr")
            .args(["-R", "-f", "-i", "-a"])
            .arg(&self.0)
            .status();
    }
}

/// Says so and gives `None` where flags cannot be set.
pub(crate) fn flagged(sandbox: &Sandbox, what: &str) -> Option<Flagged> {
    let probe = sandbox.world().join("probe");
    File::create(&probe).unwrap();
    let can = is_root()
        && tool("chattr").is_some()
        && Command::new("chattr")
            .arg("+i")
            .arg(&probe)
            .output()
            .is_ok_and(|output| output.status.success())
        && flags(&probe) == "i";
    let guard = Flagged(sandbox.world().to_path_buf());
    if can {
        chattr("-i", &probe);
    } else {
        skip(
            what,
            "no flags can be set here (root, chattr, a file system that has them)",
        );
    }
    fs::remove_file(&probe).unwrap();
    can.then_some(guard)
}

#[track_caller]
pub(crate) fn chattr(change: &str, path: &Path) {
    run_tool(Command::new("chattr").arg(change).arg(path));
}

/// The letters of lsattr(1) that matter here.
#[track_caller]
pub(crate) fn flags(path: &Path) -> String {
    let found = handle_fs::stat_handle(File::open(path).unwrap()).unwrap().flags;
    match found.is_empty() {
        true => String::new(),
        false => found.to_string(),
    }
}

#[track_caller]
fn assert_flags(project: &Path, wanted: &[(&str, &str)]) {
    let found: Vec<(&str, String)> = wanted
        .iter()
        .map(|(path, _)| (*path, flags(&project.join(path))))
        .collect();
    let wanted: Vec<(&str, String)> = wanted
        .iter()
        .map(|(path, letters)| (*path, (*letters).to_owned()))
        .collect();
    assert_eq!(found, wanted);
}

#[test]
fn flags_come_back_with_content_and_undo_takes_them_off_again() {
    let sandbox = Sandbox::new();
    let Some(_guard) = flagged(&sandbox, "flags that come back") else {
        return;
    };
    let project = sandbox.project("flags");
    Build::at(&project)
        .file("kept", "before\n")
        .file("log", "first\n")
        .dir("box/deeper")
        .file("box/inside", "i\n")
        .file("box/deeper/sealed", "s\n")
        .file("dumped", "d\n")
        .file("gone", "g\n")
        .file("plain", "p\n")
        .aged();
    let set = [
        ("kept", "i"),
        ("log", "a"),
        ("box/deeper/sealed", "i"),
        ("box/deeper", "i"),
        ("box", "i"),
        ("dumped", "d"),
        ("gone", "i"),
        ("plain", ""),
        ("", ""),
    ];
    for (path, letters) in set.iter().filter(|(_, letters)| !letters.is_empty()) {
        chattr(&format!("+{letters}"), &project.join(path));
    }
    let before = Tree::read(&project);
    let id = sandbox.launch(
        &project,
        "chattr -R -i -a -d .; echo agent > kept; echo agent > log; rm -r box/inside box/deeper gone; echo new > box/new",
    );
    let damaged = Tree::read(&project);
    sandbox.diff(&id, &[]).are(&[
        ("modified", "kept"),
        ("modified", "log"),
        ("metadata", "box"),
        ("deleted", "box/inside"),
        ("deleted", "box/deeper"),
        ("deleted", "box/deeper/sealed"),
        ("added", "box/new"),
        ("metadata", "dumped"),
        ("deleted", "gone"),
    ]);
    sandbox.restore(&id, &[]);
    let after = Tree::read(&project);
    assert_same_tree(&before, &after);
    assert_flags(&project, &set);
    sandbox.restore(&id, &[]).nothing();

    // Undo changes what the restore made immutable.
    sandbox.undo(&id);
    assert_same_tree(&damaged, &Tree::read(&project));
    let off = set.map(|(path, _)| (path, ""));
    assert_flags(
        &project,
        &off.into_iter()
            .filter(|(path, _)| project.join(path).exists())
            .collect::<Vec<_>>(),
    );
    // And back, this time with the recorded times.
    sandbox.restore(&id, &["--mtimes", "exact"]);
    let again = Tree::read(&project);
    assert_same_tree(&before, &again);
    assert_flags(&project, &set);
    for path in ["kept", "log", "box", "box/deeper", "gone"] {
        assert_eq!(
            before.at(path).times.modified,
            again.at(path).times.modified,
            "{path}"
        );
    }
}

#[test]
fn flags_that_the_session_set_are_shown_and_taken_off_in_place() {
    let sandbox = Sandbox::new();
    let Some(_guard) = flagged(&sandbox, "flags alone") else {
        return;
    };
    let project = sandbox.project("alone");
    Build::at(&project)
        .file("a", "a\n")
        .file("d/inside", "i\n")
        .file("closed", "c\n")
        .mode("closed", 0o600)
        .file("n", "n\n")
        .aged();
    let before = Tree::read(&project);
    let id = sandbox.launch(
        &project,
        "chattr +i a; chattr +a d; chmod 644 closed; chattr +ia closed; chattr +d n",
    );
    sandbox.diff(&id, &[]).are(&[
        ("metadata", "a"),
        ("metadata", "closed"),
        ("metadata", "d"),
        ("metadata", "n"),
    ]);
    sandbox
        .jackin(["diff", &id])
        .ok()
        .shows("flags - -> i")
        .shows("flags - -> ia")
        .shows("flags - -> d");
    sandbox
        .jackin(["restore", &id, "--dry-run"])
        .ok()
        .shows("flags a -> -");
    sandbox.restore(&id, &[]).touched(&["a", "closed", "d", "n"]);
    let after = Tree::read(&project);
    assert_same_tree(&before, &after);
    assert_kept::<&str>(&before, &after, &[]);
    assert_flags(&project, &[("a", ""), ("d", ""), ("closed", ""), ("n", "")]);
    sandbox.undo(&id);
    assert_flags(&project, &[("a", "i"), ("d", "a"), ("closed", "ia"), ("n", "d")]);
}

#[test]
fn what_the_session_made_immutable_goes_all_the_same() {
    let sandbox = Sandbox::new();
    let Some(_guard) = flagged(&sandbox, "what a session made immutable") else {
        return;
    };
    let project = sandbox.project("planted");
    Build::at(&project)
        .file("a", "before\n")
        .file("d/inside", "i\n")
        .file("d/edited", "before\n")
        .file("one", "linked\n")
        .hard_link("two", "one")
        .aged();
    let before = Tree::read(&project);
    let id = sandbox.launch(
        &project,
        "echo agent > a; chattr +i a; mkdir -p new/deep; echo x > new/deep/sealed; chattr +i new/deep/sealed; \
         chattr +a new/deep; rm d/inside; echo agent > d/edited; chattr +i d; rm two; ln one three; chattr +i one",
    );
    let damaged = Tree::read(&project);
    sandbox.restore(&id, &[]);
    let after = Tree::read(&project);
    assert_same_tree(&before, &after);
    assert_flags(&project, &[("a", ""), ("d", ""), ("one", "")]);
    sandbox.undo(&id);
    assert_same_tree(&damaged, &Tree::read(&project));
    let set = [
        ("a", "i"),
        ("new/deep/sealed", "i"),
        ("new/deep", "a"),
        ("d", "i"),
        ("one", "i"),
    ];
    assert_flags(&project, &set);
}

#[test]
fn an_immutable_directory_that_is_not_ours_is_in_the_way_and_named() {
    let sandbox = Sandbox::new();
    let Some(_guard) = flagged(&sandbox, "an immutable directory in the way") else {
        return;
    };
    let project = sandbox.project("in-the-way");
    Build::at(&project)
        .file("a", "before\n")
        .file("d/gone", "g\n")
        .file("d/edited", "before\n")
        .file("d/mode", "m\n")
        .file("later", "before\n")
        .aged();
    let before = Tree::read(&project);
    let id = sandbox.launch(
        &project,
        "echo agent > a; rm d/gone; echo agent > d/edited; echo x > d/new; chmod 600 d/mode; echo agent > later",
    );
    // By the operator, afterwards: that is a later edit, and stays.
    chattr("+i", &project.join("d"));
    chattr("+i", &project.join("later"));
    let run = sandbox.jackin(["restore", &id, "--yes"]).code(6);
    let run = run.shows("its directory is immutable").shows("chattr -i");
    for path in ["d/gone", "d/edited", "d/new"] {
        assert!(run.text().contains(path), "{path} is not named\n{run}");
    }
    sandbox.no_litter();
    let now = Tree::read(&project);
    assert_eq!(now.at("a"), &{
        let mut wanted = before.at("a").clone();
        wanted.times = now.at("a").times.clone();
        wanted
    });
    assert_eq!(fs::read_to_string(project.join("later")).unwrap(), "agent\n");
    assert_eq!(fs::read_to_string(project.join("d/edited")).unwrap(), "agent\n");
    assert_eq!(now.at("d/mode").mode, 0o644, "the rest is done");
    assert_flags(&project, &[("d", "i"), ("later", "i")]);

    chattr("-i", &project.join("d"));
    sandbox
        .restore(&id, &["--overwrite-later-edits"])
        .touched(&["d/edited", "d/gone", "d/new", "later"]);
    assert_same_tree(&before, &Tree::read(&project));
}

#[test]
fn a_repository_with_a_ref_that_cannot_be_changed_stays_as_it_is() {
    let sandbox = Sandbox::new();
    let Some(_guard) = flagged(&sandbox, "an immutable ref") else {
        return;
    };
    let project = sandbox.project("one-ref");
    let repository = Repository::init(&project);
    Build::at(&project).file("a", "before\n");
    repository.commit("one");
    // Another name of it, which the restore does not cover, shares its flags.
    let other = sandbox.world().join("other-name");
    let id = sandbox.launch(
        &project,
        &format!(
            "echo agent > a; git commit -qam two; ln .git/refs/heads/main {0}; chattr +i {0}",
            other.display()
        ),
    );
    let damaged = Tree::read(&project);
    sandbox
        .jackin(["restore", &id, "--yes"])
        .code(1)
        .shows("refs/heads/main")
        .shows("it is immutable; `chattr -i`")
        .shows("everything is as it was")
        .shows("restore --files-only does not touch git repositories");
    sandbox.no_litter();
    assert_untouched(&damaged, &Tree::read(&project));
    repository.git(&["fsck", "--strict"]);
}

#[test]
fn an_object_that_cannot_be_removed_is_named_and_the_repository_comes_back() {
    let sandbox = Sandbox::new();
    let Some(_guard) = flagged(&sandbox, "an immutable object") else {
        return;
    };
    let project = sandbox.project("one-object");
    let repository = Repository::init(&project);
    Build::at(&project).file("a", "before\n");
    repository.commit("one");
    let before = repository.git(&["rev-parse", "HEAD"]);
    let other = sandbox.world().join("other-name");
    let id = sandbox.launch(
        &project,
        &format!(
            "echo agent > a; git commit -qam two; o=$(git rev-parse HEAD:a | sed 's,^..,&/,'); ln .git/objects/$o {0}; chattr +i {0}",
            other.display()
        ),
    );
    sandbox
        .jackin(["restore", &id, "--yes"])
        .code(6)
        .shows("`chattr -i` takes that off");
    assert_eq!(repository.git(&["rev-parse", "HEAD"]), before);
    assert_eq!(fs::read_to_string(project.join("a")).unwrap(), "before\n");
    repository.git(&["fsck", "--strict"]);
}

#[test]
fn without_the_right_to_an_immutable_object_is_named_and_the_rest_is_done() {
    let Some(sandbox) = Sandbox::unprivileged() else {
        skip(
            "flags without privilege",
            "commands cannot run as another user here",
        );
        return;
    };
    let Some(_guard) = flagged(&sandbox, "flags without privilege") else {
        return;
    };
    let project = sandbox.project("weak");
    Build::at(&project)
        .file("a", "before\n")
        .file("sealed", "before\n")
        .file("mode", "m\n")
        .file("n", "n\n")
        .aged();
    sandbox.give(&project);
    let before = Tree::read(&project);
    let id = sandbox.session(&project, |project| {
        for name in ["a", "sealed"] {
            fs::write(project.join(name), "agent\n").unwrap();
        }
        Build::at(project).mode("mode", 0o600).file("new/sealed", "x");
        sandbox.give(project);
        chattr("+d", &project.join("n"));
        for name in ["sealed", "mode", "new/sealed"] {
            chattr("+i", &project.join(name));
        }
    });
    let run = sandbox.jackin(["restore", &id, "--yes"]).code(6);
    let run = run.shows("it is immutable; `chattr -i`");
    for path in ["sealed", "mode", "new"] {
        assert!(run.text().contains(path), "{path} is not named\n{run}");
    }
    sandbox.no_litter();
    assert_eq!(fs::read_to_string(project.join("a")).unwrap(), "before\n");
    assert_eq!(fs::read_to_string(project.join("sealed")).unwrap(), "agent\n");
    assert!(
        project.join("new/sealed").exists(),
        "it was not moved to where it could not be removed"
    );
    // The owner may change this one.
    assert_flags(
        &project,
        &[("n", ""), ("sealed", "i"), ("mode", "i"), ("new/sealed", "i")],
    );

    run_tool(Command::new("chattr").args(["-R", "-i"]).arg(&project));
    sandbox.restore(&id, &["--overwrite-later-edits", "--delete-later-files"]);
    assert_same_tree(&before, &Tree::read(&project));
}

#[test]
fn another_directory_gets_no_flags() {
    let sandbox = Sandbox::new();
    let Some(_guard) = flagged(&sandbox, "flags and --to") else {
        return;
    };
    let project = sandbox.project("to");
    Build::at(&project).file("d/kept", "x\n").file("n", "n\n").aged();
    chattr("+i", &project.join("d/kept"));
    chattr("+i", &project.join("d"));
    chattr("+d", &project.join("n"));
    let before = Tree::read(&project);
    let id = sandbox.launch(&project, "true");
    let out = sandbox.scratch("out");
    sandbox
        .jackin([
            "restore",
            &id,
            "--from",
            "baseline",
            "--yes",
            "--to",
            out.to_str().unwrap(),
        ])
        .ok();
    let written = Tree::read(&out);
    assert_same_tree(&before.only("d"), &written.only("d"));
    assert_same_tree(&before.only("n"), &written.only("n"));
    assert_flags(&out, &[("d/kept", ""), ("d", ""), ("n", "")]);
    // Those that a directory passes on are no difference, either.
    let fork = sandbox.scratch("passes-on").join("fork");
    fs::create_dir(fork.parent().unwrap()).unwrap();
    chattr("+d", fork.parent().unwrap());
    sandbox
        .jackin(["fork", &id, fork.to_str().unwrap()])
        .ok()
        .hides("does not read back");
    let written = Tree::read(&fork);
    assert_same_tree(&before.only("d"), &written.only("d"));
    assert_same_tree(&before.only("n"), &written.only("n"));
}

#[test]
fn s29_flags_that_were_in_the_way_are_there_again_after_a_kill() {
    let sandbox = Sandbox::new();
    let Some(_guard) = flagged(&sandbox, "flags and a kill") else {
        return;
    };
    let project = sandbox.project("bound");
    Build::at(&project).file("kept", "before\n").dir("box").aged();
    chattr("+i", &project.join("kept"));
    let id = sandbox.launch(
        &project,
        "chattr -i kept; echo agent > kept; chattr +i kept; echo new > box/new; chattr +i box/new; chattr +a box",
    );
    let state = || {
        let letters = ["kept", "box/new", "box"].map(|name| match project.join(name).exists() {
            true => flags(&project.join(name)),
            false => "gone".to_owned(),
        });
        (fs::read_to_string(project.join("kept")).unwrap(), letters)
    };
    let old = state();
    assert_eq!(old.1, ["i", "i", "a"]);
    for point in [
        "intent",
        "staging",
        "staged",
        "journaled",
        "move",
        "moved",
        "decided",
        "settled",
        "flags",
    ] {
        for how in ["abort", "resume"] {
            let restore = sandbox.command(["restore", &id, "--yes"]);
            let killed = restore.with("JACKIN_RECOVERY_FAIL_AT", point).run();
            assert_eq!(killed.exit(), None, "{point}: {killed}");
            let run = sandbox.jackin([how, &id, "--yes"]).code_in(&[0, 5]);
            let decided = ["decided", "settled", "flags"].contains(&point);
            if how == "abort" && !decided {
                assert_eq!(state(), old, "{point}, {how}: {run}");
                continue;
            }
            let new = ("before\n".to_owned(), ["i", "gone", ""].map(str::to_owned));
            assert_eq!(state(), new, "{point}, {how}: {run}");
            sandbox.jackin(["undo", &id, "--yes"]).ok();
            assert_eq!(state(), old, "{point}, {how}, undone");
        }
    }
}
