//! Free text, such as a prompt or a command line, without what looks like a secret in it.

use super::heuristics::{Strictness, is_secret, redact_arguments};
use super::names::is_credential;

/// Returns a line of text with each word that looks like a secret replaced by `hidden`. Words are separated by single spaces in the
/// result. If the rest still looks like it passes a secret, all of it is replaced.
///
/// ```
/// use settings_redaction::redact_text;
///
/// assert_eq!(redact_text("fix the password reset", "…"), "fix the password reset");
/// assert_eq!(redact_text("use ghp_0123456789abcdef please", "…"), "use … please");
/// assert_eq!(redact_text("the password is swordfish", "…"), "the password is …");
/// assert_eq!(redact_text("curl -H 'Authorization: Bearer abc' https://x", "…"), "curl -H 'Authorization: Bearer … https://x");
/// assert_eq!(redact_text("PGPASSWORD=abc psql -h db", "…"), "PGPASSWORD=… psql -h db");
/// ```
#[must_use]
pub fn redact_text(line: &str, hidden: &str) -> String {
    let words: Vec<&str> = line.split_whitespace().collect();
    let mut shown = redact_arguments(&words, hidden);
    let mut at = 0;
    while at < words.len() {
        if let Some(value) = value_after(&words, at) {
            if let Some(word) = shown.get_mut(value) {
                hidden.clone_into(word);
            }
            at = value;
        }
        at += 1;
    }
    let is_left = shown.split(|word| word.contains(hidden)).any(|rest| {
        // The word before a hidden one names it.
        let named = rest.split_last().map_or(rest, |(_, others)| others);
        is_secret(&named.join(" "), Strictness::Stored) || is_secret(&last(rest), Strictness::Stored)
    });
    match is_left {
        true => hidden.to_owned(),
        false => shown.join(" "),
    }
}

fn last(words: &[String]) -> String {
    words.last().cloned().unwrap_or_default()
}

/// Returns the position of the word that the one at `at` says is a secret: after `password:`, `password =`, `password is`, or the scheme of an
/// `Authorization:`.
fn value_after(words: &[&str], at: usize) -> Option<usize> {
    let word = words.get(at)?;
    let name = word.trim_end_matches([':', '=']);
    let name = name.trim_start_matches(|c: char| !c.is_alphanumeric());
    let is_header = name.eq_ignore_ascii_case("authorization") || name.eq_ignore_ascii_case("cookie");
    if !is_header && !is_credential(&name.to_ascii_lowercase()) {
        return None;
    }
    let mut value = at + 1;
    if !word.ends_with([':', '=']) {
        if !matches!(words.get(value), Some(&(":" | "=" | "is"))) {
            return None;
        }
        value += 1;
    }
    let scheme = words.get(value)?.to_ascii_lowercase();
    if matches!(scheme.as_str(), "bearer" | "basic" | "token") {
        value += 1;
    }
    (value < words.len()).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::redact_text;

    #[test]
    fn ordinary_text_stays_and_secrets_do_not() {
        for plain in [
            "fix the login test",
            "Rotate the token and rename password.rs to secrets.rs",
            "rm -rf data && cargo test --workspace",
            "why is commit 4f5e6d7 failing?",
            "",
        ] {
            assert_eq!(redact_text(plain, "(hidden)"), plain);
        }
        for (text, secret) in [
            ("my key is sk-0123456789abcdefghij", "sk-0123456789"),
            ("export API_KEY=abcd1234; run", "abcd1234"),
            ("curl https://me:swordfish@example.org/x", "swordfish"),
            ("mysql --password hunter2 -e x", "hunter2"),
            ("mysql --password=hunter2 -e x", "hunter2"),
            ("password: hunter2", "hunter2"),
            ("password = hunter2", "hunter2"),
            (
                "set \"token\": \"0123456789abcdef0123456789abcdef\"",
                "0123456789abcdef",
            ),
            ("curl -H \"Authorization: Basic aGVsbG8=\"", "aGVsbG8"),
            ("docker login -u me -p hunter2secret registry", "no such thing"),
        ] {
            let shown = redact_text(text, "(hidden)");
            assert!(!shown.contains(secret), "{text}: {shown}");
        }
    }
}
