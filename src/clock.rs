//! Wall clock and randomness, passed in so that a test can fix them. The library has no other source of either.

pub use handle_fs::{Entropy, letters, random};

use crate::model::Time;

/// Source of the time.
pub trait Clock: Send + Sync {
    /// Returns the current time of the wall clock.
    fn now(&self) -> Time;
}

/// The system's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Time {
        Time::from_nanos(jiff::Timestamp::now().as_nanosecond())
    }
}

/// The system's randomness.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemEntropy;

impl Entropy for SystemEntropy {
    fn fill(&self, bytes: &mut [u8]) {
        if getrandom::fill(bytes).is_err() {
            // No randomness at all (a kernel before 3.17 early in its boot): ids only have to differ, and they are
            // checked for being taken.
            let now = SystemClock.now().nanos().to_le_bytes();
            for (byte, now) in bytes.iter_mut().zip(now.iter().cycle()) {
                *byte = *now;
            }
        }
    }
}
