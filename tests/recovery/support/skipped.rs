//! Records which tests skip, for the summary at the end of `cargo test` (`tests/summary.rs`).

use std::fs::OpenOptions;
use std::io::Write as _;

/// Records that the test that runs here, or a part of it, is skipped, and prints why.
///
/// The records of one `cargo test` lie in one file, which is named after the process that runs all test programs.
#[allow(
    clippy::print_stderr,
    reason = "a skipped test says so where its output is shown"
)]
pub(crate) fn skipped(why: &str) {
    eprintln!("SKIPPED: {why}");
    let test = std::thread::current().name().unwrap_or("?").to_owned();
    let place = std::env::current_exe().ok();
    // A copy that runs elsewhere, as another user, only says it.
    let is_cargos = |directory: &&std::path::Path| directory.ends_with("deps");
    let place = place
        .as_deref()
        .and_then(|exe| exe.parent().filter(is_cargos)?.parent());
    let runner = rustix::process::getppid().map_or(0, |pid| pid.as_raw_nonzero().get());
    if let Some(place) = place {
        let record = OpenOptions::new()
            .create(true)
            .append(true)
            .open(place.join(format!("skipped-{runner}")));
        let _ = record.and_then(|mut record| record.write_all(format!("{test}\t{why}\n").as_bytes()));
    }
}
