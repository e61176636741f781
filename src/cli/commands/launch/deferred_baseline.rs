//! The baseline of a launch that is stored while the command runs, from what was frozen before it began.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::cli::checkpoint_timer::Quiet;
use crate::cli::context::Context;
use crate::cli::context::frozen::way_to_store;
use crate::cli::error::CliError;
use crate::cli::fail_point::FailPoint;
use crate::cli::replication;
use crate::cli::session_begin::warn_about;
use crate::cli::steadfast::Steadfast;
use crate::environment::Environment;
use crate::model::{Ending, InstanceId, ProcessRef};
use crate::recovery::{
    Begun, CaptureError, Captured, Closed, Frozen, LockGuard, Recovery, RecoveryError, Services, Store,
};
use crate::terminal::{Terminal, sanitize};

/// So often it is looked whether the operator wants to stop.
const NAP: Duration = Duration::from_millis(5);

/// A baseline that was stored behind its command, or was to be.
pub(super) type Stored = Option<Result<Captured, CaptureError>>;

/// Environment in which the deferred baseline is stored.
#[derive(Clone, Copy)]
pub(super) struct CaptureEnv<'a> {
    pub(super) store: &'a Store,
    pub(super) environment: &'a Environment,
    pub(super) terminal: &'a Terminal,
    /// A signal came since the command ended.
    pub(super) noted: &'a Arc<AtomicBool>,
}

/// Runs `work` and stores the baseline meanwhile; `work` is told when that is done. Waits for both.
pub(super) fn beside<T>(
    (desk, instance): (CaptureEnv<'_>, &InstanceId),
    frozen: Option<Frozen>,
    work: impl FnOnce(&AtomicBool) -> T,
) -> (T, Stored) {
    let is_ready = AtomicBool::new(frozen.is_none());
    let Some(frozen) = frozen else {
        return (work(&is_ready), None);
    };
    let (quiet, over) = Quiet::stopped_by();
    let observer = FailPoint::new(desk.environment, quiet);
    thread::scope(|scope| {
        let storing = scope.spawn(|| {
            let engine = Recovery::open(desk.environment).with_services(Services::system(&observer));
            let stored = engine.store_baseline(desk.store, instance, frozen);
            is_ready.store(true, Ordering::Relaxed);
            if stored.is_ok() {
                // Whether that could be started shows when the session ends.
                replication::leave(desk.environment);
            }
            stored
        });
        let done = work(&is_ready);
        if !storing.is_finished() {
            desk.terminal
                .note("the command has ended; its baseline is still being stored");
        }
        while !storing.is_finished() {
            // It is this that is given up, and not the closing snapshot that follows.
            if desk.noted.swap(false, Ordering::SeqCst) {
                over.store(true, Ordering::Relaxed);
                desk.store.transports().give_up_waiting(true);
            }
            thread::sleep(NAP);
        }
        desk.store.transports().give_up_waiting(false);
        let died = || {
            Err(CaptureError::Write(std::io::Error::other(
                "the thread that writes it stopped",
            )))
        };
        (done, Some(storing.join().unwrap_or_else(|_| died())))
    })
}

/// Ends the session while its baseline is still being stored.
pub(super) fn close_now(
    desk: CaptureEnv<'_>,
    session: (&InstanceId, &LockGuard),
    ending: Ending,
    survivors: &[ProcessRef],
) -> Result<Closed, RecoveryError> {
    desk.terminal
        .note("The command has ended; its closing snapshot is taken.");
    let steadfast = Steadfast::new(None, desk.terminal, Arc::clone(desk.noted));
    let engine = Recovery::open(desk.environment).with_services(Services::system(&steadfast));
    let closed = engine.close(desk.store, session, ending, survivors.to_vec());
    // Nobody needs the claim itself any more. A signal that came meanwhile was not meant for the baseline.
    desk.store
        .transports()
        .disconnect_where(|address| !address.is_frozen());
    desk.noted.store(false, Ordering::SeqCst);
    closed
}

/// Stores the baseline here and now, when it is not stored yet.
pub(super) fn here(context: &Context<'_>, store: &Store, begun: &mut Begun, frozen: Option<Frozen>) {
    if let Some(frozen) = frozen {
        let stored = context.engine().store_baseline(store, &begun.instance, frozen);
        take_over(context, begun, Some(stored));
    }
}

/// Says how it went, as it is said of one that was stored before the command began.
pub(super) fn take_over(context: &Context<'_>, begun: &mut Begun, stored: Stored) {
    match stored {
        None => return,
        Some(Ok(captured)) => begun.baseline = Some(captured),
        Some(Err(error)) => {
            let way = way_to_store(&error);
            let is_room = error.is_lack_of_room();
            let told = CliError::from(error);
            let message = sanitize::text(&told.message);
            context.terminal.warn(&format!(
                "the baseline is not stored ({message}); its file-system snapshot is kept, and the next command that \
                writes to the store tries again"
            ));
            if is_room {
                context.terminal.note(&format!("hint: {way}"));
            }
            begun.waits = true;
            return;
        }
    }
    warn_about(context, begun, false);
}
