//! Parts of blobs: any range has the bytes that the whole content has there, and only the frames that hold it are read.

use super::*;

/// Ranges that begin and end in all kinds of places.
fn ranges(size: u64) -> Vec<(u64, usize)> {
    let mut state = 7_u64;
    let mut next = |below: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below.max(1)
    };
    let edges = [
        (0, 0),
        (0, 1),
        (size, 9),
        (size + 5, 9),
        (size.saturating_sub(1), 9),
        (0, size as usize + 9),
    ];
    let random = (0..200).map(|_| (next(size), next(5000) as usize));
    edges.into_iter().chain(random).collect()
}

#[track_caller]
fn check(archive: &Archive, digest: &Digest, whole: &[u8]) {
    let parts = archive.parts(archive.locate(digest).unwrap()).unwrap();
    assert_eq!(parts.size(), whole.len() as u64);
    for (at, length) in ranges(parts.size()) {
        let mut room = vec![0xee; length];
        let count = archive.read_part(&parts, at, &mut room).unwrap();
        let from = whole.len().min(at as usize);
        let expected = &whole[from..whole.len().min(from + length)];
        assert_eq!(&room[..count], expected, "{length} bytes at {at}");
    }
}

#[test]
fn any_part_is_that_of_the_whole() {
    let dense = noise(1, (3 << 20) + 17);
    let segments: Vec<Segment> = (0..2000)
        .map(|at| segment(512 + at * 4096, 1 + at % 700))
        .collect();
    let size = 2000 * 4096 + 99_999;
    let holes = [segment(5 << 20, 3)];
    let (mut digests, mut empty) = (Vec::new(), None);
    let made = make(|writer| {
        digests.push(put(writer, "small", b"a few bytes"));
        digests.push(put(writer, "dense", &dense));
        digests.push(put_sparse(writer, "many", size, &segments));
        digests.push(put_sparse(writer, "hole", 9 << 20, &holes));
        empty = Some(put_sparse(writer, "empty", 3000, &[]));
    });
    let archive = made.open().keeping_frames_in(&SharedFrames::new(2));
    check(&archive, &digests[0], b"a few bytes");
    check(&archive, &digests[1], &dense);
    check(&archive, &digests[2], &sparse_content(size, &segments));
    check(&archive, &digests[3], &sparse_content(9 << 20, &holes));
    check(&archive, &empty.unwrap(), &[0; 3000]);
    // Data and holes, as lseek(2) reports them.
    let parts = |digest: &Digest| archive.parts(archive.locate(digest).unwrap()).unwrap();
    let many = parts(&digests[2]);
    let data = |at| archive.data_from(&many, at).unwrap();
    let first = data(0).unwrap();
    assert!(first.offset == 512 && data(511).unwrap() == first);
    assert!(data(size - 1).is_none());
    let near = data(512 + 1500 * 4096).unwrap();
    assert!(near.offset <= 512 + 1500 * 4096 && near.offset + near.length > 512 + 1500 * 4096);
    assert_eq!(archive.data_from(&parts(&empty.unwrap()), 0).unwrap(), None);
    assert_eq!(archive.data_from(&parts(&digests[0]), 11).unwrap(), None);
}

#[test]
fn only_the_frames_of_a_part_are_read() {
    let dense = noise(2, 4 << 20);
    let mut digest = None;
    let made = make(|writer| digest = Some(put(writer, "dense", &dense)));
    let archive = made.open();
    let parts = archive.parts(archive.locate(&digest.unwrap()).unwrap()).unwrap();
    let mut bytes = std::fs::read(made.path()).unwrap();
    bytes[100_000] ^= 1;
    std::fs::write(made.path(), bytes).unwrap();
    let mut room = [0; 100];
    assert_eq!(archive.read_part(&parts, 3 << 20, &mut room).unwrap(), 100);
    assert_eq!(room, dense[3 << 20..][..100]);
    let error = archive.read_part(&parts, 50_000, &mut room).unwrap_err();
    assert!(matches!(error, ArchiveError::Damaged { .. }), "{error}");
}
