//! Texts that are accepted as keys, and the errors for others.

use std::cell::Cell;

use age::secrecy::SecretString;
use proptest::prelude::*;

use super::*;

const TAG: &str = "age1tag1qt8lw0ual6avlwmwatk888yqnmdamm7xfd0wak53ut6elz5c4swx2yqdj4e";
const ECDSA: &str = "ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBHFliOyIZs1gxGF3fmDxFykQhE88wy6AKDGFBfn0R6ZuvRmENABZQa9+pj9hMki+LX0qDJbmHTiWDbYv/cmFt/Q=";
const YUBIKEY: &str = "age1yubikey1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqrjljxx";

fn refused(text: &str) -> RecipientError {
    let error = Recipients::parse(&[age_pair().public, text.to_owned()]).unwrap_err();
    assert!(error.to_string().starts_with("recipient 2 "), "{error}");
    error
}

fn kind_of(error: RecipientError) -> String {
    match error {
        RecipientError::Unsupported { kind, .. } => kind,
        other => panic!("{other:?}"),
    }
}

fn start(text: &str, length: usize) -> &str {
    text.get(..length).unwrap()
}

/// Encodes base64, so that a test can write a key with any content.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let mut three = [0_u8; 4];
        three[1..=chunk.len()].copy_from_slice(chunk);
        let bits = u32::from_be_bytes(three);
        for place in 0..=chunk.len() {
            text.push(char::from(LETTERS[(bits >> (18 - 6 * place) & 63) as usize]));
        }
    }
    text
}

fn fields(parts: &[&[u8]]) -> Vec<u8> {
    parts
        .iter()
        .flat_map(|part| [&u32::try_from(part.len()).unwrap().to_be_bytes()[..], part].concat())
        .collect()
}

#[test]
fn an_empty_list_is_refused() {
    assert_eq!(Recipients::parse(&[]).unwrap_err(), RecipientError::Empty);
}

#[test]
fn a_private_key_as_recipient_is_never_shown() {
    let age = age_pair().private;
    let key = age.lines().last().unwrap();
    let texts = [
        key.to_owned(),
        key.to_lowercase(),
        format!("age1{key}"),
        format!("ssh-ed25519 {key}"),
        FIXED_PRIVATE.to_owned(),
        FIXED_PRIVATE.lines().nth(1).unwrap().to_owned(),
        "-----BEGIN PRIVATE KEY-----\nSECRET".to_owned(),
        "AGE-PLUGIN-YUBIKEY-1SECRET".to_owned(),
    ];
    for text in texts {
        assert_eq!(refused(&text), RecipientError::PrivateKey { number: 2 });
    }
    // A line from the middle of a key looks like nothing, so it is not shown either.
    let middle = FIXED_PRIVATE.lines().nth(4).unwrap();
    assert_eq!(refused(middle), RecipientError::Unknown { number: 2 });
}

#[test]
fn types_that_are_not_supported_are_named() {
    assert_eq!(kind_of(refused(ECDSA)), "ecdsa-sha2-nistp256");
    assert_eq!(
        kind_of(refused("sk-ssh-ed25519@openssh.com AAAA me")),
        "sk-ssh-ed25519@openssh.com"
    );
    assert_eq!(kind_of(refused("ssh-dss AAAA")), "ssh-dss");
    assert_eq!(
        kind_of(refused("ssh-ed25519-cert-v01@openssh.com AA")),
        "ssh-ed25519-cert-v01@openssh.com"
    );
    assert_eq!(kind_of(refused(YUBIKEY)), "age plugin yubikey");
    assert_eq!(kind_of(refused("age1pq1qqqq")), "age1pq (post-quantum)");
}

#[test]
fn mistyped_keys_are_named() {
    let good = age_pair().public;
    let (blob, _) = FIXED_PUBLIC.rsplit_once(' ').unwrap();
    let texts = [
        "age1".to_owned(),
        start(&good, good.len() - 1).to_owned(),
        format!("{good}q"),
        start(TAG, 60).to_owned(),
        "ssh-ed25519".to_owned(),
        start(blob, blob.len() - 4).to_owned(),
        format!("{blob}AAAA"),
        format!("{blob}-"),
        blob.replace("ssh-ed25519", "ssh-rsa"),
    ];
    for text in texts {
        let error = refused(&text);
        assert!(matches!(error, RecipientError::Invalid { .. }), "{text}: {error}");
        assert!(error.to_string().contains(start(&text, 4)));
    }
    for text in ["", "me@example.org", "age-keygen"] {
        assert_eq!(refused(text), RecipientError::Unknown { number: 2 });
    }
}

#[test]
fn keys_that_make_the_age_library_panic_are_refused() {
    let low = [
        "age1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq5cu47z",
        "age1yqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqj7vrya",
        "age1ur4h5lpmgxu2u9jku0a0r87ydtdqnr0tnsetrlvxvgz3vh6fhqqqzyt4v9",
        "age1t7wft09r2zxzfvwsk92eeql0tvzyghxytqwgapkcyf8dm5ylz9ts6wm9s8",
        "age1anlllllllllllllllllllllllllllllllllllllllllllllllals4n2t7m",
        "age1ahlllllllllllllllllllllllllllllllllllllllllllllllalsn46ayy",
        "age1amlllllllllllllllllllllllllllllllllllllllllllllllalselrwrv",
        "age1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqzqqsuwj9m",
    ];
    for text in low
        .iter()
        .filter(|text| text.parse::<age::x25519::Recipient>().is_ok())
    {
        assert!(matches!(refused(text), RecipientError::Invalid { .. }), "{text}");
        let key: age::x25519::Recipient = text.parse().unwrap();
        assert!(
            std::panic::catch_unwind(|| age::encrypt(&key, b"x")).is_err(),
            "no panic any more: {text}"
        );
    }
    let small = base64(&fields(&[b"ssh-ed25519", &[[1].as_slice(), &[0; 31]].concat()]));
    assert!(matches!(
        refused(&format!("ssh-ed25519 {small}")),
        RecipientError::Invalid { .. }
    ));
    let zero = format!("ssh-rsa {}", base64(&fields(&[b"ssh-rsa", &[0], &[0]])));
    assert!(matches!(refused(&zero), RecipientError::Invalid { .. }));
    assert!(std::panic::catch_unwind(|| zero.parse::<age::ssh::Recipient>().is_ok()).is_err());
    let private = fields(&[b"ssh-rsa", &[0], &[0], &[0], &[0], &[0], &[0], b""]);
    let mut blob = b"openssh-key-v1\0".to_vec();
    blob.extend(fields(&[b"none", b"none", b""]));
    blob.extend([0, 0, 0, 1]);
    blob.extend(fields(&[b"public", &[&[0; 8], private.as_slice()].concat()]));
    let text = format!(
        "-----BEGIN OPENSSH PRIVATE KEY-----\n{}\n-----END OPENSSH PRIVATE KEY-----\n",
        base64(&blob)
    );
    assert_eq!(
        Identities::parse(text.as_bytes(), &|| None).unwrap_err(),
        IdentityError::Damaged
    );
}

#[test]
fn tag_recipients_can_be_sealed_to() {
    let pair = age_pair();
    let to = Recipients::parse(&[TAG.to_owned(), pair.public.clone()]).unwrap();
    let bundle = seal(&[file(b"a", b"x")], &to).unwrap();
    assert!(open(&bundle, &identities(&pair), MOST).is_ok());
}

#[test]
fn a_small_rsa_key_is_refused() {
    if let Some(pair) = ssh_pair(&["-t", "rsa", "-b", "1024", "-N", ""]) {
        assert!(refused(&pair.public).to_string().contains("2048"));
    }
}

fn parse_error(content: &[u8]) -> IdentityError {
    Identities::parse(content, &|| None).unwrap_err()
}

#[test]
fn what_is_not_an_identity_is_said() {
    assert_eq!(parse_error(b""), IdentityError::Empty);
    assert_eq!(parse_error(b"# only\n\n"), IdentityError::Empty);
    assert_eq!(parse_error(&vec![b'#'; 65 * 1024]), IdentityError::TooLarge);
    assert_eq!(
        parse_error(age_pair().public.as_bytes()),
        IdentityError::PublicKey
    );
    assert_eq!(parse_error(FIXED_PUBLIC.as_bytes()), IdentityError::PublicKey);
    assert_eq!(parse_error(ECDSA.as_bytes()), IdentityError::PublicKey);
    assert_eq!(
        parse_error(b"-----BEGIN PUBLIC KEY-----\n"),
        IdentityError::PublicKey
    );
    assert_eq!(
        parse_error(b"-----BEGIN PRIVATE KEY-----\n"),
        IdentityError::OldForm
    );
    assert_eq!(parse_error(b"# c\nhunter2\n"), IdentityError::NotAKey { line: 2 });
    assert_eq!(parse_error(b"# c\n\n\xff\n"), IdentityError::NotAKey { line: 3 });
    assert!(
        parse_error(b"AGE-SECRET-KEY-PQ-1QQQ")
            .to_string()
            .contains("post-quantum")
    );
    assert!(parse_error(b"AGE-PLUGIN-X-1QQQ").to_string().contains("plugin"));
    let cut = start(FIXED_PRIVATE, 200);
    assert_eq!(parse_error(cut.as_bytes()), IdentityError::Damaged);
    if let Some(pair) = ssh_pair(&["-t", "ecdsa", "-N", ""]) {
        assert!(
            parse_error(pair.private.as_bytes())
                .to_string()
                .contains("ecdsa-sha2-nistp256")
        );
    }
}

fn assert_passphrase_opens(pair: &Pair, content: &[u8], passphrase: &str) {
    let bundle = seal(&[file(b"a", b"x")], &recipients(&[pair])).unwrap();
    let asked = Cell::new(0);
    let ask = || {
        asked.set(asked.get() + 1);
        Some(passphrase.to_owned())
    };
    let identities = Identities::parse(content, &ask).unwrap();
    assert_eq!(asked.get(), 1);
    assert!(open(&bundle, &identities, MOST).is_ok());
    assert_eq!(parse_error(content), IdentityError::PassphraseNeeded);
    for wrong in ["wrong", ""] {
        let error = Identities::parse(content, &|| Some(wrong.to_owned())).unwrap_err();
        assert_eq!(error, IdentityError::WrongPassphrase);
    }
}

#[test]
fn ssh_keys_with_a_passphrase_open() {
    for kind in ["ed25519", "rsa"] {
        if let Some(pair) = ssh_pair(&["-t", kind, "-N", "correct horse"]) {
            assert_passphrase_opens(&pair, pair.private.as_bytes(), "correct horse");
        }
    }
    if let Some(pair) = ssh_pair(&["-t", "rsa", "-N", "correct horse", "-m", "PEM"]) {
        assert_eq!(parse_error(pair.private.as_bytes()), IdentityError::OldForm);
    }
}

#[test]
fn a_file_with_several_keys_opens_what_is_sealed_to_each() {
    let keyed = |passphrase: &str| ssh_pair(&["-t", "ed25519", "-N", passphrase]);
    let (Some(first), Some(second), Some(shut), Some(other)) = (
        keyed(""),
        keyed(""),
        keyed("correct horse"),
        keyed("correct horse"),
    ) else {
        return;
    };
    let age = age_pair();
    let texts = [&first, &age, &shut, &second, &other].map(|pair| pair.private.as_str());
    let content = texts.join("\n# the next one\n");
    let asked = Cell::new(0);
    let ask = || {
        asked.set(asked.get() + 1);
        Some("correct horse".to_owned())
    };
    let identities = Identities::parse(content.as_bytes(), &ask).unwrap();
    assert_eq!(asked.get(), 1, "both keys have the same passphrase");
    for pair in [&first, &age, &shut, &second, &other] {
        let bundle = seal(&[file(b"a", b"x")], &recipients(&[pair])).unwrap();
        assert!(open(&bundle, &identities, MOST).is_ok(), "{}", pair.public);
    }
    assert!(parse_error(content.as_bytes()).needs_passphrase());
    let behind = first.private.lines().count() + 1;
    assert_eq!(
        parse_error(format!("{}hunter2\n", first.private).as_bytes()),
        IdentityError::NotAKey { line: behind }
    );
    let cut = format!("{}\n{}", start(&first.private, 200), second.private);
    assert_eq!(parse_error(cut.as_bytes()), IdentityError::Damaged);
}

#[test]
fn encrypted_age_identity_files_open() {
    let pair = age_pair();
    let mut passphrase = age::scrypt::Recipient::new(SecretString::from("correct horse".to_owned()));
    passphrase.set_work_factor(2);
    let binary = age::encrypt(&passphrase, pair.private.as_bytes()).unwrap();
    let armored = age::encrypt_and_armor(&passphrase, pair.private.as_bytes()).unwrap();
    assert_passphrase_opens(&pair, &binary, "correct horse");
    assert_passphrase_opens(&pair, armored.as_bytes(), "correct horse");
    let to_key = age::encrypt(&age::x25519::Identity::generate().to_public(), b"x").unwrap();
    assert!(matches!(parse_error(&to_key), IdentityError::Unsupported { .. }));
}

/// No run of letters from the key may be in the error, shown either way.
fn assert_no_part(of: &str, error: &(impl fmt::Display + fmt::Debug)) {
    let said = format!("{error} {error:?}").to_lowercase();
    for line in of.lines().filter(|line| !line.starts_with(['-', '#'])) {
        let line = line.to_lowercase();
        let line = line.strip_prefix("age-secret-key-1").unwrap_or(&line);
        for at in 0..line.len().saturating_sub(8) {
            assert!(
                !line.get(at..at + 8).is_some_and(|part| said.contains(part)),
                "{said}"
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn errors_never_show_a_damaged_key(at in any::<prop::sample::Index>(), byte in 32_u8..127, ssh in any::<bool>()) {
        let private = if ssh { FIXED_PRIVATE.to_owned() } else { age_pair().private };
        let mut content = private.clone().into_bytes();
        let at = at.index(content.len());
        content[at] = byte;
        if let Err(error) = Identities::parse(&content, &|| None) {
            assert_no_part(&private, &error);
        }
        let text = String::from_utf8(content).unwrap();
        for line in text.lines().chain([text.as_str()]) {
            if let Err(error) = Recipients::parse(&[line.to_owned()]) {
                assert_no_part(&private, &error);
            }
        }
    }

    #[test]
    fn any_text_never_panics(text in "(age1|ssh-rsa |ssh-ed25519 |AGE-SECRET-KEY-1|-----BEGIN )?\\PC{0,80}") {
        let _ = Recipients::parse(std::slice::from_ref(&text));
        let _ = Identities::parse(text.as_bytes(), &|| Some(String::new()));
    }

    #[test]
    fn any_ssh_blob_never_panics(
        parts in prop::collection::vec(prop::collection::vec(0_u8..3, 0..6), 0..8), behind in any::<bool>()
    ) {
        let kind: &[u8] = b"ssh-rsa";
        let parts: Vec<&[u8]> = [kind].into_iter().chain(parts.iter().map(Vec::as_slice)).collect();
        let mut blob = fields(&parts);
        if behind {
            blob.push(0);
        }
        let _ = Recipients::parse(&[format!("ssh-rsa {}", base64(&blob))]);
        let mut whole = b"openssh-key-v1\0".to_vec();
        whole.extend(fields(&[b"none", b"none", b""]));
        whole.extend([0, 0, 0, 1]);
        whole.extend(fields(&[&blob, &[&[0; 8], blob.as_slice()].concat()]));
        let text = format!(
            "-----BEGIN OPENSSH PRIVATE KEY-----\n{}\n-----END OPENSSH PRIVATE KEY-----\n", base64(&whole)
        );
        let _ = Identities::parse(text.as_bytes(), &|| None);
    }
}
