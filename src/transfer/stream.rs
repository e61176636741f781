//! Stored content as something to read from: the store hands content on piece by piece, and an archive takes it from a reader.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use crate::model::{Content, DigestMethod, Hasher};
use crate::store::archive::{Piece, Segment};
use crate::store::{Blobs, StoreError};

/// Largest data of content that is held in memory, in bytes.
const SMALL: u64 = 1 << 20;
/// Largest piece of larger content, in bytes, and the number of pieces that may wait.
const PIECE: usize = 256 << 10;
const WAITING: usize = 4;
/// Most zeros in holes of content whose digest is that of its plain bytes. jackin writes no others, and they would have to be
/// hashed one by one.
const PLAIN_HOLES: u64 = 64 << 20;

/// Problem with content that was read.
pub(super) enum Fault {
    /// The operator stopped it.
    Interrupted,
    /// The content cannot be read.
    Store(StoreError),
    /// The content is not as expected.
    Wrong(&'static str),
}

/// Reads content, compares it with its digest, and returns the segments of its data; `None` if it has no holes. `keep` receives the
/// data.
pub(super) fn look(
    blobs: &Blobs,
    content: &Content,
    cancelled: &dyn Fn() -> bool,
    keep: &mut dyn FnMut(&[u8]),
) -> Result<Option<Vec<Segment>>, Fault> {
    let mut hasher = Hasher::new(content.method, content.size);
    let (mut at, mut zeros) = (0_u64, 0_u64);
    let mut segments: Vec<Segment> = Vec::new();
    let mut fault = None;
    let streamed = blobs.stream(&content.digest, &mut |piece| {
        let length = match piece {
            Piece::Data(bytes) => bytes.len() as u64,
            Piece::Hole(count) => count,
        };
        let mut stop = |why| {
            fault = Some(why);
            io::Error::from(io::ErrorKind::Other)
        };
        if cancelled() {
            return Err(stop(Fault::Interrupted));
        }
        // Nothing is hashed beyond the recorded size.
        let end = at.saturating_add(length);
        if end > content.size {
            return Err(stop(Fault::Wrong("it is longer than the snapshot says")));
        }
        match piece {
            Piece::Data(bytes) => {
                hasher.update(bytes);
                keep(bytes);
                match segments.last_mut().filter(|last| last.offset + last.length == at) {
                    Some(last) => last.length += length,
                    None => segments.push(Segment { offset: at, length }),
                }
            }
            Piece::Hole(count) => {
                zeros = zeros.saturating_add(count);
                if content.method == DigestMethod::Plain && zeros > PLAIN_HOLES {
                    return Err(stop(Fault::Wrong("it has larger holes than its digest allows")));
                }
                hasher.skip_zeros(count);
            }
        }
        at = end;
        Ok(())
    });
    if let Some(fault) = fault {
        return Err(fault);
    }
    streamed.map_err(Fault::Store)?;
    if hasher.finish() != *content {
        return Err(Fault::Wrong("its bytes have another digest"));
    }
    Ok((zeros > 0).then_some(segments))
}

/// Returns true if the data of content may be held in memory.
pub(super) fn is_small(blobs: &Blobs, content: &Content) -> bool {
    let stored = blobs.stored_bytes(&content.digest).unwrap_or(content.size);
    stored.min(content.size) <= SMALL
}

/// Creates a channel for data from the thread that reads the store to the one that writes.
pub(super) fn pipe() -> (SyncSender<Vec<u8>>, Coming) {
    let (to, pieces) = sync_channel(WAITING);
    let coming = Coming {
        pieces,
        held: Vec::new(),
        at: 0,
    };
    (to, coming)
}

/// Sends the data of content on.
pub(super) fn send(blobs: &Blobs, content: &Content, to: &SyncSender<Vec<u8>>) -> Result<(), StoreError> {
    blobs.stream(&content.digest, &mut |piece| {
        if let Piece::Data(bytes) = piece {
            for part in bytes.chunks(PIECE) {
                // A receiver that stops has its own error, and reports it.
                to.send(part.to_vec()).map_err(|_| io::ErrorKind::BrokenPipe)?;
            }
        }
        Ok(())
    })
}

/// Data that the other thread sends.
pub(super) struct Coming {
    pieces: Receiver<Vec<u8>>,
    held: Vec<u8>,
    at: usize,
}

impl Read for Coming {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.at >= self.held.len() {
            match self.pieces.recv() {
                Ok(piece) => (self.held, self.at) = (piece, 0),
                Err(_) => return Ok(0),
            }
        }
        let left = self.held.get(self.at..).unwrap_or_default();
        let count = left.len().min(buffer.len());
        if let (Some(to), Some(from)) = (buffer.get_mut(..count), left.get(..count)) {
            to.copy_from_slice(from);
        }
        self.at += count;
        Ok(count)
    }
}
