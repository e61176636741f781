//! `blame`: the session, prompt and tool call that last changed each line of a file.

use std::ffi::OsString;
use std::path::Path;
use std::str::FromStr;

use clap::Args;

use crate::cli::args::{Example, Group};
use crate::cli::command::Command;
use crate::cli::context::Context;
use crate::cli::error::{CliError, ErrorKind};
use crate::cli::exit_code::{ExitCode, Status};
use crate::cli::schema::Document;
use crate::cli::session_arg::SessionPathArg;
use crate::cli::suggested_command::Words;
use crate::cli::view;
use crate::recovery::BlameRequest;
use crate::report::BlameDocument;
use crate::terminal::size;

/// Show what last changed each line of a file
#[derive(Clone, Debug, Args)]
#[command(allow_missing_positional = true)]
pub struct BlameArgs {
    /// Session and file.
    #[command(flatten)]
    pub subject: SessionPathArg,
    /// Only these lines, counted from 1; either end may be missing
    #[arg(short = 'L', long, value_name = "START,END")]
    pub lines: Option<LineRange>,
    /// Show likely secrets
    #[arg(long)]
    pub show_secrets: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

/// First and last line that are wanted, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineRange {
    first: u64,
    last: u64,
}

impl LineRange {
    /// Range of all lines.
    const ALL: Self = Self {
        first: 1,
        last: u64::MAX,
    };
}

impl FromStr for LineRange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = |part: &str, missing: u64| match part.trim() {
            "" => Some(missing),
            digits => digits.parse().ok().filter(|number| *number > 0),
        };
        let range = match text.split_once(',') {
            Some((first, last)) => number(first, 1).zip(number(last, u64::MAX)),
            None => text.trim().parse().ok().map(|line| (line, line)),
        };
        match range {
            Some((first, last)) if (1..=last).contains(&first) => Ok(Self { first, last }),
            _ => Err("a line, or START,END with START at most END".to_owned()),
        }
    }
}

impl Command for BlameArgs {
    const NAME: &'static str = "blame";
    const GROUP: Option<Group> = Some(Group::Daily);
    const LONG: &'static str = "\
        Reads every snapshot that covers the file, of all sessions or of INSTANCE, and compares it with the current file. \
        What changed between two snapshots belongs to the tool call or the turn between them, as agents' hooks reported it; \
        without hooks, to the session. `you` are changes between turns and outside of sessions, and `-` marks lines that are \
        older than the first snapshot. Lines that a restore brought back keep their authors. For a deleted file, says what \
        deleted it, and shows its last lines. Binary files and files over 4 MiB are described as a whole. A rename is \
        followed if the content stayed the same and two snapshots show it.";
    const EXAMPLES: &'static [Example] = &[
        (
            "What wrote the lines of a file:",
            "jackin recovery blame src/main.rs",
        ),
        ("Ten of them:", "jackin recovery blame src/main.rs -L 20,29"),
        (
            "What deleted a file, in one session:",
            "jackin recovery blame shop data.csv",
        ),
    ];
    const DOCUMENTS: &'static [Document] = &[Document::of::<BlameDocument>("blame")];
    const IS_READ: bool = true;

    fn json(&self) -> bool {
        self.json
    }

    fn tells_pending(&self) -> bool {
        true
    }

    fn run(&self, context: Context<'_>) -> Result<Status, CliError> {
        let (context, args) = (&context, self);
        let (session, path) = args.subject.settle(context, args.json)?;
        let found = context.engine().blame(&BlameRequest {
            session: session.as_deref(),
            path: &path,
        })?;
        let wanted = args.lines.unwrap_or(LineRange::ALL);
        let report = BlameDocument::of(&found, (wanted.first, wanted.last), args.show_secrets);
        if report.whole.is_none() && args.lines.is_some() && wanted.first > report.count {
            let lines = size::counted(report.count, "line", "lines");
            let error = CliError::new(ErrorKind::Usage, format!("the file has only {lines}"));
            return Err(error);
        }
        let terminal = context.terminal;
        if args.json {
            terminal.json(&report);
            return Ok(ExitCode::Done.into());
        }
        if let Some(heading) = view::blame::heading(&report, context.now()) {
            terminal.out(&heading);
        }
        let width = match terminal.is_tty_out() {
            true => terminal.width_out(),
            false => usize::MAX,
        };
        for line in view::blame::lines(&report, context.now(), width) {
            if terminal.out_is_closed() {
                break;
            }
            terminal.out(&line);
        }
        if report.whole.is_none() && report.count == 0 && !report.deleted {
            terminal.note("the file is empty");
        }
        if let Some(warning) = view::blame::passed_over(report.unreadable) {
            terminal.warn(&warning);
        }
        let unstored = view::blame::unstored(&report);
        if unstored > 0 {
            let lines = size::counted(unstored, "line is", "lines are");
            terminal.note(&format!("{lines} in no snapshot yet"));
        }
        let words = Words::new("log");
        let words = match &session {
            Some(session) => words.arg(session),
            None => words,
        };
        context.propose("details", &words.paths(&[log_path(path)]).text());
        Ok(ExitCode::Done.into())
    }
}

/// Returns the path as `log` takes it for one, also if it is the name of a session.
fn log_path(path: OsString) -> OsString {
    match path.as_encoded_bytes().contains(&b'/') {
        true => path,
        false => Path::new(".").join(path).into_os_string(),
    }
}
