//! Wall clock and randomness, passed in so that a test can fix them. The library has no other source of either.

pub use handle_fs::{Entropy, letters, random};

use crate::model::Time;

/// Source of the time.
pub trait Clock: Send + Sync {
    /// Returns the current time of the wall clock.
    fn now(&self) -> Time;
}
