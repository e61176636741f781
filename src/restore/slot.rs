//! Address of a path on disk: its parent directory, open, and its name there.

use std::ffi::OsString;
use std::io;
use std::path::Path;

use crate::model::{JournalMove, RelPath};
use handle_fs::Stat;
use handle_fs::remote::{Transports, above};
use handle_fs::{Dir, Root};

/// Address of a path: its parent directory, and its name there.
pub(super) struct Slot {
    pub(super) dir: Dir,
    pub(super) name: OsString,
}

impl Slot {
    /// Returns the metadata of the object there; `None` if there is none.
    pub(super) fn look(&self) -> io::Result<Option<Stat>> {
        self.dir.look(&self.name)
    }
}

/// Returns the slot of a move's path.
pub(super) fn seat(
    step: &JournalMove,
    root: Option<&Root>,
    (transports, host): (&Transports, &Path),
) -> io::Result<Slot> {
    let gone = || io::Error::from(io::ErrorKind::NotFound);
    match (step.path.split(), root) {
        (Some((parent, name)), Some(root)) => Ok(Slot {
            dir: root.dir(&parent)?,
            name: name.as_os_str().to_owned(),
        }),
        // The root itself is addressed from within: it is never moved.
        (None, Some(root)) => Ok(Slot {
            dir: root.dir(&RelPath::root())?,
            name: ".".into(),
        }),
        // It is made anew, as a whole.
        (None, None) => Ok(Slot {
            dir: Dir::open(transports, above(host).ok_or_else(gone)?)?,
            name: host.file_name().ok_or_else(gone)?.to_owned(),
        }),
        (Some(_), None) => Err(gone()),
    }
}
