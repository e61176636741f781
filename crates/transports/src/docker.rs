//! Containers that the operator's own docker knows.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::time::Duration;

use processes::{CommandRequest, find, path_outside};

/// A daemon that hangs tells nothing, and the operator waits.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);
/// States of a container in which nothing runs; of any other one something may.
const OVER: &[&str] = &["exited", "dead"];

/// Returns every container that docker knows, with true if something may run in it. `path` is the value of `PATH`. A docker in one of the
/// `untrusted` directories is none.
///
/// # Errors
/// A reason in words if that is unknown: docker is not installed, has no daemon, or does not answer.
pub fn containers(path: Option<&OsStr>, untrusted: &[PathBuf]) -> Result<BTreeMap<String, bool>, String> {
    let path = path_outside(path, untrusted);
    let docker = find("docker".as_ref(), &path, untrusted).ok_or("docker is not installed")?;
    let words = ["ps", "--all", "--no-trunc", "--format", "{{.Names}}\t{{.State}}"];
    let asked = CommandRequest {
        name: "docker",
        program: &docker,
        path: &path,
        patience: PATIENCE,
        bare: false,
    };
    let listed = asked.ask(&words, None)?;
    let mut found = BTreeMap::new();
    for line in listed.lines().filter(|line| !line.is_empty()) {
        let (names, state) = line.split_once('\t').ok_or("unexpected answer from docker")?;
        // Links of other containers to it are names, too.
        for name in names.split(',') {
            found.insert(name.to_owned(), !OVER.contains(&state));
        }
    }
    Ok(found)
}
