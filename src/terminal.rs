//! The one door to stdout and stderr. Text goes out line by line, cleaned of everything that could steer a terminal; a
//! closed pipe is remembered, never a panic. Nothing here knows what the text is about.

pub mod checklist;
mod color_code;
pub(crate) mod filter;
mod hang_up;
mod json;
mod list_theme;
mod log;
mod output_stream;
mod page;
pub mod progress;
mod prompt;
pub(crate) mod recorded;
mod screen;
pub mod style;
pub mod table;
mod terminal_info;
#[cfg(feature = "tui")]
mod tty;
mod unseen;
pub mod width;

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::os::fd::AsFd as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::event::PollFlags;
use serde::Serialize;

pub use log::Log;
pub use page::Page;
pub use screen::Screen;
pub use style::Role;
pub use terminal_info::{ColorMode, Facts, Verbosity};
#[cfg(feature = "tui")]
pub use tty::Tty;

pub use crate::display::{HIDDEN, sanitize, shell, size};
use crate::environment::Environment;
use crate::process::Patience;
use log::Level;
use output_stream::Sink;
use unseen::Unseen;

/// A message that is held back.
#[derive(Debug)]
struct HeldMessage {
    /// As it is printed.
    shown: String,
    /// Its text, if it is a warning.
    warning: Option<String>,
}

/// Streams for results (stdout) and everything else (stderr). Shared by reference; each call writes whole lines.
///
/// Callers put names from a mount through [`sanitize`] first, so that they are readable and unambiguous. The streams check all
/// text again: only printable characters, newlines, tabs and the colors of [`style`] leave.
#[derive(Debug)]
pub struct Terminal {
    out: Mutex<Sink>,
    err: Mutex<Sink>,
    facts: Facts,
    verbosity: Verbosity,
    log: Option<Mutex<Log>>,
    /// Messages while a pager has the screen, shown when it has ended; `None` if no pager can have it.
    held: Mutex<Option<Vec<String>>>,
    /// Messages beside a JSON document that is still to come: if an error comes instead, it stands alone on stderr.
    awaiting: Mutex<Option<Vec<HeldMessage>>>,
    /// Output that the operator does not see, shown before a question; `None` if it is seen, or if nothing can be asked.
    unseen: Option<Mutex<Unseen>>,
    /// True once a JSON document was printed on stderr: it stands there alone.
    is_documented: AtomicBool,
    /// Warnings that were printed: a store that is opened several times reports its damage once.
    warned: Mutex<BTreeSet<String>>,
    pager: Option<page::Pager>,
    patience: Patience,
}

impl Terminal {
    /// The process's own stdout and stderr; what they can do is asked of the kernel and of `environment`.
    #[must_use]
    pub fn open(environment: &Environment, color: ColorMode, verbosity: Verbosity) -> Self {
        let facts = Facts::of_process(environment, color);
        Self::over(Box::new(io::stdout()), Box::new(io::stderr()), facts, verbosity)
    }

    /// Standard input and output as plain pipes, for a command that another program talks with. Nothing else may be written then.
    ///
    /// # Errors
    /// The system's error.
    pub fn pipes(&self) -> io::Result<(impl io::Read, impl Write + Send)> {
        let from = io::stdin().as_fd().try_clone_to_owned()?;
        let to = io::stdout().as_fd().try_clone_to_owned()?;
        Ok((io::PipeReader::from(from), io::PipeWriter::from(to)))
    }

    /// Any two writers, taken for what `facts` says of them.
    #[must_use]
    pub fn over(
        out: Box<dyn Write + Send>,
        err: Box<dyn Write + Send>,
        facts: Facts,
        verbosity: Verbosity,
    ) -> Self {
        Self {
            out: Mutex::new(Sink::new(out, facts.out.color, facts.out.tty)),
            err: Mutex::new(Sink::new(err, facts.err.color, true)),
            facts,
            verbosity,
            log: None,
            held: Mutex::default(),
            awaiting: Mutex::default(),
            unseen: (facts.is_out_hidden && facts.tty_in && facts.err.tty).then(Mutex::default),
            is_documented: AtomicBool::new(false),
            warned: Mutex::default(),
            pager: None,
            patience: Patience::default(),
        }
    }

    /// The same terminal, saying more or less.
    #[must_use]
    pub fn with_verbosity(self, verbosity: Verbosity) -> Self {
        Self { verbosity, ..self }
    }

    /// The same terminal, writing what is said to `log` as well.
    #[must_use]
    pub fn with_log(self, log: Log) -> Self {
        Self {
            log: Some(Mutex::new(log)),
            ..self
        }
    }

    /// Puts a pager between the results and stdout. `pager` gets the writer to fall back on. What is said on stderr is held
    /// back until [`Self::finish`] has waited for it.
    pub fn page_through(&mut self, pager: impl FnOnce(Box<dyn Write + Send>) -> Box<dyn Write + Send>) {
        lock(&self.out).redirect(pager);
        *lock(&self.held) = Some(Vec::new());
    }

    /// Holds messages back until a JSON document is printed ([`Self::json`]) or the command ends. An error document takes their place
    /// (`Self::take_warnings`). Does nothing if stderr is a terminal: a person reads there, and may be asked.
    pub fn await_json(&self) {
        if !self.facts.err.tty {
            *lock(&self.awaiting) = Some(Vec::new());
        }
    }

    /// Returns the warnings that are held back, and drops the other messages.
    pub(crate) fn take_warnings(&self) -> Vec<String> {
        let messages = lock(&self.awaiting).take().unwrap_or_default();
        messages
            .into_iter()
            .filter_map(|message| message.warning)
            .collect()
    }

    /// Prints the messages that are held back, and holds no more: before a document, and by a command that prints documents as long as it
    /// runs.
    pub fn release(&self) {
        let messages = lock(&self.awaiting).take().unwrap_or_default();
        messages.iter().for_each(|message| self.show(&message.shown));
    }

    /// Returns the handle through which the signal handlers learn that a pager runs.
    #[must_use]
    pub fn patience(&self) -> Patience {
        self.patience.clone()
    }

    /// Lines and columns of stdout's screen.
    #[must_use]
    pub fn screen(&self) -> (usize, usize) {
        (self.facts.lines, self.facts.out.width)
    }

    /// Returns true if a pager shows the results.
    #[must_use]
    pub fn is_paged(&self) -> bool {
        lock(&self.held).is_some()
    }

    /// Returns true if a pager could show them: stdout is a terminal that can move its cursor.
    #[must_use]
    pub fn can_page(&self) -> bool {
        self.facts.out.tty && !self.facts.dumb
    }

    /// Writes names to stdout as they are, each with a NUL behind it. For programs; nothing is written to a terminal.
    pub fn names(&self, names: &[u8]) {
        if !self.facts.out.tty {
            lock(&self.out).raw(names);
        }
    }

    /// Writes content to stdout as it is. For programs and files; nothing is written to a terminal.
    pub fn bytes(&self, content: &[u8]) {
        self.names(content);
    }

    /// Writes `text` and a newline to stdout: the result that was asked for.
    pub fn out(&self, text: &str) {
        if let Some(unseen) = &self.unseen {
            lock(unseen).add(text);
        }
        lock(&self.out).line(text);
    }

    /// Writes `text` and a newline to stderr: what is said beside the result. Shown with `--quiet` too.
    pub fn err(&self, text: &str) {
        self.say(Level::Note, text, true);
    }

    /// Like [`Self::err`], but not with `--quiet`. A line that does not fit is wrapped, unless it begins with a blank.
    pub fn note(&self, text: &str) {
        self.say(
            Level::Note,
            &self.fitted(text),
            self.verbosity != Verbosity::Quiet,
        );
    }

    /// Like [`Self::note`], but with `--quiet` too: for a line without which the result misleads.
    pub fn caution(&self, text: &str) {
        self.say(Level::Note, &self.fitted(text), true);
    }

    /// Wraps the lines that do not fit on stderr, except those that begin with a blank.
    fn fitted(&self, text: &str) -> String {
        let columns = self.width_err();
        let fitted = |line: &str| match width::of(line) <= columns {
            true => vec![line.to_owned()],
            false => width::wrap(line, columns),
        };
        let lines: Vec<String> = text.split('\n').flat_map(fitted).collect();
        lines.join("\n")
    }

    /// Returns true if notes ([`Self::note`]) are shown or logged.
    #[must_use]
    pub fn takes_notes(&self) -> bool {
        self.verbosity != Verbosity::Quiet || self.log.is_some()
    }

    /// Like [`Self::err`], but only with `--verbose`.
    pub fn detail(&self, text: &str) {
        self.say(Level::Detail, text, self.verbosity == Verbosity::Verbose);
    }

    /// A warning on stderr, wrapped at its width; the same text is printed once. `text` is cleaned here.
    pub fn warn(&self, text: &str) {
        let text = sanitize::text(text);
        if !lock(&self.warned).insert(text.clone()) {
            return;
        }
        let shown = style::labeled(Role::Warning, "warning", &text, self.width_err());
        self.record(Level::Warning, &text);
        if let Some(awaiting) = lock(&self.awaiting).as_mut() {
            awaiting.push(HeldMessage {
                shown,
                warning: Some(text),
            });
            return;
        }
        self.show(&shown);
    }

    /// Prints an error that is laid out already.
    pub fn error(&self, text: &str) {
        self.say(Level::Error, text, true);
    }

    /// Records an error in the log only.
    pub fn record_error(&self, text: &str) {
        self.record(Level::Error, text);
    }

    fn say(&self, level: Level, text: &str, shown: bool) {
        self.record(level, text);
        if shown {
            self.show(text);
        }
    }

    fn record(&self, level: Level, text: &str) {
        if let Some(log) = &self.log {
            lock(log).write(level, &filter::printable(text, false));
        }
    }

    fn show(&self, text: &str) {
        if self.is_documented.load(Ordering::Relaxed) {
            return;
        }
        if let Some(awaiting) = lock(&self.awaiting).as_mut() {
            return awaiting.push(HeldMessage {
                shown: text.to_owned(),
                warning: None,
            });
        }
        if let Some(held) = lock(&self.held).as_mut() {
            return held.push(text.to_owned());
        }
        lock(&self.out).flush();
        lock(&self.err).line(text);
    }

    /// One JSON document and a newline on stdout.
    pub fn json(&self, document: &impl Serialize) {
        self.release();
        lock(&self.out).document(document);
    }

    /// One JSON document and a newline on stderr: the form of an error with `--json`. Messages after it are only logged.
    pub fn err_json(&self, document: &impl Serialize) {
        lock(&self.out).flush();
        lock(&self.err).document(document);
        self.is_documented.store(true, Ordering::Relaxed);
    }

    /// Returns true if the reader of stdout has gone away. Nothing more needs to be computed for it; this is no error.
    #[must_use]
    pub fn out_is_closed(&self) -> bool {
        lock(&self.out).is_closed()
    }

    /// Returns true if the reader of the process's stdout has gone away, also if nothing was written since. For a command that waits.
    #[must_use]
    pub fn out_has_no_reader(&self) -> bool {
        hang_up::is_hung_up(io::stdout(), PollFlags::OUT)
    }

    /// Writes out what is still buffered for stdout, for a reader that waits for it.
    pub fn flush_out(&self) {
        lock(&self.out).flush();
    }

    /// Writes out what is still held back. Call once, before the process ends.
    ///
    /// # Errors
    /// The first failure to write or to encode a result on stdout (a full disk), except a closed pipe.
    pub fn finish(&self) -> io::Result<()> {
        let failure = {
            let mut out = lock(&self.out);
            out.flush();
            if self.is_paged() {
                out.close();
            }
            out.take_failure()
        };
        if failure.is_none() {
            self.release();
        }
        let mut err = lock(&self.err);
        // From here on nothing is held any more.
        let held = lock(&self.held).take().unwrap_or_default();
        held.iter().for_each(|text| err.line(text));
        err.flush();
        drop(err);
        if let Some((path, error)) = self.log.as_ref().and_then(|log| lock(log).failure()) {
            let path = sanitize::path(&path);
            lock(&self.err).line(&style::labeled(
                Role::Warning,
                "warning",
                &format!("the log {path} is incomplete: {error}"),
                self.width_err(),
            ));
        }
        failure.map_or(Ok(()), Err)
    }

    /// The end of what was written to stdout, whether that took it or not.
    #[must_use]
    pub fn lost_result(&self) -> Option<String> {
        lock(&self.out).lost()
    }

    /// Returns true if stdout is a terminal.
    #[must_use]
    pub fn is_tty_out(&self) -> bool {
        self.facts.out.tty
    }

    /// Returns true if stderr is a terminal.
    #[must_use]
    pub fn is_tty_err(&self) -> bool {
        self.facts.err.tty
    }

    /// Returns true if stdout shows colors.
    #[must_use]
    pub fn shows_colors(&self) -> bool {
        self.facts.out.color
    }

    /// Returns true if jackin can draw a screen on stdout and read keys from stdin.
    #[must_use]
    pub fn has_screen(&self) -> bool {
        self.facts.out.tty && self.facts.tty_in && !self.facts.dumb
    }

    /// Returns true if stdin is a terminal.
    #[must_use]
    pub fn is_tty_in(&self) -> bool {
        self.facts.tty_in
    }

    /// Columns of stdout: the terminal's own, else `COLUMNS`, else 80.
    #[must_use]
    pub fn width_out(&self) -> usize {
        self.facts.out.width
    }

    /// Columns of stderr: the terminal's own, else `COLUMNS`, else 80.
    #[must_use]
    pub fn width_err(&self) -> usize {
        self.facts.err.width
    }

    /// Returns the amount of output on stderr.
    #[must_use]
    pub fn verbosity(&self) -> Verbosity {
        self.verbosity
    }

    /// Returns true if a progress line may move on stderr.
    #[must_use]
    pub fn can_animate(&self) -> bool {
        self.facts.err.tty && !self.facts.dumb && self.verbosity != Verbosity::Quiet
    }

    /// Flushes, and tells whether every line reached its reader so far.
    fn everything_was_shown(&self) -> bool {
        [&self.out, &self.err].into_iter().all(|sink| {
            let mut sink = lock(sink);
            sink.flush();
            !sink.is_dead()
        })
    }

    /// Shows on stderr what went to a stdout that the operator does not see: nothing is confirmed unseen.
    fn show_unseen(&self) {
        let Some(unseen) = &self.unseen else { return };
        let (texts, is_cut) = lock(unseen).take();
        for text in texts {
            self.err(&text);
        }
        if is_cut {
            self.caution("the rest is too long to be shown here; it went to stdout");
        }
    }

    /// Bytes as they are, for the prompt's cursor.
    fn err_raw(&self, bytes: &[u8]) {
        lock(&self.err).raw(bytes);
    }
}

/// A thread that panicked while it wrote leaves at worst half a line; the rest is sound.
fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
