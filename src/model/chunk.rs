//! Manifest chunks: runs of directories, cut by content so that a change moves no other boundary, each stored once
//! under its digest. `docs/format.md` states the encoding.

use std::sync::Arc;

use super::codec::{Reader, put_bytes, put_number};
use super::rules::{check, check_names};
use super::{DecodeError, Digest, Directory, Entry, Gap, GapReason, Listing, Manifest, Name, RelPath};

/// First bytes of a chunk and of a manifest list; the last byte is the version.
const CHUNK_MAGIC: &[u8; 8] = b"JKRCHNK\x01";
const LIST_MAGIC: &[u8; 8] = b"JKRLIST\x01";
/// Version of all other chunks and lists.
const FIRST: u8 = 1;
/// Version of chunks and lists that hold an entry with inode flags. All others are written as version 1: an older program reads
/// them, and unchanged parts keep their digest.
const WITH_FLAGS: u8 = 2;
/// Version of chunks with a gap that `forget` made. An older program refuses them as newer.
const WITH_FORGOTTEN: u8 = 3;

/// A boundary lies on average behind this many entries.
const MEAN_ENTRIES: u64 = 256;
/// No boundary before this many entries, except at the end and before a directory that would not fit.
const MIN_ENTRIES: usize = 64;
/// Always a boundary at this many entries.
const MAX_ENTRIES: usize = 2048;

/// Flags beside the listing: the directory goes on in the next chunk; every name that it held is here.
const MORE: u8 = 0x80;
const ALL_NAMED: u8 = 0x40;

/// An encoded run of directories.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// BLAKE3 of `bytes`.
    pub digest: Digest,
    /// The encoding.
    pub bytes: Vec<u8>,
}

/// The list of a manifest's chunks, itself stored under its digest, which stands for the whole manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestList {
    /// The mount root's own entry.
    pub root: Entry,
    /// Chunk digests in order.
    pub chunks: Vec<Digest>,
}

/// Range of entries in one chunk. Each end is an index of a directory and of an entry in it; the last one is exclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    first: (usize, usize),
    last: (usize, usize),
}

/// Cuts a manifest into runs, one for each chunk. Each can then be encoded on its own.
#[must_use]
pub fn runs(manifest: &Manifest) -> Vec<Run> {
    let mut runs = Vec::new();
    let (mut first, mut last) = ((0, 0), (0, 0));
    let mut count = 0;
    for (at, dir) in manifest.directories.iter().enumerate() {
        if count > 0 && count + dir.entries.len() > MAX_ENTRIES {
            runs.push(Run { first, last });
            (first, count) = ((at, 0), 0);
        }
        let mut rest = dir.entries.as_slice();
        while rest.len() > MAX_ENTRIES {
            let (_, later) = rest.split_at(split_point(rest));
            let last = (at, dir.entries.len() - later.len());
            runs.push(Run { first, last });
            (first, rest) = (last, later);
        }
        // Directories without entries count too, or a million empty ones would make one chunk.
        let weight = rest.len().max(1);
        count += weight;
        last = (at, dir.entries.len());
        if count >= MIN_ENTRIES && is_boundary(dir.path.as_bytes(), weight as u64) {
            runs.push(Run { first, last });
            (first, count) = ((at + 1, 0), 0);
        }
    }
    if count > 0 {
        runs.push(Run { first, last });
    }
    runs
}

/// Returns the position at which to cut a directory that is larger than a chunk: after its first boundary name, but not too early
/// or late.
fn split_point(entries: &[Entry]) -> usize {
    let window = entries.iter().take(MAX_ENTRIES).enumerate().skip(MIN_ENTRIES);
    let mut boundaries = window.filter(|(_, entry)| is_boundary(entry.name.as_bytes(), 1));
    boundaries.next().map_or(MAX_ENTRIES, |(at, _)| at + 1)
}

/// Returns true if the digest of a name makes it a boundary, with a chance of `weight` in [`MEAN_ENTRIES`].
fn is_boundary(name: &[u8], weight: u64) -> bool {
    let hash = blake3::hash(name);
    let [a, b, c, d, ..] = *hash.as_bytes();
    u64::from(u32::from_le_bytes([a, b, c, d])) < weight * ((1 << 32) / MEAN_ENTRIES)
}

impl Run {
    /// Encodes the chunk; `manifest` is the one that was cut.
    #[must_use]
    pub fn encode(&self, manifest: &Manifest) -> Chunk {
        let mut bytes = CHUNK_MAGIC.to_vec();
        let directories = manifest.directories.get(self.first.0..=self.last.0);
        let mut version = FIRST;
        for (at, dir) in (self.first.0..).zip(directories.unwrap_or_default()) {
            let start = if at == self.first.0 { self.first.1 } else { 0 };
            let end = if at == self.last.0 {
                self.last.1
            } else {
                dir.entries.len()
            };
            version = version.max(put_directory(&mut bytes, dir, start, end));
        }
        set_version(&mut bytes, version);
        let digest = Digest::of(&bytes);
        Chunk { digest, bytes }
    }
}

/// Sets the version in bytes that begin with a magic.
fn set_version(bytes: &mut [u8], version: u8) {
    if let Some(place) = bytes.get_mut(CHUNK_MAGIC.len() - 1) {
        *place = version;
    }
}

/// Appends the entries `start..end` of a directory; returns the lowest version that can express them.
fn put_directory(out: &mut Vec<u8>, dir: &Directory, start: usize, end: usize) -> u8 {
    put_bytes(out, dir.path.as_bytes());
    let listing = match dir.listing {
        Listing::Proven => 0,
        Listing::Unsettled => 1,
        Listing::Unreadable => 2,
        Listing::Partial => 3,
    };
    let more = if end < dir.entries.len() { MORE } else { 0 };
    let all_named = if dir.all_named { ALL_NAMED } else { 0 };
    out.push(listing | all_named | more);
    let entries = dir.entries.get(start..end).unwrap_or_default();
    put_number(out, entries.len() as u64);
    let mut ino = 0;
    let mut version = FIRST;
    for entry in entries {
        entry.encode(out, ino);
        ino = entry.ino;
        if !entry.flags.is_empty() {
            version = version.max(WITH_FLAGS);
        }
    }
    let gaps = if start == 0 { dir.gaps.as_slice() } else { &[] };
    put_number(out, gaps.len() as u64);
    for gap in gaps {
        put_bytes(out, gap.name.as_bytes());
        let (tag, text) = match &gap.reason {
            GapReason::Unreadable(text) => (0, text.as_str()),
            GapReason::MountPoint => (1, ""),
            GapReason::Sensitive => (2, ""),
            GapReason::Store => (3, ""),
            GapReason::Moving => (4, ""),
            GapReason::Staging => (5, ""),
            GapReason::Readonly => (6, ""),
            GapReason::Forgotten => {
                version = WITH_FORGOTTEN;
                (7, "")
            }
        };
        out.push(tag);
        put_bytes(out, text.as_bytes());
    }
    version
}

impl ManifestList {
    /// Returns the encoding; its digest stands for the manifest.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = LIST_MAGIC.to_vec();
        self.root.encode(&mut out, 0);
        let flagged = !self.root.flags.is_empty();
        set_version(&mut out, if flagged { WITH_FLAGS } else { FIRST });
        put_number(&mut out, self.chunks.len() as u64);
        for chunk in &self.chunks {
            out.extend_from_slice(&chunk.0);
        }
        out
    }

    /// Reads an encoded list.
    ///
    /// # Errors
    /// When the bytes are not a list of this version.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = open(bytes, LIST_MAGIC)?;
        let root = Entry::decode(&mut reader, 0)?;
        let count = reader.count_of(size_of::<Digest>())?;
        let mut chunks = Vec::with_capacity(count);
        for _ in 0..count {
            chunks.push(Digest(reader.array()?));
        }
        if !reader.is_empty() {
            return Err(DecodeError::Structure("a manifest list has bytes behind its end"));
        }
        if !root.is_dir() {
            return Err(DecodeError::Structure("the mount root is not a directory"));
        }
        Ok(Self { root, chunks })
    }

    /// Puts a manifest together from its decoded chunks, in the list's order.
    ///
    /// # Errors
    /// When paths are out of order or twice there, or a directory's parent does not name it as a directory.
    pub fn assemble(self, chunks: Vec<Vec<Part>>) -> Result<Manifest, DecodeError> {
        let mut directories: Vec<Arc<Directory>> = Vec::with_capacity(chunks.iter().map(Vec::len).sum());
        let mut more = false;
        for part in chunks.into_iter().flatten() {
            // The directory is not shared yet, so nothing is copied.
            match directories.last_mut().filter(|_| more).map(Arc::make_mut) {
                Some(last) => {
                    if last.path != part.directory.path {
                        return Err(DecodeError::Structure("a directory goes on under another path"));
                    }
                    let rest = Arc::unwrap_or_clone(part.directory);
                    last.entries.extend(rest.entries);
                    last.gaps.extend(rest.gaps);
                    // Once a directory: every part was checked for itself.
                    if !part.more {
                        check_names(last)?;
                    }
                }
                _ => directories.push(part.directory),
            }
            more = part.more;
        }
        if more {
            return Err(DecodeError::Structure("the last directory is cut off"));
        }
        let manifest = Manifest {
            root: self.root,
            directories,
        };
        check(&manifest)?;
        Ok(manifest)
    }
}

/// A directory, or a part of one that goes on in the next chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    directory: Arc<Directory>,
    more: bool,
}

impl Part {
    /// Returns the part that is a whole directory.
    #[must_use]
    pub fn whole(directory: Arc<Directory>) -> Self {
        let more = false;
        Self { directory, more }
    }

    /// Returns the part of the directory that lies in this chunk.
    #[must_use]
    pub fn part(&self) -> &Directory {
        &self.directory
    }

    /// Returns the directory; `None` if it goes on in the next chunk.
    #[must_use]
    pub fn directory(&self) -> Option<&Arc<Directory>> {
        (!self.more).then_some(&self.directory)
    }
}

impl Chunk {
    /// Reads an encoded chunk.
    ///
    /// # Errors
    /// When the bytes are not a chunk of this version, or hold what no snapshot may hold.
    pub fn decode(bytes: &[u8]) -> Result<Vec<Part>, DecodeError> {
        let mut reader = open(bytes, CHUNK_MAGIC)?;
        let mut parts = Vec::new();
        while !reader.is_empty() {
            let path = RelPath::new(reader.bytes()?)?;
            let flags = reader.byte()?;
            let listing = match flags & !(MORE | ALL_NAMED) {
                0 => Listing::Proven,
                1 => Listing::Unsettled,
                2 => Listing::Unreadable,
                3 => Listing::Partial,
                value => {
                    return Err(DecodeError::Tag {
                        what: "listing",
                        value: u64::from(value),
                    });
                }
            };
            let count = reader.count()?;
            let mut entries = Vec::with_capacity(count.min(MAX_ENTRIES));
            let mut ino = 0;
            for _ in 0..count {
                let entry = Entry::decode(&mut reader, ino)?;
                ino = entry.ino;
                entries.push(entry);
            }
            let mut gaps = Vec::new();
            for _ in 0..reader.count()? {
                gaps.push(gap(&mut reader)?);
            }
            let directory = Directory {
                path,
                listing,
                all_named: flags & ALL_NAMED != 0,
                entries,
                gaps,
            };
            check_names(&directory)?;
            parts.push(Part {
                directory: Arc::new(directory),
                more: flags & MORE != 0,
            });
        }
        Ok(parts)
    }
}

fn gap(reader: &mut Reader<'_>) -> Result<Gap, DecodeError> {
    let name = Name::new(reader.bytes()?)?;
    let tag = reader.byte()?;
    let text = String::from_utf8_lossy(reader.bytes()?).into_owned();
    let reason = match tag {
        0 => GapReason::Unreadable(text),
        1 => GapReason::MountPoint,
        2 => GapReason::Sensitive,
        3 => GapReason::Store,
        4 => GapReason::Moving,
        5 => GapReason::Staging,
        6 => GapReason::Readonly,
        7 => GapReason::Forgotten,
        value => {
            return Err(DecodeError::Tag {
                what: "gap reason",
                value: u64::from(value),
            });
        }
    };
    Ok(Gap { name, reason })
}

fn open<'a>(bytes: &'a [u8], magic: &[u8; 8]) -> Result<Reader<'a>, DecodeError> {
    let mut reader = Reader::new(bytes);
    let head: [u8; 8] = reader.array()?;
    let (word, version) = (head.split_last(), magic.split_last());
    match (word, version) {
        (Some((got, a)), Some((first, b))) if a == b => {
            if *got < *first {
                Err(DecodeError::Tag {
                    what: "version",
                    value: u64::from(*got),
                })
            } else if *got > WITH_FORGOTTEN {
                Err(DecodeError::Newer(u64::from(*got)))
            } else {
                Ok(reader)
            }
        }
        _ => Err(DecodeError::Structure(
            "it is not what its place says (wrong first bytes)",
        )),
    }
}
