//! The catalog: nothing is lost with it, and it is made anew.

use std::fs;
use std::process::Command;

use crate::support::machine::{skip, tool};

use super::{HARMS, Harm, Sessions, another, damage, of_another};

#[test]
fn a_catalog_that_is_damaged_is_named_and_made_anew_with_the_same_snapshots() {
    let all = Sessions::new();
    let theirs = another();
    all.again();
    let before = (all.snapshots(&all.damaged), all.snapshots(&all.whole));
    let catalog = all.file("catalog.sqlite3");
    let good = fs::read(&catalog).unwrap();
    let length = i64::try_from(good.len()).unwrap();
    for place in [20, 5000, length / 2, -50] {
        for harm in HARMS {
            all.again();
            let about = format!("{harm:?} at {place}");
            let other = of_another(&all.sandbox, &theirs, "catalog.sqlite3");
            damage(&catalog, place, harm, &other);
            let verify = all.sandbox.jackin(["verify"]).code_in(&[0, 7]);
            let doctor = all.sandbox.jackin(["doctor"]).code_in(&[0, 7]);
            assert_eq!(verify.exit(), doctor.exit(), "{about}: {verify} {doctor}");
            match verify.exit() {
                Some(7) => {
                    verify.has("catalog");
                    doctor.has("catalog");
                }
                // One that is gone is no damage, and a byte may stand for nothing.
                _ => assert!(matches!(harm, Harm::Remove | Harm::Flip), "{about}: {verify}"),
            }
            for run in [&verify, &doctor] {
                assert!(!run.said().contains("receipts.log"), "{about}: {run}");
            }
            // The log is the truth, and nobody touches it.
            let log = fs::read(all.file("receipts.log")).unwrap();
            if verify.exit() == Some(0) {
                assert_eq!(
                    (all.snapshots(&all.damaged), all.snapshots(&all.whole)),
                    before,
                    "{about}"
                );
            }
            all.sandbox.jackin(["rebuild"]).ok();
            assert_eq!(fs::read(all.file("receipts.log")).unwrap(), log, "{about}");
            assert_eq!(
                (all.snapshots(&all.damaged), all.snapshots(&all.whole)),
                before,
                "{about}"
            );
            all.verifies();
            all.whole_restores(&about);
        }
    }
}

#[test]
fn the_catalog_of_another_store_shows_nothing_of_it() {
    let all = Sessions::new();
    let theirs = another();
    let before = (all.snapshots(&all.damaged), all.snapshots(&all.whole));
    let other = of_another(&all.sandbox, &theirs, "catalog.sqlite3");
    damage(&all.file("catalog.sqlite3"), 0, Harm::Swap, &other);
    // Who reads computes; who writes lays it aside.
    let list = all.sandbox.jackin(["list"]).ok();
    assert!(!list.text().contains("theirs"), "{list}");
    assert_eq!((all.snapshots(&all.damaged), all.snapshots(&all.whole)), before);
    all.sandbox.jackin(["log", "--verify"]).ok();
    all.whole_restores("another store's");
    assert!(all.file("catalog.sqlite3.damaged").is_file());
    all.verifies();
}

#[test]
fn tables_without_a_version_are_made_again() {
    let Some(python) = tool("python3") else {
        return skip("a dumped catalog", "python3 is not installed");
    };
    let all = Sessions::new();
    let before = (all.snapshots(&all.damaged), all.snapshots(&all.whole));
    let catalog = all.file("catalog.sqlite3");
    let dump = || {
        // As `sqlite3 OLD .dump | sqlite3 NEW` does: the dump lacks the version.
        let code = "import os, sqlite3, sys\nold = sys.argv[1]\nlines = list(sqlite3.connect(old).iterdump())\n\
                    new = sqlite3.connect(old + '.2')\nnew.executescript('\\n'.join(lines))\nnew.close()\nos.replace(old + '.2', old)";
        assert!(
            Command::new(&python)
                .args(["-c", code])
                .arg(&catalog)
                .status()
                .unwrap()
                .success()
        );
    };
    dump();
    for verb in ["doctor", "verify"] {
        let run = all.sandbox.jackin([verb]).code(7);
        run.has("its tables have no version");
    }
    // Who reads computes; who writes lays it aside.
    assert_eq!((all.snapshots(&all.damaged), all.snapshots(&all.whole)), before);
    all.whole_restores("without a version");
    assert!(all.file("catalog.sqlite3.damaged").is_file());
    all.verifies();
    dump();
    all.sandbox.jackin(["rebuild"]).ok();
    all.verifies();
}
