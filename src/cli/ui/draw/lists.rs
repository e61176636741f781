//! The sessions, the moments of one of them, and what the store holds.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::Span;
use ratatui::widgets::Paragraph;

use super::super::app::App;
use super::super::data::{Holding, Session, What};
use super::super::paint;
use super::{WIDE, row, said, seen};
use crate::terminal::{Role, size, width};

pub(super) fn sessions(app: &mut App, frame: &mut Frame<'_>, area: Rect) {
    let [head, list] = Layout::vertical([Constraint::Length(1), Constraint::Fill(1)]).areas(area);
    app.drawn.list = list;
    let length = app.shown_sessions().len();
    app.sessions_scroll.keep(length, usize::from(list.height));
    let all = app.sessions.as_ref().map_or(0, Vec::len);
    let shown = app.shown_sessions();
    let age = |session: &Session| size::age(session.began, app.now);
    let bytes = |session: &Session| size::bytes(session.bytes);
    let id = widest(
        "SESSION",
        shown.iter().map(|session| width::of(&session.id)),
        LONGEST_ID,
    );
    let status = widest(
        "STATUS",
        shown.iter().map(|session| width::of(&session.status)),
        16,
    );
    let began = widest("BEGAN", shown.iter().map(|session| width::of(&age(session))), 16);
    let large = widest("SIZE", shown.iter().map(|session| width::of(&bytes(session))), 12);
    if app.typing || !app.sessions_filter.is_empty() {
        let cursor = if app.typing { "_" } else { "" };
        let words = format!(" filter: {}{cursor}  ({length} of {all})", app.sessions_filter);
        said(frame, head, &words);
    } else {
        let [id, status, began] = [("SESSION", id), ("STATUS", status), ("BEGAN", began)]
            .map(|(word, columns)| width::pad(word, columns));
        said(
            frame,
            head,
            &format!(" {id}  {status}  {began}  SNAPSHOTS  {:>large$}  MOUNTS", "SIZE"),
        );
    }
    if all == 0 {
        if app.sessions.is_some() {
            said(frame, list, " no sessions yet; `launch -- COMMAND` begins one");
        }
        return;
    }
    let room = usize::from(list.width).saturating_sub(id + status + began + large + 21);
    for (at, line) in seen(length, app.sessions_scroll.top, list.height) {
        let Some(session) = shown.get(at) else { break };
        let words = [
            session.name.as_ref(),
            session.workspace.as_ref(),
            Some(&session.place),
        ];
        let mut place = words
            .into_iter()
            .flatten()
            .cloned()
            .collect::<Vec<_>>()
            .join(": ");
        if session.is_pinned {
            place.push_str(", pinned");
        }
        let spans = vec![
            Span::raw(format!(" {}  ", width::pad(&width::cut(&session.id, id), id))),
            Span::styled(
                width::pad(&width::cut(&session.status, status), status),
                paint::look(session.role),
            ),
            Span::raw(format!(
                "  {}  {:>9}  {:>large$}  {}",
                width::pad(&age(session), began),
                size::count(session.snapshots),
                bytes(session),
                width::cut(&place, room)
            )),
        ];
        row(frame, list, line, spans, at == app.sessions_scroll.at);
    }
}

/// Columns of the longest id that is shown whole.
const LONGEST_ID: usize = 32;

/// Columns of what is shown below a word.
fn widest(word: &str, columns: impl Iterator<Item = usize>, most: usize) -> usize {
    columns.max().unwrap_or(0).min(most).max(word.len())
}

pub(super) fn timeline(app: &mut App, frame: &mut Frame<'_>, area: Rect) {
    let now = app.now;
    let Some(timeline) = &app.timeline else { return };
    let mut area = area;
    if area.width >= WIDE {
        let [left, right] = Layout::horizontal([Constraint::Fill(3), Constraint::Fill(2)])
            .spacing(2)
            .areas(area);
        let lines = paint::lines(&timeline.facts, usize::from(right.width));
        frame.render_widget(Paragraph::new(lines), right);
        area = left;
    }
    let filter = &app.timeline_filter;
    let head = match &timeline.active {
        _ if app.typing || !filter.is_empty() => {
            let cursor = if app.typing { "_" } else { "" };
            let (length, all) = (app.timeline_rows.len(), timeline.moments.len());
            format!(" filter: {filter}{cursor}  ({length} of {all})")
        }
        Some(why) => format!(" {why}"),
        None => format!(
            " {}{}",
            size::counted(timeline.moments.len() as u64, "entry", "entries"),
            match timeline.moments.len().saturating_sub(app.timeline_rows.len()) {
                0 => String::new(),
                folded => format!(", {} folded", size::count(folded as u64)),
            }
        ),
    };
    let lines = paint::fold([(paint::look(Role::Dim), head)], usize::from(area.width));
    let height = u16::try_from(lines.len()).unwrap_or(1).min(area.height / 2);
    let [top, list] = Layout::vertical([Constraint::Length(height), Constraint::Fill(1)]).areas(area);
    frame.render_widget(Paragraph::new(lines), top);
    app.drawn.list = list;
    let length = app.timeline_rows.len();
    app.timeline_scroll.keep(length, usize::from(list.height));
    if length == 0 && filter.is_empty() {
        said(frame, list, " no snapshots");
    }
    let most = usize::from(list.width) / 3;
    let moments = timeline.moments.iter();
    let name = widest("", moments.clone().map(|moment| width::of(&moment.name)), most);
    let rows = &app.timeline_rows;
    let folds = rows.iter().any(|row| row.folds.is_some());
    let ages = widest(
        "",
        moments.map(|moment| width::of(&size::age(moment.at, now))),
        most,
    );
    for (at, line) in seen(length, app.timeline_scroll.top, list.height) {
        let Some(place) = rows.get(at) else { break };
        let Some(moment) = timeline.moments.get(place.moment) else {
            break;
        };
        let fold = match (place.folds, place.is_open) {
            _ if !folds => "",
            (None, _) => "  ",
            (Some(_), true) => "\u{25be} ",
            (Some(_), false) => "\u{25b8} ",
        };
        let indent = if place.inside.is_some() { "  " } else { "" };
        let is_marked = match &moment.what {
            What::Snapshot { id, .. } => app.marked.contains(id),
            What::Restore { emergency, .. } => app.marked.contains(emergency),
        };
        let marked = if is_marked { "*" } else { " " };
        let fold = format!("{indent}{fold}");
        let mark = match moment.what {
            What::Snapshot { .. } => "\u{25cf}",
            What::Restore { .. } => "\u{21ba}",
        };
        let called = width::pad(&width::cut(&moment.name, name), name);
        let room = usize::from(list.width).saturating_sub(ages + name + 7 + width::of(&fold));
        let spans = vec![
            Span::raw(format!(
                "{marked}{}  ",
                width::pad(&size::age(moment.at, now), ages)
            )),
            Span::styled(format!("{fold}{mark} {called}"), paint::look(moment.role)),
            Span::raw(format!("  {}", width::cut(&moment.note, room))),
        ];
        row(frame, list, line, spans, at == app.timeline_scroll.at);
    }
}

pub(super) fn points(app: &mut App, frame: &mut Frame<'_>, area: Rect) {
    let now = app.now;
    let [head, list] = Layout::vertical([Constraint::Length(1), Constraint::Fill(1)]).areas(area);
    app.drawn.list = list;
    let length = app.shown_points().len();
    app.points_scroll.keep(length, usize::from(list.height));
    let all = app.timeline.as_ref().map_or(0, |timeline| timeline.points.len());
    let what = size::counted(all as u64, "prompt or call", "prompts and calls");
    let words = match (app.typing, app.points_filter.is_empty()) {
        (false, true) => format!(" {what}: choose the one to restore to before"),
        (is_typing, _) => {
            let cursor = if is_typing { "_" } else { "" };
            format!(" filter: {}{cursor}  ({length} of {all})", app.points_filter)
        }
    };
    said(frame, head, &words);
    if length == 0 {
        said(frame, list, " no match");
    }
    let shown = app.shown_points();
    let most = usize::from(list.width) / 3;
    let ages = widest(
        "",
        shown.iter().map(|point| width::of(&size::age(point.at, now))),
        most,
    );
    let changed = widest("", shown.iter().map(|point| width::of(&point.changed)), most);
    for (at, line) in seen(length, app.points_scroll.top, list.height) {
        let Some(point) = shown.get(at) else { break };
        let room = usize::from(list.width).saturating_sub(ages + changed + 7);
        let indent = if point.is_prompt { "" } else { "  " };
        let text = format!("{indent}{}", width::cut(&point.text, room));
        let spans = vec![
            Span::raw(format!(
                " {}  {}  ",
                width::pad(&size::age(point.at, now), ages),
                width::pad(&width::cut(&point.changed, changed), changed)
            )),
            match (point.is_prompt, point.snapshot.is_some()) {
                (_, false) => Span::styled(text, paint::look(Role::Dim)),
                (true, true) => Span::styled(text, paint::look(Role::Heading)),
                (false, true) => Span::raw(text),
            },
        ];
        row(frame, list, line, spans, at == app.points_scroll.at);
    }
}

/// Symbols and names of the age groups, newest first.
const AGES: [(&str, &str); 4] = [
    ("\u{2588}", "last day"),
    ("\u{2593}", "last week"),
    ("\u{2592}", "last month"),
    ("\u{2591}", "before"),
];

pub(super) fn store(app: &mut App, frame: &mut Frame<'_>, area: Rect) {
    let [head, list] = Layout::vertical([Constraint::Length(2), Constraint::Fill(1)]).areas(area);
    app.drawn.list = list;
    let total: u64 = app.store.iter().map(Holding::bytes).sum();
    let legend = AGES.map(|(sign, age)| format!("{sign} {age}")).join("   ");
    said(
        frame,
        head,
        &format!(" {} in archives      {legend}", size::bytes(total)),
    );
    app.store_scroll.keep(app.store.len(), usize::from(list.height));
    if app.store.is_empty() {
        said(frame, list, " nothing is stored yet");
    }
    let names = app.store.iter().map(|holding| width::of(&holding.name));
    let name = widest("", names, usize::from(list.width) / 3);
    let largest = app.store.iter().map(Holding::bytes).max().unwrap_or(0).max(1);
    let room = usize::from(list.width).saturating_sub(name + 32);
    for (at, line) in seen(app.store.len(), app.store_scroll.top, list.height) {
        let Some(holding) = app.store.get(at) else { break };
        let sessions = size::counted(holding.sessions, "session", "sessions");
        let text = format!(
            " {}  {:>9}  {sessions:>13}  {}",
            width::pad(&width::cut(&holding.name, name), name),
            size::bytes(holding.bytes()),
            bar(&holding.by_age, largest, room)
        );
        row(
            frame,
            list,
            line,
            vec![Span::raw(text)],
            at == app.store_scroll.at,
        );
    }
}

/// A bar in parts; what is there at all is never nothing.
fn bar(parts: &[u64; 4], largest: u64, columns: usize) -> String {
    let signs = AGES.iter().map(|(sign, _)| sign);
    let bars = parts.iter().zip(signs).map(|(bytes, sign)| {
        let share = u128::from(*bytes) * columns as u128 / u128::from(largest);
        let share = usize::try_from(share).unwrap_or(columns);
        sign.repeat(share.max(usize::from(*bytes > 0)))
    });
    bars.collect()
}
