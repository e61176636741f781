//! Notes and problems of a snapshot that was written into a directory, as `restore --to` and `fork` print them.

use super::context::Context;
use crate::recovery::WrittenSnapshot;
use crate::terminal::sanitize;

/// Prints the notes, and the problems unless `json`, which has them in its document.
pub(super) fn print_problems(context: &Context<'_>, written: &WrittenSnapshot, json: bool) {
    let terminal = context.terminal;
    for mount in &written.mounts {
        for note in &mount.notes {
            let host = sanitize::path(&note.path.on_host(&mount.directory));
            let key = sanitize::text(&note.key.join("."));
            terminal.note(&format!("{host}: {key}: {}", note.words()));
        }
        for (path, problem) in mount.problems.iter().filter(|_| !json) {
            let host = sanitize::path(&path.on_host(&mount.directory));
            terminal.warn(&format!("{host}: {problem}"));
        }
    }
}
