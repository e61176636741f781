//! The patch of two contents: whoever applies it to the earlier one gets the later one, byte for byte.

use std::path::Path;

use jackin_recovery::diff::{Body, Change, ChangeKind, Content, Line, PatchOptions, patch as of};
use jackin_recovery::model::{
    Content as Stored, Digest, DigestMethod, Entry, EntryKind, InodeFlags, Name, RelPath, Time,
};
use jackin_recovery::terminal::sanitize;

use super::feed::Feed;

/// How many lines stand around a change, the earlier content behind its length, the later one.
pub fn patch(bytes: &[u8]) -> bool {
    let mut feed = Feed(bytes);
    let context = usize::from(feed.byte() % 8);
    let old = feed.piece();
    let new = feed.0;
    let made = made(old, new, context);
    match &made.body {
        Body::Nothing => assert_eq!(old, new),
        Body::Binary(before, after) => {
            assert!(old.contains(&0) || new.contains(&0));
            assert_eq!((*before, *after), (old.len() as u64, new.len() as u64));
        }
        Body::Lines(lines) => {
            let count = |wanted| lines.iter().filter(|(line, _)| *line == wanted).count() as u64;
            assert_eq!(
                (made.added, made.removed),
                (count(Line::Added), count(Line::Removed))
            );
            for (_, text) in lines {
                assert!(!text.contains(&b'\n'));
                assert!(!sanitize::line(text).contains(['\n', '\r', '\u{1b}']));
            }
            let applied = applied(old, lines);
            assert_eq!(
                applied.escape_ascii().to_string(),
                new.escape_ascii().to_string(),
                "{lines:?}"
            );
        }
        other => panic!("{other:?}"),
    }
    // Whether it is shown is not a question of what it is.
    let hidden = of(
        Path::new("/root"),
        &change(old, new, 0o600),
        options(context, false),
        |_| panic!("content was asked for"),
    );
    assert_eq!(hidden.body, if old == new { Body::Nothing } else { Body::Hidden });
    matches!(made.body, Body::Lines(_))
}

fn made(old: &[u8], new: &[u8], context: usize) -> jackin_recovery::diff::Patch {
    of(
        Path::new("/root"),
        &change(old, new, 0o644),
        options(context, true),
        |later| Content::Bytes(if later { new } else { old }.to_vec()),
    )
}

fn options(context: usize, show_secrets: bool) -> PatchOptions {
    PatchOptions {
        context,
        show_secrets,
        hides: false,
    }
}

fn change(old: &[u8], new: &[u8], mode: u32) -> Change {
    Change {
        path: RelPath::new(b"file").expect("a path"),
        kind: ChangeKind::Modified,
        from: Some(file(old, mode)),
        to: Some(file(new, mode)),
        from_path: None,
        has_secret_name: false,
    }
}

fn file(content: &[u8], mode: u32) -> Entry {
    Entry {
        name: Name::new(b"file").expect("a name"),
        kind: EntryKind::File(Stored {
            size: content.len() as u64,
            digest: Digest::of(content),
            method: DigestMethod::Plain,
        }),
        mode,
        uid: 0,
        gid: 0,
        mtime: Time::default(),
        ctime: Time::default(),
        ino: 1,
        flags: InodeFlags::default(),
        xattrs: Vec::new(),
        link: None,
        nlink: 1,
        unstable: false,
    }
}

/// What patch(1) makes of `old`.
fn applied(old: &[u8], lines: &[(Line, Vec<u8>)]) -> Vec<u8> {
    let source: Vec<&[u8]> = old.split_inclusive(|byte| *byte == b'\n').collect();
    let mut out: Vec<u8> = Vec::new();
    let mut at = 0;
    let mut lines = lines.iter().peekable();
    while let Some((line, text)) = lines.next() {
        let ends = lines.peek().is_none_or(|(next, _)| *next != Line::NoNewline);
        let whole = [text.as_slice(), if ends { b"\n" } else { b"" }].concat();
        match line {
            Line::Hunk => {
                let from = first(text);
                out.extend(source[at..from].concat());
                at = from;
            }
            Line::Added => out.extend(whole),
            Line::Context | Line::Removed => {
                let found = source.get(at).copied().unwrap_or_default();
                assert_eq!(found, whole, "line {at} is another one");
                at += 1;
                if *line == Line::Context {
                    out.extend(whole);
                }
            }
            Line::NoNewline => {}
        }
    }
    out.extend(source[at..].concat());
    out
}

/// The line before which a hunk begins, from 0: `@@ -line,count +…`. Of no lines, the number of the line before is said.
fn first(header: &[u8]) -> usize {
    let header = std::str::from_utf8(header).expect("a header is text");
    let place = header
        .strip_prefix("@@ -")
        .and_then(|rest| rest.split(' ').next())
        .expect("a header");
    let (line, count) = place.split_once(',').unwrap_or((place, "1"));
    let line: usize = line.parse().expect("a number");
    if count == "0" { line } else { line - 1 }
}
