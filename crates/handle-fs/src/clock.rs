//! The clocks of this machine, and the step in which file systems tell time.

use super::kernel::clock;
use super::system::own::FILE_CLOCK;
use crate::Time;

/// Coarsest step of a file system's times, in nanoseconds. Two changes within it can carry the same time (kernels before 6.13
/// stamp with the timer tick, at most 10 ms).
pub const TICK_NANOS: i128 = 20_000_000;

/// Returns how long after `last`, in nanoseconds, a change may still get that time. A time without a fraction comes from a file system
/// that keeps whole seconds (HFS+, ext4 with small inodes) or every other one (FAT).
#[must_use]
pub fn step_of(last: Time) -> i128 {
    match last.nsec {
        0 => 2_000_000_000,
        _ => TICK_NANOS,
    }
}

/// The clock that the kernel stamps files with at least: a change from now on gets no earlier time. (Kernels from 6.13
/// stamp finer, and then up to a tick later than this.)
#[must_use]
pub fn file_clock() -> Time {
    read(FILE_CLOCK)
}

/// The finest clock: nothing that was changed before this instant has a later time.
#[must_use]
pub fn fine_clock() -> Time {
    read(rustix::time::ClockId::Realtime)
}

/// Returns the monotonic time since boot, for timeouts.
#[must_use]
pub fn uptime() -> std::time::Duration {
    let now = read(rustix::time::ClockId::Monotonic);
    let seconds = u64::try_from(now.sec).unwrap_or_default();
    std::time::Duration::new(seconds, now.nsec)
}

/// Returns true if a modification time that is set before an object's birth moves the birth there (APFS, HFS+): then a birth may be
/// earlier than it was, and says nothing of an object's age.
#[must_use]
pub fn births_move() -> bool {
    #[cfg(any(test, debug_assertions, feature = "simulated"))]
    if let Some(world) = crate::simulated::world() {
        return world.lock().births_move();
    }
    cfg!(any(feature = "portable", target_vendor = "apple"))
}

fn read(id: rustix::time::ClockId) -> Time {
    let now = clock(id);
    Time {
        sec: now.tv_sec,
        nsec: u32::try_from(now.tv_nsec).unwrap_or(0),
    }
}
