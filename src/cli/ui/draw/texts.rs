//! Texts that are laid out already: a plan, what was done, the log.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::Line;
use ratatui::widgets::Paragraph;

use super::super::app::App;
use super::super::data::Goal;
use super::super::paint;
use super::super::views::{Drawn, Page};
use crate::terminal::Role;

pub(super) fn plan(app: &mut App, frame: &mut Frame<'_>, area: Rect) {
    let Some(plan) = &mut app.plan else { return };
    plan.seen = true;
    let columns = usize::from(area.width);
    let request = &plan.request;
    let mut foot = Vec::new();
    for (allowed, words) in [
        (request.overwrite_later, "later edits are overwritten"),
        (request.delete_later, "later files are deleted"),
    ] {
        if allowed {
            foot.push(Line::styled(format!(" {words}"), paint::look(Role::Warning)));
        }
    }
    let question = match (plan.does_something, &request.goal) {
        (false, _) => " Nothing to do.".to_owned(),
        (true, Goal::Undo(Some(receipt))) => format!(" Undo restore {receipt}?  y  yes    Esc  no"),
        (true, Goal::Undo(None)) => " Undo this restore?  y  yes    Esc  no".to_owned(),
        (true, _) => " Restore these files?  y  yes    Esc  no".to_owned(),
    };
    foot.push(Line::styled(question, paint::look(Role::Heading)));
    let height = u16::try_from(foot.len()).unwrap_or(1);
    let [body, last] = Layout::vertical([Constraint::Fill(1), Constraint::Length(height)]).areas(area);
    app.drawn.list = body;
    text(&mut plan.page, columns, frame, body);
    frame.render_widget(Paragraph::new(foot), last);
}

pub(super) fn forget(app: &mut App, frame: &mut Frame<'_>, area: Rect) {
    let Some(plan) = &mut app.forget else { return };
    plan.seen = true;
    let [body, last] = Layout::vertical([Constraint::Fill(1), Constraint::Length(1)]).areas(area);
    app.drawn.list = body;
    text(&mut plan.page, usize::from(area.width), frame, body);
    let question = " Delete this permanently? It cannot be undone.  y  yes    Esc  no";
    frame.render_widget(
        Paragraph::new(Line::styled(question, paint::look(Role::Warning))),
        last,
    );
}

pub(super) fn page(page: &mut Page, drawn: &mut Drawn, frame: &mut Frame<'_>, area: Rect) {
    drawn.list = area;
    text(page, usize::from(area.width), frame, area);
}

/// A long text is laid out once for each width.
fn text(page: &mut Page, columns: usize, frame: &mut Frame<'_>, area: Rect) {
    let height = usize::from(area.height);
    if page.laid.as_ref().is_none_or(|(laid, _)| *laid != columns) {
        page.laid = Some((columns, paint::lines(&page.text, columns)));
    }
    let lines = page
        .laid
        .as_ref()
        .map(|(_, lines)| lines.as_slice())
        .unwrap_or_default();
    page.scroll.slide(0, lines.len(), height);
    let shown: Vec<Line<'_>> = lines.iter().skip(page.scroll.top).take(height).cloned().collect();
    frame.render_widget(Paragraph::new(shown), area);
}
