//! Texts that are laid out already: a plan, what was done, the log.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Modifier;
use ratatui::text::Line;
use ratatui::widgets::Paragraph;

use super::super::app::App;
use super::super::data::Goal;
use super::super::paint;
use super::super::views::{Drawn, Page};
use super::said;
use crate::terminal::{Role, size};

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
        (true, _) => {
            let paths = size::counted(plan.paths, "path", "paths");
            format!(" Restore {paths}?  y  yes    Esc  no")
        }
    };
    foot.push(Line::styled(question, paint::look(Role::Heading)));
    let height = u16::try_from(foot.len()).unwrap_or(1);
    let [body, last] = Layout::vertical([Constraint::Fill(1), Constraint::Length(height)]).areas(area);
    app.drawn.list = body;
    text(&mut plan.page, (columns, app.typing), frame, body);
    frame.render_widget(Paragraph::new(foot), last);
}

pub(super) fn forget(app: &mut App, frame: &mut Frame<'_>, area: Rect) {
    let Some(plan) = &mut app.forget else { return };
    plan.seen = true;
    let [body, last] = Layout::vertical([Constraint::Fill(1), Constraint::Length(1)]).areas(area);
    app.drawn.list = body;
    text(&mut plan.page, (usize::from(area.width), app.typing), frame, body);
    let question = " Delete this permanently? It cannot be undone.  y  yes    Esc  no";
    frame.render_widget(
        Paragraph::new(Line::styled(question, paint::look(Role::Warning))),
        last,
    );
}

pub(super) fn page(page: &mut Page, typing: bool, drawn: &mut Drawn, frame: &mut Frame<'_>, area: Rect) {
    drawn.list = area;
    text(page, (usize::from(area.width), typing), frame, area);
}

/// A long text is laid out once for each width.
fn text(page: &mut Page, (columns, typing): (usize, bool), frame: &mut Frame<'_>, area: Rect) {
    let mut area = area;
    if typing || !page.search.is_empty() {
        let [head, body] = Layout::vertical([Constraint::Length(1), Constraint::Fill(1)]).areas(area);
        let hits = size::counted(page.hits().len() as u64, "line", "lines");
        let cursor = if typing { "_" } else { "" };
        said(
            frame,
            head,
            &format!(" search: {}{cursor}  ({hits})", page.search),
        );
        area = body;
    }
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
    let mut shown: Vec<Line<'_>> = lines.iter().skip(page.scroll.top).take(height).cloned().collect();
    for hit in page.hits() {
        let row = hit.checked_sub(page.scroll.top);
        if let Some(line) = row.and_then(|row| shown.get_mut(row)) {
            line.style = line.style.add_modifier(Modifier::REVERSED);
        }
    }
    frame.render_widget(Paragraph::new(shown), area);
}
