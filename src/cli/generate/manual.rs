//! Manual pages: one a command, the overview, and one for the configuration.

use std::io;

use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, italic, roman};

use super::GeneratedFile;
use crate::cli::args::{CalledAs, CommandInfo, CommandSet, Example, OVERVIEW, command_for};
use crate::cli::exit_code::ExitCode;
use crate::config::{KeyReference, reference};

/// The name of the configuration's page, where a command's stands otherwise.
pub const CONFIG: &str = "config";

/// The manual page of `verb` or of the configuration ([`CONFIG`]), or the overview.
///
/// # Errors
/// There is no such command.
pub fn man<V: CommandSet>(verb: Option<&str>) -> io::Result<GeneratedFile> {
    if verb == Some(CONFIG) {
        return Ok(GeneratedFile {
            path: "man/jackin-recovery-config.5".to_owned(),
            contents: text(config_page()?)?,
        });
    }
    let mut whole = command_for::<V>(CalledAs::Jackin, 80);
    whole.build();
    let missing = || io::Error::other(format!("there is no command {}", verb.unwrap_or("recovery")));
    let recovery = whole.find_subcommand("recovery").ok_or_else(missing)?;
    let (page, name, info) = match verb {
        None => (recovery, "jackin-recovery".to_owned(), None),
        Some(verb) => (
            recovery.find_subcommand(verb).ok_or_else(missing)?,
            format!("jackin-recovery-{verb}"),
            Some(V::named(verb).ok_or_else(missing)?),
        ),
    };
    let contents = page_text(page.clone().display_name(&name), info)?;
    Ok(GeneratedFile {
        path: format!("man/{name}.1"),
        contents,
    })
}

fn page_text(page: Command, info: Option<&CommandInfo>) -> io::Result<String> {
    let mut bytes = Vec::new();
    let usage = page.clone().render_usage().to_string();
    let actions: Vec<Command> = page.get_subcommands().cloned().collect();
    // The date is a blank: an empty one would shift what follows it to its place.
    let man = Man::new(page)
        .date(" ")
        .source(concat!("jackin-recovery ", env!("CARGO_PKG_VERSION")))
        .manual("jackin recovery");
    man.render_title(&mut bytes)?;
    man.render_name_section(&mut bytes)?;
    synopsis(&usage).to_writer(&mut bytes)?;
    man.render_description_section(&mut bytes)?;
    if info.is_none() {
        man.render_subcommands_section(&mut bytes)?;
    }
    man.render_options_section(&mut bytes)?;
    if info.is_some() && !actions.is_empty() {
        action_section(&actions).to_writer(&mut bytes)?;
    }
    example_section(info.map_or(OVERVIEW, |info| info.examples)).to_writer(&mut bytes)?;
    if info.is_none() {
        exit_section().to_writer(&mut bytes)?;
        surroundings().to_writer(&mut bytes)?;
    }
    see_also(info).to_writer(&mut bytes)?;
    text(bytes)
}

/// The generator's own would list every flag and skip `--` before a command.
fn synopsis(usage: &str) -> Roff {
    let usage = usage
        .trim_start_matches("Usage:")
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    let mut roff = Roff::new();
    roff.control("SH", ["SYNOPSIS"]);
    roff.text([bold(usage)]);
    roff
}

/// Returns the section on the actions of a command, each with its flags.
fn action_section(actions: &[Command]) -> Roff {
    let mut roff = Roff::new();
    roff.control("SH", ["ACTIONS"]);
    for action in actions {
        roff.control("SS", [action.get_name()]);
        if let Some(about) = action.get_about() {
            roff.text([roman(about.to_string())]);
        }
        let own = action.get_arguments().filter(|arg| !arg.is_global_set());
        for arg in own {
            let name = match arg.get_long() {
                Some(long) => format!("--{long}"),
                None => String::new(),
            };
            let value = arg.get_value_names().and_then(|names| names.first());
            let value = value.filter(|_| arg.get_action().takes_values());
            let words = [Some(name), value.map(ToString::to_string)];
            let words: Vec<String> = words
                .into_iter()
                .flatten()
                .filter(|word| !word.is_empty())
                .collect();
            roff.control("TP", []);
            roff.text([bold(words.join(" "))]);
            roff.text([roman(arg.get_help().map(ToString::to_string).unwrap_or_default())]);
        }
    }
    roff
}

fn example_section(examples: &[Example]) -> Roff {
    let mut roff = Roff::new();
    roff.control("SH", ["EXAMPLES"]);
    for (what, line) in examples {
        if !what.is_empty() {
            roff.control("PP", []);
            roff.text([roman(*what)]);
        }
        roff.control("RS", ["4"]);
        roff.control("nf", []);
        for line in line.lines() {
            roff.text([bold(line)]);
        }
        roff.control("fi", []);
        roff.control("RE", []);
    }
    roff
}

fn exit_section() -> Roff {
    let mut roff = Roff::new();
    roff.control("SH", ["EXIT STATUS"]);
    for (code, meaning) in ExitCode::TABLE {
        roff.control("TP", []);
        roff.text([bold((code as i32).to_string())]);
        roff.text([roman(meaning)]);
    }
    roff.control("PP", []);
    roff.text([roman(
        "A command that changes files, the store or settings exits with the code of its work, even if its \
        result cannot be written to stdout. It then prints a warning and the result on stderr; with --json, \
        one document with the fields warning and result.",
    )]);
    roff
}

/// Environment variables, each with its purpose.
pub(super) const ENVIRONMENT: [(&str, &str); 9] = [
    (
        "JACKIN_HOME_DIR",
        "Where jackin keeps its data, instead of ~/.jackin.",
    ),
    (
        "JACKIN_CONFIG_DIR",
        "Directory of jackin's configuration, instead of ~/.config/jackin.",
    ),
    (
        "SUDO_UID, SUDO_GID",
        "User that root acts for: recovery uses this user's home and store.",
    ),
    (
        "JACKIN_RECOVERY_INSTANCE",
        "Session of a launched command. `launch` sets it.",
    ),
    (
        "JACKIN_RECOVERY_AGENT",
        "The default of --agent: auto, copy or shell.",
    ),
    (
        "JACKIN_RECOVERY_HELPER_IMAGE",
        "The image of helper containers and pods, instead of busybox.",
    ),
    (
        "JACKIN_RECOVERY_TIMEOUT",
        "Seconds after which a silent machine is disconnected, instead of 60.",
    ),
    (
        "JACKIN_RECOVERY_PAGER, PAGER",
        "The pager [default: less]. If LESS is not set, it is FRX.",
    ),
    (
        "NO_COLOR, CLICOLOR_FORCE, TERM, COLUMNS",
        "Colors and width of the output.",
    ),
];

/// Places outside of the mounts, each with its content.
pub(super) const FILES: [(&str, &str); 2] = [
    (
        "~/.jackin/data/recovery",
        "The store: archives, records, receipts and the catalog.",
    ),
    (
        "~/.config/jackin",
        "The configuration: jackin-recovery-config(5).",
    ),
];

/// Returns the sections on environment variables and files.
fn surroundings() -> Roff {
    let mut roff = Roff::new();
    roff.control("SH", ["ENVIRONMENT"]);
    for (name, what) in ENVIRONMENT {
        roff.control("TP", []);
        roff.text([bold(name)]);
        roff.text([roman(what)]);
    }
    roff.control("SH", ["FILES"]);
    for (name, what) in FILES {
        roff.control("TP", []);
        roff.text([italic(name)]);
        roff.text([roman(what)]);
    }
    roff
}

fn see_also(info: Option<&CommandInfo>) -> Roff {
    let pages: &[&str] = match info {
        None => &[
            "jackin-recovery-launch(1)",
            "jackin-recovery-diff(1)",
            "jackin-recovery-restore(1)",
            "jackin-recovery-config(5)",
        ],
        Some(info) if info.reads_config => &["jackin-recovery(1)", "jackin-recovery-config(5)"],
        Some(_) => &["jackin-recovery(1)"],
    };
    let mut roff = Roff::new();
    roff.control("SH", ["SEE ALSO"]);
    roff.text([roman(pages.join(", "))]);
    roff
}

/// The page of section 5: where the files lie, how they lie over each other, every key.
fn config_page() -> io::Result<Vec<u8>> {
    let mut roff = Roff::new();
    let source = concat!("jackin-recovery ", env!("CARGO_PKG_VERSION"));
    roff.control(
        "TH",
        ["jackin-recovery-config", "5", " ", source, "jackin recovery"],
    );
    roff.control("SH", ["NAME"]);
    roff.text([roman(
        "jackin-recovery-config - the [recovery] table of jackin's configuration",
    )]);
    roff.control("SH", ["SYNOPSIS"]);
    for (file, table, what) in [
        (
            "config.toml",
            "[recovery]",
            "for every workspace and every bare directory",
        ),
        ("config.toml", "[workspaces.NAME.recovery]", "for one workspace"),
        ("workspaces/NAME.toml", "[recovery]", "for one workspace"),
    ] {
        roff.control("TP", []);
        roff.text([italic(file), roman(" "), bold(table)]);
        roff.text([roman(what)]);
    }
    roff.control("SH", ["DESCRIPTION"]);
    for paragraph in [
        "Nothing has to be configured: `launch` captures the files of the current directory. Other commands record nothing \
        until `snapshot` is set. The table may be in the three places above; a later one wins, \
        and lists are appended. Command-line flags override all of them.",
        "An unknown key or a wrong value is an error that names the file, the line, the key and the nearest valid one.",
        "Nothing inside a mount is ever read as configuration.",
    ] {
        roff.control("PP", []);
        roff.text([roman(paragraph)]);
    }
    roff.control("SH", ["KEYS"]);
    for table in reference() {
        roff.control("SS", [format!("[{}]", table.name).as_str()]);
        if !table.about.is_empty() {
            roff.text([roman(table.about)]);
        }
        for key in &table.keys {
            config_key(&mut roff, key);
        }
    }
    roff.control("SH", ["FILES"]);
    roff.control("TP", []);
    roff.text([
        italic("~/.config/jackin/config.toml"),
        roman(", "),
        italic("~/.config/jackin/workspaces/NAME.toml"),
    ]);
    roff.text([roman(
        "jackin's own files. They are only read, except by `jackin recovery init`, which adds the table \
        to one of them.",
    )]);
    roff.control("SH", ["ENVIRONMENT"]);
    for (name, what) in [
        (
            "JACKIN_CONFIG_DIR",
            "Directory of these files, instead of ~/.config/jackin.",
        ),
        (
            "JACKIN_HOME_DIR",
            "Where jackin keeps its data, instead of ~/.jackin; the store is data/recovery in it.",
        ),
    ] {
        roff.control("TP", []);
        roff.text([bold(name)]);
        roff.text([roman(what)]);
    }
    roff.control("SH", ["EXAMPLES"]);
    roff.control("RS", ["4"]);
    roff.control("nf", []);
    for line in [
        "[recovery]",
        "snapshot = \"project\"",
        "exclude = [\"dist/\", \"*.log\", \"!keep.log\"]",
    ] {
        roff.text([bold(line)]);
    }
    roff.control("fi", []);
    roff.control("RE", []);
    roff.control("SH", ["SEE ALSO"]);
    roff.text([roman(
        "jackin-recovery(1), jackin-recovery-init(1), jackin-recovery-explain(1)",
    )]);
    let mut bytes = Vec::new();
    roff.to_writer(&mut bytes)?;
    Ok(bytes)
}

fn config_key(roff: &mut Roff, key: &KeyReference) {
    roff.control("TP", []);
    roff.text([bold(key.name), roman(" = "), roman(key.default)]);
    let mut is_first = true;
    for line in key.about.lines() {
        if line.starts_with(' ') {
            roff.control("nf", []);
            roff.text([roman(line)]);
            roff.control("fi", []);
        } else {
            if !is_first {
                roff.control("PP", []);
            }
            roff.text([roman(line)]);
        }
        is_first = false;
    }
    roff.control("br", []);
    roff.text([roman(format!("Takes {}.", key.values))]);
}

fn text(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes).map_err(io::Error::other)
}
