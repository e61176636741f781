//! What can be wrong with a configuration. Every text names the file and line (or the flag), the key, and what is right.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use super::ValueSource;
use crate::model::ByteString;

/// A path for a message: as it is when that is harmless, else quoted with escapes, so that nothing is lost and no
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

impl From<&Origin> for ValueSource {
    fn from(origin: &Origin) -> Self {
        match origin {
            Origin::File { path, line } => Self::File {
                path: ByteString::from(path.as_path()),
                line: *line,
            },
            Origin::Flag(name) => Self::Flag { name },
        }
    }
}

/// Where a wrong key or value stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// File and line, or flag.
    pub origin: Origin,
    /// The key with the tables that it lies in, e.g. `recovery.limits.max_bytes`, unusual parts quoted and escaped; for
    /// a flag the flag again.
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

/// Why a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A file or directory of the configuration cannot be read.
    #[error("{} cannot be read: {source}", shown(path))]
    Read {
        /// Which one.
        path: PathBuf,
        /// The system's reason, or ours when it is no file of a sane size.
        source: io::Error,
    },
    /// The file is not TOML.
    #[error("{}, line {line}: not valid TOML: {message}", shown(path))]
    Toml {
        /// Which file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The parser's words.
        message: String,
    },
    /// A key that no version knows.
    #[error("{place} is not a known key; the nearest valid one is `{nearest}`")]
    UnknownKey {
        /// Where.
        place: Place,
        /// The most similar valid key in the same table.
        nearest: &'static str,
    },
    /// A value of another type.
    #[error("{place} must be {expected}, but it is {found}")]
    WrongType {
        /// Where.
        place: Place,
        /// With its article, e.g. "a string".
        expected: &'static str,
        /// With its article.
        found: &'static str,
    },
    /// A word that is not among the valid ones.
    #[error("{place} cannot be {value:?}; the nearest valid value is {nearest:?} (valid: {})", valid.join(", "))]
    UnknownWord {
        /// Where.
        place: Place,
        /// What stands there.
        value: String,
        /// The most similar valid one; where none is similar, the usual one.
        nearest: &'static str,
        /// All valid ones.
        valid: &'static [&'static str],
    },
    /// A value of the right type that cannot be.
    #[error("{place} cannot be {value:?}: {problem}")]
    BadValue {
        /// Where.
        place: Place,
        /// What stands there.
        value: String,
        /// Why not, and what would be right.
        problem: String,
    },
    /// A mount lacks a key that it needs.
    #[error("{place} is missing; every mount needs it")]
    MissingKey {
        /// Where the mount begins, and the missing key.
        place: Place,
    },
    /// A name that no workspace can have.
    #[error("{name:?} cannot be the name of a workspace: {problem}")]
    BadName {
        /// The name, escaped where it is not UTF-8.
        name: String,
        /// Why not.
        problem: &'static str,
    },
    /// No file defines this workspace.
    #[error("there is no workspace {name:?}{}", unknown_hint(nearest, directory.as_deref()))]
    UnknownWorkspace {
        /// The name asked for.
        name: String,
        /// Similar names, the most similar first.
        nearest: Vec<String>,
        /// `./NAME`, when there is such a directory.
        directory: Option<PathBuf>,
    },
    /// A workspace that no file gives a mount.
    #[error(
        "workspace {name:?} has no mounts, so there is nothing to protect; add [[mounts]] to {}",
        shown(path)
    )]
    NoMounts {
        /// The workspace.
        name: String,
        /// The file they should stand in.
        path: PathBuf,
    },
    /// A directory lies equally deep in the mounts of two workspaces.
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
    /// Nothing says what to do with a bare directory.
    #[error(
        "nothing says how to protect {}; give --snapshot, for example --snapshot project",
        shown(directory)
    )]
    NoMode {
        /// The directory.
        directory: PathBuf,
    },
    /// A path begins with `~`, and nobody knows the home directory.
    #[error("{place} begins with `~`, but the home directory is not known; set HOME")]
    NoHome {
        /// Where.
        place: Place,
    },
}

impl ConfigError {
    /// The file that it is about, and the line in it, from 1, where there is one.
    #[must_use]
    pub fn location(&self) -> Option<(&Path, Option<usize>)> {
        match self {
            Self::Read { path, .. } | Self::NoMounts { path, .. } => Some((path, None)),
            Self::Toml { path, line, .. } => Some((path, Some(*line))),
            Self::UnknownKey { place, .. }
            | Self::WrongType { place, .. }
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
