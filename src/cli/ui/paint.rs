//! From painted text to what the screen library draws.

use anstyle::{AnsiColor, Color as Ansi, Effects};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};

use crate::cli::highlight::Token;
use crate::terminal::{Role, style, width};

/// The look of a role. Only the sixteen colors of the terminal's own theme: they suit a light and a dark one.
pub(super) fn look(role: Role) -> Style {
    of(role.style())
}

/// Returns `base` with the color of a part of code. Green and red are those of added and removed lines.
pub(super) fn code(base: Style, token: Token) -> Style {
    match token {
        Token::Keyword => base.fg(Color::Magenta),
        Token::Text => base.fg(Color::Cyan),
        Token::Constant | Token::Name => base.fg(Color::Blue),
        Token::Comment => base.add_modifier(Modifier::DIM),
    }
}

fn of(style: anstyle::Style) -> Style {
    let mut made = Style::new();
    if let Some(Ansi::Ansi(color)) = style.get_fg_color() {
        made = made.fg(match color {
            AnsiColor::Red | AnsiColor::BrightRed => Color::Red,
            AnsiColor::Green | AnsiColor::BrightGreen => Color::Green,
            AnsiColor::Yellow | AnsiColor::BrightYellow => Color::Yellow,
            AnsiColor::Blue | AnsiColor::BrightBlue => Color::Blue,
            AnsiColor::Magenta | AnsiColor::BrightMagenta => Color::Magenta,
            AnsiColor::Cyan | AnsiColor::BrightCyan => Color::Cyan,
            _ => Color::Reset,
        });
    }
    let effects = style.get_effects();
    for (effect, modifier) in [
        (Effects::BOLD, Modifier::BOLD),
        (Effects::DIMMED, Modifier::DIM),
        (Effects::ITALIC, Modifier::ITALIC),
        (Effects::UNDERLINE, Modifier::UNDERLINED),
    ] {
        if effects.contains(effect) {
            made = made.add_modifier(modifier);
        }
    }
    made
}

/// A text with jackin's color codes, line by line, none of them wider than `columns`.
pub(super) fn lines(text: &str, columns: usize) -> Vec<Line<'static>> {
    let lines = text.lines().flat_map(|line| {
        let parts = style::parts(line);
        fold(parts.into_iter().map(|(look, text)| (of(look), text)), columns)
    });
    lines.collect()
}

/// Spans cut to `columns`, with an ellipsis where something is missing.
pub(super) fn cut(parts: impl IntoIterator<Item = (Style, String)>, columns: usize) -> Line<'static> {
    let parts: Vec<(Style, String)> = parts.into_iter().collect();
    let all: usize = parts.iter().map(|(_, text)| width::of(text)).sum();
    let mut room = if all > columns {
        columns.saturating_sub(1)
    } else {
        columns
    };
    let mut spans = Vec::new();
    for (look, text) in parts {
        let mut shown = String::new();
        for letter in text.chars() {
            match room.checked_sub(width::of_char(letter)) {
                Some(left) => room = left,
                None => {
                    room = 0;
                    break;
                }
            }
            shown.push(letter);
        }
        spans.push(Span::styled(shown, look));
    }
    if all > columns {
        spans.push(Span::styled("\u{2026}", look(Role::Dim)));
    }
    spans.into()
}

/// Columns that [`fold`] takes at least.
pub(super) const NARROWEST: usize = 8;

/// Spans broken so that no line is wider than `columns`, at a blank where there is one. A line that goes on begins as deep as the first.
pub(super) fn fold(parts: impl IntoIterator<Item = (Style, String)>, columns: usize) -> Vec<Line<'static>> {
    let letters: Vec<(char, Style)> = parts
        .into_iter()
        .flat_map(|(look, text)| text.chars().map(|letter| (letter, look)).collect::<Vec<_>>())
        .collect();
    let columns = columns.max(NARROWEST);
    let wide = width::of_char;
    let indent = letters.iter().take_while(|(letter, _)| *letter == ' ').count();
    let indent = if indent * 2 < columns { indent } else { 0 };
    let mut made = Vec::new();
    let mut rest = letters.as_slice();
    loop {
        let before = if made.is_empty() { 0 } else { indent };
        let (mut used, mut fits, mut blank) = (before, 0, None);
        for (at, (letter, _)) in rest.iter().enumerate() {
            used += wide(*letter);
            if used > columns {
                break;
            }
            fits = at + 1;
            if *letter == ' ' && at > indent {
                blank = Some(at + 1);
            }
        }
        let fits = fits.max(usize::from(!rest.is_empty()));
        let cut = if fits < rest.len() {
            blank.unwrap_or(fits)
        } else {
            fits
        };
        let (now, later) = rest.split_at(cut);
        let mut spans: Vec<Span<'static>> = Vec::new();
        if before > 0 {
            spans.push(Span::raw(" ".repeat(before)));
        }
        for (letter, look) in now {
            match spans.last_mut().filter(|last| last.style == *look) {
                Some(last) => last.content.to_mut().push(*letter),
                None => spans.push(Span::styled(letter.to_string(), *look)),
            }
        }
        made.push(Line::from(spans));
        rest = later;
        if rest.is_empty() {
            return made;
        }
    }
}
