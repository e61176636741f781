//! Files that no `export` writes: valid in form, with every digest right, and with false content.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Incoming, TransferError};
use crate::model::{
    ByteString, Content, Coverage, Digest, DigestMethod, Directory, Entry, EntryKind, ExportNote, InodeFlags,
    InstanceId, Listing, Manifest, ManifestList, MountRecord, Name, RelPath, SnapshotId, SnapshotKind,
    SnapshotRecord, Time, runs,
};
use crate::observer::Silent;
use crate::store::archive::{BlobKind, Writer};

/// Content of a crafted export.
struct Crafted {
    manifest: Manifest,
    /// Stored under the digest of the only file.
    content: Vec<u8>,
    note: Box<dyn Fn(serde_json::Value) -> serde_json::Value>,
    /// Changes the only chunk; the digests that name it follow.
    chunk: fn(Vec<u8>) -> Vec<u8>,
    /// Number of times that the list names the chunk.
    times: usize,
    notes: usize,
}

impl Crafted {
    fn new() -> Self {
        Self {
            manifest: manifest(b"said\n"),
            content: b"said\n".to_vec(),
            note: Box::new(|note| note),
            chunk: |bytes| bytes,
            times: 1,
            notes: 1,
        }
    }

    fn write(&self) -> (tempfile::TempDir, PathBuf) {
        let directory = crate::workplace::scratch();
        let path = directory.path().join("export.tar.zst");
        let mut writer = Writer::new(std::fs::File::create(&path).unwrap(), 1);
        let (label, file) = ("shop", RelPath::new(b"file").unwrap());
        let entry = self.manifest.entry(&file).unwrap().clone();
        let mut stored_as = entry.clone();
        stored_as.kind = EntryKind::File(content(&self.content));
        let stored = writer
            .file(label, &file, &stored_as, None, &mut self.content.as_slice())
            .unwrap();
        writer.index(stored, entry.content().unwrap().digest);
        let [run] = runs(&self.manifest)[..] else {
            panic!("it is small")
        };
        let chunk = (self.chunk)(run.encode(&self.manifest).bytes);
        let digest = Digest::of(&chunk);
        writer.blob(BlobKind::Chunk, digest, &chunk).unwrap();
        let list = ManifestList {
            root: self.manifest.root.clone(),
            chunks: vec![digest; self.times],
        }
        .encode();
        let list_digest = Digest::of(&list);
        writer.blob(BlobKind::List, list_digest, &list).unwrap();
        let note = serde_json::to_value(note(list_digest)).unwrap();
        for number in 0..self.notes {
            let mut note = (self.note)(note.clone());
            note["number"] = number.into();
            let bytes = serde_json::to_vec(&note).unwrap();
            writer.blob(BlobKind::Export, Digest::of(&bytes), &bytes).unwrap();
        }
        writer.finish().unwrap();
        (directory, path)
    }

    #[track_caller]
    fn read(&self) -> Result<Incoming, TransferError> {
        let (_directory, path) = self.write();
        Incoming::read(&path, &Silent)
    }

    #[track_caller]
    fn refused(&self) -> String {
        match self.read() {
            Ok(_) => panic!("it was taken"),
            Err(error) => error.to_string(),
        }
    }
}

fn content(bytes: &[u8]) -> Content {
    Content {
        size: bytes.len() as u64,
        digest: Digest::of(bytes),
        method: DigestMethod::Plain,
    }
}

fn entry(name: &str, kind: EntryKind) -> Entry {
    Entry {
        name: Name::new(name.as_bytes()).unwrap(),
        kind,
        mode: 0o644,
        uid: 1000,
        gid: 1000,
        mtime: Time::default(),
        ctime: Time { sec: 9, nsec: 9 },
        ino: 77,
        flags: InodeFlags::default(),
        xattrs: Vec::new(),
        link: None,
        nlink: 1,
        unstable: false,
    }
}

fn manifest(bytes: &[u8]) -> Manifest {
    let top = Directory {
        path: RelPath::root(),
        listing: Listing::Proven,
        all_named: true,
        entries: vec![
            entry("file", EntryKind::File(content(bytes))),
            entry("null", EntryKind::CharDevice(1, 3)),
        ],
        gaps: Vec::new(),
    };
    Manifest {
        root: entry("root", EntryKind::Directory),
        directories: vec![Arc::new(top)],
    }
}

fn note(list: Digest) -> ExportNote {
    let coverage = Coverage::new("shop", ByteString(b"/srv/shop".to_vec()));
    let record = SnapshotRecord {
        format: SnapshotRecord::FORMAT,
        id: SnapshotId::new([1; 12]),
        instance: InstanceId::new([1; 8], "shop"),
        workspace: None,
        kind: SnapshotKind::Baseline,
        late: false,
        name: None,
        message: None,
        taken_at: Time::default(),
        complete: true,
        mounts: vec![MountRecord {
            coverage,
            started_at: Time::default(),
            mounted: false,
            written_back: true,
            changed_meanwhile: Vec::new(),
            changed_meanwhile_count: 0,
            file_system: None,
            attributes_unknown: false,
            manifest: Some(list),
            entries: 2,
            bytes: 5,
            gap_count: 0,
            gaps: Vec::new(),
            git: None,
            withheld: Vec::new(),
            sealed: None,
            native: None,
        }],
        archives: Vec::new(),
        written_by: "somebody".to_owned(),
    };
    ExportNote {
        format: ExportNote::FORMAT,
        exported_at: Time::default(),
        mode: "project".to_owned(),
        record,
        written_by: "somebody".to_owned(),
    }
}

/// The same bytes with `from` in the place of `to`, which is as long.
fn renamed(mut bytes: Vec<u8>, from: &[u8], to: &[u8]) -> Vec<u8> {
    let at = bytes
        .windows(from.len())
        .position(|window| window == from)
        .unwrap();
    bytes[at..at + to.len()].copy_from_slice(to);
    bytes
}

#[test]
fn what_is_whole_is_taken() {
    let mut incoming = Crafted::new().read().unwrap();
    assert_eq!(incoming.totals(), (2, 5));
    assert_eq!(incoming.dropped().total(), 0, "nothing was dropped yet");
    incoming.strip((1, 2));
    assert_eq!((incoming.dropped().paths, incoming.dropped().owners), (1, 2));
    assert_eq!(incoming.totals(), (1, 5), "the device is not held");
}

#[test]
fn names_that_lead_out_are_refused() {
    for (from, to) in [(b"file", b"../x"), (b"file", b"a/..")] {
        let mut crafted = Crafted::new();
        crafted.chunk = match to {
            b"../x" => |bytes| renamed(bytes, b"file", b"../x"),
            _ => |bytes| renamed(bytes, b"file", b"a/.."),
        };
        let _ = from;
        assert!(crafted.refused().contains("damaged"), "{}", crafted.refused());
    }
    let mut twice = Crafted::new();
    twice.chunk = |bytes| renamed(bytes, b"file", b"null");
    twice.refused();
    for root in ["srv/shop", "/srv/../etc", "/srv//shop", ""] {
        let mut crafted = Crafted::new();
        crafted.note = Box::new(move |mut note| {
            note["record"]["mounts"][0]["coverage"]["root"] = root.into();
            note
        });
        assert!(
            crafted.refused().contains("mount root"),
            "{root}: {}",
            crafted.refused()
        );
    }
    for label in ["..", ".jackin-recovery", "a/b", ""] {
        let mut crafted = Crafted::new();
        crafted.note = Box::new(move |mut note| {
            note["record"]["mounts"][0]["coverage"]["label"] = label.into();
            note
        });
        assert!(crafted.refused().contains("label"), "{label}");
    }
}

#[test]
fn content_that_is_another_is_refused() {
    let mut crafted = Crafted::new();
    crafted.content = b"lied\n".to_vec();
    assert!(
        crafted.refused().contains("another digest"),
        "{}",
        crafted.refused()
    );
    crafted.content = b"longer than was said\n".to_vec();
    assert!(crafted.refused().contains("longer"), "{}", crafted.refused());
    crafted.content = b"x".to_vec();
    assert!(
        crafted.refused().contains("another digest"),
        "{}",
        crafted.refused()
    );
}

#[test]
fn what_is_newer_is_named_by_its_number() {
    for member in ["format", "record"] {
        let mut crafted = Crafted::new();
        crafted.note = Box::new(move |mut note| {
            match member {
                "format" => note["format"] = 7.into(),
                _ => note["record"]["format"] = 7.into(),
            }
            note["unknown"] = true.into();
            note
        });
        let error = crafted.read().err().unwrap();
        let newest = match member {
            "format" => ExportNote::FORMAT,
            _ => SnapshotRecord::FORMAT,
        };
        assert!(
            matches!(error, TransferError::Newer { found: 7, known, .. } if known == u64::from(newest)),
            "{error}"
        );
    }
}

#[test]
fn bombs_and_doubles_are_refused() {
    let mut crafted = Crafted::new();
    crafted.times = 2;
    assert!(crafted.refused().contains("twice"), "{}", crafted.refused());
    let mut crafted = Crafted::new();
    crafted.notes = 2;
    assert!(crafted.refused().contains("twice"), "{}", crafted.refused());
    crafted.notes = 0;
    assert!(
        crafted.refused().contains("does not say"),
        "{}",
        crafted.refused()
    );
}

#[test]
fn a_plain_hole_that_never_ends_is_refused() {
    let directory = crate::workplace::scratch();
    let path = directory.path().join("export.tar.zst");
    let size = 1_u64 << 50;
    let claimed = Content {
        size,
        digest: Digest([3; 32]),
        method: DigestMethod::Plain,
    };
    let mut manifest = manifest(b"x");
    let top = Arc::make_mut(&mut manifest.directories[0]);
    top.entries[0].kind = EntryKind::File(claimed);
    let mut writer = Writer::new(std::fs::File::create(&path).unwrap(), 1);
    let file = RelPath::new(b"file").unwrap();
    let stored = writer
        .file(
            "shop",
            &file,
            &top.entries[0].clone(),
            Some(&[]),
            &mut std::io::empty(),
        )
        .unwrap();
    writer.index(stored, claimed.digest);
    let [run] = runs(&manifest)[..] else {
        panic!("it is small")
    };
    let chunk = run.encode(&manifest);
    writer.blob(BlobKind::Chunk, chunk.digest, &chunk.bytes).unwrap();
    let list = ManifestList {
        root: manifest.root.clone(),
        chunks: vec![chunk.digest],
    }
    .encode();
    writer.blob(BlobKind::List, Digest::of(&list), &list).unwrap();
    let bytes = serde_json::to_vec(&note(Digest::of(&list))).unwrap();
    writer.blob(BlobKind::Export, Digest::of(&bytes), &bytes).unwrap();
    writer.finish().unwrap();
    let error = Incoming::read(Path::new(&path), &Silent)
        .err()
        .unwrap()
        .to_string();
    assert!(error.contains("holes"), "{error}");
}
