//! Moments inside a session: marking them, going back to them from within, and taking one step back alone.

use std::fs;
use std::path::Path;

use crate::support::build::Build;
use crate::support::compare::assert_same_tree;
use crate::support::documents::Restored;
use crate::support::machine::binary;
use crate::support::run::Run;
use crate::support::sandbox::Sandbox;
use crate::support::tree::Tree;

/// Runs `script` as a session; `$J` in it is the program, `$ID` the session.
pub(crate) fn session(sandbox: &Sandbox, project: &Path, script: &str) -> Run {
    let script = format!(
        "J='{} recovery'; ID=$JACKIN_RECOVERY_INSTANCE; {script}",
        binary().display()
    );
    sandbox
        .launching(project, &["sh", "-c", &script])
        .inside(project)
        .run()
}

/// A project and a session on it with three steps: `a`, then `b` and a new file, then `b` again and a directory.
pub(crate) fn three_steps(sandbox: &Sandbox) -> (std::path::PathBuf, String) {
    let project = sandbox.project("work");
    for name in ["a", "b", "c"] {
        fs::write(project.join(name), format!("{name} of the operator\n")).unwrap();
    }
    session(
        sandbox,
        &project,
        "echo one > a && $J checkpoint --name one --message 'the first' && \
         echo two > b && echo new > fresh && rm c && $J checkpoint --name two && \
         echo three > b && mkdir d && echo x > d/x && $J checkpoint --name three",
    )
    .ok();
    (project, sandbox.newest())
}

#[test]
fn a_session_goes_back_to_its_own_checkpoint_and_overwrites_what_came_after() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("work");
    fs::write(project.join("kept"), "kept").unwrap();
    let run = session(
        &sandbox,
        &project,
        "echo good > work && $J checkpoint --name good >/dev/null && \
         echo bad > work && echo junk > junk && rm kept && \
         $J restore $ID --from good --yes >/dev/null; echo restored with $?; cat work; ls",
    )
    .ok();
    run.has("restored with 0\ngood\nkept\nwork\n");
    // All of it can be taken back by the operator.
    sandbox.jackin(["undo", "--any", "--yes"]).ok();
    assert_eq!(fs::read_to_string(project.join("work")).unwrap(), "bad\n");
    assert!(!project.join("kept").exists());
    sandbox.jackin(["restore", "@latest", "--yes"]).ok();
    assert_eq!(fs::read_dir(&project).unwrap().count(), 1);
}

#[test]
fn a_session_restores_nothing_but_its_own_checkpoints() {
    let sandbox = Sandbox::new();
    let other = sandbox.project("other");
    fs::write(other.join("x"), "x").unwrap();
    let earlier = sandbox.launch(&other, "echo y > x");
    let project = sandbox.project("work");
    fs::write(project.join("f"), "f").unwrap();
    let before = Tree::read(&project);
    let run = session(
        &sandbox,
        &project,
        &format!(
            "$J checkpoint --name here >/dev/null; \
             for from in '' '--from baseline' '--from here --to /tmp/never-there' '--from here --set-aside-excluded f'; do \
               $J restore $ID $from --yes; echo \"[$from] $?\"; done; \
             $J restore {earlier} --yes; echo other $?; $J undo --yes; echo undo $?; \
             $J prune --yes; echo prune $?; $J pin $ID; echo pin $?; $J unpin $ID here; echo unpin $?"
        ),
    )
    .ok();
    for refused in [
        "[] 3",
        "[--from baseline] 3",
        "[--from here --to /tmp/never-there] 3",
        "[--from here --set-aside-excluded f] 3",
        "other 3",
        "prune 3",
        "pin 3",
        "unpin 3",
    ] {
        run.has(refused);
    }
    run.has("only its own checkpoints can be restored");
    assert!(!run.said().contains("undo 0"), "{run}");
    assert_same_tree(&before, &Tree::read(&project));
    assert_eq!(fs::read_to_string(other.join("x")).unwrap(), "y\n");
}

#[test]
fn from_outside_a_session_that_lives_is_left_alone() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("work");
    fs::write(project.join("f"), "f").unwrap();
    let id = sandbox.begin(&project);
    sandbox.jackin(["checkpoint", &id, "--name", "c"]).ok();
    fs::write(project.join("f"), "g").unwrap();
    sandbox.jackin(["restore", &id, "--from", "c", "--yes"]).code(3);
    assert_eq!(fs::read_to_string(project.join("f")).unwrap(), "g");
}

#[test]
fn one_step_is_taken_back_and_later_ones_stay() {
    let sandbox = Sandbox::new();
    let (project, id) = three_steps(&sandbox);
    let done = Tree::read(&project);
    // It shows the lines that it takes back, and nothing of other steps.
    let shown = sandbox
        .jackin(["restore", &id, "--only-changes-of", "one", "--dry-run", "--patch"])
        .ok();
    shown.has("-a of the operator").has("+one");
    assert!(!shown.said().contains("fresh"), "{shown}");
    assert_same_tree(&done, &Tree::read(&project));
    // `b` was touched again by the third step: it is a conflict, and the rest of the second step goes.
    let run = sandbox
        .jackin(["restore", &id, "--only-changes-of", "two", "--yes", "--json"])
        .code(6);
    let plan = Restored::of(&run);
    plan.touched(&["c", "fresh"]);
    plan.conflicted(&["b"]);
    assert_eq!(fs::read_to_string(project.join("a")).unwrap(), "one\n");
    assert_eq!(fs::read_to_string(project.join("b")).unwrap(), "three\n");
    assert!(project.join("d/x").exists() && project.join("c").exists() && !project.join("fresh").exists());
    sandbox.jackin(["undo", "--any", "--yes"]).ok();
    assert_same_tree(&done, &Tree::read(&project));
    // The first step; what the operator did since to another path stays.
    fs::write(project.join("mine"), "mine").unwrap();
    sandbox
        .jackin(["restore", &id, "--only-changes-of", "one", "--yes"])
        .ok();
    assert_eq!(
        fs::read_to_string(project.join("a")).unwrap(),
        "a of the operator\n"
    );
    assert!(project.join("mine").exists() && project.join("fresh").exists());
    sandbox
        .jackin(["restore", &id, "--only-changes-of", "baseline", "--dry-run"])
        .code(2)
        .has("is not a step");
    sandbox
        .jackin(["restore", &id, "--only-changes-of", "nothing", "--dry-run"])
        .refused();
}

#[test]
fn a_step_can_be_taken_back_from_within() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("work");
    let run = session(
        &sandbox,
        &project,
        "$J checkpoint --name start >/dev/null; echo 1 > one && $J checkpoint --name one >/dev/null; \
         echo 2 > two && $J checkpoint --name two >/dev/null; \
         $J restore $ID --only-changes-of one --yes >/dev/null; echo code $?; ls",
    )
    .ok();
    run.has("code 0\ntwo\n");
}

#[test]
fn a_step_whose_beginning_was_pruned_is_not_guessed() {
    let sandbox = Sandbox::new();
    sandbox.configure("config.toml", "[recovery.retention]\ncheckpoints = 1\n");
    let (project, id) = three_steps(&sandbox);
    let before = Tree::read(&project);
    let refused = sandbox
        .jackin(["restore", &id, "--only-changes-of", "three", "--yes"])
        .code(5);
    refused.has("the snapshot before it was pruned");
    sandbox
        .jackin(["restore", &id, "--only-changes-of", "closing", "--dry-run"])
        .ok();
    sandbox
        .jackin(["restore", &id, "--from", "one", "--yes"])
        .code(5)
        .has("was pruned");
    assert_same_tree(&before, &Tree::read(&project));
    // What was restored to a checkpoint that is gone by now is somebody's work, and no reason to fail.
    sandbox.jackin(["restore", &id, "--yes"]).ok();
}

#[test]
fn what_each_step_changed_is_shown_with_its_message() {
    let sandbox = Sandbox::new();
    let (_, id) = three_steps(&sandbox);
    let shown = sandbox.jackin(["show", &id]).ok();
    shown
        .has("one, the first")
        .has("~1")
        .has("+1 ~1 -1")
        .has("+2 ~1")
        .has("nothing");
    let document = sandbox.jackin(["show", &id, "--json"]).ok().json();
    assert_eq!(document["steps"].as_object().unwrap().len(), 4);
    // They stand in the receipts, so that no manifest is read for them, and stay when the snapshot is gone.
    let log = sandbox.jackin(["log", "--json"]).ok().json();
    let acts = log["receipts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|receipt| &receipt["act"]);
    let told: Vec<_> = acts.filter(|act| act["step"].is_object()).collect();
    assert_eq!(told.len(), 4);
    for act in told {
        let (of, step) = (act["snapshot"].as_str().unwrap(), &act["step"]);
        for count in ["added", "changed", "deleted"] {
            assert_eq!(document["steps"][of][count], step[count], "{act}");
        }
    }
    sandbox.jackin(["log"]).ok().has("(+2 ~1)").has("(nothing)");
    sandbox.jackin(["checkpoint", &id, "--name", "one"]).refused();
}

#[test]
fn a_restore_to_what_is_pruned_by_now_is_no_reason_to_fail() {
    let sandbox = Sandbox::new();
    let (project, id) = three_steps(&sandbox);
    sandbox.jackin(["restore", &id, "--from", "one", "--yes"]).ok();
    sandbox.jackin(["restore", &id, "--from", "three", "--yes"]).ok();
    sandbox.configure("config.toml", "[recovery.retention]\ncheckpoints = 1\n");
    let pruned = sandbox.jackin(["prune", "--yes", "--json"]).ok().json();
    assert_ne!(pruned["snapshots"].as_array().unwrap().len(), 0);
    sandbox.jackin(["restore", &id, "--yes"]).ok();
    assert_eq!(
        fs::read_to_string(project.join("a")).unwrap(),
        "a of the operator\n"
    );
    assert!(!project.join("fresh").exists());
    sandbox.jackin(["undo", "--any", "--yes"]).ok();
    assert!(project.join("fresh").exists());
}

#[test]
fn the_plan_that_was_shown_stands_in_the_receipt() {
    let sandbox = Sandbox::new();
    let (_, id) = three_steps(&sandbox);
    let planned = sandbox
        .jackin(["restore", &id, "--dry-run", "--json"])
        .ok()
        .json();
    let plan = planned["plan"].as_str().unwrap().to_owned();
    assert_eq!(plan.len(), 64);
    let done = sandbox.jackin(["restore", &id, "--yes", "--json"]).ok().json();
    assert_eq!(done["plan"], plan.as_str());
    sandbox.jackin(["undo", "--any", "--yes"]).ok();
    let log = sandbox.jackin(["log", "--json"]).ok().json();
    let of = |kind: &str| {
        let receipts = log["receipts"].as_array().unwrap().iter();
        let mut found = receipts.filter(|receipt| receipt["act"]["kind"] == kind);
        found.next().unwrap().clone()
    };
    assert_eq!(of("restore")["act"]["plan"], plan.as_str());
    assert_eq!(of("undo")["act"]["undoes"], of("restore")["number"]);
    let shown = sandbox.jackin(["log"]).ok();
    shown.has("undone by").has("undid ");
}

#[test]
fn the_head_of_the_chain_shows_whether_it_was_written_anew() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("work");
    sandbox.launch(&project, "echo 1 > a");
    let kept = sandbox.jackin(["log", "--anchor"]).ok();
    let anchor = String::from_utf8_lossy(&kept.stdout).trim().to_owned();
    let saved = sandbox.scratch("saved");
    fs::create_dir_all(&saved).unwrap();
    sandbox.launch(&project, "echo 2 > a");
    sandbox
        .jackin(["log", "--verify", "--anchor", &anchor])
        .ok()
        .shows("those of the anchor");
    // Another store has another chain, each link of which holds.
    fs::rename(sandbox.store(), saved.join("store")).unwrap();
    sandbox.launch(&project, "echo 3 > a");
    sandbox.launch(&project, "echo 4 > a");
    sandbox.jackin(["log", "--verify"]).ok();
    let changed = sandbox.jackin(["log", "--verify", "--anchor", &anchor]).code(7);
    changed.has("or an earlier one was changed");
    fs::remove_dir_all(sandbox.store()).unwrap();
    sandbox
        .jackin(["log", "--verify", "--anchor", &anchor])
        .code(7)
        .has("receipts are missing");
    sandbox
        .jackin(["log", "--verify", "--anchor", "nonsense"])
        .code(2)
        .has("log --anchor");
}

#[test]
fn of_those_who_take_one_name_at_the_same_time_one_gets_it() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("work");
    for number in 0..200 {
        fs::write(project.join(number.to_string()), number.to_string()).unwrap();
    }
    let run = session(
        &sandbox,
        &project,
        "for n in 1 2 3 4 5 6 7 8; do ($J checkpoint --name same >/dev/null 2>&1; echo status $?) & done; wait",
    )
    .ok();
    let text = run.text();
    assert_eq!(text.matches("status 0").count(), 1, "{text}");
    assert_eq!(text.matches("status 2").count(), 7, "{text}");
    sandbox.jackin(["verify"]).ok();
    assert_eq!(
        fs::read_dir(sandbox.store().join("locks"))
            .unwrap()
            .flatten()
            .filter(|entry| { entry.file_name().to_string_lossy().starts_with("checkpoint-") })
            .count(),
        0
    );
}

#[test]
fn a_name_that_is_written_as_an_id_or_was_given_up_is_no_name_for_a_checkpoint() {
    let sandbox = Sandbox::new();
    sandbox.configure("config.toml", "[recovery.retention]\ncheckpoints = 1\n");
    let project = sandbox.project("work");
    let id = sandbox.begin(&project);
    let mark = |name: &str| {
        fs::write(project.join("a"), name).unwrap();
        sandbox.jackin(["checkpoint", &id, "--name", name])
    };
    mark("maqckmy5d53g").code(2).has("it looks like an id");
    for name in ["k1", "k2", "k3"] {
        mark(name).ok();
    }
    let refused = mark("k1").code(2);
    refused
        .has("\"k1\"")
        .has("was pruned at 2")
        .has("(receipt ")
        .has("choose another name");
    sandbox
        .jackin(["diff", &id, "--from", "k1", "--to", "now"])
        .code(5)
        .has("was pruned");
    sandbox.jackin(["end", &id]).ok();
    // In another session it is as good as any.
    let other = sandbox.begin(&project);
    sandbox.jackin(["checkpoint", &other, "--name", "k1"]).ok();
}

#[test]
fn inside_a_session_a_difference_needs_no_name() {
    let sandbox = Sandbox::new();
    let project = sandbox.project("inside");
    Build::at(&project).file("a", "before\n").aged();
    sandbox
        .jackin(["diff"])
        .code(5)
        .shows("no session is recorded yet")
        .shows("jackin recovery launch");
    let said = sandbox.scratch("said");
    let script = format!(
        "echo agent > a; '{}' recovery diff > '{}'",
        binary().display(),
        said.display()
    );
    sandbox.launch(&project, &script);
    assert_eq!(fs::read_to_string(said).unwrap(), "M a\n");
}
