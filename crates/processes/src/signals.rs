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
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXFSZ};
use signal_hook::flag;
use signal_hook::low_level::unregister;

use super::system;

/// Makes a write beyond the limit on the size of files (`ulimit -f`) fail with EFBIG, as a full disk fails, where it would end the
/// process. With a handler that does nothing, so that what we start has the signal's default effect.
///
/// # Errors
/// When the system refuses a handler.
pub fn outlive_file_limit() -> io::Result<()> {
    if is_ignored(SIGXFSZ) {
        return Ok(());
    }
    flag::register(SIGXFSZ, Arc::default()).map(drop)
}

/// Signal of Ctrl-C.
pub const INTERRUPT: i32 = SIGINT;

/// SIGINT, SIGTERM and SIGHUP turned into a flag. A second SIGINT, from an operator who does not want to wait, ends the
/// process as if there were no handler.
///
/// Installed once, at the edge, for the life of the process: when it is dropped the signals keep what they do.
#[derive(Debug)]
pub struct Interrupts {
    requested: Arc<AtomicBool>,
    /// A signal came while none may stop us ([`HeldBack`]).
    noted: Arc<AtomicBool>,
    actions: Mutex<Vec<SigId>>,
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
        let interrupts = Self {
            requested: Arc::default(),
            noted: Arc::default(),
            actions: Mutex::default(),
            patience,
        };
        interrupts.listen()?;
        Ok(interrupts)
    }

    /// Creates interrupts without signals: only the owner of the flag requests a stop.
    #[must_use]
    pub fn asked_by(requested: Arc<AtomicBool>) -> Self {
        Self {
            requested,
            noted: Arc::default(),
            actions: Mutex::default(),
            patience: Patience::default(),
        }
    }

    /// Gives the signals up to the next [`Interrupts`] of this process.
    pub fn release(self) {
        self.silence();
    }

    /// Returns the flag, for the code that does the work.
    #[must_use]
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.requested)
    }

    /// Returns true if a stop was requested.
    #[must_use]
    pub fn requested(&self) -> bool {
        self.requested.load(Ordering::SeqCst)
    }

    /// Set by each signal that arrives while signals are held back.
    #[must_use]
    pub fn noted(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.noted)
    }

    /// Keeps SIGINT, SIGTERM, SIGHUP and SIGQUIT from stopping us until the guard is dropped. They are only noted.
    ///
    /// # Errors
    /// When the system refuses a handler.
    pub fn hold_back(&self) -> io::Result<HeldBack<'_>> {
        // There is an action for each signal at every moment: one without any would be lost.
        let mut noting = Vec::new();
        for signal in [SIGINT, SIGTERM, SIGHUP, SIGQUIT]
            .into_iter()
            .filter(|signal| !is_ignored(*signal))
        {
            noting.push(flag::register(signal, Arc::clone(&self.noted))?);
        }
        self.silence();
        Ok(HeldBack {
            interrupts: self,
            noting,
        })
    }

    fn listen(&self) -> io::Result<()> {
        for signal in [SIGINT, SIGTERM, SIGHUP]
            .into_iter()
            .filter(|signal| !is_ignored(*signal))
        {
            if signal == SIGINT {
                // Registered first, so that it sees the flag as it was before this signal.
                let action = flag::register_conditional_default(signal, Arc::clone(&self.requested))?;
                self.actions().push(action);
                self.patience.may_end(action);
            } else {
                let action = flag::register(signal, Arc::clone(&self.patience.0.ending))?;
                self.actions().push(action);
            }
            let action = flag::register(signal, Arc::clone(&self.requested))?;
            self.actions().push(action);
        }
        Ok(())
    }

    /// Restores the effect of the signals on this process.
    fn listen_again(&self) {
        // The handlers are there already and only get their actions back, which the system cannot refuse.
        drop(self.listen());
        // A handler once installed stays, so SIGQUIT's own effect has to be asked for.
        if !is_ignored(SIGQUIT)
            && let Ok(action) = flag::register_conditional_default(SIGQUIT, Arc::new(AtomicBool::new(true)))
        {
            self.actions().push(action);
        }
    }

    fn silence(&self) {
        for action in self.actions().drain(..) {
            unregister(action);
        }
    }

    fn actions(&self) -> MutexGuard<'_, Vec<SigId>> {
        self.actions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Signals that are noted and do not stop us. Dropped, they have their effect on us again, and one that was noted counts as a
/// request to stop what follows.
#[derive(Debug)]
#[must_use = "signals are held back while this lives"]
pub struct HeldBack<'a> {
    interrupts: &'a Interrupts,
    noting: Vec<SigId>,
}

impl Drop for HeldBack<'_> {
    fn drop(&mut self) {
        self.interrupts.listen_again();
        for action in self.noting.drain(..) {
            unregister(action);
        }
        if self.interrupts.noted.swap(false, Ordering::SeqCst) {
            self.interrupts.requested.store(true, Ordering::SeqCst);
        }
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
    /// Actions that end the process on a second SIGINT.
    impatient: Mutex<Vec<SigId>>,
}

impl Patience {
    /// Keeps a second SIGINT from ending the process from now on.
    pub(crate) fn ask(&self) {
        self.0.asked.store(true, Ordering::SeqCst);
        for action in self.lock().drain(..) {
            unregister(action);
        }
    }

    /// Returns true if the process must end, even while a pager runs.
    pub(crate) fn must_end(&self) -> bool {
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
pub(crate) struct Aside<'a> {
    interrupts: &'a Interrupts,
    silent: Vec<SigId>,
    /// Something else gives the signals their effect back.
    is_handed_on: bool,
}

impl<'a> Aside<'a> {
    pub(crate) fn set(interrupts: &'a Interrupts) -> io::Result<Self> {
        // There is an action for each signal at every moment: one without any would be lost.
        let mut silent = Vec::new();
        for signal in [SIGINT, SIGQUIT]
            .into_iter()
            .filter(|signal| !is_ignored(*signal))
        {
            silent.push(flag::register(signal, Arc::default())?);
        }
        interrupts.silence();
        Ok(Self {
            interrupts,
            silent,
            is_handed_on: false,
        })
    }

    /// Goes on holding the signals back, without a moment in which one would stop us.
    pub(crate) fn hold_back(mut self) -> io::Result<HeldBack<'a>> {
        let held = self.interrupts.hold_back()?;
        self.is_handed_on = true;
        Ok(held)
    }
}

impl Drop for Aside<'_> {
    fn drop(&mut self) {
        if !self.is_handed_on {
            self.interrupts.listen_again();
        }
        for action in self.silent.drain(..) {
            unregister(action);
        }
    }
}

/// Returns true if the signal was already ignored when this process started.
pub(crate) fn is_ignored(signal: i32) -> bool {
    let bit = u32::try_from(signal - 1).unwrap_or(u32::MAX);
    system::ignored_signals()
        .checked_shr(bit)
        .is_some_and(|mask| mask & 1 == 1)
}
