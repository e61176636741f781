//! Lists held locks, and their holders as far as the system shows them. Takes no lock for longer than an instant, and creates and
//! removes nothing.

use std::fs;
use std::os::fd::AsRawFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::{LOCATION, Mode, STORE, attempt, root_name};
use crate::model::InstanceId;
use crate::store::held_lock::{HeldLock, Holder, LockName};
use crate::store::layout::WATCHER;
use crate::store::{DRAFTS, Layout, RECEIPTS, StoreError, durable};
use handle_fs::remote::upwards;
use handle_fs::{AsHandle as _, File, HandleRef};

/// Returns every held lock of the store, and the errors of those that could not be inspected. `roots` are mount roots that locks
/// may be named after: the names in the directory are digests.
pub(in crate::store) fn held(layout: &Layout, roots: &[PathBuf]) -> (Vec<HeldLock>, Vec<StoreError>) {
    let directory = layout.locks();
    let (mut found, mut failed) = (Vec::new(), Vec::new());
    let entries = match fs::read_dir(&directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return (found, failed),
        Err(error) => return (found, vec![StoreError::io("list", &directory)(error)]),
    };
    // A location is only locked with a root, which is in the list.
    let is_lock = |entry: &fs::DirEntry| {
        let name = entry.file_name();
        let mut others = [WATCHER, LOCATION].into_iter();
        !others.any(|other| name.as_bytes().starts_with(other.as_bytes()))
    };
    for entry in entries.flatten().filter(is_lock) {
        match state(&entry.path()) {
            Ok(None) => {}
            Ok(Some((shared, holders))) => found.push(HeldLock {
                name: name(&entry.file_name().to_string_lossy(), roots),
                shared,
                holders,
            }),
            Err(error) => failed.push(error),
        }
    }
    found.sort_by_key(|lock| format!("{:?}", lock.name));
    (found, failed)
}

/// Returns the holders of the lock at `path`; `None` if it is free, or the file is missing.
pub(in crate::store) fn is_held(path: &Path) -> Result<Option<Vec<Holder>>, StoreError> {
    Ok(state(path)?.map(|(_, holders)| holders))
}

/// `None`: it is free. Else whether it is shared, and who has it.
fn state(path: &Path) -> Result<Option<(bool, Vec<Holder>)>, StoreError> {
    let Some(file) = durable::open(path)? else {
        return Ok(None);
    };
    // Shared first, so that two who look do not take each other for the holder.
    let mut held = None;
    if !attempt(&file, path, Mode::Shared)? {
        held = Some(false);
    } else if !attempt(&file, path, Mode::Exclusive)? {
        held = Some(true);
    }
    // Before the holders are listed, or this process would be one of them.
    file.unlock().map_err(StoreError::io("unlock", path))?;
    Ok(held.map(|shared| (shared, holders(&file))))
}

fn name(file: &str, roots: &[PathBuf]) -> LockName {
    let instance = file
        .strip_prefix("instance-")
        .and_then(|id| InstanceId::parse(id).ok());
    let root = || {
        let above = roots.iter().flat_map(|root| upwards(root));
        above.map(Path::to_path_buf).find(|root| root_name(root) == file)
    };
    match (file, instance) {
        (STORE, _) => LockName::Store,
        (RECEIPTS, _) => LockName::Receipts,
        (DRAFTS, _) => LockName::Drafts,
        (_, Some(id)) => LockName::Instance(id),
        _ => root().map_or_else(|| LockName::Other(file.to_owned()), LockName::Root),
    }
}

/// The processes that hold a `flock` lock on `file` (proc(5), `/proc/locks`). The kernel names a lock's file by its inode alone
/// in a form that can be trusted, so each process is asked whether it really has this file open.
fn holders(file: &File) -> Vec<Holder> {
    let HandleRef::Here(handle) = file.as_handle() else {
        return Vec::new();
    };
    // Linux alone has the table, and with it a name for each handle.
    let Ok(wanted) = fs::metadata(format!("/proc/self/fd/{}", handle.as_raw_fd())) else {
        return Vec::new();
    };
    // The table is read piece by piece, and a line can be missed while other locks come and go.
    let mut tries = (0..5).map(|_| in_table(wanted.ino()));
    let pids = tries.find(|pids| !pids.is_empty()).unwrap_or_default();
    let has_open = |pid: &u32| {
        let open = fs::read_dir(format!("/proc/{pid}/fd"))
            .into_iter()
            .flatten()
            .flatten();
        open.filter_map(|entry| fs::metadata(entry.path()).ok())
            .any(|meta| (meta.dev(), meta.ino()) == (wanted.dev(), wanted.ino()))
    };
    let named = |pid| {
        let name = fs::read(format!("/proc/{pid}/comm")).unwrap_or_default();
        let name = String::from_utf8_lossy(&name).trim_end().to_owned();
        let terminal = [0, 2, 1].into_iter().find_map(|number| {
            let path = fs::read_link(format!("/proc/{pid}/fd/{number}")).ok()?;
            let is_terminal =
                path.starts_with("/dev/pts") || path.as_os_str().as_bytes().starts_with(b"/dev/tty");
            is_terminal.then(|| path.to_string_lossy().into_owned())
        });
        Holder { pid, name, terminal }
    };
    pids.into_iter().filter(has_open).map(named).collect()
}

/// The processes that the kernel's table names as holders of a lock on a file with this inode.
fn in_table(ino: u64) -> Vec<u32> {
    let table = fs::read_to_string("/proc/locks").unwrap_or_default();
    let holder = |line: &str| {
        let mut words = line.split_whitespace().skip(1);
        // A line of one that waits has an arrow here.
        words.next().filter(|kind| *kind == "FLOCK")?;
        let pid = words.nth(2)?.parse().ok()?;
        let inode: u64 = words.next()?.rsplit(':').next()?.parse().ok()?;
        (inode == ino).then_some(pid)
    };
    let mut pids: Vec<u32> = table.lines().filter_map(holder).collect();
    pids.sort_unstable();
    pids.dedup();
    pids
}
