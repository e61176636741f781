//! Notes and problems of a snapshot that was written into a directory, as `restore --to` and `fork` print them.

use super::context::Context;
use crate::model::SnapshotRecord;
use crate::recovery::{EncryptedFile, UnwrittenSocket, WrittenSnapshot};
use crate::report::{ChangedMeanwhileDocument, OutsideGitDocument};
use crate::terminal::{sanitize, size};

/// Says which files changed while the snapshot was taken.
pub(super) fn print_changed_meanwhile(context: &Context<'_>, target: &SnapshotRecord) {
    if let Some(changed) = ChangedMeanwhileDocument::of(target) {
        context.terminal.warn(&changed.line());
    }
}

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

/// Prints the places outside of what was written that git in it works on.
pub(super) fn print_outside_git(context: &Context<'_>, found: &[OutsideGitDocument]) {
    for outside in found {
        context.terminal.warn(&outside.line());
    }
}

/// Prints the files that are not written because their key is missing.
pub(super) fn print_encrypted(context: &Context<'_>, files: &[EncryptedFile]) {
    for file in files {
        let place = sanitize::path(&file.place);
        let line = format!("{place}: encrypted; it is not written without --identity FILE");
        context.terminal.warn(&line);
    }
}

/// Largest number of sockets that are printed by name.
const NAMED: usize = 3;

/// Prints the sockets, which are not written.
pub(super) fn print_sockets(context: &Context<'_>, sockets: &[UnwrittenSocket]) {
    if sockets.is_empty() {
        return;
    }
    let mut names: Vec<String> = sockets
        .iter()
        .take(NAMED)
        .map(|socket| sanitize::name(socket.path.as_bytes()))
        .collect();
    if let Some(more) = sockets.len().checked_sub(NAMED).filter(|more| *more > 0) {
        names.push(format!("{more} more"));
    }
    let count = size::counted(sockets.len() as u64, "socket is", "sockets are");
    let line = format!("{count} not written: {}", names.join(", "));
    context.terminal.warn(&line);
}

/// Returns the purpose of the command that writes these files as well.
pub(super) fn to_write(files: &[EncryptedFile]) -> &'static str {
    match files {
        [_] => "to write it too",
        _ => "to write them too",
    }
}
