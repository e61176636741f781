//! The share of the longest simulations that tests run.

/// Factor on the strides of the longest simulations: 1 at night (`JACKIN_NIGHTLY`), `usual` otherwise.
pub(crate) fn stride(usual: usize) -> usize {
    let is_nightly = std::env::var_os("JACKIN_NIGHTLY").is_some();
    if is_nightly || wants_all() { 1 } else { usual }
}

/// Returns true if `JACKIN_SIMULATION=all` asks for the complete run, which takes long.
pub(crate) fn wants_all() -> bool {
    std::env::var("JACKIN_SIMULATION").is_ok_and(|wanted| wanted == "all")
}
