//! A tool of the operator, such as an editor, on private copies of stored files.

use std::ffi::OsString;
use std::fs::{DirBuilder, File, OpenOptions, remove_dir_all};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use super::child::{checked, start, status};
use super::context::Context;
use super::error::{CliError, ErrorKind};
use super::exit_code::Status;
use crate::clock::{letters, random};

/// Directory that only the operator can enter. It is removed when it goes out of scope, also after Ctrl-C.
pub(super) struct PrivateDirectory {
    path: PathBuf,
}

impl PrivateDirectory {
    /// Creates one in `TMPDIR`, else in `/tmp`.
    pub(super) fn make(context: &Context<'_>) -> Result<Self, CliError> {
        let named = context.environment.get("TMPDIR").map(PathBuf::from);
        let above = named.filter(|path| path.is_absolute());
        let above = above.unwrap_or_else(|| PathBuf::from("/tmp"));
        let name = letters(random(context.world().entropy));
        let path = above.join(format!("jackin-recovery-{name}"));
        DirBuilder::new().mode(0o700).create(&path).map_err(unwritable)?;
        Ok(Self { path })
    }

    /// Returns its path.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Creates a directory below it, with those above.
    pub(super) fn directory(&self, below: &Path) -> Result<PathBuf, CliError> {
        let path = self.path.join(below);
        let mut builder = DirBuilder::new();
        builder.mode(0o700).recursive(true);
        builder.create(&path).map_err(unwritable)?;
        Ok(path)
    }

    /// Creates a file below it that its owner can only read.
    pub(super) fn file(&self, below: &Path) -> Result<(File, PathBuf), CliError> {
        if let Some(above) = below.parent() {
            self.directory(above)?;
        }
        let path = self.path.join(below);
        let mut options = OpenOptions::new();
        let file = options.write(true).create_new(true).mode(0o400).open(&path);
        Ok((file.map_err(unwritable)?, path))
    }
}

impl Drop for PrivateDirectory {
    fn drop(&mut self) {
        // What cannot be removed stays readable to the operator alone.
        let _ = remove_dir_all(&self.path);
    }
}

/// Returns the error of a copy that cannot be written.
pub(super) fn unwritable(error: io::Error) -> CliError {
    CliError::new(ErrorKind::Io, "the temporary copies cannot be written").because(error)
}

/// Returns the editor of the operator: `tool`, else `VISUAL`, else `EDITOR`.
pub(super) fn editor(context: &Context<'_>, tool: Option<&str>) -> Result<OsString, CliError> {
    let variable = |name| context.environment.get(name).filter(|value| !value.is_empty());
    let found = tool.map(OsString::from);
    let found = found.or_else(|| {
        variable("VISUAL")
            .or_else(|| variable("EDITOR"))
            .map(OsString::from)
    });
    found.ok_or_else(|| {
        CliError::new(
            ErrorKind::Usage,
            "no editor is known: VISUAL and EDITOR are not set",
        )
        .hint("name a command with --tool")
    })
}

/// Runs a tool, which may have arguments, on these paths, in a directory where no file of a mount configures it.
pub(super) fn run(
    context: &Context<'_>,
    tool: OsString,
    directory: &PrivateDirectory,
    paths: &[PathBuf],
) -> Result<Status, CliError> {
    let mut line = tool;
    line.push(" \"$@\"");
    let mut command: Vec<OsString> = vec!["sh".into(), "-c".into(), line, "sh".into()];
    command.extend(paths.iter().map(|path| path.clone().into_os_string()));
    let command = checked(context, &command, directory.path())?;
    context.terminal.flush_out();
    let running = start(context, command, &[], directory.path())?;
    Ok(status(running.wait()?.exit))
}
