//! Taking back one step of a session: what stays says which later step it belongs to, and the receipts say what was done, and by whom.

use std::fs;

use serde_json::Value;

use crate::checkpoints::{session, three_steps};
use crate::retention::rules;
use crate::support::documents::Restored;
use crate::support::machine::has_points;
use crate::support::run::Run;
use crate::support::sandbox::Sandbox;

/// On a terminal on which nothing is broken.
fn wide(sandbox: &Sandbox, args: &[&str]) -> Run {
    sandbox.command(args).with("COLUMNS", "400").run()
}

/// The last restore in `log --json`.
fn last_restore(sandbox: &Sandbox) -> Value {
    let log = sandbox.jackin(["log", "--json"]).ok().json();
    let mut all = log["receipts"].as_array().unwrap().iter();
    all.find(|receipt| receipt["act"]["act"] == "restore")
        .unwrap()
        .clone()
}

#[test]
fn a_path_that_a_later_step_touched_says_so_and_names_the_step() {
    let sandbox = Sandbox::new();
    let (project, id) = three_steps(&sandbox);
    fs::write(project.join("fresh"), "of the operator\n").unwrap();
    let words = ["restore", &id, "--only-changes-of", "two", "--dry-run"];
    let shown = sandbox.jackin(words.into_iter().chain(["--patch"])).code(6);
    shown
        .has(" b: changed by a later step (three)")
        .has(" fresh: changed after the session");
    // What is done is shown all the same, line by line, and what stays is not.
    shown.has("-c of the operator");
    assert!(!shown.said().contains("+three"), "{shown}");
    let run = sandbox.jackin(words.into_iter().chain(["--json"])).code(6);
    let plan = Restored::of(&run);
    plan.touched(&["c"]);
    let reasons: Vec<&str> = plan.document["conflicts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|conflict| conflict["reason"].as_str().unwrap())
        .collect();
    assert_eq!(
        reasons,
        ["changed by a later step (three)", "changed after the session"]
    );
}

#[test]
fn what_came_after_the_last_snapshot_of_a_session_that_lives_is_not_said_to_come_after_the_session() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("work");
    fs::write(project.join("a"), "1\n").unwrap();
    fs::write(project.join("b"), "1\n").unwrap();
    let run = session(
        &sandbox,
        &project,
        "echo 2 > a; echo 2 > b; $J checkpoint --name one >/dev/null; echo 3 > a; $J checkpoint --message unnamed >/dev/null; \
         echo 3 > b; $J restore $ID --only-changes-of one --yes; echo code $?",
    )
    .ok();
    run.has(" a: changed by a later step (sn-")
        .has(" b: changed after that step")
        .has("code 6");
}

#[test]
fn the_receipt_of_a_step_that_was_taken_back_names_the_step() {
    let sandbox = Sandbox::new();
    let (_, id) = three_steps(&sandbox);
    let two = sandbox.jackin(["show", &id, "--json"]).ok().json();
    let snapshots = two["instance"]["snapshots"].as_array().unwrap().iter();
    let two = snapshots.clone().find(|row| row["name"] == "two").unwrap()["id"].clone();
    sandbox
        .jackin(["restore", &id, "--only-changes-of", "two", "--yes"])
        .code(6);
    let receipt = last_restore(&sandbox);
    assert_eq!(receipt["act"]["only_changes_of"]["snapshot"], two);
    assert_eq!(receipt["act"]["only_changes_of"]["name"], "two");
    assert_eq!(receipt["taken_back_by"], Value::Null);
    let told = format!("reverted only the step two ({})", two.as_str().unwrap());
    let log = wide(&sandbox, &["log"]).ok();
    log.has(&told).has("2 paths; 1 conflict kept");
    assert!(!log.said().contains("restored to"), "{log}");
    // And back: both say what became of it.
    sandbox.jackin(["undo", "--any", "--yes"]).ok();
    let undo = last_restore(&sandbox)["number"].clone();
    let log = sandbox.jackin(["log", "--json"]).ok().json();
    let all = log["receipts"].as_array().unwrap().iter();
    let step = all.clone().find(|other| other["number"] == receipt["number"]);
    assert_eq!(step.unwrap()["taken_back_by"], undo);
    let shown = sandbox.jackin(["show", &id, "--json"]).ok().json();
    assert_eq!(shown["restores"][1]["taken_back_by"], undo);
    assert_eq!(shown["restores"][1]["only_changes_of"]["name"], "two");
    assert_eq!(shown["restores"][0]["taken_back_by"], Value::Null);
    let shown = wide(&sandbox, &["show", &id]).ok();
    shown
        .has("restore, only the step two (sn-")
        .has(&format!("(undone by {undo})"))
        .has(&format!("undo of {}", receipt["number"]));
}

#[test]
fn a_step_whose_restore_was_killed_before_it_moved_anything_takes_no_later_step_with_it() {
    if !has_points() {
        return;
    }
    let sandbox = Sandbox::new();
    let (project, id) = three_steps(&sandbox);
    let restore = sandbox.command(["restore", &id, "--only-changes-of", "two", "--yes"]);
    let killed = restore.with("JACKIN_RECOVERY_FAIL_AT", "staged").run();
    assert_eq!(killed.exit(), None, "{killed}");
    let run = sandbox.jackin(["resume", &id, "--yes"]).code(6);
    run.has(" b: changed by a later step (three)");
    assert_eq!(fs::read_to_string(project.join("b")).unwrap(), "three\n");
    assert!(project.join("c").exists() && !project.join("fresh").exists());
    assert_eq!(last_restore(&sandbox)["act"]["only_changes_of"]["name"], "two");
    // The same when it was killed in the middle.
    sandbox.jackin(["undo", "--any", "--yes"]).ok();
    let restore = sandbox.command(["restore", &id, "--only-changes-of", "two", "--yes"]);
    assert_eq!(
        restore.with("JACKIN_RECOVERY_FAIL_AT", "moved").run().exit(),
        None
    );
    sandbox.jackin(["resume", &id, "--yes"]).code(6);
    assert_eq!(last_restore(&sandbox)["act"]["only_changes_of"]["name"], "two");
}

#[test]
fn what_a_session_restored_itself_is_told_from_what_the_operator_did() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("work");
    fs::write(project.join("a"), "1\n").unwrap();
    let run = session(
        &sandbox,
        &project,
        "echo 2 > a; $J checkpoint --name two --message 'the second' >/dev/null; echo 3 > a; \
         $J restore $ID --from two --yes; echo code $?; $J undo --yes; echo undo $?; $J prune --yes; echo prune $?",
    )
    .ok();
    let id = sandbox.newest();
    // What is refused there is not proposed there as a thing to do, and the refusal says what is allowed.
    run.has("code 0").has("undo 3").has("prune 3");
    run.has("the operator can undo it after the session")
        .has("restore --from its own checkpoints");
    assert!(!run.said().contains("note: to undo"), "{run}");
    assert_eq!(last_restore(&sandbox)["act"]["inside"], true);
    sandbox.jackin(["restore", &id, "--yes"]).ok();
    assert_eq!(last_restore(&sandbox)["act"]["inside"], Value::Null);
    let log = wide(&sandbox, &["log"]).ok();
    let line = |number: u64| {
        let text = log.text();
        let is_it = |line: &&str| line.split_whitespace().next() == Some(&number.to_string());
        let found = text.lines().find(is_it);
        found.unwrap_or_else(|| panic!("{log}")).to_owned()
    };
    let number = last_restore(&sandbox)["number"].as_u64().unwrap();
    assert!(!line(number).contains("itself"), "{log}");
    log.has(&format!("by the session {id} itself"));
    // A checkpoint is told with its name and its message.
    log.has(" two, the second (~1)");
    let shown = sandbox.jackin(["show", &id, "--json"]).ok().json();
    assert_eq!(shown["restores"][0]["inside"], false);
    assert_eq!(shown["restores"][1]["inside"], true);
    wide(&sandbox, &["show", &id])
        .ok()
        .has("restore, by the session itself");
}

#[test]
fn a_step_that_is_waited_for_is_kept_and_a_restore_of_it_is_not_forgotten() {
    if !has_points() {
        return;
    }
    let sandbox = Sandbox::new();
    let (project, id) = three_steps(&sandbox);
    let restore = sandbox.command(["restore", &id, "--only-changes-of", "one", "--yes"]);
    restore.with("JACKIN_RECOVERY_FAIL_AT", "staged").run();
    rules(&sandbox, "checkpoints = 1");
    sandbox.jackin(["prune", "--yes"]).ok();
    let shown = sandbox.jackin(["show", &id, "--json"]).ok().json();
    let snapshots = shown["instance"]["snapshots"].as_array().unwrap();
    let names: Vec<&str> = snapshots.iter().filter_map(|one| one["name"].as_str()).collect();
    assert!(names.contains(&"one") && !names.contains(&"two"), "{names:?}");
    // A record that cannot be read now may be put back.
    let step = snapshots.iter().find(|one| one["name"] == "one").unwrap();
    let record = format!("snapshots/{}.json", step["id"].as_str().unwrap());
    let record = sandbox.store().join(record);
    let bytes = fs::read(&record).unwrap();
    fs::write(&record, b"hurt").unwrap();
    sandbox.jackin(["resume", &id, "--yes"]).code(7);
    fs::write(&record, bytes).unwrap();
    sandbox.jackin(["resume", &id, "--yes"]).ok();
    let text = fs::read_to_string(project.join("a")).unwrap();
    assert_eq!(text, "a of the operator\n");
}
