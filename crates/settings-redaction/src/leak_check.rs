//! Looks for secrets that are still in the public text.

use std::collections::{HashMap, HashSet};

/// Minimum length of a secret to search for, in bytes; shorter texts occur everywhere by chance.
const SHORTEST: usize = 6;

/// Maximum number of bytes compared; a file that needs more is made to.
const MAX_COMPARED: usize = 1 << 28;

/// Returns true if one of the secrets is still in the text, or could be.
pub(super) fn stays<'a>(text: &[u8], secrets: impl Iterator<Item = &'a [u8]>) -> bool {
    let mut by_start: HashMap<&[u8], HashSet<&[u8]>> = HashMap::new();
    for secret in secrets {
        let secret = unquoted(secret);
        if let Some(start) = secret.get(..SHORTEST) {
            by_start.entry(start).or_default().insert(secret);
        }
    }
    if by_start.is_empty() {
        return false;
    }
    let mut left = MAX_COMPARED;
    for (at, start) in text.windows(SHORTEST).enumerate() {
        let Some(candidates) = by_start.get(start) else {
            continue;
        };
        let here = text.get(at..).unwrap_or_default();
        for secret in candidates {
            let same = secret
                .iter()
                .zip(here)
                .take_while(|(left, right)| left == right)
                .count();
            if same == secret.len() {
                return true;
            }
            let Some(rest) = left.checked_sub(same + 1) else {
                return true;
            };
            left = rest;
        }
    }
    false
}

/// Returns a value without the quotes around it.
fn unquoted(raw: &[u8]) -> &[u8] {
    let raw = raw.trim_ascii();
    for quote in [b"\"\"\"".as_slice(), b"'''", b"\"", b"'"] {
        if let Some(inner) = raw.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote)) {
            return inner;
        }
    }
    raw
}
