//! A new claim, for a snapshot to be written into. It is the operator's from the beginning: the program never
//! removes it.

use serde_json::{Value, json};

use super::super::cluster::NewClaim;
use super::quantity::larger;
use super::text;
use super::{Kubectl, volume_snapshot};
use crate::claims::Claims;
use handle_fs::remote::Spot;

/// Smallest size of a new claim, and the step of larger ones (bytes).
const STEP: u64 = 1 << 30;

impl Claims<'_> {
    /// Plans the claim that has to be made before anything can be written there; `None` if it exists. It is like the claim
    /// `like`, if that is in the same namespace, and otherwise has room for `bytes`. The cluster is asked with a trial that makes
    /// nothing.
    ///
    /// # Errors
    /// Why it cannot be made, in words.
    pub fn plan_claim(
        &self,
        spot: &Spot,
        like: Option<&Spot>,
        bytes: u64,
    ) -> Result<Option<NewClaim>, String> {
        let kubectl = self.kubectl(spot)?;
        if kubectl.claim(&spot.name)?.is_some() {
            return Ok(None);
        }
        let is_near = |like: &&Spot| like.context == spot.context && like.namespace == spot.namespace;
        let model = match like.filter(is_near) {
            Some(like) => kubectl.claim(&like.name)?,
            None => None,
        };
        let made = new_claim(spot, model.as_ref(), bytes);
        if made.class.as_deref() == Some("") {
            let like = made.like.as_deref().unwrap_or_default();
            return Err(format!(
                "it does not exist, and cannot be created like {like}, whose volume has no StorageClass"
            ));
        }
        if made.class.is_none() && !kubectl.has_default_class() {
            return Err(
                "it does not exist, and the cluster has no default StorageClass that makes its volume: create the claim, or name one that \
                exists"
                    .to_owned(),
            );
        }
        let words = ["create", "--dry-run=server", "-o", "name", "-f", "-"];
        if let Err(why) = kubectl.ask(&words, Some(made.object.to_string().into_bytes()))
            && volume_snapshot::is_refusal(&why)
        {
            return Err(why);
        }
        Ok(Some(made))
    }

    /// Makes the claim.
    ///
    /// # Errors
    /// Why not, in words.
    pub fn make_claim(&self, spot: &Spot, made: &NewClaim) -> Result<(), String> {
        let object = made.object.to_string().into_bytes();
        self.kubectl(spot)?
            .ask(&["create", "-f", "-"], Some(object))
            .map(drop)
    }
}

impl Kubectl<'_> {
    /// A claim, when it is there.
    fn claim(&self, name: &str) -> Result<Option<Value>, String> {
        let words = [
            "get",
            "persistentvolumeclaim",
            name,
            "--ignore-not-found",
            "-o",
            "json",
        ];
        let told = self.ask(&words, None)?;
        if told.trim().is_empty() {
            return Ok(None);
        }
        let found = serde_json::from_str(&told);
        found
            .map(Some)
            .map_err(|error| format!("unexpected answer from kubectl: {error}"))
    }
}

/// Annotations of the default class, today's and an older one.
const DEFAULT_CLASS: [&str; 2] = [
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
];

impl Kubectl<'_> {
    /// Returns true if the cluster has a default StorageClass, or does not say.
    fn has_default_class(&self) -> bool {
        let Ok(classes) = self.object(&["get", "storageclasses"]) else {
            return true;
        };
        let Some(classes) = classes.pointer("/items").and_then(Value::as_array) else {
            return true;
        };
        classes.iter().any(|class| {
            let notes = class.pointer("/metadata/annotations");
            let is_set = |key: &&str| notes.and_then(|notes| notes.get(*key)?.as_str()) == Some("true");
            DEFAULT_CLASS.iter().any(is_set)
        })
    }
}

/// The object (core/v1).
pub(crate) fn new_claim(spot: &Spot, like: Option<&Value>, bytes: u64) -> NewClaim {
    let told = |at: &str| like.and_then(|like| text(like, at)).map(str::to_owned);
    let size = told("/status/capacity/storage").or_else(|| told("/spec/resources/requests/storage"));
    // File systems need some room for themselves.
    let needed = bytes.saturating_add(bytes / 4).div_ceil(STEP).max(1);
    let needed = format!("{needed}Gi");
    let size = larger(size.as_deref(), Some(&needed))
        .unwrap_or(&needed)
        .to_owned();
    let class = told("/spec/storageClassName");
    let modes = like.and_then(|like| like.pointer("/spec/accessModes")).cloned();
    let mut object = json!({
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": { "name": spot.name, "namespace": spot.namespace },
        "spec": {
            "accessModes": modes.unwrap_or_else(|| json!(["ReadWriteOnce"])),
            "volumeMode": "Filesystem",
            "resources": { "requests": { "storage": size } },
        },
    });
    if let (Some(class), Some(spec)) = (&class, object.get_mut("spec").and_then(Value::as_object_mut)) {
        spec.insert("storageClassName".to_owned(), class.as_str().into());
    }
    NewClaim {
        class,
        size,
        like: told("/metadata/name"),
        object,
    }
}
