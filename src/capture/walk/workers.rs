//! Walker threads, one per core.

use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};

use super::guard::Guard;
use super::limits::Tally;
use super::scan::{Job, Scan, Scanned};
use super::{Skipped, Walk};
use crate::capture::CaptureError;
use crate::model::RelPath;
use handle_fs::parallel;

/// Results of all threads, in no order.
#[derive(Default)]
pub(super) struct Found {
    pub(super) directories: Vec<Scanned>,
    pub(super) skipped: Vec<Skipped>,
    /// Directories that are gone, or were replaced, since their parents were listed.
    pub(super) vanished: Vec<RelPath>,
}

/// Walks `root` and everything below it. `unchanged` marks the directories of the reference that are known to be unchanged. An
/// exceeded limit ends the walk early and is noted in `tally`.
///
/// # Errors
/// When the root cannot be listed, or the operator stopped it.
pub(super) fn run(
    walk: &Walk<'_>,
    tally: &Tally,
    unchanged: Vec<bool>,
    root: Job,
) -> Result<Found, CaptureError> {
    let scan = Scan {
        walk,
        tally,
        unchanged,
        guard: Guard::of(walk.root, walk.matcher.guarded(), walk.store),
        trusts_sizes: walk.root.file_system().is_ok_and(|facts| facts.exact_sizes),
    };
    let failed: Mutex<Option<CaptureError>> = Mutex::new(None);
    let fail = |error| {
        *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
        ControlFlow::Break(())
    };
    let visit = |job: Job, below: &mut Vec<Job>, found: &mut Found| {
        let path = job.path.clone();
        let outcome = match scan.directory(job) {
            Ok(outcome) => outcome,
            Err(error) => return fail(error),
        };
        match outcome.scanned {
            Some(scanned) => found.directories.push(scanned),
            None => found.vanished.push(path),
        }
        found.skipped.extend(outcome.skipped);
        below.extend(outcome.below);
        if walk.observer.cancelled() {
            return fail(CaptureError::Interrupted);
        }
        match tally.exceeded() {
            Some(_) => ControlFlow::Break(()),
            None => ControlFlow::Continue(()),
        }
    };
    let mut found = Found::default();
    for part in parallel::explore(root, visit) {
        let Found {
            directories,
            skipped,
            vanished,
        } = part;
        found.directories.extend(directories);
        found.skipped.extend(skipped);
        found.vanished.extend(vanished);
    }
    match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(error) => Err(error),
        None => Ok(found),
    }
}
