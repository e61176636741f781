//! A process of our own that has the terminal to itself, and stopping with it.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::process::Command;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, getppid, kill_current_process_group, kill_process};

use super::{Exit, Interrupts};

/// Interval at which a request to stop is checked.
const LOOK: Duration = Duration::from_millis(100);

/// Starts this program anew with these arguments, called `name`, on the same terminal, and waits for it. A wish to stop is handed on.
///
/// # Errors
/// When our own file cannot be found or started, or its end cannot be seen.
pub fn in_front(name: &str, arguments: &[OsString], interrupts: &Interrupts) -> io::Result<Exit> {
    use std::os::unix::process::CommandExt as _;
    let mut child = Command::new(std::env::current_exe()?)
        .arg0(name)
        .args(arguments)
        .spawn()?;
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let (tell, told) = channel();
    thread::Builder::new()
        .name("child".into())
        .spawn(move || tell.send(child.wait()))?;
    let mut asked = false;
    loop {
        match told.recv_timeout(LOOK) {
            Ok(status) => {
                let status = status?;
                return Ok(match (status.code(), status.signal()) {
                    (Some(code), _) => Exit::Code(code),
                    (None, signal) => Exit::Signal(signal.unwrap_or_default()),
                });
            }
            Err(RecvTimeoutError::Disconnected) => return Err(io::ErrorKind::BrokenPipe.into()),
            Err(RecvTimeoutError::Timeout) => {}
        }
        // The number is the child's as long as nobody has collected it, which is told at once.
        if let Some(pid) = pid.filter(|_| interrupts.requested() && !asked) {
            let _ = kill_process(pid, Signal::TERM);
            asked = true;
        }
    }
}

/// The number of the process that started this one.
#[must_use]
pub fn parent() -> Option<i32> {
    getppid().map(|pid| pid.as_raw_nonzero().get())
}

/// Returns true if `wanted` is still the parent of this process. Only the parent restores the terminal.
#[must_use]
pub fn is_child_of(wanted: Option<i32>) -> bool {
    parent() == wanted
}

/// Stops this process and those that were started with it, as Ctrl-Z does; returns when they go on.
///
/// # Errors
/// When the system refuses the signal.
pub fn suspend() -> io::Result<()> {
    Ok(kill_current_process_group(Signal::TSTP)?)
}
