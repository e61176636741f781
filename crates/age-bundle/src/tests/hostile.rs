//! Damaged bundles, and bundles written by an attacker who knows only the public key.

use proptest::prelude::*;

use super::*;

/// One entry of an archive, with any path and type.
fn entry(archive: &mut tar::Builder<Vec<u8>>, kind: tar::EntryType, path: &[u8], content: &[u8]) {
    let mut header = tar::Header::new_gnu();
    header.as_old_mut().name[..path.len()].copy_from_slice(path);
    header.set_entry_type(kind);
    if kind.is_symlink() || kind.is_hard_link() {
        header.as_old_mut().linkname[..11].copy_from_slice(b"/etc/passwd");
    }
    header.set_mode(0o600);
    header.set_size(content.len() as u64);
    header.set_cksum();
    archive.append(&header, content).unwrap();
}

fn archive_of(entries: &[(tar::EntryType, &[u8], &[u8])]) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for (kind, path, content) in entries {
        entry(&mut archive, *kind, path, content);
    }
    archive.into_inner().unwrap()
}

fn open_archive(archive: &[u8], most: u64) -> Result<Vec<SealedFile>, OpenError> {
    let pair = age_pair();
    let packed = zstd::encode_all(archive, 1).unwrap();
    open(
        &encrypted(&packed, &recipients(&[&pair])),
        &identities(&pair),
        most,
    )
}

fn why(result: Result<Vec<SealedFile>, OpenError>) -> &'static str {
    match result {
        Err(OpenError::Damaged(why)) => why,
        other => panic!("not refused as damaged: {other:?}"),
    }
}

#[test]
fn only_regular_files_are_accepted() {
    use tar::EntryType as T;
    let kinds = [
        T::Symlink,
        T::Link,
        T::Directory,
        T::Fifo,
        T::Char,
        T::Block,
        T::Continuous,
        T::XGlobalHeader,
    ];
    for kind in kinds {
        let reason = why(open_archive(&archive_of(&[(kind, b"a", b"")]), MOST));
        assert_eq!(
            reason, "it holds something that is not a regular file",
            "{kind:?}"
        );
    }
    assert!(open_archive(&archive_of(&[(T::GNUSparse, b"a", b"")]), MOST).is_err());
    let fine = open_archive(&archive_of(&[(T::Regular, b"a", b"x")]), MOST).unwrap();
    assert_eq!(fine, vec![file(b"a", b"x")]);
}

#[test]
fn paths_that_lead_elsewhere_are_refused() {
    let refused: [&[u8]; 8] = [b"../x", b"/x", b"a/../../x", b"", b"./x", b"x/", b"a//x", b".."];
    for path in refused {
        let reason = why(open_archive(
            &archive_of(&[(tar::EntryType::Regular, path, b"")]),
            MOST,
        ));
        assert_eq!(reason, "it holds a path that is not allowed", "{path:?}");
    }
}

#[test]
fn a_long_name_or_pax_header_is_checked_too() {
    let long: &[(tar::EntryType, &[u8], &[u8])] = &[
        (tar::EntryType::GNULongName, b"././@LongLink", b"../../x\0"),
        (tar::EntryType::Regular, b"harmless", b""),
    ];
    assert_eq!(
        why(open_archive(&archive_of(long), MOST)),
        "it holds a path that is not allowed"
    );
    let inner: &[(tar::EntryType, &[u8], &[u8])] = &[
        (tar::EntryType::GNULongName, b"././@LongLink", b"a\0b\0"),
        (tar::EntryType::Regular, b"harmless", b""),
    ];
    assert_eq!(
        why(open_archive(&archive_of(inner), MOST)),
        "it holds a path that is not allowed"
    );
    let pax: &[(tar::EntryType, &[u8], &[u8])] = &[
        (tar::EntryType::XHeader, b"pax", b"13 path=/etc\n"),
        (tar::EntryType::Regular, b"harmless", b""),
    ];
    assert_eq!(
        why(open_archive(&archive_of(pax), MOST)),
        "it holds a path that is not allowed"
    );
}

#[test]
fn the_same_path_twice_is_refused() {
    use tar::EntryType::Regular;
    let twice = archive_of(&[(Regular, b"a", b"1"), (Regular, b"a", b"2")]);
    assert_eq!(why(open_archive(&twice, MOST)), "it holds the same path twice");
    let inside = archive_of(&[(Regular, b"a", b"1"), (Regular, b"a/b", b"2")]);
    assert_eq!(why(open_archive(&inside, MOST)), "it holds a path inside a file");
}

#[test]
fn too_much_is_refused() {
    let archive = archive_of(&[(tar::EntryType::Regular, b"zeros", &vec![0; 4 << 20])]);
    assert!(matches!(
        open_archive(&archive, MOST),
        Err(OpenError::TooLarge { most: MOST })
    ));
    let exact = archive.len() as u64;
    assert!(open_archive(&archive, exact).is_ok());
    assert!(open_archive(&archive, u64::MAX).is_ok());
    assert!(matches!(
        open_archive(&archive, exact - 1),
        Err(OpenError::TooLarge { .. })
    ));
}

#[test]
fn a_size_that_is_not_there_is_refused() {
    for claimed in [600, 1 << 40, u64::MAX] {
        let mut header = tar::Header::new_gnu();
        header.as_old_mut().name[0] = b'a';
        header.set_entry_type(tar::EntryType::Regular);
        header.set_size(claimed);
        header.set_cksum();
        let mut archive = header.as_bytes().to_vec();
        archive.extend_from_slice(&[1; 512]);
        assert!(
            matches!(open_archive(&archive, MOST), Err(OpenError::Damaged(_))),
            "{claimed}"
        );
    }
}

#[test]
fn data_behind_the_end_is_refused() {
    let mut archive = archive_of(&[(tar::EntryType::Regular, b"a", b"x")]);
    archive.extend_from_slice(&[0; 4096]);
    assert!(open_archive(&archive, MOST).is_ok());
    archive.extend_from_slice(b"hidden");
    assert_eq!(
        why(open_archive(&archive, MOST)),
        "there is data behind the end of its archive"
    );
}

#[test]
fn what_is_not_a_bundle_is_damaged() {
    let pair = age_pair();
    for content in [&b""[..], b"not age", b"age-encryption.org/v1\n", &[0xff; 300]] {
        assert!(matches!(
            open(content, &identities(&pair), MOST),
            Err(OpenError::Damaged(_))
        ));
    }
    let not_zstd = encrypted(b"plain text", &recipients(&[&pair]));
    assert!(matches!(
        open(&not_zstd, &identities(&pair), MOST),
        Err(OpenError::Damaged(_))
    ));
    let not_tar = open_archive(&[7; 2048], MOST);
    assert!(matches!(not_tar, Err(OpenError::Damaged(_))));
}

#[test]
fn a_huge_age_header_is_refused_at_once() {
    let pair = age_pair();
    let mut bundle = b"age-encryption.org/v1\n".to_vec();
    while bundle.len() < 8 << 20 {
        bundle.extend_from_slice(b"-> x y\n\n");
    }
    bundle.extend_from_slice(b"--- AAAA\n");
    assert_eq!(
        why(open(&bundle, &identities(&pair), MOST)),
        "it does not start with an age header"
    );
    // The largest header that is read must not take long either.
    let mut bundle = b"age-encryption.org/v1\n".to_vec();
    let stanza = [
        b"-> ",
        "x ".repeat(HEADER_MOST / HEADER_LINES - 6).as_bytes(),
        b"x\n\n",
    ]
    .concat();
    for _ in 0..HEADER_LINES / 2 - 1 {
        bundle.extend_from_slice(&stanza);
    }
    bundle.extend_from_slice(b"--- AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\n0123456789abcdef");
    let start = std::time::Instant::now();
    assert!(matches!(
        open(&bundle, &identities(&pair), MOST),
        Err(OpenError::NoIdentity)
    ));
    assert!(start.elapsed().as_secs() < 60, "{:?}", start.elapsed());
}

#[test]
fn every_truncation_is_an_error() {
    let pair = age_pair();
    let bundle = seal(&[file(b"a/b", b"secret")], &recipients(&[&pair])).unwrap();
    let identities = identities(&pair);
    for end in 0..bundle.len() {
        assert!(open(&bundle[..end], &identities, MOST).is_err(), "{end}");
    }
    let mut longer = bundle.clone();
    longer.push(0);
    assert!(open(&longer, &identities, MOST).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_changed_byte_is_an_error(at in any::<prop::sample::Index>(), mask in 1_u8..=255, ssh in any::<bool>()) {
        let fixed = || Pair { public: FIXED_PUBLIC.to_owned(), private: FIXED_PRIVATE.to_owned() };
        let pair = if ssh { fixed() } else { age_pair() };
        let mut bundle = seal(&[file(b"a/b", b"secret")], &recipients(&[&pair])).unwrap();
        let at = at.index(bundle.len());
        bundle[at] ^= mask;
        prop_assert!(open(&bundle, &identities(&pair), MOST).is_err());
    }

    #[test]
    fn any_bytes_never_panic(content in prop::collection::vec(any::<u8>(), 0..3000)) {
        let pair = age_pair();
        prop_assert!(open(&content, &identities(&pair), MOST).is_err());
        let _ = open(&encrypted(&content, &recipients(&[&pair])), &identities(&pair), MOST);
        let _ = open_archive(&content, MOST);
    }

    #[test]
    fn a_changed_archive_never_panics(at in 0_usize..2048, byte in any::<u8>()) {
        let mut archive = archive_of(&[
            (tar::EntryType::GNULongName, b"././@LongLink", b"some/path\0"),
            (tar::EntryType::Regular, b"some", b"content"),
        ]);
        archive[at] = byte;
        let _ = open_archive(&archive, MOST);
    }
}
