//! Calls to an agent over its channel. Several threads may call: one call is under way while another waits for its answer.
//! Answers come in the order of the calls.

use std::fmt;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::message::{receive, send};
use super::protocol::{Answer, Call, Request};

/// The channel to an agent.
pub(super) struct Wire {
    to: Mutex<Asking>,
    from: Mutex<Answering>,
    /// Signals that the next answer belongs to another call.
    turned: Condvar,
    /// True once no more calls are sent.
    broken: AtomicBool,
}

struct Asking {
    to: Box<dyn io::Write + Send>,
    /// Number of the next call.
    next: u64,
}

struct Answering {
    from: Box<dyn io::Read + Send>,
    /// Number of the call whose answer comes next.
    turn: u64,
}

impl fmt::Debug for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wire")
            .field("broken", &self.broken)
            .finish_non_exhaustive()
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Wire {
    pub(super) fn new(from: Box<dyn io::Read + Send>, to: Box<dyn io::Write + Send>) -> Self {
        Self {
            to: Mutex::new(Asking { to, next: 0 }),
            from: Mutex::new(Answering { from, turn: 0 }),
            turned: Condvar::new(),
            broken: AtomicBool::new(false),
        }
    }

    pub(super) fn is_broken(&self) -> bool {
        self.broken.load(Ordering::Acquire)
    }

    /// Makes a call and waits for its answer. After an error the two sides may be at different calls, so there is no next one.
    pub(super) fn ask(&self, closed: Vec<u64>, call: Call) -> io::Result<Answer> {
        let answer = self
            .say(&Request { closed, call })
            .and_then(|number| self.hear(number));
        if answer.is_err() {
            self.broken.store(true, Ordering::Release);
            // Whoever looked before may not wait yet.
            drop(locked(&self.from));
            self.turned.notify_all();
        }
        answer
    }

    /// Has the agent end. Nothing is heard of it any more: one that hangs would be waited for.
    pub(super) fn leave(&self) -> io::Result<()> {
        let (closed, call) = (Vec::new(), Call::Leave);
        let said = self.say(&Request { closed, call }).map(drop);
        self.broken.store(true, Ordering::Release);
        said
    }

    /// Gives the number of the call.
    fn say(&self, request: &Request) -> io::Result<u64> {
        let mut asking = locked(&self.to);
        if self.is_broken() {
            return Err(io::ErrorKind::NotConnected.into());
        }
        send(&mut asking.to, request)?;
        asking.next += 1;
        Ok(asking.next - 1)
    }

    fn hear(&self, number: u64) -> io::Result<Answer> {
        let mut answering = locked(&self.from);
        while answering.turn != number {
            if self.is_broken() {
                return Err(io::ErrorKind::NotConnected.into());
            }
            answering = self
                .turned
                .wait(answering)
                .unwrap_or_else(PoisonError::into_inner);
        }
        if self.is_broken() {
            return Err(io::ErrorKind::NotConnected.into());
        }
        let answer = loop {
            match receive(&mut answering.from)?.ok_or_else(end)? {
                Answer::AtWork => {}
                answer => break answer,
            }
        };
        answering.turn += 1;
        self.turned.notify_all();
        Ok(answer)
    }
}

fn end() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the connection ended")
}
