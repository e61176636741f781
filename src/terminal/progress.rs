//! The progress line: only on a terminal, and only when a phase takes longer than half a second. What each phase came to
//! is told as a detail when it is over.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use super::{Terminal, size};
use crate::observer::{Observer, Phase};

/// Shortest phase that is shown.
const PATIENCE: Duration = Duration::from_millis(500);
/// Interval between two drawings of the line.
const TICK: Duration = Duration::from_millis(100);
/// Time before the first estimate, which would only jump about.
const SETTLED: Duration = Duration::from_secs(1);

/// Shows the phases of one piece of work on stderr and hands on the operator's wish to stop.
#[derive(Debug)]
pub struct Progress<'a> {
    terminal: &'a Terminal,
    stop: Arc<AtomicBool>,
    amount: Arc<Amount>,
    waiting: AtomicBool,
    current: Mutex<Option<Current>>,
}

/// Amount done so far, and the approximate total.
#[derive(Debug, Default)]
struct Amount {
    entries: AtomicU64,
    bytes: AtomicU64,
    all_entries: AtomicU64,
    all_bytes: AtomicU64,
}

impl Amount {
    fn reset(&self) {
        for number in [&self.entries, &self.bytes, &self.all_entries, &self.all_bytes] {
            number.store(0, Ordering::Relaxed);
        }
    }

    fn now(&self) -> Done {
        Done {
            entries: self.entries.load(Ordering::Relaxed),
            bytes: self.bytes.load(Ordering::Relaxed),
            all_entries: self.all_entries.load(Ordering::Relaxed),
            all_bytes: self.all_bytes.load(Ordering::Relaxed),
        }
    }
}

/// [`Amount`] at one moment; what is not known is 0.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Done {
    pub(super) entries: u64,
    pub(super) bytes: u64,
    pub(super) all_entries: u64,
    pub(super) all_bytes: u64,
}

#[derive(Debug)]
struct Current {
    phase: Phase,
    /// None where no line can be drawn.
    bar: Option<ProgressBar>,
    begun: Instant,
}

impl<'a> Progress<'a> {
    /// Draws nothing when `terminal` cannot show it; `stop` is asked in [`Observer::cancelled`] in any case.
    #[must_use]
    pub fn new(terminal: &'a Terminal, stop: Arc<AtomicBool>) -> Self {
        Self {
            terminal,
            stop,
            amount: Arc::default(),
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
        if let Some(Current {
            bar: Some(bar),
            begun,
            ..
        }) = self.current().as_ref()
            && begun.elapsed() >= PATIENCE
            && self.waiting.swap(false, Ordering::Relaxed)
        {
            bar.set_draw_target(ProgressDrawTarget::stderr());
            bar.enable_steady_tick(TICK);
        }
    }

    fn bar(&self, phase: Phase) -> ProgressBar {
        let amount = Arc::clone(&self.amount);
        let text = move |state: &ProgressState, line: &mut dyn fmt::Write| {
            // An error here can only come from the line buffer; the next tick draws anew.
            let _ = line.write_str(&describe(phase, amount.now(), state.elapsed()));
        };
        let style = ProgressStyle::with_template("{spinner} {text}")
            .unwrap_or_else(|_| ProgressStyle::default_spinner());
        ProgressBar::hidden().with_style(style.with_key("text", text))
    }
}

impl Observer for Progress<'_> {
    fn begin(&self, phase: Phase) {
        self.end();
        self.amount.reset();
        let bar = self.terminal.can_animate().then(|| self.bar(phase));
        self.waiting.store(bar.is_some(), Ordering::Relaxed);
        *self.current() = Some(Current {
            phase,
            bar,
            begun: Instant::now(),
        });
    }

    fn expect(&self, entries: u64, bytes: u64) {
        self.amount.all_entries.fetch_add(entries, Ordering::Relaxed);
        self.amount.all_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    fn advance(&self, entries: u64, bytes: u64) {
        self.amount.entries.fetch_add(entries, Ordering::Relaxed);
        self.amount.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.reveal();
    }

    fn end(&self) {
        self.waiting.store(false, Ordering::Relaxed);
        let Some(current) = self.current().take() else {
            return;
        };
        if let Some(bar) = current.bar {
            bar.finish_and_clear();
        }
        self.terminal.detail(&summary(
            current.phase,
            self.amount.now(),
            current.begun.elapsed(),
        ));
    }

    fn cancelled(&self) -> bool {
        self.reveal();
        self.stop.load(Ordering::Relaxed)
    }
}

impl Drop for Progress<'_> {
    /// An error on the way leaves no line behind.
    fn drop(&mut self) {
        self.end();
    }
}

/// The line's text: `capturing  6,284 entries  12.0 MiB of 57.0 MiB  110.0 MiB a second  1 s left`.
pub(super) fn describe(phase: Phase, done: Done, elapsed: Duration) -> String {
    let verb = match phase {
        Phase::Freeze => "freezing",
        Phase::Capture => "capturing",
        Phase::Compare => "comparing",
        Phase::Stage => "staging",
        Phase::Apply => "applying",
        Phase::Verify => "verifying",
        Phase::Repack => "packing anew",
        Phase::Export => "exporting",
        Phase::Import => "importing",
    };
    // A tree that has grown since it was counted would show more than all.
    let of = |done: u64, all: u64, text: fn(u64) -> String| match all > done {
        true => format!(" of {}", text(all)),
        false => String::new(),
    };
    let mut text = format!(
        "{verb}  {}{} entries",
        size::count(done.entries),
        of(done.entries, done.all_entries, size::count)
    );
    if done.bytes > 0 {
        let all = of(done.bytes, done.all_bytes, size::bytes);
        text.push_str(&format!("  {}{all}", size::bytes(done.bytes)));
    }
    let millis = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
    let rate = |amount: u64| amount.saturating_mul(1000).checked_div(millis);
    if let Some(rate) = rate(done.bytes).filter(|_| done.bytes > 0) {
        text.push_str(&format!("  {} a second", size::bytes(rate)));
    } else if let Some(rate) = rate(done.entries) {
        text.push_str(&format!("  {} a second", size::count(rate)));
    }
    if let Some(left) = left(done, elapsed) {
        text.push_str(&format!("  {} left", size::duration(left)));
    }
    text
}

/// Estimates the remaining time at the rate so far. It counts bytes where there are any: entries come first and go fast.
fn left(done: Done, elapsed: Duration) -> Option<Duration> {
    let (done, all) = match done.all_bytes {
        0 => (done.entries, done.all_entries),
        all => (done.bytes, all),
    };
    if elapsed < SETTLED || done == 0 || all <= done {
        return None;
    }
    let nanos = elapsed.as_nanos() * u128::from(all - done) / u128::from(done);
    Some(Duration::from_nanos(u64::try_from(nanos).ok()?))
}

/// Returns the summary of a phase.
pub(super) fn summary(phase: Phase, done: Done, elapsed: Duration) -> String {
    let verb = match phase {
        Phase::Freeze => "frozen",
        Phase::Capture => "captured",
        Phase::Compare => "compared",
        Phase::Stage => "staged",
        Phase::Apply => "applied",
        Phase::Verify => "verified",
        Phase::Repack => "packed anew",
        Phase::Export => "exported",
        Phase::Import => "imported",
    };
    let mut text = verb.to_owned();
    if done.entries > 0 {
        text.push_str(&format!(" {},", size::counted(done.entries, "entry", "entries")));
    }
    if done.bytes > 0 {
        text.push_str(&format!(" {} of content,", size::bytes(done.bytes)));
    }
    text.push_str(&format!(" in {:.3} s", elapsed.as_secs_f64()));
    text
}
