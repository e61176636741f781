//! The pod of our own that has the volume of a claim.

use serde_json::{Value, json};

use super::OWNER;
use handle_fs::remote::{Spot, VOLUME_PLACE};

/// Least that a node must have left for a helper, and most that it takes: a quota may demand both. The cache of the files that it reads
/// counts as its memory, and gives way.
const REQUESTS: [&str; 2] = ["10m", "32Mi"];
const LIMITS: [&str; 2] = ["2", "512Mi"];

/// Lifetime of a helper that was not removed (seconds).
const LIFE: u64 = 6 * 60 * 60;

/// Facts of the pod that uses a claim.
#[derive(Debug, Default)]
pub(crate) struct Neighbor {
    /// Its node, if only one node can have the volume.
    pub(crate) node: Option<String>,
    /// Its SELinux labels. Files of a volume are labeled for the pod that mounts it: another label would take them from this one.
    pub(crate) selinux: Option<Value>,
}

/// The object of a helper pod (core/v1) of `package`. It is root in a container that has nothing but the volume: only root can restore owners.
/// `claim`: which one it has, and whether it may only read there. `beside`: what the pod that uses the claim decides.
pub(crate) fn helper(
    package: &str,
    spot: &Spot,
    name: &str,
    (claim, read_only): (&str, bool),
    image: &str,
    beside: &Neighbor,
) -> Value {
    let amounts = |[cpu, memory]: [&str; 2]| json!({ "cpu": cpu, "memory": memory });
    let mut pod = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": { "name": name, "namespace": spot.namespace, "labels": { OWNER: package } },
        "spec": {
            "restartPolicy": "Never",
            "activeDeadlineSeconds": LIFE,
            "terminationGracePeriodSeconds": 0,
            "automountServiceAccountToken": false,
            "enableServiceLinks": false,
            "containers": [{
                "name": package,
                "image": image,
                "imagePullPolicy": "IfNotPresent",
                "command": ["sleep", LIFE.to_string()],
                "resources": { "requests": amounts(REQUESTS), "limits": amounts(LIMITS) },
                "securityContext": {
                    "runAsUser": 0,
                    "runAsGroup": 0,
                    "allowPrivilegeEscalation": false,
                    "capabilities": {
                        "drop": ["ALL"],
                        "add": ["CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "MKNOD", "SETFCAP"],
                    },
                },
                "volumeMounts": [{ "name": "claim", "mountPath": VOLUME_PLACE, "readOnly": read_only }],
            }],
            "volumes": [{ "name": "claim", "persistentVolumeClaim": { "claimName": claim } }],
        },
    });
    if let Some(spec) = pod.get_mut("spec").and_then(Value::as_object_mut) {
        let node = beside.node.as_deref().map(Value::from);
        spec.extend(node.map(|node| ("nodeName".to_owned(), node)));
        let labels = beside.selinux.clone();
        let context = labels.map(|labels| json!({ "seLinuxOptions": labels }));
        spec.extend(context.map(|context| ("securityContext".to_owned(), context)));
    }
    pod
}
