//! Adds a `[recovery]` table to the file that defines a workspace, for `init`. The only part of `config` that writes: the
//! files are jackin's and the operator's, so it adds one table and keeps every other byte.

mod insert;

use std::fs;
use std::path::{Path, PathBuf};

use super::document::{Document, quoted};
use super::embedded::embedded_workspace;
use super::error::Place;
use super::{Config, ConfigError, Flags, MountConfig, Resolved, shown};
use crate::platform::{ReplaceError, replace_file};
use insert::Insertion;

/// What the new table shall say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// The word of `snapshot`.
    pub mode: String,
    /// What is left out, in gitignore syntax.
    pub exclude: Vec<String>,
    /// Patterns excluded automatically, for the comment; one line, may be empty.
    pub because: String,
}

/// Why a table was not added. Nothing was written then, unless the text says so.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// The configuration has a fault, also when only the new table would bring it in.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// There is such a table.
    #[error("{place} is there already; edit it there, nothing was written")]
    Already {
        /// Where it stands.
        place: Place,
    },
    /// The table cannot be added without a change elsewhere in the file.
    #[error(
        "{} is written so that nothing can be added without changing the rest of it",
        shown(path)
    )]
    Shape {
        /// The file.
        path: PathBuf,
        /// What to add by hand.
        table: String,
    },
    /// The new text would mean something else for the workspace than what was asked for.
    #[error(
        "with the new table {} would say something else about {what}; nothing was written",
        shown(path)
    )]
    Meaning {
        /// The file.
        path: PathBuf,
        /// What differs.
        what: &'static str,
    },
    /// The file cannot be written.
    #[error(transparent)]
    Replace(#[from] ReplaceError),
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
    /// Works out what the file of the workspace `name` will be. Nothing is written.
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

    /// The file as it is configured.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file that will be written: where the links of [`Edit::path`] lead.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// What is added, with the file's own line ends. Nothing else changes.
    #[must_use]
    pub fn added(&self) -> &str {
        &self.insertion.text
    }

    /// The line, from 1, on which what is added begins; `false` beside it: it begins within that line.
    #[must_use]
    pub fn line(&self) -> (usize, bool) {
        let before = self.before.get(..self.insertion.at).unwrap_or(&self.before);
        let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
        (line, before.is_empty() || before.ends_with('\n'))
    }

    /// Writes it: a new file beside the old one, the same mode, owner and attributes, on disk before it takes the old one's
    /// name. `random` makes its name.
    ///
    /// # Errors
    /// [`EditError::Replace`]; [`EditError::Config`] and [`EditError::Meaning`] when what was written
    /// does not load as it must.
    pub fn apply(&self, config: &Config, random: [u8; 8]) -> Result<(), EditError> {
        replace_file(
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

    /// What `changed` says of the workspace must be what it said before, and what was asked for.
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
            return Err(wrong("what is left out"));
        }
        Ok(())
    }
}

fn already(document: &Document, offset: usize, key: &str) -> EditError {
    EditError::Already {
        place: document.place(offset, key.to_owned()),
    }
}

/// Removed between two looks.
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
