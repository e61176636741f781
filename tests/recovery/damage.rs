//! Every part of a store hurt in every way: it is found and named, what is not hurt still restores, and what can be made again is.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::compare::assert_same_tree;
use crate::support::documents::instances;
use crate::support::machine::run_tool;
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

/// How something is hurt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Harm {
    Flip,
    Truncate,
    Remove,
    Swap,
}

const HARMS: [Harm; 4] = [Harm::Flip, Harm::Truncate, Harm::Remove, Harm::Swap];

/// Hurts the file at `place` (from the end when negative); `other` is what it changes places with.
fn hurt(path: &Path, place: i64, harm: Harm, other: &Path) {
    let mut bytes = fs::read(path).unwrap();
    let length = i64::try_from(bytes.len()).unwrap();
    let at = usize::try_from(if place < 0 {
        length + place
    } else {
        place.min(length - 1)
    })
    .unwrap();
    match harm {
        Harm::Flip => bytes[at] ^= 0x20,
        Harm::Truncate => bytes.truncate(at),
        Harm::Remove => return fs::remove_file(path).unwrap(),
        Harm::Swap => {
            fs::write(path, fs::read(other).unwrap()).unwrap();
            return fs::write(other, bytes).unwrap();
        }
    }
    fs::write(path, bytes).unwrap();
}

/// Two sessions of different directories that have nothing in common.
struct Two {
    sandbox: Sandbox,
    saved: PathBuf,
    /// Session, directory, the tree before it.
    hurt: (String, PathBuf, Tree),
    whole: (String, PathBuf, Tree),
}

impl Two {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        let session = |name: &str| {
            let project = sandbox.project(name);
            for number in 0..6 {
                fs::write(
                    project.join(format!("{name}-{number}")),
                    format!("{name} {number} ").repeat(500),
                )
                .unwrap();
            }
            let before = Tree::read(&project);
            let id = sandbox.launch(&project, "rm *-1; echo agent > new; echo more >> $(ls | head -1)");
            (id, project, before)
        };
        let (hurt, whole) = (session("first"), session("second"));
        let saved = sandbox.scratch("saved");
        run_tool(Command::new("cp").arg("-a").arg(sandbox.world()).arg(&saved));
        Self {
            sandbox,
            saved,
            hurt,
            whole,
        }
    }

    /// Puts the store and both directories back.
    fn again(&self) {
        for part in [self.sandbox.store(), self.hurt.1.clone(), self.whole.1.clone()] {
            let from = self.saved.join(part.strip_prefix(self.sandbox.world()).unwrap());
            fs::remove_dir_all(&part).unwrap();
            run_tool(Command::new("cp").arg("-a").arg(from).arg(&part));
        }
    }

    fn whole_restores(&self, about: &str) {
        let (id, project, before) = &self.whole;
        let run = self.sandbox.jackin(["restore", id, "--yes"]);
        assert_eq!(run.exit(), Some(0), "{about}: {run}");
        assert_same_tree(before, &Tree::read(project));
    }

    /// What is hurt is refused, or comes back exactly; never anything else.
    fn hurt_is_not_torn(&self, about: &str) {
        let (id, project, before) = &self.hurt;
        let now = Tree::read(project);
        let run = self.sandbox.jackin(["restore", id, "--yes"]);
        match run.exit() {
            Some(0) => assert_same_tree(before, &Tree::read(project)),
            Some(5..=7) => {
                if run.exit() != Some(6) {
                    assert_same_tree(&now, &Tree::read(project));
                }
            }
            _ => panic!("{about}: {run}"),
        }
    }

    fn snapshots(&self, of: &str) -> Vec<String> {
        let all = instances(&self.sandbox.jackin(["list", "--json"]));
        let found = all.into_iter().find(|found| found.id == of);
        found
            .map(|found| found.snapshots.into_iter().map(|s| s.id).collect())
            .unwrap_or_default()
    }

    /// The files of the first session's baseline and of the second one's.
    fn files(&self, folder: &str, prefix: &str, ending: &str) -> (PathBuf, PathBuf) {
        let file = |id: &str| {
            let baseline = self.snapshots(id).pop().unwrap().replace("sn-", prefix);
            self.sandbox
                .store()
                .join(folder)
                .join(format!("{baseline}{ending}"))
        };
        (file(&self.hurt.0), file(&self.whole.0))
    }
}

#[test]
fn s41_archives_that_are_hurt_are_named_and_the_others_restore() {
    let two = Two::new();
    let length = fs::metadata(two.files("archives", "ar-", ".tar.zst").0)
        .unwrap()
        .len();
    let eighth = i64::try_from(length / 8).unwrap();
    // The body, with what is said of it (manifest) behind the contents; the index; the seek table.
    let body = (1..8).map(|part| (part * eighth, [Harm::Flip, Harm::Truncate].as_slice()));
    let ends = [600, -220, -6].map(|place| (place, HARMS.as_slice()));
    for (place, harms) in body.chain(ends) {
        for &harm in harms {
            two.again();
            let about = format!("{harm:?} at {place}");
            let (archive, other) = two.files("archives", "ar-", ".tar.zst");
            hurt(&archive, place, harm, &other);
            let name = archive
                .file_name()
                .unwrap()
                .to_string_lossy()
                .replace(".tar.zst", "");
            let found = two.sandbox.jackin(["verify", "--read-data"]).code(7);
            found.has(&name);
            if harm == Harm::Swap {
                // Both are hurt then.
                hurt(&archive, place, harm, &other);
                two.sandbox.jackin(["verify", "--read-data"]).ok();
                continue;
            }
            two.hurt_is_not_torn(&about);
            two.whole_restores(&about);
            // Pruning takes nothing that is whole.
            two.sandbox.jackin(["prune", "--yes"]).code_in(&[0, 7]);
            two.sandbox.jackin(["diff", &two.whole.0]).ok();
        }
    }
}

#[test]
fn records_that_are_hurt_are_named_and_the_others_restore() {
    let two = Two::new();
    for place in [40, 400, -3] {
        for harm in HARMS {
            two.again();
            let about = format!("{harm:?} at {place}");
            let (record, other) = two.files("snapshots", "sn-", ".json");
            hurt(&record, place, harm, &other);
            let doctor = two.sandbox.jackin(["doctor"]);
            assert_ne!(doctor.exit(), Some(0), "{about}: {doctor}");
            let name = record.file_stem().unwrap().to_string_lossy().into_owned();
            doctor.has(&name);
            if harm == Harm::Swap {
                continue;
            }
            two.hurt_is_not_torn(&about);
            two.whole_restores(&about);
            two.sandbox.jackin(["prune", "--yes"]).code_in(&[0, 7]);
            two.sandbox.jackin(["diff", &two.whole.0]).ok();
        }
    }
}

#[test]
fn a_catalog_that_is_hurt_is_made_anew_with_the_same_snapshots() {
    let two = Two::new();
    two.again();
    let before = (two.snapshots(&two.hurt.0), two.snapshots(&two.whole.0));
    for place in [20, 5000, -50] {
        for harm in HARMS {
            two.again();
            let about = format!("{harm:?} at {place}");
            let catalog = two.sandbox.store().join("catalog.sqlite3");
            let other = two.sandbox.scratch("other");
            fs::write(&other, "nothing of the kind").unwrap();
            hurt(&catalog, place, harm, &other);
            two.sandbox.jackin(["rebuild"]).ok();
            assert_eq!(
                (two.snapshots(&two.hurt.0), two.snapshots(&two.whole.0)),
                before,
                "{about}"
            );
            two.sandbox.jackin(["verify", "--read-data"]).ok();
            two.whole_restores(&about);
        }
    }
}

#[test]
fn receipts_that_are_hurt_are_named_stop_no_look_and_come_back() {
    let two = Two::new();
    two.again();
    let log = two.sandbox.store().join("receipts.log");
    let good = fs::read(&log).unwrap();
    for place in [30, 1500, -20] {
        for harm in HARMS {
            two.again();
            let about = format!("{harm:?} at {place}");
            let other = two.sandbox.scratch("other");
            fs::write(&other, "nothing of the kind\n").unwrap();
            hurt(&log, place, harm, &other);
            two.sandbox.jackin(["log", "--verify"]).code(7).has("receipt");
            two.sandbox.jackin(["verify"]).code(7).has("receipt");
            let doctor = two.sandbox.jackin(["doctor"]).code(7);
            doctor.has("rebuild");
            // Looking goes on. What writes finds out when the last link is hurt; each link is looked at by those above.
            two.sandbox.jackin(["diff", &two.whole.0]).ok();
            let restored = two
                .sandbox
                .jackin(["restore", &two.whole.0, "--yes"])
                .code_in(&[0, 7]);
            if restored.exit() == Some(7) {
                restored.has("rebuild");
            }
            two.sandbox.jackin(["rebuild"]).ok();
            assert!(fs::read(&log).unwrap().starts_with(&good), "{about}");
            two.whole_restores(&about);
            two.sandbox.jackin(["verify", "--read-data"]).ok();
        }
    }
}

#[test]
fn papers_of_a_restore_that_are_hurt_are_named() {
    let two = Two::new();
    two.again();
    let (id, project, before) = &two.hurt;
    let run = two
        .sandbox
        .command(["restore", id, "--yes"])
        .with("JACKIN_RECOVERY_FAIL_AT", "moved")
        .run();
    if run.exit().is_some() {
        return crate::support::machine::skip("papers that are hurt", "the program has no points");
    }
    let restores = two.sandbox.store().join("restores");
    let papers = fs::read_dir(&restores).unwrap().next().unwrap().unwrap().path();
    let journal = papers.join("journal");
    let good = fs::read(&journal).unwrap();
    let torn = Tree::read(project);
    let other = two.sandbox.scratch("other");
    for place in [10, 200, -10] {
        for harm in HARMS {
            fs::write(&other, "nothing of the kind").unwrap();
            hurt(&journal, place, harm, &other);
            for verb in ["resume", "abort", "restore"] {
                let run = two.sandbox.jackin([verb, id, "--yes"]);
                // One that is there and cannot be read still says that the restore waits.
                let codes = if verb == "restore" { [7, 8] } else { [7, 7] };
                run.code_in(&codes)
                    .has(if verb == "restore" { "" } else { "journal" });
            }
            // The other directory has nothing to do with it.
            two.whole_restores(&format!("{harm:?} at {place}"));
            assert_same_tree(&torn, &Tree::read(project));
            fs::write(&journal, &good).unwrap();
        }
    }
    two.sandbox.jackin(["resume", id, "--yes"]).ok();
    assert_same_tree(before, &Tree::read(project));
}

#[test]
fn a_catalog_that_is_no_database_is_rebuilt_and_not_deleted_by_hand() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("work");
    let id = sandbox.launch(&project, "echo 1 > a");
    fs::write(
        sandbox.store().join("catalog.sqlite3"),
        "nothing of the kind ".repeat(400),
    )
    .unwrap();
    let seen = sandbox.jackin(["list"]).ok();
    seen.has(&id).has("`rebuild` makes it anew");
    sandbox.jackin(["rebuild"]).ok();
    assert!(!sandbox.jackin(["list"]).ok().said().contains("rebuild"));
}
