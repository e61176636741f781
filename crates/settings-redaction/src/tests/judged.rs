//! Detection of a secret by its name, its place and its looks.

use super::heuristics::follows;
use super::names::is_credential;
use super::*;

#[test]
fn formats_are_told_by_name() {
    for (name, format) in [
        (".claude.json", Some(Format::Json)),
        ("config.toml", Some(Format::Toml)),
        ("hosts.yml", Some(Format::Yaml)),
        ("a.yaml", Some(Format::Yaml)),
        ("a.jsonc", Some(Format::Json)),
        ("json", None),
        ("", None),
    ] {
        assert_eq!(Format::of(name.as_bytes()), format, "{name}");
    }
}

#[test]
fn names_of_credentials() {
    for name in [
        "oauth_token",
        "AccessToken",
        "api-key",
        "KEY",
        "x_key",
        "X-Key",
        "userID",
        "emailAddress",
        "Cookie",
    ] {
        assert!(is_credential(name), "{name}");
    }
    for name in [
        "keybindings",
        "monkey",
        "apiKeyHelper",
        "awsCredentialExport",
        "token_command",
        "model",
        "env",
    ] {
        assert!(!is_credential(name), "{name}");
    }
}

#[test]
fn strings_that_look_like_secrets() {
    for text in [
        "sk-0123456789ab",
        "use ghp_0123456789 now",
        "x=eyJhbGciOiJI;y",
        "(AKIA0123456789AB)",
        "sk_live_0123456789ab",
        "dop_v1_0123456789abcdef",
        "AGE-SECRET-KEY-1QQPQQ",
        "-----BEGIN PRIVATE KEY-----\nMC4CAQ/",
        "https://user:pass@example.org/x",
        "git clone http://x://:p@h",
        "https://ghp_0123456789@github.com",
        "aB3dE5gH7jK9mN1pQ3sT5vW7",
        "0123456789abcdef0123456789ABCDEF",
        "run --token abc",
        "run --token=abc",
        "run --api-key 'a b'",
        "run -secret-key x",
        "--password=123456",
        "curl -H \"Authorization: Bearer x\" u",
        "curl -H 'X-Api-Key: x' u",
        "curl -HAuthorization:x",
        "curl --header=Cookie:x",
        "Authorization: x",
        "Bash(API_KEY=abc curl:*)",
        "https://example.org/?a=1&access_token=x",
    ] {
        assert!(is_secret(text, Strictness::Stored), "{text}");
        assert!(is_secret(text, Strictness::Shown), "{text}");
    }
    for text in [
        "",
        "sk-short",
        "0b5c1a52-7d3e-4b52-9A43-0d8a1f1f2e11",
        "/home/user/AVeryLongNameWithDigits12/x",
        "https://example.org/a@b:c",
        "https://user@example.org",
        "git@github.com:a/b.git",
        "claude-sonnet-4-5-20250929",
        "alllowercasewordwith1234567890",
        "0123456789abcdef0123456789abcde",
        "run --max-tokens 100",
        "run --token",
        "run --token --verbose",
        "curl -H 'Accept: x'",
        "-H",
        "export API_KEY=$OTHER",
        "max_tokens=100",
        "Bash(git push:*)",
        "WebFetch(domain:example.org)",
        "://",
        "://@",
        "--",
        "-=",
        "é://ü@ß",
    ] {
        assert!(!is_secret(text, Strictness::Stored), "{text}");
    }
}

#[test]
fn what_is_stored_may_be_hidden_on_display() {
    for (text, is_hidden) in [
        ("sk-short", true),
        ("alllowercasewordwith1234567890", true),
        ("https://user@example.org", true),
        ("export API_KEY=$OTHER", true),
        ("run --max-tokens 100", true),
        ("claude-sonnet-4-5-20250929", true),
        ("https://example.org/mcp", false),
        ("Bash(git push:*)", false),
        ("-H", false),
    ] {
        assert!(!is_secret(text, Strictness::Stored), "{text}");
        assert_eq!(is_secret(text, Strictness::Shown), is_hidden, "{text}");
    }
    for (user, stored, shown) in [
        ("git", false, false),
        ("me:", false, false),
        ("me:pw", true, true),
        ("ghp_01234567", true, true),
        ("0123456789abcde", false, false),
        ("0123456789abcdef", false, true),
    ] {
        assert_eq!(is_secret_user(user, Strictness::Stored), stored, "{user}");
        assert_eq!(is_secret_user(user, Strictness::Shown), shown, "{user}");
    }
}

#[test]
fn values_of_flags_in_lists() {
    for (flag, text) in [
        ("--token", "x"),
        ("-api-key", "x"),
        ("--header", "Authorization: x"),
        ("-H", "X-Api-Key:x"),
    ] {
        assert!(follows(flag, text), "{flag} {text}");
    }
    for (flag, text) in [
        ("--token", "--other"),
        ("--token=x", "y"),
        ("token", "x"),
        ("--max-tokens", "100"),
        ("-H", "Accept: x"),
        ("--", "x"),
        ("", "x"),
    ] {
        assert!(!follows(flag, text), "{flag} {text}");
    }
}

#[test]
fn what_is_judged_secret() {
    for (text, expected) in [
        (
            r#"{"maxTokens":5,"hasOauth":true,"token":null,"key":"","secret":[],"account":{}}"#,
            &[][..],
        ),
        (
            r#"{"a":{"Env":{"A":"x","n":1,"b":{"c":["y"]}}}}"#,
            &["a/Env/A", "a/Env/b/c/0"],
        ),
        (
            r#"{"shellEnvironment":{"A":""},"extraHeaders":{"B":"x"}}"#,
            &["extraHeaders/B"],
        ),
        (
            r#"{"env":{"A":"/usr/bin/vi","B":"https://x.org:8/v1","C":"31999","D":"true","E":"~/x"}}"#,
            &[],
        ),
        (
            r#"{"env":{"A":"/a?b","B":"https://u@x.org","C":"319990","D":"True","E":"/x/aB3456789012345","F":"https://x.org/?k=1"}}"#,
            &["env/A", "env/B", "env/C", "env/D", "env/E", "env/F"],
        ),
        (
            r#"{"tokens":["a","b"],"x":[{"key":"c"}]}"#,
            &["tokens", "x/0/key"],
        ),
        (
            r#"{"projects":{"/oauth":{"a":1},"token":"x"}}"#,
            &["projects/token"],
        ),
        (r#"{"apiKeyHelper":"get-key"}"#, &[]),
        (r#"{"apiKeyHelper":"get --token x"}"#, &["apiKeyHelper"]),
    ] {
        assert_eq!(keys(Format::Json, text), expected, "{text}");
    }
}

#[test]
fn variables_named_key_are_credentials() {
    let old = r#"{"env":{"MY_KEY":"aaaaaa","OTHER":"bbbbbb","sub":{"KEYS":"cccccc"}}}"#;
    let live = r#"{"env":{"MY_KEY":"xxxxxx","OTHER":"yyyyyy","sub":{"KEYS":"zzzzzz"}}}"#;
    let (whole, missing, _) = restored(Format::Json, old, Some(live));
    assert_eq!(whole, r#"{"env":{"MY_KEY":"xxxxxx","sub":{}}}"#);
    assert_eq!(missing, ["env/OTHER", "env/sub/KEYS"]);
}

#[test]
fn what_only_sounds_like_a_credential_is_not_kept() {
    let old = r#"{"env":{},"amp.mcpServers":{},"mcpServers":{"corp":{"url":"https://a"}}}"#;
    let live = r#"{"env":{"AWS_SHARED_CREDENTIALS_FILE":"/tmp/evil","LESSKEY_CONTENT":"x","GIT_CONFIG_KEY_0":"x","A_TOKEN":"/x"},
        "amp.mcpServers":{"token-tools":{"url":"https://evil"}},"accountHooks":{"a":"b"},
        "mcpServers":{"corp":{"url":"https://a","oauth":{"authServerMetadataUrl":"https://evil"}}}}"#;
    let (whole, missing, _) = restored(Format::Json, old, Some(live));
    assert_eq!(whole, old);
    assert!(missing.is_empty());
    let old = "cli_auth_credentials_store = \"keyring\"\n[mcp_servers.a]\nbearer_token_env_var = \"A\"\n";
    let live = old.replace("keyring", "file").replace("\"A\"", "\"OTHER\"");
    assert_eq!(restored(Format::Toml, old, Some(&live)).0, old);
}

#[test]
fn command_lines_with_secrets_are_not_stored() {
    for line in [
        "Bash(curl -u bob:MARK https://x)",
        "Bash(sshpass -p MARK ssh h:*)",
        "Bash(mysql -u root -pMARK db:*)",
        "Bash(docker login -u a -p MARK)",
        "Bash(redis-cli -a MARK)",
        "Bash(PGPASSWORD=MARK psql:*)",
        "mysql -pMARK",
        "sh -c 'curl -su me:MARK x'",
        "sudo -u me redis-cli -a MARK ping",
        "java -Ddb.pass=MARK",
        "openssl enc -pass pass:MARK",
        "tool --pass MARK",
    ] {
        assert!(is_secret(line, Strictness::Stored), "{line}");
        assert!(is_secret(line, Strictness::Shown), "{line}");
        assert!(redact_text(line, "…").contains('…'), "{line}");
    }
    for line in [
        "Bash(curl -u bob:* https://x)",
        "Bash(mysql -u root -p:*)",
        "Bash(mysql -u root -p shop)",
        "mysql -p\"$PASSWORD\" shop",
        "curl -u \"$USER:$TOKEN\" https://x",
        "sshpass -p $PASSWORD ssh h",
        "docker run -p 8080:8080 -u jenkins:docker image",
        "ssh -p 8080 host",
        "serve -p 8080",
        "claude -p 'fix the login'",
        "redis-cli -h db ping",
        "git push -u origin:main",
        "DB_PASS=$DB_PASS make",
        "x264 --pass 2 a",
        "token_count = 5",
        "cargo test gcloud.rs",
        "pwd",
    ] {
        assert!(!is_secret(line, Strictness::Stored), "{line}");
    }
}

#[test]
fn arguments_beside_their_command_are_judged_by_it() {
    for (text, secrets) in [
        (
            r#"{"a": {"command": "sshpass", "args": ["-p", "MARK", "ssh"]}}"#,
            1,
        ),
        (
            r#"{"a": {"args": ["-u", "root", "-pMARK"], "command": "/usr/bin/mysql"}}"#,
            1,
        ),
        (
            r#"{"a": {"command": "docker", "args": ["exec", "db", "redis-cli", "-a", "MARK"]}}"#,
            1,
        ),
        (
            r#"{"a": {"command": "sudo", "args": ["curl", "-u", "me:MARK", "x"]}}"#,
            1,
        ),
        (
            r#"{"a": {"command": "npx", "args": ["-p", "8080", "-a", "all", "-u", "me:staff"]}}"#,
            0,
        ),
        (
            r#"{"a": {"command": "docker", "args": ["run", "-p", "8080:80", "mysql"]}}"#,
            0,
        ),
        (r#"{"a": {"command": "mysql", "other": ["-pMARK"]}}"#, 0),
        (r#"{"allow": ["Bash(mysql:*)", "Bash(mysql -pMARK)", "-p"]}"#, 1),
    ] {
        let parted = parted(Format::Json, text);
        assert_eq!(parted.secrets.len(), secrets, "{text}");
        let is_hidden = secrets == 0 || !String::from_utf8_lossy(&parted.public).contains("MARK");
        assert!(is_hidden, "{text}");
        assert_exact(Format::Json, text);
    }
    let text =
        "[mcp_servers.a]\ncommand = \"sshpass\"\nargs = [\"-p\", \"MARK\", \"ssh\", \"-p\", \"8080\"]\n";
    assert!(!public(Format::Toml, text).contains("MARK"));
    assert_exact(Format::Toml, text);
}
