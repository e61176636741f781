//! Removed and added members: the text around them stays valid.

use super::*;

const JSON: Format = Format::Json;

/// Returns the old text without the withheld values.
fn emptied(text: &str) -> String {
    let (whole, ..) = restored(JSON, text, None);
    assert!(
        serde_json::from_str::<serde_json::Value>(&whole).is_ok(),
        "{whole}"
    );
    assert_exact(JSON, text);
    whole
}

#[test]
fn members_go_from_minified_objects() {
    for (text, expected) in [
        (r#"{"key":"x","a":1,"b":2}"#, r#"{"a":1,"b":2}"#),
        (r#"{"a":1,"key":"x","b":2}"#, r#"{"a":1,"b":2}"#),
        (r#"{"a":1,"b":2,"key":"x"}"#, r#"{"a":1,"b":2}"#),
        (r#"{"key":"x"}"#, "{}"),
        (r#"{"key":"x","a-key":"y"}"#, "{}"),
        (r#"{"key":"x","a":1,"a-key":"y"}"#, r#"{"a":1}"#),
        (
            r#"{"key":"x","a-key":"y","a":1,"b-key":"y","c-key":{},"d-key":[1]}"#,
            r#"{"a":1,"c-key":{}}"#,
        ),
        (r#"{"b":{"key":"x"},"key":"x"}"#, r#"{"b":{}}"#),
    ] {
        assert_eq!(emptied(text), expected, "{text}");
    }
}

#[test]
fn members_go_from_pretty_objects() {
    for (text, expected) in [
        ("{\n  \"key\": \"x\",\n  \"a\": 1\n}\n", "{\n  \"a\": 1\n}\n"),
        (
            "{\n  \"a\": 1,\n  \"key\": \"x\",\n  \"b\": 1\n}\n",
            "{\n  \"a\": 1,\n  \"b\": 1\n}\n",
        ),
        ("{\n  \"a\": 1,\n  \"key\": \"x\"\n}\n", "{\n  \"a\": 1\n}\n"),
        (
            "{\n  \"a\": 1,\n  \"key\": \"x\",\n  \"b-key\": \"y\"\n}\n",
            "{\n  \"a\": 1\n}\n",
        ),
        ("{\n  \"key\": \"x\"\n}\n", "{}\n"),
        ("{ \"key\" : \"x\" , \"a\" : 1 }", "{ \"a\" : 1 }"),
        ("{ \"a\" : 1 , \"key\" : \"x\" }", "{ \"a\" : 1 }"),
    ] {
        assert_eq!(emptied(text), expected, "{text}");
    }
}

#[test]
fn elements_go_from_lists() {
    for (text, expected) in [
        (r#"["--token","x"]"#, r#"["--token"]"#),
        (r#"["ghp_0123456789","x"]"#, r#"["x"]"#),
        (r#"["a", "ghp_0123456789", "x"]"#, r#"["a", "x"]"#),
        ("[\n \"ghp_0123456789\"\n]", "[]"),
        ("[\n [\"ghp_0123456789\"],\n \"ghp_0123456789\"\n]", "[\n []\n]"),
    ] {
        assert_eq!(emptied(text), expected, "{text}");
    }
}

#[test]
fn new_credentials_are_added_in_style() {
    for (old, live, expected) in [
        ("{}", r#"{"key": "x"}"#, r#"{"key": "x"}"#),
        (r#"{"a":1}"#, r#"{"key": "x"}"#, r#"{"a":1,"key":"x"}"#),
        (
            "{\n\t\"a\": 1\n}\n",
            r#"{"key":"x","b-key":"y"}"#,
            "{\n\t\"a\": 1,\n\t\"key\": \"x\",\n\t\"b-key\": \"y\"\n}\n",
        ),
        (
            "{\n  \"a-key\": \"z\"\n}\n",
            r#"{"key":"x"}"#,
            "{\n  \"key\": \"x\"\n}\n",
        ),
        (
            "{\n  \"a\": 1,\n  \"a-key\": \"z\"\n}\n",
            r#"{"key":"x"}"#,
            "{\n  \"a\": 1,\n  \"key\": \"x\"\n}\n",
        ),
        (
            r#"{"a":{"b":1}}"#,
            r#"{"a":{"key":"x"},"key":"y"}"#,
            r#"{"a":{"b":1,"key":"x"},"key":"y"}"#,
        ),
        (
            r#"{"a":1}"#,
            r#"{"k\u0065y":["x"]}"#,
            r#"{"a":1,"k\u0065y":["x"]}"#,
        ),
        (r#"[{"a":1}]"#, r#"[{"key":"x"}]"#, r#"[{"a":1,"key":"x"}]"#),
    ] {
        assert_eq!(restored(JSON, old, Some(live)).0, expected, "{old} {live}");
    }
}

#[test]
fn new_credentials_need_a_place() {
    for (old, live) in [
        (r#"{"a":[]}"#, r#"{"a":{"key":"x"}}"#),
        (r#"{"a":1}"#, r#"{"a":{"key":"x"}}"#),
        (r#"{}"#, r#"{"a":{"key":"x"}}"#),
        (r#"{"a":{"key":null}}"#, r#"{"a":{"key":"x"}}"#),
        (r#"{"a":{"k\u0065y":""}}"#, r#"{"a":{"key":"x"}}"#),
    ] {
        let (whole, missing, lost) = restored(JSON, old, Some(live));
        assert_eq!(
            (whole.as_str(), missing, lost),
            (old, vec![], vec!["a/key".to_owned()])
        );
    }
    let (whole, _, lost) = restored(JSON, "{}", Some(r#"{"env":{},"x":"ghp_0123456789"}"#));
    assert_eq!((whole.as_str(), lost), ("{}", vec!["x".to_owned()]));
}

#[test]
fn a_placeholder_in_the_live_file_is_a_secret() {
    let text = format!(r#"{{"a":"{WITHHELD}","key":"{WITHHELD}","b":[ "(withheld\u0020by its owner)" ]}}"#);
    assert_eq!(keys(JSON, &text), ["a", "key", "b/0"]);
    assert_exact(JSON, &text);
    assert_exact(Format::Toml, &format!("a = '{WITHHELD}'\n"));
    assert_exact(Format::Yaml, &format!("a: {WITHHELD}\nb: \"{WITHHELD}\"\n"));
    // Restored from a restored file.
    let (whole, missing, _) = restored(JSON, &text, Some(r#"{"a":1,"key":2}"#));
    assert_eq!(
        (whole.as_str(), missing.len()),
        (r#"{"b":[ ]}"#.replace("[ ]", "[]").as_str(), 3)
    );
}

#[test]
fn a_credential_place_must_be_one_on_both_sides() {
    let old = r#"{"token":"x"}"#;
    let (whole, missing, lost) = restored(JSON, old, Some(r#"{"token":{"hooks":[{"command":"evil"}]}}"#));
    assert_eq!(
        (whole.as_str(), missing, lost),
        ("{}", vec!["token".to_owned()], vec!["token".to_owned()])
    );
}

#[test]
fn join_needs_files_it_understands() {
    let same = |_: &Secret| true;
    assert!(REDACTOR.merge(JSON, b"{", None, &same).is_none());
    assert!(REDACTOR.merge(JSON, b"{}", Some(b"{"), &same).is_none());
    assert!(
        REDACTOR
            .merge(JSON, b"{}", Some(br#"{"key":"abcdef","a":"abcdef"}"#), &same)
            .is_none()
    );
    assert!(REDACTOR.merge(JSON, b"{}", Some(b"{}"), &same).is_some());
}
