//! One directory at two paths: a bind mount of the project, or of a directory in it. Sessions at both are sessions in one directory.

use std::fs;
use std::path::{Path, PathBuf};

use crate::mount_points::Bound;
use crate::support::build::Build;
use crate::support::documents::Restored;
use crate::support::sandbox::Sandbox;

/// A project whose directory `part` has a second path.
struct Doubled {
    sandbox: Sandbox,
    project: PathBuf,
    other: PathBuf,
}

impl Doubled {
    fn new(name: &str) -> Self {
        let sandbox = Sandbox::new();
        let project = sandbox.project(name);
        let other = sandbox.project("other-path");
        Build::at(&project)
            .file("part/one", "before\n")
            .file("part/two", "before\n")
            .file("part/three", "before\n")
            .aged();
        Self {
            sandbox,
            project,
            other,
        }
    }

    fn part(&self) -> PathBuf {
        self.project.join("part")
    }

    fn bound(&self) -> Option<Bound<'_>> {
        Bound::new(
            &self.sandbox,
            "one directory at two paths",
            &[(&self.part(), self.other.clone())],
        )
    }
}

fn begin(bound: &Bound<'_>, root: &Path) -> String {
    let run = bound.run(&["begin", "--snapshot", "project", root.to_str().unwrap()]);
    String::from_utf8_lossy(&run.ok().stdout).trim().to_owned()
}

/// Runs two sessions at once, the second one in the part, and returns what a restore of each does.
fn outcomes(is_bound: bool) -> Option<[(Option<i32>, Restored); 2]> {
    let doubled = Doubled::new("doubled");
    let bound = doubled.bound()?;
    let second = match is_bound {
        true => doubled.other.clone(),
        false => doubled.part(),
    };
    let write = |name: &str, text: &str| fs::write(doubled.part().join(name), text).unwrap();
    let outer = begin(&bound, &doubled.project);
    let launched = [
        "launch",
        "--snapshot",
        "project",
        second.to_str().unwrap(),
        "--",
        "true",
    ];
    bound.run(&launched).ok().shows(&outer);
    let inner = begin(&bound, &second);
    write("one", "outer\n");
    bound.run(&["checkpoint", &outer]).ok();
    write("two", "inner\n");
    write("new", "inner\n");
    bound.run(&["checkpoint", &inner]).ok();
    bound.run(&["end", &inner]).ok();
    let refused = bound.run(&["restore", &inner, "--yes"]);
    refused.code(3).shows(&outer);
    bound.run(&["end", &outer]).ok();
    let restored = |id: &str, other: &str| {
        let run = bound.run(&["restore", id, "--yes", "--json"]);
        let found = Restored::of(&run);
        if !found.conflicts.is_empty() {
            bound.run(&["restore", id, "--dry-run"]).code(6).shows(other);
        }
        (run.exit(), found)
    };
    Some([restored(&outer, &inner), restored(&inner, &outer)])
}

#[test]
fn sessions_at_both_paths_are_told_apart_as_those_at_one_path() {
    if crate::support::machine::is_portable("there are no bind mounts") {
        return;
    }
    let (Some(plain), Some(bound)) = (outcomes(false), outcomes(true)) else {
        return;
    };
    for ((plain_exit, plain), (exit, found)) in plain.iter().zip(&bound) {
        assert_eq!(exit, plain_exit, "{:#}\n{:#}", plain.document, found.document);
        assert_eq!(
            found.applied, plain.applied,
            "{:#}\n{:#}",
            plain.document, found.document
        );
        assert_eq!(
            found.conflicts, plain.conflicts,
            "{:#}\n{:#}",
            plain.document, found.document
        );
    }
    assert_eq!(bound[0].0, Some(6));
    assert!(!bound[0].1.conflicts.is_empty());
}

#[test]
fn a_restore_that_waits_at_one_path_stops_one_at_the_other() {
    if crate::support::machine::is_portable("there are no bind mounts") {
        return;
    }
    let doubled = Doubled::new("waits");
    let Some(bound) = doubled.bound() else { return };
    let inner = begin(&bound, &doubled.other);
    fs::write(doubled.part().join("one"), "inner\n").unwrap();
    bound.run(&["end", &inner]).ok();
    let outer = begin(&bound, &doubled.project);
    fs::write(doubled.part().join("two"), "outer\n").unwrap();
    bound.run(&["end", &outer]).ok();
    let restore = bound.command(&["restore", &outer, "--yes"]);
    restore.with("JACKIN_RECOVERY_FAIL_AT", "moved").run();
    let waits = bound.run(&["restore", &inner, "--yes"]).refused();
    waits.shows(&outer).shows("interrupted");
    bound.run(&["abort", &outer, "--yes"]).ok();
    let restored = bound.run(&["restore", &inner, "--yes", "--json"]).code(6);
    Restored::of(&restored).touched(&["one"]);
}

#[test]
fn an_agent_reaches_a_session_through_a_mount_in_its_own_directory() {
    if crate::support::machine::is_portable("there are no bind mounts") {
        return;
    }
    let doubled = Doubled::new("reached");
    // The second path lies in a directory of its own, which an agent has.
    let around = doubled.other.join("around");
    fs::create_dir_all(around.join("seen")).unwrap();
    let pair = (&*doubled.part(), around.join("seen"));
    let Some(bound) = Bound::new(&doubled.sandbox, "a mount in a directory of an agent", &[pair]) else {
        return;
    };
    let inner = begin(&bound, &doubled.part());
    let outer = begin(&bound, &around);
    fs::write(doubled.part().join("one"), "outer\n").unwrap();
    bound.run(&["end", &inner]).ok();
    bound.run(&["restore", &inner, "--yes"]).code(3).shows(&outer);
    bound.run(&["end", &outer]).ok();
    let restored = bound.run(&["restore", &inner, "--yes", "--json"]).code(6);
    Restored::of(&restored).conflicted(&["one"]);
    // Its own snapshots have nothing of what the mount shows.
    bound.run(&["restore", &outer, "--yes"]).ok();
    assert_eq!(fs::read_to_string(doubled.part().join("one")).unwrap(), "outer\n");
}
