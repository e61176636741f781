//! Identity that an agent reports.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::machine_id;
use super::protocol::{Bytes, Greeting, VERSION};
use crate::accounts::is_home;

pub(super) fn greeting() -> Greeting {
    let (uid, gid) = crate::own_ids();
    Greeting {
        version: VERSION,
        system: std::env::consts::OS.to_owned(),
        machine: machine(),
        uid,
        gid,
        groups: crate::own_groups(),
        home: home(uid).map(|home| Bytes::from(home.as_path())),
    }
}

/// Returns the home directory of the user that the agent runs as. An account that is not in the table of this machine (one of macOS, or
/// of a directory service) has that of its environment, if it is the user's own.
fn home(uid: u32) -> Option<PathBuf> {
    let name = std::env::var_os("USER");
    let told = || std::env::var_os("HOME").filter(|home| is_home(Path::new(home), uid));
    crate::home_of_named(uid, name.as_deref()).or_else(|| told().map(PathBuf::from))
}

/// Returns what tells this machine from others: its id, or its name where it has none.
#[must_use]
pub fn own_id() -> Vec<u8> {
    match std::fs::read("/etc/machine-id") {
        Ok(id) if !id.trim_ascii().is_empty() => id,
        _ => rustix::system::uname().nodename().to_bytes().to_vec(),
    }
}

fn machine() -> String {
    let id = std::fs::read("/etc/machine-id").unwrap_or_default();
    let view = std::fs::read_link("/proc/self/ns/mnt").unwrap_or_default();
    let node = rustix::system::uname();
    machine_id(&id, node.nodename().to_bytes(), view.as_os_str().as_bytes())
}
