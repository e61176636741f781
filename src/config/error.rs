//! Errors of a configuration. Every text names the file and line (or the flag), the key, and a correct value.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::diagnostic::{Diagnostic, ErrorKind, Hint};

/// Returns a path for a message: unchanged if it is harmless, otherwise quoted with escapes, so that nothing is lost and no
/// control character gets through.
#[must_use]
pub fn shown(path: &Path) -> String {
    let quoted = format!("{path:?}");
    match path.to_str() {
        Some(plain) if quoted.len() == plain.len() + 2 => plain.to_owned(),
        _ => quoted,
    }
}

/// A file and line, or a flag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A configuration file.
    File {
        /// Its path.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
    },
    /// A flag, with its dashes.
    Flag(&'static str),
}

/// Place of a wrong key or value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// File and line, or flag.
    pub origin: Origin,
    /// Key with the tables that contain it, e.g. `recovery.limits.max_bytes`, unusual parts quoted and escaped; for a flag the
    /// flag again.
    pub key: String,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Origin::File { path, line } = &self.origin {
            write!(f, "{}, line {line}: ", shown(path))?;
        }
        write!(f, "`{}`", self.key)
    }
}

/// Reason that a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// File or directory of the configuration that cannot be read.
    #[error("{} cannot be read: {source}", shown(path))]
    Read {
        /// The file or directory.
        path: PathBuf,
        /// Error from the system, or from jackin if it is no file of a sane size.
        source: io::Error,
    },
    /// File that is not TOML.
    #[error("{}, line {line}: not valid TOML: {message}", shown(path))]
    Toml {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// Message of the parser.
        message: String,
    },
    /// Unknown key.
    #[error("{place} is not a known key; the nearest valid one is `{nearest}`")]
    UnknownKey {
        /// Place of the key.
        place: Place,
        /// The most similar valid key in the same table.
        nearest: &'static str,
    },
    /// Key of `[recovery]` outside of it.
    #[error("{place} belongs in the table [{table}]")]
    Misplaced {
        /// Place of the key.
        place: Place,
        /// The table.
        table: String,
    },
    /// Value of a wrong type.
    #[error("{place} must be {expected}, but it is {found}")]
    WrongType {
        /// Place of the value.
        place: Place,
        /// Expected type with its article, e.g. "a string".
        expected: &'static str,
        /// Actual type with its article.
        found: &'static str,
    },
    /// Entry of a list of strings that is no string.
    #[error("{place} must be a list of strings, but this entry is {found}")]
    EntryType {
        /// Place of the entry.
        place: Place,
        /// Actual type with its article.
        found: &'static str,
    },
    /// Word that is not among the valid ones.
    #[error("{place} cannot be {value:?}; the nearest valid value is {nearest:?} (valid: {})", valid.join(", "))]
    UnknownWord {
        /// Place of the word.
        place: Place,
        /// The invalid word.
        value: String,
        /// The most similar valid one; where none is similar, the usual one.
        nearest: &'static str,
        /// All valid ones.
        valid: &'static [&'static str],
    },
    /// Invalid value of the right type.
    #[error("{place} cannot be {value:?}: {problem}")]
    BadValue {
        /// Place of the value.
        place: Place,
        /// The invalid value.
        value: String,
        /// Problem with the value, and what would be correct.
        problem: String,
    },
    /// Mount without a required key.
    #[error("{place} is missing; every mount needs it")]
    MissingKey {
        /// Place at which the mount begins, with the missing key.
        place: Place,
    },
    /// Name that no workspace can have.
    #[error("{name:?} cannot be the name of a workspace: {problem}")]
    BadName {
        /// The name, escaped where it is not UTF-8.
        name: String,
        /// Problem with the name.
        problem: &'static str,
    },
    /// Workspace that no file defines.
    #[error("workspace {name:?} not found{}", unknown_hint(nearest, directory.as_deref()))]
    UnknownWorkspace {
        /// The requested name.
        name: String,
        /// Similar names, the most similar first.
        nearest: Vec<String>,
        /// `./NAME`; `None` if there is no such directory.
        directory: Option<PathBuf>,
    },
    /// Workspace without mounts.
    #[error(
        "workspace {name:?} has no mounts, so there is nothing to protect; add [[mounts]] to {}",
        shown(path)
    )]
    NoMounts {
        /// The workspace.
        name: String,
        /// The file that should contain them.
        path: PathBuf,
    },
    /// Directory that lies equally deep in the mounts of two workspaces.
    #[error(
        "{} lies in mounts of the workspaces {first:?} and {second:?}; name the one you mean",
        shown(directory)
    )]
    Ambiguous {
        /// The directory.
        directory: PathBuf,
        /// One workspace.
        first: String,
        /// The other.
        second: String,
    },
    /// Bare directory without a recovery mode.
    #[error("{} has no configuration; use --snapshot project", shown(directory))]
    NoMode {
        /// The directory.
        directory: PathBuf,
    },
    /// Path that begins with `~` although the home directory is unknown.
    #[error("{place} begins with `~`, but the home directory is not known; set HOME")]
    NoHome {
        /// Place of the path.
        place: Place,
    },
}

impl ConfigError {
    /// Returns the file that the error concerns, and the line in it, from 1, if there is one.
    #[must_use]
    pub fn location(&self) -> Option<(&Path, Option<usize>)> {
        match self {
            Self::Read { path, .. } | Self::NoMounts { path, .. } => Some((path, None)),
            Self::Toml { path, line, .. } => Some((path, Some(*line))),
            Self::UnknownKey { place, .. }
            | Self::Misplaced { place, .. }
            | Self::WrongType { place, .. }
            | Self::EntryType { place, .. }
            | Self::UnknownWord { place, .. }
            | Self::BadValue { place, .. }
            | Self::MissingKey { place }
            | Self::NoHome { place } => match &place.origin {
                Origin::File { path, line } => Some((path, Some(*line))),
                Origin::Flag(_) => None,
            },
            Self::BadName { .. }
            | Self::UnknownWorkspace { .. }
            | Self::Ambiguous { .. }
            | Self::NoMode { .. } => None,
        }
    }
}

impl Diagnostic for ConfigError {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Config
    }

    fn hints(&self) -> Vec<Hint> {
        match self {
            // The message names the nearest key; the manual page has all of them.
            Self::UnknownKey { .. }
            | Self::Misplaced { .. }
            | Self::WrongType { .. }
            | Self::EntryType { .. } => {
                vec![Hint::command("to list all keys and their values", "man config")]
            }
            _ => Vec::new(),
        }
    }
}

fn unknown_hint(nearest: &[String], directory: Option<&Path>) -> String {
    let mut hint = String::new();
    if !nearest.is_empty() {
        let names: Vec<String> = nearest.iter().map(|name| format!("{name:?}")).collect();
        hint.push_str("; the nearest: ");
        hint.push_str(&names.join(", "));
    }
    if let Some(directory) = directory {
        hint.push_str("; for the directory of that name write ");
        hint.push_str(&shown(directory));
    }
    hint
}
