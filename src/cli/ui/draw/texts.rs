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
use crate::terminal::{Role, size, width};

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
        (false, _) => vec![" Nothing to do.".to_owned()],
        (true, Goal::Undo(Some(receipt))) => asked(&format!("Undo restore {receipt}?"), columns),
        (true, Goal::Undo(None)) => asked("Undo this restore?", columns),
        (true, _) => {
            let paths = size::counted(plan.paths, "path", "paths");
            asked(&format!("Restore {paths}?"), columns)
        }
    };
    let question = question.into_iter();
    foot.extend(question.map(|line| Line::styled(line, paint::look(Role::Heading))));
    let height = u16::try_from(foot.len()).unwrap_or(1);
    let [body, last] = Layout::vertical([Constraint::Fill(1), Constraint::Length(height)]).areas(area);
    app.drawn.list = body;
    text(&mut plan.page, (columns, app.typing), frame, body);
    frame.render_widget(Paragraph::new(foot), last);
}

pub(super) fn forget(app: &mut App, frame: &mut Frame<'_>, area: Rect) {
    let Some(plan) = &mut app.forget else { return };
    plan.seen = true;
    let columns = usize::from(area.width);
    let question = asked("Delete this permanently? It cannot be undone.", columns);
    let height = u16::try_from(question.len()).unwrap_or(1);
    let [body, last] = Layout::vertical([Constraint::Fill(1), Constraint::Length(height)]).areas(area);
    app.drawn.list = body;
    text(&mut plan.page, (columns, app.typing), frame, body);
    let question = question.into_iter();
    let question = question.map(|line| Line::styled(line, paint::look(Role::Warning)));
    frame.render_widget(Paragraph::new(question.collect::<Vec<_>>()), last);
}

/// Returns a question with its keys, on as many lines as it needs.
fn asked(question: &str, columns: usize) -> Vec<String> {
    const KEYS: &str = "y  yes    Esc  no";
    let line = format!(" {question}  {KEYS}");
    if width::of(&line) <= columns {
        return vec![line];
    }
    let lines = width::wrap(question, columns.saturating_sub(1)).into_iter();
    lines
        .chain([KEYS.to_owned()])
        .map(|line| format!(" {line}"))
        .collect()
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
