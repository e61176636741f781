//! Draws what the screen knows. Only what is seen is laid out, however long a list is.

mod changes;
mod lists;
mod preview;
mod texts;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Paragraph};

use super::app::App;
use super::hints::help_line;
use super::paint;
use super::views::{Drawn, View, in_one_row};
use crate::terminal::{Role, width};

/// From so many columns on two things stand beside each other.
const WIDE: u16 = 100;

/// Smaller screens show nothing.
const LEAST: (u16, u16) = (40, 8);

/// Columns of the keys in the help.
const KEYS: usize = 11;

/// Text of the help that `?` opens.
const HELP: &str = "\
A restore prints its plan and asks. It takes an emergency snapshot first, and {u} restores that. An active session is read-only.

\u{2191}\u{2193} k j     move; PgUp, PgDn, Ctrl-U, Ctrl-D, Home, End, {g} and {G} as well
Enter \u{2192}    open a session, its changes, the lines of a path, a folded row
Esc \u{2190}      back (clears the filter first)
r R        restore what is marked or selected; restore everything
u          undo the last restore, or the selected one
/ n N      filter a list, search a text; next match, previous one
s l        size of the store; log
F5         reload
Ctrl-Z q   suspend; quit
mouse      select, open, scroll; Shift selects text

Sessions and history
t          show the changes of one step
b          list prompts and tool calls, to restore to before one
Space      mark a snapshot; Enter compares two marked ones
P m        pin or unpin; name the session
c F x D    checkpoint; fork; export; forget the session
y          copy a path, an id or a command

Changes and preview
Space a    mark a path, a directory, a hunk; mark everything
f z        filter paths by kind; open or close all directories
Tab        into the preview and out of it; {J} {K} scroll it from outside
v          select lines for {Space}; Esc cancels
[ ]        previous hunk, next hunk
n N        next match, previous match, after a search
n p        next path, previous path
+ - w      more or fewer unchanged lines; wrap or cut long lines
e y        open the file in your editor; copy
H B        the changes of the file; the author of each line

Plan
y          yes; Esc is no
o d        overwrite later edits; delete later files\
";

/// Draws everything.
pub(super) fn draw(app: &mut App, frame: &mut Frame<'_>) {
    let area = frame.area();
    app.drawn = Drawn {
        columns: area.width,
        ..Drawn::default()
    };
    if area.width < LEAST.0 || area.height < LEAST.1 {
        app.drawn.is_too_small = true;
        let words = format!("too small: {}x{} at least", LEAST.0, LEAST.1);
        frame.render_widget(Paragraph::new(words), area);
        return;
    }
    let keys = key_lines(app, usize::from(area.width));
    let height = u16::try_from(keys.len()).unwrap_or(1);
    let [head, body, foot] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Fill(1),
        Constraint::Length(height),
    ])
    .areas(area);
    title(app, frame, head);
    match app.view() {
        View::Sessions => lists::sessions(app, frame, body),
        View::Timeline => lists::timeline(app, frame, body),
        View::Points => lists::points(app, frame, body),
        View::Store => lists::store(app, frame, body),
        View::Changes | View::Patch => changes::changes(app, frame, body),
        View::Plan => texts::plan(app, frame, body),
        View::Forget => texts::forget(app, frame, body),
        View::Done => texts::page(&mut app.done, app.typing, &mut app.drawn, frame, body),
        View::Log => texts::page(&mut app.log, app.typing, &mut app.drawn, frame, body),
    }
    frame.render_widget(Paragraph::new(keys), foot);
    if let Some(question) = &app.question {
        let (title, text) = match &question.typed {
            Some(typed) => (
                " Enter confirms, Esc cancels ",
                format!("{}:\n{typed}_", question.words),
            ),
            None => (" y  yes    Esc  no ", question.words.clone()),
        };
        popup(frame, body, title, &text, 0);
    }
    if !app.copies.is_empty() {
        let lines = app
            .copies
            .iter()
            .map(|(key, name, text)| format!("{key}  {name:8} {}", in_one_row(name, text)));
        popup(frame, body, " copy ", &lines.collect::<Vec<_>>().join("\n"), 0);
    }
    if let Some(top) = app.help {
        app.help = Some(popup(
            frame,
            body,
            " keys (\u{2191}\u{2193} scroll, any other key closes) ",
            &help(app),
            top,
        ));
    }
    if let Some(message) = &app.message {
        popup(frame, body, " Press any key ", message, 0);
    }
}

/// Returns a text with the keys that the operator chose in place of those in braces.
fn with_keys(app: &App, text: &str) -> String {
    let mut parts = text.split('{');
    let mut shown = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        if let Some((key, rest)) = part.split_once('}') {
            shown.push_str(&app.settings.shown(key));
            shown.push_str(rest);
        }
    }
    shown
}

/// Returns the help with the keys that the operator chose.
fn help(app: &App) -> String {
    let line = |line: &str| {
        let edge = line.char_indices().nth(KEYS).map_or(0, |(at, _)| at);
        match line.split_at_checked(edge) {
            Some((keys, what)) if keys.ends_with("  ") => {
                let is_key = |key: &str| key == "Space" || key.chars().count() == 1;
                let shown = |key: &str| match is_key(key) {
                    true => app.settings.shown(key),
                    false => key.to_owned(),
                };
                let keys: Vec<String> = keys.split_whitespace().map(shown).collect();
                format!("{}{}", width::pad(&keys.join(" "), KEYS), with_keys(app, what))
            }
            _ => with_keys(app, line),
        }
    };
    HELP.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// Draws the title bar: the path of views, and the work under way.
fn title(app: &App, frame: &mut Frame<'_>, area: Rect) {
    let columns = usize::from(area.width);
    let mut parts = vec!["sessions".to_owned()];
    for view in &app.views {
        match view {
            View::Sessions => {}
            View::Timeline => parts.extend(app.timeline.as_ref().map(|timeline| timeline.id.clone())),
            View::Changes => {
                let sides = app.compared.as_ref();
                parts.extend(sides.map(|of| format!("{} \u{2192} {}", of.changes.from, of.changes.to)));
            }
            View::Points => parts.push("prompts and calls".to_owned()),
            View::Patch => parts.push("lines".to_owned()),
            View::Plan => parts.push("plan".to_owned()),
            View::Forget => parts.push("forget".to_owned()),
            View::Done => parts.push("done".to_owned()),
            View::Store => parts.push("store".to_owned()),
            View::Log => parts.push(app.log_title.to_owned()),
        }
    }
    let busy = app
        .waiting
        .map_or_else(String::new, |waiting| format!("{} \u{2026} ", waiting.words));
    let room = columns.saturating_sub(width::of(&busy) + 2);
    let place = width::pad(&width::cut(&format!(" {}", parts.join(" \u{203a} ")), room), room);
    let bar = Style::new().add_modifier(Modifier::REVERSED);
    let line = Line::styled(width::pad(&format!("{place}  {busy}"), columns), bar);
    frame.render_widget(Paragraph::new(line), area);
}

/// The keys, in as many lines as they need.
fn key_lines(app: &App, columns: usize) -> Vec<Line<'static>> {
    if let Some(notice) = &app.notice {
        let text = width::cut(&format!(" {notice}"), columns);
        return vec![Line::styled(text, paint::look(Role::Added))];
    }
    let mut lines: Vec<Line<'static>> = vec![Line::default()];
    for (key, what) in help_line(app) {
        // The keys of an answer and of a choice are always the same.
        let is_fixed = what.starts_with("yes") || !app.copies.is_empty();
        let key = match is_fixed {
            true => key.to_owned(),
            false => app.settings.shown(key),
        };
        let wide = width::of(&key) + width::of(what) + 3;
        if lines.last().is_some_and(|line| line.width() + wide > columns) {
            lines.push(Line::default());
        }
        if let Some(line) = lines.last_mut() {
            line.push_span(Span::styled(format!(" {key}"), paint::look(Role::Heading)));
            line.push_span(Span::styled(format!(" {what} "), paint::look(Role::Dim)));
        }
    }
    lines
}

/// Draws a text in a box from this line on, as far as there is more than fits, and returns that line.
fn popup(frame: &mut Frame<'_>, body: Rect, title: &'static str, text: &str, top: usize) -> usize {
    let columns = body.width.saturating_sub(4).min(100);
    let lines = paint::lines(text, usize::from(columns.saturating_sub(4)));
    let widest = lines.iter().map(Line::width).max().unwrap_or(0);
    let columns = columns.min(u16::try_from(widest + 4).unwrap_or(columns)).max(24);
    let height = u16::try_from(lines.len() + 2)
        .unwrap_or(u16::MAX)
        .min(body.height);
    let area = Rect {
        x: body.x + (body.width - columns) / 2,
        y: body.y + (body.height - height) / 2,
        width: columns,
        height,
    };
    let block = Block::bordered().title(title);
    let inner = block.inner(area);
    frame.render_widget(Clear, area);
    frame.render_widget(block, area);
    let inner = Rect {
        x: inner.x + 1,
        width: inner.width.saturating_sub(2),
        ..inner
    };
    let top = top.min(lines.len().saturating_sub(usize::from(inner.height)));
    let shown: Vec<Line<'_>> = lines.into_iter().skip(top).collect();
    frame.render_widget(Paragraph::new(shown), inner);
    top
}

/// Draws one row; the chosen one stands out.
fn row(frame: &mut Frame<'_>, area: Rect, at: u16, spans: Vec<Span<'static>>, chosen: bool) {
    let place = Rect {
        y: area.y + at,
        height: 1,
        ..area
    };
    frame.render_widget(Paragraph::new(Line::from(spans)), place);
    if chosen {
        frame
            .buffer_mut()
            .set_style(place, Style::new().add_modifier(Modifier::REVERSED));
    }
}

/// A line over the whole width, of less weight.
fn said(frame: &mut Frame<'_>, area: Rect, text: &str) {
    let text = width::cut(text, usize::from(area.width));
    frame.render_widget(Paragraph::new(Line::styled(text, paint::look(Role::Dim))), area);
}

/// The rows that are seen: which of the list, and on which line.
fn seen(length: usize, top: usize, height: u16) -> impl Iterator<Item = (usize, u16)> {
    (top..length).zip(0..height)
}
