//! Damaged archives: a reader reports the damage or returns the right content, and never panics.

use super::*;

/// A small archive of several frames with content of every kind, and what it holds.
fn sample() -> (Made, Vec<(Digest, Vec<u8>)>) {
    let mut held = Vec::new();
    let segments = [segment(700, 300), segment(5000, 1)];
    let made = make(|writer| {
        writer.member("m", &RelPath::root(), &directory()).unwrap();
        // Zeros make a large member in few bytes.
        let large = vec![0; (1 << 20) + 5];
        held.push((put(writer, "large", &large), large));
        held.push((put(writer, "small", b"some text"), b"some text".to_vec()));
        let digest = put_sparse(writer, "sparse", 9000, &segments);
        held.push((digest, sparse_content(9000, &segments)));
        writer.blob(BlobKind::List, Digest::of(b"list"), b"list").unwrap();
        held.push((Digest::of(b"list"), b"list".to_vec()));
    });
    (made, held)
}

/// Reads everything there is; true when nothing was found wrong. Content that is given must be right.
fn survives(place: &Path, expect: Option<&ArchiveRef>, held: &[(Digest, Vec<u8>)]) -> bool {
    let Ok(archive) = Archive::open(place, expect) else {
        return false;
    };
    let mut whole = archive.blobs().len() == held.len();
    for (digest, content) in held {
        match archive.locate(digest).map(|blob| archive.bytes(blob, 16 << 20)) {
            Some(Ok(found)) => assert!(found == *content, "wrong content was given"),
            _ => whole = false,
        }
    }
    whole &= archive.members().all(|member| member.is_ok());
    whole & (0..=archive.frames()).all(|frame| archive.check_frame(frame).is_ok())
}

#[test]
fn every_changed_byte_is_found() {
    let (made, held) = sample();
    let bytes = std::fs::read(made.path()).unwrap();
    assert!(survives(&made.path(), Some(&made.expect()), &held));
    assert!(bytes.len() < 4000, "{} bytes make this test slow", bytes.len());
    let place = made.directory.path().join("changed");
    for at in 0..bytes.len() {
        for flip in [1, 0x80, 0xff] {
            let mut changed = bytes.clone();
            changed[at] ^= flip;
            std::fs::write(&place, &changed).unwrap();
            assert!(
                !survives(&place, Some(&made.expect()), &held),
                "byte {at} ^ {flip:#x}"
            );
            // Without a record nothing may panic or be wrong; the frames vouch for themselves.
            survives(&place, None, &held);
            if let Ok(archive) = Archive::open(&place, None) {
                let checked = archive.check_file(&made.expect());
                assert!(matches!(
                    checked,
                    Err(ArchiveError::Damaged {
                        what: Damage::Digest,
                        ..
                    })
                ));
            }
        }
    }
}

#[test]
fn every_truncation_and_every_tail_is_found() {
    let (made, held) = sample();
    let bytes = std::fs::read(made.path()).unwrap();
    let place = made.directory.path().join("changed");
    for length in 0..bytes.len() {
        std::fs::write(&place, &bytes[..length]).unwrap();
        assert!(
            matches!(error(&place), ArchiveError::Damaged { .. }),
            "{length} bytes"
        );
        let sized = Archive::open(&place, Some(&made.expect())).err().unwrap();
        assert!(matches!(
            sized,
            ArchiveError::Damaged {
                what: Damage::Size { .. },
                ..
            }
        ));
    }
    for tail in [b"\0".as_slice(), b"garbage", &bytes] {
        std::fs::write(&place, [&bytes, tail].concat()).unwrap();
        assert!(matches!(error(&place), ArchiveError::Damaged { .. }));
        std::fs::write(&place, [tail, &bytes].concat()).unwrap();
        assert!(matches!(error(&place), ArchiveError::Damaged { .. }));
        // Bytes between the index frame and the seek table.
        let table = bytes.len() - (made.finished.frames as usize + 1) * 8 - 17;
        std::fs::write(&place, [&bytes[..table], tail, &bytes[table..]].concat()).unwrap();
        assert!(!survives(&place, None, &held));
    }
}

#[test]
fn a_file_that_shrinks_while_it_is_open_is_damaged_and_says_where() {
    let (made, held) = sample();
    let archive = made.open();
    std::fs::write(made.path(), b"short").unwrap();
    let failed = archive
        .bytes(archive.locate(&held[1].0).unwrap(), 100)
        .unwrap_err();
    let wanted = Damage::Size {
        expected: made.finished.size,
        found: 5,
    };
    assert!(
        matches!(&failed, ArchiveError::Damaged { what, .. } if *what == wanted),
        "{failed}"
    );
    assert!(failed.to_string().contains("archive.tar.zst"), "{failed}");
}

#[test]
fn damage_is_named_by_its_frame_and_the_rest_stays_readable() {
    let content = noise(1, 3 << 20);
    let made = make(|writer| {
        put(writer, "first", b"first");
        put(writer, "large", &content);
        put(writer, "last", b"last");
    });
    let mut bytes = std::fs::read(made.path()).unwrap();
    // The content does not compress, so this lies in the second frame.
    bytes[(3 << 20) / 2] ^= 4;
    std::fs::write(made.path(), &bytes).unwrap();
    let archive = made.open();
    assert_eq!(read(&archive, &Digest::of(b"first")), b"first");
    assert_eq!(read(&archive, &Digest::of(b"last")), b"last");
    let mut given = 0;
    let blob = archive.locate(&Digest::of(&content)).unwrap();
    let failed = archive.stream(blob, &mut |piece| {
        let Piece::Data(bytes) = piece else {
            panic!("a hole in dense content")
        };
        assert!(content[given..].starts_with(bytes));
        given += bytes.len();
        Ok(())
    });
    assert!(matches!(
        failed,
        Err(ArchiveError::Damaged {
            what: Damage::Frame { frame: 1, .. },
            ..
        })
    ));
    assert!(
        archive.check_frame(0).is_ok() && archive.check_frame(1).is_err() && archive.check_frame(2).is_ok()
    );
}

#[test]
fn what_is_no_file_is_not_opened() {
    let directory = crate::workplace::scratch();
    let at = |name: &str| directory.path().join(name);
    let made = make(|_| {});
    std::os::unix::fs::symlink(made.path(), at("link")).unwrap();
    std::fs::create_dir(at("dir")).unwrap();
    handle_fs::make_fifo(rustix::fs::CWD, at("pipe").as_os_str()).unwrap();
    for name in ["link", "dir", "pipe", "nothing"] {
        assert!(matches!(error(&at(name)), ArchiveError::Read { .. }), "{name}");
    }
}
