//! Free text, such as a prompt or a command line, and the arguments of a command, without what looks like a secret in it.

use super::heuristics::{Strictness, is_secret, is_secret_key};
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
/// assert_eq!(redact_text("curl -u bob:swordfish https://x", "…"), "curl -u … https://x");
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

/// Returns the arguments of a command with those that look like secrets replaced by `hidden`: tokens, values of flags, variables and
/// members of JSON with a telling name, logins, and addresses with a password. The program may be the first of them.
///
/// ```
/// use settings_redaction::redact_arguments;
///
/// let arguments = ["--model", "large", "--token", "hunter2", "--api-key=abc", "API_KEY=abc", "fix the login"];
/// let shown = ["--model", "large", "--token", "…", "--api-key=…", "API_KEY=…", "fix the login"];
/// assert_eq!(redact_arguments(&arguments, "…"), shown);
/// assert_eq!(redact_arguments(&["-u", "bob:swordfish", "--user=bob:swordfish"], "…"), ["-u", "…", "--user=…"]);
/// ```
#[must_use]
pub fn redact_arguments<T: AsRef<str>>(arguments: &[T], hidden: &str) -> Vec<String> {
    let words: Vec<&str> = arguments.iter().map(AsRef::as_ref).collect();
    // Looked up once: a line may have hundreds of thousands of words.
    let first = |programs: &[&str]| {
        let is_one = |word: &&str| programs.contains(&word.rsplit('/').next().unwrap_or(word));
        words.iter().position(is_one).unwrap_or(words.len())
    };
    let (by_p, by_a) = (first(&PASSWORD_BY_P), first(&["redis-cli"]));
    let mut is_value = false;
    let one = |(at, argument): (usize, &&str)| {
        let argument = *argument;
        let is_flag = argument.starts_with('-');
        if std::mem::replace(&mut is_value, false) && !is_flag {
            return hidden.to_owned();
        }
        if is_argument(&words, at, by_p < at, by_a < at) {
            return match set_password(argument) {
                Some(name) => format!("{name}={hidden}"),
                None => hidden.to_owned(),
            };
        }
        match argument.split_once('=') {
            Some((key, _)) if !key.contains(char::is_whitespace) && is_secret_key(key) => {
                format!("{key}={hidden}")
            }
            Some((key, value))
                if is_flag && (is_login_of(key, value) || is_secret(value, Strictness::Shown)) =>
            {
                format!("{key}={hidden}")
            }
            None if is_flag && is_secret_key(argument) => {
                is_value = true;
                argument.to_owned()
            }
            _ if is_secret(argument, Strictness::Shown) || holds_secret(argument, hidden) => {
                hidden.to_owned()
            }
            _ => argument.to_owned(),
        }
    };
    words.iter().enumerate().map(one).collect()
}

/// Returns true for an argument that is itself a line of a shell with a secret in it.
fn holds_secret(argument: &str, hidden: &str) -> bool {
    let is_line = argument.trim().contains(char::is_whitespace) && !argument.contains(hidden);
    is_line && redact_text(argument, hidden).contains(hidden)
}

/// Flags whose value is a login.
const LOGINS: [&str; 5] = ["-u", "--user", "--auth", "-U", "--proxy-user"];

/// Returns true if `value` is a user with a password, behind a flag that takes one.
fn is_login_of(flag: &str, value: &str) -> bool {
    // A user and a group are numbers.
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    LOGINS.contains(&flag)
        && value.split_once(':').is_some_and(|(user, pass)| {
            let is_empty = user.is_empty() || pass.is_empty();
            let is_id = is_number(user) && is_number(pass);
            !(is_empty || is_id || pass.starts_with('/'))
        })
}

/// Programs that take a password with `-p`, in the same word or the next.
const PASSWORD_BY_P: [&str; 6] = ["mysql", "mysqldump", "mysqladmin", "mariadb", "sshpass", "login"];

/// Returns true if the word at `at` is a secret by the place where a command has it: a login behind `-u`, a password behind `-p` (`by_p`) or
/// `-a` (`by_a`) of a program before it, or what a name like `DB_PASS` is set to.
fn is_argument(words: &[&str], at: usize, by_p: bool, by_a: bool) -> bool {
    let Some(word) = words.get(at).map(|word| word.trim_matches(['\'', '"'])) else {
        return false;
    };
    let before = at
        .checked_sub(1)
        .and_then(|at| words.get(at))
        .copied()
        .unwrap_or_default();
    set_password(word).is_some()
        || word.starts_with("pass:") && word.len() > 5
        || is_login_of(before, word)
        || word
            .strip_prefix("-u")
            .is_some_and(|login| is_login_of("-u", login))
        || by_p && (before == "-p" || word.starts_with("-p") && word.len() > 2)
        || by_a && before == "-a"
        || before.ends_with("secret_access_key")
}

/// Returns the name in a word such as `DB_PASS=…`; `None` if it sets no password.
fn set_password(word: &str) -> Option<&str> {
    let (name, value) = word.split_once('=')?;
    let lower = name.trim_matches(['\'', '"']).to_ascii_lowercase();
    let is_password = lower == "pass" || lower.ends_with("_pass") || lower.ends_with("_pwd");
    (is_password && !value.is_empty()).then_some(name)
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
    use super::{redact_arguments, redact_text};

    #[test]
    fn arguments_with_secrets_are_hidden_and_others_are_not() {
        for arguments in [
            &["-u", "admin:MARK1"][..],
            &["--user", "admin:MARK1"],
            &["--user=admin:MARK1"],
            &["-uadmin:MARK1"],
            &["--auth", "MARK1"],
            &["--auth=MARK1"],
            &["{\"apiKey\":\"MARK1\"}"],
            &["{\"a\":[1,{\"db\":{\"password\":\"MARK1\"}}]}"],
            &["--data={\"auth\":\"MARK1\"}"],
            &["password:MARK1"],
            &["host=db;password=MARK1"],
            &["X-Api-Key:MARK1"],
            &["X-Api-Key: MARK1"],
            &["sh", "-c", "curl -u admin:MARK1 example.org"],
            &["mysql", "-pMARK1"],
            &["DB_PASS=MARK1"],
        ] {
            let shown = redact_arguments(arguments, "(hidden)").join(" ");
            assert!(
                !shown.contains("MARK1") && shown.contains("(hidden)"),
                "{arguments:?}: {shown}"
            );
        }
        for arguments in [
            &["-u", "1000:1000"][..],
            &["-v", "a:/b", "--user", "bob"],
            &["{\"model\":\"large\",\"maxTokens\":100}"],
            &["src/token.rs:12", "localhost:8080", "feature/password-reset"],
            &["sh", "-c", "cd a && make test"],
            &["--auth-type=basic"],
        ] {
            assert_eq!(redact_arguments(arguments, "(hidden)"), arguments);
        }
    }

    #[test]
    fn ordinary_text_stays_and_secrets_do_not() {
        for plain in [
            "fix the login test",
            "mkdir -p src/a && cp -p a b",
            "docker run -u 1000:1000 -v a:/b image",
            "Rotate the token and rename password.rs to secrets.rs",
            "rm -rf data && cargo test --workspace",
            "why is commit 4f5e6d7 failing?",
            "",
        ] {
            assert_eq!(redact_text(plain, "(hidden)"), plain);
        }
        for (text, secret) in [
            ("my key is sk-0123456789abcdefghij", "sk-0123456789"),
            ("export DB_PASS=swordfish", "swordfish"),
            ("curl -u bob:swordfish https://example.org", "swordfish"),
            ("curl -ubob:swordfish https://example.org", "swordfish"),
            ("http --auth bob:swordfish example.org", "swordfish"),
            ("mysql -pswordfish shop", "swordfish"),
            ("sshpass -p swordfish ssh host", "swordfish"),
            ("docker login -u bob -p swordfish", "swordfish"),
            ("redis-cli -a swordfish ping", "swordfish"),
            ("openssl enc -pass pass:swordfish", "swordfish"),
            ("aws configure set aws_secret_access_key swordfish", "swordfish"),
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
            ("docker login -u me -p hunter2secret registry", "hunter2secret"),
            ("docker login -p hunter=2", "hunter"),
            ("sshpass -p c3dvcmRmaXNo= ssh host", "c3dvcmRmaXNo"),
            ("curl -u bob:swordfish= https://example.org", "swordfish"),
        ] {
            let shown = redact_text(text, "(hidden)");
            assert!(!shown.contains(secret), "{text}: {shown}");
        }
    }
}
