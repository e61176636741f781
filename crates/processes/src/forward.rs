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

/// Target of signals.
#[derive(Debug)]
enum Target {
    /// The command is not started yet. It gets the signals that arrived since listening began.
    Expected(Vec<Signal>),
    /// The command.
    Running(Pid),
    /// Its status is collected: a signal only asks us to stop.
    Over,
}

/// A thread that hands signals on, until it is dropped.
#[derive(Debug)]
pub(crate) struct Forwarder {
    /// Held while a signal is sent, while the command is started and while its status is collected, so that the number
    /// always means the command.
    target: Arc<Mutex<Target>>,
    handle: Handle,
    thread: Option<JoinHandle<()>>,
}

impl Forwarder {
    /// Listens. A signal that arrives when the command has ended sets `after`.
    pub(crate) fn listen(after: Arc<AtomicBool>) -> io::Result<Self> {
        let handed_on = [SIGTERM, SIGHUP]
            .into_iter()
            .filter(|signal| !is_ignored(*signal));
        // SIGCHLD is always handled: where it is ignored the system keeps no status of a child.
        let mut signals = Signals::new(handed_on.chain([SIGCHLD]))?;
        let target = Arc::new(Mutex::new(Target::Expected(Vec::new())));
        let handle = signals.handle();
        let shared = Arc::clone(&target);
        let thread = thread::Builder::new().name("signals".into()).spawn(move || {
            for number in &mut signals {
                let mut target = locked(&shared);
                let signal = if number == SIGHUP {
                    Signal::HUP
                } else {
                    Signal::TERM
                };
                match &mut *target {
                    Target::Running(command) if number == SIGCHLD => orphans::collect(Some(*command)),
                    _ if number == SIGCHLD => orphans::collect(None),
                    Target::Expected(early) => early.push(signal),
                    Target::Running(command) => send(*command, signal),
                    Target::Over => after.store(true, Ordering::SeqCst),
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
    pub(crate) fn start(&self, command: &mut Command) -> io::Result<Child> {
        let mut target = locked(&self.target);
        let child = command.spawn()?;
        let pid = Pid::from_child(&child);
        if let Target::Expected(early) = std::mem::replace(&mut *target, Target::Running(pid)) {
            early.into_iter().for_each(|signal| send(pid, signal));
        }
        Ok(child)
    }

    /// Collects the command's status with `collect`; no signal is handed on any more.
    pub(crate) fn finish<T, E>(&self, collect: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        let mut target = locked(&self.target);
        *target = Target::Over;
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

/// Fails only for a command that became another user's, which is out of our reach.
fn send(command: Pid, signal: Signal) {
    let _ = kill_process(command, signal);
}

fn locked(target: &Mutex<Target>) -> MutexGuard<'_, Target> {
    target.lock().unwrap_or_else(PoisonError::into_inner)
}
