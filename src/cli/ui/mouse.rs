//! Mouse input: the wheel moves, a click selects, and a click on the selected row opens it.

use ratatui::crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::{Position, Rect};

use super::app::App;
use super::views::View;

/// Lines that a turn of the wheel moves.
const WHEEL: isize = 3;

impl App {
    /// The mouse did something.
    pub(super) fn mouse(&mut self, mouse: MouseEvent) {
        let at = Position::new(mouse.column, mouse.row);
        let by = match mouse.kind {
            MouseEventKind::ScrollDown => WHEEL,
            MouseEventKind::ScrollUp => -WHEEL,
            MouseEventKind::Down(MouseButton::Left) => {
                if self.message.take().is_none() && self.help.take().is_none() {
                    self.clicked(at);
                }
                return;
            }
            _ => return,
        };
        if self.drawn.side.contains(at) {
            self.slide_patch(by);
        } else if !self.acts() {
            self.step(by);
        }
    }

    /// Moves the cursor to a line of the preview.
    fn clicked_line(&mut self, at: Position) {
        let row = usize::from(at.y - self.drawn.side.y);
        let line = self.drawn.side_lines.get(row).copied();
        let preview = self.compared.as_mut().map(|compared| &mut compared.preview);
        let (Some(line), Some(preview)) = (line, preview.filter(|preview| preview.of.is_some())) else {
            return;
        };
        preview.at = line;
        self.typing = false;
        if self.view() == View::Changes {
            self.views.push(View::Patch);
        }
    }

    /// A row is chosen; the one that is chosen already opens.
    fn clicked(&mut self, at: Position) {
        let Rect { y, .. } = self.drawn.list;
        if self.acts() {
            return;
        }
        if self.drawn.side.contains(at) {
            return self.clicked_line(at);
        }
        if !self.drawn.list.contains(at) {
            return;
        }
        self.typing = false;
        if self.view() == View::Patch {
            self.back();
        }
        let row = usize::from(at.y - y);
        let Some((length, scroll)) = self.list() else {
            return;
        };
        let row = scroll.top + row;
        if row >= length {
            return;
        }
        let again = scroll.at == row;
        scroll.at = row;
        match again {
            true => self.enter(false),
            false => self.follow(),
        }
    }
}
