//! Systems without a process table that we can read: every answer says so, none guesses. A number that is surely free
//! still proves that its process is dead.

use std::path::Path;

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

use super::process_table::{ProbeError, Seen};

pub(crate) fn boot() -> String {
    String::new()
}

pub(crate) fn look(pid: u32) -> Result<Option<Seen>, ProbeError> {
    if exists(pid) {
        Err(ProbeError::Unsupported)
    } else {
        Ok(None)
    }
}

pub(crate) fn row(pid: u32) -> Result<Option<Seen>, ProbeError> {
    look(pid)
}

pub(crate) fn list() -> Result<Vec<(u32, u64)>, ProbeError> {
    Err(ProbeError::Unsupported)
}

pub(crate) fn identity(pid: u32) -> Result<Option<u64>, ProbeError> {
    if exists(pid) {
        Err(ProbeError::Unsupported)
    } else {
        Ok(None)
    }
}

pub(crate) fn all() -> Result<Vec<Seen>, ProbeError> {
    Err(ProbeError::Unsupported)
}

pub(crate) fn values(_: u32, _: &str) -> Result<Vec<Vec<u8>>, ProbeError> {
    Err(ProbeError::Unsupported)
}

pub(crate) fn place(_: &Path) -> Result<Option<(u64, u64)>, ProbeError> {
    Err(ProbeError::Unsupported)
}

pub(crate) fn has_open(_: u32, _: (u64, u64)) -> bool {
    false
}

pub(crate) fn words(_: u32) -> Vec<String> {
    Vec::new()
}

pub(crate) fn directory(_: u32) -> Option<std::path::PathBuf> {
    None
}

pub(crate) fn works_below(_: u32, _: (u64, u64)) -> bool {
    false
}

pub(crate) fn exists(pid: u32) -> bool {
    i32::try_from(pid)
        .ok()
        .and_then(Pid::from_raw)
        .is_some_and(|pid| !matches!(test_kill_process(pid), Err(Errno::SRCH)))
}

pub(crate) fn ignored_signals() -> u64 {
    0
}

pub(crate) fn adopt_orphans() -> bool {
    false
}
