//! Columns, cutting and wrapping.

use proptest::prelude::*;

use super::super::style::{Role, paint};
use super::super::width::{cut, of, pad, wrap};

#[test]
fn characters_take_their_columns() {
    let cases = [
        ("", 0),
        ("abc", 3),
        ("é", 1),
        ("e\u{301}", 1),
        ("日本", 4),
        ("한", 2),
        ("\u{1112}\u{1161}\u{11ab}", 2),
        ("🦀", 2),
        ("…", 1),
        ("Ａ", 2),
        ("─", 1),
    ];
    for (text, columns) in cases {
        assert_eq!(of(text), columns, "{text}");
    }
    assert_eq!(of(&paint(Role::Error, "abc")), 3);
}

#[test]
fn the_middle_gives_way() {
    assert_eq!(cut("src/terminal/width.rs", 21), "src/terminal/width.rs");
    assert_eq!(cut("src/terminal/width.rs", 15), "src/ter…idth.rs");
    assert_eq!(cut("abcdef", 2), "…f");
    assert_eq!(cut("abcdef", 1), "…");
    assert_eq!(cut("abcdef", 0), "");
    assert_eq!(cut("日本語日本語", 6), "日…語");
    assert_eq!(cut("xxxxxe\u{301}", 2), "…e\u{301}");
}

#[test]
fn lines_break_at_spaces_and_never_within_a_word() {
    assert_eq!(wrap("one two three", 7), ["one two", "three"]);
    assert_eq!(wrap("a /very/long/path b", 6), ["a", "/very/long/path", "b"]);
    assert_eq!(
        wrap("para\n\n  jackin recovery list --json", 10),
        ["para", "", "  jackin recovery list --json"]
    );
    assert_eq!(wrap("", 10), [""]);
    assert_eq!(wrap("日本 日本", 5), ["日本", "日本"]);
    assert_eq!(pad("日", 4), "日  ");
    assert_eq!(pad("long", 2), "long");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn what_is_cut_fits_and_keeps_its_ends(text in "[a-z日本é\u{301}/]{0,40}", columns in 0_usize..50) {
        let shown = cut(&text, columns);
        prop_assert!(of(&shown) <= columns);
        if of(&text) <= columns {
            prop_assert_eq!(shown, text);
        } else if let Some((head, tail)) = shown.split_once('…') {
            prop_assert!(text.starts_with(head) && text.ends_with(tail));
            // No more is lost than what a wide character may leave over at either side.
            prop_assert!(of(&shown) + 2 >= columns);
        }
    }

    #[test]
    fn wrapping_loses_no_word(text in "[a-z]{1,12}( [a-z]{1,12}){0,12}", columns in 1_usize..40) {
        let lines = wrap(&text, columns);
        prop_assert_eq!(lines.join(" "), text);
        prop_assert!(lines.iter().all(|line| of(line) <= columns || !line.contains(' ')));
    }
}
