//! Room on the disk for what has to be written when it is full: the end of the session whose agent filled it, the receipt of a `prune` that
//! is to make room. A file takes the room while there is plenty, and goes when there is none.

use std::io::{ErrorKind, Write as _};
use std::path::Path;

use super::{Layout, StoreError, durable};

/// Size of the file, in bytes: receipts, the journal of the catalog, and a small closing snapshot.
const SIZE: usize = 1 << 20;
/// With fewer free bytes than this the file goes: SQLite may need a page for each that it changes.
const SCARCE: u64 = SIZE as u64 / 4;
/// With at least as many free bytes as this the file is made.
const PLENTY: u64 = 16 * SIZE as u64;

/// Makes the file or removes it, as the free space demands. A store without one works as long as there is room, so nothing of this is an
/// error.
pub(super) fn keep(layout: &Layout) {
    let _ = kept(layout);
}

fn kept(layout: &Layout) -> Result<(), StoreError> {
    let path = layout.reserve();
    let free = handle_fs::free_bytes_at(layout.root()).map_err(StoreError::io("look at", layout.root()))?;
    let found = handle_fs::stat_path(&path).map_err(StoreError::io("look at", &path))?;
    let is_whole = found.is_some_and(|found| found.size >= SIZE as u64);
    match is_whole {
        true if free < SCARCE => remove(&path),
        false if free >= PLENTY => {
            // The process that made it may have been killed.
            remove(&path)?;
            make(&path).inspect_err(|_| drop(remove(&path)))
        }
        _ => Ok(()),
    }
}

/// Removes the file. Nothing depends on its absence, so it is not synced.
fn remove(path: &Path) -> Result<(), StoreError> {
    match handle_fs::remove_file_at(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(StoreError::io("remove", path)(error)),
        _ => Ok(()),
    }
}

fn make(path: &Path) -> Result<(), StoreError> {
    let mut file = durable::create(path)?;
    // Not every file system can take room without a write.
    let made = handle_fs::allocate(&file, SIZE as u64).or_else(|_| file.write_all(&vec![0; SIZE]));
    made.map_err(StoreError::io("write", path))
}
