//! Snapshots of claims and new claims, by the operator's `kubectl`.

use std::ffi::OsStr;
use std::path::Path;

use super::cluster::VolumePlans;
use super::product::Product;

/// The operator's `kubectl`, for snapshots of claims and new claims.
#[derive(Clone, Copy, Debug)]
pub struct Claims<'a> {
    /// The program that asks for them.
    pub product: &'static Product,
    /// File of `kubectl`.
    pub program: &'a Path,
    /// `PATH` in which it finds others.
    pub path: &'a OsStr,
    /// Image of helpers; `None` for the default one.
    pub image: Option<&'a str>,
    /// Plans for snapshots that were made so far.
    pub plans: &'a VolumePlans,
}
