//! Records: one file for each snapshot.

use std::fs;

use super::{HARMS, Harm, Sessions, damage, id_in};
use crate::support::sandbox::Sandbox;

#[test]
fn records_that_are_damaged_are_named_and_the_others_restore() {
    let all = Sessions::new();
    for place in [40, 400, -3] {
        for harm in HARMS {
            all.again();
            let about = format!("{harm:?} at {place}");
            let (record, other) = all.files("snapshots", "sn-", ".json");
            damage(&record, place, harm, &other);
            all.is_found(&about, &id_in(&record));
            if harm == Harm::Swap {
                all.is_found(&about, &id_in(&other));
                all.is_not_torn(&all.other, &about);
            }
            // The baseline is what is gone: it is said to be, and none takes its place.
            let run = all.sandbox.jackin(["restore", &all.damaged.id, "--yes"]).code(7);
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
    let half = all.snapshots(&all.damaged).remove(1);
    let record = all.file("snapshots").join(format!("{half}.json"));
    let good = fs::read(&record).unwrap();
    fs::remove_file(&record).unwrap();
    let id = &all.damaged.id;
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

#[test]
fn a_record_that_is_lost_for_good_can_be_given_up() {
    let all = Sessions::new();
    let half = all.snapshots(&all.damaged).remove(1);
    fs::remove_file(all.file("snapshots").join(format!("{half}.json"))).unwrap();
    all.sandbox.jackin(["rebuild"]).code(7).has("--accept-loss");
    // While it may be put back, it may need any archive.
    let idle = all.file("archives/ar-0123456789ab.tar.zst");
    fs::write(&idle, "of a command that was killed").unwrap();
    all.sandbox.jackin(["prune", "--yes"]).ok();
    assert!(idle.exists());
    let run = all.sandbox.jackin(["rebuild", "--accept-loss", "--json"]).ok();
    let document = run.json();
    assert_eq!(document["given_up"][0], half.as_str());
    assert_eq!(document["lost"].as_array().unwrap().len(), 0);
    all.verifies();
    all.sandbox.jackin(["rebuild"]).ok();
    all.sandbox.jackin(["doctor"]).ok();
    all.sandbox.jackin(["log"]).ok().has("discarded 1 snapshot");
    let id = &all.damaged.id;
    all.sandbox.jackin(["diff", id, "--from", "half"]).code(5);
    all.sandbox.jackin(["prune", "--yes"]).ok();
    assert!(!idle.exists());
    all.verifies();
    all.is_not_torn(&all.damaged, "after that");
    all.whole_restores("after that");
}

#[test]
fn a_lost_checkpoint_hides_no_later_one_whose_receipt_a_kill_prevented() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("work");
    fs::write(project.join("file"), "0").unwrap();
    let target = project.to_str().unwrap();
    let id = sandbox.begin(target);
    for name in ["one", "two"] {
        fs::write(project.join("file"), name).unwrap();
        sandbox.jackin(["checkpoint", &id, "--name", name]).ok();
    }
    let shown = sandbox.jackin(["show", &id, "--json"]).ok().json();
    let snapshots = shown["instance"]["snapshots"].as_array().unwrap();
    let first = snapshots.iter().find(|one| one["name"] == "one").unwrap();
    // As a kill between the record of the second one and its receipt leaves it.
    let log = sandbox.store().join("receipts.log");
    let text = fs::read_to_string(&log).unwrap();
    let links: Vec<&str> = text.split_inclusive('\n').collect();
    fs::write(&log, links[..links.len() - 1].concat()).unwrap();
    fs::remove_file(sandbox.store().join("catalog.sqlite3")).unwrap();
    let record = format!("snapshots/{}.json", first["id"].as_str().unwrap());
    fs::remove_file(sandbox.store().join(record)).unwrap();
    let copy = sandbox.scratch("copy");
    let to = ["restore", &id, "--from", "checkpoint", "--yes", "--to"];
    let to = to.into_iter().chain([copy.to_str().unwrap()]);
    sandbox.jackin(to).ok();
    assert_eq!(fs::read_to_string(copy.join("file")).unwrap(), "two");
}
