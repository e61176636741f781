//! Processor time that this process has used.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Returns the processor time of all threads of this process, in user and kernel mode.
#[must_use]
pub fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    let nanos = u32::try_from(time.tv_nsec).unwrap_or_default();
    Duration::new(seconds, nanos)
}
