//! Automatic excludes by detected stack: one table, and what the operator defines beside it. A stack is detected by the plain existence
//! of one regular file in the mount's root; what that file says is never read, because an agent can write it.

use std::collections::BTreeSet;
use std::path::Path;

use super::model::{KeptExclude, StackWarning};
use super::mount_probe::kind_of;
use super::{Matcher, PatternError, Verdict};
use crate::config::{BUILT_IN_INTEGRATIONS, Integration};
use crate::model::{ByteString, Coverage, ExcludeRule, ExcludeSource, RelPath};
use handle_fs::NodeKind;
use handle_fs::remote::{Transports, above};

/// Function that returns the paths that git tracks below a directory, if it is a repository's work tree; `None` if unknown.
pub type TrackedByGit = fn(&Transports, &Path) -> Option<Vec<RelPath>>;

/// Automatic excludes of a mount, and the warnings about them.
#[derive(Debug, Default)]
pub struct Detected {
    /// Excludes that apply.
    pub excludes: Vec<ExcludeRule>,
    /// Excludes that do not apply, because git tracks files in the excluded directories.
    pub kept: Vec<KeptExclude>,
    /// Warnings for the operator.
    pub warnings: Vec<StackWarning>,
}

/// Returns the automatic excludes of the mount at `root`, from the built-in integrations and from `defined`.
#[must_use]
pub fn detect(transports: &Transports, root: &Path, defined: &[Integration]) -> Detected {
    let mut found = Detected::default();
    let built_in = BUILT_IN_INTEGRATIONS.iter().map(|stack| stack.integration());
    for stack in built_in.chain(defined.iter().cloned()) {
        // Not followed: a link named `Cargo.toml` is no project.
        let is_there = |marker: &&String| kind_of(transports, &root.join(marker)) == Some(NodeKind::File);
        let Some(marker) = stack.markers.iter().find(is_there) else {
            continue;
        };
        let file = stack.defined.as_deref().map(ByteString::from);
        found.warnings.extend(stack.warning.map(|text| StackWarning {
            name: stack.name.clone(),
            text,
            defined: file.clone(),
        }));
        for pattern in stack.exclude {
            if pattern
                .strip_prefix('/')
                .is_some_and(|anchored| is_something_else(transports, &root.join(anchored)))
            {
                continue;
            }
            found.excludes.push(ExcludeRule {
                pattern,
                source: ExcludeSource::Integration {
                    name: stack.name.clone(),
                    because: marker.clone(),
                    defined: file.clone(),
                },
                private: None,
            });
        }
    }
    found
}

/// Removes the excludes of directories in which git tracks files, because a tool does not recreate such files.
pub(super) fn keep_tracked(
    found: &mut Detected,
    tracked: impl IntoIterator<Item = RelPath>,
    folds: bool,
) -> Result<(), PatternError> {
    if found.excludes.is_empty() {
        return Ok(());
    }
    // Each directory is asked for once, whatever lies in it.
    let dirs: BTreeSet<RelPath> = tracked
        .into_iter()
        .filter_map(|path| path.split().map(|(dir, _)| dir))
        .collect();
    let mut excludes = std::mem::take(&mut found.excludes);
    let compiled = |excludes: &[ExcludeRule]| {
        Matcher::new(&Coverage {
            folds,
            ..Coverage::of_rules(excludes)
        })
    };
    let mut matcher = compiled(&excludes)?;
    for dir in &dirs {
        while let Verdict::Excluded(rule) = matcher.verdict_with_parents(dir, true) {
            let rule = rule.clone();
            excludes.retain(|other| *other != rule);
            matcher = compiled(&excludes)?;
            let path = dir.clone();
            found.kept.push(KeptExclude { rule, path });
        }
    }
    found.excludes = excludes;
    Ok(())
}

/// Returns true if `path` exists and is not a directory, so that the tool cannot have made it.
fn is_something_else(transports: &Transports, path: &Path) -> bool {
    // Without a trailing slash, which would follow a link; and not by its parts, which would change an address.
    let path = match (above(path), path.file_name()) {
        (Some(above), Some(name)) => above.join(name),
        _ => path.to_path_buf(),
    };
    kind_of(transports, &path).is_some_and(|kind| kind != NodeKind::Directory)
}
