//! Records: one file for each snapshot.

use std::fs;

use super::{HARMS, Harm, Sessions, hurt, id_in};

#[test]
fn records_that_are_hurt_are_named_and_the_others_restore() {
    let all = Sessions::new();
    for place in [40, 400, -3] {
        for harm in HARMS {
            all.again();
            let about = format!("{harm:?} at {place}");
            let (record, other) = all.files("snapshots", "sn-", ".json");
            hurt(&record, place, harm, &other);
            all.is_found(&about, &id_in(&record));
            if harm == Harm::Swap {
                all.is_found(&about, &id_in(&other));
                all.is_not_torn(&all.other, &about);
            }
            // The baseline is what is gone: it is said to be, and none takes its place.
            let run = all.sandbox.jackin(["restore", &all.hurt.id, "--yes"]).code(7);
            run.has(&id_in(&record));
            all.whole_restores(&about);
            all.sandbox.jackin(["prune", "--yes"]).code_in(&[0, 7]);
            all.sandbox.jackin(["diff", &all.whole.id]).ok();
        }
    }
}

#[test]
fn a_record_that_was_removed_is_missed_by_every_look_and_comes_back_whole() {
    let all = Sessions::new();
    let half = all.snapshots(&all.hurt).remove(1);
    let record = all.file("snapshots").join(format!("{half}.json"));
    let good = fs::read(&record).unwrap();
    fs::remove_file(&record).unwrap();
    let id = &all.hurt.id;
    all.is_found("removed", &half);
    all.sandbox.jackin(["verify"]).code(7).has("\"half\"");
    for verb in [["restore", "--dry-run"], ["diff", "--stat"]] {
        for wanted in ["half", "checkpoint", half.as_str()] {
            let run = all
                .sandbox
                .jackin([verb[0], id, "--from", wanted, verb[1]])
                .code(7);
            run.has(&half);
        }
        // What was never there is what it was.
        all.sandbox
            .jackin([verb[0], id, "--from", "never", verb[1]])
            .code(5);
    }
    all.sandbox.jackin(["diff", id, "--from", "closing"]).ok();
    all.sandbox.jackin(["rebuild"]).code(7).has(&half);
    let document = all.sandbox.jackin(["rebuild", "--json"]).code(7).json();
    assert_eq!(document["lost"][0], half.as_str());
    // What it needs is not given up before it is back.
    all.sandbox.jackin(["prune", "--yes"]).code_in(&[0, 7]);
    fs::write(&record, good).unwrap();
    all.verifies();
    all.sandbox.jackin(["rebuild"]).ok();
    all.sandbox
        .jackin(["restore", id, "--from", "half", "--dry-run"])
        .ok();
}
