//! A tool of the operator, such as an editor, on private copies of stored files.

use std::ffi::OsString;
use std::fs::{DirBuilder, File, OpenOptions, remove_dir_all};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use super::child::{checked, status};
use super::context::Context;
use super::error::{CliError, ErrorKind};
use super::exit_code::Status;
use crate::clock::{letters, random};
use crate::process::{self, Exit, Invocation};
use crate::terminal::sanitize;

/// Mode of a copy of a stored file.
pub(super) const READ_ONLY: u32 = 0o400;

/// Hint for a temporary directory that cannot be used.
const ELSEWHERE: &str = "set TMPDIR to a directory that you may write to and that has room";

/// Status with which the shell reports a command that it does not find.
const NOT_FOUND: Exit = Exit::Code(127);

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
        DirBuilder::new().mode(0o700).create(&path).map_err(|error| {
            let message = format!(
                "no temporary directory can be created in {}",
                sanitize::path(&above)
            );
            CliError::new(ErrorKind::Io, message)
                .because(error)
                .hint(ELSEWHERE)
        })?;
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

    /// Creates a file with this mode below it.
    pub(super) fn file(&self, below: &Path, mode: u32) -> Result<(File, PathBuf), CliError> {
        if let Some(above) = below.parent() {
            self.directory(above)?;
        }
        let path = self.path.join(below);
        let mut options = OpenOptions::new();
        let file = options.write(true).create_new(true).mode(mode).open(&path);
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
    CliError::new(ErrorKind::Io, "the temporary copies cannot be written")
        .because(error)
        .hint(ELSEWHERE)
}

/// Returns the editor of the operator: `tool`, else `VISUAL`, else `EDITOR`.
pub(super) fn editor(context: &Context<'_>, tool: Option<&str>) -> Option<OsString> {
    let variable = |name| context.environment.get(name).filter(|value| !value.is_empty());
    tool.map(OsString::from).or_else(|| {
        variable("VISUAL")
            .or_else(|| variable("EDITOR"))
            .map(OsString::from)
    })
}

/// Runs a tool, which may have arguments, on these paths, in a directory where no file of a mount configures it.
pub(super) fn run(
    context: &Context<'_>,
    tool: OsString,
    directory: &PrivateDirectory,
    paths: &[PathBuf],
) -> Result<Status, CliError> {
    context.terminal.flush_out();
    let shown = sanitize::os(&tool);
    let exit = exit_of(context, tool, directory, paths)?;
    if exit == NOT_FOUND {
        let error = CliError::new(
            ErrorKind::CommandNotFound,
            format!("the tool `{shown}` was not found"),
        );
        return Err(error.hint("name a program in PATH, or one by its absolute path, with --tool"));
    }
    Ok(status(exit))
}

/// Runs a tool like [`run`], and returns how it ended.
pub(super) fn exit_of(
    context: &Context<'_>,
    tool: OsString,
    directory: &PrivateDirectory,
    paths: &[PathBuf],
) -> Result<Exit, CliError> {
    let mut line = tool;
    line.push(" \"$@\"");
    let mut command: Vec<OsString> = vec!["sh".into(), "-c".into(), line, "sh".into()];
    command.extend(paths.iter().map(|path| path.clone().into_os_string()));
    let (program, arguments) = checked(context, &command, directory.path())?;
    let invocation = Invocation {
        program,
        arguments,
        environment: &[],
        directory: directory.path(),
    };
    Ok(process::start(&invocation, &context.interrupts)?.wait()?.exit)
}
