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

/// Returns the name of this machine in its network.
#[must_use]
pub fn node_name() -> Vec<u8> {
    rustix::system::uname().nodename().to_bytes().to_vec()
}

fn machine() -> String {
    let id = std::fs::read("/etc/machine-id").unwrap_or_default();
    let view = std::fs::read_link("/proc/self/ns/mnt").unwrap_or_default();
    machine_id(&id, &node_name(), view.as_os_str().as_bytes())
}
