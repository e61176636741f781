//! Claims that are frozen by a `VolumeSnapshot`, over a stand-in for kubectl.

use std::fs;

use serde_json::{Value, json};

use crate::carried_bounds::there_and_back;
use crate::carried_cluster::Claimed;
use crate::support::carried::CONTEXT;
use crate::support::compare::assert_same_tree;
use crate::support::documents::{Instance, instances};
use crate::support::kill::fill;
use crate::support::run::Run;
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
        let words = ["launch", "--snapshot", "project", CLAIM, "--", "sh", "-c", script];
        self.sandbox.command(words).run()
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
        for _ in 0..1200 {
            if fs::read_dir(&records).is_ok_and(|all| all.count() > 0) {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        panic!("nothing is stored");
    }

    /// How many snapshots of claims there are.
    fn snapshots(&self) -> usize {
        let state = self.cluster().state();
        state["snapshots"].as_object().map_or(0, serde_json::Map::len)
    }

    /// Nothing of ours is left in the cluster but so many snapshots.
    #[track_caller]
    pub(crate) fn left(&self, snapshots: usize) {
        assert_eq!(self.snapshots(), snapshots);
        // Those go in the background.
        let claims = || -> Value { self.cluster().state()["claims"].clone() };
        for _ in 0..600 {
            if self.helpers().is_empty() && claims().as_object().unwrap().len() == 1 {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        panic!("{:?} {}", self.helpers(), claims());
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
    assert!(joined(&told).contains("cannot be told"), "{told}");
    claimed
        .cluster()
        .change(|state| drop(state.as_object_mut().unwrap().remove("unreachable")));
    let kept = claimed.snapshots();
    assert!(kept >= 2, "{kept}");
    sandbox.configure(
        "config.toml",
        "[recovery]\nnative = \"off\"\n[recovery.retention]\ninstances = 1\n",
    );
    let unpinned = sandbox.jackin(["begin", "--snapshot", "project", CLAIM]).ok();
    let newer = String::from_utf8_lossy(&unpinned.stdout).trim().to_owned();
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
            "pods": ["jackin-recovery-a", "labelled-by-somebody"], "persistentvolumeclaims": ["jackin-recovery-b"], SNAPSHOTS: ["jackin-recovery-c-0"],
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
        "has 1 VolumeSnapshot of ours that this store knows nothing of",
        "delete volumesnapshot/jackin-recovery-c-0",
    ] {
        assert!(said.contains(part), "{part}\n{said}");
    }
    claimed
        .cluster()
        .change(|state| state["denied"] = json!([format!("delete {SNAPSHOTS}")]));
    let said = joined(&claimed.sandbox.jackin(["doctor"]));
    assert!(
        said.contains("it is read as it is, for a VolumeSnapshot needs what you may not"),
        "{said}"
    );
}
