//! A fork that is killed, and one of what cannot be made there.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::forks::{directory, forks, reference, session};
use crate::support::build::Build;
use crate::support::compare::assert_untouched;
use crate::support::machine::{has_points, is_root};
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

#[test]
fn a_killed_one_leaves_nothing_that_looks_finished() {
    if !has_points() {
        return;
    }
    let sandbox = Sandbox::new();
    let (project, _) = session(&sandbox);
    Build::at(&project)
        .dir("closed")
        .file("closed/inside", "x\n")
        .mode("closed", 0o555);
    let later = sandbox.launch(&project, "true");
    let before = Tree::read(&project);
    for point in ["fork-made", "fork-written", "fork-verified"] {
        let fork = |args: &[&str]| {
            let words = ["fork", &later].into_iter().chain(args.iter().copied());
            sandbox
                .command(words)
                .with("JACKIN_RECOVERY_FAIL_AT", point)
                .run()
        };
        assert_eq!(fork(&[]).exit(), None, "{point}");
        let left = forks(&sandbox);
        assert!(
            left.iter().all(|name| name.starts_with(".jackin-recovery-")),
            "{left:?}"
        );
        assert_eq!(left.len(), 1, "{point}: {left:?}");
        // The next one sweeps it, and is whole.
        let made = reference(&sandbox.jackin(["fork", &later]).ok());
        assert_eq!(forks(&sandbox), [made["id"].as_str().unwrap()], "{point}");
        fs::remove_dir_all(directory(&made)).unwrap_or_else(|_| {
            let closed = directory(&made).join("closed");
            fs::set_permissions(closed, fs::Permissions::from_mode(0o755)).unwrap();
            fs::remove_dir_all(directory(&made)).unwrap();
        });
        let absent = sandbox.scratch(&format!("absent-{point}"));
        assert_eq!(fork(&[absent.to_str().unwrap()]).exit(), None);
        assert!(!absent.exists(), "{point}");
        let empty = sandbox.scratch(&format!("empty-{point}"));
        fs::create_dir(&empty).unwrap();
        sandbox.give(&empty);
        assert_eq!(fork(&[empty.to_str().unwrap()]).exit(), None);
        assert!(empty.join(".jackin-recovery-unfinished").exists(), "{point}");
    }
    // What somebody else put there stays, whatever it is called.
    let place = sandbox.home().join(".jackin/data/forks");
    let strange = place.join(".jackin-recovery-fk-000000000000");
    Build::at(&strange).file("mine", "mine\n");
    sandbox.jackin(["fork", &later]).ok();
    assert!(strange.join("mine").exists());
    let forks = sandbox.jackin(["list", "--json"]).ok().json()["forks"].clone();
    assert_eq!(forks.as_array().unwrap().len(), 4);
    assert_untouched(&before, &Tree::read(&project));
    sandbox.jackin(["doctor"]).code_in(&[0, 1]);
}

#[test]
fn what_cannot_be_made_is_named() {
    let Some(sandbox) = Sandbox::unprivileged() else {
        return;
    };
    let project = sandbox.project("shop");
    Build::at(&project).file("a", "a\n").file("closed", "c\n").aged();
    sandbox.give(&project);
    let id = sandbox.launch(&project, "true");
    let to = sandbox.scratch("fork");
    let run = sandbox.jackin(["fork", &id, to.to_str().unwrap(), "--json"]).ok();
    assert_eq!(run.json()["paths"], 2);
    if !is_root() {
        return;
    }
    // An owner that an ordinary user cannot give.
    std::os::unix::fs::chown(project.join("a"), Some(1234), Some(4321)).unwrap();
    let id = sandbox.launch(&project, "true");
    let to = sandbox.scratch("partial");
    let run = sandbox
        .jackin(["fork", &id, to.to_str().unwrap(), "--json"])
        .code(6);
    let document = run.json();
    assert_eq!(document["outcome"], "partial");
    assert_eq!(document["failed"][0]["path"], "a");
    assert_eq!(fs::read_to_string(to.join("a")).unwrap(), "a\n");
}
