//! Members of an archive: unpacking a first archive with tar yields the right bytes at every path.

use std::fs;
use std::path::Path;

use super::{Place, entry};
use crate::capture::contents::Sink as _;
use crate::capture::pack::Packer;
use crate::capture::source::ContentSource;
use crate::model::{SnapshotId, SnapshotKind};
use crate::observer::Silent;
use handle_fs::Dir;
use handle_fs::remote::Transports;

fn unpack(archive: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    let plain = zstd::stream::decode_all(fs::File::open(archive).unwrap()).unwrap();
    let file = to.with_extension("tar");
    fs::write(&file, plain).unwrap();
    let mut tar = std::process::Command::new("tar");
    let status = tar.arg("-xf").arg(file).arg("-C").arg(to).status().unwrap();
    assert!(status.success());
}

#[test]
fn a_first_archive_unpacks_to_the_tree() {
    let place = Place::with(&[
        ("a", "same"),
        ("b", "same"),
        ("d/c", "other"),
        ("d/e/", ""),
        ("n", ""),
    ]);
    fs::hard_link(place.at("a"), place.at("d/linked")).unwrap();
    std::os::unix::fs::symlink("a", place.at("link")).unwrap();
    let captured = place.take(SnapshotKind::Baseline);
    let to = place.base.join("unpacked");
    unpack(&place.store.layout().archive(&captured.record.id.archive()), &to);
    for (at, _) in super::only(&captured).entries() {
        let (old, new) = (at.on_host(&place.root), at.on_host(&to.join("project")));
        let kind = fs::symlink_metadata(&old).unwrap().file_type();
        assert_eq!(fs::symlink_metadata(&new).unwrap().file_type(), kind, "{at:?}");
        if kind.is_file() {
            assert_eq!(fs::read(&new).unwrap(), fs::read(&old).unwrap(), "{at:?}");
        }
    }
}

/// Passes a file with this content to the packer, as a capture does.
fn pack(place: &Place, packer: &mut Packer<'_>, name: &str, content: &str) {
    place.write(name, content);
    let manifest = place.look(None);
    let (file, stat) = Dir::open(&Transports::default(), &place.root)
        .unwrap()
        .file(name.as_ref())
        .unwrap();
    let mut source = ContentSource::new(file, &stat, None).unwrap();
    let done = packer.file(&super::path(name), entry(&manifest, name), &mut source);
    assert!(done.is_ok());
}

#[test]
fn a_file_that_moved_leaves_no_link_to_what_it_was() {
    // `y` is read twice: first with its own content, then, because it moved, with that of `x`. `z` has what `y` had.
    let place = Place::new();
    let draft = place.store.draft(SnapshotId::new([9; 12])).unwrap();
    let nothing = place.store.blobs(&[]);
    let mut packer = Packer::new(&draft, draft.id().archive(), &nothing, &Silent);
    packer.mount("project", None);
    for (name, content) in [("x", "new"), ("y", "old"), ("y", "new"), ("z", "old")] {
        pack(&place, &mut packer, name, content);
    }
    packer.finish().unwrap();
    let to = place.base.join("unpacked");
    unpack(&place.store.layout().archive(&draft.id().archive()), &to);
    for (name, content) in [("x", "new"), ("y", "new"), ("z", "old")] {
        let found = fs::read_to_string(to.join("project").join(name)).unwrap();
        assert_eq!(found, content, "{name}");
    }
}

/// Returns bytes that cannot be compressed.
fn noise(seed: u8, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    let mut reader = blake3::Hasher::new().update(&[seed]).finalize_xof();
    reader.fill(&mut bytes);
    bytes
}

#[test]
fn large_content_is_stored_once_whatever_its_size_suggests() {
    const LARGE: usize = 5 << 20;
    let place = Place::new();
    // The same twice, another of the same size, and one that is alone with its size.
    place.write("a", noise(1, LARGE));
    place.write("b", noise(1, LARGE));
    place.write("c", noise(2, LARGE));
    place.write("d", noise(3, LARGE + 1));
    let first = place.take(SnapshotKind::Baseline).record;
    let size = |record: &crate::model::SnapshotRecord| {
        let mut own = record.archives.iter();
        own.find(|archive| archive.id == record.id.archive())
            .map_or(0, |archive| archive.size)
    };
    let large = LARGE as u64;
    assert!(
        (3 * large..3 * large + (64 << 10)).contains(&size(&first)),
        "{}",
        size(&first)
    );
    // What an older archive holds is not stored again either, and what only has the size of it is.
    place.rest();
    place.write("e", noise(2, LARGE));
    place.write("f", noise(4, LARGE));
    let second = place.take(SnapshotKind::Closing);
    assert!(
        (large..large + (64 << 10)).contains(&size(&second.record)),
        "{}",
        size(&second.record)
    );
    let all: Vec<_> = super::only(&second)
        .entries()
        .filter_map(|(_, entry)| entry.content().copied())
        .collect();
    crate::capture::read_back(&place.store, &second.record, all, &Silent).unwrap();
}
