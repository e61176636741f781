//! Answers of a cluster, as plain values. Builds with and without Kubernetes share them.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use serde_json::Value;

use handle_fs::Time;
use handle_fs::remote::Spot;

/// A right of the operator's in a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permission {
    /// A verb of the cluster.
    pub verb: &'static str,
    /// The resource, with a subresource after a `/`.
    pub resource: &'static str,
    /// True if the cluster grants it.
    pub granted: bool,
    /// Its purpose.
    pub purpose: Purpose,
}

/// Purpose of a right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Nothing works without it.
    Access,
    /// With it a connection is made at the first attempt; without it kubectl makes a second one.
    FastConnection,
    /// The baseline of a claim is read from a `VolumeSnapshot`; without it the claim is read as it is.
    VolumeSnapshot,
}

/// An object that was made in a cluster and not deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftBehind {
    /// `KIND/NAME`, as `kubectl delete` takes it.
    pub object: String,
    /// Its name.
    pub name: String,
    /// True for a `VolumeSnapshot`, which has contents; false for a helper.
    pub is_snapshot: bool,
    /// Creation time by the cluster's clock; `None` if the cluster does not report it.
    pub made: Option<Time>,
}

/// The way to snapshot a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumePlan {
    /// The `VolumeSnapshotClass`; `None`: the cluster decides.
    pub class: Option<String>,
    /// The id of the claim: another cluster may have one of the same name.
    pub uid: String,
    /// Rights that the operator needs, as `kubectl auth can-i` takes them.
    pub permissions: Vec<String>,
}

/// Plans that were made so far, one for each claim.
#[derive(Debug, Default)]
pub struct VolumePlans(Mutex<HashMap<Spot, VolumePlan>>);

impl VolumePlans {
    /// Returns the plan for a claim; makes it if there is none yet.
    pub(crate) fn of(
        &self,
        spot: &Spot,
        plan: impl FnOnce() -> Result<VolumePlan, String>,
    ) -> Result<VolumePlan, String> {
        let mut plans = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = plans.get(spot) {
            return Ok(known.clone());
        }
        let made = plan()?;
        plans.insert(spot.clone(), made.clone());
        Ok(made)
    }
}

/// A stage of a `VolumeSnapshot`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// The snapshot is taken: later writes are not in it.
    Taken,
    /// The snapshot can be read.
    Ready,
}

/// A claim that a restore creates.
#[derive(Clone, Debug)]
pub struct NewClaim {
    /// Its `StorageClass`; `None`: the cluster's default.
    pub class: Option<String>,
    /// Its size, as the cluster writes it.
    pub size: String,
    /// The name of the claim that it resembles.
    pub like: Option<String>,
    /// The object to create.
    pub(crate) object: Value,
}
