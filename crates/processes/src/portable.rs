//! The process table of macOS, read through `sysinfo`; on Linux it serves a build with the feature `portable`, so that its tests
//! show there what macOS gets. Processes come and go while it is read: one that vanished is not an error.
//!
//! Not shown by macOS: zombies (their numbers are taken, so their life is unknown), the environment of programs that
//! Apple protects, and holders of open files. It lets no process adopt orphans.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use sysinfo::{Process, ProcessRefreshKind, ProcessStatus, ProcessesToUpdate, System, UpdateKind};

use super::ignored_signals::ignored;
use super::process_table::{ProbeError, Seen};
#[cfg(target_os = "macos")]
use super::system_program::ask;

/// The id of the running boot: both systems give it as a UUID.
#[cfg(target_os = "linux")]
pub(crate) use super::linux::boot;

/// The id of the running boot.
#[cfg(target_os = "macos")]
pub(crate) fn boot() -> String {
    static BOOT: OnceLock<String> = OnceLock::new();
    let ask = || ask("/usr/sbin/sysctl", &["-n", "kern.bootsessionuuid"]);
    BOOT.get_or_init(|| ask().unwrap_or_default()).clone()
}

/// Reads rows of the table, with more facts of each as `kind` says.
fn read(which: ProcessesToUpdate<'_>, kind: ProcessRefreshKind) -> Result<System, ProbeError> {
    let mut system = System::new().map_err(|_| ProbeError::Unsupported)?;
    system.refresh_processes_specifics(which, true, kind.without_tasks());
    Ok(system)
}

/// Reads one process. `None`: there is none with this number, or it cannot be seen.
fn one<T>(
    pid: u32,
    kind: ProcessRefreshKind,
    take: impl FnOnce(&Process) -> T,
) -> Result<Option<T>, ProbeError> {
    // Larger numbers are negative ones to the system.
    if i32::try_from(pid).is_err() {
        return Ok(None);
    }
    let pid = sysinfo::Pid::from_u32(pid);
    let system = read(ProcessesToUpdate::Some(&[pid]), kind)?;
    Ok(system.process(pid).map(take))
}

/// Returns a row of the table; `None` for a process of which the library found no more than a name: the system hides it.
fn seen(process: &Process) -> Option<Seen> {
    let is_hidden = process.start_time() == 0 && process.parent().is_none();
    (!is_hidden).then(|| Seen {
        pid: process.pid().as_u32(),
        parent: process.parent().map_or(0, sysinfo::Pid::as_u32),
        session: process.session_id().map_or(0, sysinfo::Pid::as_u32),
        start: process.start_time(),
        dead: matches!(process.status(), ProcessStatus::Zombie | ProcessStatus::Dead),
        kernel: false,
        name: process.name().to_string_lossy().into_owned(),
    })
}

/// One process. `None`: there is none with this number, or it cannot be seen.
pub(crate) fn row(pid: u32) -> Result<Option<Seen>, ProbeError> {
    Ok(one(pid, ProcessRefreshKind::nothing(), seen)?.flatten())
}

/// Returns the facts of a process that the system hides: of the first one, launchd, some are always the same.
pub(crate) fn hidden(pid: u32) -> Option<Seen> {
    (pid == 1).then(|| Seen {
        pid,
        parent: 0,
        session: 1,
        start: 0,
        dead: false,
        kernel: false,
        name: "launchd".to_owned(),
    })
}

pub(crate) fn look(pid: u32) -> Result<Option<Seen>, ProbeError> {
    row(pid)
}

/// Every process that can be seen. This one is always among them.
pub(crate) fn all() -> Result<Vec<Seen>, ProbeError> {
    let system = read(ProcessesToUpdate::All, ProcessRefreshKind::nothing())?;
    let found: Vec<Seen> = system.processes().values().filter_map(seen).collect();
    let own = std::process::id();
    match found.iter().any(|seen| seen.pid == own) {
        true => Ok(found),
        // The library gives no reason.
        false => Err(ProbeError::Unsupported),
    }
}

/// The number and the identity of each process, as [`identity`] gives it.
pub(crate) fn list() -> Result<Vec<(u32, u64)>, ProbeError> {
    Ok(all()?.into_iter().map(|seen| (seen.pid, seen.start)).collect())
}

/// The identity of a process: the second in which it started. `None`: there is none with this number.
pub(crate) fn identity(pid: u32) -> Result<Option<u64>, ProbeError> {
    Ok(row(pid)?.map(|seen| seen.start))
}

/// Every value that a variable has in the environment that a process was started with. None when the process is
/// gone, belongs to another user, or is a program of Apple's that System Integrity Protection covers.
pub(crate) fn values(pid: u32, variable: &str) -> Result<Vec<Vec<u8>>, ProbeError> {
    let kind = ProcessRefreshKind::nothing().with_environ(UpdateKind::Always);
    let value = |pair: &std::ffi::OsString| {
        let pair = pair.as_encoded_bytes();
        let value = pair.strip_prefix(variable.as_bytes())?.strip_prefix(b"=")?;
        Some(value.to_vec())
    };
    let values = one(pid, kind, |process| {
        process.environ().iter().filter_map(value).collect()
    });
    Ok(values?.unwrap_or_default())
}

/// Unknown: nothing shows which files a process has open.
pub(crate) fn place(_: &Path) -> Result<Option<(u64, u64)>, ProbeError> {
    Err(ProbeError::Unsupported)
}

pub(crate) fn has_open(_: u32, _: (u64, u64)) -> bool {
    false
}

/// Returns the command line of a process; empty if it is gone or hidden.
pub(crate) fn words(pid: u32) -> Vec<String> {
    let kind = ProcessRefreshKind::nothing().with_cmd(UpdateKind::Always);
    let words = one(pid, kind, |process| {
        let words = process.cmd().iter();
        words.map(|word| word.to_string_lossy().into_owned()).collect()
    });
    words.ok().flatten().unwrap_or_default()
}

/// Returns the working directory of a process; `None` if it is gone or hidden.
pub(crate) fn directory(pid: u32) -> Option<PathBuf> {
    let kind = ProcessRefreshKind::nothing().with_cwd(UpdateKind::Always);
    let directory = one(pid, kind, |process| process.cwd().map(Path::to_path_buf));
    directory.ok().flatten().flatten()
}

/// Returns the path that `path` is to a process, relative to its working directory; `None` if that is unknown.
pub(crate) fn path_for(pid: u32, path: &Path) -> Option<PathBuf> {
    Some(directory(pid)?.join(path))
}

/// The signals that were ignored when this was first asked, as a bit mask (bit 0 is signal 1). Zero when it is unknown.
pub(crate) fn ignored_signals() -> u64 {
    static IGNORED: OnceLock<u64> = OnceLock::new();
    *IGNORED.get_or_init(|| ignored().unwrap_or_default())
}

/// No process gets the orphans of another one.
pub(crate) fn adopt_orphans() -> bool {
    false
}
