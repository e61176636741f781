//! An open regular file: what the standard library's has, through this program's own calls.

use std::io::{self, Read, Seek, SeekFrom, Write};

use rustix::fs::FlockOperation;
use rustix::io::Errno;

use super::{AsHandle, Handle, HandleRef, Stat, kernel, stat_handle};

/// An open file. Closed when it is dropped.
#[derive(Debug)]
pub struct File(Handle);

impl From<Handle> for File {
    fn from(handle: Handle) -> Self {
        Self(handle)
    }
}

impl From<File> for Handle {
    fn from(file: File) -> Self {
        file.0
    }
}

impl AsHandle for File {
    fn as_handle(&self) -> HandleRef<'_> {
        self.0.as_handle()
    }
}

impl File {
    /// Its facts.
    ///
    /// # Errors
    /// The system's error.
    pub fn stat(&self) -> io::Result<Stat> {
        stat_handle(&self.0)
    }

    /// Returns another handle of the same file, with the same place where [`Read`] reads.
    ///
    /// # Errors
    /// The system's error; `Unsupported` on another machine.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self(kernel::dup(&self.0)?))
    }

    /// Reads from byte `at` on without moving the place where [`Read`] reads. Fewer bytes than there is room for may come.
    ///
    /// # Errors
    /// The system's error.
    pub fn read_at(&self, room: &mut [u8], at: u64) -> io::Result<usize> {
        Ok(kernel::pread(&self.0, room, at)?)
    }

    /// Reads from an offset until the buffer is full, like [`Self::read_at`].
    ///
    /// # Errors
    /// The system's error; `UnexpectedEof` if the file ends before.
    pub fn read_exact_at(&self, mut room: &mut [u8], mut at: u64) -> io::Result<()> {
        while !room.is_empty() {
            match kernel::pread(&self.0, room, at) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => {
                    room = room.get_mut(count..).unwrap_or_default();
                    at += count as u64;
                }
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Reads the file from its start: all of it, but at most `most` bytes.
    ///
    /// # Errors
    /// The system's error.
    pub fn read_up_to(&self, most: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; most];
        let mut length = 0;
        while let Some(rest) = bytes.get_mut(length..).filter(|rest| !rest.is_empty()) {
            match self.read_at(rest, length as u64)? {
                0 => break,
                count => length += count,
            }
        }
        bytes.truncate(length);
        Ok(bytes)
    }

    /// Writes all bytes from byte `at` on.
    ///
    /// # Errors
    /// The system's error; some bytes may be written by then.
    pub fn write_all_at(&self, mut bytes: &[u8], mut at: u64) -> io::Result<()> {
        while !bytes.is_empty() {
            match kernel::pwrite(&self.0, bytes, at) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => {
                    bytes = bytes.get(count..).unwrap_or_default();
                    at += count as u64;
                }
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Lets the file, which is empty, have all that is in another one, and share its blocks.
    ///
    /// # Errors
    /// The system's error; `Unsupported` or `CrossesDevices` where blocks cannot be shared.
    pub fn share_blocks_of(&self, other: &Self) -> io::Result<()> {
        match kernel::share_blocks(&self.0, &other.0) {
            // File systems without it answer in these words, too.
            Err(Errno::NOTTY | Errno::NOSYS) => Err(io::ErrorKind::Unsupported.into()),
            other => Ok(other?),
        }
    }

    /// Cuts the file, or lets it grow by a hole.
    ///
    /// # Errors
    /// The system's error.
    pub fn set_len(&self, length: u64) -> io::Result<()> {
        Ok(super::insist(|| kernel::ftruncate(&self.0, length))?)
    }

    /// Makes content and metadata durable. The file's name is its directory's business.
    ///
    /// # Errors
    /// The system's error.
    pub fn sync(&self) -> io::Result<()> {
        Ok(super::insist(|| kernel::fsync(&self.0))?)
    }

    /// Writes the content out, so that [`super::sync_file_system`] covers it: on macOS that does not write files. Makes nothing
    /// durable by itself.
    ///
    /// # Errors
    /// The system's error.
    pub fn write_out(&self) -> io::Result<()> {
        Ok(super::insist(|| kernel::write_out(&self.0))?)
    }

    /// Takes the file's lock (`flock`), alone or shared, without waiting; `false` if another process holds it.
    ///
    /// # Errors
    /// The system's error.
    pub fn try_lock(&self, shared: bool) -> io::Result<bool> {
        try_lock(&self.0, shared)
    }

    /// Lets the file's lock go.
    ///
    /// # Errors
    /// The system's error.
    pub fn unlock(&self) -> io::Result<()> {
        unlock(&self.0)
    }
}

/// Takes the lock (`flock`) of an open file or directory, alone or shared, without waiting; `false` if another
/// process holds it.
///
/// # Errors
/// The system's error.
pub fn try_lock(handle: impl AsHandle, shared: bool) -> io::Result<bool> {
    let how = if shared {
        FlockOperation::NonBlockingLockShared
    } else {
        FlockOperation::NonBlockingLockExclusive
    };
    match kernel::flock(handle, how) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Lets the lock of an open file or directory go.
///
/// # Errors
/// The system's error.
pub fn unlock(handle: impl AsHandle) -> io::Result<()> {
    Ok(kernel::flock(handle, FlockOperation::Unlock)?)
}

impl Read for File {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        Ok(kernel::read(&self.0, room)?)
    }
}

impl Write for File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(kernel::write(&self.0, bytes)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for File {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        use rustix::fs::SeekFrom as Kernel;
        let to = match to {
            SeekFrom::Start(at) => Kernel::Start(at),
            SeekFrom::End(offset) => Kernel::End(offset),
            SeekFrom::Current(offset) => Kernel::Current(offset),
        };
        Ok(kernel::seek(&self.0, to)?)
    }
}
