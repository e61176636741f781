//! PATH arguments: host paths, paths relative to the current directory, or paths below the only mount.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::RecoveryError;
use crate::config::settle_path;
use crate::contract::{Matcher, PathGlob, PatternError, Verdict};
use crate::environment::Environment;
use crate::model::{Coverage, InstanceId, Manifest, RelPath};
use crate::restore::{AskedGlob, AskedPaths, Scope};

/// For each mount which paths are meant; no arguments mean everything. What one of `excluded` matches, in gitignore syntax, stays out.
pub(crate) fn scopes(
    environment: &Environment,
    coverages: &[Coverage],
    arguments: &[OsString],
    excluded: &[String],
) -> Result<Vec<Scope>, RecoveryError> {
    let is_all = arguments.is_empty();
    let mut asked: Vec<AskedPaths> = coverages
        .iter()
        .map(|coverage| {
            Ok(AskedPaths {
                tops: (!is_all).then(Vec::new),
                globs: Vec::new(),
                excluded: without(environment, coverage, excluded)?,
                chosen: None,
            })
        })
        .collect::<Result<_, RecoveryError>>()?;
    for argument in arguments {
        let word = argument.to_str().filter(|word| PathGlob::is_glob(word));
        let (mount, path, glob) = match word {
            None => {
                let (mount, path) = place(environment, coverages, Path::new(argument))?;
                (mount, path, None)
            }
            Some(word) => {
                let (mount, glob) = glob(environment, coverages, word)?;
                (mount, glob.literal.clone(), Some(glob))
            }
        };
        let Some(asked) = asked.get_mut(mount) else {
            continue;
        };
        match glob {
            Some(glob) => asked.globs.push(glob),
            None => asked.tops.get_or_insert_default().push(path),
        }
    }
    let plain = |asked: AskedPaths| match (asked.globs.is_empty() && asked.excluded.is_none(), asked.tops) {
        (true, Some(tops)) => Scope::Below(tops),
        (true, None) => Scope::All,
        (false, tops) => Scope::Asked(Box::new(AskedPaths { tops, ..asked })),
    };
    Ok(asked.into_iter().map(plain).collect())
}

/// Reads a word as a glob below the current directory, or below the directory that it begins with. One without a slash matches at any
/// depth, as in gitignore.
pub(super) fn glob(
    environment: &Environment,
    coverages: &[Coverage],
    word: &str,
) -> Result<(usize, AskedGlob), RecoveryError> {
    let at = word.find(['*', '?', '[']).unwrap_or(word.len());
    let (directory, rest) = match word.get(..at).and_then(|before| before.rfind('/')) {
        Some(slash) => word.split_at(slash + 1),
        None => ("", word),
    };
    let above = if directory.is_empty() { "." } else { directory };
    let (mount, base) = place(environment, coverages, Path::new(above))?;
    let is_anchored = !directory.is_empty() || rest.trim_end_matches('/').contains('/');
    let glob = PathGlob::of_word(base.clone(), rest, is_anchored).map_err(|error| wrong(&error))?;
    let below: PathBuf = Path::new(rest)
        .components()
        .filter(|part| *part != std::path::Component::CurDir)
        .collect();
    let literal = match base.is_root() {
        true => below,
        false => base.as_path().join(below),
    };
    let there = environment.absolute(Path::new(word));
    Ok((
        mount,
        AskedGlob {
            word: word.to_owned(),
            literal: relative(Path::new(word), &literal)?,
            is_there: there.symlink_metadata().is_ok(),
            glob,
        },
    ))
}

/// Compiles the globs of paths that stay out: relative to the current directory if it lies in the mount, else to the mount.
fn without(
    environment: &Environment,
    coverage: &Coverage,
    excluded: &[String],
) -> Result<Option<PathGlob>, RecoveryError> {
    if excluded.is_empty() {
        return Ok(None);
    }
    let here = settle_path(environment, Path::new("."));
    let below = here.strip_prefix(coverage.root.to_path()).ok();
    let base = below.and_then(|below| RelPath::new(below.as_os_str().as_bytes()).ok());
    let globs = PathGlob::of_lines(base.unwrap_or_else(RelPath::root), excluded.to_vec());
    globs.map(Some).map_err(|error| wrong(&error))
}

fn wrong(error: &PatternError) -> RecoveryError {
    RecoveryError::Glob {
        glob: error.pattern.trim_start_matches('/').to_owned(),
        why: error.problem.clone(),
    }
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
        for path in scope.named() {
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
        let is_near = |place: &PathBuf| host.starts_with(place) || place.starts_with(&host);
        if coverage.state && !coverage.places().iter().any(is_near) {
            continue;
        }
        if let Ok(below) = host.strip_prefix(coverage.root.to_path()) {
            return Ok((at, relative(argument, below)?));
        }
    }
    let projects = coverages.iter().filter(|coverage| !coverage.state).count();
    // A path with `..` is one of the host.
    let climbs = argument
        .components()
        .any(|part| part == std::path::Component::ParentDir);
    if let (1, true) = (projects, argument.is_relative() && !climbs) {
        let at = coverages
            .iter()
            .position(|coverage| !coverage.state)
            .unwrap_or_default();
        let plain: PathBuf = argument
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
