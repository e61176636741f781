//! The end of a session that a command or a hook asks for: its closing snapshot, and the processes that live on.

use super::context::Context;
use super::steadfast::Steadfast;
use crate::model::ProcessRef;
use crate::process;
use crate::session::{Closed, EndRequest, Services, SessionError, end};
use crate::store::{InstanceRow, Store};

/// Ends a session; no signal cancels its closing snapshot. A launcher calls this when its terminal goes away, and then this
/// process is told to go as well.
pub(super) fn end_held(
    context: &Context<'_>,
    store: &Store,
    request: EndRequest<'_>,
) -> Result<Closed, SessionError> {
    let _held = context.interrupts.hold_back();
    let world = context.world();
    let noted = context.interrupts.noted();
    let steadfast = Steadfast::new(Some(world.observer), context.terminal, noted);
    let world = Services {
        observer: &steadfast,
        ..world
    };
    end(store, world, request)
}

/// The instance's processes that still live: it stays active while they do.
pub(super) fn survivors(row: &InstanceRow) -> Vec<ProcessRef> {
    let known: Vec<ProcessRef> = row.keeper.iter().cloned().collect();
    let members = process::members(&row.id, &known)
        .map(|probe| probe.members)
        .unwrap_or_default();
    // The keeper itself may go on: an agent's shell that calls `end` is no work of the session any more.
    let keeper = row.keeper.as_ref().map(|keeper| keeper.pid);
    members
        .iter()
        .filter(|member| member.why == process::Why::Environment && Some(member.pid) != keeper)
        .filter_map(|member| process::reference(member.pid))
        .collect()
}
