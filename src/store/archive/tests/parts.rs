//! PAX records, sparse maps and seek tables by themselves.

use proptest::prelude::*;

use super::super::{header, pax, seek, sparse};
use super::*;

#[test]
fn a_record_counts_its_own_digits() {
    for (length, wanted) in [
        (1, 7),
        (3, 9),
        (4, 11),
        (92, 99),
        (93, 101),
        (991, 999),
        (992, 1001),
    ] {
        let mut out = Vec::new();
        pax::put(&mut out, b"ab", &vec![b'v'; length]);
        assert_eq!(out.len(), wanted, "value of {length} bytes");
        assert_eq!(
            pax::records(&out).unwrap(),
            [(b"ab".as_slice(), vec![b'v'; length].as_slice())]
        );
    }
}

#[test]
fn malformed_records_are_refused() {
    let bad: [&[u8]; 12] = [
        b"x",
        b" a=b\n",
        b"0 a=b\n",
        b"3 a=b\n",
        b"5 a=b\n",
        b"7 a=b\n",
        b"6 a=bc",
        b"6 abc\n",
        b"-6 a=b\n",
        b"99999999999999999999999 a=b\n",
        b"18446744073709551615 a=b\n",
        b"6 a=b\n6 a=c\n",
    ];
    for bytes in bad {
        assert!(pax::records(bytes).is_err(), "{}", bytes.escape_ascii());
    }
    assert_eq!(pax::records(b"").unwrap(), []);
    assert_eq!(
        pax::records(b"6 a=b\n").unwrap(),
        [(b"a".as_slice(), b"b".as_slice())]
    );
}

#[test]
fn times_have_one_sign_and_nine_digits() {
    let text = |sec, nsec| pax::time_text(Time { sec, nsec });
    assert_eq!(text(5, 1), "5.000000001");
    assert_eq!(text(-5, 500_000_000), "-4.500000000");
    assert_eq!(text(-1, 999_999_999), "-0.000000001");
    assert_eq!(text(i64::MIN, 0), "-9223372036854775808.000000000");
    assert_eq!(pax::time(b"7"), Some(Time { sec: 7, nsec: 0 }));
    assert_eq!(
        pax::time(b"7.5"),
        Some(Time {
            sec: 7,
            nsec: 500_000_000
        })
    );
    assert_eq!(
        pax::time(b"-0.5"),
        Some(Time {
            sec: -1,
            nsec: 500_000_000
        })
    );
    for bad in [
        "",
        "-",
        ".5",
        "5.",
        "+5",
        "5.0000000001",
        "--5",
        "9223372036854775808",
        "1e3",
    ] {
        assert_eq!(pax::time(bad.as_bytes()), None, "{bad}");
    }
}

#[test]
fn a_file_of_more_than_8_gib_has_its_size_in_a_record() {
    let encode = |size| {
        let path = b"m/large";
        header::Head {
            path,
            ..header::Head::internal(path, size)
        }
        .encode()
        .unwrap()
    };
    assert_eq!(encode(0o77_777_777_777).len(), 512);
    let blocks = encode(0o100_000_000_000);
    assert_eq!(blocks.len(), 3 * 512);
    assert!(blocks[512..].starts_with(b"19 size=8589934592\n"));
    assert_eq!(
        header::decode(blocks[1024..].try_into().unwrap()).unwrap().size,
        0
    );
}

#[test]
fn a_shortened_path_never_looks_like_a_directory() {
    let long = [vec![b'a'; 99].as_slice(), b"/", &[b'b'; 200]].concat();
    let blocks = header::Head::internal(&long, 1).encode().unwrap();
    let fields = header::decode(blocks[blocks.len() - 512..].try_into().unwrap()).unwrap();
    assert_eq!(fields.path, vec![b'a'; 99]);
}

#[test]
fn a_header_that_was_touched_is_refused() {
    let block: [u8; 512] = header::Head::internal(b"m/f", 1)
        .encode()
        .unwrap()
        .try_into()
        .unwrap();
    assert!(header::decode(&block).is_ok());
    for at in 0..512 {
        let mut touched = block;
        touched[at] ^= 1;
        // The checksum field may be filled up in more than one way; the number it holds may not change.
        if let Ok(fields) = header::decode(&touched) {
            assert!(
                (148..156).contains(&at) && fields.path == b"m/f" && fields.size == 1,
                "byte {at}"
            );
        }
    }
}

#[test]
fn a_seek_table_that_lies_is_refused() {
    let sizes = [
        seek::Sizes {
            packed: 100,
            raw: 1000,
        },
        seek::Sizes { packed: 50, raw: 60 },
    ];
    let table = seek::encode(&sizes).unwrap();
    let file = 150 + table.len() as u64;
    let footer = |table: &[u8]| *table.last_chunk::<{ seek::FOOTER }>().unwrap();
    assert_eq!(seek::length(footer(&table), file), Ok(table.len() as u64));
    assert_eq!(seek::decode(&table, file).unwrap(), sizes);
    // Every bit of it matters.
    for bit in 0..table.len() * 8 {
        let mut bad = table.clone();
        bad[bit / 8] ^= 1 << (bit % 8);
        let taken = seek::length(footer(&bad), file).is_ok_and(|length| {
            assert!(length <= file);
            length == bad.len() as u64 && seek::decode(&bad, file).is_ok()
        });
        let raw = (12..16).contains(&(bit / 8)) || (20..24).contains(&(bit / 8));
        assert!(!taken || raw, "bit {bit}");
    }
    for sizes in [
        (0, 10),
        (100, 0),
        (11, 10),
        (1000, 10),
        (100, seek::MAX_FRAME + 1),
    ] {
        let sizes = seek::Sizes {
            packed: sizes.0,
            raw: sizes.1,
        };
        let table = seek::encode(&[sizes, seek::Sizes { packed: 50, raw: 60 }]).unwrap();
        assert!(
            seek::decode(&table, u64::from(sizes.packed) + 50 + table.len() as u64).is_err(),
            "{sizes:?}"
        );
    }
    let none = seek::encode(&[]).unwrap();
    assert!(seek::length(footer(&none), none.len() as u64).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn records_of_any_bytes_come_back(pairs in prop::collection::vec((any::<Vec<u8>>(), any::<Vec<u8>>()), 0..6)) {
        let mut out = Vec::new();
        let mut wanted: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
        for (name, value) in pairs {
            pax::put_xattr(&mut out, &name, &value);
            wanted.push((name, value));
        }
        let unique: std::collections::BTreeSet<_> = wanted.iter().map(|pair| &pair.0).collect();
        let found = pax::records(&out);
        prop_assert_eq!(found.is_ok(), unique.len() == wanted.len());
        if let Ok(found) = found {
            let found: Vec<_> = found
                .into_iter()
                .map(|(key, value)| (pax::xattr_name(key.strip_prefix(pax::XATTR).unwrap()), value.to_vec()))
                .collect();
            prop_assert_eq!(found, wanted);
        }
    }

    #[test]
    fn any_bytes_are_records_or_refused(bytes in any::<Vec<u8>>()) {
        let _ = (pax::records(&bytes), pax::time(&bytes));
    }

    #[test]
    fn times_come_back(sec in any::<i64>(), nsec in 0_u32..1_000_000_000) {
        let time = Time { sec, nsec };
        prop_assert_eq!(pax::time(pax::time_text(time).as_bytes()), Some(time));
    }

    #[test]
    fn a_map_holds_every_segment_in_whole_blocks(
        gaps in prop::collection::vec((0_u64..3000, prop_oneof![1_u64..3000, Just(512), Just(4096)]), 0..40),
        tail in 0_u64..3,
    ) {
        let mut at = 0;
        let mut segments = Vec::new();
        for (gap, length) in gaps {
            segments.push(Segment { offset: at + gap, length });
            at += gap + length;
        }
        let map = sparse::Map::new(&segments, at + tail).unwrap();
        let text: String = map.numbers().map(|number| format!("{number}\n")).collect();
        prop_assert_eq!(map.length(), (text.len() as u64).next_multiple_of(512));
        let runs: Vec<sparse::Run<'_>> = map.runs().collect();
        prop_assert_eq!(text.lines().count(), 1 + 2 * (runs.len() + usize::from(tail > 0)));
        prop_assert_eq!(map.data(), runs.iter().map(|run| run.length).sum::<u64>());
        let mut end = 0;
        for (number, run) in runs.iter().enumerate() {
            prop_assert!(run.offset >= end && run.offset == run.segments[0].offset);
            end = run.offset + run.length;
            let last = run.segments.last().unwrap();
            prop_assert!(last.offset + last.length <= end && end < last.offset + last.length + 512);
            prop_assert!(number + 1 == runs.len() || run.length % 512 == 0);
        }
        prop_assert_eq!(end, at);
        prop_assert_eq!(runs.iter().map(|run| run.segments).collect::<Vec<_>>().concat(), segments.clone());
        prop_assert!(at == 0 || sparse::Map::new(&segments, at - 1).is_none());
    }
}
