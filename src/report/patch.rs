//! Contents of changes: read only when they are shown, from the store or from the live files.

use crate::contract::PrivateFiles;
use crate::diff::{self, Content};
use crate::model::{Coverage, Entry, RelPath};
use crate::recovery::Differences;
use crate::store::Blobs;
use handle_fs::Root;
use handle_fs::remote::Transports;

pub(crate) use crate::diff::{
    Body, Change, ChangeKind, ChangedLine, Contents, Line, MAX_TEXT, Patch, PatchOptions,
    count as count_changes, masked, patch_of, word_marks,
};

/// Sources of the contents on both sides.
pub(crate) struct Sources<'a> {
    /// Of the earlier snapshot.
    pub(crate) from: &'a Blobs,
    /// Of the later snapshot; `None`: the files as they are.
    pub(crate) to: Option<&'a Blobs>,
    /// Private files were opened, and are not to be shown.
    pub(crate) hides_private: bool,
}

impl<'a> Sources<'a> {
    /// Returns the contents of both sides of a comparison.
    pub(crate) fn of(found: &'a Differences, hides_private: bool) -> Self {
        Self {
            from: found.blobs(),
            to: found.later_blobs(),
            hides_private,
        }
    }
}

/// Returns the patch of a change.
pub(crate) fn made(
    coverage: &Coverage,
    change: &Change,
    sources: &Sources<'_>,
    options: PatchOptions,
) -> Patch {
    let options = hiding(coverage, change, sources, options);
    diff::patch(&coverage.root.to_path(), change, options, |later| {
        load(coverage, change, sources, later, MAX_TEXT)
    })
}

/// Both contents of a change, up to `most` bytes each.
pub(crate) fn contents(
    coverage: &Coverage,
    change: &Change,
    sources: &Sources<'_>,
    options: PatchOptions,
    most: u64,
) -> Contents {
    let options = hiding(coverage, change, sources, options);
    diff::contents(&coverage.root.to_path(), change, options, |later| {
        load(coverage, change, sources, later, most)
    })
}

fn hiding(
    coverage: &Coverage,
    change: &Change,
    sources: &Sources<'_>,
    options: PatchOptions,
) -> PatchOptions {
    let is_private = PrivateFiles::of(coverage).holds(&change.path);
    PatchOptions {
        hides: options.hides || (sources.hides_private && is_private),
        ..options
    }
}

/// The content of one side.
fn load(coverage: &Coverage, change: &Change, sources: &Sources<'_>, later: bool, most: u64) -> Content {
    let lent = |entry: &Option<Entry>| {
        entry
            .as_ref()
            .and_then(|entry| sources.from.lent(entry.content()?))
    };
    match (later, sources.to) {
        (true, None) if lent(&change.to).is_some() => stored(sources.from, change.to.as_ref(), most),
        (false, _) => stored(sources.from, change.from.as_ref(), most),
        (true, Some(blobs)) => stored(blobs, change.to.as_ref(), most),
        (true, None) => live(sources.from.transports(), coverage, &change.path, most),
    }
}

fn stored(blobs: &Blobs, entry: Option<&Entry>, most: u64) -> Content {
    let Some(content) = entry.and_then(Entry::content) else {
        return Content::Absent;
    };
    if content.size > most {
        return Content::Large(content.size);
    }
    if content.size == 0 {
        return Content::Bytes(Vec::new());
    }
    let mut bytes = Vec::new();
    let read = blobs.stream(&content.digest, &mut |piece| {
        piece.append_to(&mut bytes);
        Ok(())
    });
    match read {
        Ok(()) => Content::Bytes(bytes),
        Err(error) => Content::Unavailable(error.to_string()),
    }
}

fn live(transports: &Transports, coverage: &Coverage, path: &RelPath, most: u64) -> Content {
    let read = || -> std::io::Result<Content> {
        let root = Root::open(transports, &coverage.root.to_path()).map_err(std::io::Error::other)?;
        let Some((parent, name)) = path.split() else {
            return Ok(Content::Absent);
        };
        let (file, stat) = root.dir(&parent)?.file(name.as_os_str())?;
        if stat.size > most {
            return Ok(Content::Large(stat.size));
        }
        let size = usize::try_from(stat.size).map_err(std::io::Error::other)?;
        Ok(Content::Bytes(file.read_up_to(size)?))
    };
    read().unwrap_or_else(|error| Content::Unavailable(error.to_string()))
}
