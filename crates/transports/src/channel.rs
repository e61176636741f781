//! The pipes of a carrier: the program at the other end, the carrier's complaints, and the time limits.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::process::{Child, ChildStdin, ChildStdout, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use handle_fs::remote::Patience;
use handle_fs::uptime;

/// Bytes that are kept of a carrier's error output.
const KEPT: usize = 4 << 10;
/// Time that a carrier may take to end after it closed its output.
const PATIENCE: Duration = Duration::from_secs(2);
/// Interval at which the time limits and the stop flag are checked.
const STEP: Duration = Duration::from_millis(500);
/// Time left for an answer once the operator asked to stop.
const STOPPED: Duration = Duration::from_secs(5);
const NAP: Duration = Duration::from_millis(10);
/// Time in which the last words of a carrier that has ended arrive.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// Bytes that another machine's start-up files may print before the first line.
const CHATTER: usize = 64 << 10;
/// Message of `kubectl` if no container is named; never the reason for an error.
const CHOICE: &str = "Defaulted container";

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The first line of another machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    /// This program listens.
    Agent,
    /// A shell listens.
    Shell,
    /// A copy of this program could run there. The value is what `uname -sm` prints.
    Wants(String),
    /// A copy of this program is kept there. Its SHA-256 in hex, and what `uname -sm` prints.
    Has { digest: String, machine: String },
}

/// Reads the line that begins with `token`. Output of start-up files before it is skipped.
///
/// # Errors
/// The machine closed the connection: with its output, if there was any. Or it sent [`CHATTER`] bytes without such a line.
pub(crate) fn hear(from: &mut impl Read, token: &str) -> io::Result<Heard> {
    let mut said = Vec::new();
    while said.len() < CHATTER {
        let mut byte = [0];
        if from.read(&mut byte)? == 0 {
            let whole = String::from_utf8_lossy(said.trim_ascii());
            return Err(match whole.is_empty() {
                true => io::ErrorKind::UnexpectedEof.into(),
                false => io::Error::new(io::ErrorKind::UnexpectedEof, whole),
            });
        }
        said.extend(byte);
        if said.last() != Some(&b'\n') {
            continue;
        }
        let line = String::from_utf8_lossy(said.trim_ascii_end());
        // The output of a start-up file may end without a newline.
        match line.rsplit_once(token).map(|(_, rest)| rest.trim_start()) {
            Some("agent") => return Ok(Heard::Agent),
            Some("shell") => return Ok(Heard::Shell),
            Some(rest) => {
                if let Some(machine) = rest.strip_prefix("wants ") {
                    return Ok(Heard::Wants(machine.to_owned()));
                }
                let kept = rest.strip_prefix("has ").and_then(|kept| kept.split_once(' '));
                if let Some((digest, machine)) = kept {
                    return Ok(Heard::Has {
                        digest: digest.to_owned(),
                        machine: machine.to_owned(),
                    });
                }
            }
            None => {}
        }
    }
    Err(io::Error::other(
        "the answer there is not from a shell; does its start-up file print something?",
    ))
}

/// Pipe with time limits, which are short once the operator wants to stop.
pub(crate) struct Patient<T> {
    pub(crate) pipe: T,
    pub(crate) stop: Arc<AtomicBool>,
    pub(crate) patience: Arc<Patience>,
}

impl<T: AsFd> Patient<T> {
    fn wait(&self, wanted: PollFlags) -> io::Result<()> {
        let step = Timespec {
            tv_sec: 0,
            tv_nsec: i64::from(STEP.subsec_nanos()),
        };
        let began = uptime();
        loop {
            let late = |why: String| io::Error::new(io::ErrorKind::TimedOut, why);
            // What flows in time does not count when it never says who it is.
            self.patience
                .check(uptime().saturating_sub(began))
                .map_err(late)?;
            let mut ready = [PollFd::new(&self.pipe, wanted)];
            match poll(&mut ready, Some(&step)) {
                Ok(0) if self.stop.load(Ordering::Relaxed) && uptime().saturating_sub(began) >= STOPPED => {
                    return Err(late("timed out without an answer".to_owned()));
                }
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl Read for Patient<ChildStdout> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        self.wait(PollFlags::IN)?;
        self.pipe.read(room)
    }
}

impl Write for Patient<ChildStdin> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // The pipe does not block: it takes what it has room for.
        loop {
            self.wait(PollFlags::OUT)?;
            match self.pipe.write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                written => return written,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.pipe.flush()
    }
}

/// Error output of a carrier.
#[derive(Clone, Default)]
pub(crate) struct Complaint {
    /// Its last part.
    kept: Arc<Mutex<Vec<u8>>>,
    /// True if nothing more comes.
    is_whole: Arc<AtomicBool>,
}

impl Complaint {
    /// Adds what came on the other pipe. It is the reason only if there is no other one.
    pub(crate) fn begins_with(&self, said: &str) {
        let mut kept = lock(&self.kept);
        kept.splice(..0, [said.as_bytes(), b"\n"].concat());
    }

    /// Returns everything that is kept.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&lock(&self.kept)).into_owned()
    }
}

pub(crate) fn listen(from: Option<impl Read + Send + 'static>) -> Complaint {
    let complaint = Complaint::default();
    let Complaint { kept, is_whole } = complaint.clone();
    if let Some(mut from) = from {
        // The thread is not joined: a process that the carrier leaves behind may keep the pipe open.
        thread::spawn(move || {
            let mut room = [0; 512];
            while let Ok(count @ 1..) = from.read(&mut room) {
                let mut kept = lock(&kept);
                kept.extend_from_slice(room.get(..count).unwrap_or_default());
                // The reason stands at the end, behind any warnings.
                let surplus = kept.len().saturating_sub(KEPT);
                kept.drain(..surplus);
            }
            is_whole.store(true, Ordering::Release);
        });
    } else {
        is_whole.store(true, Ordering::Release);
    }
    complaint
}

/// Waits a short time for a carrier to end by itself.
pub(crate) fn wait(child: &Mutex<Child>) {
    until_ended(&mut lock(child), PATIENCE);
}

/// Kills a carrier process.
pub(crate) fn cut(child: &Mutex<Child>) {
    let mut child = lock(child);
    // After it has ended, its number may belong to another process.
    if let Ok(None) = child.try_wait() {
        let _ = child.kill();
    }
    until_ended(&mut child, PATIENCE);
}

/// Waits until a child ends, at most for `patience`. `None` if it has not ended, or that cannot be determined.
pub(crate) fn until_ended(child: &mut Child, patience: Duration) -> Option<ExitStatus> {
    let mut left = patience;
    loop {
        match child.try_wait().ok()? {
            Some(status) => {
                processes::forget(child.id());
                return Some(status);
            }
            None if left.is_zero() => return None,
            None => {
                thread::sleep(NAP);
                left = left.saturating_sub(NAP);
            }
        }
    }
}

/// Returns the reason why a carrier ended, in its own words; `None` while it runs.
pub(crate) fn ended(child: &Mutex<Child>, complaint: &Complaint) -> Option<String> {
    let status = until_ended(&mut lock(child), PATIENCE)?;
    // Its last words may still be on their way; what it leaves behind may keep the pipe open.
    let mut left = LAST_WORDS;
    while !complaint.is_whole.load(Ordering::Acquire) && !left.is_zero() {
        thread::sleep(NAP);
        left = left.saturating_sub(NAP);
    }
    let said = complaint.text();
    let last = said
        .lines()
        .rev()
        .find(|line| !line.trim().is_empty() && !line.starts_with(CHOICE));
    Some(match last {
        Some(last) => last.trim().to_owned(),
        None => format!("the connection ended ({status})"),
    })
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};
    use std::sync::Mutex;

    use super::{ended, listen, until_ended};

    #[test]
    fn what_was_waited_for_is_ours_no_longer() {
        // Its number may be that of an agent's process by now.
        let start = || processes::start_child(&mut Command::new("true")).unwrap();
        let mut child = start();
        assert!(processes::is_registered(child.id()));
        assert!(until_ended(&mut child, super::PATIENCE).unwrap().success());
        assert!(!processes::is_registered(child.id()));
        let child = start();
        let pid = child.id();
        assert!(ended(&Mutex::new(child), &super::Complaint::default()).is_some());
        assert!(!processes::is_registered(pid));
    }

    #[test]
    fn the_reason_is_the_last_line_behind_any_number_of_warnings() {
        let script = "\
            i=0; while [ $i -lt 400 ]; do echo \"warning $i of many\"; i=$((i + 1)); done >&2; echo 'it is closed' \
            >&2";
        let mut command = Command::new("sh");
        command.args(["-c", script]).stderr(Stdio::piped());
        let mut child = processes::start_child(&mut command).unwrap();
        let complaint = listen(child.stderr.take());
        let child = Mutex::new(child);
        assert_eq!(ended(&child, &complaint).as_deref(), Some("it is closed"));
        assert!(super::lock(&complaint.kept).len() <= super::KEPT);
    }
}
