//! Authorship of a path's changes, from the states that snapshots show and the times at which agents may have written.
//!
//! Between two looks at the files, a change was made by a session whose tool call was open and may write the path, by one whose turn it was,
//! or between turns by the operator. Where several fit, the author is unknown: a turn can go on without a call, in a process that a call left
//! running, or because the hook of a call was lost. Only a call that names the path is certain, if no other call may write it.
//! A session that does not cover the path counts only where a call names it: what else such a session writes there is known of no session.

use std::path::Path;

use super::activity::{Activity, Call};

/// A moment at which the state of the files is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Look {
    /// Number of the newest receipt before jackin looked: what happened after it may be missing.
    pub(super) since: u64,
    /// Number of the receipt with which the state was known: what happened after it is not in the state.
    pub(super) number: u64,
    /// Position of the session that looked.
    pub(super) by: usize,
    /// True if the session's agent did nothing while jackin looked, because it reported the end of a turn.
    pub(super) at_rest: bool,
}

/// Possible authors of a change. Several of them are possible at once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Authors {
    /// The session that is asked about.
    pub(super) own: bool,
    /// Positions of other sessions.
    pub(super) others: Vec<usize>,
    /// The operator, between turns.
    pub(super) operator: bool,
}

impl Authors {
    /// Adds possible authors.
    pub(super) fn add(&mut self, more: &Self) {
        self.own |= more.own;
        self.operator |= more.operator;
        for other in &more.others {
            if !self.others.contains(other) {
                self.others.push(*other);
            }
        }
    }

    /// Returns the authors where what the sessions at these positions did is the session's own work.
    pub(super) fn with_own(mut self, siblings: &[usize]) -> Self {
        let before = self.others.len();
        self.others.retain(|other| !siblings.contains(other));
        self.own |= self.others.len() < before;
        self
    }

    /// Returns true if only the session itself can have made the change.
    pub(super) fn is_own(&self) -> bool {
        self.own && !self.operator && self.others.is_empty()
    }

    /// Returns true if only the operator can have made the change.
    pub(super) fn is_operators(&self) -> bool {
        self.operator && !self.own && self.others.is_empty()
    }
}

/// Returns the possible authors of a change of `path` that happened after the looks `before`, which did not show it, and before the one that
/// shows it. The first of `sessions` is the one that is asked about. With `any_call`, calls that name other files may have written it too: it
/// has several names.
pub(super) fn authors(
    sessions: &[Activity],
    (before, after): (&[&Look], &Look),
    path: &Path,
    any_call: bool,
) -> Authors {
    // Who certainly meant the path, and who else may have written it.
    let mut naming = Authors::default();
    let mut possible = Authors::default();
    let mut is_disputed = any_call;
    for (at, session) in sessions.iter().enumerate() {
        let low = working_since(before, at);
        let high = after.number;
        // One name of several may lie in what it covers.
        let is_covered = any_call || session.covers(path);
        for call in open_calls(session, at, (before, high), path, any_call) {
            match call.paths.is_empty() {
                true if !is_covered => {}
                true => {
                    is_disputed = true;
                    possible.put(at);
                }
                false if any_call => possible.put(at),
                false => naming.put(at),
            }
        }
        if is_covered && session.may_work(low, high) {
            possible.put(at);
        }
        possible.operator |= at == 0 && session.may_wait(low, high);
    }
    let is_named = naming != Authors::default();
    if is_named && !is_disputed && !possible.operator {
        return naming;
    }
    possible.add(&naming);
    possible
}

/// Returns true if a call of a session other than the first was open between looks and may have written `path`.
pub(super) fn may_be_of_others_call(
    sessions: &[Activity],
    (before, after): (&[&Look], &Look),
    path: &Path,
    any_call: bool,
) -> bool {
    let mut others = sessions.iter().enumerate().skip(1);
    others.any(|(at, session)| {
        let is_covered = any_call || session.covers(path);
        let mut calls = open_calls(session, at, (before, after.number), path, any_call);
        calls.any(|call| is_covered || !call.paths.is_empty())
    })
}

/// Returns the receipt since which the work of the session at a position may be missing in all that these looks show.
///
/// Two sessions look at the same time, and the look that ends last may have begun first. What neither shows was done after both began.
pub(super) fn working_since(before: &[&Look], at: usize) -> u64 {
    // An agent's own event follows what it did. What another one does goes on while jackin looks.
    let since = |look: &&Look| {
        if look.by == at { look.number } else { look.since }
    };
    before.iter().map(since).max().unwrap_or(0)
}

/// Returns the calls of the session at a position that may have written `path` between these looks and the receipt `high`.
pub(super) fn open_calls<'a>(
    session: &'a Activity,
    at: usize,
    (before, high): (&[&Look], u64),
    path: &'a Path,
    any_call: bool,
) -> impl Iterator<Item = &'a Call> {
    let since = |look: &&Look| {
        if look.by == at && look.at_rest {
            look.number
        } else {
            look.since
        }
    };
    let low = before.iter().map(since).max().unwrap_or(0);
    session
        .open(low, high)
        .filter(move |call| any_call || call.paths.is_empty() || may_write(&call.paths, path))
}

impl Authors {
    fn put(&mut self, session: usize) {
        match session {
            0 => self.own = true,
            other if self.others.contains(&other) => {}
            other => self.others.push(other),
        }
    }
}

/// Returns true if a call that names `paths` may write `path`: one of them, a directory that it makes for one, or what it deletes with one.
fn may_write(paths: &[crate::model::ByteString], path: &Path) -> bool {
    let mut named = paths.iter().map(crate::model::ByteString::to_path);
    named.any(|named| named.starts_with(path) || path.starts_with(&named))
}
