//! Judges the copy in an object store: if it answers, who could read it, and what still has to be uploaded.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::{Finding, Group, Severity, counted};
use crate::config::Config;
use crate::environment::Environment;
use crate::replica::{Bucket as _, S3, has_several_recipients, waiting};
use crate::store::encryption::Recipients;
use crate::store::{Layout, Store};

/// Time limit for an answer.
const PATIENCE: Duration = Duration::from_secs(5);

pub(super) fn judge(environment: &Environment, layout: Option<&Layout>, findings: &mut Vec<Finding>) {
    // A configuration with a fault is told elsewhere; root that acts for a user copies nothing.
    let replication = Config::load(environment)
        .ok()
        .and_then(|config| config.replication());
    let Some(replication) = replication.filter(|_| environment.operator.is_none()) else {
        return;
    };
    let place = &replication.place.value;
    let mut found = |severity, what: String, step: Option<Finding>| {
        let finding = Finding::new(Group::Copy, severity, what);
        findings.push(match step {
            Some(step) => Finding {
                step: step.step,
                ..finding
            },
            None => finding,
        });
    };
    let blank = || Finding::new(Group::Copy, Severity::Ok, "");
    let names: Vec<String> = replication
        .recipients
        .iter()
        .map(|one| one.value.clone())
        .collect();
    if let Err(error) = Recipients::parse(&names) {
        let what = format!("nothing is copied to {place}: {error}");
        let step = blank().words("set recipients in [recovery.state] of config.toml to your public keys");
        found(Severity::Error, what, Some(step));
        return;
    }
    let store = layout.and_then(|layout| Store::open_read(layout).ok().flatten());
    let digest = replication.digest();
    let left = store.as_ref().and_then(|store| waiting(store, &digest).ok());
    let outcome = store.as_ref().and_then(|store| store.replica_outcome(&digest));
    let (failing, incomplete) = outcome
        .map(|outcome| (outcome.error, outcome.incomplete))
        .unwrap_or_default();
    let given_up = Arc::new(AtomicBool::new(false));
    let asked = Arc::clone(&given_up);
    std::thread::spawn(move || {
        handle_fs::pause(PATIENCE);
        asked.store(true, Ordering::Relaxed);
    });
    let stop: crate::replica::Stop = Arc::new(move || given_up.load(Ordering::Relaxed));
    let mut is_missing = false;
    match S3::open(place, stop).and_then(|bucket| bucket.folders()) {
        Ok(stores) => {
            let own = store.as_ref().and_then(|store| store.replica_identity().ok()?);
            let is_noted = |store: &Store| store.replica_notes(&digest).is_ok_and(|notes| !notes.is_empty());
            let own = own.filter(|_| store.as_ref().is_some_and(is_noted));
            let missing = own.filter(|own| !stores.iter().any(|name| name == own.id.as_str()));
            let stores = counted(stores.len(), "store", "stores");
            let keys = counted(names.len(), "recipient", "recipients");
            found(
                Severity::Ok,
                format!("{place} answers, with {stores}; objects are encrypted to {keys}"),
                None,
            );
            if let Some(own) = missing {
                is_missing = true;
                let what = format!("the copy of this store, {}, is not in {place} any more", own.id);
                found(Severity::Warning, what, Some(blank().verb("replicate")));
            }
        }
        Err(error) => {
            let what =
                format!("{place} cannot be used now: {error}; snapshots are still taken, and copied later");
            found(Severity::Warning, what, Some(blank().verb("replicate")));
        }
    }
    if store
        .as_ref()
        .is_some_and(|store| has_several_recipients(store, &digest).unwrap_or(false))
    {
        let what = format!(
            "the recipients were changed: what was copied to {place} before opens only with the private keys of the earlier ones"
        );
        found(Severity::Note, what, Some(blank().verb("replicate --new-store")));
    }
    if let Some(first) = incomplete.first() {
        let count = counted(
            incomplete.len(),
            "snapshot or object is",
            "snapshots or objects are",
        );
        let what = format!("{count} not whole in {place}, as the last look found: {first}");
        found(Severity::Warning, what, Some(blank().verb("verify --read-data")));
    }
    match left {
        Some(left) if !left.is_nothing() => {
            let snapshots = counted(
                usize::try_from(left.snapshots).unwrap_or(usize::MAX),
                "snapshot",
                "snapshots",
            );
            let why = failing
                .map(|error| format!("; the last attempt failed: {error}"))
                .unwrap_or_default();
            let severity = if why.is_empty() {
                Severity::Note
            } else {
                Severity::Warning
            };
            let what = format!(
                "{snapshots} and {} receipts are not copied to {place} yet{why}",
                left.receipts
            );
            found(severity, what, Some(blank().verb("replicate")));
        }
        Some(_) if is_missing || !incomplete.is_empty() => {}
        Some(_) => found(Severity::Ok, format!("{place} is up to date"), None),
        None => {}
    }
}
