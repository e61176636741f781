//! Hands SIGTERM and SIGHUP on to the command, never to a stranger that got its number, and collects the orphans that
//! end meanwhile.

use std::io;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGTERM};
use signal_hook::iterator::{Handle, Signals};

use super::orphans;
use super::signals::is_ignored;

/// A thread that hands signals on, until it is dropped.
#[derive(Debug)]
pub(super) struct Forwarder {
    /// The command, until its status is collected. Held while a signal is sent, while the command is started and while
    /// its status is collected, so that the number always means the command.
    target: Arc<Mutex<Option<Pid>>>,
    handle: Handle,
    thread: Option<JoinHandle<()>>,
}

impl Forwarder {
    /// Listens. A signal for which there is no command is a request to stop us.
    pub(super) fn listen(requested: Arc<AtomicBool>) -> io::Result<Self> {
        let handed_on = [SIGTERM, SIGHUP]
            .into_iter()
            .filter(|signal| !is_ignored(*signal));
        // SIGCHLD is always handled: where it is ignored the system keeps no status of a child.
        let mut signals = Signals::new(handed_on.chain([SIGCHLD]))?;
        let target = Arc::new(Mutex::new(None));
        let handle = signals.handle();
        let shared = Arc::clone(&target);
        let thread = thread::Builder::new().name("signals".into()).spawn(move || {
            for signal in &mut signals {
                let target = locked(&shared);
                match (signal, *target) {
                    (SIGCHLD, command) => orphans::collect(command),
                    (signal, Some(pid)) => {
                        let signal = if signal == SIGHUP {
                            Signal::HUP
                        } else {
                            Signal::TERM
                        };
                        // Fails only for a command that became another user's, which is out of our reach.
                        let _ = kill_process(pid, signal);
                    }
                    (_, None) => requested.store(true, Ordering::SeqCst),
                }
            }
        })?;
        Ok(Self {
            target,
            handle,
            thread: Some(thread),
        })
    }

    /// Starts the command; signals that arrive meanwhile go to it.
    pub(super) fn start(&self, command: &mut Command) -> io::Result<Child> {
        let mut target = locked(&self.target);
        let child = command.spawn()?;
        *target = Some(Pid::from_child(&child));
        Ok(child)
    }

    /// Collects the command's status with `collect`; no signal is handed on any more.
    pub(super) fn finish<T, E>(&self, collect: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        let mut target = locked(&self.target);
        *target = None;
        collect()
    }
}

impl Drop for Forwarder {
    fn drop(&mut self) {
        self.handle.close();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn locked(target: &Mutex<Option<Pid>>) -> MutexGuard<'_, Option<Pid>> {
    target.lock().unwrap_or_else(PoisonError::into_inner)
}
