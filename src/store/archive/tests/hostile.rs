//! Archives that no writer makes: valid in form, with every digest right, and with false content.

use super::super::frame::pack;
use super::super::{header, index, seek};
use super::*;

/// Puts an archive together from decompressed frames, the index frame last.
pub(super) fn craft(contents: &[Vec<u8>]) -> (tempfile::TempDir, PathBuf) {
    let frames: Vec<Vec<u8>> = contents
        .iter()
        .map(|content| pack(content, 3).unwrap().bytes)
        .collect();
    let sizes: Vec<seek::Sizes> = frames
        .iter()
        .zip(contents)
        .map(|(frame, content)| seek::Sizes {
            packed: frame.len() as u32,
            raw: content.len() as u32,
        })
        .collect();
    place(&[frames.concat(), seek::encode(&sizes).unwrap()].concat())
}

fn place(bytes: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let directory = crate::workplace::scratch();
    let place = directory.path().join("archive.tar.zst");
    std::fs::write(&place, bytes).unwrap();
    (directory, place)
}

/// The index frame's content for `frames` and blobs written as they are, sorted or not.
pub(super) fn index_of(frames: &[Vec<u8>], blobs: &[Blob]) -> Vec<u8> {
    let digests: Vec<Digest> = frames
        .iter()
        .map(|frame| pack(frame, 3).unwrap().digest)
        .collect();
    let single = |blob: &Blob| index::encode(&[], &[(blob.digest, *blob)].into()).unwrap()[532..589].to_vec();
    let body: Vec<u8> = blobs.iter().flat_map(single).collect();
    let mut head = index::encode(&digests, &Default::default()).unwrap();
    head.truncate(512 + 20 + digests.len() * 32);
    head[524..532].copy_from_slice(&(blobs.len() as u64).to_le_bytes());
    let size = (head.len() - 512 + body.len()) as u64;
    let block = header::Head::internal(index::path().as_bytes(), size)
        .encode()
        .unwrap();
    let padding = vec![0; padding(size) as usize + 1024];
    [block, head[512..].to_vec(), body, padding].concat()
}

fn blob(digest: u8, stored: u64) -> Blob {
    let digest = Digest([digest; 32]);
    Blob {
        digest,
        kind: BlobKind::Content,
        frame: 0,
        offset: 512,
        stored,
        logical: stored,
    }
}

/// A frame with one file of 600 bytes.
fn frame() -> Vec<u8> {
    let mut content = header::Head::internal(b"m/f", 600).encode().unwrap();
    content.resize(512 + 1024, b'x');
    content
}

fn opened(contents: &[Vec<u8>]) -> Result<Vec<u8>, ArchiveError> {
    let (_directory, place) = craft(contents);
    let archive = Archive::open(&place, None)?;
    let mut all = Vec::new();
    for blob in archive.blobs() {
        all.extend(archive.bytes(blob, 1 << 20)?);
    }
    Ok(all)
}

fn index_error(result: Result<Vec<u8>, ArchiveError>) -> &'static str {
    match result {
        Err(ArchiveError::Damaged {
            what: Damage::Index(why),
            ..
        }) => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_index_that_lies_about_blobs_is_refused() {
    let frames = [frame()];
    let with = |blobs: &[Blob]| opened(&[frame(), index_of(&frames, blobs)]);
    assert_eq!(with(&[blob(1, 600), blob(2, 1)]).unwrap().len(), 601);
    let good = blob(1, 600);
    let lies = [
        Blob { frame: 1, ..good },
        Blob {
            frame: u32::MAX,
            ..good
        },
        Blob { offset: 1536, ..good },
        Blob {
            offset: u32::MAX,
            ..good
        },
        Blob {
            stored: 1025,
            logical: 1025,
            ..good
        },
        Blob {
            stored: u64::MAX,
            logical: u64::MAX,
            ..good
        },
        Blob {
            stored: 0,
            logical: 0,
            ..good
        },
        Blob { logical: 601, ..good },
        Blob {
            kind: BlobKind::Sparse,
            stored: 511,
            ..good
        },
        Blob {
            kind: BlobKind::Sparse,
            logical: 1 << 63,
            ..good
        },
        Blob {
            kind: BlobKind::Sparse,
            logical: 0,
            ..good
        },
    ];
    for lie in lies {
        index_error(with(&[lie]));
    }
    for order in [[2, 1], [1, 1]] {
        let why = index_error(with(&order.map(|digest| blob(digest, 1))));
        assert_eq!(why, "its blobs are out of order or twice there");
    }
}

#[test]
fn an_index_frame_of_another_form_is_refused() {
    let good = index_of(&[frame()], &[blob(1, 600)]);
    let changed = |at: usize, byte: u8| {
        let mut content = good.clone();
        content[at] = byte;
        opened(&[frame(), content])
    };
    assert!(changed(0, b'.').is_ok());
    assert_eq!(
        index_error(changed(0, b'/')),
        "its header does not have the checksum it says"
    );
    assert_eq!(index_error(changed(512, b'X')), "it does not begin as an index");
    assert_eq!(index_error(changed(519, 0)), "its version is 0");
    assert!(matches!(
        changed(519, 4),
        Err(ArchiveError::Newer {
            found: 4,
            known: 3,
            ..
        })
    ));
    assert_eq!(
        index_error(changed(520, 2)),
        "its number of frames is not that of the seek table"
    );
    assert_eq!(
        index_error(changed(524, 2)),
        "its length is not that of its blobs"
    );
    assert_eq!(
        index_error(changed(531, 255)),
        "its length is not that of its blobs"
    );
    assert_eq!(
        index_error(changed(532 + 32 + 32, 7)),
        "a blob has an unknown kind"
    );
    let tail = "more stands behind it than the end of the tar stream";
    assert_eq!(index_error(changed(good.len() - 1, 1)), tail);
    assert_eq!(
        index_error(opened(&[frame(), [good.as_slice(), &[0; 512]].concat()])),
        tail
    );
    assert_eq!(
        index_error(opened(&[frame(), good[..good.len() - 512].to_vec()])),
        tail
    );
    assert_eq!(index_error(opened(&[frame(), good[..700].to_vec()])), tail);
    assert_eq!(
        index_error(opened(&[frame(), frame()])),
        "another member stands in its place"
    );
    assert_eq!(index_error(opened(&[frame(), vec![0; 100]])), "it ends too early");
    let other = index_of(&[frame(), frame()], &[]);
    assert_eq!(
        index_error(opened(&[frame(), other])),
        "its number of frames is not that of the seek table"
    );
}

#[test]
fn a_small_file_cannot_make_us_reserve_much() {
    // An index of 300 MiB of zeros in a file of some KiB.
    let bomb = opened(&[frame(), vec![0; 300 << 20]]);
    assert_eq!(index_error(bomb), "it is compressed more than an index can be");
    // A seek table that promises what the frame does not say of itself.
    let index = index_of(&[], &[]);
    let packed = pack(&index, 3).unwrap().bytes;
    for raw in [index.len() as u32 + 1, 60_000] {
        let table = seek::encode(&[seek::Sizes {
            packed: packed.len() as u32,
            raw,
        }])
        .unwrap();
        let (_directory, place) = place(&[packed.as_slice(), &table].concat());
        let why = error(&place).to_string();
        assert!(
            why.contains("its content size is not that of the seek table"),
            "{why}"
        );
    }
    // Millions of frames in a file that holds none of them.
    let mut table = seek::encode(&vec![seek::Sizes { packed: 12, raw: 1 }; 1000]).unwrap();
    let (_directory, short) = place(&table);
    assert!(matches!(
        error(&short),
        ArchiveError::Damaged {
            what: Damage::SeekTable(_),
            ..
        }
    ));
    let at = table.len() - 9;
    table[at..at + 4].copy_from_slice(&u32::MAX.to_le_bytes());
    let (_directory, long) = place(&table);
    assert!(matches!(
        error(&long),
        ArchiveError::Damaged {
            what: Damage::SeekTable(_),
            ..
        }
    ));
}

#[test]
fn frames_that_are_not_one_frame_are_refused() {
    let content = frame();
    let two = [
        pack(&content[..512], 3).unwrap().bytes,
        pack(&content[512..], 3).unwrap().bytes,
    ]
    .concat();
    let plain = zstd::bulk::compress(&content, 3).unwrap();
    let unsized_frame = zstd::stream::encode_all(content.as_slice(), 3).unwrap();
    for (number, packed) in [two, plain, unsized_frame].into_iter().enumerate() {
        let index = index::encode(
            &[Digest::of(&packed)],
            &[(blob(1, 600).digest, blob(1, 600))].into(),
        )
        .unwrap();
        let last = pack(&index, 3).unwrap().bytes;
        let sizes = [
            seek::Sizes {
                packed: packed.len() as u32,
                raw: content.len() as u32,
            },
            seek::Sizes {
                packed: last.len() as u32,
                raw: index.len() as u32,
            },
        ];
        let (_directory, place) = place(&[packed, last, seek::encode(&sizes).unwrap()].concat());
        let archive = Archive::open(&place, None).unwrap();
        let failed = archive.bytes(&archive.blobs()[0], 1000);
        let frame = matches!(
            failed,
            Err(ArchiveError::Damaged {
                what: Damage::Frame { frame: 0, .. },
                ..
            })
        );
        assert!(frame, "case {number}");
    }
}

#[test]
fn sparse_maps_that_lie_are_refused() {
    let lies: [(&str, u64); 15] = [
        ("1\n0\n600\n", 600),
        ("1\n0\n512\n", 512),
        ("2\n0\n500\n499\n12\n", 1000),
        ("2\n600\n500\n0\n12\n", 2000),
        ("1\n1\n512\n", 512),
        ("2\n0\n512\n512\n0\n", 513),
        ("2\n0\n0\n0\n512\n", 513),
        ("1\n18446744073709551615\n512\n", 5000),
        ("1\n0\n18446744073709551616\n", 5000),
        ("1\n0\n18446744073709551615\n", 5000),
        ("18446744073709551615\n0\n512\n", 5000),
        ("\n0\n512\n", 5000),
        ("-1\n0\n512\n", 5000),
        ("", 5000),
        ("1\n0\n512\nx", 5000),
    ];
    let read = |map: &str, logical: u64| {
        let mut content = frame();
        content[512..].fill(0);
        content[512..512 + map.len()].copy_from_slice(map.as_bytes());
        let blob = Blob {
            kind: BlobKind::Sparse,
            logical,
            ..blob(1, 1024)
        };
        opened(&[content.clone(), index_of(&[content], &[blob])])
    };
    assert_eq!(read("2\n10\n512\n5000\n0\n", 5000).unwrap(), vec![0; 5000]);
    assert_eq!(read("1\n0\n512\n", 512 + 10).unwrap(), vec![0; 522]);
    for (number, (map, logical)) in lies.into_iter().enumerate() {
        // The second is honest: it must not be among the refused by chance.
        let refused = matches!(
            read(map, logical),
            Err(ArchiveError::Damaged {
                what: Damage::Blob { .. },
                ..
            })
        );
        assert_eq!(refused, number != 1, "{map:?}");
    }
    // A map as long as the blob, and one that never ends.
    let endless = "1\n".repeat(512);
    assert!(read(&endless, 5000).is_err());
}
