//! Several changes on one line.

use std::path::Path;

use super::changes;
use crate::model::RelPath;
use crate::report::{ChangeKind, Extent, Fold};
use crate::terminal::{Role, sanitize, size, style};

/// Kinds in the order in which a fold counts them.
const KINDS: [ChangeKind; 7] = [
    ChangeKind::Added,
    ChangeKind::Modified,
    ChangeKind::Deleted,
    ChangeKind::Type,
    ChangeKind::Mode,
    ChangeKind::Metadata,
    ChangeKind::Renamed,
];

/// A directory of a listing: ends in `/`. It is relative to the mount, or whole if the mount's `root` is given.
fn directory(path: &RelPath, root: Option<&Path>) -> String {
    let shown = match root {
        Some(root) => sanitize::path(&path.on_host(root)),
        None => changes::path(path, None),
    };
    if path.is_root() && root.is_none() {
        return shown;
    }
    format!("{shown}/")
}

/// Kinds of the changes in a fold, with the number of each. `kind_at` returns the kind at a position of the whole list.
pub(super) fn tally(fold: &Fold, kind_at: impl Fn(usize) -> Option<ChangeKind>) -> Vec<(ChangeKind, u64)> {
    let count = |kind: ChangeKind| {
        let alike = fold.items.iter().filter(|at| kind_at(**at) == Some(kind));
        (kind, alike.count() as u64)
    };
    KINDS
        .map(count)
        .into_iter()
        .filter(|(_, number)| *number > 0)
        .collect()
}

/// The directory of a fold and the number of its paths. `words` names the kinds of a fold that has several.
pub(super) fn text(fold: &Fold, words: &str) -> String {
    text_below(fold, words, None)
}

fn text_below(fold: &Fold, words: &str, root: Option<&Path>) -> String {
    let place = match &fold.from_path {
        Some(from) => format!("{} -> {}", directory(from, root), directory(&fold.path, root)),
        None => directory(&fold.path, root),
    };
    let other = if fold.has_others { "other " } else { "" };
    let counted = |number: u64, one: &str, many: &str| {
        size::counted(number, &format!("{other}{one}"), &format!("{other}{many}"))
    };
    let amount = match (fold.extent, fold.files, fold.directories) {
        (Extent::Git(_), ..) => {
            let paths = counted(fold.items.len() as u64, "path", "paths");
            match words {
                "" => paths,
                words => format!("{paths}: {words}"),
            }
        }
        (_, 0, directories) => counted(directories, "directory", "directories"),
        (_, files, 0) => counted(files, "file", "files"),
        (_, files, directories) => {
            let files = counted(files, "file", "files");
            format!(
                "{files}, {}",
                size::counted(directories, "directory", "directories")
            )
        }
    };
    match fold.extent {
        Extent::Files(_) => format!("{amount} in {place}"),
        Extent::Whole(_) | Extent::Moved | Extent::Git(_) => {
            format!("{place} {}", style::paint(Role::Dim, &format!("({amount})")))
        }
    }
}

/// One line of a listing: letter, directory, number of paths.
pub(in crate::cli) fn line(fold: &Fold, kinds: &[ChangeKind]) -> String {
    line_below(fold, kinds, None)
}

/// The same with whole paths, below the `root` of the mount.
pub(super) fn line_below(fold: &Fold, kinds: &[ChangeKind], root: Option<&Path>) -> String {
    let (kind, words) = match fold.extent {
        Extent::Whole(kind) | Extent::Files(kind) | Extent::Git(Some(kind)) => (kind, String::new()),
        Extent::Moved => (ChangeKind::Renamed, String::new()),
        Extent::Git(None) => {
            let word = |(kind, number): &(ChangeKind, u64)| {
                let word = match kind {
                    ChangeKind::Added => "added",
                    ChangeKind::Deleted => "deleted",
                    ChangeKind::Renamed => "renamed",
                    _ => "modified",
                };
                (word, *number)
            };
            let kinds = tally(fold, |at| kinds.get(at).copied());
            (ChangeKind::Modified, counts(kinds.iter().map(word)))
        }
    };
    let (letter, role) = changes::letter(kind);
    let mut line = format!(
        "{} {}",
        style::paint(role, letter),
        text_below(fold, &words, root)
    );
    if fold.is_marked {
        line.push_str("  ");
        line.push_str(&style::paint(Role::Warning, changes::REVERTED));
    }
    line
}

/// `60 added, 3 deleted`; numbers of the same word are added up.
pub(super) fn counts<'a>(parts: impl Iterator<Item = (&'a str, u64)>) -> String {
    let mut sums: Vec<(&str, u64)> = Vec::new();
    for (word, number) in parts {
        match sums.iter_mut().find(|(known, _)| *known == word) {
            Some((_, sum)) => *sum += number,
            None => sums.push((word, number)),
        }
    }
    let parts: Vec<String> = sums
        .iter()
        .map(|(word, number)| format!("{} {word}", size::count(*number)))
        .collect();
    parts.join(", ")
}
