//! Paths of this machine as their reader writes them.

use std::path::Path;

use crate::terminal::sanitize;

/// Returns a path that begins with `~` if it is below the home.
pub(in crate::cli) fn below_home(path: &Path, home: Option<&Path>) -> String {
    let home = home.filter(|home| home.parent().is_some());
    match home.and_then(|home| path.strip_prefix(home).ok()) {
        Some(rest) => sanitize::path(&Path::new("~").join(rest)),
        None => sanitize::path(path),
    }
}

/// Returns the question before a file is written or removed (`verb`).
pub(in crate::cli) fn question(verb: &str, file: &Path, home: Option<&Path>) -> String {
    format!("{verb} {}?", below_home(file, home))
}
