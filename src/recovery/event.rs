//! Events that the engine reports while it works, for a caller that shows them.

use std::path::Path;

use super::RecoveryError;
use crate::contract::Contract;
use crate::model::{InstanceId, SnapshotId};
use crate::restore::Cleared;
use crate::session::{Closed, DeferredBaseline};
use crate::store::{Store, StoreError};

/// Fact that the operator should hear of. None of them stops the work.
pub enum Event<'a> {
    /// The store is about to be made in a directory of another user, who will not be able to use it.
    ForeignHome {
        /// jackin's home.
        home: &'a Path,
        /// Numeric owner of the directory above it.
        owner: u32,
    },
    /// The store was opened for writing.
    OpenedForWriting(&'a Store, &'a Path),
    /// The store was opened for reading; `None` if there is none.
    OpenedForReading(Option<&'a Store>, &'a Path),
    /// A baseline that a dead process left was stored or removed, or stays.
    Deferred(DeferredBaseline),
    /// Baselines that dead processes left could not be looked at.
    DeferredFailed(RecoveryError),
    /// A session is about to begin under this contract.
    Begins(&'a Contract),
    /// An interrupted restore was cleared up.
    Cleared(&'a Cleared),
    /// Files stay in the staging directories of an interrupted restore, as these messages say.
    StagingStays(&'a [String]),
    /// An orphaned session was closed late.
    ClosedLate(&'a InstanceId, &'a Closed),
    /// An orphaned session cannot be closed, as in a store that cannot be written to. What it recorded is read without that.
    NotClosed(&'a InstanceId, RecoveryError),
    /// The session may be restored although it was never ended: all its processes are gone.
    NeverEnded(&'a InstanceId),
    /// The restore is refused as things are; the plan shows it anyway.
    WouldBeRefused(RecoveryError),
    /// A snapshot cannot be read, so it proves nothing about who changed a path.
    UnreadableHistory(&'a SnapshotId, &'a str),
    /// The directory of a fork that was interrupted cannot be removed.
    ForkStays(&'a StoreError),
    /// Edits after the later snapshot are unknown.
    EditsUnknown(RecoveryError),
}

/// Receiver of events.
pub trait Listener {
    /// Takes note of an event.
    fn on(&self, event: Event<'_>);
}

/// Listener that ignores every event.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unheard;

impl Listener for Unheard {
    fn on(&self, _: Event<'_>) {}
}
