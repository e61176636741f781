//! Text of lines `name = value`, as in git's configuration, without the secrets in it.

use super::heuristics::{is_count, is_short_password, names_secret};
use super::text::redact_text;

/// Returns the text with each value that is a secret replaced by `hidden`: by the name that it is set to, or by what stands in it. Every other
/// line, and the number of lines, stays.
///
/// ```
/// use settings_redaction::redact_ini;
///
/// let text = "[github]\n\tuser = ann\n\ttoken = swordfish\n";
/// assert_eq!(redact_ini(text, "…"), "[github]\n\tuser = ann\n\ttoken = …\n");
/// ```
#[must_use]
pub fn redact_ini(text: &str, hidden: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut lines = text.split_inclusive('\n');
    while let Some(first) = lines.next() {
        let (begin, value) = parts(first);
        let mut pieces = vec![piece(value)];
        while pieces.last().is_some_and(|piece| piece.goes_on) {
            let Some(line) = lines.next() else { break };
            pieces.push(piece(line));
        }
        let name = begin.map(name_of);
        let whole: String = pieces.iter().map(|piece| piece.text).collect();
        let shown = match name {
            Some(name) if sets_secret(name, whole.trim()) => Some(hidden.to_owned()),
            Some(_) => Some(redact_text(&whole, hidden)).filter(|shown| shown.contains(hidden)),
            None => None,
        };
        out.push_str(begin.unwrap_or_default());
        let is_hidden = !whole.contains(hidden) && shown.is_some();
        let is_one = pieces.len() == 1;
        for piece in pieces {
            match &shown {
                Some(shown) if is_hidden && is_one => out.push_str(shown),
                Some(_) if is_hidden => out.push_str(hidden),
                _ => out.push_str(piece.text),
            }
            out.push_str(piece.end);
        }
    }
    out
}

/// A line of a value, and what ends it.
struct Piece<'a> {
    text: &'a str,
    end: &'a str,
    goes_on: bool,
}

fn piece(line: &str) -> Piece<'_> {
    let text = line.trim_end_matches(['\n', '\r']);
    let slashes = text.bytes().rev().take_while(|byte| *byte == b'\\').count();
    let goes_on = slashes % 2 == 1;
    let (text, end) = line
        .split_at_checked(text.len() - usize::from(goes_on))
        .unwrap_or((line, ""));
    Piece { text, end, goes_on }
}

/// Returns the line up to its value, and the value; a line that sets nothing is all value.
fn parts(line: &str) -> (Option<&str>, &str) {
    let Some(at) = line.find('=') else {
        return (None, line);
    };
    let (before, _) = line.split_at_checked(at).unwrap_or_default();
    let name = name_of(before);
    let is_name = !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    let behind = line.get(at + 1..).unwrap_or_default();
    let blanks = behind.len() - behind.trim_start_matches([' ', '\t']).len();
    match line.split_at_checked(at + 1 + blanks) {
        Some((begin, value)) if is_name => (Some(begin), value),
        _ => (None, line),
    }
}

/// Returns the name in the begin of a line, behind a section in brackets or the sign of a comment.
fn name_of(begin: &str) -> &str {
    let name = begin.trim_end_matches([' ', '\t', '=']);
    let name = name.rsplit(']').next().unwrap_or_default();
    name.trim_start_matches([' ', '\t', '#', ';'])
}

/// Returns true if a value of this name is a secret. A switch, and the place of a file, is none.
fn sets_secret(name: &str, value: &str) -> bool {
    const SWITCHES: [&str; 6] = ["true", "false", "yes", "no", "on", "off"];
    let lower = name.to_ascii_lowercase();
    let is_pass = lower.ends_with("pass") && !lower.ends_with("askpass");
    let value = value.trim_matches('"');
    let is_none = value.is_empty()
        || SWITCHES.contains(&value.to_ascii_lowercase().as_str())
        || value.starts_with(['/', '~', '.', '$'])
        || is_count(name, value)
        || is_number(value) && !lower.contains("pass");
    (names_secret(name) || is_short_password(name) || is_pass) && !is_none
}

/// Returns true for a short number, which counts or chooses something.
fn is_number(value: &str) -> bool {
    const LONGEST: usize = 4;
    value.len() <= LONGEST && value.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::redact_ini;

    #[test]
    fn values_that_are_secrets_are_hidden() {
        let text = "[github] token = MARK1\n\tpassword=\"MARK 2\"\r\n[sendemail]\n\tsmtppass = MARK3\n\
            \thelper = \"!f() { echo password=MARK4; }; f\"\n\tsshCommand = sshpass -p MARK5 ssh\n\
            \textraheader = X-Api-Key: MARK6\n\tx = a \\\n password=MARK7 \\\n b\n# token = MARK8\n\ttoken = \\\nMARK9\nlast = 1";
        let shown = redact_ini(text, "…");
        assert!(!shown.contains("MARK"), "{shown}");
        assert_eq!(shown.lines().count(), text.lines().count());
        for kept in [
            "[github] token = …\n",
            "\tpassword=…\r\n",
            "sshpass -p … ssh\n",
            "last = 1",
        ] {
            assert!(shown.contains(kept), "{kept}: {shown}");
        }
    }

    #[test]
    fn other_values_stay_byte_for_byte() {
        for text in [
            "[user]\n\temail = ann@example.org\n\tsigningKey = ABCD1234\n",
            "[core]\n\tsshCommand = ssh  -p 8080 -i ~/.ssh/id\n\taskPass = /usr/bin/ask\n",
            "[credential]\n\thelper = store\n\thelper = !gh auth git-credential\n\tuseHttpPath = true\n",
            "[credential \"https://github.com\"]\n\thelper = /usr/lib/git-core/git-credential-libsecret\n",
            "[http]\n\tcookieFile = ~/.gitcookies\n\tsaveCookies = true\n\tsslCertPasswordProtected = true\n",
            "[alias]\n\tlg = log --graph \\\n\t\t--oneline\n\tpf = push --force-with-lease\n",
            "token_count = 5\nmax_tokens = 4096\n",
            "[url \"https://x/?a=b\"]\n\tinsteadOf = git@x:\n\n; a note\n",
            "",
        ] {
            assert_eq!(redact_ini(text, "…"), text);
        }
    }
}
