//! The call for the time.

use rustix::fs::Timespec;

pub(in crate::platform) fn clock(id: rustix::time::ClockId) -> Timespec {
    simulated!(clock());
    rustix::time::clock_gettime(id)
}
