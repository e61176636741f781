//! Captures on full disks.

use super::{Cramped, On, everywhere};
use crate::support::ballast::Short;
use crate::support::build::{Build, noise};
use crate::support::compare::assert_untouched;
use crate::support::documents::instances;
use crate::support::run::Run;

/// Every snapshot that is listed, each said to be complete.
#[track_caller]
fn snapshots(cramped: &Cramped) -> Vec<String> {
    let all = instances(&cramped.run(&["list", "--json"]).ok());
    let snapshots = all.into_iter().flat_map(|instance| instance.snapshots);
    let named = snapshots.map(|snapshot| {
        assert!(snapshot.complete, "{snapshot:?}");
        snapshot.id
    });
    named.collect()
}

/// Content that no archive has, so that something must be written.
fn scribble(cramped: &Cramped, about: &str) {
    Build::at(&cramped.project).file("scribbled", noise(about, 100_000));
}

/// Runs `words` while the disk is full and again when there is room. Gives what the second run said.
fn on_a_full_disk(cramped: &Cramped, short: Short, about: &str, words: &[&str]) -> Run {
    scribble(cramped, about);
    let (tree, known) = (cramped.tree(), snapshots(cramped));
    let ballast = cramped.fill(short);
    let run = cramped.run(words);
    let about = format!("{words:?}, {about}");
    assert_untouched(&tree, &cramped.tree());
    if run.exit() != Some(0) {
        cramped.says_what_is_full(&run, &about);
        assert_eq!(
            cramped.on,
            On::Store,
            "{about}: a capture writes nothing there\n{run}"
        );
        cramped.no_litter(&about);
        // Reading needs no room.
        assert_eq!(snapshots(cramped), known, "{about}");
        cramped.sound();
    }
    drop(ballast);
    if run.exit() == Some(0) {
        return run;
    }
    let again = cramped.run(words).ok();
    assert!(snapshots(cramped).len() > known.len(), "{about}");
    again
}

#[test]
fn begins() {
    everywhere(|cramped, short, about| {
        let run = on_a_full_disk(cramped, short, about, &["begin", "--snapshot", "project", "."]);
        let id = String::from_utf8_lossy(&run.stdout).trim().to_owned();
        cramped.run(&["end", &id]).ok();
        cramped.no_litter(about);
        cramped.sound();
    });
}

#[test]
fn checkpoints_and_ends() {
    everywhere(|cramped, short, about| {
        let begun = cramped.run(&["begin", "--snapshot", "project", "."]).ok();
        let id = String::from_utf8_lossy(&begun.stdout).trim().to_owned();
        let name = ["checkpoint", &id, "--name", "half"];
        on_a_full_disk(cramped, short, about, &name);
        cramped
            .run(&["restore", &id, "--from", "half", "--dry-run"])
            .code_in(&[0, 3]);
        cramped.run(&["end", &id]).ok();
        cramped.no_litter(about);
        cramped.sound();
    });
}

/// A closing snapshot that finds no room is told and does not keep the session from ending; a baseline that finds none keeps the
/// command from running.
#[test]
fn launches() {
    everywhere(|cramped, short, about| {
        scribble(cramped, about);
        let ballast = cramped.fill(short);
        let mark = cramped.sandbox.scratch("ran");
        let _ = std::fs::remove_file(&mark);
        let script = format!("touch '{}'; exit 42", mark.display());
        let words = ["launch", "--snapshot", "project", ".", "--", "sh", "-c", &script];
        let tree = cramped.tree();
        let run = cramped.run(&words).code_in(&[42, 125]);
        assert_eq!(mark.exists(), run.exit() == Some(42), "{about}\n{run}");
        if run.exit() == Some(125) {
            cramped.says_what_is_full(&run, about);
        }
        assert_untouched(&tree, &cramped.tree());
        cramped.no_litter(about);
        drop(ballast);
        cramped.run(&words).code(42);
        assert!(mark.exists(), "{about}");
        cramped.sound();
    });
}
