//! Round trips: the reader returns what the writer wrote, for all types, sizes and frames.

use super::*;

#[test]
fn every_type_of_member_is_listed_as_it_was_given() {
    let mut fancy = file(0);
    fancy.xattrs = vec![xattr("user.a=b%c", b"line\nline\0"), xattr("user.empty", b"")];
    fancy.mtime = Time {
        sec: -5,
        nsec: 500_000_000,
    };
    fancy.mode = 0o6755;
    fancy.uid = 3_000_000_000;
    fancy.gid = 2_097_152;
    let long = [b"d/".as_slice(), &[b'x'; 255], b"/", &[0xff; 255], b"/tail"].concat();
    let target = b"/x//y/./z/".as_slice();
    let made = make(|writer| {
        writer.member("m", &RelPath::root(), &directory()).unwrap();
        writer.member("m", &path("d"), &directory()).unwrap();
        writer.member("m", &path("d/fancy"), &fancy).unwrap();
        writer
            .member("m", &path("link"), &entry(EntryKind::Symlink(target.into())))
            .unwrap();
        writer
            .member(
                "m",
                &path("far"),
                &entry(EntryKind::Symlink(long.as_slice().into())),
            )
            .unwrap();
        writer
            .member("m", &path("pipe"), &entry(EntryKind::Fifo))
            .unwrap();
        writer
            .member("m", &path("socket"), &entry(EntryKind::Socket))
            .unwrap();
        writer
            .member("m", &path("tty"), &entry(EntryKind::CharDevice(4, 1 << 20)))
            .unwrap();
        writer
            .member(
                "m",
                &path("disk"),
                &entry(EntryKind::BlockDevice(3_000_000, 4_000_000_000)),
            )
            .unwrap();
        put(writer, &long, b"content");
        writer
            .hard_link("n", &path("hard"), &file(7), ("m", &path(&long)))
            .unwrap();
        put_sparse(writer, "holes", 1 << 40, &[segment(1 << 39, 3)]);
        writer
            .blob(BlobKind::Chunk, Digest::of(b"chunk"), b"chunk")
            .unwrap();
    });
    let members: Vec<Member> = made.open().members().map(Result::unwrap).collect();
    let first = path([b"m/".as_slice(), &long].concat());
    let chunk = format!("{INTERNAL}/chunks/{}", Digest::of(b"chunk"));
    let wanted = [
        (path("m"), MemberKind::Directory),
        (path("m/d"), MemberKind::Directory),
        (path("m/d/fancy"), MemberKind::File),
        (path("m/link"), MemberKind::Symlink(target.to_vec())),
        (path("m/far"), MemberKind::Symlink(long.clone())),
        (path("m/pipe"), MemberKind::Fifo),
        (path("m/tty"), MemberKind::CharDevice(4, 1 << 20)),
        (path("m/disk"), MemberKind::BlockDevice(3_000_000, 4_000_000_000)),
        (first.clone(), MemberKind::File),
        (path("n/hard"), MemberKind::HardLink(first)),
        (path("m/holes"), MemberKind::Sparse),
        (path(chunk), MemberKind::File),
        (path(".jackin-recovery/index"), MemberKind::File),
    ];
    let found: Vec<_> = members
        .iter()
        .map(|member| (member.path.clone(), member.kind.clone()))
        .collect();
    assert_eq!(found, wanted);
    assert_eq!(members[2].xattrs, fancy.xattrs);
    assert_eq!((members[2].mtime, members[2].mode), (fancy.mtime, fancy.mode));
    assert_eq!((members[2].uid, members[2].gid), (fancy.uid, fancy.gid));
    assert_eq!(
        members[3].mtime,
        Time {
            sec: 1_700_000_000,
            nsec: 123_456_789
        }
    );
    assert_eq!((members[8].size, members[10].size), (7, 1 << 40));
    assert_eq!(
        (members[11].mode, members[11].uid, members[11].mtime),
        (0o600, 0, Time::default())
    );
}

#[test]
fn content_of_every_size_comes_back() {
    let sizes = [
        1,
        511,
        512,
        513,
        (1 << 20) - 1,
        1 << 20,
        (1 << 20) + 1,
        3 << 20,
        (5 << 20) + 77,
    ];
    let mut wanted = Vec::new();
    let made = make(|writer| {
        for (number, size) in sizes.iter().enumerate() {
            let content = noise(number as u64 + 1, *size);
            wanted.push((put(writer, format!("big{number}"), &content), content));
            let small = noise(number as u64 + 100, 100);
            wanted.push((put(writer, format!("small{number}"), &small), small));
        }
        let chunk = noise(7, 2 << 20);
        writer.blob(BlobKind::List, Digest::of(&chunk), &chunk).unwrap();
        wanted.push((Digest::of(&chunk), chunk));
    });
    let archive = made.open();
    assert!(archive.frames() > 10, "{}", archive.frames());
    assert_eq!(archive.frames(), made.finished.frames);
    for (digest, content) in &wanted {
        assert!(read(&archive, digest) == *content);
    }
    assert_eq!(archive.blobs().len(), wanted.len());
    archive.check_file(&made.expect()).unwrap();
    for frame in 0..=archive.frames() {
        archive.check_frame(frame).unwrap();
    }
    assert!(archive.check_frame(archive.frames() + 1).is_err());
    assert!(archive.locate(&Digest::of(b"nowhere")).is_none());
    let blob = archive.locate(&wanted[16].0).unwrap();
    assert!(matches!(
        archive.bytes(blob, blob.logical - 1),
        Err(ArchiveError::TooLarge { .. })
    ));
}

#[test]
fn a_large_member_is_cut_at_every_mebibyte_and_the_next_one_begins_a_frame() {
    let made = make(|writer| {
        put(writer, "before", b"x");
        put(writer, "large", &noise(1, (2 << 20) + 100));
        put(writer, "after", b"y");
    });
    let archive = made.open();
    assert_eq!(&archive.source.starts()[..3], &[0, 1 << 20, 2 << 20]);
    assert_eq!(archive.frames(), 4);
    // Its own header takes a block, the extended one (the time) two.
    let after = archive.locate(&Digest::of(b"y")).unwrap();
    assert_eq!((after.frame, after.offset), (3, 1536));
}

#[test]
fn files_with_holes_come_back_as_pieces() {
    let cases: Vec<(u64, Vec<Segment>)> = vec![
        (10_000, vec![]),
        (10_000, vec![segment(0, 10_000)]),
        (10_000, vec![segment(4096, 100)]),
        (9_000, vec![segment(0, 1), segment(8_999, 1)]),
        (9_000, vec![segment(10, 5), segment(15, 5)]),
        (6 << 20, vec![segment(1 << 20, 3 << 20)]),
        // A map of more than a frame.
        (
            24 << 20,
            (0..90_000).map(|at| segment(at * 250 + 7, 50)).collect(),
        ),
    ];
    let made = make(|writer| {
        for (number, (size, segments)) in cases.iter().enumerate() {
            put_sparse(writer, &format!("s{number}"), *size, segments);
        }
    });
    let archive = made.open();
    for (number, (size, segments)) in cases.iter().enumerate() {
        let blob = archive
            .locate(&Digest::of(format!("s{number}").as_bytes()))
            .unwrap();
        assert_eq!((blob.kind, blob.logical), (BlobKind::Sparse, *size));
        assert!(
            archive.bytes(blob, *size).unwrap() == sparse_content(*size, segments),
            "case {number}"
        );
        let (mut data, mut holes) = (0, 0);
        archive
            .stream(blob, &mut |piece| {
                match piece {
                    Piece::Data(bytes) => data += bytes.len() as u64,
                    Piece::Hole(count) => holes += count,
                }
                Ok(())
            })
            .unwrap();
        assert_eq!(data + holes, *size);
        let wanted: u64 = segments.iter().map(|segment| segment.length).sum();
        assert!(data >= wanted && data < wanted + 512 * (1 + segments.len() as u64));
    }
}

#[test]
fn an_empty_archive_is_an_archive() {
    let made = make(|writer| assert!(writer.is_empty()));
    let archive = made.open();
    assert_eq!((archive.frames(), archive.blobs().len()), (0, 0));
    assert_eq!(archive.members().count(), 1);
    archive.check_frame(0).unwrap();
}

#[test]
fn many_threads_read_one_archive() {
    let contents: Vec<Vec<u8>> = (0..300).map(|seed| noise(seed + 1, 20_000)).collect();
    let made = make(|writer| {
        for (number, content) in contents.iter().enumerate() {
            put(writer, format!("f{number}"), content);
        }
    });
    let archive = made.open();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (archive, contents) = (&archive, &contents);
            scope.spawn(move || {
                for content in contents.iter().skip(thread).step_by(2) {
                    assert!(read(archive, &Digest::of(content)) == *content);
                }
            });
        }
    });
}

#[test]
fn the_receiver_s_failure_is_its_own() {
    let made = make(|writer| assert_eq!(put(writer, "f", b"abc"), Digest::of(b"abc")));
    let archive = made.open();
    let blob = archive.locate(&Digest::of(b"abc")).unwrap();
    let failed = archive.stream(blob, &mut |_| Err(io::Error::other("full")));
    assert!(matches!(failed, Err(ArchiveError::Receiver { source, .. }) if source.to_string() == "full"));
}
