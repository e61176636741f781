//! `completions` and `man`: what is generated from the command line's own definition.

use crate::cli::args::{CompletionsArgs, ManArgs};
use crate::cli::context::Context;
use crate::cli::document::FileDocument;
use crate::cli::error::{CliError, ErrorKind};
use crate::cli::exit_code::{ExitCode, Status};
use crate::cli::generate;
use crate::process::set_manual;
use crate::session::recorded_mounts;

pub(super) fn completions(context: &Context<'_>, args: &CompletionsArgs) -> Result<Status, CliError> {
    let file = generate::completions(args.shell, context.called_as);
    print(context, &file, args.json)
}

pub(super) fn man(context: &Context<'_>, args: &ManArgs) -> Result<Status, CliError> {
    let file = generate::man(args.verb.as_deref()).map_err(failed)?;
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
            return Err(made.command("the same in short", format!("{help}--help")));
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
