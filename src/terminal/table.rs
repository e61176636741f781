//! Columns that line up, in as many columns of the terminal as there are.

use super::style::{self, Role};
use super::width;

/// Blanks between two columns.
const GAP: usize = 2;
/// A column that gives way keeps at least so much.
const LEAST: usize = 8;

/// Behavior of a column if the line is too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// Keeps its width.
    Keep,
    /// Loses the middle of its text.
    Cut,
    /// Goes on in the next line, broken at spaces.
    Wrap,
}

/// One column.
#[derive(Clone, Debug)]
pub struct Column {
    title: String,
    right: bool,
    fit: Fit,
}

impl Column {
    /// A column that starts at the left and keeps its width. When no column has a title there is no heading.
    #[must_use]
    pub fn new(title: &str) -> Self {
        Self {
            title: title.to_owned(),
            right: false,
            fit: Fit::Keep,
        }
    }

    /// Aligns the column at the right, for numbers.
    #[must_use]
    pub fn right(self) -> Self {
        Self { right: true, ..self }
    }

    /// Sets the behavior of the column if the line is too long.
    #[must_use]
    pub fn fit(self, fit: Fit) -> Self {
        Self { fit, ..self }
    }
}

/// Text in one place of the table: clean, on one line, and without colors (they come from the role).
#[derive(Clone, Debug, Default)]
pub struct Cell {
    text: String,
    role: Option<Role>,
}

impl Cell {
    /// Text that looks like `role`.
    #[must_use]
    pub fn new(role: Role, text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            role: Some(role),
        }
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self {
            text: text.into(),
            role: None,
        }
    }
}

/// Columns and rows.
#[derive(Clone, Debug)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    /// A table without rows.
    #[must_use]
    pub fn new(columns: impl IntoIterator<Item = Column>) -> Self {
        Self {
            columns: columns.into_iter().collect(),
            rows: Vec::new(),
        }
    }

    /// The same columns without a row.
    #[must_use]
    pub fn emptied(&self) -> Self {
        Self::new(self.columns.clone())
    }

    /// Adds a row. Missing cells are empty, those too many are not shown.
    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Returns true if there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The lines, without a newline at the end. They are at most `columns` wide, unless columns that keep their width,
    /// or a single long word in a wrapped one, need more.
    #[must_use]
    pub fn render(&self, columns: usize) -> String {
        let widths = self.widths(columns);
        let mut lines = Vec::new();
        if self.has_heading() {
            let titles = self
                .columns
                .iter()
                .map(|column| Cell::new(Role::Heading, column.title.clone()));
            self.render_row(&titles.collect::<Vec<_>>(), &widths, &mut lines);
        }
        for row in &self.rows {
            self.render_row(row, &widths, &mut lines);
        }
        lines.join("\n")
    }

    fn has_heading(&self) -> bool {
        self.columns.iter().any(|column| !column.title.is_empty())
    }

    /// Natural widths first; then whatever is too much is taken from the widest column that may give way.
    fn widths(&self, columns: usize) -> Vec<usize> {
        let natural = |(at, column): (usize, &Column)| {
            let cells = self
                .rows
                .iter()
                .filter_map(|row| row.get(at))
                .map(|cell| width::of(&cell.text));
            cells.chain([width::of(&column.title)]).max().unwrap_or(0)
        };
        let mut widths: Vec<usize> = self.columns.iter().enumerate().map(natural).collect();
        let gaps = GAP * widths.len().saturating_sub(1);
        let mut excess = (widths.iter().sum::<usize>() + gaps).saturating_sub(columns);
        while excess > 0 {
            let mut flexible: Vec<&mut usize> = widths
                .iter_mut()
                .zip(&self.columns)
                .filter(|(width, column)| column.fit != Fit::Keep && **width > LEAST)
                .map(|(width, _)| width)
                .collect();
            flexible.sort_unstable_by(|a, b| b.cmp(a));
            let next = flexible.get(1).map_or(LEAST, |width| **width);
            let Some(widest) = flexible.first_mut() else { break };
            let give = (**widest - next).clamp(1, excess);
            **widest -= give;
            excess -= give;
        }
        widths
    }

    fn render_row(&self, row: &[Cell], widths: &[usize], lines: &mut Vec<String>) {
        let nothing = Cell::default();
        let cells: Vec<(Vec<String>, Option<Role>)> = self
            .columns
            .iter()
            .enumerate()
            .map(|(at, column)| {
                (
                    row.get(at).unwrap_or(&nothing),
                    column,
                    widths.get(at).copied().unwrap_or(0),
                )
            })
            .map(|(cell, column, width)| (parts(&cell.text, column.fit, width), cell.role))
            .collect();
        let height = cells.iter().map(|(parts, _)| parts.len()).max().unwrap_or(0);
        for level in 0..height {
            let mut line = String::new();
            let mut blanks = 0;
            for (((parts, role), column), width) in cells.iter().zip(&self.columns).zip(widths) {
                let part = parts.get(level).map_or("", String::as_str);
                let missing = width.saturating_sub(width::of(part));
                let (before, after) = if column.right { (missing, 0) } else { (0, missing) };
                // Blanks are written only when something follows, so no line ends in them.
                if !part.is_empty() {
                    line.extend(std::iter::repeat_n(' ', blanks + before));
                    line.push_str(&role.map_or_else(|| part.to_owned(), |role| style::paint(role, part)));
                    blanks = after + GAP;
                } else {
                    blanks += width + GAP;
                }
            }
            lines.push(line);
        }
    }
}

fn parts(text: &str, fit: Fit, width: usize) -> Vec<String> {
    match fit {
        Fit::Keep => vec![text.to_owned()],
        Fit::Cut => vec![width::cut(text, width)],
        Fit::Wrap => width::wrap(text, width),
    }
}
