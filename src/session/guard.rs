//! Who may do what: nothing is put back under a living session, and a session may not put itself back.

use super::state::state;
use super::{SessionError, State};
use crate::environment::Environment;
use crate::process;
use crate::snapshot::{Coverage, InstanceId, ProcessRef};
use crate::store::{InstanceRow, Store};

/// Refuses when `row`, or another instance on overlapping paths, is active.
///
/// # Errors
/// [`SessionError::Active`] with the reasons; [`SessionError::Store`].
pub fn refuse_active(store: &Store, row: &InstanceRow) -> Result<(), SessionError> {
    let overlapping = |other: &InstanceRow| {
        other
            .mounts
            .iter()
            .any(|theirs| row.mounts.iter().any(|ours| overlap(ours, theirs)))
    };
    let others = store
        .catalog()
        .instances()?
        .into_iter()
        .filter(|other| other.id != row.id && overlapping(other));
    for candidate in std::iter::once(row.clone()).chain(others) {
        if let State::Active(reasons) = state(store, &candidate) {
            let other = candidate.id != row.id;
            return Err(SessionError::Active {
                instance: candidate.id,
                other,
                reasons,
            });
        }
    }
    Ok(())
}

/// Whether one root lies in the other.
pub(super) fn overlap(a: &Coverage, b: &Coverage) -> bool {
    let (a, b) = (a.root.to_path(), b.root.to_path());
    a.starts_with(&b) || b.starts_with(&a)
}

/// Refuses a caller that runs inside a living session. `ending` names an instance that its own starter may end: a
/// launcher that began it for one of its children descends from nothing but itself.
///
/// # Errors
/// [`SessionError::Inside`]; [`SessionError::Store`].
pub fn refuse_inside(
    store: &Store,
    environment: &Environment,
    ending: Option<&InstanceId>,
) -> Result<(), SessionError> {
    let caller = process::caller(environment);
    for row in store.catalog().instances()? {
        let named = caller.sessions.iter().any(|session| session == row.id.as_str());
        if row.ended_at.is_some() && !named {
            continue;
        }
        let known: Vec<ProcessRef> = row.keeper.iter().chain(&row.survivors).cloned().collect();
        let descends =
            known.iter().any(|process| caller.ancestors.contains(process)) && ending != Some(&row.id);
        if (named || descends) && state(store, &row).is_active() {
            return Err(SessionError::Inside(row.id));
        }
    }
    Ok(())
}
