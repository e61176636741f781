//! The last of the test programs: prints which tests were skipped and why, and fails if a test left a process behind.
//!
//! Cargo runs test programs in the order of their names, so this one sees what the others left.

#![allow(clippy::print_stdout, reason = "it is a summary")]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// How long a process may take to end after its test did.
const GRACE: Duration = Duration::from_secs(10);
/// Directories of the tests begin like this.
const OURS: &[u8] = b"/jr-";

fn main() -> ExitCode {
    // What cargo-nextest asks before it runs anything. It runs tests in no order, so there is nothing to tell there.
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.iter().any(|word| word == "--list" || word == "--exact") {
        return ExitCode::SUCCESS;
    }
    let skipped = skipped();
    match skipped.values().map(Vec::len).sum::<usize>() {
        0 => println!("No test was skipped."),
        count => println!("{count} tests, or parts of tests, were skipped:"),
    }
    for (why, tests) in &skipped {
        let more = tests.len() - 1;
        let others = if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        };
        println!("  {why} ({}{others})", tests.first().map_or("?", String::as_str));
    }
    let left = left_behind();
    for line in &left {
        println!("error: a test left a process behind: {line}");
    }
    match left.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

/// The records of this `cargo test`: each reason with the tests that gave it. Removes them, and those of runs that are over.
fn skipped() -> BTreeMap<String, Vec<String>> {
    let mut skipped: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let place = std::env::current_exe().ok();
    let Some(place) = place.as_deref().and_then(|exe| exe.parent()?.parent()) else {
        return skipped;
    };
    let runner = rustix::process::getppid().map_or(0, |pid| pid.as_raw_nonzero().get());
    let own = place.join(format!("skipped-{runner}"));
    for line in fs::read_to_string(&own).unwrap_or_default().lines() {
        if let Some((test, why)) = line.split_once('\t') {
            let tests = skipped.entry(why.to_owned()).or_default();
            if !tests.iter().any(|known| known == test) {
                tests.push(test.to_owned());
            }
        }
    }
    let all = fs::read_dir(place).into_iter().flatten().flatten();
    for entry in all {
        let name = entry.file_name();
        let pid = name.to_str().and_then(|name| name.strip_prefix("skipped-"));
        let is_over = |pid: &str| pid == runner.to_string() || !Path::new("/proc").join(pid).exists();
        if pid.is_some_and(is_over) {
            let _ = fs::remove_file(entry.path());
        }
    }
    skipped
}

/// Processes of tests that are over: those that work in a directory of a test which is gone.
fn left_behind() -> Vec<String> {
    let naps = 40;
    let seen = || -> Vec<String> {
        processes()
            .into_iter()
            .filter_map(|pid| of_a_test(&pid))
            .collect()
    };
    let mut left = seen();
    for _ in 0..naps {
        if left.is_empty() {
            break;
        }
        std::thread::sleep(GRACE / naps);
        // Only what was there all the time.
        let now = seen();
        left.retain(|known| now.contains(known));
    }
    left
}

fn processes() -> Vec<PathBuf> {
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    let is_one = |name: &[u8]| name.iter().all(u8::is_ascii_digit);
    all.filter(|entry| is_one(entry.file_name().as_bytes()))
        .map(|entry| entry.path())
        .collect()
}

/// Describes the process if it belongs to a test that is over.
fn of_a_test(process: &Path) -> Option<String> {
    let read = |name: &str| fs::read(process.join(name)).unwrap_or_default();
    let (words, variables) = (read("cmdline"), read("environ"));
    let directory = fs::read_link(process.join("cwd")).unwrap_or_default();
    let directory = directory.as_os_str().as_bytes();
    let is_left = |text: &[u8]| directories(text).iter().any(|directory| !directory.exists());
    if !is_left(&words) && !is_left(&variables) && !is_left(directory) {
        return None;
    }
    let words = String::from_utf8_lossy(&words).replace('\0', " ");
    // One that is just ending has no words any more.
    let state = String::from_utf8_lossy(&read("stat")).into_owned();
    let is_ended = state
        .rsplit_once(") ")
        .is_some_and(|(_, rest)| rest.starts_with('Z'));
    (!is_ended).then(|| format!("{} {}", process.display(), words.trim_end()))
}

/// Directories of tests that a text names, each up to its random name.
fn directories(text: &[u8]) -> Vec<PathBuf> {
    let parts = text.split(|byte| *byte == 0 || b":= ,;'\"()<>\n\t".contains(byte));
    let mut found = Vec::new();
    for part in parts.filter(|part| part.first() == Some(&b'/')) {
        let Some(at) = part.windows(OURS.len()).position(|window| window == OURS) else {
            continue;
        };
        let rest = part.get(at + 1..).unwrap_or_default();
        let is_of_a_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        let name = rest.split(|byte| !is_of_a_name(byte)).next().unwrap_or_default();
        let end = at + 1 + name.len();
        let whole = part.get(..end).unwrap_or_default();
        found.push(PathBuf::from(std::ffi::OsStr::from_bytes(whole)));
    }
    found
}
