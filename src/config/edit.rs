//! Adds a `[recovery]` table to the file that defines a workspace, for `init`. The only part of `config` that writes: the
//! files are jackin's and the operator's, so it adds one table and keeps every other byte.

mod insert;

use std::fs;
use std::path::{Path, PathBuf};

use super::document::{Document, quoted};
use super::embedded::embedded_workspace;
use super::error::Place;
use super::{Config, ConfigError, Flags, MountConfig, Resolved, shown};
use crate::diagnostic::{Diagnostic, ErrorKind, Hint};
use crate::product::FILE_REPLACER;
use handle_fs::ReplaceError;
use insert::Insertion;

/// Content of the new table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Value of `snapshot`.
    pub mode: String,
    /// Excludes, in gitignore syntax.
    pub exclude: Vec<String>,
    /// Patterns excluded automatically, for the comment; one line, may be empty.
    pub because: String,
}

/// Reason that a table was not added. Nothing was written, unless the text of the error says otherwise.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// Fault of the configuration, also one that only the new table would cause.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Existing table of that name.
    #[error("{place} already exists; nothing was written")]
    Already {
        /// Place of the existing table.
        place: Place,
    },
    /// File to which the table cannot be added without a change elsewhere in it.
    #[error(
        "{} is written so that nothing can be added without changing the rest of it",
        shown(path)
    )]
    Shape {
        /// The file.
        path: PathBuf,
        /// Table to be added by hand.
        table: String,
    },
    /// New text that would not mean for the workspace what was requested.
    #[error(
        "with the new table {} would say something else about {what}; nothing was written",
        shown(path)
    )]
    Meaning {
        /// The file.
        path: PathBuf,
        /// Part of the meaning that differs.
        what: &'static str,
    },
    /// File that cannot be written.
    #[error(transparent)]
    Replace(#[from] ReplaceError),
}

impl Diagnostic for EditError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Config(_) | Self::Already { .. } | Self::Shape { .. } | Self::Meaning { .. } => {
                ErrorKind::Config
            }
            Self::Replace(error) => error.kind(),
        }
    }

    fn hints(&self) -> Vec<Hint> {
        match self {
            Self::Config(error) => error.hints(),
            Self::Meaning { .. } => Vec::new(),
            Self::Already { .. } => vec![Hint::text("`explain` shows the result")],
            Self::Shape { table, .. } => {
                let lines: Vec<&str> = table.lines().collect();
                vec![Hint::text(format!("add by hand:\n  {}", lines.join("\n  ")))]
            }
            Self::Replace(error) => error.hints(),
        }
    }
}

// Stands here and not beside the type, because the layer of files knows no operator. The lowest user of that type is this file.
impl Diagnostic for ReplaceError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Changed { .. } => ErrorKind::Failed,
            Self::Write { .. } => ErrorKind::Io,
        }
    }

    fn hints(&self) -> Vec<Hint> {
        match self {
            Self::Changed { .. } => vec![Hint::text("run the command again")],
            Self::Write { .. } => Vec::new(),
        }
    }
}

/// A table that can be added: decided and tried, not written yet.
#[derive(Clone, Debug)]
pub struct Edit {
    name: String,
    path: PathBuf,
    file: PathBuf,
    before: String,
    insertion: Insertion,
    mounts: Vec<MountConfig>,
    wanted: Wanted,
}

impl Edit {
    /// Computes the new file of the workspace `name`. Nothing is written.
    ///
    /// # Errors
    /// [`EditError`], `Replace` only when the file cannot be found.
    pub fn propose(config: &Config, name: &str, wanted: &Wanted) -> Result<Self, EditError> {
        let (own, global) = config.definitions(name)?;
        let prefix = format!("workspaces.{}.recovery", quoted(name));
        if let Some(document) = &own
            && let Some(value) = document.root()?.get("recovery")
        {
            return Err(already(document, value.span().start, "recovery"));
        }
        if let Some(document) = global
            && let Some(table) = embedded_workspace(document, &document.root()?, name)?
            && let Some(value) = table.get("recovery")
        {
            return Err(already(document, value.span().start, &prefix));
        }
        // Also when neither file knows the name: then this is the error that says so.
        let mounts = config.for_workspace(name, &Flags::default())?.mounts;
        let (document, tables) = match (&own, global) {
            (Some(document), _) => (document, Vec::new()),
            (None, Some(document)) => (document, vec!["workspaces", name]),
            (None, None) => return Err(unknown(config, name)),
        };
        let Some(insertion) = insert::plan(document.text(), &tables, wanted) else {
            return Err(EditError::Shape {
                path: document.path().to_path_buf(),
                table: insert::alone(&tables, wanted),
            });
        };
        let path = document.path().to_path_buf();
        let file = fs::canonicalize(&path).map_err(|source| ReplaceError::Write {
            action: "find",
            path: path.clone(),
            source,
        })?;
        let edit = Self {
            name: name.to_owned(),
            path,
            file,
            before: document.text().to_owned(),
            insertion,
            mounts,
            wanted: wanted.clone(),
        };
        edit.check(config, Document::of(&edit.path, edit.after()))?;
        Ok(edit)
    }

    /// Returns the file as it is configured.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the file that is written: the target of the links of [`Edit::path`].
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Returns the added text, with the file's own line ends. Nothing else changes.
    #[must_use]
    pub fn added(&self) -> &str {
        &self.insertion.text
    }

    /// Returns the line, from 1, on which the added text begins, and false if it begins within that line.
    #[must_use]
    pub fn line(&self) -> (usize, bool) {
        let before = self.before.get(..self.insertion.at).unwrap_or(&self.before);
        let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
        (line, before.is_empty() || before.ends_with('\n'))
    }

    /// Writes the table: a new file beside the old one, with the same mode, owner and attributes, is on disk before it takes the
    /// old one's name. `random` makes the temporary name.
    ///
    /// # Errors
    /// [`EditError::Replace`]; [`EditError::Config`] and [`EditError::Meaning`] when what was written
    /// does not load as it must.
    pub fn apply(&self, config: &Config, random: [u8; 8]) -> Result<(), EditError> {
        FILE_REPLACER.replace(
            &self.file,
            self.before.as_bytes(),
            self.after().as_bytes(),
            random,
            |written| {
                let document = Document::read(written)?.ok_or_else(|| ReplaceError::Changed {
                    path: written.to_path_buf(),
                })?;
                self.check(config, document.at(&self.path))
            },
        )
    }

    fn after(&self) -> String {
        let (head, tail) = self
            .before
            .split_at_checked(self.insertion.at)
            .unwrap_or((&self.before, ""));
        format!("{head}{}{tail}", self.insertion.text)
    }

    /// Checks that `changed` keeps the mounts of the workspace and has the requested mode and excludes.
    fn check(&self, config: &Config, changed: Document) -> Result<(), EditError> {
        let wrong = |what| EditError::Meaning {
            path: self.path.clone(),
            what,
        };
        let Resolved {
            mounts,
            mode,
            exclude,
            ..
        } = config.for_workspace_with(&self.name, changed)?;
        // Lines may have moved.
        let plain = |mount: &MountConfig| {
            let MountConfig {
                src,
                dst,
                readonly,
                isolation,
                ..
            } = mount.clone();
            (src, dst, readonly, isolation)
        };
        if !mounts.iter().map(plain).eq(self.mounts.iter().map(plain)) {
            return Err(wrong("the mounts"));
        }
        if mode.value.word() != self.wanted.mode {
            return Err(wrong("the mode"));
        }
        let patterns: Vec<&String> = exclude.iter().map(|pattern| &pattern.value).collect();
        if !patterns.ends_with(&self.wanted.exclude.iter().collect::<Vec<_>>()) {
            return Err(wrong("the excludes"));
        }
        Ok(())
    }
}

fn already(document: &Document, offset: usize, key: &str) -> EditError {
    EditError::Already {
        place: document.place(offset, key.to_owned()),
    }
}

/// Returns the error for a workspace that was removed in the meantime.
fn unknown(config: &Config, name: &str) -> EditError {
    match config.for_workspace(name, &Flags::default()) {
        Err(error) => error.into(),
        Ok(_) => EditError::Replace(ReplaceError::Changed {
            path: PathBuf::from(name),
        }),
    }
}

#[cfg(test)]
mod tests;
