//! `completions` and `man`: what is generated from the command line's own definition.

use std::path::Path;

use clap::Args;
use clap::builder::PossibleValuesParser;

use super::Verb;
use crate::cli::args::{CommandSet as _, Example, Group, Shell};
use crate::cli::command::Command;
use crate::cli::completion_files::{CompletionFiles, own_shell};
use crate::cli::confirm::confirm;
use crate::cli::context::Context;
use crate::cli::error::{CliError, ErrorKind};
use crate::cli::exit_code::{ExitCode, Status};
use crate::cli::generate;
use crate::cli::generate::CONFIG;
use crate::cli::schema::Document;
use crate::cli::view;
use crate::diagnostic::Diagnostic as _;
use crate::process::set_manual;
use crate::recovery::RecoveryError;
use crate::report::{CompletionsInstallDocument, FileDocument, InstallOutcome};
use crate::session::recorded_mounts;
use crate::terminal::sanitize;

/// Print or install shell completions
#[derive(Clone, Copy, Debug, Args)]
pub struct CompletionsArgs {
    /// The shell [default with --install: that of SHELL]
    #[arg(value_enum, value_name = "SHELL", required_unless_present = "install")]
    pub shell: Option<Shell>,
    /// Install the files where the shell reads them
    #[arg(long)]
    pub install: bool,
    /// Print what would be installed and stop
    #[arg(long, requires = "install")]
    pub dry_run: bool,
    /// Do not ask
    #[arg(long, requires = "install", conflicts_with = "dry_run")]
    pub yes: bool,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

impl Command for CompletionsArgs {
    const NAME: &'static str = "completions";
    const GROUP: Option<Group> = Some(Group::Setup);
    const LONG: &'static str = "\
        Prints the completions for the name that the program was called by. With --install, writes those for both names, \
        jackin and jackin-recovery, to your own directory of the shell, after a question. A file that is not from jackin \
        is never replaced.";
    const EXAMPLES: &'static [Example] = &[
        ("For your shell:", "jackin recovery completions --install"),
        (
            "For another shell, without a question:",
            "jackin recovery completions --install fish --yes",
        ),
        ("Elsewhere:", "jackin recovery completions zsh > ~/.zfunc/_jackin"),
    ];
    const DOCUMENTS: &'static [Document] = &[
        Document::of::<FileDocument<'static>>("completions"),
        Document::of::<CompletionsInstallDocument>("completions-install"),
    ];

    fn json(&self) -> bool {
        self.json
    }

    fn changes_something(&self) -> bool {
        self.install && !self.dry_run
    }

    fn run(&self, context: Context<'_>) -> Result<Status, CliError> {
        match (self.install, self.shell) {
            (false, Some(shell)) => {
                let file = generate::completions(shell, context.called_as);
                print(&context, &file, self.json)
            }
            (_, shell) => install(&context, self, shell),
        }
    }
}

/// Show a manual page
#[derive(Clone, Debug, Args)]
pub struct ManArgs {
    /// The command, or `config` for the configuration [default: the overview]
    #[arg(value_name = "PAGE", value_parser = pages(), hide_possible_values = true)]
    pub verb: Option<String>,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

impl Command for ManArgs {
    const NAME: &'static str = "man";
    const GROUP: Option<Group> = Some(Group::Setup);
    const LONG: &'static str = "On a terminal, shows the page in the pager, formatted by man(1) if it is installed. Otherwise prints its source \
        for man(1).";
    const EXAMPLES: &'static [Example] = &[
        ("", "jackin recovery man restore"),
        ("All settings:", "jackin recovery man config"),
        (
            "As a file:",
            "jackin recovery man restore > jackin-recovery-restore.1",
        ),
    ];
    const DOCUMENTS: &'static [Document] = &[Document::of::<FileDocument<'static>>("man")];
    const IS_READ: bool = true;

    fn json(&self) -> bool {
        self.json
    }

    fn run(&self, context: Context<'_>) -> Result<Status, CliError> {
        man(&context, self)
    }
}

fn pages() -> PossibleValuesParser {
    PossibleValuesParser::new(Verb::names().chain([CONFIG]))
}

/// Shows the files, asks and writes them.
fn install(context: &Context<'_>, args: &CompletionsArgs, shell: Option<Shell>) -> Result<Status, CliError> {
    let terminal = context.terminal;
    // An agent must not write what the operator's shell runs.
    context.engine().ensure_outside()?;
    let shell = shell.or_else(|| own_shell(context.environment));
    let shell = shell.ok_or_else(|| {
        let named = context.environment.get("SHELL").filter(|shell| !shell.is_empty());
        let message = match named.and_then(|shell| Path::new(shell).file_name().map(sanitize::os)) {
            Some(shell) => format!("there are no completions for {shell}: name bash, zsh or fish"),
            None => "SHELL names no shell: name bash, zsh or fish".to_owned(),
        };
        CliError::new(ErrorKind::Usage, message).command("for example", "completions --install bash")
    })?;
    let plan = CompletionFiles::plan(context.environment, shell).ok_or(RecoveryError::NoHome)?;
    let is_any = plan.changes_any();
    let planned = plan.document(if is_any {
        InstallOutcome::Planned
    } else {
        InstallOutcome::Unchanged
    });
    let shown = view::completions::files(&planned, context.environment.home.as_deref());
    if !args.json {
        terminal.out(&shown);
    } else if is_any && !args.yes && !args.dry_run {
        terminal.err(&shown);
    }
    if is_any && !args.dry_run {
        confirm(terminal, &context.interrupts, "Write these files?", args.yes)?;
        plan.write(context.world().entropy).map_err(|error| {
            let kind = error.kind();
            CliError::new(kind, error.to_string())
        })?;
    }
    let done = is_any && !args.dry_run;
    let told = if done {
        plan.document(InstallOutcome::Written)
    } else {
        planned
    };
    if args.json {
        terminal.json(&told);
    } else {
        for line in view::completions::next(&told, done) {
            terminal.note(&line);
        }
    }
    let is_kept = told.kept().next().is_some();
    Ok(if is_kept {
        ExitCode::Partial
    } else {
        ExitCode::Done
    }
    .into())
}

pub(super) fn man(context: &Context<'_>, args: &ManArgs) -> Result<Status, CliError> {
    let file = generate::man::<Verb>(args.verb.as_deref()).map_err(failed)?;
    if args.json || !context.terminal.is_tty_out() {
        return print(context, &file, args.json);
    }
    let mounts = recorded_mounts(context.environment).map_err(failed)?;
    let text = set_manual(context.environment, &mounts, &file.contents);
    let text = text.unwrap_or_else(|_| generate::plain(&file.contents, context.terminal.width_out()));
    context.terminal.out(text.trim_end());
    Ok(ExitCode::Done.into())
}

fn failed(error: std::io::Error) -> CliError {
    CliError::new(ErrorKind::Io, "it cannot be generated").because(error)
}

fn print(context: &Context<'_>, file: &generate::GeneratedFile, json: bool) -> Result<Status, CliError> {
    if json {
        context
            .terminal
            .json(&FileDocument::new(file.name(), &file.contents));
    } else {
        context.terminal.out(file.contents.trim_end());
    }
    Ok(ExitCode::Done.into())
}
