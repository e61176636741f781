//! The tree of what changed, and the lines of the path that is chosen.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::super::app::App;
use super::super::data::{Kind, PatchLine};
use super::super::paint;
use super::super::tree::{Marks, Row};
use super::super::views::Compared;
use super::{WIDE, row, said, seen};
use crate::cli::view::steps::signed_counts;
use crate::model::PathCounts;
use crate::report;
use crate::terminal::{Role, size, width};

pub(super) fn changes(app: &mut App, frame: &mut Frame<'_>, area: Rect) {
    let typing = app.typing;
    let Some(compared) = &mut app.compared else { return };
    let mut area = area;
    if area.width >= WIDE {
        let [left, right] = Layout::horizontal([Constraint::Fill(2), Constraint::Fill(3)])
            .spacing(2)
            .areas(area);
        area = left;
        app.drawn.side = right;
        lines(compared, frame, right);
    }
    let [head, list] = Layout::vertical([Constraint::Length(1), Constraint::Fill(1)]).areas(area);
    app.drawn.list = list;
    let tree = &compared.tree;
    let all = compared.changes.all.len() as u64;
    let mut words = vec![match all {
        0 => "no differences".to_owned(),
        _ if tree.left == all => size::counted(all, "path", "paths"),
        _ => format!(
            "{} of {}",
            size::count(tree.left),
            size::counted(all, "path", "paths")
        ),
    }];
    if !tree.marked.is_empty() {
        words.push(format!("{} marked", size::count(tree.marked.len() as u64)));
    }
    if tree.kind != Kind::All {
        words.push(format!("only: {}", tree.kind.word()));
    }
    if typing || !tree.filter.is_empty() {
        words.push(format!(
            "filter: {}{}",
            tree.filter,
            if typing { "_" } else { "" }
        ));
    }
    said(frame, head, &format!(" {}", words.join("   ")));
    compared.scroll.keep(tree.rows.len(), usize::from(list.height));
    for (at, line) in seen(tree.rows.len(), compared.scroll.top, list.height) {
        let spans = spans(compared, at, usize::from(list.width));
        row(frame, list, line, spans, at == compared.scroll.at);
    }
}

/// Returns the spans of one row of the tree.
fn spans(compared: &Compared, at: usize, columns: usize) -> Vec<Span<'static>> {
    let tree = &compared.tree;
    let mark = match tree.marks(at, &compared.changes) {
        Marks::None => " ",
        Marks::Part => "-",
        Marks::All => "*",
    };
    let mut spans = vec![Span::styled(format!(" {mark} "), paint::look(Role::Heading))];
    match tree.rows.get(at) {
        None => {}
        Some(Row::Beside) => spans.push(Span::styled(
            "settings, repositories, and what is not compared",
            paint::look(Role::Warning),
        )),
        Some(Row::Running(count)) => {
            let words = format!(
                "executables and hooks: {}",
                size::counted(*count, "path", "paths")
            );
            spans.push(Span::styled(words, paint::look(Role::Warning)));
        }
        Some(Row::Runs(change)) => {
            if let Some(change) = compared.changes.all.get(*change) {
                let room = columns.saturating_sub(8);
                spans.push(Span::styled(
                    format!("  {} ", change.letter),
                    paint::look(change.role),
                ));
                spans.push(Span::raw(width::cut(&change.names.join("/"), room)));
            }
        }
        Some(Row::Place(place)) => {
            let Some(place) = tree.place(*place) else {
                return spans;
            };
            let change = place.change.and_then(|change| compared.changes.all.get(change));
            let (letter, role) = change.map_or((" ", Role::Dim), |change| (change.letter, change.role));
            let arrow = match (place.opens, place.is_open) {
                (false, _) => " ",
                (true, true) => "\u{25be}",
                (true, false) => "\u{25b8}",
            };
            let slash = if place.is_directory { "/" } else { "" };
            let mut more = if place.opens {
                counts(place.counts)
            } else {
                String::new()
            };
            if let Some(detail) = change
                .map(|change| &change.detail)
                .filter(|detail| !detail.is_empty())
            {
                more.push_str(&format!("  ({detail})"));
            }
            let indent = " ".repeat((2 * place.depth).min(columns / 2));
            let room = columns.saturating_sub(indent.len() + 7);
            spans.push(Span::raw(format!("{indent}{arrow}")));
            spans.push(Span::styled(format!("{letter} "), paint::look(role)));
            spans.push(Span::raw(width::cut(&format!("{}{slash}", place.name), room)));
            spans.push(Span::styled(more, paint::look(Role::Dim)));
        }
    }
    spans
}

fn counts(counts: PathCounts) -> String {
    signed_counts(counts).map(|count| format!("  {count}")).collect()
}

pub(super) fn patch(app: &mut App, frame: &mut Frame<'_>, area: Rect) {
    let Some(compared) = &mut app.compared else { return };
    let [head, list] = Layout::vertical([Constraint::Length(1), Constraint::Fill(1)]).areas(area);
    (app.drawn.list, app.drawn.side) = (list, list);
    let change = compared.patch_of.and_then(|at| compared.changes.all.get(at));
    if let Some(change) = change {
        let detail = match change.detail.as_str() {
            "" => String::new(),
            detail => format!("  ({detail})"),
        };
        said(
            frame,
            head,
            &format!(" {} {}{detail}", change.letter, change.names.join("/")),
        );
    }
    lines(compared, frame, list);
}

/// The lines of the path that is chosen, or what is said beside the paths.
fn lines(compared: &mut Compared, frame: &mut Frame<'_>, area: Rect) {
    let columns = usize::from(area.width);
    let height = usize::from(area.height);
    if compared.patch_of.is_none() {
        let all = match compared.tree.rows.get(compared.scroll.at) {
            Some(Row::Beside) => paint::lines(&compared.changes.beside, columns),
            _ => Vec::new(),
        };
        compared.patch_scroll.slide(0, all.len(), height);
        let shown: Vec<Line<'_>> = all
            .into_iter()
            .skip(compared.patch_scroll.top)
            .take(height)
            .collect();
        frame.render_widget(Paragraph::new(shown), area);
        return;
    }
    // A long line goes on below: how far down one can go depends on the last ones.
    let lines = |from: &PatchLine| paint::fold(drawn(from), columns);
    let (mut last, mut room) = (compared.patch.len(), height);
    for line in compared.patch.iter().rev() {
        match room.checked_sub(lines(line).len()) {
            Some(left) => room = left,
            None => break,
        }
        last -= 1;
    }
    let scroll = &mut compared.patch_scroll;
    scroll.top = scroll.top.min(last);
    let shown = compared.patch.iter().skip(scroll.top).flat_map(lines);
    frame.render_widget(Paragraph::new(shown.take(height).collect::<Vec<_>>()), area);
}

/// A line in its parts: how each looks.
fn drawn(line: &PatchLine) -> Vec<(Style, String)> {
    let (line, text, marks) = match line {
        PatchLine::Said(text) => return vec![(paint::look(Role::Dim), text.clone())],
        PatchLine::Line(line, text, marks) => (*line, text, marks),
    };
    let (sign, look) = match line {
        report::Line::Context => (" ", Style::new()),
        report::Line::Added => ("+", paint::look(Role::Added)),
        report::Line::Removed => ("-", paint::look(Role::Removed)),
        report::Line::Hunk => ("", paint::look(Role::Path)),
        report::Line::NoNewline => ("", paint::look(Role::Dim)),
    };
    let marked = look.add_modifier(Modifier::BOLD | Modifier::UNDERLINED);
    let mut parts = vec![(look, sign.to_owned())];
    let mut at = 0;
    for mark in marks {
        let both = [(look, text.get(at..mark.start)), (marked, text.get(mark.clone()))];
        parts.extend(
            both.into_iter()
                .filter_map(|(look, part)| Some((look, part?.to_owned()))),
        );
        at = mark.end;
    }
    parts.extend(text.get(at..).map(|rest| (look, rest.to_owned())));
    parts
}
