//! Mark by which a reader that stays notices that the store has changed.

use super::{Store, StoreError};
use crate::model::Time;

/// State of the files that each change of the store changes: inode, size and time of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangeMark([Option<(u64, u64, Time)>; 3]);

impl Store {
    /// Returns a mark that differs from an earlier one if the store was changed in between. Reads only the facts of three files.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn change_mark(&self) -> Result<ChangeMark, StoreError> {
        let _kept = self.layout.enter()?;
        let catalog = self.layout.catalog();
        let mut ahead = catalog.clone().into_os_string();
        ahead.push("-wal");
        // A receipt is in the log first, and in the catalog a moment later: until then a reader of the catalog has not seen it.
        let files = [self.layout.receipts(), catalog, ahead.into()];
        let mut mark = [None; 3];
        for (mark, file) in mark.iter_mut().zip(&files) {
            let stat = handle_fs::stat_path(file).map_err(StoreError::io("look at", file))?;
            *mark = stat.map(|stat| (stat.ino, stat.size, stat.mtime));
        }
        Ok(ChangeMark(mark))
    }
}
