//! Sessions of real directories in a real store.

mod begins;
mod ends;
mod finds;
mod guards;
mod lives;
mod whole;

use super::{BeginRequest, Begun, Services, SessionError, begin};
use crate::capture::tests::Place;
use crate::capture::{Limits, Request, take};
use crate::clock::Clock as _;
use crate::model::{Coverage, InstanceId, Operation, ProcessRef, SnapshotKind};
use crate::observer::{Observer, Silent};
use crate::store::InstanceRow;

fn world<'a>(place: &'a Place, observer: &'a dyn Observer) -> Services<'a> {
    Services {
        observer,
        clock: &place.clock,
        entropy: &place.entropy,
        uid: 1000,
    }
}

fn request(coverages: Vec<Coverage>) -> BeginRequest<'static> {
    BeginRequest {
        label: "demo",
        workspace: None,
        mode: "project",
        coverages,
        limits: Limits::NONE,
        keeper: None,
        scripts: Vec::new(),
        command: None,
        cleanup_policy: None,
        container: None,
        watched: Vec::new(),
        agent: None,
        title: crate::model::SessionTitle::default(),
        run_without_baseline: false,
        behind: false,
        waits: true,
    }
}

fn begun(place: &Place, request: BeginRequest<'_>) -> Result<Begun, SessionError> {
    begin(&place.store, world(place, &Silent), request)
}

/// A process that cannot live any more: it ran before the last boot.
fn dead() -> ProcessRef {
    ProcessRef {
        pid: 1,
        start: 1,
        boot: "another boot".to_owned(),
    }
}

/// Writes down that an instance began, without a baseline and with nobody who keeps it alive.
fn record(place: &Place, id: &str, workspace: Option<&str>, mounts: Vec<Coverage>) -> InstanceRow {
    let id = InstanceId::parse(id).unwrap();
    let act = Operation::Begin {
        workspace: workspace.map(str::to_owned),
        mode: "project".to_owned(),
        mounts,
        keeper: Some(dead()),
        scripts: Vec::new(),
        boot: "another boot".to_owned(),
        command: None,
        cleanup_policy: None,
        container: None,
        watched: Vec::new(),
        agent: None,
        title: crate::model::SessionTitle::default(),
    };
    place.store.append(place.clock.now(), 1000, &id, act).unwrap();
    row(place, &id)
}

/// Records one that was killed after its baseline.
fn lost(place: &Place, id: &str, mounts: Vec<Coverage>) -> InstanceRow {
    let made = record(place, id, None, mounts);
    let now = (place.clock.now(), 1000);
    let request = Request::of(&made.id, SnapshotKind::Baseline, &made.mounts, now);
    take(&place.store, &request, &Silent, &place.entropy).unwrap();
    made
}

fn row(place: &Place, id: &InstanceId) -> InstanceRow {
    place.store.catalog().instance(id).unwrap().unwrap()
}

/// The acts of an instance, in one word each.
fn acts(place: &Place, id: &InstanceId) -> Vec<&'static str> {
    let receipts = place.store.receipts().unwrap();
    receipts
        .iter()
        .filter(|receipt| receipt.instance.as_ref() == Some(id))
        .map(|receipt| match &receipt.act {
            Operation::Begin { .. } => "begin",
            Operation::Capture { kind, .. } => kind.word(),
            Operation::CaptureFailed { .. } => "capture failed",
            Operation::End { .. } => "end",
            Operation::Restore { .. } => "restore",
            Operation::Abort { .. } => "abort",
            _ => "another",
        })
        .collect()
}
