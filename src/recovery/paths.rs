//! PATH arguments: host paths, paths relative to the current directory, or paths below the only mount.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use super::RecoveryError;
use crate::config::settle_path;
use crate::contract::{Matcher, Verdict};
use crate::environment::Environment;
use crate::model::{Coverage, InstanceId, Manifest, RelPath};
use crate::restore::Scope;

/// For each mount which paths are meant; no arguments mean everything.
pub(crate) fn scopes(
    environment: &Environment,
    coverages: &[Coverage],
    arguments: &[OsString],
) -> Result<Vec<Scope>, RecoveryError> {
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

/// Places in which a path is looked up.
pub(crate) struct Known<'a> {
    /// Manifests that may hold it.
    pub(crate) sides: &'a [Option<&'a Manifest>],
    /// Excluded or uncovered paths: what lies at or below them is known too.
    pub(crate) elsewhere: &'a [&'a RelPath],
    /// Error text for a path that is in none of them.
    pub(crate) described: &'a str,
}

impl Known<'_> {
    /// A path that is nowhere is a mistake that must not look like success.
    pub(crate) fn check(
        &self,
        coverage: &Coverage,
        scope: &Scope,
        instance: &InstanceId,
    ) -> Result<(), RecoveryError> {
        let Scope::Below(paths) = scope else {
            return Ok(());
        };
        for path in paths {
            let held = self
                .sides
                .iter()
                .flatten()
                .any(|manifest| path.is_root() || manifest.entry(path).is_some());
            let known = self
                .elsewhere
                .iter()
                .any(|other| other.is_within(path) || path.is_within(other));
            if held {
                continue;
            }
            if let Some(error) = left_out(coverage, path) {
                return Err(error);
            }
            if known {
                continue;
            }
            return Err(RecoveryError::Nowhere {
                path: path.on_host(&coverage.root.to_path()),
                described: self.described.to_owned(),
                is_dashed: path.as_bytes().starts_with(b"-"),
                instance: instance.clone(),
            });
        }
        Ok(())
    }
}

/// A path that the session's excludes skip is in no snapshot, and asking for it is no success.
pub(super) fn left_out(coverage: &Coverage, path: &RelPath) -> Option<RecoveryError> {
    let matcher = Matcher::new(coverage).ok()?;
    let excluded = |is_dir| match matcher.verdict_with_parents(path, is_dir) {
        Verdict::Excluded(rule) => Some(rule.pattern.clone()),
        _ => None,
    };
    let pattern = excluded(true).or_else(|| excluded(false))?;
    let path = path.on_host(&coverage.root.to_path());
    Some(RecoveryError::Excluded { path, pattern })
}

/// The mount that a path lies in, and the path below it.
pub(crate) fn place(
    environment: &Environment,
    coverages: &[Coverage],
    argument: &Path,
) -> Result<(usize, RelPath), RecoveryError> {
    let host = settle_path(environment, argument);
    for (at, coverage) in coverages.iter().enumerate() {
        // Of a home only what is an agent's is meant.
        let is_near = |place: &std::path::PathBuf| host.starts_with(place) || place.starts_with(&host);
        if coverage.state && !coverage.places().iter().any(is_near) {
            continue;
        }
        if let Ok(below) = host.strip_prefix(coverage.root.to_path()) {
            return Ok((at, relative(argument, below)?));
        }
    }
    let projects = coverages.iter().filter(|coverage| !coverage.state).count();
    if let (1, true) = (projects, argument.is_relative()) {
        let at = coverages
            .iter()
            .position(|coverage| !coverage.state)
            .unwrap_or_default();
        let plain: std::path::PathBuf = argument
            .components()
            .filter(|part| *part != std::path::Component::CurDir)
            .collect();
        return Ok((at, relative(argument, &plain)?));
    }
    Err(RecoveryError::Outside {
        path: host,
        roots: coverages.iter().map(|mount| mount.root.clone()).collect(),
    })
}

fn relative(argument: &Path, below: &Path) -> Result<RelPath, RecoveryError> {
    RelPath::new(below.as_os_str().as_bytes()).map_err(|error| RecoveryError::Path {
        path: argument.to_path_buf(),
        why: error.to_string(),
    })
}
