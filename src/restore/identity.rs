//! Telling one object from every other one, also after a crash and a reboot.

use crate::model::{Identity, Stamp};
use handle_fs::Stat;

/// The identity of what `stat` describes.
pub(super) fn identity(stat: &Stat) -> Identity {
    Identity {
        ino: stat.ino,
        born: stat.born.map(Stamp::from),
        size: stat.size,
        mtime: stat.mtime.into(),
    }
}

/// Returns true if `stat` describes the object of `identity`, in whatever state.
///
/// Without equal birth times, an inode number may have been reused. In a staging directory of jackin (`ours`) no other process
/// uses it; elsewhere size and modification time must agree as well.
pub(super) fn is_same(identity: &Identity, stat: &Stat, ours: bool) -> bool {
    if identity.ino != stat.ino {
        return false;
    }
    match (identity.born, stat.born) {
        (Some(then), Some(now)) if then == Stamp::from(now) => true,
        // A copy that an overlay makes of a lower file when it is moved is born then.
        _ if ours => true,
        (Some(_), Some(_)) | (None, _) | (_, None) => {
            identity.size == stat.size && identity.mtime == stat.mtime.into()
        }
    }
}
