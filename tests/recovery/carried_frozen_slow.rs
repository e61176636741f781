//! What frozen claims come to when the cluster takes its time, or the command dies, over a stand-in for kubectl.

use std::fs;

use rustix::process::{Pid, kill_process};
use serde_json::json;

use crate::carried_frozen::{CLAIM, frozen, joined};
use crate::support::build::Build;
use crate::support::compare::assert_same_tree;
use crate::support::kill::fill;
use crate::support::machine::has_points;
use crate::support::stop::interrupt;
use crate::support::tree::Tree;

/// What a person writes when the command is over is not the session's, however long the cluster takes.
#[test]
fn a_session_is_closed_before_its_baseline_can_be_read() {
    let Some(claimed) = frozen("closed") else { return };
    claimed.is_copied(false);
    Build::at(&claimed.project).file("late", "old\n");
    fill(&claimed.project, 20);
    let words = ["launch", "--snapshot", "project", CLAIM, "--", "sh", "-c"];
    let script = format!("echo agent >{}/mode", claimed.project.display());
    let running = claimed
        .sandbox
        .command(words.into_iter().chain([script.as_str()]))
        .start();
    claimed.until_closed();
    // The baseline cannot be read yet.
    fs::write(claimed.project.join("late"), "by a person\n").unwrap();
    claimed.is_copied(true);
    running.finish().ok();
    claimed.left(0);
    let instance = claimed.only();
    let kinds: Vec<&str> = instance.snapshots.iter().map(|one| one.kind.as_str()).collect();
    assert_eq!(kinds, ["closing", "baseline"]);
    claimed
        .sandbox
        .jackin(["restore", &instance.id, "--yes"])
        .code_in(&[0, 6]);
    assert_eq!(
        fs::read_to_string(claimed.project.join("late")).unwrap(),
        "by a person\n"
    );
    assert_ne!(
        fs::read_to_string(claimed.project.join("mode")).unwrap(),
        "agent\n"
    );
}

/// Another cluster under the same name knows nothing of it, which does not mean that it is gone.
#[test]
fn another_cluster_of_the_same_name_gives_up_nothing() {
    if !has_points() {
        return;
    }
    let Some(claimed) = frozen("other-cluster") else {
        return;
    };
    fill(&claimed.project, 20);
    let words = ["launch", "--snapshot", "project", CLAIM, "--", "true"];
    let dying = claimed.sandbox.command(words);
    dying.with("JACKIN_RECOVERY_FAIL_AT", "frozen").run();
    let kept = claimed.cluster().state()["snapshots"].clone();
    claimed.cluster().change(|state| {
        state["snapshots"] = json!({});
        state["claims"]["data"]["uid"] = "another".into();
    });
    let id = claimed.only().id;
    let told = claimed.sandbox.jackin(["pin", &id]).ok();
    assert!(joined(&told).contains("another claim of this name"), "{told}");
    claimed.cluster().change(|state| {
        state["snapshots"] = kept;
        state["claims"]["data"].as_object_mut().unwrap().remove("uid");
    });
    // Nobody waits for such a cluster with each command; who asks for it does.
    let told = claimed.sandbox.jackin(["unpin", &id]).ok();
    assert!(!joined(&told).contains("claim of this name"), "{told}");
    claimed.is_copied(true);
    claimed
        .sandbox
        .jackin(["prune", "--yes"])
        .ok()
        .shows("is stored now");
    claimed.left(0);
}

/// What lies in a cluster that is gone for good can be forgotten, and by nobody who does not say so.
#[test]
fn what_can_never_be_reached_again_is_forgotten_when_it_is_asked_for() {
    if !has_points() {
        return;
    }
    let Some(claimed) = frozen("forgotten") else {
        return;
    };
    fill(&claimed.project, 5);
    let words = ["launch", "--snapshot", "project", CLAIM, "--", "true"];
    let dying = claimed.sandbox.command(words);
    dying.with("JACKIN_RECOVERY_FAIL_AT", "frozen").run();
    claimed
        .cluster()
        .change(|state| state["contexts"] = json!(["another"]));
    let sandbox = &claimed.sandbox;
    let told = sandbox.jackin(["pin", &claimed.only().id]).ok();
    let said = joined(&told);
    assert!(said.contains("does not exist"), "{told}");
    let at = said.find("prune --forget sn-").unwrap() + "prune --forget ".len();
    let id = said[at..].split_whitespace().next().unwrap().to_owned();
    let doctor = joined(&sandbox.jackin(["doctor"]));
    assert!(doctor.contains(&format!("prune --forget {id}")), "{doctor}");
    sandbox
        .jackin(["prune", "--forget", "sn-none"])
        .refused()
        .shows("nothing that could be forgotten");
    sandbox.jackin(["prune", "--forget", &id]).refused();
    let dry = sandbox
        .jackin(["prune", "--forget", &id, "--dry-run", "--json"])
        .ok()
        .json();
    assert_eq!(dry["outcome"], "planned");
    let done = sandbox
        .jackin(["prune", "--forget", &id, "--yes", "--json"])
        .ok()
        .json();
    assert_eq!(done["outcome"], "pruned");
    let place = done["forgotten"][0].as_str().unwrap();
    assert!(place.contains("default/data:jackin-recovery-"), "{place}");
    sandbox.jackin(["log"]).ok().shows("may still be there");
    let quiet = sandbox.jackin(["unpin", &claimed.only().id]).ok();
    assert!(!joined(&quiet).contains("cannot be taken up"), "{quiet}");
    sandbox.jackin(["verify"]).ok();
}

#[test]
fn killed_behind_its_command_a_launch_leaves_a_snapshot_that_the_next_command_stores() {
    if !has_points() {
        return;
    }
    let Some(claimed) = frozen("behind-killed") else {
        return;
    };
    Build::at(&claimed.project).file("a", "before\n").aged();
    let before = Tree::read(&claimed.project);
    let words = ["launch", "--snapshot", "project", CLAIM, "--", "true"];
    let killed = claimed.sandbox.command(words);
    killed.with("JACKIN_RECOVERY_FAIL_AT", "frozen").run();
    claimed.left(1);
    fs::write(claimed.project.join("a"), "agent\n").unwrap();
    let id = claimed.only().id;
    let list = claimed.sandbox.jackin(["list"]).ok();
    list.shows("is not stored yet");
    claimed.is_copied(false);
    let told = claimed.sandbox.jackin(["pin", &id]).ok();
    assert!(joined(&told).contains("its cluster still copies"), "{told}");
    claimed.left(1);
    claimed.is_copied(true);
    claimed.sandbox.jackin(["unpin", &id]).ok().shows("is stored now");
    claimed.left(0);
    let to = claimed.sandbox.scratch("to");
    let words = ["restore", &id, "--from", "baseline", "--yes", "--to"];
    claimed.sandbox.jackin(words.into_iter().chain(to.to_str())).ok();
    assert_eq!(fs::read_to_string(to.join("a")).unwrap(), "before\n");
    assert_eq!(before.nodes.len(), Tree::read(&to).nodes.len());
}

/// A complaint that stands there when the moment is over says nothing of it: it passes, or all becomes ready with it.
#[test]
fn a_complaint_beside_the_moment_keeps_nobody() {
    let Some(claimed) = frozen("complaint") else {
        return;
    };
    claimed
        .cluster()
        .change(|state| state["late_error"] = "the object has been modified".into());
    claimed
        .launch(&format!("echo agent >{}/mode", claimed.project.display()))
        .ok();
    claimed.left(0);
    assert_eq!(claimed.only().snapshots.len(), 2);
}

/// Ctrl-C while a volume is made of what was frozen costs the baseline its turn, and nothing else.
#[test]
fn a_volume_that_never_comes_is_given_up_by_the_operator() {
    let Some(claimed) = frozen("no-volume") else {
        return;
    };
    claimed.is_copied(false);
    fill(&claimed.project, 20);
    let before = Tree::read(&claimed.project);
    let script = format!("echo agent >{}/mode", claimed.project.display());
    let words = [
        "launch",
        "--snapshot",
        "project",
        CLAIM,
        "--",
        "sh",
        "-c",
        &script,
    ];
    let running = claimed.sandbox.command(words).start();
    claimed.until_closed();
    claimed.cluster().change(|state| {
        state["new_pods"] = json!({ "condition": {
            "reason": "Unschedulable", "message": "pod has unbound immediate PersistentVolumeClaims",
        } });
    });
    claimed.is_copied(true);
    let has_helper = || {
        let pods = claimed.cluster().state()["pods"].clone();
        pods.as_object()
            .unwrap()
            .values()
            .any(|pod| pod.get("condition").is_some())
    };
    for _ in 0..1200 {
        if has_helper() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert!(has_helper());
    let pid = Pid::from_raw(i32::try_from(running.child.id()).unwrap()).unwrap();
    kill_process(pid, interrupt()).unwrap();
    let ended = running.finish();
    assert!(joined(&ended).contains("the baseline is not stored"), "{ended}");
    claimed.left(1);
    let id = claimed.only().id;
    claimed.cluster().change(|state| state["new_pods"] = json!({}));
    claimed.sandbox.jackin(["pin", &id]).ok().shows("is stored now");
    claimed.left(0);
    claimed.sandbox.restore(&id, &[]);
    assert_same_tree(&before, &Tree::read(&claimed.project));
}

/// What an agent begins by its hook begins at once: the agent would wait for the cluster, or give the hook up.
#[test]
fn an_agents_hook_waits_for_no_cluster() {
    let Some(claimed) = frozen("hook") else { return };
    claimed.is_copied(false);
    fill(&claimed.project, 5);
    let here = claimed.sandbox.project("here");
    let mounts = format!(
        "[[mounts]]\nsrc = \"{}\"\ndst = \"/here\"\n[[mounts]]\nsrc = \"{CLAIM}\"\ndst = \"/there\"\n\n[recovery]\nsnapshot = \"project\"\n",
        here.display(),
    );
    claimed.sandbox.configure("workspaces/both.toml", &mounts);
    let told = json!({
        "session_id": "session-1", "transcript_path": "/x/transcript.jsonl", "cwd": here, "permission_mode": "default",
        "hook_event_name": "SessionStart", "source": "startup",
    });
    claimed
        .sandbox
        .tell("claude", "SessionStart", told.to_string().as_bytes())
        .ok();
    let instance = claimed.only();
    assert_eq!(instance.snapshots.len(), 1);
    assert!(instance.snapshots[0].complete);
    claimed.left(0);
}
