//! Stands in for Kubernetes in a build without it. No cluster is asked anything.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::claims::Claims;
use super::cluster::{Cut, LeftBehind, NewClaim, Permission, VolumePlan};
use super::not_built::NotBuilt;
use super::product::Product;
use super::reach::Reach;
use super::settings::Settings;
use handle_fs::Entropy;
use handle_fs::remote::{Address, Spot};

/// A client, of which no value exists.
pub(crate) enum Kubectl {}

impl Kubectl {
    /// Refuses.
    pub(crate) fn new(
        product: &Product,
        _program: &Path,
        _path: &OsStr,
        _spot: &Spot,
    ) -> Result<Self, String> {
        Err(refusal(product))
    }
}

fn refusal(product: &Product) -> String {
    NotBuilt::kubernetes(product).to_string()
}

/// Reaches a container of a pod.
pub(crate) fn pod(kubectl: &Kubectl) -> io::Result<Reach> {
    match *kubectl {}
}

/// Reaches a claim.
pub(crate) fn claim(
    kubectl: &Kubectl,
    _settings: &Settings<'_>,
    _entropy: &dyn Entropy,
    _stop: &Arc<AtomicBool>,
) -> io::Result<Reach> {
    match *kubectl {}
}

/// No contexts.
#[derive(Debug, Default)]
pub struct ClusterContexts(());

impl ClusterContexts {
    /// Returns `None`: an address keeps what it says.
    pub fn complete(
        &self,
        _path_variable: Option<&OsStr>,
        _untrusted: impl FnOnce() -> Option<Vec<PathBuf>>,
        _address: &Address,
        _path: &Path,
    ) -> Option<(Address, PathBuf)> {
        None
    }
}

/// Refuses addresses in a cluster. Returns `None` for others.
pub fn permissions(
    product: &Product,
    _path: Option<&OsStr>,
    _untrusted: &[PathBuf],
    address: &Address,
) -> Option<Result<Vec<Permission>, String>> {
    matches!(address, Address::Pod(_) | Address::Claim(_)).then(|| Err(refusal(product)))
}

/// Returns nothing.
#[must_use]
pub fn left_behind(
    _product: &Product,
    _path: Option<&OsStr>,
    _untrusted: &[PathBuf],
    _spot: &Spot,
) -> Vec<LeftBehind> {
    Vec::new()
}

/// Each of these refuses.
impl Claims<'_> {
    /// Refuses.
    ///
    /// # Errors
    /// Always.
    pub fn plan_volume(&self, _spot: &Spot) -> Result<VolumePlan, String> {
        Err(refusal(self.product))
    }

    /// Refuses.
    ///
    /// # Errors
    /// Always.
    pub fn snapshot_volume(&self, _spot: &Spot, _name: &str, _class: Option<&str>) -> Result<(), String> {
        Err(refusal(self.product))
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
        Err(refusal(self.product))
    }

    /// Refuses.
    ///
    /// # Errors
    /// Always.
    pub fn is_ready(&self, _spot: &Spot, _name: &str) -> Result<bool, String> {
        Err(refusal(self.product))
    }

    /// Refuses.
    ///
    /// # Errors
    /// Always.
    pub fn has_volume_snapshot(&self, _spot: &Spot, _name: &str, _uid: &str) -> Result<bool, String> {
        Err(refusal(self.product))
    }

    /// Refuses.
    ///
    /// # Errors
    /// Always.
    pub fn delete_volume_snapshot(&self, _spot: &Spot, _name: &str) -> Result<(), String> {
        Err(refusal(self.product))
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
        Err(refusal(self.product))
    }

    /// Refuses.
    ///
    /// # Errors
    /// Always.
    pub fn make_claim(&self, _spot: &Spot, _made: &NewClaim) -> Result<(), String> {
        Err(refusal(self.product))
    }
}
