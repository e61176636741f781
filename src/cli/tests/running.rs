//! From a command line to an exit code, on the streams that the outcome belongs to.

use std::io;

use super::super::args::wants_json;
use super::super::confirm::confirm;
use super::super::error::{CliError, ErrorKind};
use super::super::exit_code::{ExitCode, Status};
use super::super::{Invocation, run_on};
use super::words;
use crate::environment::Environment;
use crate::process::Interrupts;
use crate::terminal::recorded::{facts, terminal};
use crate::terminal::{Terminal, Verbosity};

fn ran(
    line: &str,
    perform: impl FnOnce(&Invocation, &Terminal) -> Result<Status, CliError>,
) -> (i32, String, String) {
    let (terminal, out, err) = terminal(facts(80), Verbosity::Normal);
    let args = words(line);
    let json = wants_json(&args);
    let status = run_on(args, json, terminal, &Environment::default(), perform);
    (status.into(), out.text(), err.text())
}

fn never(_: &Invocation, _: &Terminal) -> Result<Status, CliError> {
    panic!("nothing was to be carried out")
}

#[test]
fn help_goes_to_stdout_and_complaints_to_stderr() {
    let (code, out, err) = ran("jackin recovery --help", never);
    assert!(code == 0 && out.starts_with("Undo what") && err.is_empty());
    let (code, out, err) = ran("jackin recovery", never);
    assert!(
        code == 2 && out.is_empty() && err.starts_with("Undo what"),
        "{err}"
    );
    let (code, out, err) = ran("jackin recovery lst", never);
    assert!(code == 2 && out.is_empty());
    assert_eq!(
        err,
        "error: there is no command `lst`\nhint: did you mean jackin recovery list?\nhint: see jackin recovery --help\n"
    );
    let (_, _, err) = ran("jackin recovery gc x", never);
    assert!(
        err.contains("hint: did you mean jackin recovery prune?\n"),
        "{err}"
    );
    let (_, _, err) = ran("jackin recovery diff x --only-changes-of=y", never);
    assert!(
        err.contains("hint: `--only-changes-of` is an option of jackin recovery restore\n")
            && !err.contains("to pass"),
        "{err}"
    );
    let (code, _, err) = ran("jackin recovery restore --nonsense", never);
    assert!(
        code == 2 && err.contains("hint: usage: jackin recovery restore [OPTIONS] [INSTANCE] [PATH]..."),
        "{err}"
    );
}

#[test]
fn wrong_command_lines_are_told_as_json_when_json_was_wanted() {
    for line in [
        "jackin recovery --json",
        "jackin recovery lst --json",
        "jackin recovery restore --nonsense --json",
        "jackin list --json",
    ] {
        let (code, out, err) = ran(line, never);
        let value: serde_json::Value =
            serde_json::from_str(&err).unwrap_or_else(|error| panic!("{line}: {error}: {err}"));
        assert!(code == 2 && out.is_empty() && err.lines().count() == 1);
        assert_eq!(
            (&value["schema"], &value["error"]["kind"]),
            (&1.into(), &"usage".into()),
            "{line}"
        );
    }
    let (_, _, err) = ran("jackin recovery launch --nonsense -- make --json", never);
    assert!(err.starts_with("error: "), "{err}");
}

#[test]
fn hostile_arguments_are_shown_harmlessly() {
    for line in [
        "jackin \x1b[2Jx",
        "jackin recovery \x1b[2Jx",
        "jackin recovery show a --\x1b[2Jx",
        "jackin recovery show \x1b[2J a\u{202e}",
    ] {
        let (code, out, err) = ran(line, never);
        assert!(code == 2 && out.is_empty());
        assert!(!err.contains(['\x1b', '\u{202e}']), "{err:?}");
    }
}

#[test]
fn a_verb_ends_with_its_status_or_its_errors_code() {
    let (code, out, _) = ran("jackin recovery list", |_, terminal| {
        terminal.out("result");
        Ok(ExitCode::Partial.into())
    });
    assert_eq!((code, out.as_str()), (6, "result\n"));
    let active = |_: &Invocation, _: &Terminal| Err(CliError::new(ErrorKind::RefusedActive, "it runs"));
    let (code, _, err) = ran("jackin recovery restore x", active);
    assert_eq!((code, err.as_str()), (3, "error: it runs\n"));
    let (code, _, err) = ran("jackin recovery restore x --json", active);
    assert!(code == 3 && err.starts_with("{\"schema\":1,\"error\":{\"kind\":\"refused-active\""));
    assert_eq!(ran("jackin recovery launch . -- make", active).0, 125);
    assert_eq!(
        ran("jackin recovery launch . -- make", |_, _| Ok(Status::of_signal(
            9
        )))
        .0,
        137
    );
    let quiet = ran("jackin recovery list -q", |_, terminal| {
        terminal.note("beside");
        Ok(ExitCode::Done.into())
    });
    assert_eq!(quiet, (0, String::new(), String::new()));
}

/// Takes nothing.
struct Refusing(io::ErrorKind);

impl io::Write for Refusing {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(self.0.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_result_that_is_lost_is_a_failure_but_a_reader_that_left_is_none() {
    for (kind, done, partial) in [
        (io::ErrorKind::StorageFull, 1, 6),
        (io::ErrorKind::BrokenPipe, 0, 6),
    ] {
        for (status, code) in [(ExitCode::Done, done), (ExitCode::Partial, partial)] {
            let terminal = Terminal::over(
                Box::new(Refusing(kind)),
                Box::new(io::sink()),
                facts(80),
                Verbosity::Normal,
            );
            let ended = run_on(
                words("jackin recovery list"),
                false,
                terminal,
                &Environment::default(),
                |_, terminal| {
                    terminal.out("result");
                    Ok(status.into())
                },
            );
            assert_eq!(i32::from(ended), code, "{kind}");
        }
    }
}

#[test]
fn without_a_terminal_only_yes_goes_ahead() {
    let (terminal, _, err) = terminal(facts(80), Verbosity::Normal);
    let caught = Interrupts::install().unwrap();
    confirm(&terminal, &caught, "restore 3 files?", true).unwrap();
    let error = confirm(&terminal, &caught, "restore 3 files?", false).unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotConfirmed);
    assert!(
        error
            .hints
            .iter()
            .any(|hint| hint.contains("--yes") && hint.contains("--dry-run"))
    );
    assert_eq!(err.text(), "");
}
