//! Looks at many paths at once on another machine, where each look is waited for: those that follow are answered from one view. Here
//! nothing is asked, and each look asks the kernel.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;

use crate::model::{Name, RelPath};
use handle_fs::{Dir, Root, Survey};

/// Number of paths that are looked at together. Few, so that what is done after a look follows soon.
pub(super) const TOGETHER: usize = 64;

/// Looks at the paths below `root`, and with `load` at the content of small files there.
pub(super) fn of_paths<'p>(
    root: &Root,
    paths: impl Iterator<Item = &'p RelPath>,
    load: bool,
) -> Option<Survey> {
    if !root.is_far() {
        return None;
    }
    let mut parts: BTreeMap<RelPath, Vec<Name>> = BTreeMap::new();
    for (parent, name) in paths.filter_map(RelPath::split) {
        parts.entry(parent).or_default().push(name);
    }
    let named = parts
        .iter()
        .map(|(parent, names)| (parent.as_path(), names.iter().map(Name::as_os_str).collect()));
    Some(root.survey(named, load))
}

/// Looks at names in one directory, and with `load` at the content of small files there.
pub(super) fn of_names(dir: &Dir, names: &[&OsStr], load: bool) -> Survey {
    dir.survey(std::iter::once((Path::new(""), names.to_vec())), load)
}
