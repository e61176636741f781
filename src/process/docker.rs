//! Asks the operator's own docker which containers there are, the one program that is started to learn whether an agent lives, and what
//! one of them is.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use super::search::{find, path_outside};
use crate::environment::Environment;

/// A daemon that hangs tells nothing, and the operator waits.
const PATIENCE: Duration = Duration::from_secs(5);
const NAP: Duration = Duration::from_millis(10);
/// More is no list of containers.
const MOST: u64 = 4 << 20;
/// States of a container in which nothing runs; of any other one something may.
const OVER: &[&str] = &["exited", "dead"];

/// Every container that docker knows, with whether something may run in it. One that is not there is gone. A docker that lies in one of
/// `mounts` is none: an agent can write there.
///
/// # Errors
/// Why that cannot be told, in words: docker is not there, has no daemon, or does not answer.
pub fn containers(environment: &Environment, mounts: &[PathBuf]) -> Result<BTreeMap<String, bool>, String> {
    let path = path_outside(environment, mounts);
    let docker = find("docker".as_ref(), &path, mounts).ok_or("there is no docker to ask")?;
    let words = ["ps", "--all", "--no-trunc", "--format", "{{.Names}}\t{{.State}}"];
    let listed = ask(&docker, &path, &words)?;
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

/// What docker says when it is asked with `words`.
///
/// # Errors
/// Why it says nothing, in words.
pub(super) fn ask(docker: &Path, path: &OsStr, words: &[&str]) -> Result<String, String> {
    let mut child = Command::new(docker)
        .args(words)
        .env("PATH", path)
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("docker cannot be started: {error}"))?;
    let (listed, complaint) = (collect(child.stdout.take()), collect(child.stderr.take()));
    let mut left = PATIENCE;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if !left.is_zero() => {
                thread::sleep(NAP);
                left = left.saturating_sub(NAP);
            }
            Ok(None) => {
                let _ = child.kill();
                let _ = child.wait();
                return Err("docker does not answer".to_owned());
            }
            Err(error) => return Err(format!("docker cannot be waited for: {error}")),
        }
    };
    // What it left behind may keep the pipes open.
    let wrote = |from: &mpsc::Receiver<Vec<u8>>| from.recv_timeout(left).ok();
    if !status.success() {
        let complaint = wrote(&complaint).unwrap_or_default();
        let first = String::from_utf8_lossy(&complaint);
        let first = first.lines().next().unwrap_or("it does not say why");
        return Err(format!("docker failed: {first}"));
    }
    let listed = wrote(&listed).ok_or("docker does not answer")?;
    Ok(String::from_utf8_lossy(&listed).into_owned())
}

/// Reads all of it in the background.
fn collect(from: Option<impl Read + Send + 'static>) -> mpsc::Receiver<Vec<u8>> {
    let (send, receive) = mpsc::channel();
    if let Some(from) = from {
        thread::spawn(move || {
            let mut bytes = Vec::new();
            // A list that breaks off would hide containers: it is no answer then.
            let whole = from
                .take(MOST)
                .read_to_end(&mut bytes)
                .is_ok_and(|read| (read as u64) < MOST);
            if whole {
                let _ = send.send(bytes);
            }
        });
    }
    receive
}
