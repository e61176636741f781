//! What is made from the command line's definition and from the documents: shell completions, manual pages, the JSON
//! schema. The same input gives the same bytes, so the committed files can be compared.

use std::io;

use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use super::args::{CalledAs, Shell, VERBS, command_for, examples};
use super::exit_code::ExitCode;

/// A file to write below the package's top directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GeneratedFile {
    /// e.g. `man/jackin-recovery-restore.1`.
    pub path: String,
    /// Its content, ASCII or UTF-8.
    pub contents: String,
}

impl GeneratedFile {
    /// Its name without the directory.
    #[must_use]
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }
}

/// Completions for both names in every shell, and every manual page.
///
/// # Errors
/// When a generator fails to write into memory, which would be a defect of it.
pub fn all() -> io::Result<Vec<GeneratedFile>> {
    let mut files = Vec::new();
    for called_as in [CalledAs::Jackin, CalledAs::JackinRecovery] {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            files.push(completions(shell, called_as));
        }
    }
    files.push(man(None)?);
    for verb in VERBS {
        files.push(man(Some(verb))?);
    }
    files.push(schema()?);
    Ok(files)
}

/// Completions of one shell for the program under one of its names: a script that asks the program itself.
#[must_use]
pub fn completions(shell: Shell, called_as: CalledAs) -> GeneratedFile {
    let program = match called_as {
        CalledAs::Jackin => "jackin",
        CalledAs::JackinRecovery => "jackin-recovery",
    };
    // The names under which each shell looks for them.
    let (template, path) = match shell {
        Shell::Bash => (include_str!("generate/complete.bash"), format!("{program}.bash")),
        Shell::Zsh => (include_str!("generate/complete.zsh"), format!("_{program}")),
        Shell::Fish => (include_str!("generate/complete.fish"), format!("{program}.fish")),
    };
    GeneratedFile {
        path: format!("completions/{path}"),
        contents: template
            .replace("CALL", called_as.prefix())
            .replace("PROGRAM", program)
            .replace("FUNCTION", &program.replace('-', "_")),
    }
}

/// The JSON schema of every document.
///
/// # Errors
/// When it cannot be written as text, which would be a defect.
pub fn schema() -> io::Result<GeneratedFile> {
    let mut contents = serde_json::to_string_pretty(&super::schema::all()).map_err(io::Error::other)?;
    contents.push('\n');
    Ok(GeneratedFile {
        path: "config/schema.json".to_owned(),
        contents,
    })
}

/// The manual page of `verb`, or the overview.
///
/// # Errors
/// When there is no such verb.
pub fn man(verb: Option<&str>) -> io::Result<GeneratedFile> {
    let mut whole = command_for(CalledAs::Jackin, 80);
    whole.build();
    let missing = || io::Error::other(format!("there is no verb {}", verb.unwrap_or("recovery")));
    let recovery = whole.find_subcommand("recovery").ok_or_else(missing)?;
    let (page, name) = match verb {
        None => (recovery, "jackin-recovery".to_owned()),
        Some(verb) => (
            recovery.find_subcommand(verb).ok_or_else(missing)?,
            format!("jackin-recovery-{verb}"),
        ),
    };
    let contents = page_text(page.clone().display_name(&name), verb)?;
    Ok(GeneratedFile {
        path: format!("man/{name}.1"),
        contents,
    })
}

fn page_text(page: Command, verb: Option<&str>) -> io::Result<String> {
    let mut bytes = Vec::new();
    let usage = page.clone().render_usage().to_string();
    // The date is a blank: an empty one would shift what follows it to its place.
    let man = Man::new(page)
        .date(" ")
        .source(concat!("jackin-recovery ", env!("CARGO_PKG_VERSION")))
        .manual("jackin recovery");
    man.render_title(&mut bytes)?;
    man.render_name_section(&mut bytes)?;
    synopsis(&usage).to_writer(&mut bytes)?;
    man.render_description_section(&mut bytes)?;
    if verb.is_none() {
        man.render_subcommands_section(&mut bytes)?;
    }
    man.render_options_section(&mut bytes)?;
    example_section(verb.unwrap_or_default()).to_writer(&mut bytes)?;
    if verb.is_none() {
        exit_section().to_writer(&mut bytes)?;
    }
    see_also(verb).to_writer(&mut bytes)?;
    text(bytes)
}

/// The generator's own would list every flag and leave out `--` before a command.
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

fn example_section(verb: &str) -> Roff {
    let mut roff = Roff::new();
    roff.control("SH", ["EXAMPLES"]);
    for (what, line) in examples(verb) {
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
    roff
}

fn see_also(verb: Option<&str>) -> Roff {
    let pages: &[&str] = match verb {
        None => &[
            "jackin-recovery-launch",
            "jackin-recovery-diff",
            "jackin-recovery-restore",
        ],
        Some(_) => &["jackin-recovery"],
    };
    let mut roff = Roff::new();
    roff.control("SH", ["SEE ALSO"]);
    roff.text([roman(
        pages
            .iter()
            .map(|page| format!("{page}(1)"))
            .collect::<Vec<_>>()
            .join(", "),
    )]);
    roff
}

fn text(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes).map_err(io::Error::other)
}
