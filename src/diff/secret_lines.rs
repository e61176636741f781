//! Hides secrets that take more than an address: values in the configuration of git, and private keys in PEM form.

use super::HIDDEN;
use super::patch::{is_binary, split};
use crate::model::RelPath;
use git_reader::is_dot_git;
use settings_redaction::redact_ini;

/// Text that replaces a secret that differs from the one on the earlier side.
const CHANGED: &str = "(hidden; changed)";
const KEY: &[u8] = b"PRIVATE KEY";

/// Returns both sides with a placeholder for each secret; `None` if there is none in them. `paths` are those of the sides.
pub(super) fn without_secrets(paths: [&RelPath; 2], sides: [&[u8]; 2]) -> Option<[Vec<u8>; 2]> {
    let one = |path: &RelPath, text: &[u8]| match text {
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
/// path is not that of a git configuration.
#[must_use]
pub fn mask_settings(path: &RelPath, text: &[u8]) -> Option<Vec<u8>> {
    let shown = (is_git_configuration(path) && !is_binary(text)).then(|| without_values(text));
    shown.filter(|shown| shown != text)
}

/// Returns true for a path at which git, or the operator for git, keeps settings.
#[must_use]
pub fn is_git_configuration(path: &RelPath) -> bool {
    let Some((dir, name)) = path.split() else {
        return false;
    };
    let name = name.as_bytes().to_ascii_lowercase();
    let is_named = name == b"gitconfig" || name.starts_with(b".gitconfig") || name.ends_with(b".gitconfig");
    let is_git = |part: &[u8]| is_dot_git(part) || part.to_ascii_lowercase().ends_with(b".git");
    let is_in_git = || dir.parts().any(is_git) || dir.parts().last() == Some(b"git");
    is_named || matches!(name.as_slice(), b"config" | b"config.worktree") && is_in_git()
}

fn without_values(text: &[u8]) -> Vec<u8> {
    let shown = String::from_utf8_lossy(text);
    let redacted = redact_ini(&shown, HIDDEN);
    match redacted == shown {
        true => text.to_vec(),
        false => redacted.into_bytes(),
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
    use super::{CHANGED, holds_key, is_git_configuration, without_keys, without_secrets};
    use crate::diff::HIDDEN;
    use crate::model::RelPath;

    fn path(path: &str) -> RelPath {
        RelPath::new(path.as_bytes()).unwrap()
    }

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
        ] {
            assert!(is_git_configuration(&path(name)), "{name}");
        }
        for name in [
            "config",
            "src/git/config.rs",
            ".git/HEAD",
            "gitconfig.rs",
            ".ssh/config",
        ] {
            assert!(!is_git_configuration(&path(name)), "{name}");
        }
    }

    #[test]
    fn a_secret_that_differs_is_said_to() {
        let config = path(".git/config");
        let both = |old: &str, new: &str| {
            let shown = without_secrets([&config, &config], [old.as_bytes(), new.as_bytes()])?;
            Some(shown.map(|side| String::from_utf8(side).unwrap()))
        };
        let [old, new] = both("[a]\n\ttoken = MARK\n", "[a]\n\ttoken = MARKED\n").unwrap();
        assert_eq!(old, format!("[a]\n\ttoken = {HIDDEN}\n"));
        assert_eq!(new, format!("[a]\n\ttoken = {CHANGED}\n"));
        assert_eq!(both("[a]\n\ttoken_count = 5\n", "[a]\n"), None);
        let source = path("main.rs");
        let code = b"    token = \"MARK\"\n";
        assert_eq!(without_secrets([&source, &source], [code, code]), None);
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
