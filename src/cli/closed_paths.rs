//! Commands for paths that stay because their own mode does not let their owner read them.

use std::ffi::OsString;

use crate::cli::context::Context;
use crate::cli::suggested_command::Words;
use crate::recovery::Caller;
use crate::restore::{Denied, Proposal, Purpose};
use crate::terminal::{shell, size};

/// Number of paths that the commands name.
const NAMED: usize = 5;

/// Prints the command that makes such paths readable, and `again` for them. `denied` has an item for each mount of the proposal.
pub(super) fn propose_opening(
    context: &Context<'_>,
    (proposal, caller): (&Proposal, Caller),
    denied: &[Denied],
    again: &Words,
) {
    let closed = proposal.mounts.iter().zip(denied).flat_map(|(mount, denied)| {
        let root = mount.request.coverage.root.to_path();
        let closed = denied.closed.iter();
        closed.map(move |(path, closed)| (path.on_host(&root).into_os_string(), closed))
    });
    let mut closed: Vec<_> = closed.collect();
    let all = closed.len();
    closed.truncate(NAMED);
    if closed.is_empty() {
        return;
    }
    let which = match (all, all > NAMED) {
        (1, _) => "it".to_owned(),
        (_, false) => "them".to_owned(),
        (_, true) => format!("the first {NAMED} of {} paths", size::count(all as u64)),
    };
    // The search of a directory is a right of its own.
    let right = match closed.iter().any(|(_, closed)| closed.is_dir) {
        true => "u+rX",
        false => "u+r",
    };
    let paths: Vec<OsString> = closed.iter().map(|(path, _)| path.clone()).collect();
    let words: Vec<String> = paths.iter().map(shell::word).collect();
    context.propose_of_other(
        &format!("to make {which} readable"),
        &format!("chmod {right} {}", words.join(" ")),
    );
    // Where the closing snapshot shows one, its later edits would be discarded without being listed first.
    let is_unseen = closed.iter().all(|(_, closed)| closed.is_unseen);
    let again = match proposal.purpose {
        Purpose::Undo(_) => again.clone(),
        _ => again.clone().paths(&paths),
    };
    // Inside a session it is refused.
    let again = again.switch("--overwrite-later-edits", is_unseen && caller == Caller::Outside);
    context.propose(&format!("then, to restore {which}"), &again.text());
}
