//! Looks into encoded keys before the age library does.
//!
//! That library (0.12.1) panics on an SSH number made only of zero bytes, and when encrypting to an
//! X25519 key of low order. It also ignores bytes behind an SSH public key, which would then never open.

/// Decodes standard base64, with or without padding.
pub(crate) fn base64(text: &str) -> Option<Vec<u8>> {
    let values: Option<Vec<u8>> = text.trim_end_matches('=').bytes().map(base64_value).collect();
    Some(repack(&values?, 6))
}

fn base64_value(byte: u8) -> Option<u8> {
    match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    }
}

/// Joins values of `width` bits to bytes. Bits left over at the end are dropped.
fn repack(values: &[u8], width: u32) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(values.len());
    let (mut bits, mut held) = (0_u32, 0_u32);
    for value in values {
        bits = ((bits << width) | u32::from(*value)) & 0xffff;
        held += width;
        if held >= 8 {
            held -= 8;
            let [low, ..] = (bits >> held).to_le_bytes();
            bytes.push(low);
        }
    }
    bytes
}

/// Takes one length-prefixed SSH field off the front.
fn field(input: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = input.split_first_chunk::<4>()?;
    rest.split_at_checked(usize::try_from(u32::from_be_bytes(*length)).ok()?)
}

fn only_zeros(field: &[u8]) -> bool {
    !field.is_empty() && field.iter().all(|byte| *byte == 0)
}

/// Returns true if an SSH public key holds its type and exactly `numbers` more fields, none of them zero.
pub(crate) fn public_key_is_sound(blob: &[u8], kind: &str, numbers: usize) -> bool {
    let Some((name, mut rest)) = field(blob) else {
        return false;
    };
    for _ in 0..numbers {
        match field(rest) {
            Some((number, more)) if !only_zeros(number) => rest = more,
            _ => return false,
        }
    }
    name == kind.as_bytes() && rest.is_empty()
}

/// Returns true if the age library accepts this OpenSSH private key without a panic.
pub(crate) fn private_key_is_sound(blob: &[u8]) -> bool {
    look_into_private_key(blob).unwrap_or(false)
}

fn look_into_private_key(blob: &[u8]) -> Option<bool> {
    let rest = blob.strip_prefix(b"openssh-key-v1\0")?;
    let (cipher, rest) = field(rest)?;
    let (_derivation, rest) = field(rest)?;
    let (_options, rest) = field(rest)?;
    let (_count, rest) = rest.split_first_chunk::<4>()?;
    let (_public, rest) = field(rest)?;
    let (private, _) = field(rest)?;
    if cipher != b"none" {
        return Some(true);
    }
    let (_check, mut rest) = private.split_first_chunk::<8>()?;
    while let Some((number, more)) = field(rest) {
        if only_zeros(number) {
            return Some(false);
        }
        rest = more;
    }
    Some(true)
}

/// The X25519 public keys with which every shared secret is zero, as libsodium lists them.
const LOW_ORDER: [[u8; 32]; 7] = [
    [0; 32],
    ends(1, 0, 0),
    [
        0xe0, 0xeb, 0x7a, 0x7c, 0x3b, 0x41, 0xb8, 0xae, 0x16, 0x56, 0xe3, 0xfa, 0xf1, 0x9f, 0xc4, 0x6a, 0xda,
        0x09, 0x8d, 0xeb, 0x9c, 0x32, 0xb1, 0xfd, 0x86, 0x62, 0x05, 0x16, 0x5f, 0x49, 0xb8, 0x00,
    ],
    [
        0x5f, 0x9c, 0x95, 0xbc, 0xa3, 0x50, 0x8c, 0x24, 0xb1, 0xd0, 0xb1, 0x55, 0x9c, 0x83, 0xef, 0x5b, 0x04,
        0x44, 0x5c, 0xc4, 0x58, 0x1c, 0x8e, 0x86, 0xd8, 0x22, 0x4e, 0xdd, 0xd0, 0x9f, 0x11, 0x57,
    ],
    ends(0xec, 0xff, 0x7f),
    ends(0xed, 0xff, 0x7f),
    ends(0xee, 0xff, 0x7f),
];

const fn ends(first: u8, between: u8, last: u8) -> [u8; 32] {
    let mut key = [between; 32];
    let [head, .., tail] = &mut key;
    *head = first;
    *tail = last;
    key
}

/// Returns true if an `age1…` text, already checked by the age library, is a key of low order.
pub(crate) fn has_low_order(recipient: &str) -> bool {
    const ALPHABET: &[u8; 32] = b"qpzry9x8gf2tvdw0s3jn54khce6mua7l";
    const CHECKSUM: usize = 6;
    let Some((_, data)) = recipient.rsplit_once('1') else {
        return false;
    };
    let place = |byte| ALPHABET.iter().position(|letter| *letter == byte);
    let values: Vec<u8> = data
        .bytes()
        .filter_map(|byte| place(byte).and_then(|at| u8::try_from(at).ok()))
        .collect();
    let mut key = repack(
        values
            .get(..values.len().saturating_sub(CHECKSUM))
            .unwrap_or_default(),
        5,
    );
    // The top bit does not count in X25519.
    if let Some(last) = key.last_mut() {
        *last &= 0x7f;
    }
    LOW_ORDER.iter().any(|low| low.as_slice() == key)
}
