//! Randomness, passed in so that a test can fix it.

/// Source of random bytes.
pub trait Entropy: Send + Sync {
    /// Fills `bytes`.
    fn fill(&self, bytes: &mut [u8]);
}

/// Returns random letters for a name, 16 of `0-9a-f`.
pub fn letters(random: [u8; 8]) -> String {
    format!("{:016x}", u64::from_be_bytes(random))
}

/// Returns `N` random bytes.
pub fn random<const N: usize>(entropy: &dyn Entropy) -> [u8; N] {
    let mut bytes = [0; N];
    entropy.fill(&mut bytes);
    bytes
}
