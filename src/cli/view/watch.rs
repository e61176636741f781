//! `watch`: one line for each change, or for a directory in which many changed.

use super::folded;
use crate::report::{WatchLine, WatchedLine, WatchedState};
use crate::terminal::{Role, sanitize, style};

/// Returns the text of each line, paths relative to the mount, or whole with `on_host`.
pub(in crate::cli) fn lines(found: &[WatchedLine], on_host: bool) -> Vec<String> {
    let text = |line: &WatchedLine| match line {
        WatchedLine::One(change) => one(change, on_host),
        WatchedLine::Fold {
            coverage,
            fold,
            kinds,
        } => {
            let root = on_host.then(|| coverage.root.to_path());
            folded::line_below(fold, kinds, root.as_deref())
        }
    };
    found.iter().map(text).collect()
}

fn shown(change: &WatchLine, on_host: bool) -> String {
    let slash = if change.is_directory { "/" } else { "" };
    let path = match on_host || change.path.below.is_root() {
        true => sanitize::path(&change.path.on_host),
        false => sanitize::name(change.path.below.as_bytes()),
    };
    format!("{path}{slash}")
}

fn one(change: &WatchLine, on_host: bool) -> String {
    let (letter, role) = match change.state {
        WatchedState::Added => ("A", Role::Added),
        WatchedState::Modified => ("M", Role::Changed),
        WatchedState::Deleted => ("D", Role::Removed),
        WatchedState::Type => ("T", Role::Changed),
        WatchedState::Mode | WatchedState::Metadata => ("m", Role::Changed),
        WatchedState::Reverted => ("=", Role::Dim),
    };
    format!("{} {}", style::paint(role, letter), shown(change, on_host))
}
