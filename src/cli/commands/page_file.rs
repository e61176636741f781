//! A file that the operator named for a report or a page: readable by its owner only, for it names files.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use crate::cli::context::{Context, settle_path};
use crate::cli::error::{CliError, ErrorKind};
use crate::cli::exit_code::{ExitCode, Status};
use crate::snapshot::InstanceId;
use crate::terminal::sanitize;

/// That it cannot be written is better known before the work. `what` it is.
pub(super) fn check(path: &Path, what: &str) -> Result<(), CliError> {
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    if parent.is_dir() && !path.is_dir() {
        return Ok(());
    }
    let message = format!("the {what} {} cannot be written there", sanitize::path(path));
    Err(CliError::new(ErrorKind::Usage, message).hint("name a file in a directory that exists"))
}

/// Written beside its name, which `instance` makes its own, and moved over it: an agent may have planted a link there meanwhile, and
/// what that leads to is not ours to write.
pub(super) fn replace(
    path: &Path,
    instance: &str,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".{instance}"));
    let mut options = std::fs::OpenOptions::new();
    let mut file = options.write(true).create_new(true).mode(0o600).open(&beside)?;
    let written = write(&mut file)
        .and_then(|()| file.sync_all())
        .and_then(|()| std::fs::rename(&beside, path));
    if written.is_err() {
        let _ = std::fs::remove_file(&beside);
    }
    written
}

/// Writes a page for a browser, and says where it is.
pub(super) fn write(
    context: &Context<'_>,
    path: &Path,
    instance: &InstanceId,
    page: &str,
) -> Result<Status, CliError> {
    let path = settle_path(context.environment, path);
    check(&path, "page")?;
    let shown = sanitize::path(&path);
    replace(&path, instance.as_str(), |file| file.write_all(page.as_bytes())).map_err(|error| {
        CliError::new(ErrorKind::Io, format!("the page {shown} cannot be written")).because(&error)
    })?;
    context
        .terminal
        .note(&format!("the page is written, for your eyes only: {shown}"));
    Ok(ExitCode::Done.into())
}
