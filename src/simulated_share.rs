//! The share of the longest simulations, and of random cases, that tests run.

use crate::workplace::is_nightly;

/// Factor on the strides of the longest simulations: 1 at night (`JACKIN_NIGHTLY`), `usual` otherwise.
pub(crate) fn stride(usual: usize) -> usize {
    if is_nightly() || wants_all() { 1 } else { usual }
}

/// Number of random cases of a model: all of them at night, the first sixth otherwise.
pub(crate) fn cases(all: u32) -> u32 {
    if is_nightly() { all } else { all / 6 }
}

/// Returns true if `JACKIN_SIMULATION=all` asks for the complete run, which takes long.
pub(crate) fn wants_all() -> bool {
    std::env::var("JACKIN_SIMULATION").is_ok_and(|wanted| wanted == "all")
}
