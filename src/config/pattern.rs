//! Whether an exclude is a gitignore pattern that can match something. Whatever passes here also builds a matcher.

use ignore::gitignore::GitignoreBuilder;

/// Checks one pattern.
///
/// # Errors
/// In words, when it does not parse, when it is one that gitignore passes over in silence (empty, a comment), or when it
/// can never match: an exclude that does nothing would be a promise not kept.
pub fn check(pattern: &str) -> Result<(), String> {
    if pattern.contains(['\0', '\n', '\r']) {
        return Err("it holds a NUL or a line break, which no pattern can".to_owned());
    }
    if pattern.starts_with('#') {
        return Err("it begins with `#`, which makes it a comment; write `\\#` for the character".to_owned());
    }
    let body = pattern.trim_end();
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
    let mut builder = GitignoreBuilder::new("");
    let added = builder.add_line(None, pattern).map(|_| ());
    added
        .and_then(|()| builder.build().map(|_| ()))
        .map_err(|error| format!("it is no gitignore pattern: {error}"))
}
