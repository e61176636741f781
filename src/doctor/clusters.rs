//! Judges the operator's permissions in a cluster for the configured mounts, verb by verb, and objects left there.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::{Finding, Group, Severity, counted};
use crate::config::{self, settle_mount};
use crate::environment::Environment;
use crate::process::{LeftBehind, Permission, Purpose, left_behind, permissions};
use crate::session::recorded_mounts;
use crate::store::Survey;
use handle_fs::remote::{Address, Spot, is_elsewhere};

/// Age of a helper, in nanoseconds, beyond which it was left behind.
const OLD: i128 = 7 * 3600 * 1_000_000_000;

pub(super) fn judge(
    environment: &Environment,
    config: &config::Survey,
    survey: Option<&Survey>,
    findings: &mut Vec<Finding>,
) {
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
    // Nothing in a mount is ever started. If the mounts are unknown, kubectl is not run.
    match recorded_mounts(environment) {
        Ok(roots) => here.extend(roots),
        Err(_) => return,
    }
    let addresses: BTreeSet<Address> = there
        .iter()
        .filter_map(|path| Some(Address::split(&settle_mount(&environment.transports, path))?.0))
        .collect();
    for address in &addresses {
        if let Some(asked) = permissions(environment, &here, address) {
            findings.push(judged(address, asked));
        }
    }
    // One claim or pod for each namespace.
    let mut places: BTreeMap<(&Option<String>, &str), &Spot> = BTreeMap::new();
    for address in &addresses {
        if let Address::Pod(spot) | Address::Claim(spot) = address {
            places.entry((&spot.context, &spot.namespace)).or_insert(spot);
        }
    }
    for spot in places.into_values() {
        left(spot, left_behind(environment, &here, spot), survey, findings);
    }
}

/// Reports helpers that are older than any in use, and snapshots of claims that this store does not know.
fn left(spot: &Spot, all: Vec<LeftBehind>, survey: Option<&Survey>, findings: &mut Vec<Finding>) {
    let now = handle_fs::fine_clock().nanos();
    let is_old = |one: &LeftBehind| one.made.is_some_and(|made| now - made.nanos() > OLD);
    let known = |one: &LeftBehind| {
        let papers = survey.iter().flat_map(|survey| &survey.natives);
        let mut places = papers.flat_map(|fact| &fact.places);
        places.any(|place| place.to_string_lossy().ends_with(&format!(":{}", one.name)))
    };
    let old: Vec<LeftBehind> = all.into_iter().filter(|one| is_old(one) && !known(one)).collect();
    let (snapshots, helpers): (Vec<LeftBehind>, Vec<LeftBehind>) =
        old.into_iter().partition(|one| one.is_snapshot);
    let place = match &spot.context {
        Some(context) => format!("namespace {} of {context}", spot.namespace),
        None => format!("namespace {}", spot.namespace),
    };
    let context = spot.context.as_ref().map(|context| {
        let quoted = context.replace('\'', "'\\''");
        format!("--context='{quoted}' ")
    });
    let context = context.unwrap_or_default();
    let delete = |all: &[LeftBehind]| {
        let objects: Vec<&str> = all.iter().map(|one| one.object.as_str()).collect();
        let objects = objects.join(" ");
        format!("kubectl {context}--namespace={} delete {objects}", spot.namespace)
    };
    let count = |all: &[LeftBehind], one, many| counted(all.len(), one, many);
    if !helpers.is_empty() {
        let what = format!(
            "{place} still has {} that a recovery command made to reach files",
            count(&helpers, "object", "objects")
        );
        let finding = Finding::new(Group::Mounts, Severity::Warning, what);
        findings.push(finding.words(format!("remove unused objects: {}", delete(&helpers))));
    }
    // Who cannot see all of the store cannot say what it does not know.
    let sees_all = survey.is_some_and(|survey| survey.failures.is_empty());
    if !snapshots.is_empty() && sees_all {
        let what = format!(
            "{place} has {} unknown to this store; another machine may need them",
            count(
                &snapshots,
                "VolumeSnapshot of jackin",
                "VolumeSnapshots of jackin"
            )
        );
        let finding = Finding::new(Group::Mounts, Severity::Note, what);
        findings.push(finding.words(format!("if no store needs them: {}", delete(&snapshots))));
    }
}

fn judged(address: &Address, asked: Result<Vec<Permission>, String>) -> Finding {
    let found = |severity, what: String| Finding::new(Group::Mounts, severity, what);
    let address = address.to_string();
    // As it is written down it may end with a `:`.
    let address = address.trim_end_matches(':');
    let asked = match asked {
        Ok(asked) => asked,
        Err(why) => {
            let what = format!("{address}: cannot check your permissions: {why}");
            let finding = found(Severity::Warning, what);
            return finding.words("check whether the cluster answers: kubectl version");
        }
    };
    let listed = |those: &dyn Fn(&Permission) -> bool| {
        let those = asked.iter().filter(|permission| those(permission));
        let words: Vec<String> = those
            .map(|permission| format!("{} {}", permission.verb, permission.resource))
            .collect();
        words.join(", ")
    };
    let missing = |purpose| listed(&|one| !one.granted && one.purpose == purpose);
    let needed = missing(Purpose::Access);
    if !needed.is_empty() {
        let finding = found(
            Severity::Error,
            format!("{address}: missing permission: {needed}"),
        );
        return finding.words(format!("ask the cluster administrator to allow: {needed}"));
    }
    let (snapshots, connection) = (missing(Purpose::VolumeSnapshot), missing(Purpose::FastConnection));
    let mut notes = Vec::new();
    if !snapshots.is_empty() {
        notes.push(format!(
            "read directly, because a VolumeSnapshot needs permissions that you do not have: {snapshots}"
        ));
    }
    if !connection.is_empty() {
        notes.push(format!(
            "kubectl connects at the second attempt, because you may not {connection}"
        ));
    }
    if notes.is_empty() {
        return found(
            Severity::Ok,
            format!("{address}: you may {}", listed(&|one| one.granted)),
        );
    }
    found(Severity::Note, format!("{address}: {}", notes.join("; ")))
}
