//! Claims that are frozen by a `VolumeSnapshot`, over a stand-in for kubectl; also when the cluster takes its time, or the command dies.

use std::fs;

use rustix::process::{Pid, kill_process};
use serde_json::{Value, json};

use crate::carried_bounds::there_and_back;
use crate::carried_cluster::Claimed;
use crate::exchanges::commands;
use crate::support::build::Build;
use crate::support::carried::CONTEXT;
use crate::support::compare::assert_same_tree;
use crate::support::documents::{Instance, instances};
use crate::support::kill::fill;
use crate::support::machine::has_points;
use crate::support::patience::{await_file, await_that};
use crate::support::run::Run;
use crate::support::stop::interrupt;
use crate::support::tree::Tree;

pub(crate) const CLAIM: &str = "k8s-pvc://default/data";
const SNAPSHOTS: &str = "volumesnapshots.snapshot.storage.k8s.io";
const CLASSES: &str = "volumesnapshotclasses.snapshot.storage.k8s.io";

/// A claim in a cluster that makes snapshots of it, which take a while.
pub(crate) fn frozen(name: &str) -> Option<Claimed> {
    let claimed = Claimed::new(name)?;
    claimed.cluster().change(|state| {
        state["snapshots_known"] = true.into();
        state["taken_after"] = 1.into();
        state["ready_after"] = 3.into();
        state["classes"] = json!([
            { "metadata": { "name": "elsewhere" }, "driver": "others.example" },
            { "metadata": { "name": "disks" }, "driver": "disks.example" },
        ]);
    });
    Some(claimed)
}

impl Claimed {
    fn explain(&self) -> Run {
        self.sandbox.jackin(["explain", "--snapshot", "project", CLAIM])
    }

    pub(crate) fn launch(&self, script: &str) -> Run {
        self.sandbox.launching(CLAIM, &["sh", "-c", script]).run()
    }

    pub(crate) fn only(&self) -> Instance {
        let mut all = instances(&self.sandbox.jackin(["list", "--json"]).ok());
        assert_eq!(all.len(), 1);
        all.remove(0)
    }

    /// Whether the cluster is done with copying what was frozen.
    pub(crate) fn is_copied(&self, is_copied: bool) {
        let polls = if is_copied { 0 } else { 10_000 };
        self.cluster().change(|state| state["ready_after"] = polls.into());
    }

    /// Waits until a snapshot is stored.
    pub(crate) fn until_closed(&self) {
        let records = self.sandbox.store().join("snapshots");
        await_that("a stored snapshot", || {
            fs::read_dir(&records).is_ok_and(|all| all.count() > 0)
        });
    }

    /// How many snapshots of claims there are.
    pub(crate) fn snapshots(&self) -> usize {
        let state = self.cluster().state();
        state["snapshots"].as_object().map_or(0, serde_json::Map::len)
    }

    /// Nothing of ours is left in the cluster but so many snapshots.
    #[track_caller]
    pub(crate) fn left(&self, snapshots: usize) {
        assert_eq!(self.snapshots(), snapshots);
        // Those go in the background.
        let claims = || -> Value { self.cluster().state()["claims"].clone() };
        let left = || (self.helpers(), claims());
        await_that("the end of all helpers and claims", || {
            let (helpers, claims) = left();
            helpers.is_empty() && claims.as_object().unwrap().len() == 1
        });
    }
}

pub(crate) fn joined(run: &Run) -> String {
    run.text().split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_claim_is_read_from_a_snapshot_of_it_and_nothing_stays() {
    let Some(claimed) = frozen("read") else { return };
    let told = claimed.explain().ok();
    let said = joined(&told);
    for part in [
        "frozen for the baseline by a VolumeSnapshot of the class disks of",
        &format!("k8s-pvc://{CONTEXT}/default/data:jackin-recovery-"),
        &format!("create {SNAPSHOTS}"),
        &format!("delete {SNAPSHOTS}"),
        "create persistentvolumeclaims",
    ] {
        assert!(said.contains(part), "{part}\n{told}");
    }
    claimed.left(0);
    there_and_back(&claimed.sandbox, &claimed.project, CLAIM);
    claimed.left(0);
    let [snapshot, claim] = claimed.cluster().shown();
    assert_eq!(snapshot["spec"]["volumeSnapshotClassName"], "disks");
    assert_eq!(snapshot["spec"]["source"]["persistentVolumeClaimName"], "data");
    assert_eq!(claim["spec"]["storageClassName"], "quick");
    assert_eq!(claim["spec"]["resources"]["requests"]["storage"], "4Gi");
    assert_eq!(claim["metadata"]["ownerReferences"][0]["kind"], "VolumeSnapshot");
    let helper = claimed.cluster().created();
    assert!(helper["spec"]["containers"][0]["volumeMounts"][0]["readOnly"].is_boolean());
}

#[test]
fn a_command_begins_when_the_moment_is_over_and_its_baseline_is_that_moment() {
    let Some(claimed) = frozen("behind") else { return };
    claimed.cluster().change(|state| state["ready_after"] = 12.into());
    fill(&claimed.project, 40);
    let before = Tree::read(&claimed.project);
    let seen = claimed.sandbox.scratch("seen");
    let script = format!(
        "ls {store}/snapshots | wc -l >{seen}; cd {project}; rm -r many/1; echo agent >mode",
        store = claimed.sandbox.store().display(),
        seen = seen.display(),
        project = claimed.project.display(),
    );
    let run = claimed.launch(&script).ok();
    assert_eq!(fs::read_to_string(&seen).unwrap(), "0\n", "{run}");
    claimed.left(0);
    let instance = claimed.only();
    assert!(
        instance.snapshots.iter().all(|snapshot| snapshot.complete),
        "{run}"
    );
    claimed.sandbox.restore(&instance.id, &[]);
    assert_same_tree(&before, &Tree::read(&claimed.project));
    claimed.left(0);
}

#[test]
fn where_it_cannot_be_had_the_claim_is_read_as_it_is_and_the_contract_says_so() {
    let Some(claimed) = frozen("why") else { return };
    let not = |why: &str| {
        let told = claimed.explain().ok();
        let said = joined(&told);
        assert!(
            said.contains("not frozen by a VolumeSnapshot:") && said.contains(why),
            "{why}\n{told}"
        );
    };
    let deny = |what: &str| claimed.cluster().change(|state| state["denied"] = json!([what]));
    deny(&format!("create {SNAPSHOTS}"));
    not(&format!("you may not create {SNAPSHOTS} there"));
    let config = |text: &str| claimed.sandbox.configure("config.toml", text);
    config("[recovery]\nnative = \"require\"\n");
    claimed.explain().code(2).shows("you may not create");
    config("[recovery]\nnative = \"off\"\n");
    assert!(!joined(&claimed.explain().ok()).contains("VolumeSnapshot"));
    config("");
    // Who may not look at the classes leaves the choice to the cluster.
    deny(&format!("get {CLASSES}"));
    assert!(joined(&claimed.explain().ok()).contains("by a VolumeSnapshot of k8s-pvc://"));
    deny("nothing");
    let classes = |classes: Value| claimed.cluster().change(|state| state["classes"] = classes);
    classes(json!([]));
    not("the cluster has no VolumeSnapshotClass for volumes of disks.example");
    let class = |name: &str, default: &str| {
        let notes = json!({ "snapshot.storage.kubernetes.io/is-default-class": default });
        json!({ "metadata": { "name": name, "annotations": notes }, "driver": "disks.example" })
    };
    classes(json!([class("one", "false"), class("two", "false")]));
    not("several VolumeSnapshotClasses are for volumes of disks.example");
    classes(json!([class("one", "false"), class("two", "true")]));
    assert!(joined(&claimed.explain().ok()).contains("of the class two"));
    // What is permitted may be refused all the same, by quotas and policies.
    let refuse = |kind: &str, why: &str| {
        let refused = format!("Error from server ({why}");
        claimed
            .cluster()
            .change(|state| state["refused"] = json!({ kind: refused }));
    };
    refuse("PersistentVolumeClaim", "Forbidden): exceeded quota: storage");
    not(
        "the cluster would refuse the PersistentVolumeClaim for it: kubectl failed: Error from server (Forbidden): exceeded quota",
    );
    refuse("Pod", "Forbidden): pods is forbidden: violates PodSecurity");
    not("the cluster would refuse the Pod for it");
    // One that cannot try it out need not refuse it.
    refuse("Pod", "BadRequest): admission webhook does not support dry run");
    assert!(joined(&claimed.explain().ok()).contains("of the class two"));
    // What would stay for ever when it is deleted is not made.
    let set = |key: &'static str, value: &str| claimed.cluster().change(|state| state[key] = value.into());
    set("reclaim", "Retain");
    not("keeps the volumes of claims that are deleted");
    set("reclaim", "Delete");
    set("provisioner", "others.example");
    not("makes volumes of another driver");
    deny("get storageclasses");
    assert!(joined(&claimed.explain().ok()).contains("of the class two"));
    let mut keeping = class("two", "true");
    keeping["deletionPolicy"] = "Retain".into();
    classes(json!([keeping]));
    not("keeps what is deleted (deletionPolicy: Retain)");
    claimed
        .cluster()
        .change(|state| state["claims"]["data"]["class"] = "".into());
    not("has no StorageClass that could make another volume");
    claimed
        .cluster()
        .change(|state| state["snapshots_known"] = false.into());
    not("the cluster has no VolumeSnapshot (snapshot.storage.k8s.io/v1)");
    there_and_back(&claimed.sandbox, &claimed.project, CLAIM);
    claimed.left(0);
}

#[test]
fn many_contents_that_a_snapshot_of_a_claim_keeps_take_few_commands() {
    let Some(claimed) = frozen("few") else { return };
    let sandbox = &claimed.sandbox;
    sandbox.configure("config.toml", "[recovery]\nnative = \"require\"\n");
    fill(&claimed.project, 240);
    let before = Tree::read(&claimed.project);
    let script = format!(
        "cd {}/many; for f in */*; do echo agent >$f; done",
        claimed.project.display()
    );
    claimed.launch(&script).ok();
    let id = claimed.only().id;
    let sent = |name: &str, args: &[&str]| {
        let file = sandbox.scratch(name);
        claimed
            .cluster()
            .change(|state| state["record"] = file.to_str().unwrap().into());
        sandbox.jackin(args).ok();
        let commands = commands(&file);
        (commands.values().sum::<usize>(), commands)
    };
    // Two snapshots, whose directories are listed once.
    let (all, commands) = sent("listed", &["verify"]);
    assert!(
        (2..100).contains(&all),
        "{all} commands for 480 files: {commands:#?}"
    );
    let (all, commands) = sent("read", &["verify", "--read-data"]);
    assert!(
        (2..100).contains(&all),
        "{all} commands for 480 files: {commands:#?}"
    );
    let (all, commands) = sent("restored", &["restore", &id, "--yes"]);
    assert!(
        (2..400).contains(&all),
        "{all} commands for 240 files: {commands:#?}"
    );
    assert_same_tree(&before, &Tree::read(&claimed.project));
}

#[test]
fn required_snapshots_of_a_claim_keep_the_contents_until_they_are_pruned() {
    let Some(claimed) = frozen("kept") else { return };
    let sandbox = &claimed.sandbox;
    sandbox.configure("config.toml", "[recovery]\nnative = \"require\"\n");
    fill(&claimed.project, 20);
    let before = Tree::read(&claimed.project);
    let inner = format!("{CLAIM}:/many");
    let refused = sandbox
        .jackin(["explain", "--snapshot", "project", &inner])
        .code(2);
    refused.shows("it is not the whole claim");
    let script = format!("cd {}; rm -r many/1; echo agent >mode", claimed.project.display());
    // The closing snapshot is being read when the baseline is stored.
    claimed.cluster().change(|state| state["pause"] = 0.03.into());
    claimed.launch(&script).ok();
    claimed.cluster().change(|state| state["pause"] = 0.into());
    claimed.left(2);
    let id = claimed.only().id;
    sandbox
        .jackin(["show", &id])
        .ok()
        .shows("kept by the file system in");
    sandbox.jackin(["verify", "--read-data"]).ok();
    sandbox.restore(&id, &[]);
    assert_same_tree(&before, &Tree::read(&claimed.project));
    // What cannot be asked for is not taken for gone.
    claimed
        .cluster()
        .change(|state| state["unreachable"] = "Unable to connect to the server".into());
    let told = sandbox.jackin(["doctor"]);
    assert!(joined(&told).contains("cannot check"), "{told}");
    claimed
        .cluster()
        .change(|state| drop(state.as_object_mut().unwrap().remove("unreachable")));
    let kept = claimed.snapshots();
    assert!(kept >= 2, "{kept}");
    sandbox.configure(
        "config.toml",
        "[recovery]\nnative = \"off\"\n[recovery.retention]\ninstances = 1\n",
    );
    let newer = sandbox.begin(CLAIM);
    fs::write(claimed.project.join("mode"), "newer\n").unwrap();
    sandbox.jackin(["end", &newer]).ok();
    claimed.left(1);
    // The last restore is undone with its baseline, until there is another one.
    sandbox.restore(&newer, &[]);
    sandbox.jackin(["prune", "--yes"]).ok();
    claimed.left(0);
}

#[test]
fn the_doctor_names_what_a_snapshot_of_a_claim_needs() {
    let Some(claimed) = frozen("doctor") else { return };
    let text =
        format!("[[mounts]]\nsrc = \"{CLAIM}\"\ndst = \"/data\"\n[recovery]\nsnapshot = \"project\"\n");
    claimed.sandbox.configure("workspaces/far.toml", &text);
    let said = joined(&claimed.sandbox.jackin(["doctor"]));
    assert!(said.contains(&format!("create {SNAPSHOTS}")), "{said}");
    assert!(!said.contains("still has"), "{said}");
    let near = claimed.sandbox.project("near");
    claimed.sandbox.launch(&near, "true");
    // What was left there is named: helpers, and what another store may need.
    claimed.cluster().change(|state| {
        state["old"] = json!({
            "pods": ["jackin-recovery-a", "labeled-by-somebody"], "persistentvolumeclaims": ["jackin-recovery-b"], SNAPSHOTS: ["jackin-recovery-c-0"],
        });
    });
    let said = joined(&claimed.sandbox.jackin(["doctor"]));
    assert!(
        said.contains(&format!("kubectl --context='{CONTEXT}' --namespace=default")),
        "{said}"
    );
    for part in [
        " still has 2 objects that a recovery command made",
        "--namespace=default delete pod/jackin-recovery-a persistentvolumeclaim/jackin-recovery-b",
        "has 1 VolumeSnapshot of jackin unknown to this store",
        "delete volumesnapshot/jackin-recovery-c-0",
    ] {
        assert!(said.contains(part), "{part}\n{said}");
    }
    claimed
        .cluster()
        .change(|state| state["denied"] = json!([format!("delete {SNAPSHOTS}")]));
    let said = joined(&claimed.sandbox.jackin(["doctor"]));
    assert!(
        said.contains("read directly, because a VolumeSnapshot needs permissions"),
        "{said}"
    );
}

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

/// A command that was killed while it asked the cluster for a snapshot; the cluster makes it after the next command has looked.
#[test]
fn what_a_cluster_makes_for_a_dead_command_is_removed_also_when_it_comes_late() {
    let Some(claimed) = frozen("late") else { return };
    let (cluster, sandbox) = (claimed.cluster(), &claimed.sandbox);
    cluster.change(|state| state["held"] = "VolumeSnapshot".into());
    let mut launch = sandbox.launching(CLAIM, &["true"]).start().child;
    await_file(&cluster.held());
    launch.kill().unwrap();
    launch.wait().unwrap();
    sandbox.jackin(["prune", "--yes"]).ok();
    assert_eq!(claimed.snapshots(), 0);
    cluster.change(|state| state["held"] = Value::Null);
    await_that("the snapshot that nothing waits for", || claimed.snapshots() == 1);
    sandbox.jackin(["prune", "--yes"]).ok();
    claimed.left(0);
    let papers = fs::read_dir(sandbox.store().join("native")).unwrap();
    assert_eq!(papers.count(), 0);
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
    let dying = claimed.sandbox.launching(CLAIM, &["true"]);
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
    let dying = claimed.sandbox.launching(CLAIM, &["true"]);
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
        .shows("has no file-system snapshot to forget");
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
    sandbox.jackin(["log"]).ok().shows("may still exist");
    let quiet = sandbox.jackin(["unpin", &claimed.only().id]).ok();
    assert!(
        !joined(&quiet).contains("cannot use the file-system snapshot"),
        "{quiet}"
    );
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
    let killed = claimed.sandbox.launching(CLAIM, &["true"]);
    killed.with("JACKIN_RECOVERY_FAIL_AT", "frozen").run();
    claimed.left(1);
    fs::write(claimed.project.join("a"), "agent\n").unwrap();
    let id = claimed.only().id;
    let list = claimed.sandbox.jackin(["list"]).ok();
    list.shows("is not stored yet");
    claimed.is_copied(false);
    let told = claimed.sandbox.jackin(["pin", &id]).ok();
    assert!(joined(&told).contains("its cluster is still copying"), "{told}");
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
    let running = claimed.sandbox.launching(CLAIM, &["sh", "-c", &script]).start();
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
    await_that("a helper", has_helper);
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
