//! Recognition of settings values that look like secrets. Doubtful values are hidden.

use serde_json::Value;

use crate::diff::HIDDEN;
use crate::model::WITHHELD;
use settings_redaction::{Strictness, is_secret, is_secret_argument, is_secret_key};

/// Returns true if the next element of a list is a secret.
pub(super) fn is_secret_flag(text: &str) -> bool {
    text.starts_with('-') && !text.contains('=') && is_secret_key(text)
}

/// Returns the value with everything that looks secret replaced.
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
            let mut flag = "";
            let each = list.iter().map(|value| {
                let text = value.as_str().unwrap_or_default();
                if is_secret_argument(std::mem::replace(&mut flag, text), text) {
                    Value::from(HIDDEN)
                } else {
                    redacted(value)
                }
            });
            each.collect()
        }
        Value::String(text) if is_secret(text, Strictness::Shown) => Value::from(HIDDEN),
        other => other.clone(),
    }
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
            "https://example.org/mcp?token=hunter2",
            "01234567890123456789012345678901",
        ] {
            assert_eq!(redacted(&json!(hidden)), json!(HIDDEN), "{hidden}");
        }
        assert_eq!(
            redacted(&json!(["--token", "pw", "x"])),
            json!(["--token", HIDDEN, "x"])
        );
        assert_eq!(
            redacted(&json!(["--auth", "pw", "--auth", "basic", "-p", "8080"])),
            json!(["--auth", HIDDEN, "--auth", "basic", "-p", "8080"])
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
