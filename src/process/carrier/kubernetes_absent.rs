//! Stands in for Kubernetes in a build without it. No cluster is asked anything.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::Reach;
use crate::clock::Entropy;
use crate::environment::Environment;
use crate::features::{Feature, NotBuilt};
use crate::platform::remote::{Address, Spot};
use crate::process::Freezer;
use crate::snapshot::Time;

/// A client, of which no value exists.
pub(super) enum Kubectl {}

impl Kubectl {
    /// Refuses.
    pub(super) fn new(_program: &Path, _path: &OsStr, _spot: &Spot) -> Result<Self, String> {
        Err(refusal())
    }
}

fn refusal() -> String {
    NotBuilt(Feature::Kubernetes).to_string()
}

/// Reaches a container of a pod.
pub(super) fn pod(kubectl: &Kubectl) -> io::Result<Reach> {
    match *kubectl {}
}

/// Reaches a claim.
pub(super) fn claim(
    kubectl: &Kubectl,
    _environment: &Environment,
    _entropy: &dyn Entropy,
    _stop: &Arc<AtomicBool>,
) -> io::Result<Reach> {
    match *kubectl {}
}

/// Stops waiting for helpers, of which there are none.
pub fn give_up_waiting(_now: bool) {}

/// Returns `None`: an address keeps what it says.
pub fn settle(
    _environment: &Environment,
    _mounts: impl FnOnce() -> Option<Vec<PathBuf>>,
    _address: &Address,
    _path: &Path,
) -> Option<(Address, PathBuf)> {
    None
}

/// A right in a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permission {
    /// A verb of the cluster.
    pub verb: &'static str,
    /// A resource of the cluster.
    pub resource: &'static str,
    /// True if the operator has it.
    pub granted: bool,
    /// True if nothing works without it.
    pub needed: bool,
}

/// Refuses addresses in a cluster. Returns `None` for others.
pub fn permissions(
    _environment: &Environment,
    _mounts: &[PathBuf],
    address: &Address,
) -> Option<Result<Vec<Permission>, String>> {
    matches!(address, Address::Pod(_) | Address::Claim(_)).then(|| Err(refusal()))
}

/// An object of this program's that a command left in a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftBehind {
    /// Its kind and name, as `kubectl` takes them.
    pub object: String,
    /// Its name.
    pub name: String,
    /// True for a `VolumeSnapshot`.
    pub is_snapshot: bool,
    /// When it was made, if the cluster says so.
    pub made: Option<Time>,
}

/// Returns nothing.
pub fn left_behind(_environment: &Environment, _mounts: &[PathBuf], _spot: &Spot) -> Vec<LeftBehind> {
    Vec::new()
}

/// How far a snapshot of a claim is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Later writes are not in it.
    Taken,
    /// It can be read.
    Ready,
}

/// How a claim is snapshotted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumePlan {
    /// The `VolumeSnapshotClass`; `None`: the cluster decides.
    pub class: Option<String>,
    /// The id of the claim.
    pub uid: String,
    /// Rights that the operator needs, as `kubectl auth can-i` takes them.
    pub permissions: Vec<String>,
}

/// A claim that a restore makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewClaim {
    /// Its storage class; `None`: the cluster decides.
    pub class: Option<String>,
    /// Its size, as Kubernetes writes it.
    pub size: String,
    /// The claim that it resembles, if any.
    pub like: Option<String>,
}

/// Each of these refuses.
impl Freezer {
    /// Refuses.
    ///
    /// # Errors
    /// Always.
    pub fn plan_volume(&self, _spot: &Spot) -> Result<VolumePlan, String> {
        Err(refusal())
    }

    /// Refuses.
    ///
    /// # Errors
    /// Always.
    pub fn snapshot_volume(&self, _spot: &Spot, _name: &str, _class: Option<&str>) -> Result<(), String> {
        Err(refusal())
    }

    /// Refuses.
    ///
    /// # Errors
    /// Always.
    pub fn await_volume(
        &self,
        _spot: &Spot,
        _name: &str,
        _cut: Cut,
        _go_on: &mut dyn FnMut() -> bool,
    ) -> Result<(), String> {
        Err(refusal())
    }

    /// Refuses.
    ///
    /// # Errors
    /// Always.
    pub fn is_ready(&self, _spot: &Spot, _name: &str) -> Result<bool, String> {
        Err(refusal())
    }

    /// Refuses.
    ///
    /// # Errors
    /// Always.
    pub fn has_volume_snapshot(&self, _spot: &Spot, _name: &str, _uid: &str) -> Result<bool, String> {
        Err(refusal())
    }

    /// Refuses.
    ///
    /// # Errors
    /// Always.
    pub fn delete_volume_snapshot(&self, _spot: &Spot, _name: &str) -> Result<(), String> {
        Err(refusal())
    }

    /// Refuses.
    ///
    /// # Errors
    /// Always.
    pub fn plan_claim(
        &self,
        _spot: &Spot,
        _like: Option<&Spot>,
        _bytes: u64,
    ) -> Result<Option<NewClaim>, String> {
        Err(refusal())
    }

    /// Refuses.
    ///
    /// # Errors
    /// Always.
    pub fn make_claim(&self, _spot: &Spot, _made: &NewClaim) -> Result<(), String> {
        Err(refusal())
    }
}
