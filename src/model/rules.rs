//! The rules that make a decoded manifest safe to use: everything sorted and unique, every directory named by its parent.

use super::{DecodeError, Directory, Entry, Manifest};

/// Names sorted and unique, none of them both held and missing.
pub(super) fn check_names(dir: &Directory) -> Result<(), DecodeError> {
    if !dir.entries.is_sorted_by(|a, b| a.name < b.name) || !dir.gaps.is_sorted_by(|a, b| a.name < b.name) {
        return Err(DecodeError::Structure(
            "a directory's names are out of order or twice there",
        ));
    }
    if dir.gaps.iter().any(|gap| dir.entry(&gap.name).is_some()) {
        return Err(DecodeError::Structure("a name is both held and missing"));
    }
    Ok(())
}

/// The rules that make a manifest safe to use, besides those of each directory's names: directories sorted and unique,
/// each named by its parent, hard links that lead somewhere.
pub(super) fn check(manifest: &Manifest) -> Result<(), DecodeError> {
    let Some((top, below)) = manifest
        .directories
        .split_first()
        .filter(|(top, _)| top.path.is_root())
    else {
        return Err(DecodeError::Structure("the mount root's entries are missing"));
    };
    // A subtree is contiguous, so whatever is above the next directory was seen, and nothing in between can be.
    let mut above = vec![top];
    let mut last = &top.path;
    for dir in below {
        if dir.path <= *last {
            return Err(DecodeError::Structure("directories are out of order"));
        }
        last = &dir.path;
        let (parent, name) = dir.path.halves();
        while above.pop_if(|top| top.path.as_bytes() != parent).is_some() {}
        let entry = above.last().and_then(|top| {
            let at = top
                .entries
                .binary_search_by(|entry| entry.name.as_bytes().cmp(name));
            top.entries.get(at.ok()?)
        });
        if !entry.is_some_and(Entry::is_dir) {
            return Err(DecodeError::Structure(
                "a directory that its parent does not name",
            ));
        }
        above.push(dir);
    }
    for entry in manifest.directories.iter().flat_map(|dir| &dir.entries) {
        let Some(first) = &entry.link else { continue };
        let held = manifest
            .entry(first)
            .is_some_and(|target| target.link.is_none() && target.kind == entry.kind);
        if !held || entry.is_dir() {
            return Err(DecodeError::Structure("a hard link without its first path"));
        }
    }
    Ok(())
}
