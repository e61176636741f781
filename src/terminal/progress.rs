//! The progress line: only on a terminal, and only when a phase takes longer than half a second.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use super::{Terminal, size};
use crate::observer::{Observer, Phase};

/// A phase shorter than this shows nothing.
const PATIENCE: Duration = Duration::from_millis(500);
/// How often the line is drawn.
const TICK: Duration = Duration::from_millis(100);

/// Shows the phases of one piece of work on stderr and hands on the operator's wish to stop.
#[derive(Debug)]
pub struct Progress {
    enabled: bool,
    stop: Arc<AtomicBool>,
    done: Arc<Done>,
    waiting: AtomicBool,
    current: Mutex<Option<Current>>,
}

#[derive(Debug, Default)]
struct Done {
    entries: AtomicU64,
    bytes: AtomicU64,
}

#[derive(Debug)]
struct Current {
    bar: ProgressBar,
    begun: Instant,
}

impl Progress {
    /// Draws nothing when `terminal` cannot show it; `stop` is asked in [`Observer::cancelled`] in any case.
    #[must_use]
    pub fn new(terminal: &Terminal, stop: Arc<AtomicBool>) -> Self {
        Self {
            enabled: terminal.can_animate(),
            stop,
            done: Arc::default(),
            waiting: AtomicBool::new(false),
            current: Mutex::new(None),
        }
    }

    fn current(&self) -> MutexGuard<'_, Option<Current>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Brings the line up once the phase has lasted long enough. Cheap once it is up, or when there is none: one flag is read.
    fn reveal(&self) {
        if !self.waiting.load(Ordering::Relaxed) {
            return;
        }
        if let Some(current) = self.current().as_ref()
            && current.begun.elapsed() >= PATIENCE
            && self.waiting.swap(false, Ordering::Relaxed)
        {
            current.bar.set_draw_target(ProgressDrawTarget::stderr());
            current.bar.enable_steady_tick(TICK);
        }
    }
}

impl Observer for Progress {
    fn begin(&self, phase: Phase, total: Option<u64>) {
        if !self.enabled {
            return;
        }
        self.end();
        self.done.entries.store(0, Ordering::Relaxed);
        self.done.bytes.store(0, Ordering::Relaxed);
        let done = Arc::clone(&self.done);
        let text = move |state: &ProgressState, line: &mut dyn fmt::Write| {
            let (entries, bytes) = (
                done.entries.load(Ordering::Relaxed),
                done.bytes.load(Ordering::Relaxed),
            );
            // An error here can only come from the line buffer; the next tick draws anew.
            let _ = line.write_str(&describe(phase, entries, bytes, total, state.elapsed()));
        };
        let style = ProgressStyle::with_template("{spinner} {text}")
            .unwrap_or_else(|_| ProgressStyle::default_spinner());
        let bar = ProgressBar::hidden().with_style(style.with_key("text", text));
        *self.current() = Some(Current {
            bar,
            begun: Instant::now(),
        });
        self.waiting.store(true, Ordering::Relaxed);
    }

    fn advance(&self, entries: u64, bytes: u64) {
        self.done.entries.fetch_add(entries, Ordering::Relaxed);
        self.done.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.reveal();
    }

    fn end(&self) {
        self.waiting.store(false, Ordering::Relaxed);
        if let Some(current) = self.current().take() {
            current.bar.finish_and_clear();
        }
    }

    fn cancelled(&self) -> bool {
        self.reveal();
        self.stop.load(Ordering::Relaxed)
    }
}

impl Drop for Progress {
    /// An error on the way leaves no line behind.
    fn drop(&mut self) {
        self.end();
    }
}

/// The line's text.
pub(super) fn describe(
    phase: Phase,
    entries: u64,
    bytes: u64,
    total: Option<u64>,
    elapsed: Duration,
) -> String {
    let verb = match phase {
        Phase::Capture => "capturing",
        Phase::Compare => "comparing",
        Phase::Stage => "staging",
        Phase::Apply => "applying",
        Phase::Verify => "verifying",
    };
    let of_total = match total {
        Some(total) => format!(" of {}", size::count(total)),
        None => String::new(),
    };
    let mut text = format!("{verb}  {}{of_total} entries", size::count(entries));
    if bytes > 0 {
        text.push_str("  ");
        text.push_str(&size::bytes(bytes));
    }
    let millis = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
    if let Some(rate) = entries.saturating_mul(1000).checked_div(millis) {
        text.push_str(&format!("  {} a second", size::count(rate)));
    }
    text
}
