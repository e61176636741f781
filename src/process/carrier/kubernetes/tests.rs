//! Which cluster is meant, and the pod that helps, as the published types have it.

use std::path::{Path, PathBuf};

use k8s_openapi::api::core::v1::Pod;

use super::claim::helper;
use super::contexts::{Contexts, meant};
use crate::platform::remote::{Address, Spot};

fn known(all: &[&str], current: Option<&str>) -> Contexts {
    Contexts {
        all: all.iter().map(|name| (*name).to_owned()).collect(),
        current: current.map(str::to_owned),
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
        let (address, path) = meant(&ours, &address, &path).unwrap();
        assert_eq!(address.with(&path), PathBuf::from(settled), "{typed}");
        // What was settled once means the same for ever.
        let again = Address::split(Path::new(settled)).unwrap();
        assert_eq!(again, (address, path), "{typed}");
    }
}

#[test]
fn where_none_is_current_none_is_made_up() {
    let (address, path) = Address::split(Path::new("k8s://web/pod-0/srv")).unwrap();
    let (address, path) = meant(&known(&[], None), &address, &path).unwrap();
    assert_eq!(address.with(&path), PathBuf::from("k8s://web/pod-0:/srv"));
}

#[test]
fn the_helper_is_a_pod_as_the_published_types_have_it() {
    let spot = Spot::new(Some("dev".to_owned()), "web", "data", Some(String::new())).unwrap();
    for node in [None, Some("node-1")] {
        let made = helper(&spot, "jackin-recovery-0", "busybox", node);
        // What the types do not know would be gone.
        let pod: Pod = serde_json::from_value(made.clone()).unwrap();
        assert_eq!(serde_json::to_value(&pod).unwrap(), made);
        let spec = pod.spec.unwrap();
        assert_eq!(spec.node_name.as_deref(), node);
        assert_eq!(spec.restart_policy.as_deref(), Some("Never"));
        assert_eq!(spec.active_deadline_seconds, Some(6 * 60 * 60));
        let labels = pod.metadata.labels.unwrap();
        assert_eq!(labels["app.kubernetes.io/managed-by"], "jackin-recovery");
        assert_eq!(spec.automount_service_account_token, Some(false));
        let claim = spec.volumes.unwrap().remove(0).persistent_volume_claim.unwrap();
        assert_eq!(claim.claim_name, "data");
        assert_eq!(claim.read_only, None);
    }
}
