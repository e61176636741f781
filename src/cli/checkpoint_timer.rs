//! `--checkpoint-every`: checkpoints beside a session that runs. They say nothing while it does: the terminal is its own. `launch` takes
//! them in a thread; `begin` leaves a process behind, which is gone soon after the session is.

use std::ffi::OsString;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use super::args::CalledAs;
use super::replication::leave as leave_copying;
use crate::cli::context::Context;
use crate::diagnostic::Diagnostic as _;
use crate::environment::Environment;
use crate::model::InstanceId;
use crate::observer::{Observer, Phase};
use crate::process;
use crate::recovery::Recovery;
use crate::session::{CheckpointRequest, Services};
use crate::store::Store;

/// Checkpoints taken so far, and the reasons for failed ones.
#[derive(Debug, Default)]
pub(super) struct Taken {
    pub(super) count: u64,
    /// Reasons for failed checkpoints, each once.
    pub(super) failures: Vec<String>,
}

/// Runs `work` and takes a checkpoint each time that `interval` passed and something changed, once the baseline is stored.
pub(super) fn beside<T>(
    store: &Store,
    environment: &Environment,
    instance: &InstanceId,
    (interval, is_ready): (Duration, &AtomicBool),
    work: impl FnOnce() -> T,
) -> (T, Taken) {
    let (over, wait) = channel::<()>();
    let quiet = Quiet::default();
    let quiet = &quiet;
    thread::scope(|scope| {
        let beside = scope.spawn(move || {
            let mut taken = Taken::default();
            while wait.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
                if is_ready.load(Ordering::Relaxed) {
                    taken.once(store, environment, instance, quiet);
                }
            }
            taken
        });
        let done = work();
        // One that is under way is given up: the closing snapshot follows.
        quiet.over.store(true, Ordering::Relaxed);
        drop(over);
        let taken = beside.join().unwrap_or_else(|_| Taken {
            count: 0,
            failures: vec!["the thread that takes them stopped".to_owned()],
        });
        (done, taken)
    })
}

/// Starts the background process.
///
/// # Errors
/// Fails if the process cannot be started.
pub(super) fn leave(context: &Context<'_>, instance: &InstanceId, interval: Duration) -> io::Result<()> {
    let words = [
        "__checkpoints",
        instance.as_str(),
        &interval.as_secs().to_string(),
    ];
    let mut words: Vec<OsString> = words.into_iter().map(OsString::from).collect();
    words.extend(context.agent_words());
    process::leave_behind(context.environment, CalledAs::JackinRecovery.prefix(), &words)
}

impl Taken {
    pub(super) fn once(
        &mut self,
        store: &Store,
        environment: &Environment,
        instance: &InstanceId,
        quiet: &Quiet,
    ) {
        let engine = Recovery::open(environment).with_services(Services::system(quiet));
        let taken = match store.catalog().instance(instance) {
            Ok(Some(row)) => {
                let mark = CheckpointRequest {
                    message: Some("automatic"),
                    ..CheckpointRequest::default()
                };
                engine
                    .baseline_or_checkpoint(store, &row, mark)
                    .map_err(|error| error.to_string())
            }
            Ok(None) => Err(format!("{instance} is not there")),
            Err(error) => Err(error.to_string()),
        };
        // The next one is some time away. Beside it a baseline may be read that was frozen.
        store
            .transports()
            .disconnect_where(|address| !address.is_frozen());
        let pruned = match taken {
            Ok(Some(_)) => {
                self.count += 1;
                leave_copying(environment);
                engine
                    .apply_retention(store, instance)
                    .map(drop)
                    .map_err(|error| error.message())
            }
            Ok(None) => Ok(()),
            Err(error) => Err(error),
        };
        // Interrupted because the command ended is no failure.
        if let Err(error) = pruned
            && !quiet.cancelled()
            && !self.failures.contains(&error)
        {
            self.failures.push(error);
        }
    }
}

/// Says nothing, and stops when the command is over.
#[derive(Debug, Default)]
pub(super) struct Quiet {
    over: Arc<AtomicBool>,
}

impl Quiet {
    /// One with what stops it.
    pub(super) fn stopped_by() -> (Self, Arc<AtomicBool>) {
        let over = Arc::<AtomicBool>::default();
        let quiet = Self {
            over: Arc::clone(&over),
        };
        (quiet, over)
    }

    /// One that `over` stops.
    pub(super) fn of(over: Arc<AtomicBool>) -> Self {
        Self { over }
    }
}

impl Observer for Quiet {
    fn begin(&self, _: Phase) {}
    fn expect(&self, _: u64, _: u64) {}
    fn advance(&self, _: u64, _: u64) {}
    fn end(&self) {}
    fn cancelled(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }
}
