//! `cat`: the stored bytes of files.

use std::ffi::OsString;
use std::fs::File;
use std::io;

use clap::{Args, ValueHint};

use crate::cli::args::{Example, Group, Unlock, some_path, some_text};
use crate::cli::command::Command;
use crate::cli::context::Context;
use crate::cli::error::{CliError, ErrorKind};
use crate::cli::exit_code::{ExitCode, Status};
use crate::cli::identity_arg::identities;
use crate::cli::named_file::NamedFile;
use crate::cli::snapshot_arg::SnapshotPathsArg;
use crate::recovery::{FilesRequest, StoredFiles};
use crate::terminal::sanitize;

/// Longest part of a line that is kept before it is printed to a terminal, in bytes.
const LONGEST: usize = 64 << 10;

/// Print the stored content of files
#[derive(Clone, Debug, Args)]
pub struct CatArgs {
    /// Snapshot and files.
    #[command(flatten)]
    pub subject: SnapshotPathsArg,
    /// The snapshot right before a prompt or tool call of the agent, by a part of its text
    #[arg(long, value_name = "TEXT", value_parser = some_text())]
    pub before: Option<String>,
    /// Write to FILE, which must not exist and only you can read (- for stdout)
    #[arg(short, long, value_name = "FILE", value_parser = some_path(), value_hint = ValueHint::FilePath)]
    pub output: Option<OsString>,
    /// Print files that are likely to hold secrets
    #[arg(long)]
    pub show_secrets: bool,
    /// Private key for encrypted content.
    #[command(flatten)]
    pub unlock: Unlock,
}

impl Command for CatArgs {
    const NAME: &'static str = "cat";
    const GROUP: Option<Group> = Some(Group::Sessions);
    const LONG: &'static str = "\
        Prints the bytes as they were captured, several files one after the other. Of a symbolic link, prints the target, as git does. A \
        terminal gets text only, with control characters escaped: redirect a binary file, or write it with --output. \
        Without a snapshot, prints what the baseline has, which is what a restore brings back. Files that only their owner \
        may read, files with names of credentials, and text with a login in it need --show-secrets or --output. If the \
        snapshot does not have the file, the error names the nearest one that does.";
    const EXAMPLES: &'static [Example] = &[
        (
            "A file from before the latest session here:",
            "jackin recovery cat src/main.rs",
        ),
        (
            "A file from the end of the session before it:",
            "jackin recovery cat @2:closing src/main.rs",
        ),
        (
            "A file from before a command of the agent:",
            "jackin recovery cat --before rm data.csv",
        ),
    ];
    const IS_READ: bool = true;

    fn tells_pending(&self) -> bool {
        true
    }

    fn run(&self, context: Context<'_>) -> Result<Status, CliError> {
        let (context, args) = (&context, self);
        let engine = context.engine();
        let (session, snapshot, paths) = args.subject.settle(context)?;
        let before = match (&args.before, &snapshot) {
            (Some(_), Some(_)) => {
                let error = CliError::new(ErrorKind::Usage, "--before and :SNAP both name the snapshot");
                return Err(error.hint("omit one of them"));
            }
            (Some(text), None) => Some(engine.snapshot_before(&session, text)?.to_string()),
            (None, _) => None,
        };
        let output = args.output.as_ref().filter(|file| *file != "-");
        let output = output
            .map(|file| NamedFile::settle(context, file.as_ref()))
            .transpose()?;
        let found = engine.stored_files(&FilesRequest {
            session: &session,
            snapshot: before.as_deref().or(snapshot.as_deref()),
            paths: &paths,
            keys: &|| identities(context, &args.unlock),
        })?;
        for file in found.files.iter().filter(|file| file.has_placeholders) {
            let shown = sanitize::path(&file.path);
            context.terminal.note(&format!(
                "{shown} has placeholders where it held secrets; --identity FILE shows those that were encrypted"
            ));
        }
        if let Some(file) = &output {
            file.create(context, |file| write(context, &found, file))?;
            context
                .terminal
                .note(&format!("wrote {} (readable only by you)", file.shown));
            return Ok(ExitCode::Done.into());
        }
        let is_tty = context.terminal.is_tty_out();
        for file in &found.files {
            let shown = sanitize::path(&file.path);
            if !args.show_secrets && found.is_secret(file)? {
                let error = CliError::new(ErrorKind::Usage, format!("{shown} is likely to hold secrets"));
                return Err(error.hint(
                    "add --show-secrets to print it, or --output FILE to write a file that only you can read",
                ));
            }
            if is_tty && found.is_binary(file)? {
                let error = CliError::new(ErrorKind::Usage, format!("{shown} is a binary file"));
                return Err(error.hint("write it with --output FILE, or redirect the output"));
            }
        }
        for file in &found.files {
            let mut lines = Lines::default();
            found.stream(file, &mut |block| {
                match is_tty {
                    true => lines.print(context, block),
                    false => context.terminal.bytes(block),
                }
                !context.terminal.out_is_closed() && !context.interrupts.requested()
            })?;
            stop_if_asked(context)?;
            lines.finish(context);
        }
        Ok(ExitCode::Done.into())
    }
}

/// Text that is printed to a terminal line by line, escaped.
#[derive(Default)]
struct Lines {
    /// Begin of a line whose end has not come.
    begun: Vec<u8>,
}

impl Lines {
    fn print(&mut self, context: &Context<'_>, block: &[u8]) {
        for part in block.split_inclusive(|byte| *byte == b'\n') {
            self.begun.extend_from_slice(part);
            if part.ends_with(b"\n") || self.begun.len() > LONGEST {
                self.finish(context);
            }
        }
    }

    fn finish(&mut self, context: &Context<'_>) {
        let line = std::mem::take(&mut self.begun);
        if !line.is_empty() {
            let line = line.strip_suffix(b"\n").unwrap_or(&line);
            context.terminal.out(&sanitize::line(line));
        }
    }
}

/// Fails if the operator asked to stop: the output is incomplete.
fn stop_if_asked(context: &Context<'_>) -> Result<(), CliError> {
    match context.interrupts.requested() {
        true => Err(CliError::new(ErrorKind::Interrupted, "interrupted")),
        false => Ok(()),
    }
}

/// Writes all files into one.
fn write(context: &Context<'_>, found: &StoredFiles, file: &mut File) -> Result<(), CliError> {
    let mut end = 0;
    for stored in &found.files {
        let written = found.write_to(stored, file, &|| !context.interrupts.requested())?;
        stop_if_asked(context)?;
        end += written.map_err(unwritten)?;
    }
    file.set_len(end).map_err(unwritten)
}

fn unwritten(error: io::Error) -> CliError {
    CliError::new(ErrorKind::Io, "the file cannot be written").because(error)
}
