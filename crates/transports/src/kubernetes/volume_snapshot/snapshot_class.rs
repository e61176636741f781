//! Checks before a snapshot of a claim, and the choice of its class, as far as the cluster reports in advance.

use serde_json::{Value, json};

use super::super::claim_pod::{Neighbor, helper};
use super::super::text;
use super::super::{Kubectl, asked, place};
use super::objects::{shown, snapshot};
use super::{VERSION, is_refusal};
use crate::reach::{HELPER, chosen};

const CLASSES: &str = "volumesnapshotclasses.snapshot.storage.k8s.io";
const IS_DEFAULT: &str = "snapshot.storage.kubernetes.io/is-default-class";
/// Annotations that name the driver of a claim's volume.
const PROVISIONERS: [&str; 2] = [
    "volume.kubernetes.io/storage-provisioner",
    "volume.beta.kubernetes.io/storage-provisioner",
];
/// Assumed size of a claim that states none.
const SOME_SIZE: &str = "1Gi";

impl Kubectl<'_> {
    /// Returns true if the cluster supports snapshots of volumes.
    pub(crate) fn has_snapshots(&self) -> Result<bool, String> {
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
                "cannot check whether the cluster has VolumeSnapshot: {}",
                why.unwrap_or_else(|| "it does not say why".to_owned())
            )),
        }
    }

    /// Checks that a claim like this one can be made and goes again: its class makes volumes, by the same driver, and deletes
    /// them. A class that may not be read passes.
    pub(crate) fn can_be_made_again(&self, claim: &Value) -> Result<(), String> {
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
    pub(crate) fn class_for(&self, claim: &Value) -> Result<Option<String>, String> {
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

    /// Checks that the cluster would accept the objects that are made later, when the operator can no longer choose: quotas and
    /// policies refuse what is permitted. The check is a trial that makes nothing. A cluster that cannot run the trial passes.
    pub(crate) fn would_take(
        &self,
        claim: &Value,
        class: Option<&str>,
        image: Option<&str>,
    ) -> Result<(), String> {
        let package = self.product.package;
        // Objects of this name are never made.
        let tried = format!("{package}-trial");
        let image = chosen(image).unwrap_or_else(|| HELPER.to_owned());
        let cut = snapshot(package, self.spot, &tried, class, claim);
        let mut ready = cut.clone();
        if let Some(all) = ready.as_object_mut() {
            all.insert("status".to_owned(), json!({ "restoreSize": SOME_SIZE }));
        }
        let volume = shown(package, self.spot, &tried, &ready);
        let pod = helper(
            package,
            self.spot,
            &tried,
            (&tried, true),
            &image,
            &Neighbor::default(),
            None,
        );
        for made in [Some(cut), volume, Some(pod)].into_iter().flatten() {
            let words = ["create", "--dry-run=server", "-o", "name", "-f", "-"];
            match self.ask(&words, Some(made.to_string().into_bytes())) {
                Err(why) if is_refusal(&why) => {
                    let kind = text(&made, "/kind").unwrap_or("object");
                    return Err(format!("the cluster would refuse the {kind} for it: {why}"));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Returns what keeps a claim among `objects` (kind and name) without a volume, or else the cluster's last warning about one of them, if
    /// it may be read.
    pub(crate) fn warning(&self, objects: &[(&str, &str)]) -> Option<String> {
        let about = |(kind, name): &(&str, &str)| {
            let which = format!("--field-selector=involvedObject.kind={kind},involvedObject.name={name}");
            let events = self.object(&["get", "events", &which]).ok()?;
            Some(events.pointer("/items")?.as_array()?.clone())
        };
        let events: Vec<Value> = objects.iter().filter_map(about).flatten().collect();
        // Some of these are of type Normal.
        let is_unmade = |event: &&Value| {
            matches!(
                text(event, "/reason"),
                Some("FailedBinding" | "ProvisioningFailed")
            )
        };
        let is_warning = |event: &&Value| text(event, "/type") == Some("Warning");
        let unmade = events.iter().filter(is_unmade).max_by_key(moment);
        let last = unmade.or_else(|| events.iter().filter(is_warning).max_by_key(moment))?;
        let message = text(last, "/message")?;
        Some(match text(last, "/reason") {
            Some(reason) => format!("{message} ({reason})"),
            None => message.to_owned(),
        })
    }
}

/// Returns the time of an event.
fn moment(event: &&Value) -> String {
    let times = ["/lastTimestamp", "/eventTime", "/metadata/creationTimestamp"];
    let found = times.iter().find_map(|at| text(event, at));
    found.unwrap_or_default().to_owned()
}

/// The driver that made the volume of a claim.
fn driver_of(claim: &Value) -> Option<&str> {
    let annotations = claim.pointer("/metadata/annotations");
    PROVISIONERS
        .iter()
        .find_map(|name| annotations?.get(name)?.as_str())
}
