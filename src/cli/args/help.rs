//! Layout of help: commands in groups, examples below, in the colors of the terminal.

use clap::builder::Styles;
use clap::{Arg, ArgAction, Args as _, Command};

use super::table::{CommandSet, Example, Group};
use super::{CalledAs, GlobalArgs};
use crate::terminal::{Role, width};

/// Examples of the overview.
pub(in crate::cli) const OVERVIEW: &[Example] = &[
    (
        "Run an agent in this directory, show what it changed, and undo it:",
        "jackin recovery launch -- claude",
    ),
    ("", "jackin recovery diff"),
    ("", "jackin recovery restore"),
];

/// Help wider than this is hard to read.
const WIDEST: usize = 100;
/// Columns before the first line of a command in the short overview.
const ABOUT: usize = 13;
/// Columns of the title of a group in the short overview.
const TITLE: usize = 10;

/// The command line of the program under the name it was called by, with help for a terminal of `columns`.
#[must_use]
pub fn command_for<V: CommandSet>(called_as: CalledAs, columns: usize) -> Command {
    let recovery = laid_out::<V>(super::bare::<V>(), called_as);
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

/// The command line of the program with one command alone, and without the texts that only help shows. `None` if there is no such
/// command.
pub(in crate::cli) fn command_of<V: CommandSet>(verb: &str) -> Option<Command> {
    let command = GlobalArgs::augment_args(Command::new(CalledAs::JackinRecovery.prefix()));
    let command = command
        .version(env!("CARGO_PKG_VERSION"))
        .subcommand_required(true)
        .disable_help_subcommand(true)
        .disable_help_flag(true)
        .disable_version_flag(true)
        .arg(help_flag())
        .arg(version_flag());
    Some(command.subcommand(V::definition(verb)?))
}

fn laid_out<V: CommandSet>(command: Command, called_as: CalledAs) -> Command {
    let (overview, heading) = (overview::<V>(&command), Role::Heading.style());
    let command = command
        .help_template(format!(
            "{{about-with-newline}}\n{{usage-heading}} \
            {{usage}}\n\n{overview}{heading}Output:{heading:#}\n{{options}}{{after-help}}"
        ))
        .after_help(shown_examples(OVERVIEW, called_as))
        .disable_help_subcommand(true)
        .disable_help_flag(true)
        .disable_version_flag(true)
        .arg_required_else_help(true)
        .subcommand_value_name("COMMAND")
        .arg(help_flag())
        .arg(version_flag());
    V::shown().fold(command, |command, info| {
        command.mut_subcommand(info.name, |command| {
            let command = command.after_help(shown_examples(info.examples, called_as));
            if info.long.is_empty() {
                return command;
            }
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            command.long_about(format!("{about}\n\n{}", info.long))
        })
    })
}

/// Returns the commands with their first lines, in groups.
fn overview<V: CommandSet>(command: &Command) -> String {
    let heading = Role::Heading.style();
    let literal = Role::Path.style();
    let mut text = String::new();
    for group in Group::ALL {
        text.push_str(&format!("{heading}{}:{heading:#}\n", group.title()));
        for verb in in_group::<V>(group) {
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

/// Returns the overview that fits a small terminal: the daily commands with their first lines, the names of all others.
pub(in crate::cli) fn brief<V: CommandSet>(called_as: CalledAs, columns: usize) -> String {
    let command = super::bare::<V>();
    let (heading, literal) = (Role::Heading.style(), Role::Path.style());
    let prefix = called_as.prefix();
    let about = |command: &Command| command.get_about().map(ToString::to_string).unwrap_or_default();
    let mut lines = vec![
        about(&command),
        String::new(),
        format!("{heading}Usage:{heading:#} {prefix} [OPTIONS] <COMMAND>"),
        String::new(),
    ];
    for group in Group::ALL {
        let names = in_group::<V>(group);
        if group == Group::Daily {
            for name in names {
                let about = command.find_subcommand(name).map(about).unwrap_or_default();
                let room = columns.saturating_sub(ABOUT);
                for (at, line) in width::wrap(&about, room).into_iter().enumerate() {
                    let name = if at == 0 { name } else { "" };
                    lines.push(format!("  {literal}{name:<10}{literal:#} {line}"));
                }
            }
            lines.push(String::new());
            continue;
        }
        let title = format!("{}:", group.title());
        let room = columns.min(WIDEST).saturating_sub(TITLE);
        for (at, line) in width::fill(names, room).into_iter().enumerate() {
            let title = if at == 0 { title.as_str() } else { "" };
            lines.push(format!(
                "{heading}{title:<TITLE$}{heading:#}{literal}{line}{literal:#}"
            ));
        }
    }
    lines.extend([
        String::new(),
        format!("{heading}Example:{heading:#}  {prefix} launch -- claude"),
    ]);
    let help = [format!("{prefix} --help"), format!("{prefix} COMMAND --help")];
    match TITLE + width::of(&help.join(", ")) <= columns {
        true => lines.push(format!("{heading}Help:{heading:#}     {}", help.join(", "))),
        false => lines.extend(
            ["Help:", ""]
                .into_iter()
                .zip(&help)
                .map(|(title, help)| format!("{heading}{title:<TITLE$}{heading:#}{help}")),
        ),
    }
    lines.push(format!("{heading}Settings:{heading:#} {prefix} man config"));
    lines.join("\n")
}

/// Returns the names of the commands of a group, in the order of the overview.
fn in_group<V: CommandSet>(group: Group) -> Vec<&'static str> {
    let mut names = Vec::new();
    for command in V::shown().filter(|command| command.group == Some(group)) {
        let before = |before| names.iter().position(|name| *name == before);
        let at = command.before.and_then(before).unwrap_or(names.len());
        names.insert(at, command.name);
    }
    names
}

fn shown_examples(examples: &[Example], called_as: CalledAs) -> String {
    let heading = Role::Heading.style();
    let mut text = format!("{heading}Examples:{heading:#}");
    for (what, line) in examples {
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
