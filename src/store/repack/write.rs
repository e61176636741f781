//! Copies what is needed of some archives into a new one, and reads that back. Every content is compared with its digest on the
//! way, so damage is never carried over.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

use super::super::archive::{Archive, Blob, BlobKind, DecodeBuffers, LEVEL, Piece, Segment, Writer};
use super::super::{Draft, Store, StoreError};
use super::NewPart;
use super::live::Live;
use crate::model::{ArchiveId, ArchiveRef, Digest, Hasher};
use crate::observer::{Observer, Phase};
use handle_fs::File;

/// A manifest chunk or list, or a bundle of private files, is never larger (bytes).
const LARGEST_PART: u64 = 512 << 20;
/// Content of at most so many bytes is copied in one piece.
const IN_MEMORY: u64 = 4 << 20;
/// Pieces of a large content that wait to be written.
const WAITING: usize = 8;

/// Writes and publishes the archive `id`.
pub(super) fn write(
    store: &Store,
    draft: &Draft,
    id: ArchiveId,
    (from, added): (&[ArchiveRef], Vec<(&Digest, &NewPart)>),
    live: &Live,
    observer: &dyn Observer,
) -> Result<ArchiveRef, StoreError> {
    observer.begin(Phase::Repack);
    let copied = copy(store, draft, id, (from, added), live, observer);
    observer.end();
    copied
}

fn copy(
    store: &Store,
    draft: &Draft,
    id: ArchiveId,
    (from, added): (&[ArchiveRef], Vec<(&Digest, &NewPart)>),
    live: &Live,
    observer: &dyn Observer,
) -> Result<ArchiveRef, StoreError> {
    let mut writer = Writer::new(draft.archive_file(&id)?, LEVEL);
    let mut written: Vec<Digest> = Vec::new();
    for source in from {
        let archive = Archive::open(&store.layout().archive(&source.id), Some(source))?;
        let mut blobs: Vec<&Blob> = archive.blobs().iter().collect();
        blobs.retain(|blob| live.needs(&blob.digest) && !writer.holds(&blob.digest));
        blobs.sort_by_key(|blob| (blob.frame, blob.offset));
        let desk = DecodeBuffers::default();
        observer.expect(blobs.len() as u64, blobs.iter().map(|blob| blob.stored).sum());
        for blob in blobs {
            if observer.cancelled() {
                return Err(StoreError::Interrupted);
            }
            copy_one(&archive, &desk, blob, live, &mut writer)?;
            written.push(blob.digest);
            observer.advance(1, blob.stored);
        }
    }
    for (digest, part) in added {
        if live.needs(digest) && !writer.holds(digest) {
            writer.blob(part.kind, *digest, &part.bytes)?;
            written.push(*digest);
        }
    }
    let (_, finished) = writer.finish()?;
    draft.publish_archive(&id)?;
    let made = ArchiveRef {
        id,
        size: finished.size,
        digest: finished.digest,
        index: finished.index,
    };
    read_back(store, &made, &written)?;
    Ok(made)
}

/// Checks that everything written is in the new archive, before the archives that it replaces are removed.
fn read_back(store: &Store, made: &ArchiveRef, written: &[Digest]) -> Result<(), StoreError> {
    let archive = Archive::open(&store.layout().archive(&made.id), Some(made))?;
    for frame in 0..=archive.frames() {
        archive.check_frame(frame)?;
    }
    match written.iter().find(|digest| archive.locate(digest).is_none()) {
        None => Ok(()),
        Some(digest) => Err(damaged(digest, "it was not found again in the new archive")),
    }
}

fn damaged(digest: &Digest, reason: &str) -> StoreError {
    StoreError::Content {
        digest: *digest,
        reason: reason.to_owned(),
    }
}

fn copy_one(
    archive: &Archive,
    desk: &DecodeBuffers,
    blob: &Blob,
    live: &Live,
    writer: &mut Writer<File>,
) -> Result<(), StoreError> {
    if !matches!(blob.kind, BlobKind::Content | BlobKind::Sparse) {
        let bytes = archive.bytes(blob, LARGEST_PART)?;
        if Digest::of(&bytes) != blob.digest {
            return Err(damaged(&blob.digest, "its bytes have another digest"));
        }
        return Ok(writer.blob(blob.kind, blob.digest, &bytes)?);
    }
    let first = live
        .first(&blob.digest)
        .ok_or_else(|| damaged(&blob.digest, "no manifest shows it"))?;
    let content = first
        .entry
        .content()
        .ok_or_else(|| damaged(&blob.digest, "it is no file's"))?;
    let segments = match blob.kind {
        BlobKind::Sparse => Some(segments(archive, desk, blob)?),
        _ => None,
    };
    if blob.stored <= IN_MEMORY {
        let mut data = Vec::new();
        let mut hasher = Hasher::new(content.method, content.size);
        read(archive, desk, blob, &mut hasher, &mut |bytes| {
            data.extend_from_slice(bytes);
            Ok(())
        })?;
        if hasher.finish() != *content {
            return Err(damaged(&blob.digest, "its bytes have another digest"));
        }
        let data = &mut data.as_slice();
        let stored = writer.file(&first.label, &first.path, &first.entry, segments.as_deref(), data)?;
        writer.index(stored, blob.digest);
        return Ok(());
    }
    let (sender, receiver) = sync_channel(WAITING);
    let stored = thread::scope(|scope| {
        let reading = scope.spawn(|| {
            let mut hasher = Hasher::new(content.method, content.size);
            let all = read(archive, desk, blob, &mut hasher, &mut |bytes| {
                let gone = |_| io::Error::from(io::ErrorKind::BrokenPipe);
                sender.send(bytes.to_vec()).map_err(gone)
            });
            drop(sender);
            all.map(|()| hasher.finish() == *content)
        });
        let mut data = Pieces {
            receiver,
            piece: Vec::new(),
            at: 0,
        };
        let stored = writer.file(
            &first.label,
            &first.path,
            &first.entry,
            segments.as_deref(),
            &mut data,
        );
        // Whoever still sends is told that nobody listens.
        drop(data);
        let read = reading.join();
        // When it cannot be written, that nobody listens is no news.
        let stored = stored?;
        match read {
            Ok(Ok(true)) => Ok(stored),
            Ok(Ok(false)) => Err(damaged(&blob.digest, "its bytes have another digest")),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(damaged(&blob.digest, "it could not be read")),
        }
    })?;
    writer.index(stored, blob.digest);
    Ok(())
}

/// The stretches of a content that hold data.
fn segments(archive: &Archive, desk: &DecodeBuffers, blob: &Blob) -> Result<Vec<Segment>, StoreError> {
    let (mut at, mut found) = (0, Vec::<Segment>::new());
    archive.stream_at(desk, blob, &mut |piece| {
        match piece {
            Piece::Hole(count) => at += count,
            Piece::Data(bytes) => {
                let length = bytes.len() as u64;
                match found.last_mut().filter(|last| last.offset + last.length == at) {
                    Some(last) => last.length += length,
                    None => found.push(Segment { offset: at, length }),
                }
                at += length;
            }
        }
        Ok(())
    })?;
    Ok(found)
}

/// Reads a content, hashes it, and hands its data on.
fn read(
    archive: &Archive,
    desk: &DecodeBuffers,
    blob: &Blob,
    hasher: &mut Hasher,
    take: &mut dyn FnMut(&[u8]) -> io::Result<()>,
) -> Result<(), StoreError> {
    Ok(archive.stream_at(desk, blob, &mut |piece| {
        match piece {
            Piece::Hole(count) => hasher.skip_zeros(count),
            Piece::Data(bytes) => {
                hasher.update(bytes);
                take(bytes)?;
            }
        }
        Ok(())
    })?)
}

/// Data that another thread reads.
struct Pieces {
    receiver: Receiver<Vec<u8>>,
    piece: Vec<u8>,
    at: usize,
}

impl Read for Pieces {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.at == self.piece.len() {
            match self.receiver.recv() {
                Ok(piece) => (self.piece, self.at) = (piece, 0),
                Err(_) => return Ok(0),
            }
        }
        let rest = self.piece.get(self.at..).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        if let (Some(to), Some(from)) = (buffer.get_mut(..count), rest.get(..count)) {
            to.copy_from_slice(from);
        }
        self.at += count;
        Ok(count)
    }
}
