//! Archives of random members: what goes in comes out, by the index and by the headers.

use proptest::prelude::*;

use super::*;

#[derive(Clone, Debug)]
enum What {
    File(usize),
    Sparse(Vec<(u64, u64)>, u64),
    Directory,
    Symlink(Vec<u8>),
    Fifo,
    Link,
}

#[derive(Clone, Debug)]
struct Given {
    path: Vec<Vec<u8>>,
    what: What,
    mode: u32,
    owner: (u32, u32),
    time: (i64, u32),
    xattrs: Vec<(Vec<u8>, Vec<u8>)>,
}

fn part() -> impl Strategy<Value = Vec<u8>> {
    let byte = any::<u8>().prop_map(|byte| {
        if matches!(byte, 0 | b'/' | b'.') {
            b'_'
        } else {
            byte
        }
    });
    prop_oneof![3 => prop::collection::vec(byte.clone(), 1..12), 1 => prop::collection::vec(byte, 90..255)]
}

fn what() -> impl Strategy<Value = What> {
    prop_oneof![
        3 => (0_usize..5000).prop_map(What::File),
        1 => ((1_usize << 20) - 2000..(1 << 20) + 2000).prop_map(What::File),
        1 => (prop::collection::vec((0_u64..3000, 1_u64..3000), 0..5), 1_u64..2000)
            .prop_map(|(segments, tail)| What::Sparse(segments, tail)),
        1 => Just(What::Directory),
        1 => prop::collection::vec(1_u8..=255, 1..200).prop_map(What::Symlink),
        1 => Just(What::Fifo),
        1 => Just(What::Link),
    ]
}

fn given() -> impl Strategy<Value = Given> {
    (
        prop::collection::vec(part(), 1..4),
        what(),
        0_u32..0o10000,
        any::<(u32, u32)>(),
        (any::<i64>(), 0_u32..1_000_000_000),
        prop::collection::btree_map(prop::collection::vec(1_u8..=255, 1..20), any::<Vec<u8>>(), 0..3),
    )
        .prop_map(|(path, what, mode, owner, time, xattrs)| Given {
            path,
            what,
            mode,
            owner,
            time,
            xattrs: xattrs.into_iter().collect(),
        })
}

fn meta(given: &Given, kind: EntryKind) -> Entry {
    let xattrs = given.xattrs.iter().map(|(name, value)| Xattr {
        name: name[..].into(),
        value: value[..].into(),
    });
    Entry {
        mode: given.mode,
        uid: given.owner.0,
        gid: given.owner.1,
        mtime: Time {
            sec: given.time.0,
            nsec: given.time.1,
        },
        flags: InodeFlags::default(),
        xattrs: xattrs.collect(),
        ..entry(kind)
    }
}

/// Writes one member; returns its expected line in the listing, and the content under its digest.
fn write(
    writer: &mut Writer<Vec<u8>>,
    number: usize,
    given: &Given,
    first: &mut Option<RelPath>,
) -> (Member, Option<(Digest, Vec<u8>)>) {
    let name = path(given.path.join(&b'/'));
    let kind = |size| {
        EntryKind::File(Content {
            size,
            digest: Digest([0; 32]),
            method: DigestMethod::Plain,
        })
    };
    let below = |name: &RelPath| path([b"m/".as_slice(), name.as_bytes()].concat());
    let digest = Digest::of(&number.to_le_bytes());
    let mut content = None;
    let mut size = 0;
    let (listed, entry) = match &given.what {
        What::File(length) => {
            let bytes = noise(number as u64 + 1, *length);
            size = bytes.len() as u64;
            let entry = meta(given, kind(size));
            let stored = writer
                .file("m", &name, &entry, None, &mut bytes.as_slice())
                .unwrap();
            writer.index(stored, digest);
            content = (size > 0).then_some((digest, bytes));
            *first = Some(first.take().unwrap_or_else(|| name.clone()));
            (MemberKind::File, entry)
        }
        What::Sparse(gaps, tail) => {
            let mut segments = Vec::new();
            for (gap, length) in gaps {
                segments.push(segment(size + gap, *length));
                size += gap + length;
            }
            size += tail;
            let entry = meta(given, kind(size));
            let data = segment_data(&segments);
            let stored = writer
                .file("m", &name, &entry, Some(&segments), &mut data.as_slice())
                .unwrap();
            writer.index(stored, digest);
            content = Some((digest, sparse_content(size, &segments)));
            (MemberKind::Sparse, entry)
        }
        What::Link if first.is_some() => {
            let to = first.clone().unwrap();
            let entry = meta(given, kind(7));
            writer.hard_link("m", &name, &entry, ("m", &to)).unwrap();
            (MemberKind::HardLink(below(&to)), entry)
        }
        other => {
            let (listed, kind) = match other {
                What::Directory => (MemberKind::Directory, EntryKind::Directory),
                What::Symlink(target) => (
                    MemberKind::Symlink(target.clone()),
                    EntryKind::Symlink(target[..].into()),
                ),
                _ => (MemberKind::Fifo, EntryKind::Fifo),
            };
            let entry = meta(given, kind);
            writer.member("m", &name, &entry).unwrap();
            (listed, entry)
        }
    };
    let Entry {
        mode,
        uid,
        gid,
        mtime,
        xattrs,
        ..
    } = entry;
    (
        Member {
            path: below(&name),
            kind: listed,
            mode,
            uid,
            gid,
            mtime,
            size,
            xattrs,
        },
        content,
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn what_goes_in_comes_out(given in prop::collection::vec(given(), 0..12)) {
        let mut members = Vec::new();
        let mut contents = Vec::new();
        let made = make(|writer| {
            let mut first = None;
            for (number, given) in given.iter().enumerate() {
                let (member, content) = write(writer, number, given, &mut first);
                members.push(member);
                contents.extend(content);
            }
        });
        let archive = made.open();
        let mut found: Vec<Member> = archive.members().map(Result::unwrap).collect();
        let index = found.pop().unwrap();
        prop_assert_eq!(index.path.as_bytes(), b".jackin-recovery/index");
        prop_assert_eq!(found, members);
        prop_assert_eq!(archive.blobs().len(), contents.len());
        for (digest, content) in contents {
            prop_assert!(read(&archive, &digest) == content);
        }
        archive.check_file(&made.expect()).unwrap();
    }
}
