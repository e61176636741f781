//! `completions` and `man`: what is generated from the command line's own definition.

use clap::Args;
use clap::builder::PossibleValuesParser;

use super::Verb;
use crate::cli::args::{CommandSet as _, Example, Group, Shell};
use crate::cli::command::Command;
use crate::cli::context::Context;
use crate::cli::error::{CliError, ErrorKind};
use crate::cli::exit_code::{ExitCode, Status};
use crate::cli::generate;
use crate::cli::generate::CONFIG;
use crate::cli::schema::Document;
use crate::process::set_manual;
use crate::report::FileDocument;
use crate::session::recorded_mounts;

/// Print shell completions
#[derive(Clone, Copy, Debug, Args)]
pub struct CompletionsArgs {
    /// Which shell
    #[arg(value_enum, value_name = "SHELL")]
    pub shell: Shell,
    /// Print one JSON document
    #[arg(long)]
    pub json: bool,
}

impl Command for CompletionsArgs {
    const NAME: &'static str = "completions";
    const GROUP: Option<Group> = Some(Group::Setup);
    const LONG: &'static str = "The completions are for the name that the program was called by.";
    const EXAMPLES: &'static [Example] = &[(
        "For bash, from the next shell on:",
        "mkdir -p ~/.local/share/bash-completion/completions\njackin recovery completions bash \\\n    > ~/.local/share/bash-completion/completions/jackin",
    )];
    const DOCUMENTS: &'static [Document] = &[Document::of::<FileDocument<'static>>("completions")];

    fn json(&self) -> bool {
        self.json
    }

    fn run(&self, context: Context<'_>) -> Result<Status, CliError> {
        completions(&context, self)
    }
}

/// Print a manual page
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
    const LONG: &'static str =
        "On a terminal, opens the page in man(1). Otherwise prints its source for man(1).";
    const EXAMPLES: &'static [Example] = &[("", "jackin recovery man restore | man -l -")];
    const DOCUMENTS: &'static [Document] = &[Document::of::<FileDocument<'static>>("man")];

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

pub(super) fn completions(context: &Context<'_>, args: &CompletionsArgs) -> Result<Status, CliError> {
    let file = generate::completions(args.shell, context.called_as);
    print(context, &file, args.json)
}

pub(super) fn man(context: &Context<'_>, args: &ManArgs) -> Result<Status, CliError> {
    let file = generate::man::<Verb>(args.verb.as_deref()).map_err(failed)?;
    if args.json || !context.terminal.is_tty_out() {
        return print(context, &file, args.json);
    }
    let mounts = recorded_mounts(context.environment).map_err(failed)?;
    match set_manual(context.environment, &mounts, &file.contents) {
        Ok(text) => context.terminal.out(text.trim_end()),
        Err(why) => {
            let message = format!("the page cannot be shown on a terminal: {why}");
            let made = CliError::new(ErrorKind::Failed, message);
            let help = args
                .verb
                .as_ref()
                .map_or_else(String::new, |verb| format!("{verb} "));
            return Err(made.command("short help", format!("{help}--help")));
        }
    }
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
