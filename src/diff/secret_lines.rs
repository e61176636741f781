//! Hides secrets that take more than an address: values in the configuration of git, and private keys in PEM form.

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use super::HIDDEN;
use super::patch::{is_binary, split};
use git_reader::is_dot_git;
use settings_redaction::redact_ini;

/// Text that replaces a secret that differs from the one on the earlier side.
const CHANGED: &str = "(hidden; changed)";
const KEY: &[u8] = b"PRIVATE KEY";

/// Returns both sides with a placeholder for each secret; `None` if there is none in them. `paths` are those of the sides.
pub(super) fn without_secrets(paths: [&Path; 2], sides: [&[u8]; 2]) -> Option<[Vec<u8>; 2]> {
    let one = |path: &Path, text: &[u8]| match text {
        text if is_binary(text) => text.to_vec(),
        text if is_git_configuration(path) => without_values(text),
        text => without_keys(text),
    };
    let [old_path, new_path] = paths;
    let [old, new] = sides;
    let (old_shown, mut new_shown) = (one(old_path, old), one(new_path, new));
    if old_shown == old && new_shown == new {
        return None;
    }
    // Where only secrets differ, the placeholders say so.
    if old != new && old_shown == new_shown {
        new_shown = String::from_utf8_lossy(&new_shown)
            .replace(HIDDEN, CHANGED)
            .into_bytes();
    }
    Some([old_shown, new_shown])
}

/// Returns the text of a git configuration with a placeholder for each secret, in as many lines; `None` if there is none in it, or if the
/// path on the host is not that of a git configuration.
#[must_use]
pub fn mask_settings(path: &Path, text: &[u8]) -> Option<Vec<u8>> {
    let shown = (is_git_configuration(path) && !is_binary(text)).then(|| without_values(text));
    shown.filter(|shown| shown != text)
}

/// Returns true if a text at this path on the host holds a private key or a secret setting of git: a line alone does not show them.
#[must_use]
pub fn holds_key_or_setting(path: &Path, text: &[u8]) -> bool {
    holds_key(text) || mask_settings(path, text).is_some()
}

/// Returns true for a path on the host at which git, or the operator for git, keeps settings. A mount may begin in a git directory.
#[must_use]
pub fn is_git_configuration(path: &Path) -> bool {
    let mut parts: Vec<&[u8]> = path.iter().map(|part| part.as_bytes()).collect();
    let Some(name) = parts.pop() else {
        return false;
    };
    let name = name.to_ascii_lowercase();
    let is_named = name == b"gitconfig" || name.starts_with(b".gitconfig") || name.ends_with(b".gitconfig");
    let is_git = |part: &[u8]| is_dot_git(part) || part.to_ascii_lowercase().ends_with(b".git");
    let is_in_git = || parts.iter().any(|part| is_git(part)) || parts.last() == Some(&b"git".as_slice());
    is_named || matches!(name.as_slice(), b"config" | b"config.worktree") && is_in_git()
}

fn without_values(text: &[u8]) -> Vec<u8> {
    let shown = String::from_utf8_lossy(text);
    let redacted = redact_ini(&shown, HIDDEN);
    let lines = split(text).into_iter().zip(redacted.split_inclusive('\n'));
    // A line without a secret keeps its bytes, whatever they are.
    let line = |(line, redacted): (&[u8], &str)| match String::from_utf8_lossy(line) == redacted {
        true => line.to_vec(),
        false => redacted.as_bytes().to_vec(),
    };
    lines.flat_map(line).collect()
}

/// State between the lines of a text: true within a private key.
#[derive(Clone, Copy, Debug, Default)]
pub struct KeyLines(bool);

impl KeyLines {
    /// Returns the line with a placeholder for the part of a private key in it; `None` if there is none. The lines of a text must be given in
    /// their order.
    pub fn masked(&mut self, line: &[u8]) -> Option<Vec<u8>> {
        let end = line
            .iter()
            .rposition(|byte| !b"\r\n".contains(byte))
            .map_or(0, |at| at + 1);
        let (line, newline) = line.split_at(end);
        if self.0 {
            let is_last = end_of_key(line).is_some();
            self.0 = !is_last && is_body(line);
            return (is_last || self.0).then(|| [HIDDEN.as_bytes(), newline].concat());
        }
        begins_key(line, None)?;
        self.0 = end_of_key(line).is_none();
        Some([without_keys(line).as_slice(), newline].concat())
    }
}

/// Returns true if the text holds a private key.
pub(super) fn holds_key(text: &[u8]) -> bool {
    let mut lines = split(text).into_iter().peekable();
    while let Some(line) = lines.next() {
        if begins_key(line, lines.peek().copied()).is_some() {
            return true;
        }
    }
    false
}

/// Returns the text with each private key replaced, from the begin of it to its end.
fn without_keys(text: &[u8]) -> Vec<u8> {
    if !text.windows(KEY.len()).any(|window| window == KEY) {
        return text.to_vec();
    }
    let mut out = Vec::with_capacity(text.len());
    let mut lines = split(text).into_iter().peekable();
    while let Some(line) = lines.next() {
        let Some(at) = begins_key(line, lines.peek().copied()) else {
            out.extend_from_slice(line);
            continue;
        };
        let (before, rest) = line.split_at(at);
        out.extend_from_slice(before);
        let mut last = rest;
        while end_of_key(last).is_none() {
            // A key without an end goes to the end of the text.
            match lines.next() {
                Some(next) => last = next,
                None => break,
            }
        }
        let behind = end_of_key(last).and_then(|end| last.get(end..));
        out.extend_from_slice(HIDDEN.as_bytes());
        out.extend_from_slice(behind.unwrap_or_default());
    }
    out
}

/// Returns the position at which a private key begins in the line. The words alone, as a program has them, begin none: base64 or a header
/// follows, or nothing any more.
fn begins_key(line: &[u8], next: Option<&[u8]>) -> Option<usize> {
    const BEGIN: &[u8] = b"-----BEGIN ";
    const DASHES: &[u8] = b"-----";
    let at = find(line, BEGIN)?;
    let rest = line.get(at + BEGIN.len()..)?;
    let end = find(rest, DASHES)?;
    let (label, behind) = rest.split_at(end);
    let is_label = |byte: &u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b' ';
    if find(label, KEY).is_none() || !label.iter().all(is_label) {
        return None;
    }
    let behind = behind.strip_prefix(DASHES)?;
    // In a string of JSON or of a program the ends of lines are written.
    let written = [b"\\n".as_slice(), b"\\r\\n"];
    let body = match behind.trim_ascii() {
        b"" => next,
        behind => Some(written.iter().find_map(|newline| behind.strip_prefix(*newline))?),
    };
    body.is_none_or(is_body).then_some(at)
}

/// Returns true for a line of base64, a header, or an empty line.
fn is_body(line: &[u8]) -> bool {
    const HEADERS: [&[u8]; 5] = [b"Proc-Type:", b"DEK-Info:", b"Comment:", b"Version:", b"Charset:"];
    let line = line.trim_ascii();
    let word = line
        .split(|byte| b"\\\"',".contains(byte))
        .next()
        .unwrap_or_default();
    let is_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=".contains(byte);
    let is_header = HEADERS.iter().any(|header| line.starts_with(header));
    is_header || line.is_empty() || !word.is_empty() && word.iter().all(is_base64)
}

/// Returns the position behind the end of a private key in the line.
fn end_of_key(line: &[u8]) -> Option<usize> {
    const END: &[u8] = b"-----END ";
    let at = find(line, END)?;
    let behind = line.get(at + END.len()..)?;
    let key = find(behind, KEY)?;
    let dashes = find(behind.get(key..)?, b"-----")?;
    Some(at + END.len() + key + dashes + 5)
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{
        CHANGED, KeyLines, holds_key, is_git_configuration, mask_settings, without_keys, without_secrets,
    };
    use crate::diff::HIDDEN;

    #[test]
    fn configuration_of_git_is_known_by_its_path() {
        for name in [
            ".git/config",
            "a/.git/modules/b/config",
            ".git/worktrees/w/config.worktree",
            "bare.git/config",
            ".gitconfig",
            ".gitconfig-work",
            "work.gitconfig",
            ".config/git/config",
            "/home/u/shop.git/config",
        ] {
            assert!(is_git_configuration(Path::new(name)), "{name}");
        }
        for name in [
            "config",
            "src/git/config.rs",
            ".git/HEAD",
            "gitconfig.rs",
            ".ssh/config",
        ] {
            assert!(!is_git_configuration(Path::new(name)), "{name}");
        }
    }

    #[test]
    fn a_secret_that_differs_is_said_to() {
        let config = Path::new(".git/config");
        let both = |old: &str, new: &str| {
            let shown = without_secrets([config, config], [old.as_bytes(), new.as_bytes()])?;
            Some(shown.map(|side| String::from_utf8(side).unwrap()))
        };
        let [old, new] = both("[a]\n\ttoken = MARK\n", "[a]\n\ttoken = MARKED\n").unwrap();
        assert_eq!(old, format!("[a]\n\ttoken = {HIDDEN}\n"));
        assert_eq!(new, format!("[a]\n\ttoken = {CHANGED}\n"));
        assert_eq!(both("[a]\n\ttoken_count = 5\n", "[a]\n"), None);
        let source = Path::new("main.rs");
        let code = b"    token = \"MARK\"\n";
        assert_eq!(without_secrets([source, source], [code, code]), None);
    }

    #[test]
    fn a_line_without_a_secret_keeps_its_bytes() {
        let text = b"[user]\n\tname = Andr\xe9\n[a]\n\ttoken = MARK\r\n";
        let shown = mask_settings(Path::new(".git/config"), text).unwrap();
        assert!(shown.starts_with(b"[user]\n\tname = Andr\xe9\n[a]\n"));
        assert!(!shown.windows(4).any(|part| part == b"MARK"));
        assert_eq!(shown.iter().filter(|byte| **byte == b'\n').count(), 4);
    }

    #[test]
    fn lines_of_private_keys_are_hidden_one_by_one() {
        let dashes = "-----";
        let masked = |text: &str| {
            let mut keys = KeyLines::default();
            let lines = text.split_inclusive('\n');
            let line = |line: &str| match keys.masked(line.as_bytes()) {
                Some(masked) => String::from_utf8(masked).unwrap(),
                None => line.to_owned(),
            };
            lines.map(line).collect::<String>()
        };
        let begin = format!("{dashes}BEGIN RSA PRIVATE KEY{dashes}");
        let end = format!("{dashes}END RSA PRIVATE KEY{dashes}");
        assert_eq!(
            masked(&format!("a\n{begin}\nMARK+/=\r\nMARK\n{end}\nb\n")),
            format!("a\n{HIDDEN}\n{HIDDEN}\r\n{HIDDEN}\n{HIDDEN}\nb\n")
        );
        assert_eq!(
            masked(&format!("k = \"{begin}\\nMARK\\n{end}\\n\"\n")),
            format!("k = \"{HIDDEN}\\n\"\n")
        );
        let code = format!("if line == \"{begin}\" {{\n    return;\n}}\n");
        assert_eq!(masked(&code), code);
        let words = format!("{begin}\nis what a key begins with.\n");
        assert_eq!(masked(&words), format!("{HIDDEN}\nis what a key begins with.\n"));
    }

    #[test]
    fn private_keys_are_hidden_and_their_words_are_not() {
        let dashes = "-----";
        let key = format!(
            "{dashes}BEGIN RSA PRIVATE KEY{dashes}\nMARK+/=\nMARK\n{dashes}END RSA PRIVATE KEY{dashes}"
        );
        for (text, shown) in [
            (format!("a\n{key}\nb\n"), format!("a\n{HIDDEN}\nb\n")),
            (
                format!("{{\"key\": \"{}\", \"b\": 1}}\n", key.replace('\n', "\\n")),
                format!("{{\"key\": \"{HIDDEN}\", \"b\": 1}}\n"),
            ),
            (
                format!("{dashes}BEGIN PRIVATE KEY{dashes}\nMARK\n"),
                HIDDEN.to_owned(),
            ),
            (
                format!(
                    "{dashes}BEGIN PGP PRIVATE KEY BLOCK{dashes}\n\nMARK\n{dashes}END PGP PRIVATE KEY BLOCK{dashes}\n"
                ),
                format!("{HIDDEN}\n"),
            ),
        ] {
            assert_eq!(String::from_utf8(without_keys(text.as_bytes())).unwrap(), shown);
            assert!(holds_key(text.as_bytes()), "{text}");
        }
        for text in [
            format!("if line == \"{dashes}BEGIN PRIVATE KEY{dashes}\" {{\n    return;\n"),
            format!("text.contains(\"PRIVATE KEY{dashes}\")\nMARK\n"),
            format!("{dashes}BEGIN CERTIFICATE{dashes}\nMIIB\n{dashes}END CERTIFICATE{dashes}\n"),
            format!("{dashes}BEGIN PUBLIC KEY{dashes}\nMIIB\n{dashes}END PUBLIC KEY{dashes}\n"),
            format!("a line of {dashes}BEGIN PRIVATE KEY{dashes} begins one\n"),
            "the PRIVATE KEY is elsewhere\n".to_owned(),
        ] {
            assert_eq!(without_keys(text.as_bytes()), text.as_bytes(), "{text}");
            assert!(!holds_key(text.as_bytes()), "{text}");
        }
    }
}
