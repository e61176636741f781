//! How the library says what it is doing, and learns that it shall stop. It never prints.

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

/// Receives progress and tells about a request to stop.
pub trait Observer: Send + Sync {
    /// A phase begins.
    fn begin(&self, phase: Phase);
    /// About so many more entries and bytes are to come in this phase. Only ever a guess: the tree may change meanwhile.
    fn expect(&self, entries: u64, bytes: u64);
    /// So many more entries and bytes were handled.
    fn advance(&self, entries: u64, bytes: u64);
    /// The phase is over.
    fn end(&self);
    /// Whether the operator asked to stop (Ctrl-C, SIGTERM). Asked often; must be cheap.
    fn cancelled(&self) -> bool;
    /// A restore came to a point after which, if its process dies there, another one has to take up the work. The names are
    /// those of `docs/internals/details.md`. Only tests listen.
    fn reached(&self, _point: &'static str) {}
}

/// Says nothing and never stops.
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
