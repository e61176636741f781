//! Archives come back as they went in, stock tar reads them, and damaged or hostile ones are refused.

#![expect(clippy::cast_possible_truncation, reason = "sizes in tests are small")]

mod damage;
mod hostile;
mod listing;
mod partial;
mod parts;
mod random;
mod round;
mod stock;
mod write;

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::*;
use crate::model::{
    ArchiveId, ArchiveRef, Content, DigestMethod, Entry, EntryKind, InodeFlags, Name, RelPath, Time, Xattr,
};

/// An archive in a temporary directory.
struct Made {
    directory: tempfile::TempDir,
    finished: Finished,
}

impl Made {
    fn path(&self) -> PathBuf {
        self.directory.path().join("archive.tar.zst")
    }

    fn expect(&self) -> ArchiveRef {
        let Finished {
            size, digest, index, ..
        } = self.finished;
        ArchiveRef {
            id: ArchiveId::parse("ar-000000000000").unwrap(),
            size,
            digest,
            index,
        }
    }

    fn open(&self) -> Archive {
        Archive::open(&self.path(), Some(&self.expect())).unwrap()
    }
}

/// Writes an archive with `fill` into a file.
fn make(fill: impl FnOnce(&mut Writer<Vec<u8>>)) -> Made {
    let directory = crate::workplace::scratch();
    let mut writer = Writer::new(Vec::new(), 3);
    fill(&mut writer);
    let (bytes, finished) = writer.finish().unwrap();
    std::fs::write(directory.path().join("archive.tar.zst"), bytes).unwrap();
    Made { directory, finished }
}

fn path(text: impl AsRef<[u8]>) -> RelPath {
    RelPath::new(text.as_ref()).unwrap()
}

fn entry(kind: EntryKind) -> Entry {
    Entry {
        name: Name::new(b"unused").unwrap(),
        kind,
        mode: 0o644,
        uid: rustix::process::getuid().as_raw(),
        gid: rustix::process::getgid().as_raw(),
        mtime: Time {
            sec: 1_700_000_000,
            nsec: 123_456_789,
        },
        ctime: Time::default(),
        ino: 1,
        flags: InodeFlags::default(),
        xattrs: Vec::new(),
        link: None,
        nlink: 1,
        unstable: false,
    }
}

/// A regular file of `size` bytes whose digest is not known yet.
fn file(size: u64) -> Entry {
    entry(EntryKind::File(Content {
        size,
        digest: Digest([0; 32]),
        method: DigestMethod::Plain,
    }))
}

fn directory() -> Entry {
    Entry {
        mode: 0o755,
        ..entry(EntryKind::Directory)
    }
}

fn xattr(name: &str, value: &[u8]) -> Xattr {
    Xattr {
        name: name.as_bytes().into(),
        value: value.into(),
    }
}

/// Stores `content` under `label`/`name` and indexes it.
fn put(writer: &mut Writer<Vec<u8>>, name: impl AsRef<[u8]>, content: &[u8]) -> Digest {
    let stored = writer
        .file("m", &path(name), &file(content.len() as u64), None, &mut {
            content
        })
        .unwrap();
    assert_eq!(stored.given, content.len() as u64);
    let digest = Digest::of(content);
    writer.index(stored, digest);
    digest
}

fn segment(offset: u64, length: u64) -> Segment {
    Segment { offset, length }
}

/// Stores the data of `segments` in a file of `size` bytes, each segment filled with its number plus one.
fn put_sparse(writer: &mut Writer<Vec<u8>>, name: &str, size: u64, segments: &[Segment]) -> Digest {
    let data = segment_data(segments);
    let stored = writer
        .file(
            "m",
            &path(name),
            &file(size),
            Some(segments),
            &mut data.as_slice(),
        )
        .unwrap();
    assert_eq!(stored.given, data.len() as u64);
    let digest = Digest::of(name.as_bytes());
    writer.index(stored, digest);
    digest
}

fn segment_data(segments: &[Segment]) -> Vec<u8> {
    let bytes = (1_u8..=255).cycle();
    segments
        .iter()
        .zip(bytes)
        .flat_map(|(segment, byte)| vec![byte; segment.length as usize])
        .collect()
}

/// The content that [`put_sparse`] means, holes as zeros.
fn sparse_content(size: u64, segments: &[Segment]) -> Vec<u8> {
    let mut content = vec![0; size as usize];
    for (segment, byte) in segments.iter().zip((1_u8..=255).cycle()) {
        let from = segment.offset as usize;
        content[from..from + segment.length as usize].fill(byte);
    }
    content
}

fn read(archive: &Archive, digest: &Digest) -> Vec<u8> {
    archive.bytes(archive.locate(digest).unwrap(), 1 << 30).unwrap()
}

/// Bytes that compress badly and depend on `seed` alone.
fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    let mut state = (seed << 1) | 1;
    for byte in &mut bytes {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        *byte = (state >> 24) as u8;
    }
    bytes
}

fn error(path: &Path) -> ArchiveError {
    match Archive::open(path, None) {
        Ok(_) => panic!("{path:?} was taken"),
        Err(error) => error,
    }
}
