//! Writes a snapshot into a directory of its own, with the recorded times. Touches nothing else.

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::path::Path;

use super::RestoreError;
use super::build::{Builder, Times};
use super::plan::Scope;
use crate::mount::Dir;
use crate::observer::{Observer, Phase};
use crate::platform;
use crate::snapshot::{Kind, Manifest, RelPath, add_sizes};
use crate::store::Blobs;

/// What was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Paths, in order.
    pub paths: Vec<RelPath>,
    /// What could not be made, or not exactly, with the reason.
    pub problems: Vec<(RelPath, String)>,
}

/// Writes what `scope` takes of `manifest` into `directory`, which must be absent or empty. A directory made here is
/// open to its owner only.
///
/// # Errors
/// [`RestoreError::NotEmpty`], or what keeps an object from being made; then a directory made here is removed again.
pub fn write_to(
    directory: &Path,
    manifest: &Manifest,
    scope: &Scope,
    blobs: &Blobs,
    observer: &dyn Observer,
) -> Result<Written, RestoreError> {
    let fail = |source| RestoreError::Stage {
        path: directory.to_path_buf(),
        source,
    };
    let name = directory
        .file_name()
        .ok_or_else(|| fail(io::ErrorKind::InvalidInput.into()))?;
    let parent = Dir::open(directory.parent().unwrap_or(directory)).map_err(fail)?;
    let made = match platform::make_dir(&parent, name) {
        Ok(()) => true,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
        Err(error) => return Err(fail(error)),
    };
    let top = parent.dir(name).map_err(fail)?;
    if !top.names().map_err(fail)?.is_empty() {
        return Err(RestoreError::NotEmpty(directory.to_path_buf()));
    }
    observer.begin(Phase::Stage);
    let contents = manifest.entries().filter(|(path, _)| scope.holds(path));
    let contents = contents.filter_map(|(_, entry)| entry.content());
    let (files, bytes) = contents.fold((0, 0), |(files, bytes), content| {
        (files + 1, add_sizes(bytes, content.size))
    });
    observer.expect(files, bytes);
    let mut builder = Builder {
        blobs,
        observer,
        times: Times::Recorded,
        problems: Vec::new(),
    };
    let result = fill(&top, manifest, scope, &mut builder);
    observer.end();
    match result {
        Ok(paths) => {
            platform::sync_file_system(&top).map_err(fail)?;
            Ok(Written {
                paths,
                problems: builder.problems,
            })
        }
        Err(error) => {
            for name in top.names().unwrap_or_default() {
                let _ = top.remove_all(name.as_os_str());
            }
            if made {
                let _ = platform::remove_dir(&parent, name);
            }
            Err(error)
        }
    }
}

fn fill(
    top: &Dir,
    manifest: &Manifest,
    scope: &Scope,
    builder: &mut Builder<'_>,
) -> Result<Vec<RelPath>, RestoreError> {
    // A directory on the way to a wanted path is wanted as well.
    let wanted: Vec<_> = manifest
        .entries()
        .filter(|(path, _)| scope.holds(path))
        .map(|(path, _)| path)
        .collect();
    let mut needed: BTreeSet<RelPath> = wanted.iter().flat_map(RelPath::ancestors).collect();
    needed.extend(wanted);
    needed.remove(&RelPath::root());
    let mut paths: Vec<RelPath> = Vec::new();
    let mut directories = Vec::new();
    // First path of each hard link group to the member that is written already.
    let mut groups: HashMap<RelPath, RelPath> = HashMap::new();
    for path in needed {
        let (Some(entry), Some((parent, name))) = (manifest.entry(&path), path.split()) else {
            continue;
        };
        if entry.kind == Kind::Socket {
            // Named by the manifest, made by nobody but the program that listens on it.
            continue;
        }
        let fail = |source| RestoreError::Build {
            path: path.clone(),
            source,
        };
        let dir = top.dir_below(&parent).map_err(fail)?;
        let leader = entry.link.as_ref().unwrap_or(&path);
        let linked = match groups.get(leader).and_then(RelPath::split) {
            Some((first_dir, first_name)) => {
                let from = top.dir_below(&first_dir).map_err(fail)?;
                platform::hard_link(&from, first_name.as_os_str(), &dir, name.as_os_str()).map_err(fail)?;
                true
            }
            None => false,
        };
        if linked || builder.build(&dir, name.as_os_str(), &path, entry)? {
            if entry.is_dir() {
                directories.push(path.clone());
            } else if entry.nlink > 1 {
                groups.entry(leader.clone()).or_insert_with(|| path.clone());
            }
            paths.push(path.clone());
        }
    }
    for path in directories.iter().rev() {
        let (Some(entry), Some((parent, name))) = (manifest.entry(path), path.split()) else {
            continue;
        };
        let dir = top.dir_below(&parent).map_err(|source| RestoreError::Build {
            path: path.clone(),
            source,
        })?;
        builder.finish(&dir, name.as_os_str(), path, entry)?;
    }
    Ok(paths)
}
