//! Storage of the paths in a container of a pod: its own layer, volumes that go with the pod, and volumes that stay.

use std::path::PathBuf;

use serde_json::Value;

use super::text;
use handle_fs::remote::Backing;

/// The container that `kubectl exec` enters if none is named.
const DEFAULT_CONTAINER: &str = "/metadata/annotations/kubectl.kubernetes.io~1default-container";

/// Reads the storage from a pod (core/v1); none if it does not tell. `container`: empty for the default one.
pub(crate) fn pod_backings(pod: &Value, container: &str) -> Vec<Backing> {
    let items = |at: &str| {
        let items = pod.pointer(at).and_then(Value::as_array);
        items.into_iter().flatten()
    };
    let Some(uid) = text(pod, "/metadata/uid") else {
        return Vec::new();
    };
    let wanted = match container {
        "" => text(pod, DEFAULT_CONTAINER),
        named => Some(named),
    };
    let is_wanted = |one: &&Value| wanted.is_none_or(|wanted| text(one, "/name") == Some(wanted));
    let entered = items("/spec/containers").find(is_wanted);
    let name = entered.and_then(|one| text(one, "/name"));
    let state = items("/status/containerStatuses").find(|one| text(one, "/name") == name);
    // Each start of a container has an id of its own, and an empty layer.
    let started = state
        .and_then(|one| text(one, "/containerID"))
        .unwrap_or_default();
    let own = Backing {
        at: PathBuf::from("/"),
        id: format!("{uid} {started}"),
        is_volume: false,
    };
    let mounts = entered.and_then(|one| one.pointer("/volumeMounts")?.as_array());
    let volume = |mount: &Value| {
        let volume = items("/spec/volumes").find(|volume| text(volume, "/name") == text(mount, "/name"))?;
        let goes = ["emptyDir", "ephemeral"]
            .iter()
            .any(|kind| volume.get(*kind).is_some());
        let node = text(pod, "/spec/nodeName").unwrap_or_default();
        Some(Backing {
            at: PathBuf::from(text(mount, "/mountPath")?),
            id: match (goes, volume.get("hostPath")) {
                (true, _) => format!("{uid} {volume}"),
                (false, Some(path)) => format!("{node} {path}"),
                (false, None) => volume.to_string(),
            },
            is_volume: !goes,
        })
    };
    std::iter::once(own)
        .chain(mounts.into_iter().flatten().filter_map(volume))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::pod_backings;

    fn pod(uid: &str, started: &str) -> Value {
        json!({
            "metadata": { "uid": uid, "annotations": { "kubectl.kubernetes.io/default-container": "main" } },
            "spec": { "nodeName": "n", "containers": [{ "name": "side" }, { "name": "main", "volumeMounts": [
                { "name": "scratch", "mountPath": "/scratch" }, { "name": "data", "mountPath": "/data" },
            ] }], "volumes": [
                { "name": "scratch", "emptyDir": {} },
                { "name": "data", "persistentVolumeClaim": { "claimName": "data" } },
            ] },
            "status": { "containerStatuses": [
                { "name": "main", "containerID": started }, { "name": "side", "containerID": "s" },
            ] },
        })
    }

    #[test]
    fn what_goes_with_a_pod_or_a_container_is_another_one_afterwards_and_a_volume_is_not() {
        let ids = |uid: &str, started: &str| -> Vec<String> {
            let all = pod_backings(&pod(uid, started), "");
            all.into_iter().map(|one| one.id).collect()
        };
        let same = |one: &[String], other: &[String]| -> Vec<bool> {
            one.iter().zip(other).map(|(a, b)| a == b).collect()
        };
        let before = ids("1", "a");
        assert_eq!(before.len(), 3);
        assert_eq!(same(&before, &ids("1", "a")), [true, true, true]);
        assert_eq!(same(&before, &ids("1", "b")), [false, true, true]);
        assert_eq!(same(&before, &ids("2", "c")), [false, false, true]);
        // Another container has no volume here.
        assert_eq!(pod_backings(&pod("1", "a"), "side").len(), 1);
        assert!(pod_backings(&json!({}), "").is_empty());
    }
}
