//! Encodings come back as they went in; hostile ones are refused.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;

mod flags;
mod forgotten;

fn name(text: &str) -> Name {
    Name::new(text.as_bytes()).unwrap()
}

fn file(text: &str, ino: u64) -> Entry {
    let mut entry = plain(
        text,
        EntryKind::File(Content {
            size: ino,
            digest: Digest::of(text.as_bytes()),
            method: DigestMethod::Plain,
        }),
    );
    entry.ino = ino;
    entry
}

fn plain(text: &str, kind: EntryKind) -> Entry {
    Entry {
        name: name(text),
        kind,
        mode: 0o644,
        uid: 1000,
        gid: 1000,
        mtime: Time { sec: -5, nsec: 7 },
        ctime: Time {
            sec: 1_700_000_000,
            nsec: 999_999_999,
        },
        ino: 77,
        flags: InodeFlags::default(),
        xattrs: Vec::new(),
        link: None,
        nlink: 1,
        unstable: false,
    }
}

fn directory(path: &str, entries: Vec<Entry>) -> Directory {
    let path = RelPath::new(path.as_bytes()).unwrap();
    Directory {
        path,
        listing: Listing::Proven,
        all_named: true,
        entries,
        gaps: Vec::new(),
    }
}

fn manifest(directories: Vec<Directory>) -> Manifest {
    Manifest {
        root: plain("root", EntryKind::Directory),
        directories: directories.into_iter().map(Arc::new).collect(),
    }
}

/// The directory, to be changed.
fn open(manifest: &mut Manifest, at: usize) -> &mut Directory {
    Arc::make_mut(&mut manifest.directories[at])
}

/// Cuts a manifest into chunks.
fn cut(manifest: &Manifest) -> (ManifestList, Vec<Chunk>) {
    let chunks: Vec<Chunk> = runs(manifest).iter().map(|run| run.encode(manifest)).collect();
    let list = ManifestList {
        root: manifest.root.clone(),
        chunks: chunks.iter().map(|chunk| chunk.digest).collect(),
    };
    (list, chunks)
}

fn round_trip(manifest: &Manifest) -> Result<Manifest, DecodeError> {
    let (list, chunks) = cut(manifest);
    let pieces = chunks
        .iter()
        .map(|chunk| Chunk::decode(&chunk.bytes))
        .collect::<Result<Vec<_>, _>>()?;
    ManifestList::decode(&list.encode())?.assemble(pieces)
}

fn sample() -> Manifest {
    let mut special = file("z-linked", 9);
    special.xattrs = vec![Xattr {
        name: (*b"user.x").into(),
        value: (*b"a\nb\0c").into(),
    }];
    special.nlink = 2;
    special.unstable = true;
    let mut other = special.clone();
    other.name = name("again");
    other.link = Some(RelPath::new(b"z-linked").unwrap());
    let mut top = directory(
        "",
        vec![
            plain("dev", EntryKind::BlockDevice(8, 1)),
            plain("pipe", EntryKind::Fifo),
            plain("sock", EntryKind::Socket),
            plain("src", EntryKind::Directory),
            plain("to", EntryKind::Symlink((*b"/x//y/../z/").into())),
            special,
        ],
    );
    top.gaps = vec![Gap {
        name: name("secret"),
        reason: GapReason::Unreadable("permission denied".into()),
    }];
    manifest(vec![top, directory("src", vec![other, file("main.rs", 4)])])
}

#[test]
fn a_manifest_comes_back_as_it_went_in() {
    assert_eq!(round_trip(&sample()).unwrap(), sample());
}

#[test]
fn large_directories_are_cut_and_joined() {
    let entries: Vec<Entry> = (0..20_000).map(|n| file(&format!("f{n:06}"), n)).collect();
    let top = directory("", vec![plain("d", EntryKind::Directory)]);
    let manifest = manifest(vec![top, directory("d", entries)]);
    let (_, chunks) = cut(&manifest);
    assert!(chunks.len() > 5, "{} chunks", chunks.len());
    assert_eq!(round_trip(&manifest).unwrap(), manifest);
}

#[test]
fn names_out_of_order_between_the_parts_of_a_directory_are_refused() {
    let entries = |from: u64, to: u64| (from..to).map(|n| file(&format!("f{n:06}"), n));
    for broken in [
        entries(5000, 10_000).chain(entries(0, 5000)).collect::<Vec<_>>(),
        entries(0, 5000).chain(entries(4999, 10_000)).collect(),
    ] {
        let top = directory("", vec![plain("d", EntryKind::Directory)]);
        let manifest = manifest(vec![top, directory("d", broken)]);
        assert!(round_trip(&manifest).is_err());
    }
}

#[test]
fn a_changed_file_changes_few_chunks() {
    let tree = |changed: u64| {
        let mut directories = vec![directory(
            "",
            (0..500)
                .map(|n| plain(&format!("d{n:04}"), EntryKind::Directory))
                .collect(),
        )];
        for n in 0..500 {
            let entries = (0..20)
                .map(|k| file(&format!("f{k:02}"), if n == 250 && k == 3 { changed } else { k }))
                .collect();
            directories.push(directory(&format!("d{n:04}"), entries));
        }
        manifest(directories)
    };
    let (before, _) = cut(&tree(3));
    let (after, _) = cut(&tree(999));
    let new = after
        .chunks
        .iter()
        .filter(|digest| !before.chunks.contains(digest))
        .count();
    assert_eq!(new, 1);
    assert!(before.chunks.len() > 8, "{} chunks", before.chunks.len());
}

#[test]
fn every_flipped_byte_is_refused_or_harmless() {
    let (list, chunks) = cut(&sample());
    let whole = list.encode();
    for at in 0..whole.len() {
        assert!(
            ManifestList::decode(&whole[..at]).is_err(),
            "a list of {at} bytes was taken"
        );
    }
    for bytes in [whole, chunks[0].bytes.clone()] {
        for at in 0..bytes.len() {
            for bit in [1, 0x80] {
                let mut bad = bytes.clone();
                bad[at] ^= bit;
                // Whatever comes out must not panic, and a cut input must not be taken as whole.
                let _ = Chunk::decode(&bad).map(|pieces| {
                    ManifestList::decode(&list.encode())
                        .unwrap()
                        .assemble(vec![pieces])
                });
                let _ = ManifestList::decode(&bad);
            }
        }
    }
}

#[test]
fn hostile_manifests_are_refused() {
    type Break = (&'static str, fn(&mut Manifest));
    let cases: [Break; 7] = [
        ("twice the same name", |m| {
            open(m, 1).entries[1] = open(m, 1).entries[0].clone()
        }),
        ("out of order", |m| open(m, 1).entries.reverse()),
        ("a directory twice", |m| {
            let again = m.directories[1].clone();
            m.directories.push(again);
        }),
        ("a file as parent", |m| {
            open(m, 1).path = RelPath::new(b"pipe").unwrap()
        }),
        ("a parent that is not there", |m| {
            open(m, 1).path = RelPath::new(b"zzz/y").unwrap()
        }),
        ("a link to nothing", |m| {
            open(m, 1).entries[0].link = Some(RelPath::new(b"gone").unwrap())
        }),
        ("both held and missing", |m| open(m, 0).gaps[0].name = name("src")),
    ];
    for (what, broken) in cases {
        let mut manifest = sample();
        broken(&mut manifest);
        assert!(round_trip(&manifest).is_err(), "{what} was taken");
    }
}

#[test]
fn newer_versions_are_named() {
    let mut bytes = cut(&sample()).0.encode();
    bytes[7] = 9;
    assert_eq!(ManifestList::decode(&bytes), Err(DecodeError::Newer(9)));
}

#[test]
fn paths_are_ordered_by_parts() {
    let sorted = ["", "a", "a/b", "a/b/c", "a-b", "a.b", "b"].map(|p| RelPath::new(p.as_bytes()).unwrap());
    assert!(sorted.is_sorted());
    let ancestors: Vec<RelPath> = RelPath::new(b"a/b/c").unwrap().ancestors().collect();
    assert_eq!(
        ancestors,
        ["", "a", "a/b"].map(|p| RelPath::new(p.as_bytes()).unwrap())
    );
    assert_eq!(RelPath::root().ancestors().count(), 0);
    for bad in ["/a", "a//b", "a/", "./a", "a/..", "..", "a/./b", "a\0b"] {
        assert!(RelPath::new(bad.as_bytes()).is_err(), "{bad:?}");
    }
}

#[test]
fn ids_refuse_what_could_name_another_file() {
    let id = InstanceId::new(
        [1, 2, 3, 4, 5, 6, 7, 255],
        &label_from("Mein Projekt!".as_bytes()),
    );
    assert_eq!(id.label(), "mein-projekt");
    assert_eq!(InstanceId::parse(id.as_str()).unwrap(), id);
    for bad in [
        "",
        "rc-",
        "rc-12345678",
        "rc-12345678-",
        "rc-12345678-../x",
        "rc-1234567-a",
        "rc-1234567i-a",
        "rc-12345678-A",
    ] {
        assert!(InstanceId::parse(bad).is_err(), "{bad:?}");
    }
    assert!(SnapshotId::parse("sn-../../../etc").is_err());
    assert_eq!(label_from(b"///"), "dir");
    assert_eq!(label_from(&[b'x'; 100]).len(), 40);
    assert_eq!(SnapshotId::new([0; 12]).archive().as_str(), "ar-000000000000");
}

#[test]
fn bytes_that_are_no_text_survive_json() {
    for bytes in [&b"plain"[..], b"caf\xc3\xa9", b"\xff\xfe/x", b""] {
        let json = serde_json::to_string(&ByteString(bytes.to_vec())).unwrap();
        assert_eq!(
            serde_json::from_str::<ByteString>(&json).unwrap().0,
            bytes,
            "{json}"
        );
    }
}

#[test]
fn times_are_written_with_nine_digits() {
    assert_eq!(
        Time { sec: 0, nsec: 5 }.rfc3339(),
        "1970-01-01T00:00:00.000000005Z"
    );
    assert_eq!(
        Time::parse_rfc3339("1969-12-31T23:59:59.5Z"),
        Some(Time {
            sec: -1,
            nsec: 500_000_000
        })
    );
    assert_eq!(
        Time {
            sec: -1,
            nsec: 500_000_000
        }
        .rfc3339(),
        "1969-12-31T23:59:59.500000000Z"
    );
}

#[test]
fn holes_do_not_show_in_a_digest_by_blocks() {
    let mut data = vec![0_u8; 100_000];
    data[5000] = 1;
    data[99_999] = 2;
    let mut whole = Hasher::new(DigestMethod::Blocks, data.len() as u64);
    whole.update(&data);
    let mut holes = Hasher::new(DigestMethod::Blocks, data.len() as u64);
    holes.skip_zeros(4500);
    holes.update(&data[4500..6001]);
    holes.skip_zeros(99_999 - 6001);
    holes.update(&data[99_999..]);
    assert_eq!(whole.finish(), holes.finish());
    let mut plain = Hasher::new(DigestMethod::Plain, data.len() as u64);
    plain.skip_zeros(5000);
    plain.update(&data[5000..]);
    assert_eq!(plain.finish().digest, Digest::of(&data));
}

#[test]
fn a_digest_by_blocks_is_that_of_the_format() {
    // Longer than what is hashed at once, with blocks of zeros, and a short one in the end.
    let byte = |at: usize| {
        if (at / 50_000).is_multiple_of(2) {
            0
        } else {
            b"holes no"[at % 8]
        }
    };
    let data: Vec<u8> = (0..700_001).map(byte).collect();
    let mut all = (data.len() as u64).to_le_bytes().to_vec();
    for (number, block) in (0_u64..).zip(data.chunks(4096)) {
        if block.iter().any(|byte| *byte != 0) {
            all.extend(number.to_le_bytes());
            all.extend(block);
        }
    }
    let context = "jackin-recovery 2026-11 file content by non-zero 4096-byte blocks v1";
    let expected = *blake3::Hasher::new_derive_key(context)
        .update(&all)
        .finalize()
        .as_bytes();
    for length in [1, 4095, 4096, 4097, 131_072, 262_145, data.len()] {
        let mut hasher = Hasher::new(DigestMethod::Blocks, data.len() as u64);
        data.chunks(length).for_each(|piece| hasher.update(piece));
        assert_eq!(hasher.finish().digest.0, expected, "pieces of {length}");
    }
}

#[test]
fn the_size_alone_decides_how_content_is_digested() {
    assert_eq!(DigestMethod::of_size(0), DigestMethod::Plain);
    assert_eq!(DigestMethod::of_size((16 << 20) - 1), DigestMethod::Plain);
    assert_eq!(DigestMethod::of_size(16 << 20), DigestMethod::Blocks);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn decoding_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let mut chunk = b"JKRCHNK\x01".to_vec();
        chunk.extend(&bytes);
        let _ = Chunk::decode(&chunk);
        let mut list = b"JKRLIST\x02".to_vec();
        list.extend(&bytes);
        let _ = ManifestList::decode(&list);
    }

    #[test]
    fn sparse_digests_do_not_depend_on_pieces(
        cuts in prop::collection::vec(1_usize..9000, 0..6),
        ones in prop::collection::vec(0_usize..30_000, 0..5),
    ) {
        let mut data = vec![0_u8; 30_000];
        for at in ones { data[at] = 1; }
        let mut whole = Hasher::new(DigestMethod::Blocks, 30_000);
        whole.update(&data);
        let mut pieces = Hasher::new(DigestMethod::Blocks, 30_000);
        let mut rest = &data[..];
        for cut in cuts {
            let (head, tail) = rest.split_at(cut.min(rest.len()));
            if head.iter().all(|b| *b == 0) { pieces.skip_zeros(head.len() as u64) } else { pieces.update(head) }
            rest = tail;
        }
        pieces.update(rest);
        prop_assert_eq!(whole.finish(), pieces.finish());
    }
}

#[test]
fn roots_that_mounts_show_at_two_paths_have_a_common_form() {
    let table = b"29 1 8:1 / / rw - ext4 /dev/sda1 rw\n30 29 8:1 /srv/a /mnt/b rw - ext4 /dev/sda1 rw\n\
        31 29 8:1 /srv/a/one /srv/a/two rw - ext4 /dev/sda1 rw\n32 29 0:41 / /srv/a/disk rw - ext4 /dev/sdb rw\n";
    let locations = handle_fs::Locations::by(table);
    let below = |own: &str, other: &str| {
        let own = Coverage::new("own", std::path::Path::new(own));
        let other = Coverage::new("other", std::path::Path::new(other));
        let (own, other) = own.common(&other, &locations)?;
        Some(other.strip_prefix(own).ok()?.to_str().unwrap().to_owned())
    };
    for (own, other, expected) in [
        ("/srv/a", "/mnt/b", Some("")),
        ("/srv", "/mnt/b/x", Some("a/x")),
        ("/srv/a", "/srv/a/x", Some("x")),
        // It shows another part than its path says.
        ("/srv/a", "/srv/a/two/x", Some("one/x")),
        // An agent may go there, though no snapshot does.
        ("/srv/a", "/srv/a/disk/x", Some("disk/x")),
        ("/srv/c", "/mnt/b", None),
        ("ssh://host/srv/a", "/mnt/b", None),
    ] {
        assert_eq!(below(own, other).as_deref(), expected, "{own} {other}");
    }
    // An agent at the other root goes through a mount below it.
    let is_reached = |own: &str, other: &str| {
        let [own, other] = [own, other].map(|root| Coverage::new("root", std::path::Path::new(root)));
        own.reached_from(&other, &locations).is_some()
    };
    assert!(is_reached("/srv/a/x", "/mnt") && is_reached("/srv", "/mnt"));
    assert!(!is_reached("/mnt", "/srv") && !is_reached("/srv/b", "/mnt"));
}
