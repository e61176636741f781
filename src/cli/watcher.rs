//! Start of the watcher of a session.

use std::ffi::OsString;

use super::args::CalledAs;
use crate::contract::why_unwatched;
use crate::environment::Environment;
use crate::model::InstanceId;
use crate::process;
use crate::recovery::Contract;

/// Leaves the watcher of a session behind, if the contract has one. Without it checkpoints walk.
pub(super) fn leave(environment: &Environment, contract: &Contract, instance: &InstanceId) {
    if contract.watch.value && why_unwatched(contract.coverages()).is_none() {
        let words = ["__watcher", instance.as_str()].map(OsString::from);
        drop(process::leave_behind(
            environment,
            CalledAs::JackinRecovery.prefix(),
            &words,
        ));
    }
}
