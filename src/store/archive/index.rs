//! The index, alone in the last data frame: the digest of every frame before it, and where every blob lies.

use std::collections::BTreeMap;

use super::header::{Head, decode as decode_header};
use super::{BLOCK, Blob, BlobKind, INTERNAL, padding};
use crate::model::Digest;

/// The first seven bytes of the index; the version follows.
const MAGIC: &[u8; 7] = b"JKRINDX";
/// The last version that this program reads: that of an exported archive.
pub(super) const VERSION: u8 = 3;
/// The first version, which every program reads.
const FIRST: u8 = 1;
/// The version of one that holds the state of agents.
const WITH_STATE: u8 = 2;
/// Magic, version, number of frames, number of blobs.
const HEAD: u64 = 20;
const FRAME: u64 = 32;
const BLOB: usize = 57;
/// The two zero blocks that end a tar stream.
pub(super) const END: usize = 2 * BLOCK;

/// Frames and blobs that the index lists.
pub(super) struct Index {
    pub(super) frames: Vec<Digest>,
    pub(super) blobs: Vec<Blob>,
}

/// Reason why an index frame is rejected.
pub(super) enum Refusal {
    Newer(u8),
    Wrong(&'static str),
}

impl From<&'static str> for Refusal {
    fn from(why: &'static str) -> Self {
        Self::Wrong(why)
    }
}

/// The whole content of the index frame: header, index, padding, end of the tar stream.
pub(super) fn encode(frames: &[Digest], blobs: &BTreeMap<Digest, Blob>) -> Result<Vec<u8>, &'static str> {
    let size = HEAD + FRAME * frames.len() as u64 + BLOB as u64 * blobs.len() as u64;
    let count = u32::try_from(frames.len()).map_err(|_| "it has too many frames")?;
    let path = path();
    let mut out = Head::internal(path.as_bytes(), size).encode()?;
    let total = out.len() as u64 + size + padding(size) + END as u64;
    let total = usize::try_from(total).map_err(|_| "its index does not fit into memory")?;
    out.try_reserve_exact(total - out.len())
        .map_err(|_| "its index does not fit into memory")?;
    out.extend_from_slice(MAGIC);
    // As old as what it holds, so that an older program reads all that it can.
    let version = |blob: &Blob| match blob.kind {
        BlobKind::Export => VERSION,
        BlobKind::Settings | BlobKind::Sealed => WITH_STATE,
        _ => FIRST,
    };
    out.push(blobs.values().map(version).fold(FIRST, u8::max));
    out.extend_from_slice(&count.to_le_bytes());
    out.extend_from_slice(&(blobs.len() as u64).to_le_bytes());
    for digest in frames {
        out.extend_from_slice(&digest.0);
    }
    for blob in blobs.values() {
        out.extend_from_slice(&blob.digest.0);
        out.push(match blob.kind {
            BlobKind::Content => 0,
            BlobKind::Sparse => 1,
            BlobKind::Chunk => 2,
            BlobKind::List => 3,
            BlobKind::Settings => 4,
            BlobKind::Sealed => 5,
            BlobKind::Export => 6,
        });
        out.extend_from_slice(&blob.frame.to_le_bytes());
        out.extend_from_slice(&blob.offset.to_le_bytes());
        out.extend_from_slice(&blob.stored.to_le_bytes());
        out.extend_from_slice(&blob.logical.to_le_bytes());
    }
    out.resize(total, 0);
    Ok(out)
}

/// Path of the index member.
pub(super) fn path() -> String {
    format!("{INTERNAL}/index")
}

/// The most content that an index frame of `packed` bytes can honestly have in an archive of `frames` frames: digests
/// of blobs do not compress (32 of 57 bytes), those of frames may be equal.
pub(super) fn most(packed: u32, frames: usize) -> u64 {
    (64 << 10) + 4 * u64::from(packed) + FRAME * frames as u64
}

/// Reads the content of the index frame. `starts` says where in the stream each frame before it begins, and, last,
/// where the index frame does.
pub(super) fn decode(content: &[u8], starts: &[u64]) -> Result<Index, Refusal> {
    let (block, rest) = content.split_first_chunk::<BLOCK>().ok_or("it ends too early")?;
    let header = decode_header(block)?;
    if header.path != path().as_bytes() || !header.kind.is_file() {
        return Err("another member stands in its place".into());
    }
    // The version first: whatever a newer one changed, it is newer and not damaged.
    let version = rest
        .strip_prefix(MAGIC)
        .and_then(<[u8]>::first)
        .ok_or("it does not begin as an index")?;
    match *version {
        0 => return Err("its version is 0".into()),
        FIRST..=VERSION => {}
        newer => return Err(Refusal::Newer(newer)),
    }
    let size = usize::try_from(header.size).map_err(|_| "its size is too large")?;
    let (index, tail) = rest.split_at_checked(size).ok_or("it ends too early")?;
    let missing = usize::try_from(padding(header.size)).map_err(|_| "its size is too large")?;
    if tail.len() != missing + END || tail.iter().any(|byte| *byte != 0) {
        return Err("more stands behind it than the end of the tar stream".into());
    }
    let (head, body) = index.split_first_chunk::<20>().ok_or("it ends too early")?;
    let [_, _, _, _, _, _, _, _, f0, f1, f2, f3, blobs @ ..] = *head;
    let frames = usize::try_from(u32::from_le_bytes([f0, f1, f2, f3])).unwrap_or(usize::MAX);
    if frames + 1 != starts.len() {
        return Err("its number of frames is not that of the seek table".into());
    }
    let (digests, body) = body.split_at_checked(frames * 32).ok_or("it ends too early")?;
    let (entries, odd) = body.as_chunks::<BLOB>();
    if usize::try_from(u64::from_le_bytes(blobs)) != Ok(entries.len()) || !odd.is_empty() {
        return Err("its length is not that of its blobs".into());
    }
    let mut found: Vec<Blob> = Vec::with_capacity(entries.len());
    for entry in entries {
        let blob = decode_blob(entry)?;
        check(&blob, starts)?;
        if found.last().is_some_and(|last| last.digest >= blob.digest) {
            return Err("its blobs are out of order or twice there".into());
        }
        found.push(blob);
    }
    let (digests, _) = digests.as_chunks::<32>();
    Ok(Index {
        frames: digests.iter().copied().map(Digest).collect(),
        blobs: found,
    })
}

fn decode_blob(entry: &[u8; BLOB]) -> Result<Blob, &'static str> {
    const SHORT: &str = "it ends too early";
    let (digest, rest) = entry.split_first_chunk::<32>().ok_or(SHORT)?;
    let ([kind], rest) = rest.split_first_chunk::<1>().ok_or(SHORT)?;
    let (frame, rest) = rest.split_first_chunk::<4>().ok_or(SHORT)?;
    let (offset, rest) = rest.split_first_chunk::<4>().ok_or(SHORT)?;
    let (stored, rest) = rest.split_first_chunk::<8>().ok_or(SHORT)?;
    let (logical, _) = rest.split_first_chunk::<8>().ok_or(SHORT)?;
    let kind = match kind {
        0 => BlobKind::Content,
        1 => BlobKind::Sparse,
        2 => BlobKind::Chunk,
        3 => BlobKind::List,
        4 => BlobKind::Settings,
        5 => BlobKind::Sealed,
        6 => BlobKind::Export,
        _ => return Err("a blob has an unknown kind"),
    };
    Ok(Blob {
        digest: Digest(*digest),
        kind,
        frame: u32::from_le_bytes(*frame),
        offset: u32::from_le_bytes(*offset),
        stored: u64::from_le_bytes(*stored),
        logical: u64::from_le_bytes(*logical),
    })
}

/// A blob must begin inside its frame and end before the index frame.
fn check(blob: &Blob, starts: &[u64]) -> Result<(), &'static str> {
    let frame = usize::try_from(blob.frame).unwrap_or(usize::MAX);
    let next = frame.checked_add(1).and_then(|next| starts.get(next));
    let (Some(start), Some(next), Some(end)) = (starts.get(frame), next, starts.last()) else {
        return Err("a blob lies in a frame that does not exist");
    };
    let at = start + u64::from(blob.offset);
    if at >= *next || at.checked_add(blob.stored).is_none_or(|behind| behind > *end) {
        return Err("a blob lies outside its frames");
    }
    let sizes = match blob.kind {
        // The shortest map fills a block.
        BlobKind::Sparse => blob.stored >= BLOCK as u64,
        _ => blob.stored == blob.logical,
    };
    // No file system has larger files, and what fits i64 cannot overflow when it is added up.
    if !sizes || blob.logical == 0 || i64::try_from(blob.logical).is_err() {
        return Err("a blob has an impossible size");
    }
    Ok(())
}
