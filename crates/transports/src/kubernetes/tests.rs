//! Selection of the cluster, and the helper pod as the published types define it.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::Silence;
use super::claim_pod::{Neighbor, User, helper, neighbor};
use super::contexts::{Contexts, meant};
use super::create_pvc::new_claim;
use super::volume_snapshot::{is_refusal, shown, snapshot};
use crate::product::EXAMPLE;
use handle_fs::remote::{Address, Spot};

fn known(all: &[&str], current: Option<&str>) -> Contexts {
    Contexts {
        all: all.iter().map(|name| (*name).to_owned()).collect(),
        current: current.map(str::to_owned),
        kubectl: (PathBuf::from("kubectl"), OsString::new()),
    }
}

#[test]
fn the_first_word_is_a_context_when_there_is_one_of_this_name() {
    let ours = known(&["dev", "odd/name"], Some("dev"));
    for (typed, settled) in [
        ("k8s://web/pod-0/srv", "k8s://dev/web/pod-0:/srv"),
        ("k8s://dev/web/pod-0/srv/a", "k8s://dev/web/pod-0:/srv/a"),
        ("k8s://dev/web/pod-0", "k8s://dev/web/pod-0:/"),
        // Who marks the pod has said what is meant.
        ("k8s://dev/pod-0:/web/srv", "k8s://dev/dev/pod-0:/web/srv"),
        ("k8s://web/pod-0:side/srv", "k8s://dev/web/pod-0:side/srv"),
        ("k8s-pvc://web/data", "k8s-pvc://dev/web/data:"),
        ("k8s-pvc://web/data:/a", "k8s-pvc://dev/web/data:/a"),
        // What follows cannot be the name of a pod.
        ("k8s://dev/web/Upper/srv", "k8s://dev/dev/web:/Upper/srv"),
    ] {
        let (address, path) = Address::split(Path::new(typed)).unwrap();
        let (address, path) = meant(&ours, &address, &path, |_| false).unwrap();
        assert_eq!(address.with(&path), PathBuf::from(settled), "{typed}");
        // What was settled once means the same for ever.
        let again = Address::split(Path::new(settled)).unwrap();
        assert_eq!(again, (address, path), "{typed}");
    }
}

#[test]
fn where_none_is_current_none_is_made_up() {
    let (address, path) = Address::split(Path::new("k8s://web/pod-0/srv")).unwrap();
    let (address, path) = meant(&known(&[], None), &address, &path, |_| true).unwrap();
    assert_eq!(address.with(&path), PathBuf::from("k8s://web/pod-0:/srv"));
}

#[test]
fn the_helper_is_a_pod_as_the_published_types_have_it() {
    let spot = Spot::new(Some("dev".to_owned()), "web", "data", Some(String::new())).unwrap();
    for node in [None, Some("node-1")] {
        let beside = Neighbor {
            node: node.map(str::to_owned),
            selinux: node.map(|_| serde_json::json!({ "level": "s0:c1,c2" })),
            ..Neighbor::default()
        };
        let made = helper(
            EXAMPLE.package,
            &spot,
            "tool-box-0",
            ("data", node.is_none()),
            "busybox",
            &beside,
            None,
        );
        // What the types do not know would be gone.
        let pod: Pod = serde_json::from_value(made.clone()).unwrap();
        assert_eq!(serde_json::to_value(&pod).unwrap(), made);
        let spec = pod.spec.unwrap();
        assert_eq!(spec.node_name.as_deref(), node);
        let labels = spec.security_context.and_then(|context| context.se_linux_options);
        assert_eq!(
            labels.and_then(|labels| labels.level).as_deref(),
            node.map(|_| "s0:c1,c2")
        );
        let amounts = spec.containers[0].resources.as_ref().unwrap();
        assert!(amounts.requests.is_some() && amounts.limits.is_some());
        assert_eq!(spec.restart_policy.as_deref(), Some("Never"));
        assert_eq!(spec.active_deadline_seconds, Some(6 * 60 * 60));
        let labels = pod.metadata.labels.unwrap();
        assert_eq!(labels["app.kubernetes.io/managed-by"], "tool-box");
        assert_eq!(spec.automount_service_account_token, Some(false));
        let mounted = spec.containers[0].volume_mounts.as_ref().unwrap();
        assert_eq!(mounted[0].read_only, Some(node.is_none()));
        let claim = spec.volumes.unwrap().remove(0).persistent_volume_claim.unwrap();
        assert_eq!(claim.claim_name, "data");
        assert_eq!(claim.read_only, None);
    }
}

/// The pod security standard `restricted`, as <https://kubernetes.io/docs/concepts/security/pod-security-standards/> has it.
#[test]
fn a_helper_with_the_user_of_the_pod_beside_it_is_what_restricted_allows() {
    let spot = Spot::new(Some("dev".to_owned()), "web", "data", Some(String::new())).unwrap();
    let web = json!({
        "metadata": { "name": "web-0" },
        "spec": {
            "securityContext": { "runAsUser": 1000, "fsGroup": 3000, "supplementalGroups": [4000] },
            "volumes": [{ "name": "tmp" }, { "name": "v", "persistentVolumeClaim": { "claimName": "data" } }],
            "containers": [
                { "name": "side", "securityContext": { "runAsUser": 5 } },
                {
                    "name": "main",
                    "securityContext": { "runAsGroup": 2000, "seLinuxOptions": { "level": "s0:c1" } },
                    "volumeMounts": [{ "name": "v", "mountPath": "/srv/data" }],
                },
            ],
        },
    });
    let beside = neighbor(&web, &spot);
    assert_eq!(
        beside.files.as_deref(),
        Some(Path::new("k8s://dev/web/web-0:main/srv/data"))
    );
    let user = User {
        id: 1000,
        group: Some(2000),
        more: vec![3000, 4000],
    };
    assert_eq!(beside.user.as_ref(), Some(&user));
    let claim = ("data", false);
    let made = helper(
        EXAMPLE.package,
        &spot,
        "tool-box-0",
        claim,
        "busybox",
        &beside,
        Some(&user),
    );
    let pod: Pod = serde_json::from_value(made.clone()).unwrap();
    assert_eq!(serde_json::to_value(&pod).unwrap(), made);
    let spec = pod.spec.unwrap();
    let all = spec.security_context.unwrap();
    assert_eq!(all.supplemental_groups, Some(vec![3000, 4000]));
    assert_eq!(all.se_linux_options.unwrap().level.as_deref(), Some("s0:c1"));
    // The kubelet would change the files of a volume for it.
    assert_eq!(all.fs_group, None);
    let rights = spec.containers[0].security_context.clone().unwrap();
    assert_eq!(
        (rights.run_as_non_root, rights.run_as_user, rights.run_as_group),
        (Some(true), Some(1000), Some(2000))
    );
    assert_eq!(rights.allow_privilege_escalation, Some(false));
    assert_eq!(rights.seccomp_profile.unwrap().type_, "RuntimeDefault");
    let capabilities = rights.capabilities.unwrap();
    assert_eq!(
        (capabilities.drop, capabilities.add),
        (Some(vec!["ALL".to_owned()]), None)
    );
    // Root, or a user that only the image names, is no user that it could have.
    let mut other = web.clone();
    other["spec"]["securityContext"]["runAsUser"] = json!(0);
    assert_eq!(neighbor(&other, &spot).user, None);
    other["spec"]["securityContext"] = json!({});
    assert_eq!(neighbor(&other, &spot).user, None);
}

/// A `VolumeSnapshot` (`snapshot.storage.k8s.io/v1`), as its published definition (CustomResourceDefinition) has it: nothing else may stand in it.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct VolumeSnapshot {
    api_version: String,
    kind: String,
    metadata: k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta,
    spec: VolumeSnapshotSpec,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct VolumeSnapshotSpec {
    source: VolumeSnapshotSource,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    volume_snapshot_class_name: Option<String>,
}

/// Exactly one of the two.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
enum VolumeSnapshotSource {
    PersistentVolumeClaimName(String),
    VolumeSnapshotContentName(String),
}

#[test]
fn a_snapshot_and_the_claim_that_shows_it_are_as_their_published_types_have_them() {
    let spot = Spot::new(Some("dev".to_owned()), "web", "data", Some(String::new())).unwrap();
    let claim = json!({
        "spec": { "storageClassName": "quick" },
        "status": { "capacity": { "storage": "3Gi" } },
    });
    for class in [None, Some("disks")] {
        let made = snapshot(EXAMPLE.package, &spot, "tool-box-x-0", class, &claim);
        let read: VolumeSnapshot = serde_json::from_value(made.clone()).unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap(), made);
        assert_eq!(
            (read.api_version.as_str(), read.kind.as_str()),
            ("snapshot.storage.k8s.io/v1", "VolumeSnapshot")
        );
        assert_eq!(read.metadata.namespace.as_deref(), Some("web"));
        assert_eq!(read.spec.volume_snapshot_class_name.as_deref(), class);
        let VolumeSnapshotSource::PersistentVolumeClaimName(name) = read.spec.source else {
            panic!("{made}");
        };
        assert_eq!(name, "data");
    }
    let taken = snapshot(EXAMPLE.package, &spot, "tool-box-x-0", None, &claim);
    // The size that was noted when it was made is that of its volume.
    for (status, notes, size) in [
        (json!({}), true, Some("3Gi")),
        (json!({ "restoreSize": "5Gi" }), false, Some("5Gi")),
        (json!({ "restoreSize": "0" }), false, None),
    ] {
        let mut taken = taken.clone();
        taken["status"] = status;
        taken["metadata"]["uid"] = json!("the-id");
        if !notes {
            taken["metadata"]["annotations"] = json!({ "tool-box/storage-class": "quick" });
        }
        let made = shown(EXAMPLE.package, &spot, "tool-box-y", &taken);
        let (Some(made), Some(size)) = (made, size) else {
            assert_eq!(size, None);
            continue;
        };
        let read: PersistentVolumeClaim = serde_json::from_value(made.clone()).unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap(), made);
        let spec = read.spec.unwrap();
        assert_eq!(spec.storage_class_name.as_deref(), Some("quick"));
        assert_eq!(spec.resources.unwrap().requests.unwrap()["storage"].0, size);
        let owner = read.metadata.owner_references.unwrap().remove(0);
        assert_eq!(
            (owner.kind.as_str(), owner.uid.as_str()),
            ("VolumeSnapshot", "the-id")
        );
        let source = spec.data_source.unwrap();
        assert_eq!(source.api_group.as_deref(), Some("snapshot.storage.k8s.io"));
        assert_eq!(
            (source.kind.as_str(), source.name.as_str()),
            ("VolumeSnapshot", "tool-box-x-0")
        );
    }
}

#[test]
fn a_new_claim_is_one_by_the_published_schema_and_the_operators() {
    let spot = Spot::new(None, "dev", "fresh", Some(String::new())).unwrap();
    let like = json!({
        "metadata": { "name": "data" },
        "spec": { "accessModes": ["ReadWriteMany"], "storageClassName": "quick",
            "resources": { "requests": { "storage": "3Gi" } } },
        "status": { "capacity": { "storage": "4Gi" } },
    });
    let gib = 1 << 30;
    for (like, bytes, class, size, mode) in [
        (Some(&like), 2 * gib, Some("quick"), "4Gi", "ReadWriteMany"),
        (Some(&like), 9 * gib, Some("quick"), "12Gi", "ReadWriteMany"),
        (None, 0, None, "1Gi", "ReadWriteOnce"),
        (None, 4 * gib, None, "5Gi", "ReadWriteOnce"),
    ] {
        let made = new_claim(&spot, like, bytes);
        let read: PersistentVolumeClaim = serde_json::from_value(made.object.clone()).unwrap();
        // Nothing that we might forget is in it.
        assert_eq!(serde_json::to_value(&read).unwrap(), made.object);
        assert!(read.metadata.labels.is_none());
        let spec = read.spec.unwrap();
        assert_eq!(spec.storage_class_name.as_deref(), class);
        assert_eq!(spec.access_modes.unwrap(), [mode]);
        assert_eq!(spec.resources.unwrap().requests.unwrap()["storage"].0, size);
        assert_eq!((made.class.as_deref(), made.size.as_str()), (class, size));
    }
}

#[test]
fn a_cluster_may_be_silent_for_a_while_and_a_refusal_is_an_answer() {
    let nap = Duration::from_secs(20);
    let silent = || {
        Err(io::Error::other(
            "kubectl failed: The connection to the server was refused",
        ))
    };
    let mut silence = Silence::default();
    for _ in 0..3 {
        assert!(silence.hear(nap, silent()).unwrap().is_none());
    }
    silence.hear(nap, silent()).unwrap_err();
    // Who speaks again may be silent again.
    assert_eq!(silence.hear(nap, Ok(json!({}))).unwrap(), Some(json!({})));
    assert!(silence.hear(nap, silent()).unwrap().is_none());
    for why in [
        "Error from server (NotFound): pods \"x\" not found",
        "Error from server (Forbidden): exceeded quota",
        "The Pod \"x\" is invalid: spec.nodeName: Required value",
        "Error from server: admission webhook \"a\" denied the request: no root",
    ] {
        assert!(is_refusal(why), "{why}");
        Silence::default()
            .hear(nap, Err(io::Error::other(why)))
            .unwrap_err();
    }
    for why in [
        "Error from server (Timeout): the server was unable to return a response in the time allotted",
        "Error from server (InternalError): etcdserver: request timed out",
        "Error from server (BadRequest): admission webhook \"a\" does not support dry run",
    ] {
        assert!(!is_refusal(why), "{why}");
    }
}
