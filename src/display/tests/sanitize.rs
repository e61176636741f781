//! Names: harmless, unambiguous, and plain where they can be.

use proptest::prelude::*;

use super::super::sanitize::{is_combining, is_visible, line, name, text};

/// Reads [`name`]'s output back, by the rules in its documentation.
fn read_back(shown: &str) -> Vec<u8> {
    let Some(body) = shown.strip_prefix('"') else {
        return shown.as_bytes().to_vec();
    };
    let mut chars = body.strip_suffix('"').expect("a closing quote").chars();
    let mut bytes = Vec::new();
    while let Some(c) = chars.next() {
        if c != '\\' {
            bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            continue;
        }
        match chars.next().expect("something escaped") {
            'n' => bytes.push(b'\n'),
            'r' => bytes.push(b'\r'),
            't' => bytes.push(b'\t'),
            'x' => bytes.push(u8::from_str_radix(&chars.by_ref().take(2).collect::<String>(), 16).unwrap()),
            'u' => {
                let digits: String = chars.by_ref().skip(1).take_while(|c| *c != '}').collect();
                let c = char::from_u32(u32::from_str_radix(&digits, 16).unwrap()).unwrap();
                bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            }
            other => bytes.push(u8::try_from(other).unwrap()),
        }
    }
    bytes
}

/// Written out apart from the code under test: what can steer a terminal or hide.
fn steers(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e0fff}')
}

/// Bytes that are likely to hit something: pieces that matter, mixed with anything.
pub(crate) fn hostile() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        prop::sample::select(vec![
            "\x1b[31m",
            "\x1b[2J",
            "\x1b]0;t\x07",
            "\u{9b}",
            "\u{202e}",
            "\u{2066}",
            "\u{200b}",
            "\u{feff}",
            "\\",
            "\"",
            "\\n",
            "\n",
            "\\x1b",
            "\\u{85}",
            "\u{85}",
            " ",
            "a",
            "/",
            "é",
            "e\u{301}",
            "\u{301}",
            "日",
            "\u{fe0f}",
            "\t",
        ])
        .prop_map(|text| text.as_bytes().to_vec()),
        any::<char>().prop_map(|c| c.to_string().into_bytes()),
        prop::collection::vec(any::<u8>(), 1..4),
    ];
    prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn a_shown_name_steers_nothing_and_can_be_read_back(bytes in hostile()) {
        let shown = name(&bytes);
        prop_assert!(!shown.chars().any(steers), "{shown:?}");
        prop_assert_eq!(read_back(&shown), bytes);
    }

    #[test]
    fn different_names_read_differently(a in hostile(), b in hostile()) {
        prop_assert_eq!(name(&a) == name(&b), a == b);
    }

    #[test]
    fn lines_and_messages_steer_nothing(bytes in hostile()) {
        prop_assert!(!line(&bytes).chars().any(|c| steers(c) && c != '\t'));
        let message = text(&String::from_utf8_lossy(&bytes));
        prop_assert!(!message.chars().any(|c| steers(c) && !matches!(c, '\t' | '\n')));
    }
}

#[test]
fn plain_names_stay_as_they_are() {
    for plain in [
        "main.rs",
        "-n",
        "*",
        ":(top)x",
        "a b",
        "back\\slash",
        "say \"hi\"",
        "café",
        "cafe\u{301}.txt",
        "日本語",
        "a'b",
        "…",
        "🦀",
    ] {
        assert_eq!(name(plain.as_bytes()), plain);
    }
}

#[test]
fn names_that_are_not_plain_are_quoted() {
    let cases: [(&[u8], &str); 15] = [
        (b"z    keep  F", r#""z  \x20\x20keep  F""#),
        (b"", r#""""#),
        (b"a\nb", r#""a\nb""#),
        (b"a\\nb\n", r#""a\\nb\n""#),
        (b"\x1b[31m", r#""\x1b[31m""#),
        (b"\x7f", r#""\x7f""#),
        (b"tail ", r#""tail ""#),
        (b" head", r#"" head""#),
        (b"\"a\"", r#""\"a\"""#),
        (b"\xff\xfe", r#""\xff\xfe""#),
        ("\u{85}".as_bytes(), r#""\u{85}""#),
        ("exe\u{202e}gpj".as_bytes(), r#""exe\u{202e}gpj""#),
        ("a\u{200b}b".as_bytes(), r#""a\u{200b}b""#),
        ("\u{301}a".as_bytes(), r#""\u{301}a""#),
        ("dir/\u{301}a".as_bytes(), r#""dir/\u{301}a""#),
    ];
    for (bytes, shown) in cases {
        assert_eq!(name(bytes), shown, "{}", bytes.escape_ascii());
    }
}

#[test]
fn every_bidi_control_and_every_default_ignorable_is_invisible() {
    for c in [
        '\u{61c}',
        '\u{200e}',
        '\u{200f}',
        '\u{202a}',
        '\u{202e}',
        '\u{2066}',
        '\u{2069}',
        '\u{feff}',
        '\u{e0041}',
        '\u{3164}',
        '\u{34f}',
        '\u{a0}',
        '\u{3000}',
        '\u{2028}',
        '\u{e000}',
        '\u{378}',
        '\u{9b}',
        '\u{7f}',
        '\0',
        '\u{10ffff}',
    ] {
        assert!(!is_visible(c), "U+{:04X}", u32::from(c));
    }
    for c in ['a', 'é', '日', '🦀', '\u{301}', 'א', 'ع', '…', '─'] {
        assert!(is_visible(c), "U+{:04X}", u32::from(c));
    }
    assert!(is_combining('\u{301}') && !is_combining('é') && !is_combining('\u{200b}') && !is_combining('a'));
}

#[test]
fn content_keeps_its_tabs_and_shows_its_carriage_returns() {
    assert_eq!(line(b"\tif x {\r"), "\tif x {\\r");
    assert_eq!(line(b"a\\b \x00\xc3"), "a\\b \\x00\\xc3");
    assert_eq!(text("line 1\n\tline\x08 2"), "line 1\n\tline\\x08 2");
}
