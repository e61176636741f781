//! Mounts whose changes a watcher can see.

use crate::model::Coverage;
use handle_fs::remote::is_elsewhere;

/// Returns the reason why a watcher cannot see every change in these mounts; `None` if it may.
#[must_use]
pub fn why_unwatched<'a>(coverages: impl IntoIterator<Item = &'a Coverage>) -> Option<&'static str> {
    if !handle_fs::CAN_WATCH {
        return Some("this system does not report every change");
    }
    let mut is_any = false;
    for coverage in coverages {
        is_any = true;
        if coverage.state {
            return Some("agents' state is covered");
        }
        if coverage.native.is_some() {
            return Some("snapshots of the file system are used");
        }
        if is_elsewhere(&coverage.root.to_path()) {
            return Some("a mount is on another machine");
        }
    }
    (!is_any).then_some("no files are captured")
}
