//! A list of which any number of rows may be chosen: with folds that open, a filter, and pages.

use std::io;

use dialoguer::console::{Key, Term};

use super::prompt::ShownCursor;
use super::{Terminal, filter, sanitize, width};
use crate::process::Interrupts;

/// Lines beside the rows: the keys, and the position.
const AROUND: usize = 2;

/// Row of a list.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// Text without colors.
    pub text: String,
    /// Index of the row that this one is folded into; that row holds nothing but its members.
    pub fold: Option<usize>,
    /// Indices of the rows that include this one: they are chosen with all that is below them.
    pub above: Vec<usize>,
}

impl Terminal {
    /// Lets the operator choose any number of `rows` on stderr, and returns the indices of the chosen ones, ascending, without those of
    /// folds. Nothing is chosen at the start. `None` without a terminal, or after Escape, `q`, Ctrl-C or another signal.
    ///
    /// A choice confirms nothing. It takes single keys, so a key that was meant for something else may be a choice.
    #[must_use]
    pub fn choose_several(&self, what: &str, rows: Vec<Row>, caught: &Interrupts) -> Option<Vec<usize>> {
        if !self.can_choose() || !self.everything_was_shown() || rows.is_empty() {
            return None;
        }
        let screen = Term::stderr();
        let _cursor = ShownCursor(&screen);
        let held = caught.hold_back().ok();
        self.drop_typed_ahead();
        let mut list = Checklist::new(rows);
        let keys = format!(
            "{} (Space choose, a all, o open, / filter, Enter go on, Esc to cancel)",
            sanitize::text(what)
        );
        let mut drawn = 0;
        let mut go_on = || -> io::Result<bool> {
            screen.hide_cursor()?;
            loop {
                let (lines, columns) = screen.size();
                let room = usize::from(lines).saturating_sub(AROUND + 1).max(1);
                screen.clear_last_lines(drawn)?;
                drawn = 0;
                for line in list.lines(&keys, room) {
                    screen.write_line(&width::cut(&line, usize::from(columns).saturating_sub(1)))?;
                    drawn += 1;
                }
                screen.flush()?;
                if let Some(answer) = list.press(&screen.read_key()?, room) {
                    return Ok(answer);
                }
            }
        };
        // An error means Ctrl-C, or that the terminal went away.
        let is_chosen = go_on().unwrap_or(false);
        let _ = screen.clear_last_lines(drawn);
        drop(held);
        (is_chosen && !caught.requested()).then(|| list.chosen())
    }
}

/// State of a list.
struct Checklist {
    rows: Vec<Row>,
    /// Rows that are folded into each row.
    members: Vec<Vec<usize>>,
    /// Rows that each row includes.
    below: Vec<Vec<usize>>,
    checked: Vec<bool>,
    open: Vec<bool>,
    filter: String,
    /// Keys go to the filter.
    is_typing: bool,
    /// Indices of the rows that are shown.
    shown: Vec<usize>,
    /// Position of the cursor in `shown`.
    at: usize,
}

impl Checklist {
    fn new(rows: Vec<Row>) -> Self {
        let count = rows.len();
        let (mut members, mut below) = (vec![Vec::new(); count], vec![Vec::new(); count]);
        for (at, row) in rows.iter().enumerate() {
            if let Some(members) = row.fold.and_then(|fold| members.get_mut(fold)) {
                members.push(at);
            }
            for above in &row.above {
                if let Some(below) = below.get_mut(*above) {
                    below.push(at);
                }
            }
        }
        let mut made = Self {
            rows,
            members,
            below,
            checked: vec![false; count],
            open: vec![false; count],
            filter: String::new(),
            is_typing: false,
            shown: Vec::new(),
            at: 0,
        };
        made.show();
        made
    }

    /// Acts on a key. Returns true if the choice is made, and false if it is cancelled.
    fn press(&mut self, key: &Key, page: usize) -> Option<bool> {
        if self.is_typing {
            match key {
                Key::Enter => self.is_typing = false,
                Key::Escape => {
                    self.is_typing = false;
                    self.filter.clear();
                }
                Key::Backspace => {
                    self.filter.pop();
                }
                Key::Char(letter) if !letter.is_control() => self.filter.push(*letter),
                _ => return None,
            }
            self.at = 0;
            self.show();
            return None;
        }
        let last = self.shown.len().saturating_sub(1);
        match key {
            Key::Enter => return Some(true),
            Key::Escape | Key::Char('q') => return Some(false),
            Key::ArrowDown | Key::Tab | Key::Char('j') => {
                self.at = if self.at >= last { 0 } else { self.at + 1 }
            }
            Key::ArrowUp | Key::BackTab | Key::Char('k') => self.at = self.at.checked_sub(1).unwrap_or(last),
            Key::PageDown => self.at = self.at.saturating_add(page).min(last),
            Key::PageUp => self.at = self.at.saturating_sub(page),
            Key::Home => self.at = 0,
            Key::End => self.at = last,
            Key::Char(' ') => {
                if let Some(row) = self.current() {
                    let on = !self.is_checked(row);
                    self.set(row, on);
                }
            }
            Key::Char('a') => {
                let on = !self.shown.iter().all(|row| self.is_checked(*row));
                for row in self.shown.clone() {
                    self.set(row, on);
                }
            }
            Key::Char('o') | Key::ArrowRight => self.unfold(true),
            Key::ArrowLeft => self.unfold(false),
            Key::Char('/') => {
                self.is_typing = true;
                self.filter.clear();
                self.show();
            }
            _ => {}
        }
        None
    }

    fn current(&self) -> Option<usize> {
        self.shown.get(self.at).copied()
    }

    /// Opens or closes the fold at the cursor; `o` does either.
    fn unfold(&mut self, open: bool) {
        let Some(row) = self.current() else { return };
        let fold = match self.fold_of(row) {
            Some(fold) => fold,
            None => row,
        };
        let was_open = self.open.get(fold).copied().unwrap_or(false);
        if let Some(is_open) = self.open.get_mut(fold) {
            *is_open = open && !was_open;
        }
        self.show();
        self.at = self.shown.iter().position(|shown| *shown == fold).unwrap_or(0);
    }

    fn fold_of(&self, row: usize) -> Option<usize> {
        self.rows.get(row).and_then(|row| row.fold)
    }

    fn is_fold(&self, row: usize) -> bool {
        !self.members(row).is_empty()
    }

    fn members(&self, fold: usize) -> &[usize] {
        self.members.get(fold).map_or(&[], Vec::as_slice)
    }

    /// Returns true if a row is chosen; a fold, if all of its members are.
    fn is_checked(&self, row: usize) -> bool {
        let is_checked = |row: &usize| self.checked.get(*row).copied().unwrap_or(false);
        match self.members(row) {
            [] => is_checked(&row),
            members => members.iter().all(is_checked),
        }
    }

    /// Chooses a row with all that is below it, or gives it up with all that includes it.
    fn set(&mut self, row: usize, on: bool) {
        let mut targets = match self.members(row) {
            [] => vec![row],
            members => members.to_vec(),
        };
        let below = |target: &usize| self.below.get(*target).cloned().unwrap_or_default();
        let mut more: Vec<usize> = targets.iter().flat_map(below).collect();
        if !on {
            let above = |target: &usize| self.rows.get(*target).map(|row| row.above.clone());
            let all = targets.iter().chain(&more);
            let above: Vec<usize> = all.filter_map(above).flatten().collect();
            more.extend(above);
        }
        targets.append(&mut more);
        for target in targets {
            if let Some(checked) = self.checked.get_mut(target) {
                *checked = on;
            }
        }
    }

    /// Finds the rows to show. A filter looks into folds; of a fold that matches itself the members stay folded.
    fn show(&mut self) {
        let wanted = self.filter.to_lowercase();
        let matches: Vec<bool> = self
            .rows
            .iter()
            .map(|row| row.text.to_lowercase().contains(&wanted))
            .collect();
        let does = |row: usize| matches.get(row).copied().unwrap_or(false);
        let is_open = |fold: usize| self.open.get(fold).copied().unwrap_or(false);
        let is_shown = |(at, row): &(usize, &Row)| match row.fold {
            Some(fold) => does(*at) && (is_open(fold) || !does(fold)),
            None => does(*at),
        };
        let rows = self.rows.iter().enumerate();
        self.shown = rows.filter(is_shown).map(|(at, _)| at).collect();
        self.at = self.at.min(self.shown.len().saturating_sub(1));
    }

    /// Returns the lines of the page with the cursor.
    fn lines(&self, keys: &str, room: usize) -> Vec<String> {
        let first = self.at / room * room;
        let page = self.shown.iter().enumerate().skip(first).take(room);
        let line = |(at, row): (usize, &usize)| {
            let cursor = if at == self.at { '>' } else { ' ' };
            let mark = match self.is_checked(*row) {
                true => 'x',
                false if self.is_fold(*row) && self.is_any_checked(*row) => '-',
                false => ' ',
            };
            let indent = if self.fold_of(*row).is_some() { "  " } else { "" };
            let text = self.rows.get(*row).map_or("", |row| &row.text);
            format!("{cursor} [{mark}] {indent}{}", filter::printable(text, false))
        };
        let mut lines = vec![match self.is_typing {
            true => format!(
                "filter: {}_ (Enter to keep it, Esc to clear it)",
                sanitize::text(&self.filter)
            ),
            false => keys.to_owned(),
        }];
        lines.extend(page.map(line));
        let total = self.shown.len();
        let chosen = self.chosen().len();
        let by = match self.filter.is_empty() {
            true => String::new(),
            false => format!(" with {:?}", self.filter),
        };
        lines.push(match total {
            0 => format!("no line{by}; {chosen} chosen"),
            _ => format!(
                "{}-{} of {total}{by}; {chosen} chosen",
                first + 1,
                (first + room).min(total)
            ),
        });
        lines
    }

    fn is_any_checked(&self, fold: usize) -> bool {
        self.members(fold).iter().any(|row| self.is_checked(*row))
    }

    /// Returns the chosen rows but for folds.
    fn chosen(&self) -> Vec<usize> {
        let all = self.checked.iter().enumerate();
        let chosen = all.filter(|(at, checked)| **checked && !self.is_fold(*at));
        chosen.map(|(at, _)| at).collect()
    }
}

#[cfg(test)]
mod tests {
    use dialoguer::console::Key;

    use super::{Checklist, Row};

    /// A directory with a file on a line of its own, and a fold of two files and their directory.
    fn list() -> Checklist {
        let row = |text: &str, fold, above: &[usize]| Row {
            text: text.to_owned(),
            fold,
            above: above.to_vec(),
        };
        Checklist::new(vec![
            row("create docs/", None, &[]),
            row("create docs/a", None, &[0]),
            row("delete new/ (2 files)", None, &[]),
            row("delete new/", Some(2), &[]),
            row("delete new/x", Some(2), &[3]),
            row("delete new/y", Some(2), &[3]),
            row("replace z", None, &[]),
        ])
    }

    fn press(list: &mut Checklist, keys: &str) {
        for letter in keys.chars() {
            let key = match letter {
                '\n' => Key::Enter,
                'v' => Key::ArrowDown,
                '^' => Key::ArrowUp,
                letter => Key::Char(letter),
            };
            assert_eq!(list.press(&key, 10), None);
        }
    }

    #[test]
    fn a_directory_and_a_fold_include_all_below_them() {
        for (keys, chosen) in [
            (" ", &[0, 1][..]),
            ("v ", &[1]),
            // Without one of its files a directory is not chosen whole.
            (" v ", &[]),
            ("vv ", &[3, 4, 5]),
            ("vvovv ", &[4]),
            ("^ ", &[6]),
            ("a", &[0, 1, 3, 4, 5, 6]),
            ("aa", &[]),
            // A filter looks into folds, and `a` means what is shown.
            ("/x\na", &[4]),
            ("/NEW\na", &[3, 4, 5]),
            ("/nothing\n a", &[]),
        ] {
            let mut list = list();
            press(&mut list, keys);
            assert_eq!(list.chosen(), chosen, "{keys:?}");
        }
    }

    #[test]
    fn pages_and_marks_are_shown() {
        let mut list = list();
        press(&mut list, "vv o");
        press(&mut list, "v ");
        let lines = list.lines("keys", 4);
        assert_eq!(lines.len(), 6, "{lines:?}");
        assert_eq!(lines[0], "keys");
        assert!(lines[3].contains("[ ] delete new/ (2 files)"), "{lines:?}");
        assert!(lines[5].starts_with("1-4 of 7"), "{lines:?}");
        list.press(&Key::PageDown, 4);
        assert!(list.lines("keys", 4)[3].starts_with("> [ ] replace z"));
        assert_eq!(list.press(&Key::Escape, 4), Some(false));
        assert_eq!(list.press(&Key::Enter, 4), Some(true));
    }
}
