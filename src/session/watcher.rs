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

/// Shortest and longest time for which a checkpoint waits for an answer. It walks then.
const PATIENCE: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(1));
/// Time that a walk needs for one entry, at least.
const WALK: Duration = Duration::from_micros(1);

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
    match exchange(store.layout(), row, &Line::Ask(last.id.clone()), patience(last)) {
        Some(Line::Same) => Answer::Same,
        Some(Line::Walk(token)) => Answer::Walk(Token(token)),
        _ => Answer::Unknown,
    }
}

/// Says that a walk after the token found the files of a snapshot.
pub(super) fn rest(store: &Store, row: &InstanceRow, snapshot: &SnapshotId, token: Token) {
    let line = Line::Rest(snapshot.clone(), token.0);
    exchange(store.layout(), row, &line, PATIENCE.0);
}

/// Ends the watcher of a session.
pub(super) fn dismiss(store: &Store, row: &InstanceRow) {
    if exchange(store.layout(), row, &Line::End, PATIENCE.1).is_none() {
        // One that is stopped ends when it goes on and sees that its socket is gone.
        drop(handle_fs::remove_file_at(&store.layout().watcher(&row.id)));
    }
}

/// Returns the time for which an answer is worth waiting: that of a walk. A watcher that is late, because the machine is busy or it was
/// stopped, is asked again at the next checkpoint.
fn patience(last: &SnapshotRecord) -> Duration {
    let entries: u64 = last.mounts.iter().map(|mount| mount.entries).sum();
    let walk = WALK.saturating_mul(u32::try_from(entries).unwrap_or(u32::MAX));
    walk.clamp(PATIENCE.0, PATIENCE.1)
}

fn exchange(layout: &Layout, row: &InstanceRow, line: &Line, patience: Duration) -> Option<Line> {
    let mut stream = connect(layout, &row.id)?;
    line.send(&mut stream, patience).ok()?;
    Line::receive(&mut stream, patience).ok()
}
