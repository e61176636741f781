//! Finds what came into a directory after it was listed, and may have lain in another one that was listed later: an object that a program
//! moves during a capture is in neither list then.

use std::sync::Arc;

use super::CaptureError;
use super::excludes::matcher;
use super::facts::{insert_gap, same_moment};
use crate::contract::Verdict;
use crate::model::{Coverage, Entry, Gap, GapReason, Listing, Manifest, Name, RelPath};
use handle_fs::{NodeKind, Root, parallel};

/// Maximum number of names that are gaps of one directory. Above it, the directory proves nothing absent.
const MOST: usize = 1000;

/// Replaces the proof that such an object is absent by a gap: nothing is deleted because of that list. Every directory that was listed shows
/// its times once more, after the last one was listed and the last file was read. Those of a directory that the object was moved into differ.
///
/// An object that is moved twice, the second time while the directories are looked at, may be missed.
///
/// # Errors
/// When the excludes of the coverage cannot be compiled.
pub(super) fn note_arrivals(
    root: &Root,
    coverage: &Coverage,
    manifest: &mut Manifest,
) -> Result<(), CaptureError> {
    let changed = changed_directories(root, manifest);
    if changed.is_empty() {
        return Ok(());
    }
    let found = parallel::map(&changed, |at| arrivals(root, manifest, *at));
    let found: Vec<_> = changed.into_iter().zip(found).collect();
    if found.iter().all(|(_, names)| names.is_empty()) {
        return Ok(());
    }
    let matcher = matcher(coverage)?;
    for (at, names) in found {
        let Some(directory) = manifest.directories.get_mut(at).map(Arc::make_mut) else {
            continue;
        };
        if names.len() > MOST {
            directory.listing = Listing::Unsettled;
            continue;
        }
        for (name, is_dir) in names {
            if matcher.verdict(&directory.path.join(&name), is_dir) == Verdict::Covered {
                let reason = GapReason::Moving;
                insert_gap(directory, Gap { name, reason });
            }
        }
    }
    Ok(())
}

/// Returns the directories whose times are not those that were listed, by index. Each is looked at in its parent, which takes one handle for
/// all of them.
fn changed_directories(root: &Root, manifest: &Manifest) -> Vec<usize> {
    let directories = &manifest.directories;
    let is_parent = |at: &usize| {
        let directory = directories.get(*at);
        directory.is_some_and(|directory| directory.entries.iter().any(Entry::is_dir))
    };
    let parents: Vec<usize> = (0..directories.len()).filter(is_parent).collect();
    let below = parallel::map(&parents, |at| {
        let directory = directories.get(*at)?;
        let inner: Vec<&Entry> = directory.entries.iter().filter(|entry| entry.is_dir()).collect();
        // What has gone shows in what it has gone from.
        let dir = root.dir(&directory.path).ok()?;
        let stats = dir
            .look_at(inner.iter().map(|entry| entry.name.as_os_str()))
            .ok()?;
        let changed = inner.into_iter().zip(stats).filter(|(entry, stat)| {
            stat.as_ref()
                .is_ok_and(|stat| stat.kind == NodeKind::Directory && !same_moment(entry, stat))
        });
        let paths = changed.map(|(entry, _)| directory.path.join(&entry.name));
        Some(paths.collect::<Vec<_>>())
    });
    let top = root.dir(&RelPath::root()).and_then(|dir| dir.stat());
    let top_changed = top.is_ok_and(|stat| !same_moment(&manifest.root, &stat));
    let top = Some(RelPath::root()).filter(|_| top_changed);
    let changed = top.into_iter().chain(below.into_iter().flatten().flatten());
    let place = |path: RelPath| directories.binary_search_by(|dir| dir.path.cmp(&path)).ok();
    changed.filter_map(place).collect()
}

/// Returns the names that the list of a directory lacks, and whether each is a directory.
fn arrivals(root: &Root, manifest: &Manifest, at: usize) -> Vec<(Name, bool)> {
    let Some(directory) = manifest.directories.get(at) else {
        return Vec::new();
    };
    let Ok(dir) = root.dir(&directory.path) else {
        return Vec::new();
    };
    let names = dir.names().unwrap_or_default();
    let new = names
        .into_iter()
        .filter(|name| directory.entry(name).is_none() && directory.gap(name).is_none());
    let kind = |name: &Name| {
        let stat = dir.look(name.as_os_str()).ok()??;
        Some(stat.kind == NodeKind::Directory)
    };
    // More than enough are not counted.
    new.take(MOST + 1)
        .filter_map(|name| Some((kind(&name)?, name)))
        .map(|(is_dir, name)| (name, is_dir))
        .collect()
}
