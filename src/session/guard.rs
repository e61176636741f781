//! Guards of commands: nothing is restored under an active session, and a session may not restore itself.

use super::containers::refuse_containers;
use super::liveness::{LivenessProbe, is_active, state_by};
use super::{SessionError, State, touch};
use crate::environment::Environment;
use crate::model::{Coverage, InstanceId};
use crate::process::{self, Caller};
use crate::store::{InstanceRow, Store};
use handle_fs::Locations;

/// Refuses when `row`, or another instance on overlapping paths, is active.
///
/// # Errors
/// [`SessionError::Active`] with the reasons; [`SessionError::Store`].
pub fn ensure_idle(store: &Store, row: &InstanceRow) -> Result<(), SessionError> {
    let sight = LivenessProbe::now(store);
    if let State::Active(reasons) = state_by(&sight, store, row) {
        return Err(SessionError::Active {
            instance: row.id.clone(),
            other: false,
            reasons,
        });
    }
    refuse_others(&sight, store, row)
}

fn refuse_others(sight: &LivenessProbe, store: &Store, row: &InstanceRow) -> Result<(), SessionError> {
    let locations = Locations::default();
    let living = sight.may_live_in(store)?.into_iter();
    let others = living.filter(|other| other.id != row.id && row.is_reached_from(other, &locations));
    for candidate in others {
        if let State::Active(reasons) = state_by(sight, store, &candidate) {
            return Err(SessionError::Active {
                instance: candidate.id,
                other: true,
                reasons,
            });
        }
    }
    Ok(())
}

/// Refuses when anybody may be at work on the paths of `row`: it, another session, or an agent in a container of jackin's.
///
/// # Errors
/// As [`ensure_idle`]; [`SessionError::Container`].
pub fn refuse_living(
    store: &Store,
    environment: &Environment,
    row: &InstanceRow,
) -> Result<(), SessionError> {
    ensure_idle(store, row)?;
    refuse_containers(environment, row)
}

/// Refuses when another session on overlapping paths is active. The session itself may be active.
///
/// # Errors
/// [`SessionError::Active`] with the reasons; [`SessionError::Store`].
pub fn ensure_no_overlap(store: &Store, row: &InstanceRow) -> Result<(), SessionError> {
    refuse_others(&LivenessProbe::now(store), store, row)
}

/// Returns true if an agent with one mount may write what a snapshot of the other covers.
#[must_use]
pub fn overlap(a: &Coverage, b: &Coverage, locations: &Locations) -> bool {
    a.reached_from(b, locations).is_some() || b.reached_from(a, locations).is_some()
}

/// Refuses a caller that runs inside a living session. `allowed` names a session that the caller may act on from within:
/// the one whose checkpoint it takes, or the one that it began for one of its children and now ends.
///
/// # Errors
/// [`SessionError::Inside`]; [`SessionError::Store`].
pub fn ensure_outside_session(
    store: &Store,
    environment: &Environment,
    allowed: Allowed<'_>,
) -> Result<(), SessionError> {
    let caller = process::caller(environment);
    let rows = store.catalog().instances_that_may_live(&caller.values)?;
    let own = match allowed {
        Allowed::Look(own) | Allowed::Checkpoint(own) => store.catalog().instance(own)?,
        Allowed::Nothing | Allowed::End(_) => None,
    };
    // An agent may only read its ended sessions.
    let is_own = |row: &InstanceRow| matches!(allowed, Allowed::Look(_)) || is_active(store, row);
    let own_keeper = own.filter(is_own).and_then(|row| row.keeper);
    for row in rows {
        let named = is_named(&caller.values, &row);
        if row.ended_at.is_some() && !named {
            continue;
        }
        let descends = descends(&caller, &row);
        let inside = match allowed {
            Allowed::Nothing => named || descends,
            // One process of an agent may have several sessions: in several directories, or one after the other.
            Allowed::Look(own) | Allowed::Checkpoint(own) => {
                let is_sibling = own_keeper.is_some() && own_keeper == row.keeper;
                (named || descends) && *own != row.id && !is_sibling
            }
            // A launcher that began a session for its child descends from nothing but itself; the child carries the id. The session that an
            // agent's hook or tool began is kept by the agent.
            Allowed::End(own) => {
                let is_launcher = || -> Result<bool, SessionError> {
                    Ok(*own == row.id && store.catalog().beginner(&row.id)?.is_none())
                };
                named || (descends && !is_launcher()?)
            }
        };
        if inside && is_active(store, &row) {
            return Err(SessionError::Inside(row.id));
        }
    }
    Ok(())
}

/// Returns true if the session `row` is active and the caller runs inside it.
#[must_use]
pub fn is_inside(store: &Store, environment: &Environment, row: &InstanceRow) -> bool {
    let caller = process::caller(environment);
    (is_named(&caller.values, row) || descends(&caller, row)) && is_active(store, row)
}

fn is_named(sessions: &[String], row: &InstanceRow) -> bool {
    sessions.iter().any(|session| session == row.id.as_str())
}

/// Returns true if a process of the session is an ancestor of the caller.
fn descends(caller: &Caller, row: &InstanceRow) -> bool {
    let mut known = row.keeper.iter().chain(&row.survivors);
    known.any(|process| caller.ancestors.contains(process))
}

/// The living sessions that the caller runs in, newest first: by what its ancestors carry, or because it descends from a process of theirs
/// and one of their mounts is, holds or lies in its current directory. What stands in its own environment says nothing.
///
/// # Errors
/// [`SessionError::Store`].
pub fn sessions_of_caller(
    store: &Store,
    environment: &Environment,
) -> Result<Vec<InstanceRow>, SessionError> {
    let caller = process::caller(environment);
    let is_own = |row: &InstanceRow| {
        let is_here = || {
            let mut places = row.mounts.iter().flat_map(Coverage::places);
            places.any(|place| touch(&place, &environment.current))
        };
        is_named(&caller.inherited, row) || descends(&caller, row) && is_here()
    };
    let mut rows = store.catalog().open_instances()?;
    rows.retain(|row| is_own(row) && is_active(store, row));
    Ok(rows)
}

/// Action that a caller inside a session may take nevertheless.
#[derive(Clone, Copy)]
pub enum Allowed<'a> {
    /// No action.
    Nothing,
    /// Read its own session, or an ended one of the same agent.
    Look(&'a InstanceId),
    /// Take a checkpoint of its own session, or go back to one.
    Checkpoint(&'a InstanceId),
    /// End the session that it began.
    End(&'a InstanceId),
}
