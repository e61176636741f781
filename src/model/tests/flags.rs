//! Inode flags in manifests.

use super::*;

/// Checks that inode flags survive, and that the encoding of a tree without them stays the same.
#[test]
fn flags_come_back_and_only_they_make_another_form() {
    let versions = |manifest: &Manifest| {
        let (list, chunks) = cut(manifest);
        (
            list.encode()[7],
            chunks.iter().map(|chunk| chunk.bytes[7]).collect::<Vec<_>>(),
        )
    };
    let mut manifest = sample();
    assert_eq!(versions(&manifest), (1, vec![1]));
    let without = cut(&manifest).1;
    manifest.root.flags = InodeFlags::APPEND.with(InodeFlags::NODUMP);
    assert_eq!(versions(&manifest), (2, vec![1]));
    assert_eq!(cut(&manifest).1, without);
    for entry in &mut open(&mut manifest, 1).entries {
        if matches!(entry.kind, EntryKind::File(_) | EntryKind::Directory) {
            entry.flags = InodeFlags::IMMUTABLE;
        }
    }
    assert_eq!(versions(&manifest), (2, vec![2]));
    assert_eq!(round_trip(&manifest).unwrap(), manifest);
}

#[test]
fn flags_that_cannot_be_are_refused() {
    let one = |entry: Entry| cut(&manifest(vec![directory("", vec![entry])])).1.remove(0).bytes;
    let mut flagged = file("a", 1);
    flagged.flags = InodeFlags::IMMUTABLE;
    let bytes = one(flagged.clone());
    assert!(Chunk::decode(&bytes).is_ok());
    // The number of the flags is the last but the number of gaps.
    for wrong in [0, 8, 9] {
        let mut bytes = bytes.clone();
        let at = bytes.len() - 2;
        bytes[at] = wrong;
        assert!(Chunk::decode(&bytes).is_err(), "{wrong} was taken");
    }
    flagged.kind = EntryKind::Fifo;
    assert!(Chunk::decode(&one(flagged)).is_err(), "a pipe has none");
}
