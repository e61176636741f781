//! The closing snapshot of a session, which no signal cancels.

use super::context::Context;
use super::steadfast::Steadfast;
use crate::session::{Closed, EndRequest, Services, SessionError, end};
use crate::store::Store;

/// Ends a session; signals do not cancel its closing snapshot. A launcher calls this when its terminal goes
/// away, and then this process is told to go as well.
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
