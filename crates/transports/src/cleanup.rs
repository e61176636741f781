//! Cleanup process that outlives this program by a moment. It ends what a closed pipe may not end (`kubectl exec` can go on for ever),
//! and removes what was started elsewhere, whether this program exits or is killed.

use std::ffi::{OsStr, OsString};
use std::io::{self, BufRead as _, BufReader, Read, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::channel::until_ended;
use super::product::Product;
use processes::{CommandRequest, ProcessRef, is_alive, reference};

/// Time limit for the process to remove what has to be removed.
const PATIENCE: Duration = Duration::from_secs(20);
/// Pauses between attempts to remove an object that was not there: its creation may not be done.
const AGAIN: [Duration; 3] = [
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(4),
];

/// This program's end of it.
pub(crate) struct Lifeline {
    child: Child,
    /// Pipe to the process, which ends when the pipe is closed.
    to: Option<ChildStdin>,
}

impl Lifeline {
    /// Starts the process. At its end it runs `then`: a program and its arguments, which prints something if it removed
    /// something.
    ///
    /// # Errors
    /// When our own file cannot be started.
    pub(crate) fn new(product: &Product, then: Vec<OsString>, path: &OsStr) -> io::Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command
            .arg0(product.package)
            .arg(product.cleanup_argument)
            .arg("--")
            .args(then)
            .env("PATH", path)
            .env_remove(product.cleanup_without)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0);
        let mut child = processes::start_child(&mut command)?;
        let to = child.stdin.take();
        Ok(Self { child, to })
    }

    /// Makes the process also kill this child of this program when it ends.
    pub(crate) fn watch(&mut self, pid: u32) -> io::Result<()> {
        self.say(&format!("watch {pid}\n"))
    }

    /// Cancels the removal, because there is nothing to remove.
    pub(crate) fn nothing(&mut self) {
        // Otherwise the process would look for it in vain.
        let _ = self.say("nothing\n");
    }

    fn say(&mut self, line: &str) -> io::Result<()> {
        let to = self.to.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        to.write_all(line.as_bytes())
    }

    /// Ends the process, and waits until it is done.
    pub(crate) fn end(&mut self) {
        if self.to.take().is_none() {
            return;
        }
        until_ended(&mut self.child, PATIENCE);
    }
}

impl Drop for Lifeline {
    fn drop(&mut self) {
        self.end();
    }
}

/// Runs the process until `from` ends. Then it kills the watched processes, and runs `then`.
pub fn hold(from: impl Read, then: &[OsString]) {
    let mut watched: Vec<ProcessRef> = Vec::new();
    let mut is_needed = true;
    for line in BufReader::new(from).lines().map_while(Result::ok) {
        match line.split_once(' ') {
            Some(("watch", pid)) => watched.extend(pid.parse().ok().and_then(reference)),
            _ => is_needed = false,
        }
    }
    for process in watched.iter().filter(|process| is_alive(process)) {
        if let Some(pid) = i32::try_from(process.pid).ok().and_then(Pid::from_raw) {
            // It may just have ended.
            let _ = kill_process(pid, Signal::KILL);
        }
    }
    if is_needed && let Some((program, words)) = then.split_first() {
        remove(Path::new(program), words);
    }
}

fn remove(program: &Path, words: &[OsString]) {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let asked = CommandRequest {
        name: "it",
        program,
        path: &path,
        patience: PATIENCE,
        bare: false,
    };
    let words: Vec<&str> = words.iter().filter_map(|word| word.to_str()).collect();
    for pause in AGAIN {
        if asked.ask(&words, None).is_ok_and(|told| !told.trim().is_empty()) {
            return;
        }
        thread::sleep(pause);
    }
}
