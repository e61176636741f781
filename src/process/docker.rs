//! Asks the operator's own docker which containers there are, the one program that is started to learn whether an agent lives.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use crate::environment::Environment;
use processes::{CommandRequest, find, path_outside};

/// A daemon that hangs tells nothing, and the operator waits.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);
/// States of a container in which nothing runs; of any other one something may.
const OVER: &[&str] = &["exited", "dead"];

/// Every container that docker knows, with whether something may run in it. One that is not there is gone. A docker that lies in one of
/// `mounts` is none: an agent can write there.
///
/// # Errors
/// Why that cannot be told, in words: docker is not there, has no daemon, or does not answer.
pub fn containers(environment: &Environment, mounts: &[PathBuf]) -> Result<BTreeMap<String, bool>, String> {
    let path = path_outside(environment.get("PATH"), mounts);
    let docker = find("docker".as_ref(), &path, mounts).ok_or("there is no docker to ask")?;
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
        let (names, state) = line
            .split_once('\t')
            .ok_or("docker says something else than was asked")?;
        // Links of other containers to it are names, too.
        for name in names.split(',') {
            found.insert(name.to_owned(), !OVER.contains(&state));
        }
    }
    Ok(found)
}
