//! The objects that are made for it.

use serde_json::{Value, json};

use super::super::quantity::larger;
use super::super::{OWNER, text};
use super::VERSION;
use handle_fs::remote::Spot;

/// The group of [`VERSION`].
const GROUP: &str = "snapshot.storage.k8s.io";
/// Annotations of a snapshot, behind the package, with the properties of a claim made from it: its own claim may be gone by then.
const STORAGE_CLASS: &str = "storage-class";
const STORAGE: &str = "storage";

/// The object of a snapshot of a claim.
pub(crate) fn snapshot(package: &str, spot: &Spot, name: &str, class: Option<&str>, claim: &Value) -> Value {
    let mut notes = serde_json::Map::new();
    for (note, at) in [
        (STORAGE_CLASS, "/spec/storageClassName"),
        // The volume may be larger than what was asked for.
        (STORAGE, "/status/capacity/storage"),
    ] {
        notes.extend(text(claim, at).map(|value| (format!("{package}/{note}"), value.into())));
    }
    let mut made = json!({
        "apiVersion": VERSION,
        "kind": "VolumeSnapshot",
        "metadata": {
            "name": name,
            "namespace": spot.namespace,
            "labels": { OWNER: package },
            "annotations": notes,
        },
        "spec": { "source": { "persistentVolumeClaimName": spot.name } },
    });
    if let (Some(class), Some(spec)) = (class, made.get_mut("spec").and_then(Value::as_object_mut)) {
        spec.insert("volumeSnapshotClassName".to_owned(), class.into());
    }
    made
}

/// The object of a claim (core/v1) that shows what a snapshot has. It is removed with the snapshot. `None` if
/// it is unknown how large it has to be.
pub(crate) fn shown(package: &str, spot: &Spot, name: &str, snapshot: &Value) -> Option<Value> {
    let notes = snapshot.pointer("/metadata/annotations");
    let note = |key: &str| notes?.get(format!("{package}/{key}"))?.as_str();
    let told = text(snapshot, "/status/restoreSize").filter(|size| *size != "0");
    // A volume may be larger than what it was known for, and one that is smaller than its snapshot is refused.
    let size = larger(note(STORAGE), told)?;
    let mut made = json!({
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": { "name": name, "namespace": spot.namespace, "labels": { OWNER: package } },
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "volumeMode": "Filesystem",
            "resources": { "requests": { "storage": size } },
            "dataSource": {
                "apiGroup": GROUP,
                "kind": "VolumeSnapshot",
                "name": text(snapshot, "/metadata/name"),
            },
        },
    });
    let class = note(STORAGE_CLASS);
    if let (Some(class), Some(spec)) = (class, made.get_mut("spec").and_then(Value::as_object_mut)) {
        spec.insert("storageClassName".to_owned(), class.into());
    }
    let uid = text(snapshot, "/metadata/uid");
    if let (Some(uid), Some(metadata)) = (uid, made.get_mut("metadata").and_then(Value::as_object_mut)) {
        let owner = json!([{
            "apiVersion": VERSION,
            "kind": "VolumeSnapshot",
            "name": text(snapshot, "/metadata/name"),
            "uid": uid,
        }]);
        metadata.insert("ownerReferences".to_owned(), owner);
    }
    Some(made)
}
