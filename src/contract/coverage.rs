//! Puts the coverage of one mount together: its label, its excludes with their sources, what it tracks and withholds.

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use super::integration::{self, TrackedByGit};
use super::model::{KeptExclude, StackWarning};
use super::mount_probe::kind_of;
use super::sensitive_paths::Places;
use super::{ContractError, Matcher, PatternError, Verdict};
use crate::config::{GitClean, Resolved, Sensitive, ValueSource};
use crate::model::{ByteString, Coverage, ExcludeRule, ExcludeSource, GitCoverage, Name, RelPath};
use handle_fs::NodeKind;
use handle_fs::remote::Transports;

/// Longest label in bytes (docs/format.md), and the part of it that leaves room for a number.
const LABEL_BYTES: usize = 64;
const LABEL_STEM: usize = 56;

/// Warning that automatic excludes may hide files that git tracks.
const UNTOLD: &str = "its index cannot be read here, so it is unknown whether git tracks files in the automatic excludes; those would \
                      not be restored (integrations = false excludes nothing)";

/// A coverage, and which of its tracked paths do not exist yet.
pub(super) struct Built {
    pub(super) coverage: Coverage,
    pub(super) matcher: Matcher,
    pub(super) absent: Vec<RelPath>,
    pub(super) kept: Vec<KeptExclude>,
    pub(super) warnings: Vec<StackWarning>,
}

/// Builds the coverage of the mount at `root`, which also covers the mounts `within` it.
pub(super) fn build(
    (root, within): (&Path, &[RelPath]),
    label: String,
    resolved: &Resolved,
    places: &Places,
    in_git: Option<TrackedByGit>,
) -> Result<Built, ContractError> {
    let tracked = outermost(resolved.paths.iter().map(|path| path.value.clone()).collect());
    let mut absent = Vec::new();
    for path in &tracked {
        if !exists(places.transports(), root, path)? {
            absent.push(path.clone());
        }
    }
    let folds = folds(places.transports(), root);
    // The automatic ones first, so that the operator's `!pattern` can take one back.
    let mut excludes = Vec::new();
    let mut detected = integration::Detected::default();
    if resolved.integrations.value {
        detected = integration::detect(places.transports(), root, &resolved.defined);
        match in_git.map(|tracked| tracked(places.transports(), root)) {
            Some(Some(tracked)) => integration::keep_tracked(&mut detected, tracked, folds)?,
            Some(None) if !detected.excludes.is_empty() => detected.warnings.push(StackWarning {
                name: "git".to_owned(),
                text: UNTOLD.to_owned(),
                defined: None,
            }),
            _ => {}
        }
        for rule in &detected.excludes {
            if !hides((places.transports(), root), rule, &tracked, folds)? {
                excludes.push(rule.clone());
            }
        }
    }
    let asked = |pattern: &str, source: &ValueSource| ExcludeRule {
        pattern: pattern.to_owned(),
        source: match source {
            ValueSource::File { path, .. } => ExcludeSource::Config(path.clone()),
            // There are no built-in excludes besides the integrations.
            ValueSource::Flag { .. } | ValueSource::Default => ExcludeSource::Flag,
        },
        private: None,
    };
    let git = &resolved.git_dir;
    excludes.extend(
        of_git(git.value)
            .iter()
            .map(|pattern| asked(pattern, &git.source)),
    );
    let own = resolved.exclude.iter();
    excludes.extend(own.map(|exclude| asked(&exclude.value, &exclude.source)));
    let keep_secrets = resolved.sensitive.value == Sensitive::Capture;
    let mut coverage = Coverage {
        label,
        root: ByteString::from(root),
        excludes,
        tracked,
        withheld: places.withheld(root, keep_secrets),
        by_commit: resolved.git_clean.value == GitClean::Commit,
        state: false,
        recipients: Vec::new(),
        guarded: places.guarded(root, keep_secrets),
        machine: places.transports().machine_of(root),
        storage: places
            .transports()
            .storage_of(root)
            .map(|place| ByteString::from(place.as_path())),
        folds,
        native: None,
    };
    let matcher = Matcher::new(&coverage)?;
    for path in &coverage.tracked {
        if let Verdict::Excluded(rule) =
            matcher.verdict_with_parents(path, is_dir(places.transports(), root, path))
        {
            return Err(ContractError::PathExcluded {
                root: root.to_path_buf(),
                path: path.as_path().to_path_buf(),
                pattern: rule.pattern.clone(),
            });
        }
    }
    let of_inner = tracked_within(resolved, within).into_iter();
    let of_inner: Vec<RelPath> = of_inner
        .filter(|path| {
            let is_excluded = || {
                let is_dir = is_dir(places.transports(), root, path);
                matches!(matcher.verdict_with_parents(path, is_dir), Verdict::Excluded(_))
            };
            matches!(exists(places.transports(), root, path), Ok(true)) && !is_excluded()
        })
        .collect();
    let matcher = match of_inner.is_empty() {
        true => matcher,
        false => {
            coverage.tracked = outermost(coverage.tracked.into_iter().chain(of_inner).collect());
            Matcher::new(&coverage)?
        }
    };
    Ok(Built {
        coverage,
        matcher,
        absent,
        kept: detected.kept,
        warnings: detected.warnings,
    })
}

/// Returns the excludes for git's own files.
fn of_git(dir: GitCoverage) -> &'static [&'static str] {
    match dir {
        GitCoverage::Full => &[],
        GitCoverage::State => &["**/.git/objects/", "**/.git/modules/**/objects/", "**/.git/lfs/"],
        GitCoverage::Off => &[".git"],
    }
}

/// Makes a label from the root's name that `used` does not contain yet, and adds it there.
pub(super) fn label(root: &Path, used: &mut Vec<String>) -> String {
    let name = root.file_name().map_or(&b"root"[..], |name| name.as_bytes());
    let mut stem = String::new();
    for byte in name.iter().take(LABEL_BYTES - 1) {
        let fits = byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
        let letter = if fits { char::from(*byte) } else { '_' };
        if stem.is_empty() && matches!(letter, '.' | '-') {
            stem.push('_');
        }
        stem.push(letter);
    }
    let mut label = stem.clone();
    let mut number = 2_u32;
    while used.contains(&label) {
        label = format!("{}-{number}", stem.chars().take(LABEL_STEM).collect::<String>());
        number += 1;
    }
    used.push(label.clone());
    label
}

/// Returns the automatic excludes that no earlier coverage of the same root had, and true if there was such a coverage.
pub(super) fn compare(coverage: &Coverage, previous: &[Coverage]) -> (Vec<ExcludeRule>, bool) {
    let same: Vec<&Coverage> = previous
        .iter()
        .filter(|earlier| earlier.root == coverage.root)
        .collect();
    if same.is_empty() {
        return (Vec::new(), false);
    }
    let automatic = |rule: &&ExcludeRule| matches!(rule.source, ExcludeSource::Integration { .. });
    let known = |rule: &&ExcludeRule| same.iter().any(|earlier| earlier.excludes.contains(rule));
    (
        coverage
            .excludes
            .iter()
            .filter(automatic)
            .filter(|rule| !known(rule))
            .cloned()
            .collect(),
        true,
    )
}

/// Returns the tracked paths of the mounts within a mount: each has the same ones.
fn tracked_within(resolved: &Resolved, within: &[RelPath]) -> Vec<RelPath> {
    let place = |mount: &RelPath, path: &RelPath| {
        let mut parts = path.parts();
        parts.try_fold(mount.clone(), |above, part| {
            Some(above.join(&Name::new(part).ok()?))
        })
    };
    let of_mount = |mount: &RelPath| {
        let paths = resolved.paths.iter();
        paths
            .filter_map(|path| place(mount, &path.value))
            .collect::<Vec<_>>()
    };
    within.iter().flat_map(of_mount).collect()
}

/// Sorts the paths, and removes duplicates and paths below another one.
fn outermost(mut paths: Vec<RelPath>) -> Vec<RelPath> {
    paths.sort();
    let mut kept: Vec<RelPath> = Vec::new();
    for path in paths {
        // A subtree is contiguous in this order, so only the last one can hold the next.
        if !kept.last().is_some_and(|last| path.is_within(last)) {
            kept.push(path);
        }
    }
    kept
}

/// Returns true if a tracked path exists, and an error if it leads through a link.
fn exists(transports: &Transports, root: &Path, path: &RelPath) -> Result<bool, ContractError> {
    for parent in path.ancestors().filter(|parent| !parent.is_root()) {
        let link = parent.on_host(root);
        if kind_of(transports, &link) == Some(NodeKind::Symlink) {
            return Err(ContractError::PathThroughLink {
                path: path.on_host(root),
                link,
            });
        }
    }
    Ok(kind_of(transports, &path.on_host(root)).is_some())
}

/// Returns true if names that differ in case only are one at the root. One that cannot be asked tells names apart.
pub(super) fn folds(transports: &Transports, root: &Path) -> bool {
    let opened = transports.open_root(root);
    opened.and_then(handle_fs::folds_names).unwrap_or(false)
}

/// Returns true for a directory and for a missing path, because `paths` is meant for directories.
fn is_dir(transports: &Transports, root: &Path, path: &RelPath) -> bool {
    kind_of(transports, &path.on_host(root)).is_none_or(|kind| kind == NodeKind::Directory)
}

/// Returns true if an automatic exclude would hide a path that the operator asked to track. Such an exclude is dropped.
fn hides(
    (transports, root): (&Transports, &Path),
    rule: &ExcludeRule,
    tracked: &[RelPath],
    folds: bool,
) -> Result<bool, PatternError> {
    let matcher = Matcher::new(&Coverage {
        folds,
        ..Coverage::of_rules(std::slice::from_ref(rule))
    })?;
    let excluded = |path: &RelPath| {
        matches!(
            matcher.verdict_with_parents(path, is_dir(transports, root, path)),
            Verdict::Excluded(_)
        )
    };
    Ok(tracked.iter().any(excluded))
}
