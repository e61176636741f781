//! Errors: one exit code each, in words and as JSON, and harmless to read.

use std::io;

use super::super::error::{CliError, ErrorKind};
use super::super::exit_code::{ExitCode, Status};
use crate::diagnostic::Diagnostic;
use crate::terminal::Verbosity;
use crate::terminal::recorded::{facts, terminal};

#[test]
fn every_kind_has_its_exit_code_and_its_word() {
    use ErrorKind as K;
    let table = [
        (K::Failed, "failed", 1, 125),
        (K::Io, "io", 1, 125),
        (K::Interrupted, "interrupted", 1, 125),
        (K::SnapshotFailed, "snapshot-failed", 1, 125),
        (K::LimitExceeded, "limit-exceeded", 1, 125),
        (K::Usage, "usage", 2, 2),
        (K::Config, "config", 2, 2),
        (K::TooBroad, "too-broad", 2, 2),
        (K::RefusedActive, "refused-active", 3, 125),
        (K::RefusedOverlap, "refused-overlap", 3, 125),
        (K::RefusedLocked, "refused-locked", 3, 125),
        (K::RefusedInside, "refused-inside", 3, 125),
        (K::NotConfirmed, "not-confirmed", 4, 125),
        (K::UnknownInstance, "unknown-instance", 5, 125),
        (K::UnknownSnapshot, "unknown-snapshot", 5, 125),
        (K::NothingToRestore, "nothing-to-restore", 5, 125),
        (K::Partial, "partial", 6, 125),
        (K::Integrity, "integrity", 7, 125),
        (K::NewerStore, "newer-store", 7, 125),
        (K::Pending, "pending", 8, 125),
        (K::CannotExecute, "cannot-execute", 126, 126),
        (K::CommandNotFound, "command-not-found", 127, 127),
    ];
    for (kind, word, code, launch) in table {
        assert_eq!(kind.exit_code() as i32, code, "{kind:?}");
        assert_eq!(kind.launch_code() as i32, launch, "{kind:?}");
        assert_eq!(serde_json::to_value(kind).unwrap(), word);
    }
}

#[test]
fn the_table_of_exit_codes_is_in_order_and_whole() {
    let numbers = ExitCode::TABLE.map(|(code, _)| code as i32);
    assert_eq!(numbers, [0, 1, 2, 3, 4, 5, 6, 7, 8, 125, 126, 127]);
}

#[test]
fn a_launched_command_returns_its_own_status() {
    for (status, number) in [
        (Status::of_command(0), 0),
        (Status::of_command(77), 77),
        (Status::of_signal(9), 137),
        (Status::of_signal(15), 143),
    ] {
        assert_eq!(i32::from(status), number);
    }
    assert_eq!(i32::from(Status::from(ExitCode::Pending)), 8);
    assert!(Status::from(ExitCode::Done).is_success() && !Status::of_signal(2).is_success());
}

#[derive(Debug, thiserror::Error)]
#[error("cannot open the catalog: {source}")]
struct Outer {
    source: Middle,
}

impl Diagnostic for Outer {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Io
    }
}

#[derive(Debug, thiserror::Error)]
#[error("/x/catalog.sqlite3 is locked")]
struct Middle(#[source] io::Error);

fn nested() -> Outer {
    Outer {
        source: Middle(io::Error::from_raw_os_error(13)),
    }
}

#[test]
fn causes_are_told_once_from_the_nearest_to_the_deepest() {
    let error = CliError::from(nested());
    assert_eq!(
        error.message,
        "cannot open the catalog: /x/catalog.sqlite3 is locked"
    );
    assert_eq!(error.causes, ["Permission denied (os error 13)"]);
    let error = CliError::new(ErrorKind::Failed, "cannot list").because(nested());
    assert_eq!(error.causes.len(), 2);
}

#[test]
fn in_words_it_wraps_aligns_and_is_clean() {
    let error = CliError::new(
        ErrorKind::RefusedActive,
        "the instance rc-1-shop is active: \x1b[2Jclaude (pid 4711) still runs in it",
    )
    .because(io::Error::other("a\u{202e}b"))
    .hint("end it first, or wait:\n  jackin recovery end rc-1-shop");
    let (terminal, out, err) = terminal(facts(40), Verbosity::Quiet);
    error.print(&terminal, false);
    let expected = "\
error: the instance rc-1-shop is active:
       \\x1b[2Jclaude (pid 4711) still
       runs in it
because: a\\u{202e}b
hint: end it first, or wait:
        jackin recovery end rc-1-shop
";
    assert_eq!(err.text(), expected);
    terminal.finish().unwrap();
    assert_eq!(out.text(), "");
}

#[test]
fn as_json_it_has_the_fixed_form() {
    let (terminal, out, err) = terminal(facts(80), Verbosity::Quiet);
    CliError::new(ErrorKind::Pending, "a restore waits")
        .hint("resume it")
        .print(&terminal, true);
    assert_eq!(
        err.text(),
        "{\"schema\":1,\"error\":{\"kind\":\"pending\",\"message\":\"a restore waits\",\"hints\":[\"resume it\"]}}\n"
    );
    CliError::new(ErrorKind::Io, "x")
        .because(io::Error::other("full"))
        .print(&terminal, true);
    let last = err.text().lines().last().unwrap().to_owned();
    let value: serde_json::Value = serde_json::from_str(&last).unwrap();
    assert_eq!(value["error"]["causes"][0], "full");
    terminal.finish().unwrap();
    assert_eq!(out.text(), "");
}

/// Says for the operator less than its chain does.
#[derive(Debug, thiserror::Error)]
#[error("{count} bytes are needed in /x")]
struct Terse {
    count: u64,
    source: Middle,
}

impl Diagnostic for Terse {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Io
    }

    fn message(&self) -> String {
        "there is no room in /x".to_owned()
    }

    fn causes(&self) -> Vec<String> {
        vec![self.source.to_string()]
    }
}

#[test]
fn details_add_only_what_nothing_before_says() {
    let print = |verbosity, json| {
        let (terminal, _, err) = terminal(facts(80), verbosity);
        CliError::from(Terse {
            count: 1025,
            source: nested().source,
        })
        .hint("make room")
        .print(&terminal, json);
        err.text()
    };
    let shown = "\
error: there is no room in /x
because: /x/catalog.sqlite3 is locked
hint: make room
";
    assert_eq!(print(Verbosity::Normal, false), shown);
    let chain = "\
caused by: 1025 bytes are needed in /x
caused by: Permission denied (os error 13)
";
    assert_eq!(print(Verbosity::Verbose, false), format!("{shown}{chain}"));
    assert_eq!(print(Verbosity::Normal, true).lines().count(), 1);
}
