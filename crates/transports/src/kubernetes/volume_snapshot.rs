//! Snapshots of claims (`VolumeSnapshot`, `snapshot.storage.k8s.io/v1`), and the claims that are made of them to read one.

mod objects;
mod snapshot_class;

use std::io;
use std::thread;
use std::time::Duration;

use serde_json::Value;

use super::super::cluster::{Cut, VolumePlan};
use super::{ASKED, Kubectl, Silence, text};
use crate::claims::Claims;
use handle_fs::remote::Spot;

pub(crate) use objects::{shown, snapshot};

/// The group and version of their interface.
const VERSION: &str = "snapshot.storage.k8s.io/v1";
/// Resources, with their group: another one may have some of the same name.
pub(crate) const SNAPSHOTS: &str = "volumesnapshots.snapshot.storage.k8s.io";
/// Permissions for snapshots of a claim, beside those for the claim itself.
pub(crate) const FOR_SNAPSHOT: [(&str, &str); 5] = [
    ("create", SNAPSHOTS),
    ("get", SNAPSHOTS),
    ("delete", SNAPSHOTS),
    ("create", "persistentvolumeclaims"),
    ("delete", "persistentvolumeclaims"),
];

/// First and longest pause between two requests to a cluster.
const NAP: Duration = Duration::from_millis(300);
const LONGEST: Duration = Duration::from_secs(5);
/// Time limit for a snapshot to be taken.
const CUT: Duration = Duration::from_secs(120);
/// Time limit until a snapshot can be read: some services copy all of it first.
const READY: Duration = Duration::from_secs(3600);
/// Time for which a complaint that may pass is tolerated.
const COMPLAINT: Duration = Duration::from_secs(60);

/// Returns true if the cluster refuses an object. A timeout is no refusal, because the object may have been made; nor is a trial
/// that the cluster cannot run.
pub(crate) fn is_refusal(why: &str) -> bool {
    let words = [
        "(Forbidden)",
        "(Invalid)",
        "(NotFound)",
        " is invalid",
        "denied the request",
        "denied request",
    ];
    words.iter().any(|word| why.contains(word))
}

impl Claims<'_> {
    pub(crate) fn kubectl<'s>(&'s self, spot: &'s Spot) -> Result<Kubectl<'s>, String> {
        Kubectl::new(self.product, self.program, self.path, spot)
    }

    /// Plans the snapshot of a claim.
    ///
    /// # Errors
    /// The reason, in words, if the claim cannot have a snapshot.
    pub fn plan_volume(&self, spot: &Spot) -> Result<VolumePlan, String> {
        self.plans.of(spot, || self.make_plan(spot))
    }

    fn make_plan(&self, spot: &Spot) -> Result<VolumePlan, String> {
        let kubectl = self.kubectl(spot)?;
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
        let granted = kubectl.rights(&FOR_SNAPSHOT)?;
        if let Some(((verb, resource), _)) = FOR_SNAPSHOT.iter().zip(granted).find(|(_, granted)| !granted) {
            return Err(format!("you may not {verb} {resource} there"));
        }
        kubectl.would_take(&claim, class.as_deref(), self.image)?;
        let permissions = FOR_SNAPSHOT.map(|(verb, resource)| format!("{verb} {resource}"));
        Ok(VolumePlan {
            class,
            uid,
            permissions: permissions.into(),
        })
    }

    /// Makes a snapshot of a claim.
    ///
    /// # Errors
    /// Why there is none, in words.
    pub fn snapshot_volume(&self, spot: &Spot, name: &str, class: Option<&str>) -> Result<(), String> {
        let kubectl = self.kubectl(spot)?;
        let claim = kubectl.object(&["get", "persistentvolumeclaim", &spot.name]);
        let claim = claim.map_err(|error| error.to_string())?;
        let made = snapshot(self.product.package, spot, name, class, &claim);
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
        let kubectl = self.kubectl(spot)?;
        let (mut waited, mut complained, mut nap) = (Duration::ZERO, Duration::ZERO, NAP);
        let mut silent = Silence::default();
        loop {
            let found = silent.hear(nap, kubectl.object(&["get", SNAPSHOTS, name]));
            let found = found.map_err(|error| error.to_string())?.unwrap_or_default();
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
                _ if !go_on() => return Err("it timed out".to_owned()),
                why if waited > patience => {
                    let why = why
                        .map(str::to_owned)
                        .or_else(|| kubectl.warning(&[("VolumeSnapshot", name)]));
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

    /// Returns true if a snapshot of a claim can be read by now.
    ///
    /// # Errors
    /// The reason, in words, if that cannot be determined.
    pub fn is_ready(&self, spot: &Spot, name: &str) -> Result<bool, String> {
        let found = self.kubectl(spot)?.object(&["get", SNAPSHOTS, name]);
        let found = found.map_err(|error| error.to_string())?;
        Ok(found.pointer("/status/readyToUse") == Some(&Value::Bool(true)))
    }

    /// Returns true if a snapshot of the claim with this id exists.
    ///
    /// # Errors
    /// The reason, in words, if that cannot be determined: another cluster may answer.
    pub fn has_volume_snapshot(&self, spot: &Spot, name: &str, uid: &str) -> Result<bool, String> {
        let kubectl = self.kubectl(spot)?;
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
        self.kubectl(spot)?.ask(&words, None).map(drop)
    }
}

/// Makes a claim that shows what a snapshot has, when that can be read.
pub(crate) fn show(kubectl: &Kubectl<'_>, snapshot: &str, name: &str) -> io::Result<()> {
    let found = kubectl.object(&["get", SNAPSHOTS, snapshot])?;
    if found.pointer("/status/readyToUse") != Some(&Value::Bool(true)) {
        return Err(io::Error::other(format!(
            "the VolumeSnapshot {snapshot} cannot be read yet"
        )));
    }
    let made = shown(kubectl.product.package, kubectl.spot, name, &found)
        .ok_or_else(|| io::Error::other(format!("the size of the VolumeSnapshot {snapshot} is unknown")))?;
    kubectl
        .ask(&["create", "-f", "-"], Some(made.to_string().into_bytes()))
        .map(drop)
        .map_err(|why| {
            io::Error::other(format!(
                "cannot create a claim from the VolumeSnapshot {snapshot}: {why}"
            ))
        })
}
