//! `watch`: one line for each change.

use crate::report::{WatchLine, WatchedState};
use crate::terminal::{Role, sanitize, style};

/// Directory of a repository, whose files are folded into one line.
const GIT: &str = ".git";

/// Returns a line for each change, paths relative to the mount, or whole with `on_host`. Changes inside a `.git` directory are one
/// line unless `unfolds`.
pub(in crate::cli) fn lines(found: &[WatchLine], on_host: bool, unfolds: bool) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut folded: Vec<(String, usize)> = Vec::new();
    for change in found {
        let path = shown(change, on_host);
        match git_directory(&path).filter(|_| !unfolds) {
            None => lines.push(line(change, &path)),
            Some(git) => match folded.iter_mut().find(|(known, _)| known == git) {
                Some((_, count)) => *count += 1,
                None => folded.push((git.to_owned(), 1)),
            },
        }
    }
    lines.extend(folded.iter().map(|(git, count)| {
        let paths = if *count == 1 { "path" } else { "paths" };
        let more = style::paint(Role::Dim, &format!("({count} {paths})"));
        format!("{} {git}/ {more}", style::paint(Role::Changed, "M"))
    }));
    lines
}

fn shown(change: &WatchLine, on_host: bool) -> String {
    let slash = if change.is_directory { "/" } else { "" };
    let path = match on_host || change.path.below.is_root() {
        true => sanitize::path(&change.path.on_host),
        false => sanitize::name(change.path.below.as_bytes()),
    };
    format!("{path}{slash}")
}

fn line(change: &WatchLine, path: &str) -> String {
    let (letter, role) = match change.state {
        WatchedState::Added => ("A", Role::Added),
        WatchedState::Modified => ("M", Role::Changed),
        WatchedState::Deleted => ("D", Role::Removed),
        WatchedState::Type => ("T", Role::Changed),
        WatchedState::Mode | WatchedState::Metadata => ("m", Role::Changed),
        WatchedState::Reverted => ("=", Role::Dim),
    };
    format!("{} {path}", style::paint(role, letter))
}

/// Returns the part of a path up to its first `.git` directory; `None` if it is in none.
fn git_directory(path: &str) -> Option<&str> {
    let mut at = 0;
    for part in path.split('/') {
        let end = at + part.len();
        if part == GIT && path.len() > end {
            return path.get(..end);
        }
        at = end + 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::git_directory;

    #[test]
    fn what_lies_in_a_repository_is_folded() {
        for (path, folded) in [
            (".git/index", Some(".git")),
            ("a/.git/refs/heads/main", Some("a/.git")),
            (".git/", Some(".git")),
            (".git", None),
            (".gitignore", None),
            ("a.git/b", None),
            ("src/main.rs", None),
        ] {
            assert_eq!(git_directory(path), folded, "{path}");
        }
    }
}
