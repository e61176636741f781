//! Snapshots of claims (`VolumeSnapshot`, `snapshot.storage.k8s.io/v1`), and the claims that are made of them to read one.

use std::collections::HashMap;
use std::io;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::claim::{OURS, OWNER, text};
use super::{Kubectl, asked, place};
use crate::platform::remote::Spot;
use crate::process::freeze::Freezer;

/// The group and version of their interface.
const API: &str = "snapshot.storage.k8s.io";
const VERSION: &str = "snapshot.storage.k8s.io/v1";
/// Resources, with their group: another one may have some of the same name.
const SNAPSHOTS: &str = "volumesnapshots.snapshot.storage.k8s.io";
const CLASSES: &str = "volumesnapshotclasses.snapshot.storage.k8s.io";
/// What is asked for snapshots of a claim, beside what the claim itself needs.
pub(super) const FOR_SNAPSHOT: [(&str, &str); 5] = [
    ("create", SNAPSHOTS),
    ("get", SNAPSHOTS),
    ("delete", SNAPSHOTS),
    ("create", "persistentvolumeclaims"),
    ("delete", "persistentvolumeclaims"),
];
/// Where a snapshot says what a claim that is made of it has to be like: its own claim may be gone by then.
const STORAGE_CLASS: &str = "jackin-recovery/storage-class";
const STORAGE: &str = "jackin-recovery/storage";
const IS_DEFAULT: &str = "snapshot.storage.kubernetes.io/is-default-class";
/// Which driver made the volume of a claim.
const PROVISIONERS: [&str; 2] = [
    "volume.kubernetes.io/storage-provisioner",
    "volume.beta.kubernetes.io/storage-provisioner",
];

/// So often a cluster is asked, at first and in the end, and about how long it takes to answer.
const NAP: Duration = Duration::from_millis(300);
const LONGEST: Duration = Duration::from_secs(5);
const ASKED: Duration = Duration::from_millis(200);
/// How long the moment that a snapshot shows may not come.
const CUT: Duration = Duration::from_secs(120);
/// How long it may take until it can be read: some services copy all of it first.
const READY: Duration = Duration::from_secs(3600);
/// How long a complaint stands that may pass.
const COMPLAINT: Duration = Duration::from_secs(60);

/// How a claim is frozen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumePlan {
    /// The `VolumeSnapshotClass`; none: the cluster decides.
    pub class: Option<String>,
    /// The id of the claim: another cluster may have one of the same name.
    pub uid: String,
    /// What the operator has to be allowed to do, as `kubectl auth can-i` takes it.
    pub permissions: Vec<String>,
}

/// How far a snapshot of a claim is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Its moment is over: what is written from now on is not in it.
    Taken,
    /// It can be read.
    Ready,
}

/// What was found out and does not change as long as this process lives.
static PLANS: Mutex<Option<HashMap<Spot, VolumePlan>>> = Mutex::new(None);

impl Freezer {
    fn kubectl<'a>(&'a self, spot: &'a Spot) -> Kubectl<'a> {
        Kubectl::new(&self.program, &self.path, spot)
    }

    /// How a claim can be frozen.
    ///
    /// # Errors
    /// Why it cannot, in words.
    pub fn plan_volume(&self, spot: &Spot) -> Result<VolumePlan, String> {
        let mut plans = PLANS.lock().unwrap_or_else(PoisonError::into_inner);
        let plans = plans.get_or_insert_default();
        if let Some(known) = plans.get(spot) {
            return Ok(known.clone());
        }
        let kubectl = self.kubectl(spot);
        if !kubectl.has_snapshots()? {
            return Err(format!("the cluster has no VolumeSnapshot ({VERSION})"));
        }
        let claim = kubectl.object(&["get", "persistentvolumeclaim", &spot.name]);
        let claim = claim.map_err(|error| error.to_string())?;
        let uid = text(&claim, "/metadata/uid")
            .ok_or("the claim has no id")?
            .to_owned();
        kubectl.can_be_made_again(&claim)?;
        let class = kubectl.class_for(&claim)?;
        for (verb, resource) in FOR_SNAPSHOT {
            if !kubectl.may(verb, resource)? {
                return Err(format!("you may not {verb} {resource} there"));
            }
        }
        let permissions = FOR_SNAPSHOT.map(|(verb, resource)| format!("{verb} {resource}"));
        let plan = VolumePlan {
            class,
            uid,
            permissions: permissions.into(),
        };
        plans.insert(spot.clone(), plan.clone());
        Ok(plan)
    }

    /// Makes a snapshot of a claim.
    ///
    /// # Errors
    /// Why there is none, in words.
    pub fn snapshot_volume(&self, spot: &Spot, name: &str, class: Option<&str>) -> Result<(), String> {
        let kubectl = self.kubectl(spot);
        let claim = kubectl.object(&["get", "persistentvolumeclaim", &spot.name]);
        let claim = claim.map_err(|error| error.to_string())?;
        let made = snapshot(spot, name, class, &claim);
        kubectl
            .ask(&["create", "-f", "-"], Some(made.to_string().into_bytes()))
            .map(drop)
    }

    /// Waits until a snapshot is so far; `go_on` is asked again and again.
    ///
    /// # Errors
    /// Why it does not come so far, in words.
    pub fn await_volume(
        &self,
        spot: &Spot,
        name: &str,
        cut: Cut,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<(), String> {
        let patience = match cut {
            Cut::Taken => CUT,
            Cut::Ready => READY,
        };
        let kubectl = self.kubectl(spot);
        let (mut waited, mut complained, mut nap) = (Duration::ZERO, Duration::ZERO, NAP);
        loop {
            let found = kubectl.object(&["get", SNAPSHOTS, name]);
            let found = found.map_err(|error| error.to_string())?;
            let is_ready = found.pointer("/status/readyToUse") == Some(&Value::Bool(true));
            let is_taken = text(&found, "/status/creationTime").is_some();
            if is_ready || cut == Cut::Taken && is_taken {
                return Ok(());
            }
            // What stands there is the last complaint; it stays until all is ready, also when the moment came after it.
            let complaint = text(&found, "/status/error/message").filter(|_| !is_taken);
            complained = complaint.map_or(Duration::ZERO, |_| complained + nap);
            match complaint {
                Some(why) if complained > COMPLAINT => {
                    return Err(format!("the VolumeSnapshot {name} fails: {why}"));
                }
                _ if !go_on() => return Err("it was given up".to_owned()),
                why if waited > patience => {
                    let why = why.map(|why| format!(": {why}")).unwrap_or_default();
                    return Err(format!(
                        "the VolumeSnapshot {name} takes longer than {} s{why}",
                        patience.as_secs()
                    ));
                }
                _ => {}
            }
            thread::sleep(nap);
            // With what was asked meanwhile.
            waited += nap + ASKED;
            nap = (nap * 3 / 2).min(LONGEST);
        }
    }

    /// Whether a snapshot of a claim can be read by now.
    ///
    /// # Errors
    /// Why that cannot be told, in words.
    pub fn is_ready(&self, spot: &Spot, name: &str) -> Result<bool, String> {
        let found = self.kubectl(spot).object(&["get", SNAPSHOTS, name]);
        let found = found.map_err(|error| error.to_string())?;
        Ok(found.pointer("/status/readyToUse") == Some(&Value::Bool(true)))
    }

    /// Whether a snapshot of the claim with this id is there.
    ///
    /// # Errors
    /// Why that cannot be told, in words: whatever answers may be another cluster.
    pub fn has_volume_snapshot(&self, spot: &Spot, name: &str, uid: &str) -> Result<bool, String> {
        let kubectl = self.kubectl(spot);
        let words = ["get", SNAPSHOTS, name, "--ignore-not-found", "-o", "name"];
        if !kubectl.ask(&words, None)?.trim().is_empty() {
            return Ok(true);
        }
        let claim = kubectl.object(&["get", "persistentvolumeclaim", &spot.name]);
        let claim = claim.map_err(|error| error.to_string())?;
        match text(&claim, "/metadata/uid") == Some(uid) {
            true => Ok(false),
            false => Err("the cluster that answers has another claim of this name".to_owned()),
        }
    }

    /// Removes a snapshot of a claim, also when it is gone already.
    ///
    /// # Errors
    /// Why not, in words.
    pub fn delete_volume_snapshot(&self, spot: &Spot, name: &str) -> Result<(), String> {
        let words = ["delete", SNAPSHOTS, name, "--ignore-not-found", "--wait=false"];
        self.kubectl(spot).ask(&words, None).map(drop)
    }
}

impl Kubectl<'_> {
    /// Whether the cluster knows snapshots of volumes.
    pub(super) fn has_snapshots(&self) -> Result<bool, String> {
        let place = place(self.spot);
        let path = format!("/apis/{VERSION}");
        let words: Vec<&str> = place
            .iter()
            .map(String::as_str)
            .chain(["get", "--raw", &path])
            .collect();
        let told = asked(self.program, self.path).run(&words, None)?;
        if told.fine {
            let listed: Value = serde_json::from_str(&told.out).unwrap_or_default();
            let resources = listed.pointer("/resources").and_then(Value::as_array);
            let mut names = resources
                .into_iter()
                .flatten()
                .filter_map(|one| text(one, "/name"));
            return Ok(names.any(|name| name == "volumesnapshots"));
        }
        match told.complaint {
            Some(why) if why.contains("NotFound") => Ok(false),
            why => Err(format!(
                "whether the cluster has VolumeSnapshot cannot be told: {}",
                why.unwrap_or_else(|| "it does not say why".to_owned())
            )),
        }
    }

    /// Whether a claim like this one can be made, and goes again: its class makes volumes, by the same driver, and deletes them. What may not
    /// be looked at is believed.
    fn can_be_made_again(&self, claim: &Value) -> Result<(), String> {
        let class = text(claim, "/spec/storageClassName").filter(|class| !class.is_empty());
        let class = class.ok_or("its claim has no StorageClass that could make another volume")?;
        let found = match self.object(&["get", "storageclass", class]) {
            Ok(found) => found,
            Err(error) if error.to_string().contains("Forbidden") => return Ok(()),
            Err(error) => return Err(error.to_string()),
        };
        let driver = driver_of(claim);
        if driver.is_some() && text(&found, "/provisioner") != driver {
            return Err(format!(
                "its StorageClass {class} makes volumes of another driver"
            ));
        }
        match text(&found, "/reclaimPolicy") {
            Some("Retain") => Err(format!(
                "its StorageClass {class} keeps the volumes of claims that are deleted (reclaimPolicy: Retain)"
            )),
            _ => Ok(()),
        }
    }

    /// The class for snapshots of a claim: the default one of its driver, or its only one. `None` where that cannot be looked at.
    fn class_for(&self, claim: &Value) -> Result<Option<String>, String> {
        let classes = match self.object(&["get", CLASSES]) {
            Ok(classes) => classes,
            // They are the whole cluster's, which not everybody may look at.
            Err(error) if error.to_string().contains("Forbidden") => return Ok(None),
            Err(error) => return Err(error.to_string()),
        };
        let driver = driver_of(claim);
        let all = classes.pointer("/items").and_then(Value::as_array);
        let all: Vec<&Value> = all
            .into_iter()
            .flatten()
            .filter(|class| driver.is_none_or(|driver| text(class, "/driver") == Some(driver)))
            .collect();
        // One that keeps what is deleted would keep all of it for ever.
        let keeps = |class: &&Value| text(class, "/deletionPolicy") == Some("Retain");
        let fitting: Vec<&Value> = all.iter().copied().filter(|class| !keeps(class)).collect();
        if fitting.is_empty() && !all.is_empty() {
            return Err("its VolumeSnapshotClass keeps what is deleted (deletionPolicy: Retain)".to_owned());
        }
        let name = |class: &Value| text(class, "/metadata/name").unwrap_or_default().to_owned();
        let is_default = |class: &Value| {
            let annotations = class.pointer("/metadata/annotations");
            annotations.and_then(|all| all.get(IS_DEFAULT)?.as_str()) == Some("true")
        };
        let whose = driver.map_or_else(|| "it".to_owned(), |driver| format!("volumes of {driver}"));
        let defaults: Vec<&Value> = fitting
            .iter()
            .copied()
            .filter(|class| is_default(class))
            .collect();
        match (defaults.as_slice(), fitting.as_slice()) {
            // Without its driver nobody can say which is meant.
            _ if driver.is_none() && !fitting.is_empty() => Ok(None),
            ([one], _) | ([], [one]) => Ok(Some(name(one))),
            (_, []) => Err(format!("the cluster has no VolumeSnapshotClass for {whose}")),
            (_, several) => Err(format!(
                "several VolumeSnapshotClasses are for {whose}, and not exactly one of them is the default: {}",
                several
                    .iter()
                    .map(|class| name(class))
                    .collect::<Vec<_>>()
                    .join(", ")
            )),
        }
    }
}

/// The driver that made the volume of a claim.
fn driver_of(claim: &Value) -> Option<&str> {
    let annotations = claim.pointer("/metadata/annotations");
    PROVISIONERS
        .iter()
        .find_map(|name| annotations?.get(name)?.as_str())
}

/// The object of a snapshot of a claim.
pub(super) fn snapshot(spot: &Spot, name: &str, class: Option<&str>, claim: &Value) -> Value {
    let mut notes = serde_json::Map::new();
    for (note, at) in [
        (STORAGE_CLASS, "/spec/storageClassName"),
        // The volume may be larger than what was asked for.
        (STORAGE, "/status/capacity/storage"),
    ] {
        notes.extend(text(claim, at).map(|value| (note.to_owned(), value.into())));
    }
    let mut made = json!({
        "apiVersion": VERSION,
        "kind": "VolumeSnapshot",
        "metadata": {
            "name": name,
            "namespace": spot.namespace,
            "labels": { OWNER: OURS },
            "annotations": notes,
        },
        "spec": { "source": { "persistentVolumeClaimName": spot.name } },
    });
    if let (Some(class), Some(spec)) = (class, made.get_mut("spec").and_then(Value::as_object_mut)) {
        spec.insert("volumeSnapshotClassName".to_owned(), class.into());
    }
    made
}

/// The object of a claim (core/v1) that shows what a snapshot has. It goes with that, when nobody removed it. `None` when nobody said how large
/// it has to be.
pub(super) fn shown(spot: &Spot, name: &str, snapshot: &Value) -> Option<Value> {
    let notes = snapshot.pointer("/metadata/annotations");
    let note = |key: &str| notes?.get(key)?.as_str();
    let told = text(snapshot, "/status/restoreSize").filter(|size| *size != "0");
    let size = note(STORAGE).or(told)?;
    let mut made = json!({
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": { "name": name, "namespace": spot.namespace, "labels": { OWNER: OURS } },
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "volumeMode": "Filesystem",
            "resources": { "requests": { "storage": size } },
            "dataSource": {
                "apiGroup": API,
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

/// Makes a claim that shows what a snapshot has, when that can be read.
pub(super) fn show(kubectl: &Kubectl<'_>, snapshot: &str, name: &str) -> io::Result<()> {
    let found = kubectl.object(&["get", SNAPSHOTS, snapshot])?;
    if found.pointer("/status/readyToUse") != Some(&Value::Bool(true)) {
        return Err(io::Error::other(format!(
            "the VolumeSnapshot {snapshot} cannot be read yet"
        )));
    }
    let made = shown(kubectl.spot, name, &found)
        .ok_or_else(|| io::Error::other(format!("nobody says how large the VolumeSnapshot {snapshot} is")))?;
    kubectl
        .ask(&["create", "-f", "-"], Some(made.to_string().into_bytes()))
        .map(drop)
        .map_err(|why| {
            io::Error::other(format!(
                "no claim can be made of the VolumeSnapshot {snapshot}: {why}"
            ))
        })
}
