//! Files made from the definitions in the code: shell completions, manual pages, reference pages of the book, the JSON schema, the
//! file with every key. Equal input gives equal bytes, so the committed files can be compared.

mod book;
mod manual;
mod plain;
mod plugin;
mod prompts;

use std::io;

pub use manual::{CONFIG, man};
pub use plain::plain;

use super::args::{CalledAs, CommandSet, Shell};
use crate::config;

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

/// Completions for both names in every shell, every manual and reference page, the JSON schema, the plugins for agents, and the file
/// with every key.
///
/// # Errors
/// When a generator fails to write into memory, which would be a defect of it.
pub fn all<V: CommandSet>() -> io::Result<Vec<GeneratedFile>> {
    let mut files = Vec::new();
    for called_as in [CalledAs::Jackin, CalledAs::JackinRecovery] {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            files.push(completions(shell, called_as));
        }
    }
    files.push(man::<V>(None)?);
    for verb in V::names() {
        files.push(man::<V>(Some(verb))?);
    }
    files.push(man::<V>(Some(CONFIG))?);
    files.push(schema::<V>()?);
    files.extend(book::pages::<V>()?);
    files.extend(plugin::files());
    files.push(GeneratedFile {
        path: "config/default.toml".to_owned(),
        contents: config::default_file(),
    });
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
pub fn schema<V: CommandSet>() -> io::Result<GeneratedFile> {
    let documents = V::ALL.iter().flat_map(|command| command.documents);
    let schema = super::schema::all(documents.copied());
    let mut contents = serde_json::to_string_pretty(&schema).map_err(io::Error::other)?;
    contents.push('\n');
    Ok(GeneratedFile {
        path: "config/schema.json".to_owned(),
        contents,
    })
}
