//! Meanings of colors. Text is always painted; the stream drops the codes if it shows no colors.

use anstyle::{AnsiColor, Style};

use super::color_code::split_code;
use super::width;

/// Role of a piece of text, which decides its style.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A heading.
    Heading,
    /// Something that came into being.
    Added,
    /// Something that went away.
    Removed,
    /// Something that is different now.
    Changed,
    /// Something to look at.
    Warning,
    /// Something that went wrong.
    Error,
    /// Something of less weight.
    Dim,
    /// A path or a name.
    Path,
}

impl Role {
    /// Returns the style of text in this role.
    #[must_use]
    pub const fn style(self) -> Style {
        let plain = Style::new();
        match self {
            Self::Heading => plain.bold(),
            Self::Added => color(AnsiColor::Green),
            Self::Removed => color(AnsiColor::Red),
            Self::Changed => color(AnsiColor::Yellow),
            Self::Warning => color(AnsiColor::Yellow).bold(),
            Self::Error => color(AnsiColor::Red).bold(),
            Self::Dim => plain.dimmed(),
            Self::Path => color(AnsiColor::Cyan),
        }
    }
}

/// `text` in the look of `role`, each line on its own so that lines can be cut apart.
#[must_use]
pub fn paint(role: Role, text: &str) -> String {
    let style = role.style();
    let lines = text.split('\n').map(|line| match line {
        "" => String::new(),
        line => format!("{style}{line}{style:#}"),
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// `label: text`, the label in the look of `role`, the text wrapped at `columns` and aligned behind the label.
#[must_use]
pub fn labeled(role: Role, label: &str, text: &str, columns: usize) -> String {
    let indent = width::of(label) + 2;
    let body = width::wrap(text, columns.saturating_sub(indent)).join(&format!("\n{:indent$}", ""));
    format!("{} {body}", paint(role, &format!("{label}:")))
}

/// A painted line in its parts: how each looks, and what it says.
#[must_use]
pub fn parts(line: &str) -> Vec<(Style, String)> {
    let mut all: Vec<(Style, String)> = Vec::new();
    let (mut look, mut rest) = (Style::new(), line);
    while !rest.is_empty() {
        if let Some((code, after)) = split_code(rest) {
            let numbers = code.trim_start_matches("\x1b[").trim_end_matches('m');
            look = numbers.split(';').fold(look, with_code);
            rest = after;
            continue;
        }
        let first = rest.chars().next().map_or(1, char::len_utf8);
        let next = rest.get(first..).and_then(|tail| tail.find('\x1b'));
        let (text, after) = rest.split_at(next.map_or(rest.len(), |at| at + first));
        all.push((look, text.to_owned()));
        rest = after;
    }
    all
}

fn with_code(look: Style, number: &str) -> Style {
    const COLORS: [AnsiColor; 8] = [
        AnsiColor::Black,
        AnsiColor::Red,
        AnsiColor::Green,
        AnsiColor::Yellow,
        AnsiColor::Blue,
        AnsiColor::Magenta,
        AnsiColor::Cyan,
        AnsiColor::White,
    ];
    let number: usize = number.parse().unwrap_or(0);
    match number {
        0 => Style::new(),
        1 => look.bold(),
        2 => look.dimmed(),
        3 => look.italic(),
        4 => look.underline(),
        39 => look.fg_color(None),
        30..=37 | 90..=97 => {
            let color = COLORS.get(number % 10).copied();
            look.fg_color(color.map(anstyle::Color::Ansi))
        }
        _ => look,
    }
}

const fn color(color: AnsiColor) -> Style {
    Style::new().fg_color(Some(anstyle::Color::Ansi(color)))
}
