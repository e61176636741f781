//! The keys at the bottom of the screen.

use super::app::App;
use super::views::View;

/// The keys that do something here, and what.
pub(super) fn help_line(app: &App) -> Vec<(&'static str, &'static str)> {
    match &app.question {
        Some(question) if question.typed.is_some() => {
            return vec![("type", "the text"), ("Enter", "confirm"), ("Esc", "cancel")];
        }
        Some(_) => return vec![("y", "yes"), ("Esc", "no")],
        None => {}
    }
    if !app.copies.is_empty() {
        let has_more = app.copies.iter().any(|(key, ..)| *key == '2');
        let keys = if has_more { "p 2-9 i c" } else { "p i c" };
        return vec![(keys, "choose"), ("Esc", "cancel")];
    }
    if app.typing {
        let what = match app.view() {
            View::Sessions | View::Timeline | View::Points | View::Changes => "to filter",
            _ => "to search",
        };
        return vec![("type", what), ("Enter", "keep"), ("Esc", "clear")];
    }
    let view = app.view();
    let mut keys = match view {
        View::Sessions => vec![
            ("Enter", "open"),
            ("/", "filter"),
            ("u", "undo"),
            ("P", "pin"),
            ("m", "name"),
            ("D", "forget"),
            ("s", "store"),
            ("l", "log"),
        ],
        View::Timeline if app.marked.len() == 2 => {
            vec![
                ("Enter", "compare the marked"),
                ("Space", "mark"),
                ("Esc", "unmark"),
            ]
        }
        View::Timeline => vec![
            ("Enter", "changes since"),
            ("t", "this step"),
            ("b", "before a prompt"),
            ("r", "restore"),
            ("u", "undo"),
            ("Space", "mark"),
            ("P", "pin"),
            ("y", "copy"),
            ("Esc", "back"),
        ],
        View::Points => vec![
            ("Enter", "restore to before it"),
            ("/", "filter"),
            ("Esc", "back"),
        ],
        View::Changes => vec![
            ("Enter", "open"),
            ("Space", "mark"),
            ("r", "restore"),
            ("R", "all"),
            ("/", "filter"),
            ("f", "kind"),
            ("Tab", "preview"),
            ("e", "edit"),
            ("y", "copy"),
            ("Esc", "back"),
        ],
        View::Patch => preview_keys(app),
        View::Plan => match app.plan.as_ref().is_some_and(|plan| plan.does_something) {
            true => vec![
                ("y", "yes, do it"),
                ("Esc", "no"),
                ("o", "overwrite later edits"),
                ("d", "delete later files"),
            ],
            false => vec![
                ("Esc", "back"),
                ("o", "overwrite later edits"),
                ("d", "delete later files"),
            ],
        },
        View::Forget => vec![("y", "yes, delete it"), ("Esc", "no")],
        View::Done => vec![("Enter", "back"), ("u", "undo")],
        View::Store | View::Log => vec![("Esc", "back")],
    };
    keys.insert(0, ("\u{2191}\u{2193}", "move"));
    keys.extend([("?", "help"), ("q", "quit")]);
    keys
}

/// The keys of the preview.
fn preview_keys(app: &App) -> Vec<(&'static str, &'static str)> {
    let compared = app.compared.as_ref();
    if compared.is_some_and(|compared| compared.preview.anchor.is_some()) {
        return vec![("Space", "mark these lines"), ("Esc", "cancel")];
    }
    let can_mark = compared.is_some_and(|compared| compared.preview.text.sides.is_some());
    let is_searched = compared.is_some_and(|compared| !compared.preview.search.is_empty());
    let mut keys = Vec::new();
    if can_mark {
        keys.extend([("Space", "mark hunk"), ("v", "select lines"), ("a", "all")]);
    }
    keys.push(("r", "restore"));
    keys.push(match is_searched {
        true => ("n N", "match"),
        false => ("n p", "path"),
    });
    keys.extend([("/", "search"), ("+-", "context"), ("w", "wrap"), ("Tab", "back")]);
    keys
}
