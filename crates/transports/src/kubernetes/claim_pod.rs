//! The pod of our own that has the volume of a claim.

use serde_json::{Value, json};

use super::OWNER;
use handle_fs::remote::{Spot, VOLUME_PLACE};

/// Lifetime of a helper that was not removed (seconds).
const LIFE: u64 = 6 * 60 * 60;

/// The object of a helper pod (core/v1) of `package`. It is root in a container that has nothing but the volume: only root can restore owners.
/// `claim`: which one it has, and whether it may only read there.
pub(crate) fn helper(
    package: &str,
    spot: &Spot,
    name: &str,
    (claim, read_only): (&str, bool),
    image: &str,
    node: Option<&str>,
) -> Value {
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
    if let (Some(node), Some(spec)) = (node, pod.get_mut("spec").and_then(Value::as_object_mut)) {
        spec.insert("nodeName".to_owned(), node.into());
    }
    pod
}
