//! The pod of our own that has the volume of a claim.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::{OWNER, text};
use handle_fs::remote::{Address, Spot, VOLUME_PLACE};

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
    /// Address of the claim's files in it.
    pub(crate) files: Option<PathBuf>,
    /// Its user, if its object names one that is not root.
    pub(crate) user: Option<User>,
}

/// A user in a pod who is not root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct User {
    pub(crate) id: u64,
    pub(crate) group: Option<u64>,
    /// Further groups, among them the one that a volume's files were given to.
    pub(crate) more: Vec<u64>,
}

/// Returns the facts of a pod as a neighbor in its claim, but for its node.
pub(crate) fn neighbor(pod: &Value, spot: &Spot) -> Neighbor {
    let list = |value: &Value, at: &str| {
        value
            .pointer(at)
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default()
    };
    let volumes = list(pod, "/spec/volumes");
    let volume = volumes
        .iter()
        .find(|one| text(one, "/persistentVolumeClaim/claimName") == Some(spot.name.as_str()))
        .and_then(|one| text(one, "/name"));
    let containers = list(pod, "/spec/containers");
    let mounted = containers.iter().find_map(|container| {
        let mounts = list(container, "/volumeMounts");
        let mount = mounts
            .iter()
            .find(|mount| volume.is_some() && text(mount, "/name") == volume)?;
        Some((container, text(mount, "/mountPath")?.to_owned()))
    });
    let container = mounted
        .as_ref()
        .map(|(container, _)| *container)
        .or(containers.first());
    // What a container says counts before what its pod says.
    let said = |what: &str| {
        let own = container.and_then(|one| one.pointer(&format!("/securityContext/{what}")));
        own.or_else(|| pod.pointer(&format!("/spec/securityContext/{what}")))
    };
    let number = |what: &str| said(what).and_then(Value::as_u64);
    let groups = list(pod, "/spec/securityContext/supplementalGroups");
    let more = number("fsGroup")
        .into_iter()
        .chain(groups.iter().filter_map(Value::as_u64));
    let files = mounted.as_ref().and_then(|(container, path)| {
        let name = text(pod, "/metadata/name")?;
        let container = text(container, "/name")?.to_owned();
        let spot = Spot::new(spot.context.clone(), &spot.namespace, name, Some(container))?;
        Some(Address::Pod(spot).with(Path::new(path)))
    });
    Neighbor {
        node: None,
        selinux: said("seLinuxOptions").cloned(),
        files,
        user: number("runAsUser").filter(|id| *id != 0).map(|id| User {
            id,
            group: number("runAsGroup"),
            more: more.collect(),
        }),
    }
}

/// The object of a helper pod (core/v1) of `package`. It has nothing but the volume, and is root there, because only root can restore
/// owners; as another `user` it has only what the pod security standard `restricted` allows. `claim`: which one it has, and whether it may
/// only read there. `beside`: what the pod that uses the claim decides.
pub(crate) fn helper(
    package: &str,
    spot: &Spot,
    name: &str,
    (claim, read_only): (&str, bool),
    image: &str,
    beside: &Neighbor,
    user: Option<&User>,
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
                "securityContext": rights(user),
                "volumeMounts": [{ "name": "claim", "mountPath": VOLUME_PLACE, "readOnly": read_only }],
            }],
            "volumes": [{ "name": "claim", "persistentVolumeClaim": { "claimName": claim } }],
        },
    });
    if let Some(spec) = pod.get_mut("spec").and_then(Value::as_object_mut) {
        let node = beside.node.as_deref().map(Value::from);
        spec.extend(node.map(|node| ("nodeName".to_owned(), node)));
        let labels = beside
            .selinux
            .clone()
            .map(|labels| ("seLinuxOptions".to_owned(), labels));
        // As `fsGroup` a group would be given files that have another one.
        let more = user.map(|user| user.more.clone()).filter(|more| !more.is_empty());
        let more = more.map(|more| ("supplementalGroups".to_owned(), more.into()));
        let context: Map<String, Value> = labels.into_iter().chain(more).collect();
        if !context.is_empty() {
            spec.insert("securityContext".to_owned(), context.into());
        }
    }
    pod
}

/// The security context of the container of a helper.
fn rights(user: Option<&User>) -> Value {
    let Some(user) = user else {
        return json!({
            "runAsUser": 0,
            "runAsGroup": 0,
            "allowPrivilegeEscalation": false,
            "capabilities": {
                "drop": ["ALL"],
                "add": ["CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "MKNOD", "SETFCAP"],
            },
        });
    };
    let mut rights = json!({
        "runAsNonRoot": true,
        "runAsUser": user.id,
        "allowPrivilegeEscalation": false,
        "capabilities": { "drop": ["ALL"] },
        "seccompProfile": { "type": "RuntimeDefault" },
    });
    if let (Some(group), Some(rights)) = (user.group, rights.as_object_mut()) {
        rights.insert("runAsGroup".to_owned(), group.into());
    }
    rights
}
