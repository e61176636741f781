//! Text and names from elsewhere: what is printed steers no terminal and can be told apart, paths and patterns lead nowhere else.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use jackin_recovery::config::recorded_pattern;
use jackin_recovery::contract::{Matcher, Target, Verdict};
use jackin_recovery::diff::is_secret_path;
use jackin_recovery::model::{
    ArchiveId, ByteString, Coverage, ExcludeRule, ExcludeSource, InstanceId, Name, RelPath, RestoreId,
    SnapshotId, Time, label_from,
};
use jackin_recovery::terminal::{sanitize, shell, width};

use super::names;

/// Any bytes, as a name, as content of a file, as a message, as a path, as patterns.
pub fn text(bytes: &[u8]) -> bool {
    shown(bytes);
    path(bytes);
    ids(bytes);
    patterns(bytes);
    true
}

fn shown(bytes: &[u8]) {
    let name = sanitize::name(bytes);
    assert_clean(&name, &[]);
    assert_eq!(unquoted(&name), bytes, "{name} reads as something else");
    let line = sanitize::line(bytes);
    assert_clean(&line, &['\t']);
    if let Ok(text) = std::str::from_utf8(bytes) {
        let message = sanitize::text(text);
        assert_clean(&message, &['\t', '\n']);
        assert_eq!(
            message.lines().count(),
            text.split('\n').count() - usize::from(text.is_empty() || text.ends_with('\n'))
        );
        let columns = bytes.len() % 40;
        assert!(width::of(&width::cut(&message, columns)) <= columns);
        let words = |text: &str| {
            text.split([' ', '\n', '\t'])
                .filter(|word| !word.is_empty())
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        let wrapped = width::wrap(&message, columns);
        assert_eq!(words(&wrapped.join("\n")), words(&message), "a word is lost");
        assert!(width::of(&width::pad(&line, columns)) >= columns);
    }
    if !bytes.contains(&0) {
        let word = shell::word(OsStr::from_bytes(bytes));
        assert_clean(&word, &[]);
        assert_eq!(unshelled(&word), bytes, "{word} reads as something else");
    }
}

/// No control character but these, nothing that changes the direction of text, nothing that cannot be seen.
fn assert_clean(text: &str, allowed: &[char]) {
    for c in text.chars().filter(|c| !allowed.contains(c)) {
        let turns = matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
        let marks =
            matches!(c, '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}' | '\u{fe00}'..='\u{fe0f}');
        assert!(!c.is_control() && !turns && !marks, "{c:?} gets out in {text:?}");
    }
}

/// Reads what `sanitize::name` wrote, as its text says.
fn unquoted(name: &str) -> Vec<u8> {
    let Some(inner) = name.strip_prefix('"') else {
        return name.as_bytes().to_vec();
    };
    let mut rest = inner.strip_suffix('"').expect("it ends in a quote");
    let mut bytes = Vec::new();
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        if c != '\\' {
            bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            continue;
        }
        let (kind, after) = rest.split_at(1);
        rest = after;
        match kind {
            "n" => bytes.push(b'\n'),
            "r" => bytes.push(b'\r'),
            "t" => bytes.push(b'\t'),
            "x" => {
                bytes.push(u8::from_str_radix(&rest[..2], 16).expect("two digits"));
                rest = &rest[2..];
            }
            "u" => {
                let (digits, after) = rest
                    .strip_prefix('{')
                    .and_then(|rest| rest.split_once('}'))
                    .expect("braces");
                let c = u32::from_str_radix(digits, 16)
                    .ok()
                    .and_then(char::from_u32)
                    .expect("a code point");
                bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                rest = after;
            }
            itself => bytes.extend_from_slice(itself.as_bytes()),
        }
    }
    bytes
}

/// Reads a word as a shell does, as far as `shell::word` goes.
fn unshelled(word: &str) -> Vec<u8> {
    if let Some(inner) = word.strip_prefix("$'") {
        let mut rest = inner.strip_suffix('\'').expect("it ends in a quote").as_bytes();
        let mut bytes = Vec::new();
        while let Some((byte, tail)) = rest.split_first() {
            rest = tail;
            if *byte == b'\\' {
                let (digits, tail) = rest.split_at(3);
                let digits = std::str::from_utf8(digits).expect("digits");
                bytes.push(u8::from_str_radix(digits, 8).expect("three octal digits"));
                rest = tail;
            } else {
                bytes.push(*byte);
            }
        }
        return bytes;
    }
    if let Some(inner) = word.strip_prefix('\'') {
        let inner = inner.strip_suffix('\'').expect("it ends in a quote");
        assert!(inner.split("'\\''").all(|part| !part.contains('\'')));
        return inner.replace("'\\''", "'").into_bytes();
    }
    assert!(
        !word.is_empty()
            && word
                .bytes()
                .all(|byte| !b" \t\n$&|;<>()`\\\"'*?[]#~!{}".contains(&byte))
    );
    word.as_bytes().to_vec()
}

fn path(bytes: &[u8]) {
    assert_eq!(Name::new(bytes).is_ok(), names::is_name(bytes));
    assert_eq!(RelPath::new(bytes).is_ok(), names::is_below(bytes));
    let json = serde_json::to_string(&ByteString(bytes.to_vec())).expect("bytes have a form");
    let read: ByteString = serde_json::from_str(&json).expect("our own form");
    assert_eq!(read.0, bytes);
    let Ok(path) = RelPath::new(bytes) else { return };
    let above: Vec<RelPath> = path.ancestors().collect();
    assert_eq!(above.len(), path.parts().count());
    assert!(
        above
            .iter()
            .all(|dir| path.is_within(dir) && dir < &path && !dir.is_within(&path))
    );
    if let Some((parent, name)) = path.split() {
        assert_eq!(parent.join(&name), path);
        assert_eq!(above.last(), Some(&parent));
    }
    let on_host = path.on_host(std::path::Path::new("/root"));
    assert!(on_host.starts_with("/root") && on_host.components().count() == 2 + above.len());
    // Against its own halves, and a neighbor.
    for (at, _) in bytes.iter().enumerate().filter(|(_, byte)| **byte == b'/') {
        let (a, b) = (RelPath::new(&bytes[..at]), RelPath::new(&bytes[at + 1..]));
        let (Ok(a), Ok(b)) = (a, b) else { continue };
        assert_eq!(a.cmp(&b), a.parts().cmp(b.parts()), "{a:?} and {b:?}");
        assert_eq!(a == b, a.cmp(&b).is_eq());
    }
    let _ = is_secret_path(std::path::Path::new("/root"), &path, None);
}

fn ids(bytes: &[u8]) {
    let label = label_from(bytes);
    let id = InstanceId::new([7; 8], &label);
    assert_eq!(InstanceId::parse(id.as_str()), Ok(id.clone()), "{label:?}");
    assert_eq!(id.label(), label);
    let _ = Target::parse(Some(OsStr::from_bytes(bytes)));
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let files = [
        InstanceId::parse(text).map(|id| id.to_string()),
        SnapshotId::parse(text).map(|id| id.to_string()),
        ArchiveId::parse(text).map(|id| id.to_string()),
        RestoreId::parse(text).map(|id| id.to_string()),
    ];
    for file in files.iter().flatten() {
        assert!(
            file == text && file.len() < 64 && file.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
        );
    }
    if let Some(time) = Time::parse_rfc3339(text) {
        assert_eq!(Time::parse_rfc3339(&time.rfc3339()), Some(time), "{text}");
    }
}

/// The last line is a path, those before it are patterns.
fn patterns(bytes: &[u8]) {
    let mut lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
    let path = lines.pop().and_then(|line| RelPath::new(line).ok());
    let mut excludes = Vec::new();
    for line in lines
        .into_iter()
        .take(8)
        .filter_map(|line| std::str::from_utf8(line).ok())
    {
        let rule = |pattern: &str| ExcludeRule {
            pattern: pattern.to_owned(),
            private: None,
            source: ExcludeSource::Flag,
        };
        // A rule that was recorded once is read whatever it is.
        drop(matcher(vec![rule(line)]));
        if let Ok(pattern) = recorded_pattern(line) {
            let alone = matcher(vec![rule(&pattern)]);
            assert!(alone.is_ok(), "{line:?} was let in, and builds no matcher");
            excludes.push(rule(&pattern));
        }
    }
    let Ok(matcher) = matcher(excludes) else { return };
    let Some(path) = path else { return };
    for is_dir in [true, false] {
        let alone = matcher.verdict(&path, is_dir);
        let whole = matcher.verdict_with_parents(&path, is_dir);
        let above = path.ancestors().map(|dir| matcher.verdict(&dir, true));
        let out = above.into_iter().find(|verdict| *verdict != Verdict::Covered);
        assert_eq!(whole, out.unwrap_or(alone), "{path:?}");
        assert!(
            !path.is_root() || whole == Verdict::Covered,
            "the root is never left out"
        );
    }
}

fn matcher(excludes: Vec<ExcludeRule>) -> Result<Matcher, jackin_recovery::contract::PatternError> {
    Matcher::new(&Coverage {
        excludes,
        ..Coverage::new("m", ByteString(b"/m".to_vec()))
    })
}
