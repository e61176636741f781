//! Watcher of a session: a process that knows that nothing has happened in the mounts since a walk of them, so that a checkpoint
//! need not walk again. It never says what changed. What it does not know for certain it does not say.
//!
//! A checkpoint asks it, over a socket in the store, about the session's last snapshot. The answer is that nothing has happened,
//! or a token of this moment. A checkpoint that walked then tells for which snapshot its walk, which came after the token, speaks.

mod answering;
mod connection;

use std::time::Duration;

pub use answering::watch_changes;
use connection::{Line, connect};

use crate::contract::why_unwatched;
use crate::model::{SnapshotId, SnapshotRecord};
use crate::store::{InstanceRow, Layout, Store};

/// Longest time for which a checkpoint waits for an answer. It walks then, and no longer asks this watcher.
const PATIENCE: Duration = Duration::from_secs(1);

/// Answer about the last snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// Nothing has happened since a walk that found its files.
    Same,
    /// Something may have happened. A walk from now on speaks for the moment of the token.
    Walk(Token),
    /// There is no watcher, or it does not know.
    Unknown,
}

/// Moment of a watcher.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token(String);

/// Asks the watcher of a session about its last snapshot.
pub(super) fn ask(store: &Store, row: &InstanceRow, last: &SnapshotRecord) -> Answer {
    let is_meant = why_unwatched(&row.mounts).is_none() && {
        let coverages = last.mounts.iter().map(|mount| &mount.coverage);
        coverages.eq(&row.mounts)
    };
    if !is_meant || store.acts_for_another() {
        return Answer::Unknown;
    }
    match exchange(store.layout(), row, &Line::Ask(last.id.clone())) {
        Some(Line::Same) => Answer::Same,
        Some(Line::Walk(token)) => Answer::Walk(Token(token)),
        _ => Answer::Unknown,
    }
}

/// Says that a walk after the token found the files of a snapshot.
pub(super) fn rest(store: &Store, row: &InstanceRow, snapshot: &SnapshotId, token: Token) {
    exchange(store.layout(), row, &Line::Rest(snapshot.clone(), token.0));
}

/// Ends the watcher of a session.
pub(super) fn dismiss(store: &Store, row: &InstanceRow) {
    exchange(store.layout(), row, &Line::End);
}

fn exchange(layout: &Layout, row: &InstanceRow, line: &Line) -> Option<Line> {
    let mut stream = connect(layout, &row.id)?;
    let answer = line
        .send(&mut stream, PATIENCE)
        .and_then(|()| Line::receive(&mut stream, PATIENCE));
    if answer.is_err() {
        // One that is stopped would fill its queue of callers, and the next one would wait for good. It ends when it sees that its
        // socket is gone.
        drop(handle_fs::remove_file_at(&layout.watcher(&row.id)));
    }
    answer.ok()
}
