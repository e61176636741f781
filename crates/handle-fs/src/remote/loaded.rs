//! A file that was read with others: what is asked about it is answered from that.

use std::sync::atomic::{AtomicU64, Ordering};

use rustix::io::Errno;

use super::protocol::{Each, Facts, LoadedFile, Whence};
use crate::Result;

/// A file with all of its content.
#[derive(Debug)]
pub(super) struct Loaded {
    data: Vec<u8>,
    pub(super) facts: Facts,
    /// Number of the type of its file system.
    pub(super) magic: Each<u64>,
    position: AtomicU64,
}

impl Loaded {
    pub(super) fn new(file: LoadedFile, magic: Each<u64>) -> Self {
        Self {
            data: file.data.0,
            facts: file.facts,
            magic,
            position: AtomicU64::new(0),
        }
    }

    fn end(&self) -> u64 {
        self.data.len() as u64
    }

    /// Reads from a place, or from where the last read ended.
    pub(super) fn read(&self, room: &mut [u8], at: Option<u64>) -> usize {
        let from = at.unwrap_or_else(|| self.position.load(Ordering::Relaxed));
        let begin = usize::try_from(from).unwrap_or(usize::MAX);
        let rest = self.data.get(begin..).unwrap_or_default();
        let count = rest.len().min(room.len());
        if let (Some(part), Some(bytes)) = (room.get_mut(..count), rest.get(..count)) {
            part.copy_from_slice(bytes);
        }
        if at.is_none() {
            self.position.store(from + count as u64, Ordering::Relaxed);
        }
        count
    }

    /// Finds a place. The file is known to have no holes.
    pub(super) fn seek(&self, to: Whence) -> Result<u64> {
        let within = |at: u64| if at < self.end() { Ok(at) } else { Err(Errno::NXIO) };
        let from = |base: u64, offset: i64| base.checked_add_signed(offset).ok_or(Errno::INVAL);
        let place = match to {
            Whence::Start(at) => at,
            Whence::End(offset) => from(self.end(), offset)?,
            Whence::Current(offset) => from(self.position.load(Ordering::Relaxed), offset)?,
            Whence::Data(at) => within(at)?,
            Whence::Hole(at) => within(at).map(|_| self.end())?,
        };
        self.position.store(place, Ordering::Relaxed);
        Ok(place)
    }
}
