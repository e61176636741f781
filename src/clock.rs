//! Wall clock and randomness, passed in so that a test can fix them. Nothing else in the library asks for either.

use crate::model::Time;

/// Tells the time.
pub trait Clock: Send + Sync {
    /// The wall clock now.
    fn now(&self) -> Time;
}

/// Gives random bytes.
pub trait Entropy: Send + Sync {
    /// Fills `bytes`.
    fn fill(&self, bytes: &mut [u8]);
}

/// Random letters for a name, 16 of `0-9a-f`.
pub fn letters(random: [u8; 8]) -> String {
    format!("{:016x}", u64::from_be_bytes(random))
}

/// `N` random bytes.
pub fn random<const N: usize>(entropy: &dyn Entropy) -> [u8; N] {
    let mut bytes = [0; N];
    entropy.fill(&mut bytes);
    bytes
}
