//! Round trips: the recipients get back what was encrypted, and others do not.

use std::path::Path;

use proptest::prelude::*;

use super::*;

fn some_files() -> Vec<SealedFile> {
    vec![
        file(b"root/.netrc", b"machine example password hunter2\n"),
        file(b"a-\xff\xfe/b", b"not UTF-8"),
        file(b"empty", b""),
        file(&[b'x'; 100], b"just fits"),
        file(&[b'y'; 101], b"just not"),
        file(&[0xfe; 150], b"long and not UTF-8"),
        file("ü/".repeat(200).trim_end_matches('/').as_bytes(), &[7; 70_000]),
    ]
}

fn sorted(mut files: Vec<SealedFile>) -> Vec<SealedFile> {
    files.sort_by(|left, right| left.path.cmp(&right.path));
    files
}

fn assert_round_trip(pair: &Pair) {
    let bundle = seal(&some_files(), &recipients(&[pair])).unwrap();
    assert_eq!(
        open(&bundle, &identities(pair), MOST).unwrap(),
        sorted(some_files())
    );
}

#[test]
fn each_kind_of_key_opens_what_was_sealed_to_it() {
    assert_round_trip(&age_pair());
    assert_round_trip(&ed25519_pair());
    assert_round_trip(&Pair {
        public: FIXED_PUBLIC.to_owned(),
        private: FIXED_PRIVATE.to_owned(),
    });
    for form in ["RFC4716", "PEM"] {
        if let Some(pair) = ssh_pair(&["-t", "rsa", "-b", "2048", "-N", "", "-m", form]) {
            assert_round_trip(&pair);
        }
    }
}

#[test]
fn each_of_several_recipients_opens_alone() {
    let mut pairs = vec![age_pair(), age_pair(), ed25519_pair()];
    pairs.extend(ssh_pair(&["-t", "rsa", "-b", "2048", "-N", ""]));
    let bundle = seal(&some_files(), &recipients(&pairs.iter().collect::<Vec<_>>())).unwrap();
    for pair in &pairs {
        assert_eq!(
            open(&bundle, &identities(pair), MOST).unwrap(),
            sorted(some_files())
        );
    }
}

#[test]
fn an_identity_file_may_hold_several_keys() {
    let (first, second) = (age_pair(), age_pair());
    let bundle = seal(&some_files(), &recipients(&[&second])).unwrap();
    let both = Pair {
        public: String::new(),
        private: format!("{}\r\n{}", first.private, second.private),
    };
    assert!(open(&bundle, &identities(&both), MOST).is_ok());
}

#[test]
fn another_key_does_not_open_it() {
    let bundle = seal(&some_files(), &recipients(&[&age_pair(), &ed25519_pair()])).unwrap();
    for stranger in [
        age_pair(),
        ssh_pair(&["-t", "ed25519", "-N", ""]).unwrap_or_else(age_pair),
    ] {
        assert!(matches!(
            open(&bundle, &identities(&stranger), MOST),
            Err(OpenError::NoIdentity)
        ));
    }
}

#[test]
fn no_files_make_an_empty_bundle() {
    let pair = age_pair();
    let bundle = seal(&[], &recipients(&[&pair])).unwrap();
    assert_eq!(open(&bundle, &identities(&pair), MOST).unwrap(), vec![]);
}

#[test]
fn the_age_header_of_the_most_recipients_is_accepted() {
    let pair = age_pair();
    let texts = vec![pair.public.clone(); 32];
    let bundle = seal(&some_files(), &Recipients::parse(&texts).unwrap()).unwrap();
    assert!(open(&bundle, &identities(&pair), MOST).is_ok());
    let texts = vec![pair.public; 33];
    assert_eq!(Recipients::parse(&texts).unwrap_err(), RecipientError::TooMany);
}

#[test]
fn paths_that_lead_elsewhere_are_not_sealed() {
    let to = recipients(&[&age_pair()]);
    let refused: [&[u8]; 9] = [
        b"", b"/a", b"a/../b", b"..", b"./a", b"a/.", b"a//b", b"a/", b"a\0b",
    ];
    for path in refused {
        let error = seal(&[file(path, b"x")], &to).unwrap_err();
        assert!(
            matches!(error, SealError::Path(PathError::NotAllowed { .. })),
            "{path:?}"
        );
    }
    let twice = seal(&[file(b"a", b"1"), file(b"a", b"2")], &to).unwrap_err();
    assert!(matches!(twice, SealError::Path(PathError::Twice { .. })));
    let inside = seal(&[file(b"a/b", b"1"), file(b"a", b"2"), file(b"a-", b"")], &to).unwrap_err();
    assert!(matches!(inside, SealError::Path(PathError::Inside { .. })));
    assert!(seal(&[file(b"..a", b""), file(b"a..", b""), file(b"b/...", b"")], &to).is_ok());
}

#[test]
fn a_file_does_not_show_its_content() {
    assert_eq!(
        format!("{:?}", file(b"a\n", b"hunter2")),
        "SealedFile(a\\n, 7 bytes)"
    );
}

/// The archive inside is read by the `tar` of the system, as a user would.
#[test]
fn system_tar_and_zstd_read_the_archive() {
    let pair = age_pair();
    let bundle = seal(&some_files(), &recipients(&[&pair])).unwrap();
    let mut packed = Vec::new();
    decrypt(&bundle, &identities(&pair))
        .unwrap()
        .read_to_end(&mut packed)
        .unwrap();
    let directory = tempfile::tempdir().unwrap();
    let archive = directory.path().join("archive.tar.zst");
    std::fs::write(&archive, packed).unwrap();
    extract_and_compare(&["tar", "--zstd", "-xf"], &archive, directory.path());
}

#[test]
fn the_age_program_reads_the_bundle() {
    if Command::new("age").arg("--version").output().is_err() {
        return skip("no age program");
    }
    let directory = tempfile::tempdir().unwrap();
    for pair in [age_pair(), ed25519_pair()] {
        let key = directory.path().join("key");
        std::fs::write(&key, &pair.private).unwrap();
        let bundle = directory.path().join("bundle.age");
        std::fs::write(&bundle, seal(&some_files(), &recipients(&[&pair])).unwrap()).unwrap();
        let packed = Command::new("age")
            .arg("-d")
            .arg("-i")
            .arg(&key)
            .arg(&bundle)
            .output()
            .unwrap();
        assert!(packed.status.success());
        let archive = directory.path().join("archive.tar.zst");
        std::fs::write(&archive, packed.stdout).unwrap();
        extract_and_compare(&["tar", "--zstd", "-xf"], &archive, directory.path());
    }
}

#[cfg(unix)]
fn extract_and_compare(command: &[&str], archive: &Path, directory: &Path) {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::PermissionsExt;

    let target = directory.join("out");
    std::fs::create_dir_all(&target).unwrap();
    let done = Command::new(command[0])
        .args(&command[1..])
        .arg(archive)
        .arg("-C")
        .arg(&target)
        .status();
    if !done.is_ok_and(|status| status.success()) {
        return skip("no tar that knows --zstd");
    }
    for file in some_files() {
        let path = target.join(OsStr::from_bytes(&file.path));
        assert_eq!(std::fs::read(&path).unwrap(), file.content);
        assert_eq!(
            std::fs::metadata(&path).unwrap().permissions().mode() & 0o7777,
            0o600
        );
    }
}

#[cfg(not(unix))]
fn extract_and_compare(_: &[&str], _: &Path, _: &Path) {
    skip("paths are bytes only on Unix");
}

fn any_path() -> impl Strategy<Value = Vec<u8>> {
    let part = prop::collection::vec(1_u8..=255, 1..120).prop_map(|mut part| {
        for byte in &mut part {
            if *byte == b'/' {
                *byte = b'_';
            }
        }
        // A part of dots alone would not be allowed.
        part.insert(0, b'p');
        part
    });
    prop::collection::vec(part, 1..5).prop_map(|parts| parts.join(&b'/'))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_paths_and_contents_come_back(
        files in prop::collection::btree_map(any_path(), prop::collection::vec(any::<u8>(), 0..2000), 0..6)
    ) {
        let files: Vec<SealedFile> =
            files.into_iter().map(|(path, content)| SealedFile { path, content }).collect();
        prop_assume!(paths::check(files.iter().map(|file| file.path.as_slice())).is_ok());
        let pair = age_pair();
        let bundle = seal(&files, &recipients(&[&pair])).unwrap();
        prop_assert_eq!(open(&bundle, &identities(&pair), MOST).unwrap(), files);
    }
}
