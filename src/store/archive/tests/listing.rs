//! Tar headers that lie are refused when members are listed.

use super::super::{header, pax};
use super::hostile::{craft, index_of};
use super::*;

#[test]
fn members_that_no_snapshot_may_hold_are_refused() {
    let listed = |content: Vec<u8>| {
        let (_directory, place) = craft(&[content.clone(), index_of(&[content], &[])]);
        let archive = Archive::open(&place, None).unwrap();
        archive.members().collect::<Result<Vec<Member>, _>>()
    };
    let head = |path: &[u8]| header::Head::internal(path, 0).encode().unwrap();
    assert_eq!(listed(head(b"m/f")).unwrap().len(), 2);
    for bad in [
        b"/m/f".as_slice(),
        b"m/../f",
        b"../f",
        b"m//f",
        b"m/.",
        b"",
        b"m/f/",
        &[b"a/../".as_slice(), &[b'x'; 300]].concat(),
    ] {
        let failed = listed(head(bad));
        assert!(matches!(
            failed,
            Err(ArchiveError::Damaged {
                what: Damage::Member { at: 0, .. },
                ..
            })
        ));
    }
    // Data beyond the stream, an extended header beyond it, one that stands alone, one for another.
    let with = |records: &[(&[u8], &[u8])]| {
        let mut out = Vec::new();
        records
            .iter()
            .for_each(|(keyword, value)| pax::put(&mut out, keyword, value));
        let mut extended = header::Head::internal(b"x", out.len() as u64).encode().unwrap();
        extended[156] = b'x';
        let sum: u32 = (0..512)
            .map(|at| {
                if (148..156).contains(&at) {
                    32
                } else {
                    u32::from(extended[at])
                }
            })
            .sum();
        extended[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        out.resize(out.len().next_multiple_of(512), 0);
        [extended, out].concat()
    };
    assert_eq!(
        listed([with(&[(b"path", b"m/g")]), head(b"m/f")].concat()).unwrap()[0].path,
        path("m/g")
    );
    let bad = [
        header::Head::internal(b"m/f", 1 << 40).encode().unwrap(),
        [
            with(&[(b"path", b"m/g")]),
            with(&[(b"path", b"m/g")]),
            head(b"m/f"),
        ]
        .concat(),
        [with(&[(b"path", b"/etc/passwd")]), head(b"m/f")].concat(),
        [with(&[(b"GNU.sparse.name", b"m/../g")]), head(b"m/f")].concat(),
        [with(&[(b"size", b"18446744073709551615")]), head(b"m/f")].concat(),
        [with(&[(b"uid", b"4294967296")]), head(b"m/f")].concat(),
        [with(&[(b"mtime", b"never")]), head(b"m/f")].concat(),
        [with(&[(b"GNU.sparse.major", b"1")]), head(b"m/f")].concat(),
        [head(b"m/f"), vec![0; 512], head(b"m/g")].concat(),
        vec![0; 1024],
        vec![b'x'; 512],
    ];
    for (number, content) in bad.into_iter().enumerate() {
        let failed = listed(content);
        assert!(
            matches!(
                failed,
                Err(ArchiveError::Damaged {
                    what: Damage::Member { .. },
                    ..
                })
            ),
            "case {number}"
        );
    }
}
