//! PATH arguments: host paths, paths relative to the current directory, or paths below the only mount.
//!
//! Links above a mount are followed. A link below it may be the session's work: where a snapshot has the path as it is written, that one
//! is meant, and not the one to which a directory that became a link leads now.

use std::cell::RefCell;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::RecoveryError;
use crate::config::{settle, settle_path, written_path};
use crate::contract::{Matcher, PathGlob, PatternError, Verdict};
use crate::environment::Environment;
use crate::model::{Coverage, InstanceId, Manifest, RelPath, SnapshotId, SnapshotKind};
use crate::restore::{AskedGlob, AskedPaths, Scope};
use crate::store::{InstanceRow, PathLookup, Store, StoreError};
use handle_fs::remote::is_elsewhere;

/// Answers whether a snapshot has a path of a mount. Asked only where links below the mount lead to another path.
pub(crate) type Recorded<'a> = dyn Fn(&Coverage, &RelPath) -> bool + 'a;

/// Returns the answer of these snapshots. One that cannot be read has nothing.
pub(crate) fn in_snapshots(
    store: &Store,
    snapshots: Vec<SnapshotId>,
) -> impl Fn(&Coverage, &RelPath) -> bool + '_ {
    let lookup = RefCell::new(PathLookup::new(store));
    move |coverage, path| {
        let mut lookup = lookup.borrow_mut();
        snapshots
            .iter()
            .any(|snapshot| lookup.shows(snapshot, &coverage.label, path))
    }
}

/// Returns the answer of all snapshots of a session, but for those of its restores.
///
/// # Errors
/// When the catalog cannot be read.
pub(crate) fn in_session<'s>(
    store: &'s Store,
    row: &InstanceRow,
) -> Result<impl Fn(&Coverage, &RelPath) -> bool + 's, StoreError> {
    let mut rows = store.catalog().snapshots(&row.id)?;
    rows.retain(|snapshot| snapshot.kind != SnapshotKind::Emergency);
    let snapshots = rows.into_iter().map(|snapshot| snapshot.id).collect();
    Ok(in_snapshots(store, snapshots))
}

/// Returns the host path that an argument means in the given sessions.
///
/// # Errors
/// When the catalog cannot be read.
pub(super) fn host_path(
    environment: &Environment,
    store: &Store,
    rows: &[InstanceRow],
    argument: &Path,
) -> Result<PathBuf, StoreError> {
    let resolved = settle_path(environment, argument);
    for row in rows {
        let recorded = in_session(store, row)?;
        if let Some((at, path)) = as_written(environment, &row.mounts, (argument, &resolved), &recorded)
            && let Some(coverage) = row.mounts.get(at)
        {
            return Ok(path.on_host(&coverage.root.to_path()));
        }
    }
    Ok(resolved)
}

/// Returns the mount and the path below it as the argument is written, if following the links below the mount leads elsewhere and a
/// snapshot has it.
fn as_written(
    environment: &Environment,
    coverages: &[Coverage],
    (argument, resolved): (&Path, &Path),
    recorded: &Recorded<'_>,
) -> Option<(usize, RelPath)> {
    if is_elsewhere(argument) {
        return None;
    }
    let written = written_path(environment, argument);
    if written == resolved {
        return None;
    }
    let mut above: Vec<&Path> = written.ancestors().collect();
    above.reverse();
    coverages.iter().enumerate().find_map(|(at, coverage)| {
        let root = coverage.root.to_path();
        let top = above
            .iter()
            .find(|above| **above == root || settle(above) == root)?;
        let below = RelPath::new(written.strip_prefix(top).ok()?.as_os_str().as_bytes()).ok()?;
        let is_other = below.on_host(&root) != resolved;
        (is_other && recorded(coverage, &below)).then_some((at, below))
    })
}

/// For each mount which paths are meant; no arguments mean everything. What one of `excluded` matches, in gitignore syntax, stays out.
pub(crate) fn scopes(
    environment: &Environment,
    coverages: &[Coverage],
    arguments: &[OsString],
    excluded: &[String],
    recorded: &Recorded<'_>,
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
        let word = as_glob(environment, coverages, argument);
        let (mount, path, glob) = match word {
            None => {
                let (mount, path) = place(environment, coverages, Path::new(argument), recorded)?;
                (mount, path, None)
            }
            Some(word) => {
                let (mount, glob) = glob(environment, coverages, word, recorded)?;
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
        (true, Some(tops)) => Scope::Below(tops.into_iter().collect()),
        (true, None) => Scope::All,
        (false, tops) => Scope::Asked(Box::new(AskedPaths { tops, ..asked })),
    };
    Ok(asked.into_iter().map(plain).collect())
}

/// A word that is a glob.
#[derive(Clone, Copy)]
pub(super) struct GlobWord<'a> {
    word: &'a str,
    /// Length of the first part, which leads to a mount by its letters and is no glob whatever it has of one.
    leading: usize,
}

/// Returns an argument as a glob if it is one, apart from the name of a mount or of a directory that leads to one.
pub(super) fn as_glob<'a>(
    environment: &Environment,
    coverages: &[Coverage],
    argument: &'a OsStr,
) -> Option<GlobWord<'a>> {
    let word = argument.to_str().filter(|word| PathGlob::is_glob(word))?;
    let leading = leading(environment, coverages, word);
    let rest = word.get(leading..)?;
    PathGlob::is_glob(rest).then_some(GlobWord { word, leading })
}

/// Returns the length of the first part of a word that leads to a mount by its letters, or is one.
fn leading(environment: &Environment, coverages: &[Coverage], word: &str) -> usize {
    let leads = |part: &str| {
        let host = settle_path(environment, Path::new(part));
        let mut roots = coverages.iter().map(|coverage| coverage.root.to_path());
        roots.any(|root| root.starts_with(&host))
    };
    let slashes = word.match_indices('/').map(|(at, _)| at + 1);
    let ends = slashes.chain([word.len()]);
    let found = ends.filter(|end| word.get(..*end).is_some_and(leads));
    found.max().unwrap_or(0)
}

/// Reads a word as a glob below the current directory, or below the directory that it begins with. One without a slash matches at any
/// depth, as in gitignore.
pub(super) fn glob(
    environment: &Environment,
    coverages: &[Coverage],
    GlobWord { word, leading }: GlobWord<'_>,
    recorded: &Recorded<'_>,
) -> Result<(usize, AskedGlob), RecoveryError> {
    let rest = word.get(leading..).unwrap_or_default();
    let at = rest.find(['*', '?', '[']).map_or(word.len(), |at| leading + at);
    let (directory, rest) = match word.get(..at).and_then(|before| before.rfind('/')) {
        Some(slash) => word.split_at(slash + 1),
        None => ("", word),
    };
    let above = if directory.is_empty() { "." } else { directory };
    let (mount, base) = place(environment, coverages, Path::new(above), recorded)?;
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

/// Compiles the globs of paths that stay out. One with a slash is relative to the current directory if that lies in the mount, else to the
/// mount; one without matches at any depth of the mount, as all of it may be asked for from any place in it.
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
    let base = base.unwrap_or_else(RelPath::root);
    // A mistake is named as it was typed.
    let typed = PathGlob::of_lines(base.clone(), excluded.to_vec()).map_err(|error| wrong(&error))?;
    let globs = match std::str::from_utf8(base.as_bytes()) {
        Ok(base) if !base.is_empty() => {
            let lines = excluded.iter().map(|line| below_mount(base, line)).collect();
            PathGlob::of_lines(RelPath::root(), lines).map_err(|error| wrong(&error))?
        }
        _ => typed,
    };
    Ok(Some(globs))
}

/// Returns a line of gitignore that is relative to `base` as one that is relative to the mount.
fn below_mount(base: &str, line: &str) -> String {
    let (sign, pattern) = match line.strip_prefix('!') {
        Some(pattern) => ("!", pattern),
        None => ("", line),
    };
    if !pattern.trim_end_matches('/').contains('/') {
        return line.to_owned();
    }
    let mut escaped = String::new();
    for letter in base.chars() {
        if matches!(letter, '*' | '?' | '[' | ']' | '\\') {
            escaped.push('\\');
        }
        escaped.push(letter);
    }
    format!("{sign}/{escaped}/{}", pattern.trim_start_matches('/'))
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
            let host = path.on_host(&coverage.root.to_path());
            if coverage.has_forgotten(path) {
                return Err(RecoveryError::Forgotten(host));
            }
            return Err(RecoveryError::Nowhere {
                path: host,
                described: self.described.to_owned(),
                is_dashed: path.as_bytes().starts_with(b"-"),
                instance: instance.clone(),
            });
        }
        Ok(())
    }
}

/// A path that the session's excludes skip, or that is outside its tracked paths, is in no snapshot, and asking for it is no success.
pub(super) fn left_out(coverage: &Coverage, path: &RelPath) -> Option<RecoveryError> {
    let matcher = Matcher::new(coverage).ok()?;
    let host = || path.on_host(&coverage.root.to_path());
    let refused = |is_dir| match matcher.verdict_with_parents(path, is_dir) {
        Verdict::Excluded(rule) => Some(RecoveryError::Excluded {
            path: host(),
            pattern: rule.pattern.clone(),
        }),
        Verdict::OutsideTracked if !matcher.is_on_the_way(path) => Some(RecoveryError::Untracked {
            path: host(),
            tracked: coverage.tracked.clone(),
        }),
        _ => None,
    };
    refused(true).or_else(|| refused(false))
}

/// The mount that a path lies in, and the path below it.
pub(crate) fn place(
    environment: &Environment,
    coverages: &[Coverage],
    argument: &Path,
    recorded: &Recorded<'_>,
) -> Result<(usize, RelPath), RecoveryError> {
    let host = settle_path(environment, argument);
    if let Some(written) = as_written(environment, coverages, (argument, &host), recorded) {
        return Ok(written);
    }
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
