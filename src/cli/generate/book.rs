//! Reference pages of the book, as Markdown: each command, the configuration keys, exit codes, JSON documents, the environment.

use std::io;

use clap::{Arg, Command};

use super::{GeneratedFile, manual};
use crate::cli::args::{CalledAs, CommandInfo, CommandSet, Group, command_for};
use crate::cli::exit_code::ExitCode;
use crate::cli::schema::Document;
use crate::config::{KeyReference, reference};

/// Returns the reference pages.
///
/// # Errors
/// If a command of the table is unknown to clap, which would be a defect.
pub(super) fn pages<V: CommandSet>() -> io::Result<Vec<GeneratedFile>> {
    let mut whole = command_for::<V>(CalledAs::Jackin, 80);
    whole.build();
    let missing = || io::Error::other("a command is missing");
    let recovery = whole.find_subcommand("recovery").ok_or_else(missing)?;
    let mut files = vec![page("commands", overview::<V>(recovery))];
    for info in V::shown() {
        let command = recovery.find_subcommand(info.name).ok_or_else(missing)?;
        files.push(page(
            &format!("commands/{}", info.name),
            one_command(command, info),
        ));
    }
    files.push(page("configuration", configuration()));
    files.push(page("exit-codes", exit_codes()));
    files.push(page("json", json::<V>()));
    files.push(page("environment", environment()));
    Ok(files)
}

fn page(name: &str, text: String) -> GeneratedFile {
    GeneratedFile {
        path: format!("docs/reference/{name}.md"),
        contents: text,
    }
}

/// Returns the page that lists the commands by group, and the flags that all of them take.
fn overview<V: CommandSet>(recovery: &Command) -> String {
    let mut text = String::from(
        "# Commands\n\n`jackin recovery COMMAND`. A program that is installed as `jackin-recovery` takes the command directly.\n",
    );
    for group in Group::ALL {
        text += &format!("\n## {}\n\n| command | purpose |\n|---|---|\n", group.title());
        for info in V::shown().filter(|info| info.group == Some(group)) {
            let command = recovery.find_subcommand(info.name);
            let about = command.and_then(Command::get_about).map(ToString::to_string);
            let about = cell(&about.unwrap_or_default());
            text += &format!("| [`{0}`](commands/{0}.md) | {about} |\n", info.name);
        }
    }
    text += "\n## Flags of every command\n\n";
    for arg in recovery.get_arguments().filter(|arg| is_shown(arg)) {
        text += &option(arg);
    }
    text += "\n## Sessions and targets\n\n\
        `TARGET` is a directory if it contains a `/` or is `.` or `..`. Otherwise it is a workspace or a container of jackin's.\n\n\
        `INSTANCE` names a session: its id, a unique prefix of the id (at least four letters), a name, a workspace or a container (the \
        latest session), or `@latest`, `@1`, `@2` to count back.\n\n\
        `SNAP` names a snapshot of the session: `baseline`, `closing`, `latest`, a checkpoint's name or number, or an id or its prefix.\n";
    text
}

/// Returns the page of a command.
fn one_command(command: &Command, info: &CommandInfo) -> String {
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let mut text = format!("# {}\n\n{}.\n", info.name, markdown(&about));
    text += &format!("\n```text\n{}\n```\n", usage(command));
    if !info.long.is_empty() {
        text += &format!("\n{}\n", markdown(info.long));
    }
    text += &arguments(command, "##");
    for action in command
        .get_subcommands()
        .filter(|action| action.get_name() != "help")
    {
        let about = action.get_about().map(ToString::to_string).unwrap_or_default();
        let name = action.get_name();
        text += &format!(
            "\n## {} {name}\n\n{}.\n\n```text\n{}\n```\n",
            info.name,
            markdown(&about),
            usage(action)
        );
        text += &arguments(action, "###");
    }
    if !info.examples.is_empty() {
        text += "\n## Examples\n";
        for (what, line) in info.examples {
            let what = if what.is_empty() {
                String::new()
            } else {
                format!("\n{}\n", markdown(what))
            };
            text += &format!("{what}\n```text\n{line}\n```\n");
        }
    }
    if !info.documents.is_empty() {
        text += &format!(
            "\n## JSON\n\nDocuments in the [schema](../json.md): {}.\n",
            document_names(info.documents)
        );
    }
    text
}

fn usage(command: &Command) -> String {
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage:").split_whitespace();
    usage.collect::<Vec<_>>().join(" ")
}

/// Returns the sections on the arguments and options of a command, without those of every command.
fn arguments(command: &Command, level: &str) -> String {
    let mut text = String::new();
    let own = |arg: &&Arg| is_shown(arg) && !arg.is_global_set();
    let (words, flags): (Vec<&Arg>, Vec<&Arg>) = command
        .get_arguments()
        .filter(own)
        .partition(|arg| arg.is_positional());
    for (heading, args) in [("Arguments", words), ("Options", flags)] {
        if !args.is_empty() {
            text += &format!("\n{level} {heading}\n\n");
            text.extend(args.into_iter().map(option));
        }
    }
    text
}

fn is_shown(arg: &Arg) -> bool {
    !arg.is_hide_set() && !matches!(arg.get_id().as_str(), "help" | "version")
}

/// Returns an argument or option as an item of a list.
fn option(arg: &Arg) -> String {
    let values = arg.get_value_names().unwrap_or_default();
    let values = values.iter().map(|name| format!("<{name}>"));
    let value: String = if arg.is_positional() || arg.get_action().takes_values() {
        values.collect::<Vec<_>>().join(" ")
    } else {
        String::new()
    };
    let names = [
        arg.get_short().map(|short| format!("-{short}")),
        arg.get_long().map(|long| format!("--{long}")),
    ];
    let names: Vec<String> = names.into_iter().flatten().collect();
    let name = [names.join(", "), value].join(" ");
    let help = arg.get_long_help().or(arg.get_help()).map(ToString::to_string);
    let help = help.unwrap_or_default();
    let mut text = format!("- `{}`", name.trim());
    for (at, paragraph) in help.split("\n\n").enumerate() {
        let lead = if at == 0 { ": " } else { "\n\n  " };
        text += &format!("{lead}{}", markdown(&paragraph.replace('\n', " ")));
    }
    if arg.get_action().takes_values() {
        let choices = arg.get_possible_values();
        // Some texts name them all.
        let is_new = choices
            .iter()
            .any(|choice| choice.get_help().is_some() || !help.contains(choice.get_name()));
        for choice in choices.iter().filter(|choice| is_new && !choice.is_hide_set()) {
            let about = choice
                .get_help()
                .map(|help| format!(": {}", markdown(&help.to_string())));
            text += &format!("\n  - `{}`{}", choice.get_name(), about.unwrap_or_default());
        }
    }
    text + "\n"
}

/// Returns the page of the configuration keys.
fn configuration() -> String {
    let mut text = String::from(
        "# Configuration keys\n\nThe table `[recovery]` may be in three files. A later file wins, and lists are appended. Flags of the \
         command line override all of them.\n\n\
         1. `config.toml`, `[recovery]`: for every workspace and every bare directory\n\
         2. `config.toml`, `[workspaces.NAME.recovery]`: for one workspace\n\
         3. `workspaces/NAME.toml`, `[recovery]`: for one workspace\n\n\
         The files are in `~/.config/jackin`, or in `JACKIN_CONFIG_DIR`. An unknown key or a wrong value is an error that names the file, \
         the line and the nearest valid key.\n",
    );
    for table in reference() {
        text += &format!("\n## [{}]\n", table.name);
        if !table.about.is_empty() {
            text += &format!("\n{}\n", markdown(table.about));
        }
        for key in &table.keys {
            text += &configuration_key(key);
        }
    }
    text
}

/// Returns the section of one key.
fn configuration_key(key: &KeyReference) -> String {
    let mut text = format!(
        "\n### {}\n\nDefault: `{}`. Takes {}.\n",
        key.name,
        key.default,
        markdown(&key.values)
    );
    let mut is_laid_out = false;
    let mut is_first = true;
    for line in key.about.lines() {
        let lays_out = line.starts_with(' ');
        if lays_out != is_laid_out {
            text += if lays_out { "\n```text\n" } else { "```\n" };
        }
        if !lays_out && (is_first || is_laid_out) {
            text += "\n";
        }
        text += &if lays_out {
            format!("{}\n", line.strip_prefix("  ").unwrap_or(line))
        } else {
            format!("{}\n", markdown(line))
        };
        is_laid_out = lays_out;
        is_first = false;
    }
    if is_laid_out {
        text += "```\n";
    }
    text
}

/// Returns the page of the exit codes.
fn exit_codes() -> String {
    let mut text = String::from("# Exit codes\n\n| code | meaning |\n|---|---|\n");
    for (code, meaning) in ExitCode::TABLE {
        text += &format!("| {} | {} |\n", code as i32, cell(meaning));
    }
    text += "\n`launch` ends with the status of CMD, or with 128+N if signal N ended it. `exec`, `edit` and `diff --tool` end with the status of what \
        they run.\n\n\
        A command that changes files, the store or settings returns the code of its work, even if stdout does not take its result (a full \
        disk, `/dev/full`). It then prints a warning and the result on stderr; with `--json`, one document with `warning` and `result`. A \
        command that only prints fails with 1.\n";
    text
}

/// Returns the names of documents as code, separated by commas.
fn document_names(documents: &[Document]) -> String {
    let names = documents.iter().map(|document| format!("`{}`", document.name()));
    names.collect::<Vec<_>>().join(", ")
}

/// Returns the page of the JSON documents.
fn json<V: CommandSet>() -> String {
    let mut text = String::from(
        "# JSON documents\n\n`--json` prints one document on stdout. An error is the document `error` on stderr. \
         The schema is [`config/schema.json`](https://github.com/jackin-project/jackin-recovery/blob/main/config/schema.json) \
         (JSON Schema 2020-12), with each document below `$defs`. Fields are only added within one version; ignore fields that you do \
         not know.\n\n`--json-lines` prints one object a line instead: each item of the lists, with the name of its list as `kind`, and at \
         the end a `summary` with all other fields. `find --content` prints each item as it is found.\n\nOf these commands, `launch` has no `--json`, \
         because stdout is its command's: `--report FILE` writes its document.\n\n| command | documents |\n|---|---|\n",
    );
    for info in V::shown().filter(|info| !info.documents.is_empty()) {
        text += &format!(
            "| [`{0}`](commands/{0}.md) | {1} |\n",
            info.name,
            document_names(info.documents)
        );
    }
    text += "| every command | `error`, `warning` |\n";
    text
}

/// Returns the page of the environment variables and files.
fn environment() -> String {
    let mut text = String::from("# Environment and files\n\n| variable | purpose |\n|---|---|\n");
    for (name, what) in manual::ENVIRONMENT {
        let names: Vec<String> = name.split(", ").map(|name| format!("`{name}`")).collect();
        text += &format!("| {} | {} |\n", names.join(", "), cell(what));
    }
    text += "\nAn object store takes region, endpoint and credentials from the variables and files of AWS's own tools.\n\n\
        | place | content |\n|---|---|\n";
    for (name, what) in manual::FILES {
        text += &format!("| `{name}` | {} |\n", cell(what));
    }
    text
}

/// Returns text with the signs escaped that Markdown would read as markup outside of backticks.
fn markdown(text: &str) -> String {
    let mut made = String::new();
    for (at, part) in text.split('`').enumerate() {
        if at > 0 {
            made.push('`');
        }
        if at % 2 == 1 {
            made += part;
            continue;
        }
        for letter in part.chars() {
            if matches!(letter, '<' | '>' | '*' | '_' | '[' | ']' | '#' | '\\') {
                made.push('\\');
            }
            made.push(letter);
        }
    }
    made
}

/// Returns text for a cell of a table.
fn cell(text: &str) -> String {
    markdown(text).replace('|', "\\|")
}
