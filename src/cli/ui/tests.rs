//! The screen without a terminal: what is drawn, and what keys do.

mod copies;
mod flows;
mod made;
mod places;
mod screens;
mod trees;

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::app::App;
use super::data::{Answer, Ask};
use super::draw;
use crate::terminal::width;

/// A screen, and who pretends to work for it.
pub(super) struct Played {
    pub(super) app: App,
    size: (u16, u16),
}

impl Played {
    pub(super) fn new(columns: u16, lines: u16) -> Self {
        Self {
            app: App::new(None, made::now()),
            size: (columns, lines),
        }
    }

    /// Draws, and gives what is seen.
    pub(super) fn buffer(&mut self) -> Buffer {
        let mut terminal = Terminal::new(TestBackend::new(self.size.0, self.size.1)).unwrap();
        terminal.draw(|frame| draw::draw(&mut self.app, frame)).unwrap();
        terminal.backend().buffer().clone()
    }

    /// Returns the screen as text, without colors.
    pub(super) fn text(&mut self) -> String {
        let buffer = self.buffer();
        let columns = usize::from(self.size.0);
        let lines = buffer.content.chunks(columns).map(|cells| {
            let mut line = String::new();
            // A wide character stands in the first of its two cells.
            let mut room = 0;
            for cell in cells {
                if room == 0 {
                    line.push_str(cell.symbol());
                    room = width::of(cell.symbol()).max(1);
                }
                room -= 1;
            }
            line.trim_end().to_owned()
        });
        lines.collect::<Vec<_>>().join("\n") + "\n"
    }

    pub(super) fn press(&mut self, code: KeyCode) -> &mut Self {
        self.buffer();
        self.app.key(KeyEvent::new(code, KeyModifiers::NONE));
        self
    }

    pub(super) fn keys(&mut self, letters: &str) -> &mut Self {
        for letter in letters.chars() {
            self.press(KeyCode::Char(letter));
        }
        self
    }

    /// Takes the requests made since the last call.
    pub(super) fn asked(&mut self) -> Vec<Ask> {
        self.app.asks.drain(..).map(|(_, ask)| ask).collect()
    }

    /// Answers the question that was asked last.
    pub(super) fn tell(&mut self, answer: Answer) -> &mut Self {
        let number = self.app.asks.last().map_or_else(
            || self.app.waiting.map_or(0, |waiting| waiting.number),
            |(number, _)| *number,
        );
        self.app.asks.clear();
        self.app.told(number, answer);
        self
    }
}
