//! Manifest chunks: runs of directories, cut by content so that a change moves no other boundary, each stored once
//! under its digest. `docs/format.md` states the encoding.

use super::codec::{Reader, put_bytes, put_number};
use super::{DecodeError, Digest, Directory, Entry, Gap, GapReason, Listing, Manifest, Name, RelPath};

/// First bytes of a chunk and of a manifest list; the last byte is the version.
const CHUNK_MAGIC: &[u8; 8] = b"JKRCHNK\x01";
const LIST_MAGIC: &[u8; 8] = b"JKRLIST\x01";

/// A boundary lies on average behind this many entries.
const MEAN_ENTRIES: u64 = 512;
/// No boundary before this many entries, except at the end and before a directory that would not fit.
const MIN_ENTRIES: usize = 128;
/// Always a boundary at this many entries.
const MAX_ENTRIES: usize = 4096;

const MORE: u8 = 0x80;

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

/// Cuts a manifest into chunks.
#[must_use]
pub fn cut(manifest: &Manifest) -> (ManifestList, Vec<Chunk>) {
    let mut chunks = Vec::new();
    let mut open = Open::new();
    for dir in &manifest.directories {
        if open.entries > 0 && open.entries + dir.entries.len() > MAX_ENTRIES {
            chunks.push(std::mem::replace(&mut open, Open::new()).close());
        }
        let mut rest = dir.entries.as_slice();
        let mut first = true;
        while rest.len() > MAX_ENTRIES {
            let (now, later) = rest.split_at(split_point(rest));
            open.directory(dir, now, first, true);
            chunks.push(std::mem::replace(&mut open, Open::new()).close());
            rest = later;
            first = false;
        }
        open.directory(dir, rest, first, false);
        let weight = rest.len().max(1) as u64;
        if open.entries >= MIN_ENTRIES && is_boundary(dir.path.as_bytes(), weight) {
            chunks.push(std::mem::replace(&mut open, Open::new()).close());
        }
    }
    if !open.is_empty() {
        chunks.push(open.close());
    }
    let list = ManifestList {
        root: manifest.root.clone(),
        chunks: chunks.iter().map(|chunk| chunk.digest).collect(),
    };
    (list, chunks)
}

/// Where to cut a directory that is larger than a chunk: behind its first boundary name, but not too early or late.
fn split_point(entries: &[Entry]) -> usize {
    let window = entries.iter().take(MAX_ENTRIES).enumerate().skip(MIN_ENTRIES);
    let mut boundaries = window.filter(|(_, entry)| is_boundary(entry.name.as_bytes(), 1));
    boundaries.next().map_or(MAX_ENTRIES, |(at, _)| at + 1)
}

/// Whether the digest of a name says so, with a chance of `weight` in [`MEAN_ENTRIES`].
fn is_boundary(name: &[u8], weight: u64) -> bool {
    let hash = blake3::hash(name);
    let [a, b, c, d, ..] = *hash.as_bytes();
    u64::from(u32::from_le_bytes([a, b, c, d])) < weight * ((1 << 32) / MEAN_ENTRIES)
}

struct Open {
    bytes: Vec<u8>,
    entries: usize,
}

impl Open {
    fn new() -> Self {
        Self {
            bytes: CHUNK_MAGIC.to_vec(),
            entries: 0,
        }
    }

    fn is_empty(&self) -> bool {
        self.bytes.len() == CHUNK_MAGIC.len()
    }

    fn directory(&mut self, dir: &Directory, entries: &[Entry], first: bool, more: bool) {
        put_bytes(&mut self.bytes, dir.path.as_bytes());
        let listing = match dir.listing {
            Listing::Proven => 0,
            Listing::Unsettled => 1,
            Listing::Unreadable => 2,
            Listing::Partial => 3,
        };
        self.bytes.push(listing | if more { MORE } else { 0 });
        put_number(&mut self.bytes, entries.len() as u64);
        let mut ino = 0;
        for entry in entries {
            entry.encode(&mut self.bytes, ino);
            ino = entry.ino;
        }
        let gaps = if first { dir.gaps.as_slice() } else { &[] };
        put_number(&mut self.bytes, gaps.len() as u64);
        for gap in gaps {
            put_bytes(&mut self.bytes, gap.name.as_bytes());
            let (tag, text) = match &gap.reason {
                GapReason::Unreadable(text) => (0, text.as_str()),
                GapReason::MountPoint => (1, ""),
                GapReason::Sensitive => (2, ""),
                GapReason::Store => (3, ""),
                GapReason::Moving => (4, ""),
                GapReason::Staging => (5, ""),
                GapReason::Readonly => (6, ""),
            };
            self.bytes.push(tag);
            put_bytes(&mut self.bytes, text.as_bytes());
        }
        // Directories without entries count too, or a million empty ones would make one chunk.
        self.entries += entries.len().max(1);
    }

    fn close(self) -> Chunk {
        Chunk {
            digest: Digest::of(&self.bytes),
            bytes: self.bytes,
        }
    }
}

impl ManifestList {
    /// The encoding; its digest stands for the manifest.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = LIST_MAGIC.to_vec();
        self.root.encode(&mut out, 0);
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
        let count = reader.count()?;
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
    pub fn assemble(self, chunks: Vec<Vec<Piece>>) -> Result<Manifest, DecodeError> {
        let mut directories: Vec<Directory> = Vec::new();
        let mut more = false;
        for piece in chunks.into_iter().flatten() {
            match directories.last_mut() {
                Some(last) if more => {
                    if last.path != piece.directory.path {
                        return Err(DecodeError::Structure("a directory goes on under another path"));
                    }
                    last.entries.extend(piece.directory.entries);
                    last.gaps.extend(piece.directory.gaps);
                }
                _ => directories.push(piece.directory),
            }
            more = piece.more;
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
pub struct Piece {
    directory: Directory,
    more: bool,
}

impl Chunk {
    /// Reads an encoded chunk.
    ///
    /// # Errors
    /// When the bytes are not a chunk of this version, or hold what no snapshot may hold.
    pub fn decode(bytes: &[u8]) -> Result<Vec<Piece>, DecodeError> {
        let mut reader = open(bytes, CHUNK_MAGIC)?;
        let mut pieces = Vec::new();
        while !reader.is_empty() {
            let path = RelPath::new(reader.bytes()?)?;
            let flags = reader.byte()?;
            let listing = match flags & !MORE {
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
                entries,
                gaps,
            };
            pieces.push(Piece {
                directory,
                more: flags & MORE != 0,
            });
        }
        Ok(pieces)
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
        (Some((got, a)), Some((known, b))) if a == b => match got.cmp(known) {
            std::cmp::Ordering::Equal => Ok(reader),
            std::cmp::Ordering::Greater => Err(DecodeError::Newer(u64::from(*got))),
            std::cmp::Ordering::Less => Err(DecodeError::Tag {
                what: "version",
                value: u64::from(*got),
            }),
        },
        _ => Err(DecodeError::Structure(
            "it is not what its place says (wrong first bytes)",
        )),
    }
}

/// The rules that make a manifest safe to use: everything sorted and unique, every directory named by its parent.
fn check(manifest: &Manifest) -> Result<(), DecodeError> {
    let sorted = manifest.directories.windows(2).all(|pair| match pair {
        [a, b] => a.path < b.path,
        _ => true,
    });
    if !sorted {
        return Err(DecodeError::Structure("directories are out of order"));
    }
    if manifest.directories.first().is_none_or(|dir| !dir.path.is_root()) {
        return Err(DecodeError::Structure("the mount root's entries are missing"));
    }
    for dir in &manifest.directories {
        if !dir.entries.is_sorted_by(|a, b| a.name < b.name) || !dir.gaps.is_sorted_by(|a, b| a.name < b.name)
        {
            return Err(DecodeError::Structure(
                "a directory's names are out of order or twice there",
            ));
        }
        if dir.gaps.iter().any(|gap| dir.entry(&gap.name).is_some()) {
            return Err(DecodeError::Structure("a name is both held and missing"));
        }
        if manifest.entry(&dir.path).is_none_or(|entry| !entry.is_dir()) {
            return Err(DecodeError::Structure(
                "a directory that its parent does not name",
            ));
        }
        for entry in &dir.entries {
            let Some(first) = &entry.link else { continue };
            let held = manifest
                .entry(first)
                .is_some_and(|target| target.link.is_none() && target.kind == entry.kind);
            if !held || entry.is_dir() {
                return Err(DecodeError::Structure("a hard link without its first path"));
            }
        }
    }
    Ok(())
}
