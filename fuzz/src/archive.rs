//! Whole archives: any bytes in a file, and a good archive in which some bytes are others. What is damaged is an error, and never
//! another content.

use std::collections::BTreeMap;
use std::fs;

use std::sync::OnceLock;

use jackin_recovery::model::{ArchiveRef, Digest, SnapshotId};
use jackin_recovery::store::archive::{
    Archive, Blob, BlobKind, Finished, MemberKind, Piece, Segment, Writer,
};

use super::feed::Feed;
use super::names;
use super::tree::{file, plain};

/// No content of a seed is longer; a blob may say more, and is then read piece by piece.
const LIMIT: u64 = 1 << 20;

/// A zero, and then the file; or another number, and then places of the good archive with what stands there instead.
pub fn archive(bytes: &[u8]) -> bool {
    let mut feed = Feed(bytes);
    let home = tempfile::tempdir().expect("a directory");
    let at = home.path().join("archive.tar.zst");
    if feed.byte() == 0 {
        fs::write(&at, feed.0).expect("a file");
        return match Archive::open(&at, None) {
            Ok(archive) => all(&archive, feed.0.len() as u64),
            Err(_) => false,
        };
    }
    let good = good();
    let mut changed = good.bytes.clone();
    while !feed.is_empty() {
        let (place, byte) = (feed.number::<2>(), feed.byte());
        let place = usize::try_from(place).unwrap_or(0) % changed.len();
        changed[place] = byte;
    }
    fs::write(&at, &changed).expect("a file");
    let expect = expect(&good.finished);
    let opened = Archive::open(&at, Some(&expect));
    if changed == good.bytes {
        opened
            .as_ref()
            .expect("it is as it was")
            .check_file(&expect)
            .expect("it is as it was");
    }
    let Ok(archive) = opened else { return false };
    assert_eq!(archive.check_file(&expect).is_ok(), changed == good.bytes);
    for (digest, content) in &good.content {
        let blob = archive.locate(digest).expect("the index is as it was");
        if let Ok(read) = archive.bytes(blob, LIMIT) {
            assert!(read == *content, "another content of {digest}");
        }
    }
    true
}

fn expect(finished: &Finished) -> ArchiveRef {
    ArchiveRef {
        id: SnapshotId::new([3; 12]).archive(),
        size: finished.size,
        digest: finished.digest,
        index: finished.index,
    }
}

/// Reads all that an archive of so many bytes holds: every blob is as long as it says, or an error, and every name is one. Gives
/// whether all of it was there.
pub(crate) fn all(archive: &Archive, length: u64) -> bool {
    assert!(
        u64::from(archive.frames()) * 12 <= length,
        "more frames than bytes"
    );
    let mut whole = (0..=archive.frames()).all(|number| archive.check_frame(number).is_ok());
    assert!(archive.blobs().is_sorted_by(|a, b| a.digest < b.digest));
    for blob in archive.blobs().iter().take(64) {
        assert_eq!(archive.locate(&blob.digest), Some(blob));
        whole &= read(archive, blob);
    }
    for member in archive.members().take(4096) {
        let Ok(member) = member else { return false };
        names::check(&member.path);
        assert!(!member.path.is_root() && member.mode <= 0o7777, "{member:?}");
        assert!(member.mtime.nsec < 1_000_000_000);
        if let MemberKind::HardLink(to) = &member.kind {
            names::check(to);
        }
    }
    whole
}

/// Whether the blob could be read.
fn read(archive: &Archive, blob: &Blob) -> bool {
    let mut length = 0;
    let mut calls = 0_u32;
    let streamed = archive.stream(blob, &mut |piece| {
        let more = match piece {
            Piece::Data(bytes) => bytes.len() as u64,
            Piece::Hole(count) => count,
        };
        assert!(more > 0, "a piece of nothing");
        length += more;
        calls += 1;
        // Somebody who has seen enough.
        if calls > 1000 {
            Err(std::io::ErrorKind::Interrupted.into())
        } else {
            Ok(())
        }
    });
    assert!(length <= blob.logical, "{length} of {} bytes", blob.logical);
    assert!(
        streamed.is_err() || length == blob.logical,
        "{length} of {} bytes",
        blob.logical
    );
    match archive.bytes(blob, LIMIT) {
        Ok(content) => assert_eq!(content.len() as u64, blob.logical),
        Err(_) => assert!(streamed.is_err() || blob.logical > LIMIT),
    }
    streamed.is_ok()
}

/// An archive with a bit of everything.
pub(crate) struct Good {
    pub(crate) bytes: Vec<u8>,
    finished: Finished,
    content: BTreeMap<Digest, Vec<u8>>,
}

impl Good {
    /// The tar stream up to the index.
    pub(crate) fn stream(&self) -> Vec<u8> {
        let mut stream = zstd::stream::decode_all(self.bytes.as_slice()).expect("frames and a table");
        let index = b".jackin-recovery/index\0";
        let end = stream.chunks(512).position(|block| block.starts_with(index));
        stream.truncate(end.expect("an archive has an index") * 512);
        stream
    }

    /// Where its blobs lie.
    pub(crate) fn blobs(&self) -> Vec<Blob> {
        let home = tempfile::tempdir().expect("a directory");
        let at = home.path().join("archive.tar.zst");
        fs::write(&at, &self.bytes).expect("a file");
        Archive::open(&at, Some(&expect(&self.finished)))
            .expect("a good archive")
            .blobs()
            .to_vec()
    }
}

/// The same bytes in every process.
pub(crate) fn good() -> &'static Good {
    static GOOD: OnceLock<Good> = OnceLock::new();
    GOOD.get_or_init(|| {
        let mut writer = Writer::new(Vec::new(), 3);
        let mut content = BTreeMap::new();
        for (path, entry) in plain() {
            writer.member("project", &path, &entry).expect("a member");
        }
        for (name, text) in [("one", b"one\n".repeat(40)), ("two", (0..=255).collect())] {
            let (path, entry) = file(name, &text);
            let stored = writer
                .file("project", &path, &entry, None, &mut text.as_slice())
                .expect("a file");
            let digest = Digest::of(&text);
            writer.index(stored, digest);
            content.insert(digest, text);
        }
        let mut holes = vec![0; 20_000];
        holes[4096..4100].copy_from_slice(b"data");
        let (path, entry) = file("holes", &holes);
        let segments = [Segment {
            offset: 4096,
            length: 4,
        }];
        let stored = writer
            .file("project", &path, &entry, Some(&segments), &mut b"data".as_slice())
            .expect("a file with holes");
        writer.index(stored, Digest::of(&holes));
        content.insert(Digest::of(&holes), holes);
        let list = b"a list".to_vec();
        writer
            .blob(BlobKind::List, Digest::of(&list), &list)
            .expect("a list");
        content.insert(Digest::of(&list), list);
        let (bytes, finished) = writer.finish().expect("an archive");
        Good {
            bytes,
            finished,
            content,
        }
    })
}
