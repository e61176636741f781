//! Identity that an agent reports.

use std::os::unix::ffi::OsStrExt as _;

use super::machine_id;
use super::protocol::{Bytes, Greeting, VERSION};

pub(super) fn greeting() -> Greeting {
    let (uid, gid) = crate::own_ids();
    Greeting {
        version: VERSION,
        system: std::env::consts::OS.to_owned(),
        machine: machine(),
        uid,
        gid,
        groups: crate::own_groups(),
        home: crate::home_of(uid).map(|home| Bytes::from(home.as_path())),
    }
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
