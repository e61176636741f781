//! The signals that ask us to stop. While we work they set a flag; while the operator's command runs they are the
//! command's business.
//!
//! Handlers, never `SIG_IGN`: execve(2) gives a handled signal its default effect back, an ignored one stays ignored in
//! the child. For the same reason a signal that was ignored when we were started (`nohup`, a background job of a
//! script) is left alone: neither we nor the child are meant to see it.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use signal_hook::SigId;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::flag;
use signal_hook::low_level::unregister;

use super::system;

/// SIGINT, SIGTERM and SIGHUP turned into a flag. A second SIGINT, from an operator who does not want to wait, ends the
/// process as if there were no handler.
///
/// Installed once, at the edge, for the life of the process: when it is dropped the signals keep what they do.
#[derive(Debug)]
pub struct Interrupts {
    requested: Arc<AtomicBool>,
    actions: Vec<SigId>,
    patience: Patience,
}

impl Interrupts {
    /// Installs the handlers.
    ///
    /// # Errors
    /// When the system refuses a handler.
    pub fn install() -> io::Result<Self> {
        Self::install_with(Patience::default())
    }

    /// The same, for a process whose results a pager may show.
    ///
    /// # Errors
    /// When the system refuses a handler.
    pub fn install_with(patience: Patience) -> io::Result<Self> {
        let mut interrupts = Self {
            requested: Arc::default(),
            actions: Vec::new(),
            patience,
        };
        interrupts.listen()?;
        Ok(interrupts)
    }

    /// No signals: whoever has the flag asks.
    #[must_use]
    pub fn asked_by(requested: Arc<AtomicBool>) -> Self {
        Self {
            requested,
            actions: Vec::new(),
            patience: Patience::default(),
        }
    }

    /// The flag, for those who do the work.
    #[must_use]
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.requested)
    }

    /// Whether somebody asked us to stop.
    #[must_use]
    pub fn requested(&self) -> bool {
        self.requested.load(Ordering::SeqCst)
    }

    fn listen(&mut self) -> io::Result<()> {
        for signal in [SIGINT, SIGTERM, SIGHUP]
            .into_iter()
            .filter(|signal| !is_ignored(*signal))
        {
            if signal == SIGINT {
                // Registered first, so that it sees the flag as it was before this signal.
                let action = flag::register_conditional_default(signal, Arc::clone(&self.requested))?;
                self.actions.push(action);
                self.patience.may_end(action);
            } else {
                let action = flag::register(signal, Arc::clone(&self.patience.0.ending))?;
                self.actions.push(action);
            }
            self.actions
                .push(flag::register(signal, Arc::clone(&self.requested))?);
        }
        Ok(())
    }
}

/// While a pager runs, Ctrl-C is a key of the pager's: a second one must not end us, for a pager that outlives us can no
/// longer read the terminal. Shared by the pager, which asks for it when it starts, and the handlers.
#[derive(Clone, Debug, Default)]
pub struct Patience(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    asked: AtomicBool,
    /// SIGTERM or SIGHUP has come.
    ending: Arc<AtomicBool>,
    /// What ends the process on a second SIGINT.
    impatient: Mutex<Vec<SigId>>,
}

impl Patience {
    /// From now on no second SIGINT ends the process.
    pub(super) fn ask(&self) {
        self.0.asked.store(true, Ordering::SeqCst);
        for action in self.lock().drain(..) {
            unregister(action);
        }
    }

    /// Whether somebody wants us gone, pager or not.
    pub(super) fn must_end(&self) -> bool {
        self.0.ending.load(Ordering::SeqCst)
    }

    fn may_end(&self, action: SigId) {
        if self.0.asked.load(Ordering::SeqCst) {
            unregister(action);
        } else {
            self.lock().push(action);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<SigId>> {
        self.0.impatient.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Our own signals set aside while the operator's command runs: the terminal sends Ctrl-C and Ctrl-\ to the command as
/// well, and it decides what they mean. Dropped, it puts them back.
#[derive(Debug)]
pub(super) struct Aside<'a> {
    interrupts: &'a mut Interrupts,
    silent: Vec<SigId>,
}

impl<'a> Aside<'a> {
    pub(super) fn set(interrupts: &'a mut Interrupts) -> io::Result<Self> {
        // There is an action for each signal at every moment: one without any would be lost.
        let mut silent = Vec::new();
        for signal in [SIGINT, SIGQUIT]
            .into_iter()
            .filter(|signal| !is_ignored(*signal))
        {
            silent.push(flag::register(signal, Arc::default())?);
        }
        for action in interrupts.actions.drain(..) {
            unregister(action);
        }
        Ok(Self { interrupts, silent })
    }
}

impl Drop for Aside<'_> {
    fn drop(&mut self) {
        // The handlers are there already and only get their actions back, which the system cannot refuse.
        drop(self.interrupts.listen());
        // A handler once installed stays, so SIGQUIT's own effect has to be asked for.
        if !is_ignored(SIGQUIT)
            && let Ok(action) = flag::register_conditional_default(SIGQUIT, Arc::new(AtomicBool::new(true)))
        {
            self.interrupts.actions.push(action);
        }
        for action in self.silent.drain(..) {
            unregister(action);
        }
    }
}

/// Whether the signal was ignored before we came.
pub(super) fn is_ignored(signal: i32) -> bool {
    let bit = u32::try_from(signal - 1).unwrap_or(u32::MAX);
    system::ignored_signals()
        .checked_shr(bit)
        .is_some_and(|mask| mask & 1 == 1)
}
