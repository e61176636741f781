//! Waits for what happens beside a test: by the event, never by the time that it takes on an idle machine.

use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Longest time that a busy machine takes for what takes moments.
const PATIENCE: Duration = Duration::from_secs(120);
/// First pause between two looks. Each pause is twice as long as the one before, up to [`LAST`].
const FIRST: Duration = Duration::from_millis(1);
const LAST: Duration = Duration::from_millis(64);

/// Waits until `find` finds something.
#[track_caller]
pub(crate) fn await_found<T>(what: &str, find: impl FnMut() -> Option<T>) -> T {
    await_by(what, LAST, find)
}

#[track_caller]
fn await_by<T>(what: &str, longest: Duration, mut find: impl FnMut() -> Option<T>) -> T {
    let (begun, mut pause) = (Instant::now(), FIRST);
    loop {
        if let Some(found) = find() {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "{what}: it does not come");
        sleep(pause);
        pause = longest.min(pause * 2);
    }
}

/// Waits until a fact holds.
#[track_caller]
pub(crate) fn await_that(what: &str, mut holds: impl FnMut() -> bool) {
    await_found(what, || holds().then_some(()));
}

/// The same for a fact that may not last.
#[track_caller]
pub(crate) fn await_moment(what: &str, mut holds: impl FnMut() -> bool) {
    await_by(what, FIRST, || holds().then_some(()));
}

/// Waits until there is something at a path.
#[track_caller]
pub(crate) fn await_file(path: &Path) {
    await_that(&path.display().to_string(), || path.exists());
}
