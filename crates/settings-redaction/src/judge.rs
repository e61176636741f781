//! The one judge of whether a text holds a secret: by its form, and by the place in which a program takes one.

use super::heuristics::{Strictness, is_auth, is_scheme, is_secret_key, looks_secret, sets_credential};
use super::text::{Program, redact_text, secret_arguments};

/// Returns true if a string holds something that looks like a secret.
///
/// A command line holds one where its program takes one, as [`redact_text`] finds it; a reference such as `$TOKEN`, or the `*` of a pattern, is
/// none for storage.
///
/// ```
/// use settings_redaction::{Strictness, is_secret};
///
/// assert!(is_secret("curl -H 'Authorization: Bearer abc'", Strictness::Stored));
/// assert!(is_secret("Bash(curl -u bob:swordfish https://x)", Strictness::Stored));
/// assert!(!is_secret("npm run build", Strictness::Shown));
/// // Too short to be certain, but not shown.
/// assert!(!is_secret("SG.abcdefghij0.klmnopq1", Strictness::Stored));
/// assert!(is_secret("SG.abcdefghij0.klmnopq1", Strictness::Shown));
/// ```
#[must_use]
pub fn is_secret(text: &str, strictness: Strictness) -> bool {
    const HIDDEN: &str = "\0";
    looks_secret(text, strictness)
        || match strictness {
            Strictness::Stored => {
                let words: Vec<&str> = text.split_whitespace().collect();
                secret_arguments(Program::default(), &words).contains(&true)
            }
            Strictness::Shown => redact_text(text, HIDDEN).contains(HIDDEN),
        }
}

/// Returns true if the element of a list behind `flag` is a secret, for display.
///
/// ```
/// use settings_redaction::is_secret_argument;
///
/// assert!(is_secret_argument("--auth", "swordfish"));
/// assert!(!is_secret_argument("--auth", "basic"));
/// assert!(!is_secret_argument("--port", "8080"));
/// ```
#[must_use]
pub fn is_secret_argument(flag: &str, value: &str) -> bool {
    flag.starts_with('-')
        && !flag.contains('=')
        && is_secret_key(flag)
        && !(is_auth(flag) && is_scheme(value))
}

/// Returns true if a comment in a settings file holds a secret, or a setting of a credential that was turned into a comment.
pub(super) fn is_secret_comment(comment: &str) -> bool {
    is_secret(comment, Strictness::Stored) || comment.split(['#', '{', '}', ',']).any(sets_credential)
}
