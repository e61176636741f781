//! Checks that an exclude is a gitignore pattern that can match something. Every pattern that passes also builds a matcher.

use std::borrow::Cow;

use ignore::gitignore::GitignoreBuilder;

use super::bracket::{matcher_syntax, translated, with_last_blank};

/// Returns a pattern of a configuration or a command line as it is recorded, so that it means to the matcher what it means to git: without
/// the carriage return of a line end, and with a tab at its end in brackets.
///
/// # Errors
/// Returns the problem in words if the pattern does not parse, is one that gitignore ignores (empty, a comment), or can never match.
pub fn recorded(pattern: &str) -> Result<String, String> {
    let pattern = pattern.strip_suffix('\r').unwrap_or(pattern);
    check(pattern)?;
    Ok(with_last_blank(pattern).unwrap_or_else(|| pattern.to_owned()))
}

/// Checks one pattern.
///
/// # Errors
/// Returns the problem in words if the pattern does not parse, is one that gitignore ignores (empty, a comment), or can never
/// match: the operator would rely on an exclude without effect.
pub(super) fn check(pattern: &str) -> Result<(), String> {
    if pattern.contains(['\0', '\n', '\r']) {
        return Err("a pattern cannot contain a NUL or a line break".to_owned());
    }
    if pattern.starts_with('#') {
        return Err("it begins with `#`, which makes it a comment; write `\\#` for the character".to_owned());
    }
    let body = pattern.trim_end_matches(' ');
    let body = body.strip_prefix('!').unwrap_or(body);
    let body = body.strip_prefix('/').unwrap_or(body);
    let body = body.strip_suffix('/').unwrap_or(body);
    if body.is_empty() {
        return Err("it names nothing".to_owned());
    }
    if body.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return Err(
            "it has an empty part or a part `.` or `..`, so it never matches; \
                    a leading `/` stands for the root of the mount"
                .to_owned(),
        );
    }
    let pattern = translated(pattern)?;
    let pattern = with_last_blank(&pattern).map_or(pattern, Cow::Owned);
    let mut builder = GitignoreBuilder::new("");
    let added = builder.add_line(None, &pattern).map(|_| ());
    added
        .and_then(|()| builder.build().map(|_| ()))
        .map_err(|error| format!("it is not a gitignore pattern: {error}"))
}

/// Returns true if a pattern excludes a directory of this name, at any depth.
pub(super) fn leaves_out(pattern: &str, name: &str) -> bool {
    let mut builder = GitignoreBuilder::new("");
    let built = builder
        .add_line(None, &matcher_syntax(pattern))
        .and_then(|builder| builder.build());
    // A pattern that cannot be built excludes nothing, and was refused.
    built.is_ok_and(|globs| globs.matched(name, true).is_ignore())
}

/// Returns a path as a pattern that matches nothing else. Only what is not UTF-8 and line breaks become a wider `*`.
#[must_use]
pub fn literal(path: &[u8]) -> String {
    let mut pattern = String::new();
    for letter in String::from_utf8_lossy(path).chars() {
        match letter {
            '\\' | '*' | '?' | '[' | ']' | '{' | '}' | '!' | '#' | ' ' => pattern.extend(['\\', letter]),
            char::REPLACEMENT_CHARACTER | '\n' | '\r' => pattern.push('*'),
            blank if blank.is_whitespace() => pattern.extend(['[', blank, ']']),
            _ => pattern.push(letter),
        }
    }
    pattern
}
