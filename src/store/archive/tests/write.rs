//! The writer under bad data, bad arguments and a bad disk; the same input results in the same bytes.

use super::super::frame::pack;
use super::*;

#[test]
fn data_that_ends_early_or_fails_is_filled_with_zeros_and_said() {
    struct Fails(usize);
    impl Read for Fails {
        fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
            let Some(left) = self.0.checked_sub(1) else {
                return Err(io::Error::other("disk"));
            };
            self.0 = left;
            room[0] = b'x';
            Ok(1)
        }
    }
    let made = make(|writer| {
        let short = writer
            .file("m", &path("short"), &file(1000), None, &mut b"abc".as_slice())
            .unwrap();
        assert_eq!((short.given, short.error.is_none()), (3, true));
        writer.index(short, Digest::of(b"short"));
        let failed = writer
            .file("m", &path("failed"), &file(2 << 20), None, &mut Fails(5))
            .unwrap();
        assert_eq!(
            (failed.given, failed.error.as_ref().unwrap().to_string()),
            (5, "disk".to_owned())
        );
        writer.index(failed, Digest::of(b"failed"));
        let segments = [segment(10, 10), segment(30, 10)];
        let sparse = writer
            .file(
                "m",
                &path("s"),
                &file(50),
                Some(&segments),
                &mut [7; 12].as_slice(),
            )
            .unwrap();
        assert_eq!(sparse.given, 12);
        writer.index(sparse, Digest::of(b"s"));
        // More than asked for stays where it is.
        let mut long = b"abcdef".as_slice();
        let stored = writer
            .file("m", &path("long"), &file(2), None, &mut long)
            .unwrap();
        assert_eq!((stored.given, long), (2, b"cdef".as_slice()));
        writer.index(stored, Digest::of(b"ab"));
    });
    let archive = made.open();
    assert_eq!(
        read(&archive, &Digest::of(b"short")),
        [b"abc".as_slice(), &[0; 997]].concat()
    );
    let failed = read(&archive, &Digest::of(b"failed"));
    assert!(failed.len() == 2 << 20 && failed.starts_with(b"xxxxx\0") && failed[5..].iter().all(|b| *b == 0));
    let sparse = [vec![0; 10], vec![7; 10], vec![0; 10], vec![7; 2], vec![0; 18]].concat();
    assert_eq!(read(&archive, &Digest::of(b"s")), sparse);
    assert_eq!(archive.members().count(), 5);
}

#[test]
fn the_first_content_of_a_digest_stays() {
    let made = make(|writer| {
        assert!(writer.is_empty());
        let digest = put(writer, "a", b"same");
        assert!(writer.holds(&digest) && !writer.is_empty());
        put(writer, "b", b"same");
        writer
            .blob(BlobKind::Chunk, Digest::of(b"chunk"), b"chunk")
            .unwrap();
        writer
            .blob(BlobKind::Chunk, Digest::of(b"chunk"), b"chunk")
            .unwrap();
        let empty = writer
            .file("m", &path("e"), &file(0), None, &mut b"".as_slice())
            .unwrap();
        writer.index(empty, Digest::of(b""));
        assert!(!writer.holds(&Digest::of(b"")));
    });
    let archive = made.open();
    assert_eq!(archive.locate(&Digest::of(b"same")).unwrap().offset, 1536);
    assert_eq!(archive.blobs().len(), 2);
    assert_eq!(archive.members().count(), 5);
}

#[test]
fn the_same_input_gives_the_same_bytes_at_every_level() {
    for level in [1, 3, 6, 9] {
        let write = || {
            let mut writer = Writer::new(Vec::new(), level);
            for number in 0..12 {
                let text: String = (0..60_000)
                    .map(|line| format!("{} {}\n", line * number, line % 97))
                    .collect();
                put(&mut writer, format!("f{number}"), text.as_bytes());
            }
            writer.finish().unwrap()
        };
        let (first, second) = (write(), write());
        assert!(first == second, "level {level}");
        assert_eq!(first.1.digest, Digest::of(&first.0));
        assert_eq!(first.1.size, first.0.len() as u64);
        // Nor may a frame's bytes depend on what the same thread compressed before.
        let directory = crate::workplace::scratch();
        let place = directory.path().join("a");
        std::fs::write(&place, &first.0).unwrap();
        let archive = Archive::open(&place, None).unwrap();
        for frame in 0..archive.frames() as usize {
            let alone = pack(&archive.source.unpacked(frame).unwrap(), level).unwrap();
            assert_eq!(Some(alone.digest), archive.source.digest(frame), "level {level}");
        }
    }
}

#[test]
fn what_an_archive_cannot_hold_is_refused_before_anything_is_written() {
    let mut writer = Writer::new(Vec::new(), 3);
    let mut none = b"".as_slice();
    let overlap = [segment(5, 5), segment(9, 5)];
    let beyond = [segment(u64::MAX, 5)];
    let empty = [segment(0, 0)];
    let mut huge = file(0);
    huge.xattrs = vec![xattr("user.a", &vec![0; 65 << 20])];
    let refused = [
        writer.member("m", &path("f"), &file(1)),
        writer.member(INTERNAL, &path("f"), &file(0)),
        writer.member("a/b", &path("f"), &file(0)),
        writer.member("..", &path("f"), &file(0)),
        writer.member("m", &RelPath::root(), &file(0)),
        writer.member(
            "m",
            &path("l"),
            &entry(EntryKind::Symlink(b"a\0b".as_slice().into())),
        ),
        writer.member("m", &path("f"), &huge),
        writer.hard_link("m", &path("f"), &directory(), ("m", &path("g"))),
        writer
            .file("m", &path("f"), &directory(), None, &mut none)
            .map(drop),
        writer
            .file("m", &path("f"), &file(u64::MAX), None, &mut none)
            .map(drop),
        writer
            .file("m", &path("f"), &file(100), Some(&overlap), &mut none)
            .map(drop),
        writer
            .file("m", &path("f"), &file(100), Some(&beyond), &mut none)
            .map(drop),
        writer
            .file("m", &path("f"), &file(100), Some(&empty), &mut none)
            .map(drop),
        writer.blob(BlobKind::Content, Digest::of(b"x"), b"x"),
        writer.blob(BlobKind::Chunk, Digest::of(b""), b""),
    ];
    for (number, result) in refused.into_iter().enumerate() {
        assert!(
            matches!(result, Err(ArchiveError::Refused { .. })),
            "case {number}"
        );
    }
    assert!(writer.is_empty());
}

#[test]
fn a_failed_write_is_said_and_the_archive_cannot_be_finished() {
    struct Full(usize);
    impl io::Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = self
                .0
                .checked_sub(bytes.len())
                .ok_or(io::ErrorKind::StorageFull)?;
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut writer = Writer::new(Full(3 << 20), 1);
    let failed = (0..100).map(|seed| {
        let content = noise(seed + 1, 1 << 20);
        writer
            .file("m", &path("f"), &file(1 << 20), None, &mut content.as_slice())
            .map(drop)
    });
    assert!(matches!(
        failed.collect::<Result<Vec<_>, _>>(),
        Err(ArchiveError::Write { .. })
    ));
    assert!(matches!(
        writer.member("m", &path("f"), &file(0)),
        Err(ArchiveError::Write { .. })
    ));
    assert!(matches!(writer.finish(), Err(ArchiveError::Write { .. })));
}

#[test]
fn a_manifest_chunk_is_read_without_others() {
    let large: Vec<Vec<u8>> = (0..4_u8).map(|number| vec![number; 40 << 10]).collect();
    let small: Vec<Vec<u8>> = (4..9_u8).map(|number| vec![number; 1 << 10]).collect();
    let made = make(|writer| {
        for bytes in large.iter().chain(&small) {
            writer.blob(BlobKind::Chunk, Digest::of(bytes), bytes).unwrap();
        }
    });
    let archive = made.open();
    let frame = |bytes: &Vec<u8>| archive.locate(&Digest::of(bytes)).unwrap().frame;
    let frames: Vec<u32> = large.iter().map(frame).collect();
    assert_eq!(frames, [0, 1, 2, 3]);
    assert!(small.iter().all(|bytes| frame(bytes) == 4));
    for bytes in large.iter().chain(&small) {
        let blob = archive.locate(&Digest::of(bytes)).unwrap();
        assert_eq!(archive.bytes(blob, 1 << 20).unwrap(), *bytes);
    }
}
