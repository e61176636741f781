//! Bytes within others.

use regex::bytes::Regex;

/// Returns true if `wanted` is a part of `bytes`.
pub(crate) fn holds(bytes: &[u8], wanted: &[u8]) -> bool {
    const LARGE: usize = 16 << 10;
    if bytes.len() < LARGE {
        return bytes.windows(wanted.len()).any(|part| part == wanted);
    }
    // That takes seconds for what archives hold, for tests are not optimized; this crate is.
    let escaped: String = wanted.iter().map(|byte| format!("\\x{byte:02x}")).collect();
    Regex::new(&format!("(?-u:{escaped})")).unwrap().is_match(bytes)
}

#[test]
fn a_part_is_found_in_small_and_in_large_texts() {
    for size in [0, 1 << 20] {
        let mut bytes = vec![b'a'; size];
        bytes.extend(b"b.\xff\n");
        for (wanted, is_there) in [(&b"b.\xff\n"[..], true), (b"b.\xfe", false), (b"b\xff", false)] {
            assert_eq!(holds(&bytes, wanted), is_there, "{size} {wanted:?}");
        }
    }
}
