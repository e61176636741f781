//! Patches of one change: text is shown, everything else is only mentioned.

use std::path::Path;

use super::{dir, file, object, path, symlink, with_mode};
use crate::diff::{Body, Change, ChangeKind, Content, Line, Patch, PatchOptions, patch};
use crate::model::{Entry, EntryKind};

const PLAIN: PatchOptions = PatchOptions {
    context: 1,
    show_secrets: false,
    hides: false,
};

fn change(at: &str, kind: ChangeKind, from: Option<Entry>, to: Option<Entry>) -> Change {
    Change {
        path: path(at),
        kind,
        from,
        to,
        from_path: None,
        has_secret_name: false,
    }
}

/// Returns the patch of a file that held `old` and holds `new`.
fn texts(old: &[u8], new: &[u8]) -> Patch {
    let change = change("f", ChangeKind::Modified, Some(file("old")), Some(file("new")));
    patch(Path::new("/src"), &change, PLAIN, |later| {
        Content::Bytes(if later { new } else { old }.to_vec())
    })
}

fn lines(patch: &Patch) -> Vec<String> {
    let Body::Lines(lines) = &patch.body else {
        panic!("{:?}", patch.body);
    };
    lines
        .iter()
        .map(|(line, bytes)| {
            let sign = match line {
                Line::Context => " ",
                Line::Added => "+",
                Line::Removed => "-",
                Line::Hunk => "",
                Line::NoNewline => "\\",
            };
            format!("{sign}{}", bytes.escape_ascii())
        })
        .collect()
}

#[test]
fn lines_are_shown_with_their_context() {
    let shown = texts(b"a\nb\nc\nd\ne\n", b"a\nb\nC\nd\ne\n");
    assert_eq!(lines(&shown), ["@@ -2,3 +2,3 @@", " b", "-c", "+C", " d"]);
    assert_eq!((shown.added, shown.removed), (1, 1));
    let shown = texts(b"", b"one\ntwo\n");
    assert_eq!(lines(&shown), ["@@ -0,0 +1,2 @@", "+one", "+two"]);
    assert_eq!((shown.added, shown.removed), (2, 0));
}

#[test]
fn a_carriage_return_ends_no_line() {
    assert_eq!(
        lines(&texts(b"a\rb\n", b"a\rB\n")),
        ["@@ -1 +1 @@", "-a\\rb", "+a\\rB"]
    );
    assert_eq!(
        lines(&texts(b"a\r\nb\r", b"a\r\nb\r\n")),
        ["@@ -1,2 +1,2 @@", " a\\r", "-b\\r", "\\", "+b\\r"]
    );
}

#[test]
fn a_missing_newline_is_said_on_its_side() {
    assert_eq!(
        lines(&texts(b"a\nb", b"a\nb\n")),
        ["@@ -1,2 +1,2 @@", " a", "-b", "\\", "+b"]
    );
    assert_eq!(
        lines(&texts(b"a\nb\n", b"a\nb")),
        ["@@ -1,2 +1,2 @@", " a", "-b", "+b", "\\"]
    );
}

#[test]
fn bytes_that_are_no_text_stay_as_they_are_for_the_caller_to_neutralize() {
    let shown = texts(b"a\x1b[31m\n", b"\xff\r\n");
    assert_eq!(lines(&shown)[1..], ["-a\\x1b[31m", "+\\xff\\r"]);
}

#[test]
fn binary_and_large_content_is_said_and_not_shown() {
    assert_eq!(texts(b"text\n", b"\0\x01").body, Body::Binary(5, 2));
    assert_eq!(texts(b"a\0b", b"").body, Body::Binary(3, 0));
    // A NUL far behind the beginning makes no binary file, as git decides.
    let mut late = vec![b'a'; 8000];
    late.push(0);
    assert!(matches!(texts(b"", &late).body, Body::Lines(_)));

    let modified = change("f", ChangeKind::Modified, Some(file("o")), Some(file("n")));
    let large = |later| {
        if later {
            Content::Large(5 << 20)
        } else {
            Content::Bytes(vec![1; 7])
        }
    };
    assert_eq!(
        patch(Path::new("/src"), &modified, PLAIN, large).body,
        Body::Large(7, 5 << 20)
    );
    let lost = |later| {
        if later {
            Content::Bytes(Vec::new())
        } else {
            Content::Unavailable("the archive is gone".to_owned())
        }
    };
    assert_eq!(
        patch(Path::new("/src"), &modified, PLAIN, lost).body,
        Body::Unavailable("the archive is gone".to_owned())
    );
}

/// Fails the test, because hidden content must not even be loaded.
fn never(_: bool) -> Content {
    panic!("the content was asked for")
}

#[test]
fn secrets_are_hidden_by_name_and_by_mode_of_either_side() {
    let shut = || with_mode(file("s"), 0o600);
    let renamed = Change {
        from_path: Some(path(".env")),
        ..change("plain.txt", ChangeKind::Type, Some(symlink("t")), Some(file("n")))
    };
    let hidden = [
        change(".env", ChangeKind::Added, None, Some(file("n"))),
        change("d/id_rsa", ChangeKind::Deleted, Some(file("o")), None),
        change("f", ChangeKind::Modified, Some(shut()), Some(file("n"))),
        change("f", ChangeKind::Modified, Some(file("o")), Some(shut())),
        change(".ssh/f", ChangeKind::Type, Some(symlink("t")), Some(file("n"))),
        renamed,
    ];
    for change in &hidden {
        assert_eq!(
            patch(Path::new("/src"), change, PLAIN, never).body,
            Body::Hidden,
            "{change:?}"
        );
        let show = PatchOptions {
            show_secrets: true,
            hides: false,
            ..PLAIN
        };
        let shown = patch(Path::new("/src"), change, show, |later| {
            Content::Bytes(if later { "new\n" } else { "old\n" }.into())
        });
        assert!(matches!(shown.body, Body::Lines(_)), "{change:?}");
    }
}

#[test]
fn what_has_no_content_has_no_patch() {
    let nothing = [
        change("d", ChangeKind::Added, None, Some(dir())),
        change("d", ChangeKind::Deleted, Some(dir()), None),
        change(
            "p",
            ChangeKind::Type,
            Some(dir()),
            Some(object(EntryKind::Fifo, 0o644)),
        ),
        change(
            "f",
            ChangeKind::Mode,
            Some(file("x")),
            Some(with_mode(file("x"), 0o755)),
        ),
        Change {
            from_path: Some(path("old")),
            ..change("f", ChangeKind::Renamed, Some(file("x")), Some(file("x")))
        },
    ];
    for change in &nothing {
        assert_eq!(
            patch(Path::new("/src"), change, PLAIN, never).body,
            Body::Nothing,
            "{change:?}"
        );
    }
}

#[test]
fn a_link_is_shown_by_its_target_and_never_followed() {
    let retarget = change(
        "l",
        ChangeKind::Modified,
        Some(symlink("old")),
        Some(symlink("new")),
    );
    let shown = patch(Path::new("/src"), &retarget, PLAIN, never);
    assert_eq!(lines(&shown), ["@@ -1 +1 @@", "-old", "\\", "+new", "\\"]);
    let became = change("l", ChangeKind::Type, Some(symlink("old")), Some(file("new")));
    let shown = patch(Path::new("/src"), &became, PLAIN, |later| {
        assert!(later, "the link's content is its target");
        Content::Bytes(b"text\n".to_vec())
    });
    assert_eq!(lines(&shown)[1..], ["-old", "\\", "+text"]);
    let gone = change("l", ChangeKind::Type, Some(symlink("old")), Some(dir()));
    assert_eq!(
        lines(&patch(Path::new("/src"), &gone, PLAIN, never))[1..],
        ["-old", "\\"]
    );
}
