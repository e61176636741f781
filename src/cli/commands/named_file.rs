//! A file that the operator named for what we write: settled and checked before the work, replaced in one step after it.

use std::fs::{File, OpenOptions, canonicalize};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, fchown};
use std::path::{Path, PathBuf};

use super::elsewhere::refuse_address;
use crate::cli::context::{Context, settle_path};
use crate::cli::error::{CliError, ErrorKind};
use crate::cli::exit_code::{ExitCode, Status};
use crate::clock::{letters, random};
use crate::terminal::{sanitize, shell};

/// A file that may be written: its directory is there, it is no directory itself, and it does not lie in the store.
pub(super) struct NamedFile {
    pub(super) path: PathBuf,
    /// For a terminal.
    pub(super) shown: String,
}

impl NamedFile {
    /// That it cannot be written is better known before the work.
    pub(super) fn settle(context: &Context<'_>, path: &Path) -> Result<Self, CliError> {
        let usage = |message: String| CliError::new(ErrorKind::Usage, message);
        if path.as_os_str().is_empty() {
            return Err(usage("the name of a file is empty".to_owned()).hint("name a file"));
        }
        let path = settle_path(context.environment, path);
        refuse_address(&path)?;
        let shown = sanitize::path(&path);
        if path.is_dir() {
            return Err(usage(format!("{shown} is a directory")).hint("name a file in it"));
        }
        if let Some(above) = path.parent().filter(|above| !above.is_dir()) {
            let message = format!(
                "{shown} cannot be written: there is no directory {}",
                sanitize::path(above)
            );
            return Err(usage(message).hint(format!(
                "make it first:\n  mkdir -p {}",
                shell::word(above.as_os_str())
            )));
        }
        let store = context.store_directory().ok();
        let store = store.map(|store| canonicalize(&store).unwrap_or(store));
        if store.is_some_and(|store| path.starts_with(store)) {
            let message = format!("{shown} lies in the store, where nothing but its own files may lie");
            return Err(usage(message).hint("name a file elsewhere"));
        }
        Ok(Self { path, shown })
    }

    /// Readable by the operator only, for what we write names files. Written beside its name and moved over it: an agent may have
    /// planted a link there meanwhile, and what that leads to is not ours to write.
    pub(super) fn replace(
        &self,
        context: &Context<'_>,
        write: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut beside = self.path.as_os_str().to_owned();
        beside.push(".");
        beside.push(letters(random(context.world().entropy)));
        let mut options = OpenOptions::new();
        let mut file = options.write(true).create_new(true).mode(0o600).open(&beside)?;
        let written = write(&mut file)
            .and_then(|()| match context.environment.operator {
                Some(owner) => fchown(&file, Some(owner.uid), Some(owner.gid)),
                None => Ok(()),
            })
            .and_then(|()| file.sync_all())
            .and_then(|()| std::fs::rename(&beside, &self.path));
        if written.is_err() {
            let _ = std::fs::remove_file(&beside);
        }
        written
    }

    /// Writes a page for a browser, and says where it is.
    pub(super) fn write_page(&self, context: &Context<'_>, page: &str) -> Result<Status, CliError> {
        self.replace(context, |file| file.write_all(page.as_bytes()))
            .map_err(|error| {
                CliError::new(
                    ErrorKind::Io,
                    format!("the page {} cannot be written", self.shown),
                )
                .because(&error)
            })?;
        context.terminal.note(&format!(
            "the page is written, for your eyes only: {}",
            self.shown
        ));
        Ok(ExitCode::Done.into())
    }
}
