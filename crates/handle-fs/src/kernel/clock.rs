//! The call for the time.

use rustix::fs::Timespec;

pub(crate) fn clock(id: rustix::time::ClockId) -> Timespec {
    simulated!(clock());
    rustix::time::clock_gettime(id)
}
