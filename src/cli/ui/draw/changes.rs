//! Tree of the changed paths, with the preview beside or below it.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::Span;

use super::super::app::App;
use super::super::data::Kind;
use super::super::paint;
use super::super::tree::{Marks, Row};
use super::super::views::{Compared, View};
use super::preview::preview;
use super::{WIDE, row, said, seen};
use crate::cli::view::steps::signed_counts;
use crate::model::PathCounts;
use crate::terminal::{Role, size, width};

/// From so many lines on, the preview fits below the tree.
const TALL: u16 = 12;

/// Draws the tree with the preview. On a narrow screen the preview has all of it while the cursor is there.
pub(super) fn changes(app: &mut App, frame: &mut Frame<'_>, area: Rect) {
    let is_inside = app.view() == View::Patch;
    let halves = [Constraint::Fill(1), Constraint::Fill(1)];
    let (list, side) = if area.width >= WIDE {
        let parts = Layout::horizontal([Constraint::Fill(2), Constraint::Fill(3)]);
        let [left, right] = parts.spacing(2).areas(area);
        (Some(left), Some(right))
    } else if is_inside {
        (None, Some(area))
    } else if area.height >= TALL {
        let [above, below] = Layout::vertical(halves).areas(area);
        (Some(above), Some(below))
    } else {
        (Some(area), None)
    };
    app.drawn.list = side.unwrap_or_default();
    if let Some(list) = list {
        tree(app, frame, list);
    }
    if let Some(side) = side {
        preview(app, frame, side);
    }
}

fn tree(app: &mut App, frame: &mut Frame<'_>, area: Rect) {
    let typing = app.typing && app.view() == View::Changes;
    let Some(compared) = &mut app.compared else { return };
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
    let lines: usize = tree.in_part.values().map(|marks| marks.parts.len()).sum();
    if lines > 0 {
        let lines = size::counted(lines as u64, "line", "lines");
        words.push(format!("{lines} marked"));
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
            spans.extend(later(compared, *change));
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
            // The reason to look at it is seen before its details.
            spans.extend(place.change.and_then(|change| later(compared, change)));
            spans.push(Span::styled(more, paint::look(Role::Dim)));
        }
    }
    spans
}

/// Returns the mark of a path that a restore keeps.
fn later(compared: &Compared, change: usize) -> Option<Span<'static>> {
    let words = compared.later.get(&change)?;
    Some(Span::styled(format!("  {words}"), paint::look(Role::Warning)))
}

fn counts(counts: PathCounts) -> String {
    signed_counts(counts).map(|count| format!("  {count}")).collect()
}
