//! The file of gh, and the supported part of YAML.

use super::fixtures::HOSTS;
use super::*;

const YAML: Format = Format::Yaml;

#[test]
fn nothing_secret_is_public() {
    let text = public(YAML, HOSTS);
    for secret in ["gho_", "short", "aaaaaa", "bbbbbb", "# who"] {
        assert!(!text.contains(secret), "{secret} in {text}");
    }
    assert!(text.contains("            oauth_token: '(withheld by its owner)'\n"));
    assert!(text.contains("    account: '(withheld by its owner)'\n    scopes:\n        - repo\n"));
    assert!(text.starts_with("# written by gh\n"));
}

#[test]
fn unchanged_files_come_back() {
    assert_exact(YAML, HOSTS);
    assert_exact(YAML, HOSTS.trim_end());
    assert_exact(YAML, &format!("---\n\n{HOSTS}\n# end"));
    assert_exact(
        YAML,
        "account:   \n  a: 1  \n\n  # c\n  key:\n    - x\nb:   'y'  \nkey: \"a b\" \nempty:\n",
    );
    assert_exact(YAML, "env:\n  A: x\n  B:\n    - y1\n");
    assert_exact(YAML, "- a\n- ghp_0123456789abc\n");
    assert_exact(YAML, "");
    assert_exact(YAML, "# nothing");
    let secrets = parted(YAML, HOSTS).secrets;
    assert_eq!(secrets[1].raw, b"'short'");
    assert_eq!(secrets[3].key, ["enterprise.example.org", "account"]);
    assert_eq!(
        secrets[3].raw,
        b"\n        # who\n        id: aaaaaa-1\n\n        mail: bbbbbb-2"
    );
}

#[test]
fn refreshed_tokens_are_kept() {
    let live = HOSTS
        .replace("gho_zyx", "gho_new")
        .replace("id: aaaaaa-1", "id: cccccc-3")
        .replace("https", "ssh");
    let (whole, missing, lost) = restored(YAML, HOSTS, Some(&live));
    assert_eq!(whole, live.replace("ssh", "https"));
    assert!(missing.is_empty() && lost.is_empty());
}

#[test]
fn a_login_meanwhile_is_kept() {
    let old = "a.example:\n    user: x\n    users:\n        x:\n            n: 1\nb.example:\n    user: y";
    let live = "a.example:\n  oauth_token: gho_abcdefgh1\n  users:\n    x:\n      oauth_token: gho_abcdefgh2\n\
                b.example:\n    account:\n        id: 3\nc.example:\n    oauth_token: gho_abcdefgh4\n";
    let (whole, missing, lost) = restored(YAML, old, Some(live));
    assert_eq!(
        whole,
        "a.example:\n    user: x\n    users:\n        x:\n            n: 1\n            \
         oauth_token: gho_abcdefgh2\n    oauth_token: gho_abcdefgh1\nb.example:\n    user: y\n    \
         account:\n        id: 3"
    );
    assert!(missing.is_empty());
    assert_eq!(lost, ["c.example/oauth_token"]);
}

#[test]
fn a_block_must_stay_below_its_name() {
    let old = "a:\n    b:\n        account:\n            id: 1\n";
    let live = "a:\n b:\n  account:\n   id: 1\n   evil: 2\n";
    let (whole, missing, lost) = restored(YAML, old, Some(live));
    assert_eq!(whole, "a:\n    b:\n");
    assert_eq!(
        (missing, lost),
        (vec!["a/b/account".to_owned()], vec!["a/b/account".to_owned()])
    );
}

#[test]
fn without_a_live_file_members_go() {
    let (whole, missing, lost) = restored(YAML, HOSTS, None);
    let expected = "\
# written by gh
github.com:
    git_protocol: https
    users:
        octocat:
        other:
    user: octocat

enterprise.example.org:
    user: octocat
    scopes:
        - repo
        - gist
";
    assert_eq!(whole, expected);
    assert_eq!(missing.len(), 4);
    assert!(lost.is_empty());
    assert_exact(YAML, &whole);
}

#[test]
fn other_syntax_is_refused() {
    for text in [
        "a: &x 1\n",
        "a: *x\n",
        "a: [1]\n",
        "a: {b: 1}\n",
        "a: |\n  x\n",
        "a: >\n  x\n",
        "\ta: 1\n",
        "a:\tb\n",
        "a: 1\r\n",
        "a: b # c\n",
        "a: b: c\n",
        "a: 'it''s'\n",
        "a: \"\\n\"\n",
        "a: 'x' y\n",
        "a: 1\na: 2\n",
        "a: 1\n---\nb: 1\n",
        "a:\n- b\n",
        "a:\n  - b: 1\n",
        "a:\n  - b:\n",
        "a:\n  - - b\n",
        "a: 1\n  b: 2\n",
        "a:\n    b: 1\n  c: 2\n",
        " a: 1\n",
        "a\n",
        "'a': 1\n",
        "? a\n",
        "<<: x\n",
        "a: !x y\n",
        "a: b\n  c\n",
        "a: %x\n",
        "a: @x\n",
        "a: `x`\n",
        "a:\n  b\n",
        "...\n",
        "a: '\n",
        "a: \"\n",
        "-\n",
        "a: - b\n",
        "a: ---\n",
        "# ghp_0123456789abc\n",
        "a: 1\u{85}\n",
        "\u{feff}a: 1\n",
    ] {
        assert!(REDACTOR.split(YAML, text.as_bytes()).is_none(), "{text:?}");
    }
}
