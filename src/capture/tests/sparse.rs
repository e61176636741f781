//! Files with holes: what is stored is their data, and where the holes lie does not change what they are.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};

use super::{Place, entry, only, shows_holes};
use crate::model::{Content, DigestMethod, SnapshotKind, SnapshotRecord};
use crate::store::archive::Piece;

const LENGTH: usize = (16 << 20) + 77;
const SIZE: u64 = LENGTH as u64;
const PIECES: [(usize, &[u8]); 2] = [(300 << 10, b"in the middle"), (LENGTH - 3, b"end")];

fn make(place: &Place, name: &str) {
    let file = File::create(place.at(name)).unwrap();
    file.set_len(SIZE).unwrap();
    for (at, bytes) in PIECES {
        file.write_all_at(bytes, at as u64).unwrap();
    }
}

fn dense() -> Vec<u8> {
    let mut bytes = vec![0; LENGTH];
    for (at, piece) in PIECES {
        bytes[at..][..piece.len()].copy_from_slice(piece);
    }
    bytes
}

/// Returns true if the file system under the test keeps holes, and reports them rightly.
fn has_holes(place: &Place, name: &str) -> bool {
    if !shows_holes(place) {
        crate::skipped::skipped("what this system says of holes is not believed");
        return false;
    }
    let meta = fs::metadata(place.at(name)).unwrap();
    if meta.blocks() * 512 < meta.size() {
        return true;
    }
    crate::skipped::skipped("this file system keeps no holes");
    false
}

/// Reads the content from the store. Returns it with the number of its data bytes.
fn read(place: &Place, record: &SnapshotRecord, content: &Content) -> (Vec<u8>, usize) {
    let (mut bytes, mut data) = (Vec::new(), 0);
    place
        .store
        .blobs(&record.archives)
        .stream(&content.digest, &mut |piece| {
            match piece {
                Piece::Data(piece) => {
                    data += piece.len();
                    bytes.extend_from_slice(piece);
                }
                Piece::Hole(count) => bytes.resize(bytes.len() + usize::try_from(count).unwrap(), 0),
            }
            Ok(())
        })
        .unwrap();
    (bytes, data)
}

#[test]
fn holes_are_stored_as_holes() {
    let place = Place::new();
    make(&place, "file");
    let captured = place.take(SnapshotKind::Baseline);
    let content = *entry(only(&captured), "file").content().unwrap();
    assert_eq!(content.size, SIZE);
    let (bytes, data) = read(&place, &captured.record, &content);
    assert!(bytes == dense(), "every byte comes back");
    if !has_holes(&place, "file") {
        return;
    }
    assert_eq!(content.method, DigestMethod::Blocks);
    assert!(data < 64 << 10, "{data} bytes of data for sixteen");
}

#[test]
fn a_file_of_nothing_but_a_hole_comes_back_as_long_as_it_was() {
    let place = Place::new();
    File::create(place.at("hole")).unwrap().set_len(SIZE).unwrap();
    let captured = place.take(SnapshotKind::Baseline);
    let content = *entry(only(&captured), "hole").content().unwrap();
    let (bytes, data) = read(&place, &captured.record, &content);
    assert!(bytes.iter().all(|b| *b == 0));
    assert_eq!(bytes.len() as u64, SIZE);
    if has_holes(&place, "hole") {
        assert_eq!(data, 0);
    }
}

#[test]
fn filling_or_digging_holes_is_no_change() {
    let place = Place::with(&[("dense", "")]);
    make(&place, "sparse");
    if !has_holes(&place, "sparse") {
        return;
    }
    place.write("dense", dense());
    let before = place.look(None);
    let methods = ["sparse", "dense"].map(|at| entry(&before, at).content().unwrap().method);
    assert_eq!(methods, [DigestMethod::Blocks; 2]);
    // Each becomes what the other was.
    place.write("sparse", dense());
    fs::remove_file(place.at("dense")).unwrap();
    make(&place, "dense");
    let after = place.look(Some((&before, handle_fs::file_clock())));
    for at in ["sparse", "dense"] {
        assert_eq!(entry(&after, at).content(), entry(&before, at).content(), "{at}");
    }
    // Another byte is one, wherever it lies.
    for at in ["sparse", "dense"] {
        let file = fs::OpenOptions::new().write(true).open(place.at(at)).unwrap();
        file.write_all_at(b"x", 1).unwrap();
    }
    let changed = place.look(Some((&before, handle_fs::file_clock())));
    for at in ["sparse", "dense"] {
        assert_ne!(
            entry(&changed, at).content(),
            entry(&before, at).content(),
            "{at}"
        );
    }
}
