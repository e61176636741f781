//! Asking the operator: yes or no, a hidden line, a choice from a list.

use std::io;

use dialoguer::console::Term;
use dialoguer::{FuzzySelect, Select};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{
    LocalModes, OptionalActions, QueueSelector, SpecialCodeIndex, tcflush, tcgetattr, tcsetattr,
};

use super::list_theme::ListTheme;
use super::{Terminal, sanitize, width};
use crate::process::Interrupts;

/// Interval at which jackin checks whether a signal asked to stop.
const NAP: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};
/// Longest line that is an answer (bytes).
const LONGEST: usize = 4096;
/// Lines of a terminal below which no list fits. On fewer than 5 the library panics.
const FEWEST_LINES: u16 = 6;
/// Columns beside an item of a list.
const MARGIN: usize = 4;

impl Terminal {
    /// Returns true if the operator is there to answer: both stdin and stderr are a terminal.
    #[must_use]
    pub fn can_ask(&self) -> bool {
        self.facts.tty_in && self.facts.err.tty
    }

    /// Asks on stderr. Only a line that says `y` or `yes` means yes; any other, a signal, Ctrl-C, a terminal that goes away,
    /// and a stdout that did not take what was to be confirmed, mean no. What was typed or pasted before the question stood
    /// there is thrown away: it was meant for something else.
    ///
    /// The signals must be caught already (`caught` proves it, and tells of them).
    #[must_use]
    pub fn ask(&self, question: &str, caught: &Interrupts) -> bool {
        self.ask_line(question, "y/N", caught)
            .is_some_and(|answer| is_yes(answer.as_bytes()))
    }

    /// Asks as [`Self::ask`] does, with the letters that answer in brackets, and returns the line without blanks, in lower case. `None`
    /// means no.
    #[must_use]
    pub fn ask_line(&self, question: &str, letters: &str, caught: &Interrupts) -> Option<String> {
        if !self.can_ask() || !self.everything_was_shown() {
            return None;
        }
        self.show_unseen();
        // Where it cannot be thrown away it is no terminal, and `can_ask` has said so.
        let _ = tcflush(io::stdin(), QueueSelector::IFlush);
        self.err_raw(format!("{} [{letters}] ", sanitize::text(question)).as_bytes());
        let answer = answer(caught);
        if answer.is_none() {
            // The line of the question is not ended by an Enter.
            self.err_raw(b"\n");
        }
        let line = answer?.trim_ascii().to_ascii_lowercase();
        String::from_utf8(line).ok()
    }

    /// Returns true if the operator can choose from a list: besides [`Self::can_ask`], the cursor of the terminal can move, and the
    /// terminal has lines for a list.
    #[must_use]
    pub fn can_choose(&self) -> bool {
        self.can_ask() && !self.facts.dumb && Term::stderr().size().0 >= FEWEST_LINES
    }

    /// Lets the operator choose one of `items` on stderr, and returns its index.
    ///
    /// `what` names the list, and `first` is the item that is marked at the start. `None` without a terminal, or after Escape, `q`,
    /// Ctrl-C or another signal.
    ///
    /// A choice confirms nothing. It takes single keys, so a key that was meant for something else may be a choice.
    #[must_use]
    pub fn choose(&self, what: &str, items: &[String], first: usize, caught: &Interrupts) -> Option<usize> {
        self.choose_by(what, items, (first, false), caught)
    }

    /// Lets the operator choose one of many `items`, as [`Self::choose`] does; letters that are typed leave only those that match.
    #[must_use]
    pub fn find(&self, what: &str, items: &[String], caught: &Interrupts) -> Option<usize> {
        self.choose_by(what, items, (0, true), caught)
    }

    fn choose_by(
        &self,
        what: &str,
        items: &[String],
        (first, is_long): (usize, bool),
        caught: &Interrupts,
    ) -> Option<usize> {
        if !self.can_choose() || !self.everything_was_shown() || items.is_empty() {
            return None;
        }
        let screen = Term::stderr();
        // Dropped also where the library panics: on a screen that was made too small for its list.
        let _cursor = ShownCursor(&screen);
        // The library takes a signal for Ctrl-C and raises SIGINT, which would end the process below a hidden cursor.
        let held = caught.hold_back().ok();
        self.drop_typed_ahead();
        let room = self.facts.err.width.saturating_sub(MARGIN);
        let what = sanitize::text(what);
        let items = items.iter().map(|item| fitted(&sanitize::text(item), room));
        let chosen = match is_long {
            true => FuzzySelect::with_theme(&ListTheme)
                .with_prompt(what)
                .report(false)
                .default(first)
                .items(items)
                .interact_on_opt(&screen),
            false => Select::with_theme(&ListTheme)
                .with_prompt(what)
                .report(false)
                .default(first)
                .items(items)
                .interact_on_opt(&screen),
        };
        drop(held);
        chosen.ok().flatten().filter(|_| !caught.requested())
    }

    /// Discards what was typed or pasted before a list stood there.
    pub(super) fn drop_typed_ahead(&self) {
        let _ = tcflush(io::stdin(), QueueSelector::IFlush);
    }

    /// Asks on stderr for a line that does not show while it is typed; none without a terminal, or when it does not come to that.
    #[must_use]
    pub fn ask_secret(&self, question: &str, caught: &Interrupts) -> Option<String> {
        if !self.can_ask() {
            return None;
        }
        let input = io::stdin();
        let shown = tcgetattr(&input).ok()?;
        let mut hidden = shown.clone();
        hidden.local_modes.remove(LocalModes::ECHO);
        // SIGQUIT would end the process without echo. The interrupt is looked for first, so this key is a letter then.
        hidden.special_codes[SpecialCodeIndex::VQUIT] = hidden.special_codes[SpecialCodeIndex::VINTR];
        tcsetattr(&input, OptionalActions::Flush, &hidden).ok()?;
        self.err_raw(format!("{}: ", sanitize::text(question)).as_bytes());
        let answer = answer(caught);
        // A signal is only a flag here, so that this is always reached.
        let _ = tcsetattr(&input, OptionalActions::Flush, &shown);
        self.err_raw(b"\n");
        let line = String::from_utf8(answer?).ok()?;
        Some(line.trim_end_matches(['\n', '\r']).to_owned())
    }
}

/// Shows the cursor again, which a list hides and does not show after an error.
pub(super) struct ShownCursor<'t>(pub(super) &'t Term);

impl Drop for ShownCursor<'_> {
    fn drop(&mut self) {
        let _ = self.0.show_cursor().and_then(|()| self.0.flush());
    }
}

/// Returns an item cut to a width. The library counts bytes when it clears lines, so no item may have more bytes than columns.
fn fitted(item: &str, room: usize) -> String {
    let mut columns = room;
    loop {
        let cut = width::cut(item, columns);
        match cut.len().checked_sub(room) {
            Some(excess) if excess > 0 && columns > 0 => columns = columns.saturating_sub(excess),
            _ => return cut,
        }
    }
}

/// Returns true if a line means yes.
pub(super) fn is_yes(line: &[u8]) -> bool {
    let word = line.trim_ascii().to_ascii_lowercase();
    word == b"y" || word == b"yes"
}

/// One line; none when it does not come to that.
fn answer(caught: &Interrupts) -> Option<Vec<u8>> {
    let input = io::stdin();
    let mut line = Vec::new();
    loop {
        if caught.requested() || line.len() > LONGEST {
            return None;
        }
        let mut watched = [PollFd::new(&input, PollFlags::IN)];
        match poll(&mut watched, Some(&NAP)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => continue,
            Ok(_) => {}
            Err(_) => return None,
        }
        let mut buffer = [0; 256];
        // Not through the library's own buffer: what it held would be lost to whoever reads next.
        let count = match rustix::io::read(&input, &mut buffer) {
            Ok(0) => return None,
            Ok(count) => count,
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => continue,
            Err(_) => return None,
        };
        line.extend(buffer.iter().take(count));
        if line.contains(&b'\n') {
            return Some(line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::fitted;

    #[test]
    fn no_item_has_more_bytes_than_columns() {
        for item in ["", "rc-1", "rc-1  /home/ü/ööööööööööööööööö/日本語日本語/project"]
        {
            for room in 0..60 {
                let cut = fitted(item, room);
                assert!(cut.len() <= room, "{item} {room} {cut}");
            }
        }
        assert_eq!(fitted("rc-1  /a", 20), "rc-1  /a");
    }
}
