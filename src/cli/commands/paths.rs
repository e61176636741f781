//! PATH arguments: host paths, paths relative to the current directory, or paths below the only mount.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use crate::cli::context::settle_path;
use crate::cli::error::{CliError, ErrorKind};
use crate::environment::Environment;
use crate::restore::Scope;
use crate::snapshot::{Coverage, RelPath};
use crate::terminal::sanitize;

/// For each mount which paths are meant; no arguments mean everything.
pub(super) fn scopes(
    environment: &Environment,
    coverages: &[Coverage],
    arguments: &[OsString],
) -> Result<Vec<Scope>, CliError> {
    if arguments.is_empty() {
        return Ok(coverages.iter().map(|_| Scope::All).collect());
    }
    let mut paths: Vec<Vec<RelPath>> = coverages.iter().map(|_| Vec::new()).collect();
    for argument in arguments {
        let (mount, path) = place(environment, coverages, Path::new(argument))?;
        if let Some(paths) = paths.get_mut(mount) {
            paths.push(path);
        }
    }
    Ok(paths.into_iter().map(Scope::Below).collect())
}

fn place(
    environment: &Environment,
    coverages: &[Coverage],
    argument: &Path,
) -> Result<(usize, RelPath), CliError> {
    let host = settle_path(environment, argument);
    for (at, coverage) in coverages.iter().enumerate() {
        if let Ok(below) = host.strip_prefix(coverage.root.to_path()) {
            return Ok((at, relative(argument, below)?));
        }
    }
    if let ([_], true) = (coverages, argument.is_relative()) {
        let plain: std::path::PathBuf = argument
            .components()
            .filter(|part| *part != std::path::Component::CurDir)
            .collect();
        return Ok((0, relative(argument, &plain)?));
    }
    let shown = sanitize::path(argument);
    let roots: Vec<String> = coverages
        .iter()
        .map(|mount| sanitize::name(&mount.root.0))
        .collect();
    Err(CliError::new(
        ErrorKind::Usage,
        format!("{shown} lies in none of the session's mounts"),
    )
    .hint(format!("the mounts: {}", roots.join(", "))))
}

fn relative(argument: &Path, below: &Path) -> Result<RelPath, CliError> {
    RelPath::new(below.as_os_str().as_bytes()).map_err(|error| {
        let shown = sanitize::path(argument);
        CliError::new(
            ErrorKind::Usage,
            format!("{shown} cannot be used as a path: {error}"),
        )
    })
}
