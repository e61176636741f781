//! The operator's wish to stop: SIGINT, SIGTERM and SIGHUP set a flag that long work asks for. Nothing ends abruptly, so
//! nothing is left behind that looks finished.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// Proof that the signals are caught, and the flag that they set.
#[derive(Clone, Debug)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Catches the signals from now on, for the whole process and until its end.
    ///
    /// # Errors
    /// When the kernel refuses a handler.
    pub fn install() -> io::Result<Self> {
        let flag = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            signal_hook::flag::register(signal, Arc::clone(&flag))?;
        }
        Ok(Self(flag))
    }

    /// The flag itself, for [`super::progress::Progress`].
    #[must_use]
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }

    /// Whether one of the signals came.
    #[must_use]
    pub fn requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
