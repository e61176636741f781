//! Files that were made to be misunderstood, to leak or to take long.

use std::time::{Duration, Instant};

use super::fixtures::{CLAUDE, CODEX, HOSTS, SETTINGS};
use super::*;

const ALL: [Format; 3] = [Format::Json, Format::Toml, Format::Yaml];

#[test]
fn invalid_files_are_refused() {
    for text in [
        "",
        "1",
        "\"a\"",
        "{",
        "[1,]",
        "{\"a\":1,\"a\":2}",
        "{\"a\":1,\"\\u0061\":2}",
        "\u{feff}{}",
        "{} x",
        "// x\n{}",
        "{\"a\":\"\\ud800\"}",
        "[1e999]",
    ] {
        assert!(REDACTOR.split(Format::Json, text.as_bytes()).is_none(), "{text}");
    }
    for text in ["a", "a = 1\na = 2", "[a]\n[a]", "\u{feff}a = 1", "a = {"] {
        assert!(REDACTOR.split(Format::Toml, text.as_bytes()).is_none(), "{text}");
    }
    for format in ALL {
        assert!(REDACTOR.split(format, b"# \xff").is_none());
    }
}

#[test]
fn secrets_that_stay_are_refused() {
    for text in [
        r#"{"env":{"MODE":"production-and-more"},"profile":"production-and-more"}"#,
        r#"{"key":"abcdef","a":"xabcdefx"}"#,
        r#"{"key":"abcdef","abcdef":1}"#,
        r#"{"a":"--- abcdef","args":["--token","abcdef"]}"#,
    ] {
        assert!(REDACTOR.split(Format::Json, text.as_bytes()).is_none(), "{text}");
    }
    for text in [
        // An ordinary word may be a variable's value, too; a long one is none.
        r#"{"env":{"MODE":"production"},"profile":"production"}"#,
        r#"{"key":"abcde","a":"abcde"}"#,
        r#"{"key":"abcdef","b-key":"abcdef"}"#,
        // The placeholder itself does not count.
        r#"{"key":"withheld","b-key":"its owner"}"#,
    ] {
        assert!(REDACTOR.split(Format::Json, text.as_bytes()).is_some(), "{text}");
    }
    assert!(
        REDACTOR
            .split(Format::Toml, b"key = '''abcdef'''\na = 'abcdef'\n")
            .is_none()
    );
    assert!(
        REDACTOR
            .split(Format::Yaml, b"key: \"abcdef\"\na: abcdef\n")
            .is_none()
    );
}

#[test]
fn a_placeholder_that_is_no_plain_text_splits_no_file() {
    for placeholder in ["a \"quote\"", "it's", "back\\slash", "two\nlines"] {
        for (format, text) in [
            (Format::Json, r#"{"token":"ghp_0123456789"}"#),
            (Format::Toml, "token = 'ghp_0123456789'"),
            (Format::Yaml, "token: ghp_0123456789"),
        ] {
            let split = Redactor::new(placeholder).split(format, text.as_bytes());
            let merged = split.and_then(|split| {
                Redactor::new(placeholder).merge(format, &split.public, Some(text.as_bytes()), &|_| true)
            });
            assert!(
                merged.is_none_or(|merged| merged.whole == text.as_bytes()),
                "{placeholder} {text}"
            );
        }
    }
}

#[test]
fn deep_and_large_files_are_refused() {
    for count in [101, 127, 200, 100_000] {
        let text = format!("{{\"a\":{}{}}}", "[".repeat(count), "]".repeat(count));
        assert!(REDACTOR.split(Format::Json, text.as_bytes()).is_none());
        let text = format!("a = {}{}", "[".repeat(count), "]".repeat(count));
        assert!(REDACTOR.split(Format::Toml, text.as_bytes()).is_none());
        let text = format!("{} = 1", vec!["a"; count].join("."));
        assert!(REDACTOR.split(Format::Toml, text.as_bytes()).is_none());
        let text: String = (0..=count.min(1000))
            .map(|depth| format!("{}a:\n", " ".repeat(depth)))
            .collect();
        assert!(REDACTOR.split(Format::Yaml, text.as_bytes()).is_none());
    }
    let text = format!("{{\"a\":{}{}}}", "[".repeat(100), "]".repeat(100));
    assert_exact(Format::Json, &text);
    for format in ALL {
        assert!(
            REDACTOR
                .split(format, " ".repeat(MAX_BYTES + 1).as_bytes())
                .is_none()
        );
    }
    let text = format!("[{}0]", "0,".repeat(tree::MAX_NODES));
    assert!(REDACTOR.split(Format::Json, text.as_bytes()).is_none());
}

#[test]
fn hostile_files_take_no_time() {
    let deep = |inner: &str| {
        let name = "n".repeat(20_000);
        format!("{}{inner}{}", format!("{{\"{name}\":").repeat(90), "}".repeat(90))
    };
    let many =
        |count: usize, one: &dyn Fn(usize) -> String| (0..count).map(one).collect::<Vec<_>>().join(",");
    let json = [
        deep(&format!(
            "{{{}}}",
            many(5_000, &|n| format!("\"key{n}_key\":\"x\""))
        )),
        deep(&format!("[{}]", many(4_000, &|n| format!("{{\"a\":{n}}}")))),
        format!("{{{}}}", many(4_000, &|n| format!("\"{n}-key\":\"x\""))),
        // Many secrets that begin like much of the public text.
        format!(
            "{{{},\"z\":\"{}\"}}",
            many(2_500, &|n| format!("\"{n}-key\":\"aaaaaaaaaaaa{n}\"")),
            "a".repeat(1 << 13)
        ),
        format!(
            "{{\"key\":\"{}b\",\"z\":\"{}\"}}",
            "a".repeat(1 << 15),
            "a".repeat(1 << 13)
        ),
        format!("[\"{}\"]", "://".repeat(1 << 15)),
        format!("[\"{}\"]", "://a:".repeat(1 << 14)),
        format!("[\"{}\"]", "--token ".repeat(1 << 15)),
        format!("[\"{}\"]", "a=(".repeat(1 << 15)),
        format!("[{}]", many(5_000, &|_| "\"--token\"".to_owned())),
        format!("[\"{}", "\\".repeat(1 << 15)),
        format!("{{\"env\":{}\"x\"{}}}", "[".repeat(90), "]".repeat(90)),
    ];
    let toml = [
        (0..4_000)
            .map(|n| format!("a.k{n}.key = 'x'\n"))
            .collect::<String>(),
        (0..2_000).map(|n| format!("[[key]]\nkey{n} = 'x'\n")).collect(),
        format!("a = [{}]", many(4_000, &|_| "'ghp_0123456789'".to_owned())),
        format!("a = [{}1]", "#\n".repeat(1 << 14)),
    ];
    let yaml = [
        (0..4_000).map(|n| format!("k{n}-key: x\n")).collect::<String>(),
        format!("a:\n{}", "  - ghp_0123456789\n".repeat(4_000)),
        format!("a:{}", "\n".repeat(1 << 14)),
        format!("account:\n{}", "  - x\n".repeat(4_000)),
    ];
    let all = [
        (Format::Json, &json[..]),
        (Format::Toml, &toml),
        (Format::Yaml, &yaml),
    ];
    for (format, text) in all
        .into_iter()
        .flat_map(|(format, texts)| texts.iter().map(move |text| (format, text)))
    {
        let start = Instant::now();
        if let Some(parted) = REDACTOR.split(format, text.as_bytes()) {
            REDACTOR.merge(format, &parted.public, None, &|_| true).unwrap();
            REDACTOR
                .merge(format, &parted.public, Some(text.as_bytes()), &|_| false)
                .unwrap();
        }
        let sample: String = text.chars().take(60).collect();
        assert!(
            start.elapsed() < Duration::from_secs(20),
            "{:?} {sample}",
            start.elapsed()
        );
    }
}

#[test]
fn cut_fixtures_do_not_panic() {
    for (format, text) in [
        (Format::Json, CLAUDE),
        (Format::Json, SETTINGS),
        (Format::Toml, CODEX),
        (Format::Yaml, HOSTS),
    ] {
        for end in 0..text.len() {
            let cut = text.as_bytes().get(..end).unwrap();
            if let Some(parted) = REDACTOR.split(format, cut) {
                let joined = REDACTOR
                    .merge(format, text.as_bytes(), Some(cut), &|_| false)
                    .expect("joined");
                assert!(joined.missing.is_empty());
                REDACTOR
                    .merge(format, &parted.public, Some(text.as_bytes()), &|_| false)
                    .expect("joined");
                REDACTOR
                    .merge(format, &parted.public, None, &|_| true)
                    .expect("joined");
            }
        }
    }
}
