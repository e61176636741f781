//! Directory of objects, with its packs.

use std::cell::Cell;

use super::pack::Pack;
use handle_fs::RelPath;

/// One directory of objects.
pub(super) struct Store {
    pub(super) dir: RelPath,
    pub(super) packs: Vec<Pack>,
    /// Index of the pack that had the last object; it usually has the next one too.
    pub(super) last: Cell<usize>,
}
