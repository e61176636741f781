//! The command line as scripts and people meet it.

mod errors;
mod help;
mod parse;
mod running;

use std::ffi::OsString;

use super::{Invocation, ParseOutcome, error::CliError, parse as parse_args};

fn words(line: &str) -> Vec<OsString> {
    line.split_whitespace().map(OsString::from).collect()
}

fn understood(line: &str) -> Invocation {
    parse_args(words(line), 80).unwrap_or_else(|outcome| panic!("{line}: {outcome:?}"))
}

fn wrong(line: &str) -> CliError {
    match parse_args(words(line), 80) {
        Err(ParseOutcome::Wrong { error, .. }) => *error,
        other => panic!("{line}: {other:?}"),
    }
}
