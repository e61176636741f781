//! Judges whether the operator may do in a cluster what the configured mounts there need, verb by verb.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::{Finding, Group, Severity};
use crate::config::{self, settle};
use crate::environment::Environment;
use crate::platform::remote::{Address, is_elsewhere};
use crate::process::{Permission, permissions};
use crate::session::recorded_mounts;

pub(super) fn judge(environment: &Environment, config: &config::Survey, findings: &mut Vec<Finding>) {
    let mounts = config.workspaces.iter().flat_map(|workspace| &workspace.mounts);
    let (there, mut here): (Vec<PathBuf>, Vec<PathBuf>) = mounts
        .filter(|mount| !mount.readonly)
        .map(|mount| mount.src.clone())
        .partition(|path| is_elsewhere(path));
    let is_in_cluster = |path: &PathBuf| {
        let found = Address::split(path).map(|(address, _)| address);
        matches!(found, Some(Address::Pod(_) | Address::Claim(_)))
    };
    // Who has none there is not kept waiting.
    if !there.iter().any(is_in_cluster) {
        return;
    }
    // Nothing in a mount is ever started, so whoever cannot say which there are starts nothing.
    match recorded_mounts(environment) {
        Ok(roots) => here.extend(roots),
        Err(_) => return,
    }
    let addresses: BTreeSet<Address> = there
        .iter()
        .filter_map(|path| Some(Address::split(&settle(path))?.0))
        .collect();
    for address in &addresses {
        if let Some(asked) = permissions(environment, &here, address) {
            findings.push(judged(address, asked));
        }
    }
}

fn judged(address: &Address, asked: Result<Vec<Permission>, String>) -> Finding {
    let found = |severity, what: String| Finding::new(Group::Mounts, severity, what);
    let listed = |granted: bool, asked: &[Permission]| -> Vec<String> {
        let those = asked.iter().filter(|permission| permission.granted == granted);
        those
            .map(|permission| format!("{} {}", permission.verb, permission.resource))
            .collect()
    };
    match asked {
        Err(why) => found(
            Severity::Warning,
            format!("{address}: whether you may do what it needs cannot be told: {why}"),
        )
        .words("look whether the cluster answers: kubectl version"),
        Ok(asked) if asked.iter().all(|permission| permission.granted) => found(
            Severity::Ok,
            format!("{address}: you may {}", listed(true, &asked).join(", ")),
        ),
        Ok(asked)
            if asked
                .iter()
                .all(|permission| permission.granted || !permission.needed) =>
        {
            let missing = listed(false, &asked).join(", ");
            let what = format!(
                "{address}: it is read as it is, for a VolumeSnapshot needs what you may not: {missing}"
            );
            found(Severity::Note, what)
        }
        Ok(asked) => {
            let missing = listed(false, &asked).join(", ");
            found(
                Severity::Error,
                format!("{address}: you may not {missing}, which it needs"),
            )
            .words(format!("have whoever runs the cluster allow you: {missing}"))
        }
    }
}
