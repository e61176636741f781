//! `doctor`: looks for what is wrong and says what to type; changes nothing.

use clap::Args;

use crate::cli::args::{Example, Group};
use crate::cli::command::Command;
use crate::cli::context::Context;
use crate::cli::error::CliError;
use crate::cli::exit_code::{ExitCode, Status};
use crate::cli::schema::Document;
use crate::cli::view;
use crate::recovery::{Severity, Step};
use crate::report::DoctorDocument;

/// Check the installation and suggest fixes
#[derive(Clone, Copy, Debug, Args)]
pub struct DoctorArgs {
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

impl Command for DoctorArgs {
    const NAME: &'static str = "doctor";
    const GROUP: Option<Group> = Some(Group::Store);
    const LONG: &'static str = "\
        Checks configuration, store, locks, sessions, mounts and versions, and changes nothing. Each problem comes \
        with the command or step that fixes it. Exits with 0 if there is no error, 7 if stored data is damaged or \
        from a newer version, else 1. Use `verify --read-data` to check contents.";
    const EXAMPLES: &'static [Example] = &[
        ("", "jackin recovery doctor"),
        (
            "For a script that checks the exit code:",
            "jackin recovery doctor --json",
        ),
    ];
    const DOCUMENTS: &'static [Document] = &[Document::of::<DoctorDocument>("doctor")];
    const READS_CONFIG: bool = true;
    const IS_READ: bool = true;

    fn json(&self) -> bool {
        self.json
    }

    fn run(&self, context: Context<'_>) -> Result<Status, CliError> {
        let (context, args) = (&context, self);
        // Where the kernel or the system hides it there is one finding less, no error.
        let program = std::env::current_exe().ok();
        let checkup = context.engine().doctor(program.as_deref());
        let terminal = context.terminal;
        let found = DoctorDocument::of(&checkup, |step| next(context, step));
        if args.json {
            terminal.json(&found);
        } else {
            let text = view::doctor::doctor(&found, terminal.verbosity(), terminal.width_out());
            terminal.out(&text);
        }
        Ok(match checkup.worst() {
            Severity::Error if checkup.is_damaged() => ExitCode::Integrity,
            Severity::Error => ExitCode::Failed,
            Severity::Ok | Severity::Note | Severity::Warning => ExitCode::Done,
        }
        .into())
    }
}

/// Returns the next step as the operator types it.
fn next(context: &Context<'_>, step: &Step) -> String {
    match step {
        Step::Verb(words) => context.command(words),
        Step::Shell(line) => line.clone(),
        Step::Words(words) => words.clone(),
    }
}
