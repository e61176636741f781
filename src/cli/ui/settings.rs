//! Keys and colors that the operator chose.

use std::collections::BTreeMap;

use ratatui::buffer::Buffer;
use ratatui::crossterm::event::KeyCode;
use ratatui::style::Color;

/// Keys and colors that differ from the defaults.
#[derive(Clone, Debug, Default)]
pub(in crate::cli) struct Settings {
    /// Key that is pressed, and the one that it acts as.
    pub(in crate::cli) keys: BTreeMap<char, char>,
    /// Color by its role: `added`, `removed`, `changed` or `path`.
    pub(in crate::cli) colors: BTreeMap<&'static str, &'static str>,
}

impl Settings {
    /// Returns the key that a pressed one acts as. A default key that is taken away does nothing.
    pub(super) fn acts_as(&self, code: KeyCode) -> KeyCode {
        let KeyCode::Char(letter) = code else { return code };
        if let Some(meant) = self.keys.get(&letter) {
            return KeyCode::Char(*meant);
        }
        match self.keys.values().any(|default| *default == letter) {
            true => KeyCode::Null,
            false => code,
        }
    }

    /// Returns the text of a key with the letters that the operator presses.
    pub(super) fn shown(&self, keys: &str) -> String {
        let pressed = |default: char| {
            let mut set = self.keys.iter();
            set.find(|(_, meant)| **meant == default)
                .map(|(pressed, _)| *pressed)
        };
        let word = |letter: char| match letter {
            ' ' => "Space".to_owned(),
            letter => letter.to_string(),
        };
        match keys {
            "Space" => pressed(' ').map_or_else(|| keys.to_owned(), word),
            "Enter" | "Esc" | "Tab" | "type" => keys.to_owned(),
            keys => {
                let letters = keys.chars().map(|letter| match letter {
                    ' ' => " ".to_owned(),
                    letter => pressed(letter).map_or_else(|| letter.to_string(), word),
                });
                letters.collect()
            }
        }
    }

    /// Replaces the default colors of a picture.
    pub(super) fn color(&self, buffer: &mut Buffer) {
        if self.colors.is_empty() {
            return;
        }
        let role = |color: Color| match color {
            Color::Green => Some("added"),
            Color::Red => Some("removed"),
            Color::Yellow => Some("changed"),
            Color::Cyan => Some("path"),
            _ => None,
        };
        for cell in &mut buffer.content {
            let chosen = role(cell.fg).and_then(|role| self.colors.get(role));
            if let Some(chosen) = chosen {
                cell.fg = color(chosen);
            }
        }
    }
}

fn color(word: &str) -> Color {
    match word {
        "black" => Color::Black,
        "red" => Color::Red,
        "green" => Color::Green,
        "yellow" => Color::Yellow,
        "blue" => Color::Blue,
        "magenta" => Color::Magenta,
        "cyan" => Color::Cyan,
        "white" => Color::White,
        _ => Color::Reset,
    }
}
