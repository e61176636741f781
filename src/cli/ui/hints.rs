//! The keys at the bottom of the screen.

use super::app::App;
use super::views::View;

/// The keys that do something here, and what.
pub(super) fn help_line(app: &App) -> Vec<(&'static str, &'static str)> {
    if app.typing {
        return vec![("type", "to filter"), ("Enter", "keep"), ("Esc", "all again")];
    }
    let view = app.view();
    let mut keys = match view {
        View::Sessions => vec![
            ("Enter", "open"),
            ("/", "filter"),
            ("u", "undo"),
            ("s", "store"),
            ("l", "log"),
        ],
        View::Timeline => vec![
            ("Enter", "what changed since"),
            ("t", "this step"),
            ("b", "before a prompt"),
            ("r", "restore"),
            ("u", "undo"),
            ("l", "log"),
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
            ("JK", "lines"),
            ("Esc", "back"),
        ],
        View::Patch => vec![
            ("n p", "next, previous path"),
            ("r", "restore it"),
            ("Esc", "back"),
        ],
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
        View::Done => vec![("Enter", "back"), ("u", "undo")],
        View::Store | View::Log => vec![("Esc", "back")],
    };
    keys.insert(0, ("\u{2191}\u{2193}", "move"));
    keys.extend([("?", "help"), ("q", "quit")]);
    keys
}
