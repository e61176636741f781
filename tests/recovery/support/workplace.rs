//! Directory for the files of tests: in memory where that is possible. Unit tests use it, too.

use std::fs;
use std::path::{Path, PathBuf};

/// Returns true if everything is tried that the ordinary run spreads over its cases; `.ci/nightly` asks for it.
pub(crate) fn is_nightly() -> bool {
    std::env::var_os("JACKIN_NIGHTLY").is_some()
}

/// Returns the directory for what a test makes: in memory where programs may run there and much room is left, else the temporary one.
///
/// A third of the time of a test on a disk goes by until it says that everything is written. The nightly run is on the disk.
pub(crate) fn workplace() -> PathBuf {
    use rustix::fs::statvfs;
    /// From linux/magic.h.
    const TMPFS: u64 = 0x0102_1994;
    const ROOM: u64 = 6 << 30;
    static CHOSEN: std::sync::OnceLock<PathBuf> = std::sync::OnceLock::new();
    let choose = || {
        let memory = Path::new("/dev/shm");
        let told = statvfs(memory).ok()?;
        let free: u64 = fs::read_to_string("/proc/meminfo")
            .ok()?
            .lines()
            .find_map(|line| {
                line.strip_prefix("MemAvailable:")?
                    .split_whitespace()
                    .next()?
                    .parse()
                    .ok()
            })?;
        let is_chosen = std::env::var_os("TMPDIR").is_some() || is_nightly();
        let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
        let fields = |line: &str| {
            Some((
                line.split(' ').nth(1)?.to_owned(),
                line.split(' ').nth(3)?.to_owned(),
            ))
        };
        let topmost = mounts
            .lines()
            .filter_map(fields)
            .rfind(|(place, _)| Path::new(place) == memory);
        let may_run = !topmost?.1.split(',').any(|option| option == "noexec");
        let has_room = told.f_bavail * told.f_frsize >= ROOM && free * 1024 >= 2 * ROOM;
        let facts = handle_fs::file_system_facts(fs::File::open(memory).ok()?).ok()??;
        let is_memory = facts.kind == TMPFS;
        (!is_chosen && may_run && has_room && is_memory).then(|| memory.to_path_buf())
    };
    // The temporary directory of macOS lies behind a link, and jackin prints paths without links.
    let stored = |place: PathBuf| place.canonicalize().unwrap_or(place);
    CHOSEN
        .get_or_init(|| stored(choose().unwrap_or_else(std::env::temp_dir)))
        .clone()
}

/// Makes an empty directory there, which is removed with the value.
#[allow(dead_code, reason = "tests of the program have a whole sandbox")]
pub(crate) fn scratch() -> tempfile::TempDir {
    tempfile::TempDir::with_prefix_in("jr-", workplace()).unwrap()
}
