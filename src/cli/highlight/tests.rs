//! Tokens of languages, and of hostile text.

use std::time::{Duration, Instant};

use super::{Colors, LARGEST, LONGEST, Token, Tokens};
use crate::model::RelPath;
use crate::report::{Contents, Line, line_numbers};

const LONG: Duration = Duration::from_secs(300);

/// Words of a token, by line.
fn found(name: &str, text: &str) -> Vec<Vec<(String, Token)>> {
    let of_line = |(line, tokens): (String, Tokens)| {
        let words = tokens
            .into_iter()
            .map(|(range, token)| (line.get(range).unwrap().to_owned(), token));
        words.collect()
    };
    read(&mut Colors::within(LONG), name, text.as_bytes())
        .into_iter()
        .map(of_line)
        .collect()
}

fn read(colors: &mut Colors, name: &str, text: &[u8]) -> Vec<(String, Tokens)> {
    let path = RelPath::new(name.as_bytes()).unwrap();
    colors.of_text(&path, text, &|line| String::from_utf8_lossy(line).into_owned())
}

#[test]
fn the_usual_languages_are_known_and_names_tell_them() {
    use Token::{Comment, Constant, Keyword, Name, Text};
    for (name, text, expected) in [
        (
            "src/a.rs",
            "pub fn run() { x(\"a\", 1); } // c",
            [
                ("fn", Keyword),
                ("run", Name),
                ("\"a\"", Text),
                ("1", Constant),
                ("// c", Comment),
            ],
        ),
        (
            "a.ts",
            "const n: number = run('a', 1); // c",
            [
                ("const", Keyword),
                ("run", Name),
                ("'a'", Text),
                ("1", Constant),
                ("// c", Comment),
            ],
        ),
        (
            "a.PY",
            "def run(): return ('a', 1) # c",
            [
                ("def", Keyword),
                ("run", Name),
                ("'a'", Text),
                ("1", Constant),
                ("# c", Comment),
            ],
        ),
        (
            "a.go",
            "func run() { x(\"a\", 1) } // c",
            [
                ("func", Keyword),
                ("run", Name),
                ("\"a\"", Text),
                ("1", Constant),
                ("// c", Comment),
            ],
        ),
    ] {
        let tokens = found(name, text).concat();
        for (word, token) in expected {
            assert!(
                tokens
                    .iter()
                    .any(|(known, of)| known.trim() == word && *of == token),
                "{name} {word}: {tokens:?}"
            );
        }
    }
    for (name, text, word) in [
        ("Cargo.toml", "[package]\nname = \"a\"", "\"a\""),
        ("Dockerfile", "FROM debian", "FROM"),
        ("Makefile", "# c\nall:\n", "# c"),
        ("run", "#!/bin/sh\nif true; then echo 'a'; fi", "'a'"),
        ("a.yml", "a: 'b'", "'b'"),
        ("a.json", "{\"a\": 1}", "1"),
    ] {
        let tokens = found(name, text).concat();
        assert!(
            tokens.iter().any(|(known, _)| known == word),
            "{name}: {tokens:?}"
        );
    }
    assert!(found("notes.txt", "if a \"b\"").concat().is_empty());
    assert!(found("no-language", "if a \"b\"").concat().is_empty());
}

#[test]
fn a_text_over_several_lines_is_one_in_a_patch_that_shows_its_end_alone() {
    let old = "/* one\n two\n three */\nlet a = 1;\n";
    let new = "/* one\n two\n four */\nlet a = 1;\n";
    let lines = [
        (Line::Hunk, "@@ -3 +3 @@"),
        (Line::Removed, " three */"),
        (Line::Added, " four */"),
    ];
    let numbers = line_numbers(lines.iter().map(|(line, text)| (*line, text.as_bytes())));
    let shown: Vec<(Line, String)> = lines
        .iter()
        .map(|(line, text)| (*line, (*text).to_owned()))
        .collect();
    let contents = Contents::Both(old.as_bytes().to_vec(), new.as_bytes().to_vec());
    let path = RelPath::new(b"a.rs").unwrap();
    let mut colors = Colors::within(LONG);
    let words = |line: &[u8]| String::from_utf8_lossy(line).into_owned();
    let tokens = colors.of_patch(&path, &contents, (&shown, &numbers), words);
    assert_eq!(
        tokens,
        [vec![], vec![(0..9, Token::Comment)], vec![(0..8, Token::Comment)]]
    );
    // A line that is not shown as it was read has none.
    let masked: Vec<(Line, String)> = shown
        .into_iter()
        .map(|(line, text)| (line, text.replace("three", "(hidden)")))
        .collect();
    let tokens = colors.of_patch(&path, &contents, (&masked, &numbers), words);
    assert_eq!(tokens, [vec![], vec![], vec![(0..8, Token::Comment)]]);
}

#[test]
fn tokens_lie_in_their_line_and_no_text_holds_the_caller_up() {
    let mut colors = Colors::within(LONG);
    let mut state = 7_u64;
    let pieces = [
        "\"", "'", "{", "}", "(", "<", "/*", "*/", "\\", "`", "${", "fn ", "\u{fffd}", "é", "\n", "r#",
        "<script>", "</", "#[", ":", "  ", "a",
    ];
    for name in ["a.rs", "a.ts", "a.py", "a.html", "a.md", "a.sh", "a.css", "a.yml"] {
        let text: String = (0..400)
            .map(|_| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                pieces[usize::try_from(state >> 33).unwrap() % pieces.len()]
            })
            .collect();
        for (line, tokens) in read(&mut colors, name, text.as_bytes()) {
            let mut end = 0;
            for (range, _) in tokens {
                assert!(
                    range.start >= end && line.get(range.clone()).is_some(),
                    "{name} {line:?} {range:?}"
                );
                end = range.end;
            }
        }
    }
    let long = format!("let a = 1;\n{}", "x".repeat(LONGEST + 1));
    assert!(read(&mut colors, "a.rs", long.as_bytes()).is_empty());
    assert!(read(&mut colors, "a.rs", "let a;\n".repeat(LARGEST / 7 + 1).as_bytes()).is_empty());
    // No time: at once, and from then on nothing.
    let mut colors = Colors::within(Duration::from_millis(1));
    let began = Instant::now();
    assert!(read(&mut colors, "a.ts", "let a = 1;\n".repeat(9_000).as_bytes()).is_empty());
    assert!(read(&mut colors, "a.rs", b"let a = 1;").is_empty());
    assert!(began.elapsed() < Duration::from_secs(20));
}
