//! Which values of settings look like secrets. What is in doubt is hidden.

use serde_json::Value;

use crate::diff::HIDDEN;
use crate::redact::{CREDENTIAL_WORDS, TOKEN_PREFIXES, WITHHELD};

/// Parts of keys whose values are hidden besides: what is shown may be less than what is stored.
const PRIVATE: &str = "private";

/// The value of an environment variable counts, too: that is where secrets are handed over.
pub(super) fn is_secret_key(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    let is_variable = |part: &str| {
        let part = part.trim_end_matches("[]");
        part == "env" || part == "set" || part.ends_with("environment") || part.ends_with("headers")
    };
    let mut words = CREDENTIAL_WORDS.iter().chain([&PRIVATE]);
    words.any(|part| key.contains(part)) || key.split('.').any(is_variable)
}

/// Whether what follows in a list is a secret.
pub(super) fn is_secret_flag(text: &str) -> bool {
    text.starts_with('-') && !text.contains('=') && is_secret_key(text)
}

/// Without what looks secret.
pub(super) fn redacted(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let each = map.iter().map(|(key, value)| {
                let value = if is_secret_key(key) && value.as_str() != Some(WITHHELD) {
                    Value::from(HIDDEN)
                } else {
                    redacted(value)
                };
                (key.clone(), value)
            });
            Value::Object(each.collect())
        }
        Value::Array(list) => {
            // What follows a flag such as `--token` is its value.
            let mut follows = false;
            let each = list.iter().map(|value| {
                let value_of_flag = std::mem::replace(&mut follows, false);
                follows = value.as_str().is_some_and(is_secret_flag);
                if value_of_flag {
                    Value::from(HIDDEN)
                } else {
                    redacted(value)
                }
            });
            each.collect()
        }
        Value::String(text) if text.split_ascii_whitespace().any(looks_secret) || names_secret(text) => {
            Value::from(HIDDEN)
        }
        other => other.clone(),
    }
}

/// Whether a command line hands over something that it calls a secret.
fn names_secret(text: &str) -> bool {
    let is_flag_alone = text.starts_with('-') && !text.contains(char::is_whitespace) && !text.contains('=');
    !is_flag_alone && (text.contains(char::is_whitespace) || text.contains("--")) && is_secret_key(text)
}

/// Whether a word is or holds a token by its looks: a known beginning, a password in an address, or long and made of letters and digits in
/// a mix.
fn looks_secret(word: &str) -> bool {
    let has_password = word
        .split_once("://")
        .and_then(|(_, rest)| rest.split('/').next())
        .is_some_and(|host| host.contains('@'));
    let parts = word.split(|letter: char| "=:,;\"'`<>(){}[]$".contains(letter));
    has_password || parts.filter(|part| !part.is_empty()).any(is_token)
}

fn is_token(part: &str) -> bool {
    let is_known = TOKEN_PREFIXES.iter().any(|prefix| part.starts_with(prefix)) && part.len() >= 8;
    let has = |fits: fn(&u8) -> bool| part.as_bytes().iter().any(fits);
    // A path has digits now and then, but parts that are words.
    let longest = part.split('/').map(str::len).max().unwrap_or_default();
    let is_mixed = has(u8::is_ascii_digit)
        && has(u8::is_ascii_alphabetic)
        && part
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_-+./~%".contains(&byte));
    is_known || (longest >= 20 && is_mixed)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{HIDDEN, redacted};

    #[test]
    fn secrets_are_hidden_however_they_are_written() {
        for hidden in [
            "curl -H 'Authorization: Bearer sk-ant-api03-abcdef' u",
            "export T=\"ghp_0123456789abcdefghij\";",
            "dGhpc2lzYXNlY3JldDEyMzQ1Njc4ODk=",
            "ya29.a0AfH6SMBx0123456789",
            "SG.abcdefghij0.klmnopqrst1",
            "wJalrXUtnFEMI/K7MDENGbPxRfiCYEXAMPLEKEY1",
            "https://user:hunter2@example.org/x",
            "tool --token hunter2",
            "tool --api-key=hunter2",
        ] {
            assert_eq!(redacted(&json!(hidden)), json!(HIDDEN), "{hidden}");
        }
        assert_eq!(
            redacted(&json!(["--token", "pw", "x"])),
            json!(["--token", HIDDEN, "x"])
        );
        assert_eq!(
            redacted(&json!({"http_headers": {"X": "y"}})),
            json!({"http_headers": HIDDEN})
        );
        for shown in [
            "Bash(npm run build)",
            "/usr/local/lib/node_modules/tool/bin/x2",
            "npx -y @scope/server-filesystem",
            "bypassPermissions",
            "https://example.org/mcp",
        ] {
            assert_eq!(redacted(&json!(shown)), json!(shown), "{shown}");
        }
    }
}
