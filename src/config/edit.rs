//! Adds a `[recovery]` table to the file that defines a workspace, or writes the file of a new one, for `init`. The only part of
//! `config` that writes: the files are jackin's and the operator's, so it adds one table and keeps every other byte.

mod create;
mod insert;

use std::fs;
use std::path::{Path, PathBuf};

use super::document::{Document, quoted};
use super::embedded::embedded_workspace;
use super::error::Place;
use super::{Config, ConfigError, Flags, MountConfig, Resolved, settle, shown};
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
    /// Directory that no file can name.
    #[error(
        "{} cannot be a workspace: its name is not UTF-8, which configuration files need",
        shown(root)
    )]
    NotText {
        /// The directory.
        root: PathBuf,
    },
    /// User without a configuration directory.
    #[error("your home directory is unknown, and so is jackin's configuration")]
    NoDirectory,
    /// File that cannot be written.
    #[error(transparent)]
    Replace(#[from] ReplaceError),
}

impl Diagnostic for EditError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Config(_)
            | Self::Already { .. }
            | Self::Shape { .. }
            | Self::Meaning { .. }
            | Self::NoDirectory => ErrorKind::Config,
            Self::NotText { .. } => ErrorKind::Usage,
            Self::Replace(error) => error.kind(),
        }
    }

    fn hints(&self) -> Vec<Hint> {
        match self {
            Self::Config(error) => error.hints(),
            Self::Meaning { .. } => Vec::new(),
            Self::NotText { .. } => vec![Hint::text(
                "rename the directory, or set the mode for every directory: [recovery] in config.toml",
            )],
            Self::NoDirectory => vec![Hint::text("set HOME or JACKIN_CONFIG_DIR")],
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

/// A table that can be added, or a file that can be created: decided and tried, not written yet.
#[derive(Clone, Debug)]
pub struct Edit {
    name: String,
    path: PathBuf,
    file: PathBuf,
    before: String,
    /// Mode bits of the file, if it is new.
    creates: Option<u32>,
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
            creates: None,
            insertion,
            mounts,
            wanted: wanted.clone(),
        };
        edit.check(config, Document::of(&edit.path, edit.after()))?;
        Ok(edit)
    }

    /// Computes the file of a new workspace whose only mount is the directory `root`, an absolute path without links. Its name is
    /// that of the directory, made valid and unique. Nothing is written.
    ///
    /// # Errors
    /// [`EditError::NotText`], [`EditError::NoDirectory`], [`EditError::Config`], [`EditError::Meaning`].
    pub fn create(config: &Config, root: &Path, wanted: &Wanted) -> Result<Self, EditError> {
        let written = root.to_str().ok_or_else(|| EditError::NotText {
            root: root.to_path_buf(),
        })?;
        let directory = config.directory().ok_or(EditError::NoDirectory)?;
        let known = config.workspace_names()?;
        let workspaces = directory.join("workspaces");
        let file = |name: &str| workspaces.join(format!("{name}.toml"));
        let name = create::name(root, |name| {
            let is_known = known.iter().any(|known| known.eq_ignore_ascii_case(name));
            is_known || fs::symlink_metadata(file(name)).is_ok()
        });
        let path = file(&name);
        let insertion = Insertion {
            at: 0,
            text: create::text(&name, written, wanted),
        };
        let document = Document::of(&path, insertion.text.clone());
        let edit = Self {
            file: settle(&path),
            before: String::new(),
            creates: Some(create::mode(directory)),
            mounts: config.for_workspace_with(&name, document.clone())?.mounts,
            wanted: wanted.clone(),
            name,
            path,
            insertion,
        };
        if !edit.mounts.iter().map(|mount| mount.src.as_path()).eq([root]) {
            return Err(edit.wrong("the mounts"));
        }
        edit.check(config, document)?;
        Ok(edit)
    }

    /// Returns the name of the workspace.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns true if the file does not exist yet.
    #[must_use]
    pub fn creates(&self) -> bool {
        self.creates.is_some()
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

    /// Writes the new file, which replaces none. Missing directories above it are created.
    fn write_new(&self, config: &Config, mode: u32, random: [u8; 8]) -> Result<(), EditError> {
        let directory = self.file.parent().unwrap_or(Path::new("/"));
        let base = directory.ancestors().find(|base| base.is_dir());
        let base = base.unwrap_or(Path::new("/"));
        FILE_REPLACER.make_directories(base, directory)?;
        // Two at once would write two workspaces of one directory. Where the system locks no directories, the look alone has to do.
        let lock = fs::File::open(directory);
        let _alone = lock.and_then(|lock| lock.lock().map(|()| lock)).ok();
        if let Some(path) = self.written_meanwhile(config)? {
            return Err(ReplaceError::Changed { path }.into());
        }
        let written = FILE_REPLACER.write_new_as(&self.file, self.added().as_bytes(), mode, random);
        if written.is_err() {
            FILE_REPLACER.remove_made_directories(base, directory);
        }
        Ok(written?)
    }

    /// Returns the file of another workspace that has the same directory by now.
    fn written_meanwhile(&self, config: &Config) -> Result<Option<PathBuf>, EditError> {
        let is_own = |mount: &MountConfig| self.mounts.iter().any(|own| own.src == mount.src);
        let has_it = |name: &String| {
            let mounts = config.workspace_mounts(name);
            mounts.is_ok_and(|mounts| mounts.iter().any(is_own))
        };
        let found = config.workspace_names()?.into_iter().find(has_it);
        Ok(found.and_then(|name| config.workspace_path(&name)))
    }

    fn wrong(&self, what: &'static str) -> EditError {
        EditError::Meaning {
            path: self.path.clone(),
            what,
        }
    }

    /// Writes the table: a new file beside the old one, with the same mode, owner and attributes, is on disk before it takes the
    /// old one's name. `random` makes the temporary name.
    ///
    /// # Errors
    /// [`EditError::Replace`]; [`EditError::Config`] and [`EditError::Meaning`] when what was written
    /// does not load as it must.
    pub fn apply(&self, config: &Config, random: [u8; 8]) -> Result<(), EditError> {
        if let Some(mode) = self.creates {
            return self.write_new(config, mode, random);
        }
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
            return Err(self.wrong("the mounts"));
        }
        if mode.value.word() != self.wanted.mode {
            return Err(self.wrong("the mode"));
        }
        let patterns: Vec<&String> = exclude.iter().map(|pattern| &pattern.value).collect();
        if !patterns.ends_with(&self.wanted.exclude.iter().collect::<Vec<_>>()) {
            return Err(self.wrong("the excludes"));
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
