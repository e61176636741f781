//! Lines of the selected path, with their numbers and marks, or a text beside the paths.

use std::ops::Range;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::super::app::App;
use super::super::data::PatchLine;
use super::super::paint;
use super::super::preview::{Preview, Reading, found};
use super::super::tree::Row;
use super::super::views::{Compared, View};
use crate::report;
use crate::terminal::{Role, size, width};

/// From so many columns on, lines have numbers.
const NUMBERED: usize = 40;

pub(super) fn preview(app: &mut App, frame: &mut Frame<'_>, area: Rect) {
    let is_focused = app.view() == View::Patch;
    let (reading, is_typed) = (app.reading, app.typing && is_focused);
    let Some(compared) = &mut app.compared else { return };
    let [head, body] = Layout::vertical([Constraint::Length(1), Constraint::Fill(1)]).areas(area);
    let words = title(compared, is_typed, is_focused);
    let room = usize::from(head.width);
    let rule = width::pad(&width::cut(&format!("\u{2500} {words} "), room), room);
    let look = paint::look(if is_focused { Role::Heading } else { Role::Dim });
    frame.render_widget(Paragraph::new(Line::styled(rule, look)), head);
    app.drawn.side = body;
    let rows = match compared.preview.of {
        None => beside(compared, body),
        Some(_) => lines(compared, reading, is_focused, body),
    };
    app.drawn.side_lines = rows.iter().map(|row| row.of).collect();
    for (at, row) in (0..body.height).zip(rows) {
        super::row(
            frame,
            Rect {
                height: body.height,
                ..body
            },
            at,
            row.line.spans,
            row.is_selected,
        );
    }
}

/// Row of the screen.
struct Drawn {
    line: Line<'static>,
    /// Line that it shows, or a part of it.
    of: usize,
    is_selected: bool,
}

/// Returns the path with its details, and the state of the search.
fn title(compared: &Compared, is_typed: bool, is_focused: bool) -> String {
    let preview = &compared.preview;
    let mut words = Vec::new();
    match preview.of.and_then(|at| compared.changes.all.get(at)) {
        Some(change) => {
            words.push(format!("{} {}", change.letter, change.names.join("/")));
            if !change.detail.is_empty() {
                words.push(format!("({})", change.detail));
            }
        }
        None => words.push("preview".to_owned()),
    }
    if let Some(later) = preview.of.and_then(|of| compared.later.get(&of)) {
        words.push(format!("{later}: a restore keeps it"));
    }
    if preview.of.is_some_and(|of| compared.tree.marked.contains(&of)) {
        words.push("marked".to_owned());
    }
    if let Some(marks) = preview.of.and_then(|of| compared.tree.in_part.get(&of)) {
        let count = marks.parts.len() as u64;
        words.push(format!("{} marked", size::counted(count, "line", "lines")));
    }
    if is_typed {
        words.push(format!("search: {}_", preview.search));
    } else if is_focused && !preview.search.is_empty() {
        let hits = size::counted(preview.hits() as u64, "line", "lines");
        words.push(format!("search: {} ({hits})", preview.search));
    }
    words.join("  ")
}

/// Returns the text beside the paths.
fn beside(compared: &mut Compared, area: Rect) -> Vec<Drawn> {
    let all = match compared.tree.rows.get(compared.scroll.at) {
        Some(Row::Beside) => paint::lines(&compared.changes.beside, usize::from(area.width)),
        _ => Vec::new(),
    };
    let preview = &mut compared.preview;
    preview.top = preview
        .top
        .min(all.len().saturating_sub(usize::from(area.height)));
    let shown = all.into_iter().enumerate().skip(preview.top);
    let rows = shown.map(|(of, line)| Drawn {
        line,
        of,
        is_selected: false,
    });
    rows.take(usize::from(area.height)).collect()
}

/// Columns and choices with which lines are laid out.
struct Form {
    columns: usize,
    /// Columns of a line number; 0 without numbers.
    digits: usize,
    wraps: bool,
    /// Rows for the lines.
    height: usize,
}

impl Form {
    fn new(preview: &Preview, reading: Reading, area: Rect) -> Self {
        let columns = usize::from(area.width);
        let numbers = preview.text.lines.iter().filter_map(|line| match line {
            PatchLine::Line(line) => line.then.max(line.now),
            _ => None,
        });
        let digits = numbers.max().map_or(0, |most| most.to_string().len());
        Self {
            columns,
            digits: if columns < NUMBERED { 0 } else { digits },
            wraps: reading.wraps,
            height: usize::from(area.height),
        }
    }

    /// Returns the number columns of a line.
    fn numbers(&self, line: Option<&PatchLine>) -> String {
        if self.digits == 0 {
            return String::new();
        }
        let shown = |number: Option<usize>| number.map_or_else(String::new, |number| number.to_string());
        let (then, now) = match line {
            Some(PatchLine::Line(line)) => (shown(line.then), shown(line.now)),
            _ => Default::default(),
        };
        format!("{then:>0$} {now:>0$} ", self.digits)
    }

    /// Columns beside the numbers.
    fn room(&self) -> usize {
        self.columns.saturating_sub(2 + self.numbers(None).len())
    }

    /// Returns a line broken or cut to the columns beside the numbers.
    fn body(&self, line: &PatchLine, search: &str) -> Vec<Line<'static>> {
        let from = self.start(line, search);
        let parts = parts(line, search, from..self.end(line, from));
        match self.wraps {
            true => paint::fold(parts, self.room()),
            false => vec![paint::cut(parts, self.room())],
        }
    }

    /// Returns the byte from which a line is shown. One that is longer than what can be seen of it begins shortly before the searched text, else
    /// before what differs.
    fn start(&self, line: &PatchLine, search: &str) -> usize {
        let text = line.text();
        let seen = self.room() * if self.wraps { self.height / 2 } else { 1 };
        let (PatchLine::Line(of), true) = (line, text.len() > seen) else {
            return 0;
        };
        let mut hits = found(text, search);
        let wanted = hits.next().or_else(|| of.words.first().cloned());
        let Some(wanted) = wanted.filter(|wanted| wanted.end > seen) else {
            return 0;
        };
        let before = self.room() / 3;
        let mut start = wanted.start.saturating_sub(before);
        while !text.is_char_boundary(start) {
            start -= 1;
        }
        start
    }

    /// Returns the byte up to which a line is laid out: one letter more than fits, so that it is seen to go on.
    fn end(&self, line: &PatchLine, from: usize) -> usize {
        let text = line.text();
        let rows = if self.wraps { self.height } else { 1 };
        let mut room = self.room().max(paint::NARROWEST) * rows;
        let rest = text.get(from..).unwrap_or_default().char_indices();
        for (at, letter) in rest {
            match room.checked_sub(width::of_char(letter)) {
                Some(left) => room = left,
                None => return from + at + letter.len_utf8(),
            }
        }
        text.len()
    }
}

/// Returns the rows of the lines that are seen. The cursor stays in sight while the preview has the keys.
fn lines(compared: &mut Compared, reading: Reading, is_focused: bool, area: Rect) -> Vec<Drawn> {
    let height = usize::from(area.height);
    let form = Form::new(&compared.preview, reading, area);
    let preview = &compared.preview;
    let count = |at: usize| {
        let line = preview.text.lines.get(at);
        line.map_or(0, |line| form.body(line, "").len())
    };
    // The first line from which all of them up to `last` are seen.
    let first_before = |last: usize| {
        let (mut first, mut room) = (last, height);
        while let Some(left) = first.checked_sub(1).and_then(|at| room.checked_sub(count(at))) {
            (first, room) = (first - 1, left);
        }
        first
    };
    let length = preview.text.lines.len();
    let mut top = preview.top.min(first_before(length));
    if is_focused {
        let least = first_before(preview.at + 1).min(preview.at);
        top = top.max(least).min(preview.at);
    }
    let selection = preview.selection();
    let hunk = match (&selection, is_focused && preview.text.sides.is_some()) {
        (None, true) => preview.hunk(),
        _ => 0..0,
    };
    let search = preview.search.clone();
    let mut rows = Vec::new();
    for (of, line) in preview.text.lines.iter().enumerate().skip(top) {
        let is_selected = is_focused
            && match &selection {
                Some(selection) => selection.contains(&of),
                None => of == preview.at,
            };
        let bar = if hunk.contains(&of) { "\u{2502}" } else { " " };
        let mark = if compared.is_marked(of) { "*" } else { " " };
        let search = if is_focused { search.as_str() } else { "" };
        for (at, body) in form.body(line, search).into_iter().enumerate() {
            let numbers = form.numbers(Some(line).filter(|_| at == 0));
            let mark = if at == 0 { mark } else { " " };
            let mut spans = vec![
                Span::styled(format!("{bar}{mark}"), paint::look(Role::Heading)),
                Span::styled(numbers, paint::look(Role::Dim)),
            ];
            spans.extend(body.spans);
            rows.push(Drawn {
                line: spans.into(),
                of,
                is_selected,
            });
        }
        if rows.len() >= height {
            break;
        }
    }
    compared.preview.top = top;
    rows
}

/// Returns these bytes of a line in parts, each with its look.
fn parts(line: &PatchLine, search: &str, shown: Range<usize>) -> Vec<(Style, String)> {
    let tokens = match line {
        PatchLine::Line(line) => line.tokens.as_slice(),
        PatchLine::Said(_) | PatchLine::Metadata(_) => &[],
    };
    let (sign, look, words): (_, _, &[Range<usize>]) = match line {
        PatchLine::Said(_) => ("", paint::look(Role::Dim), &[]),
        PatchLine::Metadata(_) => ("", paint::look(Role::Changed), &[]),
        PatchLine::Line(line) => match line.line {
            report::Line::Context => (" ", Style::new(), &line.words),
            report::Line::Added => ("+", paint::look(Role::Added), &line.words),
            report::Line::Removed => ("-", paint::look(Role::Removed), &line.words),
            report::Line::Hunk => ("", paint::look(Role::Path), &line.words),
            report::Line::NoNewline => ("", paint::look(Role::Dim), &line.words),
        },
    };
    let text = line.text();
    let hits = found(text, search).skip_while(|hit| hit.end <= shown.start);
    let hits: Vec<Range<usize>> = hits.take_while(|hit| hit.start < shown.end).collect();
    let mut edges: Vec<usize> = words
        .iter()
        .chain(&hits)
        .chain(tokens.iter().map(|(range, _)| range))
        .flat_map(|range| [range.start, range.end])
        .filter(|edge| shown.contains(edge))
        .chain([shown.start, shown.end])
        .collect();
    edges.sort_unstable();
    edges.dedup();
    let mut parts = vec![(look, sign.to_owned())];
    if shown.start > 0 {
        parts.push((paint::look(Role::Dim), "\u{2026}".to_owned()));
    }
    for (start, end) in edges.iter().zip(edges.iter().skip(1)) {
        // They are in order, and none overlaps another of its kind.
        let within = |ranges: &[Range<usize>]| {
            let at = ranges.partition_point(|range| range.end <= *start);
            ranges.get(at).is_some_and(|range| range.contains(start))
        };
        let at = tokens.partition_point(|(range, _)| range.end <= *start);
        let token = tokens.get(at).filter(|(range, _)| range.contains(start));
        let mut look = token.map_or(look, |(_, token)| paint::code(look, *token));
        if within(words) {
            look = look.add_modifier(Modifier::BOLD | Modifier::UNDERLINED);
        }
        if within(&hits) {
            look = look
                .patch(paint::look(Role::Warning))
                .add_modifier(Modifier::UNDERLINED);
        }
        parts.extend(text.get(*start..*end).map(|part| (look, part.to_owned())));
    }
    parts
}
