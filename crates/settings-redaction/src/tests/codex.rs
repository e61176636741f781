//! The file of codex, and what else TOML allows.

use super::fixtures::CODEX;
use super::*;

const TOML: Format = Format::Toml;

#[test]
fn nothing_secret_is_public() {
    let text = public(TOML, CODEX);
    for secret in [
        "plainlookingvalue",
        "s3arch",
        "secrecy",
        "aaaaaa",
        "bbbbbb",
        "cccccc",
        "dddddd",
        "eeeeee",
        "active = true",
    ] {
        assert!(!text.contains(secret), "{secret} in {text}");
    }
    for kept in [
        "# near",
        "# the usual one",
        "N = 3",
        "trust_level = \"trusted\"",
        "notify-send",
        "name = \"other\"",
    ] {
        assert!(text.contains(kept), "no {kept} in {text}");
    }
    assert!(toml_edit::Document::parse(text).is_ok());
}

#[test]
fn keys_are_paths() {
    assert_eq!(
        keys(TOML, CODEX),
        [
            "mcp_servers/search/args/3",
            "mcp_servers/search/env/SEARCH_TOKEN",
            "mcp_servers/search/env/SEARCH_REGION",
            "mcp_servers/inline/env/A_SECRET",
            "mcp_servers/inline/env/B",
            "mcp_servers/inline/http_headers/X-Key",
            "account/id",
            "account/active",
            "profiles/work/keys/0/api_key",
        ]
    );
}

#[test]
fn unchanged_files_come_back() {
    assert_exact(TOML, CODEX);
    assert_exact(TOML, &CODEX.replace('\n', "\r\n"));
    assert_exact(TOML, CODEX.trim_end());
    assert_exact(
        TOML,
        "a.token = 'x1'\nb = 1\na.key = 'x2'\n[t]\nq.env = {A.B = 'x3', A.C = 'x4',}\n[s]\n[t.env]\nz='x5'",
    );
    assert_exact(TOML, "");
    // Tables need not be written in one place.
    assert_exact(
        TOML,
        "[a.b]\nkey = '1'\n[c]\nkey = '2'\n[a]\nkey = '3'\n[[d]]\nkey = '4'\n[a.e]\nkey = '5'\n",
    );
}

#[test]
fn poison_is_gone() {
    let live = CODEX
        .replace("\"search-mcp\"", "\"evil-mcp\"")
        .replace("on-request", "never")
        .replace("s3arch-me-not", "refreshed-1")
        .replace("bbbbbb-2", "xxxxxx-2")
        + "[mcp_servers.token]\ncommand = 'evil'\nenv = { EVIL_KEY = 'qqqqqq' }\n";
    let (whole, missing, lost) = restored(TOML, CODEX, Some(&live));
    let expected = CODEX
        .replace("s3arch-me-not", "refreshed-1")
        .replace(" B = \"bbbbbb-2\",", "");
    assert_eq!(whole, expected);
    assert_eq!(missing, ["mcp_servers/inline/env/B"]);
    assert_eq!(
        lost,
        ["mcp_servers/inline/env/B", "mcp_servers/token/env/EVIL_KEY"]
    );
}

#[test]
fn without_a_live_file_members_go() {
    for text in [
        CODEX.to_owned(),
        CODEX.replace('\n', "\r\n"),
        CODEX.trim_end().to_owned(),
    ] {
        let (whole, missing, lost) = restored(TOML, &text, None);
        assert!(!whole.contains(WITHHELD));
        assert!(toml_edit::Document::parse(whole.as_str()).is_ok());
        assert!(
            whole.contains("env = { N = 3 }") && whole.contains("\"--api-key\"]"),
            "{whole}"
        );
        assert_eq!(missing.len(), 9);
        assert!(lost.is_empty());
    }
}

#[test]
fn new_credentials_are_kept() {
    let cases = [
        (
            "a = 1\n[t]\nb = 2\n",
            "token = 'x'\na = 3\n[t]\n",
            "a = 1\ntoken = 'x'\n[t]\nb = 2\n",
        ),
        ("[t]\nb = 2", "[t]\nc-key = 'x'", "[t]\nb = 2\nc-key = 'x'"),
        (
            "[t]\n  b = 2\n[u]\n",
            "t.key = 'x'\n",
            "[t]\n  b = 2\n  key = 'x'\n[u]\n",
        ),
        (
            "[t] # t\n[u]\n",
            "t.\"a key\" = 'x'\nt.'a-key' = 'x'\n",
            "[t] # t\n'a-key' = 'x'\n[u]\n",
        ),
        (
            "[u]\r\na = 1\r\n",
            "token = [\n1]",
            "token = [\n1]\n[u]\r\na = 1\r\n",
        ),
        (
            "t = { a = 1 }\n",
            "t = { token = { b = 1 } }",
            "t = { a = 1, token = { b = 1 } }\n",
        ),
        (
            "t.a = 1\nt.b = 1\n",
            "t.key = 'x'",
            "t.a = 1\nt.b = 1\nt.key = 'x'\n",
        ),
        ("t = {}\n", "t.key = 'x'", "t = {key = 'x'}\n"),
        (
            "[[t]]\na = 1\n[[t]]\n",
            "[[t]]\n[[t]]\nkey = 'x'",
            "[[t]]\na = 1\n[[t]]\nkey = 'x'\n",
        ),
    ];
    for (old, live, expected) in cases {
        assert_eq!(restored(TOML, old, Some(live)).0, expected, "{old} {live}");
    }
    let (whole, _, lost) = restored(
        TOML,
        "[t.u]\na = 1\n",
        Some("[t]\nkey = 'x'\n[account]\nid = 1\n"),
    );
    assert_eq!(
        (whole.as_str(), lost),
        (
            "[t.u]\na = 1\n",
            vec!["account/id".to_owned(), "t/key".to_owned()]
        )
    );
}

#[test]
fn lists_with_comments_stay_valid() {
    let token = "'ghp_0123456789'";
    for text in [
        format!("a = [ # one\n  {token}, # two, too\n  'b', # three\n]\n"),
        format!("a = [\n  'b' # one\n  , # two\n  {token} # three\n]\n"),
        format!("a = [{token} # one\n]\n"),
        format!("a = ['b' # one\n, {token}]\n"),
        format!("a = [{token}, # one\n 'b', {token}, {token},\n]\n"),
        format!("a = {{ b.c = {token}, b.d = 1, e = {token}, }}\n"),
        format!("a = {{ b.c = {token} }}\n"),
    ] {
        let (whole, ..) = restored(TOML, &text, None);
        let left = toml_edit::Document::parse(whole.as_str()).unwrap_or_else(|_| panic!("{whole}"));
        assert!(
            !whole.contains(WITHHELD) && left.as_table().contains_key("a"),
            "{whole}"
        );
        assert_exact(TOML, &text);
    }
}

#[test]
fn secrets_in_comments_are_refused() {
    assert!(
        REDACTOR
            .split(TOML, b"# token was ghp_0123456789abc\na = 1\n")
            .is_none()
    );
    assert!(REDACTOR.split(TOML, b"a = 1 # ghp_0123456789abc\n").is_none());
    assert!(
        REDACTOR
            .split(TOML, b"a = [1, # ghp_0123456789abc\n2]\n")
            .is_none()
    );
    assert!(
        REDACTOR
            .split(TOML, b"'a # ghp_0123456789abc' = 1 # fine\n")
            .is_some()
    );
    // Settings that were turned into comments.
    for comment in [
        "api_key = \"swordfish\"",
        "auth.token = 'sword fish'",
        "was: password: swordfish # password: swordfish",
        "x = { model = 1, secret = \"swordfish\" }",
    ] {
        let text = format!("# {comment}\na = 1\n");
        assert!(REDACTOR.split(TOML, text.as_bytes()).is_none(), "{comment}");
    }
    let yaml = b"# oauth_token: swordfish\na: 1\n";
    assert!(REDACTOR.split(Format::Yaml, yaml).is_none());
    for comment in [
        "the token: see the documentation",
        "token = \"\"",
        "api_key = \"$API_KEY\"",
        "max_tokens = 4096",
        "env_key = \"OPENAI_API_KEY\"",
        "account = true",
    ] {
        let text = format!("# {comment}\na = 1\n");
        assert!(REDACTOR.split(TOML, text.as_bytes()).is_some(), "{comment}");
    }
}
