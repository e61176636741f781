//! The door: what passes, what a closed pipe and a full disk do, and in which order the streams speak.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;
use serde::{Serialize, Serializer, ser::Error as _};

use super::super::filter::printable;
use super::super::recorded::{facts, terminal};
use super::super::style::{Role, labeled, paint};
use super::super::{Terminal, Verbosity};
use crate::display::sanitize::name;
use crate::display::tests::sanitize::hostile;

#[test]
fn only_our_own_colors_pass() {
    let ours = paint(Role::Added, "new");
    assert_eq!(printable(&ours, true), ours);
    assert_eq!(printable(&ours, false), "new");
    for steering in [
        "\x1b[2J",
        "\x1b[8m",
        "\x1b[7m",
        "\x1b[41m",
        "\x1b[38;5;1m",
        "\x1b[1;8m",
        "\x1b[1",
        "\x1b]0;x\x07",
        "\x1b[A",
    ] {
        for color in [true, false] {
            let passed = printable(steering, color);
            assert!(
                !passed.contains('\x1b') && passed.starts_with("\\x1b"),
                "{passed:?}"
            );
        }
    }
    assert_eq!(printable("a\tb\nc\rd\u{202e}", true), "a\tb\nc\\x0dd\\u{202e}");
    // Where a line ends it moves nothing: files keep theirs in patches.
    assert_eq!(printable("a\r\nb\r\rc\r", true), "a\r\nb\\x0d\\x0dc\r");
}

#[test]
fn every_role_can_pass() {
    for role in [
        Role::Heading,
        Role::Added,
        Role::Removed,
        Role::Changed,
        Role::Warning,
        Role::Error,
        Role::Dim,
        Role::Path,
    ] {
        let painted = paint(role, "x");
        assert!(painted.starts_with('\x1b') && painted.ends_with("\x1b[0m"));
        assert_eq!(printable(&painted, true), painted);
    }
    assert_eq!(paint(Role::Path, ""), "");
}

#[test]
fn json_is_one_line_and_shows_what_would_hide() {
    let (terminal, out, _) = terminal(facts(80), Verbosity::Normal);
    let value = serde_json::json!({"path": "a\u{202e}\u{9b}\u{7f}\x1b\u{e0041}é\"\\"});
    terminal.json(&value);
    terminal.finish().unwrap();
    let text = out.text();
    assert_eq!(
        text,
        "{\"path\":\"a\\u202e\\u009b\\u007f\\u001b\\udb40\\udc41é\\\"\\\\\"}\n"
    );
    assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
}

#[test]
fn verbosity_decides_what_is_said() {
    let expected = [
        (Verbosity::Quiet, "err\nwarning: w\n"),
        (Verbosity::Normal, "note\nerr\nwarning: w\n"),
        (Verbosity::Verbose, "detail\nnote\nerr\nwarning: w\n"),
    ];
    for (verbosity, said) in expected {
        let (terminal, out, err) = terminal(facts(80), verbosity);
        terminal.detail("detail");
        terminal.note("note");
        terminal.err("err");
        terminal.warn("w");
        // A store that is opened again reports nothing twice.
        terminal.warn("w");
        terminal.out("result");
        terminal.finish().unwrap();
        assert_eq!((out.text().as_str(), err.text().as_str()), ("result\n", said));
    }
}

#[test]
fn labels_align_wrapped_lines() {
    let text = labeled(Role::Error, "error", "one two three\n  a command kept whole", 14);
    assert_eq!(
        printable(&text, false),
        "error: one two\n       three\n         a command kept whole"
    );
}

#[test]
fn a_closed_pipe_is_remembered_and_no_error() {
    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    let terminal = Terminal::over(
        Box::new(writer),
        Box::new(io::sink()),
        facts(80),
        Verbosity::Normal,
    );
    for _ in 0..10_000 {
        terminal.out("a line that nobody reads");
    }
    assert!(terminal.out_is_closed());
    terminal.json(&1);
    terminal.err("still heard");
    terminal.finish().unwrap();
}

/// Fails every write, and counts them.
struct Full(Arc<AtomicUsize>);

impl Write for Full {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Err(io::ErrorKind::StorageFull.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_is_told_at_the_end_and_not_tried_again() {
    let tries = Arc::new(AtomicUsize::new(0));
    let terminal = Terminal::over(
        Box::new(Full(Arc::clone(&tries))),
        Box::new(io::sink()),
        facts(80),
        Verbosity::Normal,
    );
    for _ in 0..10_000 {
        terminal.out("a line that does not fit");
    }
    assert!(!terminal.out_is_closed());
    assert_eq!(terminal.finish().unwrap_err().kind(), io::ErrorKind::StorageFull);
    assert!(tries.load(Ordering::Relaxed) <= 2);
}

/// Refuses to be encoded half-way.
struct Broken;

impl Serialize for Broken {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(S::Error::custom("broken"))
    }
}

#[test]
fn a_document_that_cannot_be_encoded_leaves_nothing_half_written() {
    let (terminal, out, _) = terminal(facts(80), Verbosity::Normal);
    terminal.json(&vec![Broken]);
    assert!(terminal.finish().unwrap_err().to_string().contains("broken"));
    assert_eq!(out.text(), "");
}

#[test]
fn results_come_before_what_is_said_after_them() {
    let (both, _) = (super::super::recorded::Recording::default(), ());
    let terminal = Terminal::over(
        Box::new(both.clone()),
        Box::new(both.clone()),
        facts(80),
        Verbosity::Normal,
    );
    terminal.out("1");
    terminal.err("2");
    terminal.out("3");
    terminal.err("4");
    assert_eq!(both.text(), "1\n2\n3\n4\n");
}

#[test]
fn nobody_is_asked_without_a_terminal() {
    let (terminal, _, err) = terminal(facts(80), Verbosity::Normal);
    let caught = crate::process::Interrupts::install().unwrap();
    assert!(!terminal.can_ask());
    assert!(!terminal.ask("go ahead?", &caught));
    assert!(!terminal.can_choose());
    assert_eq!(terminal.choose("Agent", &["claude".to_owned()], 0, &caught), None);
    assert_eq!(err.text(), "");
}

#[test]
fn a_signal_is_a_wish_to_stop() {
    let caught = crate::process::Interrupts::install().unwrap();
    assert!(!caught.requested());
    signal_hook::low_level::raise(signal_hook::consts::SIGTERM).unwrap();
    assert!(caught.requested());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn a_shown_name_passes_as_it_is(bytes in hostile()) {
        let shown = name(&bytes);
        prop_assert_eq!(printable(&shown, true), shown);
    }
}
