//! How help is laid out: verbs in groups, examples below, in the colours of the terminal.

use clap::builder::Styles;
use clap::{Arg, ArgAction, Command};

use super::CalledAs;
use super::texts::{examples, long_about};
use crate::terminal::Role;

/// Every verb.
pub(in crate::cli) const VERBS: [&str; 30] = [
    "explain",
    "launch",
    "begin",
    "end",
    "checkpoint",
    "exec",
    "list",
    "show",
    "diff",
    "restore",
    "undo",
    "resume",
    "abort",
    "fork",
    "export",
    "import",
    "verify",
    "log",
    "prune",
    "replicate",
    "pin",
    "unpin",
    "rebuild",
    "doctor",
    "init",
    "hook",
    "mcp",
    "ui",
    "completions",
    "man",
];

/// The verbs as a user meets them.
const GROUPS: [(&str, &[&str]); 5] = [
    (
        "Sessions",
        &["explain", "launch", "begin", "end", "checkpoint", "exec"],
    ),
    ("Inspect", &["ui", "list", "show", "diff"]),
    ("Restore", &["restore", "undo", "resume", "abort", "fork"]),
    (
        "Store",
        &[
            "export",
            "import",
            "replicate",
            "verify",
            "log",
            "prune",
            "pin",
            "unpin",
            "rebuild",
            "doctor",
        ],
    ),
    ("Setup", &["init", "hook", "mcp", "completions", "man"]),
];

/// Help wider than this is hard to read.
const WIDEST: usize = 100;

/// The command line of the program under the name it was called by, with help for a terminal of `columns`.
#[must_use]
pub fn command_for(called_as: CalledAs, columns: usize) -> Command {
    let recovery = laid_out(super::bare(), called_as);
    let command = match called_as {
        CalledAs::JackinRecovery => recovery,
        CalledAs::Jackin => Command::new("jackin")
            .version(env!("CARGO_PKG_VERSION"))
            .about("This program has only the command `recovery`")
            .after_help("See jackin recovery --help for what it can do.")
            .subcommand_required(true)
            .arg_required_else_help(true)
            .disable_help_subcommand(true)
            .disable_help_flag(true)
            .disable_version_flag(true)
            .arg(help_flag().global(false).help_heading("Options"))
            .arg(version_flag().help_heading("Options"))
            .subcommand(recovery.name("recovery")),
    };
    command.styles(styles()).term_width(columns.min(WIDEST))
}

fn laid_out(command: Command, called_as: CalledAs) -> Command {
    let (overview, heading) = (overview(&command), Role::Heading.style());
    let command = command
        .help_template(format!(
            "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{overview}{heading}Output:{heading:#}\n{{options}}{{after-help}}"
        ))
        .after_help(shown_examples("", called_as))
        .disable_help_subcommand(true)
        .disable_help_flag(true)
        .disable_version_flag(true)
        .arg_required_else_help(true)
        .subcommand_value_name("COMMAND")
        .arg(help_flag())
        .arg(version_flag());
    VERBS.into_iter().fold(command, |command, verb| {
        command.mut_subcommand(verb, |command| {
            let command = command.after_help(shown_examples(verb, called_as));
            match long_about(verb) {
                Some(text) => {
                    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
                    command.long_about(format!("{about}\n\n{text}"))
                }
                None => command,
            }
        })
    })
}

/// The verbs with their first lines, in groups.
fn overview(command: &Command) -> String {
    let heading = Role::Heading.style();
    let literal = Role::Path.style();
    let mut text = String::new();
    for (title, verbs) in GROUPS {
        text.push_str(&format!("{heading}{title}:{heading:#}\n"));
        for verb in verbs {
            let about = command
                .find_subcommand(verb)
                .and_then(Command::get_about)
                .map(ToString::to_string);
            text.push_str(&format!(
                "  {literal}{verb:<12}{literal:#} {}\n",
                about.unwrap_or_default()
            ));
        }
        text.push('\n');
    }
    text
}

fn shown_examples(verb: &str, called_as: CalledAs) -> String {
    let heading = Role::Heading.style();
    let mut text = format!("{heading}Examples:{heading:#}");
    for (what, line) in examples(verb) {
        let line = as_called(line, called_as);
        if !what.is_empty() {
            text.push_str(&format!("\n  {what}"));
        }
        text.push_str(&format!("\n    {}", line.replace('\n', "\n    ")));
    }
    text
}

/// An example as the operator types it. The texts are written for the name `jackin`.
fn as_called(line: &str, called_as: CalledAs) -> String {
    match called_as {
        CalledAs::Jackin => line.to_owned(),
        CalledAs::JackinRecovery => line
            .replace(CalledAs::Jackin.prefix(), called_as.prefix())
            .replace("completions/jackin", "completions/jackin-recovery"),
    }
}

fn help_flag() -> Arg {
    Arg::new("help")
        .short('h')
        .long("help")
        .global(true)
        .action(ArgAction::Help)
        .help("Print help (-h: short, --help: in full)")
        .help_heading("Output")
        .display_order(910)
}

fn version_flag() -> Arg {
    Arg::new("version")
        .short('V')
        .long("version")
        .action(ArgAction::Version)
        .help("Print the version (with -v: commit, target and features)")
        .help_heading("Output")
        .display_order(911)
}

fn styles() -> Styles {
    Styles::plain()
        .header(Role::Heading.style())
        .usage(Role::Heading.style())
        .literal(Role::Path.style())
        .error(Role::Error.style())
}
