//! Restores in a simulated file system: a crash at every call, and every error at every call.

mod cases;
mod crashes;
mod done;
mod errors;
mod judge;
mod meddled;
mod outages;
mod retried;
mod session;

use session::{Ended, Session, Verb, World};

/// Factor on the strides of the longest simulations: 1 at night (`JACKIN_NIGHTLY`), `usual` otherwise.
fn stride(usual: usize) -> usize {
    let is_nightly = std::env::var_os("JACKIN_NIGHTLY").is_some();
    if is_nightly || wants_all() { 1 } else { usual }
}

/// Returns true if `JACKIN_SIMULATION=all` asks for the complete run, which takes long.
fn wants_all() -> bool {
    std::env::var("JACKIN_SIMULATION").is_ok_and(|wanted| wanted == "all")
}
