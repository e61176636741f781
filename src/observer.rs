//! Reports of the library's progress, and the operator's request to stop. The library never prints.

/// The part of the work that is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Snapshots of file systems are made, or waited for.
    Freeze,
    /// A mount is walked and its content stored.
    Capture,
    /// A mount is walked and compared.
    Compare,
    /// New content is written beside the live tree.
    Stage,
    /// Paths are moved into place.
    Apply,
    /// Stored data is read and checked.
    Verify,
    /// Archives are packed anew.
    Repack,
    /// A snapshot is written into a file of its own.
    Export,
    /// A snapshot is read from such a file.
    Import,
}

/// Receiver of progress that also passes on a request to stop.
pub trait Observer: Send + Sync {
    /// Begins a phase.
    fn begin(&self, phase: Phase);
    /// Expects about so many more entries and bytes in this phase. An estimate: the tree may change meanwhile.
    fn expect(&self, entries: u64, bytes: u64);
    /// Counts so many more entries and bytes as handled.
    fn advance(&self, entries: u64, bytes: u64);
    /// Ends the phase.
    fn end(&self);
    /// Returns true if the operator asked to stop (Ctrl-C, SIGTERM). Called often, so it must be cheap.
    fn cancelled(&self) -> bool;
    /// Marks a point of a restore after which, if its process dies there, another process must resume it. The names are those of
    /// `docs/internals/details.md`. Only tests listen.
    fn reached(&self, _point: &'static str) {}
}

/// Observer that reports nothing and never stops.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {
    fn begin(&self, _: Phase) {}
    fn expect(&self, _: u64, _: u64) {}
    fn advance(&self, _: u64, _: u64) {}
    fn end(&self) {}
    fn cancelled(&self) -> bool {
        false
    }
}
