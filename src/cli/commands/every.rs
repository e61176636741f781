//! `launch --checkpoint-every`: checkpoints beside a command that runs. They say nothing while it does: the terminal is its own.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use super::retain::quietly;
use crate::cli::context::{SystemClock, SystemEntropy};
use crate::environment::Environment;
use crate::observer::{Observer, Phase};
use crate::platform;
use crate::session::{World, checkpoint_if_changed};
use crate::snapshot::InstanceId;
use crate::store::Store;

/// What became of the checkpoints.
#[derive(Debug, Default)]
pub(super) struct Taken {
    pub(super) count: u64,
    /// Why some could not be taken, each reason once.
    pub(super) failures: Vec<String>,
}

/// Runs `work` and takes a checkpoint each time that `interval` passed and something changed.
pub(super) fn beside<T>(
    store: &Store,
    environment: &Environment,
    instance: &InstanceId,
    interval: Duration,
    work: impl FnOnce() -> T,
) -> (T, Taken) {
    let (over, wait) = channel::<()>();
    let quiet = Quiet::default();
    let quiet = &quiet;
    thread::scope(|scope| {
        let beside = scope.spawn(move || {
            let mut taken = Taken::default();
            while wait.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
                taken.once(store, environment, instance, quiet);
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

impl Taken {
    fn once(&mut self, store: &Store, environment: &Environment, instance: &InstanceId, quiet: &Quiet) {
        let (clock, entropy) = (SystemClock, SystemEntropy);
        let world = World {
            observer: quiet,
            clock: &clock,
            entropy: &entropy,
            uid: platform::own_ids().0,
        };
        let taken = match store.catalog().instance(instance) {
            Ok(Some(row)) => {
                checkpoint_if_changed(store, world, &row, "automatic").map_err(|error| error.to_string())
            }
            Ok(None) => Err(format!("{instance} is not there")),
            Err(error) => Err(error.to_string()),
        };
        let pruned = match taken {
            Ok(Some(_)) => {
                self.count += 1;
                quietly(environment, world, store)
                    .map(drop)
                    .map_err(|error| error.message)
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
struct Quiet {
    over: AtomicBool,
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
