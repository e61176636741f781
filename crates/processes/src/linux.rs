//! The process table of Linux, read from `/proc` (proc(5)). Processes come and go while it is read: one that vanished
//! is not an error, anything else that cannot be read is.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::{DirEntryExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rustix::io::Errno;
use rustix::process::{getpid, set_child_subreaper};

use super::process_table::{ProbeError, Seen};

/// The kernel gives arguments and environment together at most 6 MiB (`bprm_stack_limits` in fs/exec.c), so more is
/// never an environment that a process was started with.
const ENVIRONMENT_LIMIT: u64 = 8 << 20;

/// Maximum length of `/proc/PID/stat`, in bytes: a name of 64 and fifty numbers.
const LONGEST_LINE: u64 = 1 << 16;

/// `PF_KTHREAD` in include/linux/sched.h.
const KERNEL_THREAD: u64 = 0x0020_0000;

pub(crate) fn boot() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id")
        .map(|text| text.trim().to_owned())
        .unwrap_or_default()
}

/// Nothing is known of a process that is hidden from us (proc(5), `hidepid`).
pub(crate) fn hidden(_: u32) -> Option<Seen> {
    None
}

/// One process, zombies included. `None`: there is none with this number, or we may not see it.
pub(crate) fn look(pid: u32) -> Result<Option<Seen>, ProbeError> {
    own_namespace()?;
    row(pid)
}

/// Every process that we may see.
pub(crate) fn all() -> Result<Vec<Seen>, ProbeError> {
    let mut found = Vec::new();
    for (pid, _) in list()? {
        found.extend(row(pid)?);
    }
    Ok(found)
}

/// The number and the identity of each process, as [`identity`] gives it.
pub(crate) fn list() -> Result<Vec<(u32, u64)>, ProbeError> {
    own_namespace()?;
    let path = Path::new("/proc");
    let failed = |source| ProbeError::Read {
        path: path.to_owned(),
        source,
    };
    let mut found = Vec::new();
    for entry in fs::read_dir(path).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let pid = entry.file_name().to_str().and_then(|name| name.parse().ok());
        found.extend(pid.map(|pid| (pid, entry.ino())));
    }
    Ok(found)
}

/// The identity of a process: the kernel gives its directory an inode number that no other process gets, and a new one only when
/// it had to forget the directory (`proc_pid_make_inode` in fs/proc/base.c). `None`: there is none with this number.
pub(crate) fn identity(pid: u32) -> Result<Option<u64>, ProbeError> {
    own_namespace()?;
    let path = PathBuf::from(format!("/proc/{pid}"));
    match fs::symlink_metadata(&path) {
        Ok(facts) => Ok(Some(facts.ino())),
        Err(source) if is_out_of_sight(&source) => Ok(None),
        Err(source) => Err(ProbeError::Read { path, source }),
    }
}

/// Every value that a variable has in the environment that a process was started with. None when the process is
/// gone or belongs to a user whose environment is unreadable.
pub(crate) fn values(pid: u32, variable: &str) -> Result<Vec<Vec<u8>>, ProbeError> {
    let path = PathBuf::from(format!("/proc/{pid}/environ"));
    let bytes = match read(&path, ENVIRONMENT_LIMIT) {
        Ok(bytes) => bytes,
        Err(source) if is_out_of_sight(&source) => return Ok(Vec::new()),
        Err(source) => return Err(ProbeError::Read { path, source }),
    };
    Ok(bytes
        .split(|byte| *byte == 0)
        .filter_map(|pair| pair.strip_prefix(variable.as_bytes())?.strip_prefix(b"="))
        .map(<[u8]>::to_vec)
        .collect())
}

/// Returns the file system and inode of a path, without following links; `None` if it does not exist.
pub(crate) fn place(path: &Path) -> Result<Option<(u64, u64)>, ProbeError> {
    match fs::symlink_metadata(path) {
        Ok(facts) => Ok(Some((facts.dev(), facts.ino()))),
        Err(error) if [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory].contains(&error.kind()) => {
            Ok(None)
        }
        Err(source) => Err(ProbeError::Read {
            path: path.to_owned(),
            source,
        }),
    }
}

/// Returns true if a process has a file open, whatever its path is to that process.
pub(crate) fn has_open(pid: u32, file: (u64, u64)) -> bool {
    let Ok(handles) = fs::read_dir(format!("/proc/{pid}/fd")) else {
        return false;
    };
    let is_it = |path: PathBuf| fs::metadata(path).is_ok_and(|facts| (facts.dev(), facts.ino()) == file);
    handles.flatten().any(|handle| is_it(handle.path()))
}

/// Returns the command line of a process; empty if it is gone or hidden from us.
pub(crate) fn words(pid: u32) -> Vec<String> {
    let bytes = read(&PathBuf::from(format!("/proc/{pid}/cmdline")), ENVIRONMENT_LIMIT).unwrap_or_default();
    let bytes = bytes.strip_suffix(&[0]).unwrap_or(&bytes);
    let words = bytes.split(|byte| *byte == 0).map(String::from_utf8_lossy);
    words.map(|word| word.into_owned()).collect()
}

/// Returns the working directory of a process; `None` if it is gone or hidden from us.
pub(crate) fn directory(pid: u32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/cwd")).ok()
}

/// Returns a path by which we reach what `path` is to a process, relative to its working directory; `None` if it cannot be reached.
#[expect(clippy::unnecessary_wraps, reason = "other systems show less")]
pub(crate) fn path_for(pid: u32, path: &Path) -> Option<PathBuf> {
    Some(match path.strip_prefix("/") {
        Ok(rest) => Path::new(&format!("/proc/{pid}/root")).join(rest),
        Err(_) => Path::new(&format!("/proc/{pid}/cwd")).join(path),
    })
}

/// The signals that were ignored when this was first asked, as a bit mask (bit 0 is signal 1). Zero when it is unknown.
pub(crate) fn ignored_signals() -> u64 {
    static IGNORED: OnceLock<u64> = OnceLock::new();
    let read = || {
        let status = fs::read_to_string("/proc/self/status").ok()?;
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
        u64::from_str_radix(mask.trim(), 16).ok()
    };
    // A signal that was ignored at the start is left alone, and no other is ever ignored: the answer does not change.
    *IGNORED.get_or_init(|| read().unwrap_or_default())
}

/// Makes orphans below us our own children instead of init's, so that they are found whatever they did to their
/// environment (`PR_SET_CHILD_SUBREAPER`, prctl(2)). Whether it worked.
pub(crate) fn adopt_orphans() -> bool {
    set_child_subreaper(Some(getpid())).is_ok()
}

/// `/proc` of another PID namespace has the same numbers for other processes.
fn own_namespace() -> Result<(), ProbeError> {
    let path = PathBuf::from("/proc/self");
    let own = fs::read_link(&path).map_err(|source| ProbeError::Read {
        path: path.clone(),
        source,
    })?;
    let own = own.to_str().and_then(|number| number.parse().ok());
    if own == Some(std::process::id()) {
        Ok(())
    } else {
        Err(ProbeError::Namespace { path: "/proc".into() })
    }
}

/// One process like [`look`], for a caller that has a number of this table: [`list`] and [`identity`] look whose it is.
pub(crate) fn row(pid: u32) -> Result<Option<Seen>, ProbeError> {
    let path = PathBuf::from(format!("/proc/{pid}/stat"));
    match read(&path, LONGEST_LINE) {
        Ok(line) => parse(&line).map(Some).ok_or_else(|| ProbeError::Read {
            path,
            source: io::Error::new(io::ErrorKind::InvalidData, "not the form that proc(5) states"),
        }),
        Err(source) if is_out_of_sight(&source) => Ok(None),
        Err(source) => Err(ProbeError::Read { path, source }),
    }
}

/// Reads a file of `/proc`, which has no size: in blocks of a page, where the library would begin with 32 bytes.
fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(4096);
    File::open(path)?.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Gone (ENOENT when opened, ESRCH when read), or hidden from us.
fn is_out_of_sight(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied
    ) || error.raw_os_error() == Some(Errno::SRCH.raw_os_error())
}

/// `PID (NAME) STATE PPID PGRP SESSION …`. A process chooses its name freely, so it may hold spaces, parentheses and
/// newlines; behind it stand only a letter and numbers, so the last parenthesis ends it.
pub(crate) fn parse(line: &[u8]) -> Option<Seen> {
    let open = line.iter().position(|byte| *byte == b'(')?;
    let close = line.iter().rposition(|byte| *byte == b')')?;
    let pid = number(line.get(..open)?)?;
    let name = String::from_utf8_lossy(line.get(open + 1..close)?).into_owned();
    let rest: Vec<&[u8]> = line
        .get(close + 1..)?
        .split(u8::is_ascii_whitespace)
        .filter(|f| !f.is_empty())
        .collect();
    let field = |position: usize| rest.get(position - 3).copied();
    let state = field(3)?;
    let threads: u64 = number(field(20)?)?;
    Some(Seen {
        pid,
        parent: number(field(4)?)?,
        // -1 while it is being torn down.
        session: number(field(6)?).unwrap_or(0),
        start: number(field(22)?)?,
        // A main thread that ended before the others shows as a zombie, though the process runs.
        dead: matches!(state, b"X" | b"x") || (state == b"Z" && threads <= 1),
        kernel: number::<u64>(field(9)?)? & KERNEL_THREAD != 0,
        name,
    })
}

fn number<N: std::str::FromStr>(text: &[u8]) -> Option<N> {
    std::str::from_utf8(text).ok()?.trim().parse().ok()
}
