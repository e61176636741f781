//! The calls about what is in a file.

use rustix::fs::SeekFrom;

use crate::remote::{Call, Whence};
use crate::system::own;
use crate::{AsHandle, HandleRef, Result};

pub(crate) fn seek(handle: impl AsHandle, to: SeekFrom) -> Result<u64> {
    let handle = here!(handle, |far| far.count(Call::Seek {
        handle: far.number(),
        to: Whence::from(to)
    }));
    simulated!(seek(handle, to));
    rustix::fs::seek(handle, to)
}

pub(crate) fn read(handle: impl AsHandle, room: &mut [u8]) -> Result<usize> {
    let handle = here!(handle, |far| far.read(room, None));
    simulated!(read(handle, room, None));
    rustix::io::read(handle, room)
}

pub(crate) fn pread(handle: impl AsHandle, room: &mut [u8], at: u64) -> Result<usize> {
    let handle = here!(handle, |far| far.read(room, Some(at)));
    simulated!(read(handle, room, Some(at)));
    rustix::io::pread(handle, room, at)
}

pub(crate) fn write(handle: impl AsHandle, bytes: &[u8]) -> Result<usize> {
    let handle = here!(handle, |far| far.write(bytes, None));
    simulated!(write(handle, bytes, None));
    rustix::io::write(handle, bytes)
}

pub(crate) fn pwrite(handle: impl AsHandle, bytes: &[u8], at: u64) -> Result<usize> {
    let handle = here!(handle, |far| far.write(bytes, Some(at)));
    simulated!(write(handle, bytes, Some(at)));
    rustix::io::pwrite(handle, bytes, at)
}

/// Lets a file share all blocks of another one.
pub(crate) fn share_blocks(to: impl AsHandle, from: impl AsHandle) -> Result<()> {
    let to = here!(to, |_far| Err(rustix::io::Errno::OPNOTSUPP));
    let from = here!(from, |_far| Err(rustix::io::Errno::OPNOTSUPP));
    #[cfg(any(test, debug_assertions, feature = "simulated"))]
    if crate::simulated::world().is_some() {
        return Err(rustix::io::Errno::OPNOTSUPP);
    }
    own::share_blocks(to, from)
}

pub(crate) fn ftruncate(handle: impl AsHandle, length: u64) -> Result<()> {
    let handle = here!(handle, |far| far.done(Call::Cut {
        handle: far.number(),
        length
    }));
    simulated!(truncate(handle, length));
    rustix::fs::ftruncate(handle, length)
}

/// Takes the lock of a file here that `write(2)` holds while it fills it, and lets it go, where times are trusted. Looking for data takes it,
/// here behind the end of any file: nothing is looked up, and the position stays.
pub(crate) fn take_inode_lock(handle: impl AsHandle) {
    let HandleRef::Here(handle) = handle.as_handle() else {
        return;
    };
    // There each call is alone.
    #[cfg(any(test, debug_assertions, feature = "simulated"))]
    if crate::simulated::world().is_some() {
        return;
    }
    if own::file_system(handle).is_ok_and(|facts| facts.trusted_ctime) {
        // Only the lock counts, not the answer.
        let _ = rustix::fs::seek(handle, SeekFrom::Data(u64::MAX >> 1));
    }
}

/// Writes a file's dirty pages back, and waits for that, by asking for its extents in their final state (`FIEMAP_FLAG_SYNC`):
/// unlike `fsync` it flushes no disk cache, and a layered file system passes it on. `None` where there is no map of extents.
pub(crate) fn write_back(handle: impl AsHandle) -> Result<Option<bool>> {
    let handle = here!(handle, |far| far
        .count(Call::WriteBack { handle: far.number() })
        .map(|done| Some(done != 0)));
    simulated!(write_back());
    own::write_back(handle)
}

pub(crate) fn fdatasync(handle: impl AsHandle) -> Result<()> {
    let handle = here!(handle, |far| far.done(Call::Sync {
        handle: far.number(),
        all: false
    }));
    own::fdatasync(handle)
}
