//! Strings that look like they hold a secret, whatever they are called.

use super::names::{CREDENTIAL, is_credential};

/// The purpose of a decision about a string, which sets its thresholds.
///
/// Every string that is a secret for [`Strictness::Stored`] is one for [`Strictness::Shown`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strictness {
    /// For storage: a secret is not stored in the archive, so a mistake loses a setting.
    Stored,
    /// For display: a mistake hides a word that `--show-secrets` shows, so doubt hides.
    Shown,
}

/// The prefixes of well-known tokens.
const PREFIXES: [&str; 26] = [
    "sk-",
    "sk_live_",
    "rk_live_",
    "whsec_",
    "ghp_",
    "gho_",
    "ghs_",
    "ghu_",
    "ghr_",
    "github_pat_",
    "xoxb-",
    "xoxp-",
    "xoxa-",
    "xoxe",
    "xapp-",
    "eyJ",
    "AKIA",
    "ASIA",
    "dop_v1_",
    "pypi-AgE",
    "AGE-SECRET-KEY-",
    "glpat-",
    "npm_",
    "ya29.",
    "AIza",
    "hf_",
];

/// Returns true if a string holds something that looks like a secret by itself: apart from the places in which programs take one.
pub(super) fn looks_secret(text: &str, strictness: Strictness) -> bool {
    like_secret(text)
        || (strictness == Strictness::Shown
            && (text.split_ascii_whitespace().any(is_doubtful) || mentions_secret(text) || is_member(text)))
}

/// Returns true if the user part of an address, which is before its `@`, is more than a name.
///
/// A user without a password may be a token: names are shorter than 16 bytes.
///
/// ```
/// use settings_redaction::{Strictness, is_secret_user};
///
/// assert!(is_secret_user("me:swordfish", Strictness::Stored));
/// assert!(!is_secret_user("git", Strictness::Shown));
/// ```
#[must_use]
pub fn is_secret_user(user: &str, strictness: Strictness) -> bool {
    const LONGEST_NAME: usize = 15;
    match user.split_once(':') {
        Some((_, password)) => !password.is_empty(),
        None => is_token(user) || (strictness == Strictness::Shown && user.len() > LONGEST_NAME),
    }
}

/// Returns true if the value of a setting of this name is hidden on display.
///
/// The values of environment variables are hidden as well: secrets are passed in them.
///
/// ```
/// use settings_redaction::is_secret_key;
///
/// assert!(is_secret_key("mcpServers.search.env.REGION"));
/// assert!(is_secret_key("apiKey"));
/// assert!(!is_secret_key("model"));
/// ```
#[must_use]
pub fn is_secret_key(key: &str) -> bool {
    is_auth(key) || has_secret_word(key)
}

/// Returns true for a key whose last part is `auth`. Its value may be a login, or only a scheme ([`is_scheme`]).
pub(super) fn is_auth(key: &str) -> bool {
    let last = key.rsplit('.').next().unwrap_or_default();
    last.trim_start_matches('-').eq_ignore_ascii_case("auth")
}

/// Returns true if the value of an `auth` names a way to log in, or switches it.
pub(super) fn is_scheme(value: &str) -> bool {
    const SCHEMES: [&str; 18] = [
        "",
        "true",
        "false",
        "yes",
        "no",
        "on",
        "off",
        "null",
        "none",
        "basic",
        "digest",
        "bearer",
        "ntlm",
        "negotiate",
        "oauth",
        "oauth2",
        "jwt",
        "password",
    ];
    SCHEMES.contains(&value.to_ascii_lowercase().as_str())
}

/// Returns true for the name of a password that is too short to be looked for in other words: `pass`, `DB_PASS`, `Pwd`.
pub(super) fn is_short_password(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let ends = ["_pass", "-pass", "_pwd", "-pwd"];
    matches!(name.as_str(), "pass" | "pwd" | "sshpass") || ends.iter().any(|end| name.ends_with(end))
}

/// Returns true if what a password's name is set to is none: the number of a pass, or the working directory.
pub(super) fn is_no_password(value: &str) -> bool {
    let is_number = value.len() <= 2 && value.bytes().all(|byte| byte.is_ascii_digit());
    is_number || value.starts_with(['/', '~', '.'])
}

fn has_secret_word(key: &str) -> bool {
    const PRIVATE: &str = "private";
    let key = key.to_ascii_lowercase();
    let is_variable = |part: &str| {
        let part = part.trim_end_matches("[]");
        part == "env" || part == "set" || part.ends_with("environment") || part.ends_with("headers")
    };
    let mut words = CREDENTIAL.iter().chain([&PRIVATE]);
    words.any(|part| key.contains(part)) || key.split('.').any(is_variable)
}

/// Returns true if a command line names a secret that it passes.
fn mentions_secret(text: &str) -> bool {
    let is_flag_alone = text.starts_with('-') && !text.contains(char::is_whitespace) && !text.contains('=');
    !is_flag_alone && (text.contains(char::is_whitespace) || text.contains("--")) && has_secret_word(text)
}

/// Returns true if a part of the string gives a value to the name of a secret, as JSON does, or `password:x`. Several words without quotes
/// are prose.
fn is_member(text: &str) -> bool {
    if !text.contains([':', '=']) {
        return false;
    }
    let is_quote = |c: char| "\"'`\\".contains(c);
    let is_around = |c: char| is_quote(c) || c.is_whitespace();
    text.split(['{', '}', '[', ']', ',', ';', '&', '?', '\n'])
        .any(|piece| {
            let Some((name, value)) = piece.split_once([':', '=']) else {
                return false;
            };
            let is_quoted = name.trim_end().ends_with(is_quote) || value.trim_start().starts_with(is_quote);
            let name = name.trim_matches(is_around).trim_start_matches('-');
            let last = name.rsplit('.').next().unwrap_or_default();
            let is_name = last
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
            let value = value.trim_matches(is_around);
            let is_prose = !is_quoted && value.contains(char::is_whitespace);
            is_name && !is_prose && is_set_secret(last, value)
        })
}

/// Returns true if a value of this name is a secret.
fn is_set_secret(name: &str, value: &str) -> bool {
    const LONGEST_NUMBER: usize = 4;
    if value.is_empty() || value.starts_with('$') || matches!(value, "true" | "false" | "null") {
        return false;
    }
    if is_auth(name) {
        return !is_scheme(value);
    }
    if is_short_password(name) {
        return !is_no_password(value);
    }
    // The number of a line or of tokens.
    let is_number = value.len() <= LONGEST_NUMBER && value.bytes().all(|byte| byte.is_ascii_digit());
    let is_position = is_number && !name.to_ascii_lowercase().contains("pass");
    names_secret(name) && !is_position && !is_count(name, value)
}

/// Returns true for the name of a credential that says so in any text. Many keys sort, map or open something.
pub(super) fn names_secret(name: &str) -> bool {
    const HARMLESS: [&str; 3] = ["key", "account", "email"];
    let lower = name.to_ascii_lowercase();
    let is_plain_key = lower.ends_with("key")
        && !is_of_secret_key(&lower)
        && !CREDENTIAL.iter().any(|word| lower.contains(word));
    is_credential(name) && !HARMLESS.contains(&lower.as_str()) && !is_plain_key
}

/// Returns true if a word before `key` makes it a secret.
pub(super) fn is_of_secret_key(word: &str) -> bool {
    const KEYS: [&str; 5] = ["api", "secret", "access", "private", "auth"];
    let word = word.to_ascii_lowercase();
    KEYS.iter().any(|kind| word.contains(kind))
}

/// Returns true if a word may hold a token or an address with a user: [`like_secret`] with lower thresholds.
fn is_doubtful(word: &str) -> bool {
    let has_user = word
        .split_once("://")
        .and_then(|(_, rest)| rest.split('/').next())
        .is_some_and(|host| host.contains('@'));
    let mut parts = word.split(|letter: char| "=:,;\"'`<>(){}[]$".contains(letter));
    has_user || parts.any(is_doubtful_token)
}

fn is_doubtful_token(part: &str) -> bool {
    const SHORTEST: usize = 8;
    const LONG: usize = 20;
    let is_known = part.len() >= SHORTEST && PREFIXES.iter().any(|prefix| part.starts_with(prefix));
    let has = |fits: fn(&u8) -> bool| part.as_bytes().iter().any(fits);
    // A path may have digits, but its components are words.
    let longest = part.split('/').map(str::len).max().unwrap_or_default();
    let is_mixed = has(u8::is_ascii_digit)
        && has(u8::is_ascii_alphabetic)
        && part
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_-+./~%".contains(&byte));
    is_known || (longest >= LONG && is_mixed)
}

/// Returns true if a string holds something that is almost certainly a secret.
fn like_secret(text: &str) -> bool {
    // A part of an address may be a token; one of a path is a name.
    let is_address = text.contains("://");
    let is_end =
        |c: char| c.is_whitespace() || "=:,;\"'`<>(){}[]$&|".contains(c) || (is_address && "/?#".contains(c));
    text.split(is_end).any(is_token)
        || text.contains("PRIVATE KEY-----")
        || text
            .match_indices("://")
            .any(|(at, mark)| has_password(text.get(at + mark.len()..).unwrap_or_default()))
        || is_flagged(text)
}

/// Returns true for `name = value` and `name: value` with the name of a credential. A value of several words without quotes is prose.
pub(super) fn sets_credential(text: &str) -> bool {
    const QUOTES: [char; 2] = ['"', '\''];
    let Some((name, value)) = text.split_once(['=', ':']) else {
        return false;
    };
    let name = name.trim().trim_start_matches("- ").trim_matches(QUOTES);
    let name = name.rsplit('.').next().unwrap_or_default();
    let is_name = name
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    let value = value.trim();
    let is_prose = !value.starts_with(QUOTES) && value.contains(char::is_whitespace);
    let value = value.trim_matches(QUOTES);
    let is_reference = value.starts_with(['$', '<']) || matches!(value, "true" | "false" | "null" | "...");
    let is_number = value.bytes().all(|byte| byte.is_ascii_digit());
    is_name && is_credential(name) && !is_prose && !is_reference && !is_number
}

/// Returns true if a variable's value is a switch, a number, a path or an address without a secret in it. Such values control
/// programs, so a restore must reset them if they were tampered with.
pub(super) fn is_plain(text: &str) -> bool {
    const SWITCHES: [&str; 8] = ["", "true", "false", "yes", "no", "on", "off", "auto"];
    const LONGEST_NUMBER: usize = 5;
    if SWITCHES.contains(&text) {
        return true;
    }
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    if is_number {
        return text.len() <= LONGEST_NUMBER;
    }
    let is_address = ["http://", "https://"]
        .iter()
        .any(|scheme| text.starts_with(scheme));
    let is_path = ["/", "./", "~/", "$HOME/"]
        .iter()
        .any(|start| text.starts_with(start));
    let is_odd = |byte: u8| byte.is_ascii_whitespace() || b"@?#=&%+".contains(&byte);
    (is_address || is_path)
        && !looks_secret(text, Strictness::Stored)
        && !text.bytes().any(is_odd)
        && !text.split('/').any(is_jumble)
}

/// Returns true if a part of a path looks random.
fn is_jumble(part: &str) -> bool {
    const SHORT: usize = 12;
    let has = |fits: fn(&u8) -> bool| part.as_bytes().iter().any(fits);
    part.len() > SHORT
        && has(u8::is_ascii_digit)
        && has(u8::is_ascii_uppercase)
        && has(u8::is_ascii_lowercase)
}

/// Returns true if a list element is the secret value of the flag before it.
pub(super) fn follows(flag: &str, text: &str) -> bool {
    let Some(name) = flag_name(flag) else { return false };
    if name.len() + 2 < flag.len() || text.starts_with("--") {
        return false;
    }
    (is_credential(name) && !is_count(name, text)) || (is_header_flag(name) && is_header(text))
}

fn is_token(word: &str) -> bool {
    (word.len() >= 12 && PREFIXES.iter().any(|prefix| word.starts_with(prefix)))
        || (word.len() >= 32 && word.bytes().all(|byte| byte.is_ascii_hexdigit()))
        || is_mixed(word)
}

/// Returns true for a long word of letters of both cases and digits.
fn is_mixed(word: &str) -> bool {
    word.len() >= 24
        && word
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_+=-.".contains(&byte))
        && word.bytes().any(|byte| byte.is_ascii_uppercase())
        && word.bytes().any(|byte| byte.is_ascii_lowercase())
        && word.bytes().filter(u8::is_ascii_digit).count() >= 2
        && !is_uuid(word)
}

fn is_uuid(word: &str) -> bool {
    word.len() == 36
        && word.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// Returns true if an address, from after its `://`, has credentials before the host.
fn has_password(rest: &str) -> bool {
    let end = rest
        .find(|c: char| c.is_whitespace() || "/?#\"'`<>".contains(c))
        .unwrap_or(rest.len());
    let authority = rest.get(..end).unwrap_or_default();
    let Some((user, _)) = authority.rsplit_once('@') else {
        return false;
    };
    is_secret_user(user, Strictness::Stored)
}

/// Returns true if the string passes a secret by name, as a command line does.
fn is_flagged(text: &str) -> bool {
    let mut words = text
        .split(|c: char| c.is_whitespace() || "\"'`".contains(c))
        .filter(|word| !word.is_empty())
        .peekable();
    while let Some(word) = words.next() {
        let next = words.peek().copied();
        let found = match flag_name(word) {
            Some(name) => is_flag_with_value(word, name, next),
            None => is_assigned(word) || is_authorization(word, next),
        };
        if found {
            return true;
        }
    }
    false
}

/// Returns the name of a flag, without its dashes and without what follows the name.
fn flag_name(word: &str) -> Option<&str> {
    let body = word.strip_prefix("--").or_else(|| word.strip_prefix('-'))?;
    let end = body
        .find(|c: char| !c.is_ascii_alphanumeric() && !"_-".contains(c))
        .unwrap_or(body.len());
    body.get(..end)
}

fn is_flag_with_value(word: &str, name: &str, next: Option<&str>) -> bool {
    let (_, rest) = word.split_once(name).unwrap_or_default();
    let (value, apart) = match rest.strip_prefix('=') {
        Some(value) if !value.is_empty() => (Some(value), false),
        Some(_) => (next, true),
        None if rest.is_empty() => (next, true),
        None => (None, false),
    };
    let Some(value) = value else {
        // The header may be written right after the flag: `-HAuthorization:`.
        return name.strip_prefix('H').is_some_and(is_credential) && rest.starts_with(':');
    };
    if is_header_flag(name) {
        return value
            .split_once(':')
            .is_some_and(|(header, _)| is_credential(header));
    }
    is_credential(name) && !(apart && value.starts_with('-')) && !is_count(name, value)
}

fn is_header_flag(name: &str) -> bool {
    name == "H" || name == "header"
}

/// Returns true if a header carries a credential.
fn is_header(text: &str) -> bool {
    text.split_once([':', '='])
        .is_some_and(|(name, value)| is_credential(name.trim()) && !value.trim().is_empty())
}

/// Returns true if a word is something like `API_KEY=x` or an address with `?token=x`.
fn is_assigned(word: &str) -> bool {
    word.split(['&', '?', ';', ',', '(', ')']).any(|piece| {
        let Some((name, value)) = piece.split_once('=') else {
            return false;
        };
        let name = name
            .rsplit(|c: char| !c.is_ascii_alphanumeric() && !"_-".contains(c))
            .next()
            .unwrap_or_default();
        let is_reference = value.starts_with('$') || value.bytes().all(|byte| byte.is_ascii_digit());
        is_credential(name) && !is_reference
    })
}

/// Returns true if an authorization header with a value stands in the string.
fn is_authorization(word: &str, next: Option<&str>) -> bool {
    match word.to_ascii_lowercase().split_once("authorization:") {
        Some((_, value)) => !value.is_empty() || next.is_some(),
        None => false,
    }
}

/// Returns true if the value is a number of tokens, which is no credential.
pub(super) fn is_count(name: &str, value: &str) -> bool {
    name.to_ascii_lowercase().contains("tokens") && value.bytes().all(|byte| byte.is_ascii_digit())
}
