//! Colors of code: which parts of a line are keywords, texts, comments, constants and names, from the grammars that `bat` uses.
//!
//! Code comes from mounts, and some grammars search with backtracking, which a hostile line can make slow. Texts are therefore bounded, and
//! read on a thread of its own for a limited time: what is not finished then stays plain.

#[cfg(feature = "highlight")]
mod grammars;
#[cfg(not(feature = "highlight"))]
#[path = "highlight/grammars_absent.rs"]
mod grammars;

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use crate::model::RelPath;
use crate::report::{Contents, Line, LineNumbers};
use grammars::Grammars;

/// Role of a part of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    not(feature = "highlight"),
    expect(dead_code, reason = "only grammars make them")
)]
pub(in crate::cli) enum Token {
    Keyword,
    /// A string.
    Text,
    Comment,
    /// A number or another constant.
    Constant,
    /// A function, a type, or an attribute.
    Name,
}

/// Tokens of a line, in order, by their bytes.
pub(in crate::cli) type Tokens = Vec<(Range<usize>, Token)>;

/// Maximum bytes of a text that gets colors.
pub(in crate::cli) const LARGEST: usize = 256 << 10;

/// Maximum bytes of a line; a text with a longer one is no code that is read by people.
const LONGEST: usize = 1_000;

/// Grammars, and the time that is left.
pub(in crate::cli) struct Colors {
    grammars: Arc<OnceLock<Grammars>>,
    left: Duration,
}

impl Colors {
    /// Returns colors for texts that are read within `time` altogether. The grammars are loaded with the first text.
    pub(in crate::cli) fn within(time: Duration) -> Self {
        Self {
            grammars: Arc::default(),
            left: time,
        }
    }

    /// Starts again with a limit of time.
    #[cfg(feature = "tui")]
    pub(in crate::cli) fn renew(&mut self, time: Duration) {
        self.left = time;
    }

    /// Returns the tokens of each line of a patch; none where the code is unknown, too large or too slow. `shown` are the lines as they are
    /// shown, and `words` shows a line in that way.
    pub(in crate::cli) fn of_patch(
        &mut self,
        path: &RelPath,
        contents: &Contents,
        (shown, numbers): (&[(Line, String)], &[LineNumbers]),
        words: impl Fn(&[u8]) -> String,
    ) -> Vec<Tokens> {
        let Contents::Both(old, new) = contents else {
            return Vec::new();
        };
        let (then, now) = (self.of_text(path, old, &words), self.of_text(path, new, &words));
        let lines = shown.iter().zip(numbers);
        let tokens = lines.map(|((line, text), numbers)| {
            let (side, number) = match line {
                Line::Removed => (&then, numbers.then),
                Line::Added | Line::Context => (&now, numbers.now),
                Line::Hunk | Line::NoNewline => return Tokens::new(),
            };
            let found = number.and_then(|number| side.get(number.checked_sub(1)?));
            // Another text was read than is shown.
            let found = found.filter(|(of, _)| of == text);
            found.map(|(_, tokens)| tokens.clone()).unwrap_or_default()
        });
        tokens.collect()
    }

    /// Returns each line of a text with its tokens.
    fn of_text(
        &mut self,
        path: &RelPath,
        text: &[u8],
        words: &impl Fn(&[u8]) -> String,
    ) -> Vec<(String, Tokens)> {
        if !Grammars::ARE_BUILT || text.is_empty() || text.len() > LARGEST || self.left.is_zero() {
            return Vec::new();
        }
        let lines = text.split_inclusive(|byte| *byte == b'\n');
        let lines: Vec<String> = lines
            .map(|line| words(line.strip_suffix(b"\n").unwrap_or(line)))
            .collect();
        if lines.iter().any(|line| line.len() > LONGEST) {
            return Vec::new();
        }
        let name = path
            .split()
            .map(|(_, name)| String::from_utf8_lossy(name.as_bytes()).into_owned());
        let (grammars, stop) = (Arc::clone(&self.grammars), Arc::new(AtomicBool::new(false)));
        let (answer, answered) = mpsc::channel();
        let asked = Arc::clone(&stop);
        let work = move || {
            let tokens =
                grammars
                    .get_or_init(Grammars::load)
                    .tokens(&name.unwrap_or_default(), &lines, &asked);
            // The answer may no longer be waited for.
            let _ = answer.send(lines.into_iter().zip(tokens).collect());
        };
        let started = Instant::now();
        let thread = thread::Builder::new().name("colors".into()).spawn(work);
        let found = thread.ok().and_then(|_| answered.recv_timeout(self.left).ok());
        stop.store(true, Ordering::Relaxed);
        self.left = match &found {
            Some(_) => self.left.saturating_sub(started.elapsed()),
            None => Duration::ZERO,
        };
        found.unwrap_or_default()
    }
}

#[cfg(test)]
#[cfg(feature = "highlight")]
mod tests;
