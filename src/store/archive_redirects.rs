//! Redirects of archives that were repacked: `archives/<id>.moved` names the archive that replaced one that is gone. Records stay
//! as they were written, so the digests in their receipts stay true.

use std::collections::HashMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{Layout, StoreError, directory, durable};
use crate::model::{ArchiveId, ArchiveRef, Digest};

const FORMAT: u32 = 1;
/// An id, a size and two digests (bytes).
const LIMIT: u64 = 4096;
/// Most redirects that are followed; more than this are a cycle. A repack and a `forget` make older redirects point at the last archive; only
/// one that was killed leaves a step more.
const STEPS: usize = 4096;

#[derive(Serialize, Deserialize)]
struct Moved {
    format: u32,
    into: ArchiveRef,
}

/// Reads the archive that took the place of `id`, with the bytes of the file. `None`: none did.
///
/// The file is read once. A repack may replace it at any time, so a second read can name another archive.
fn read(layout: &Layout, id: &ArchiveId) -> Result<Option<(ArchiveRef, Vec<u8>)>, StoreError> {
    let path = layout.moved(id);
    let Some(bytes) = durable::read(&path, LIMIT)? else {
        return Ok(None);
    };
    let into = parse_moved(&bytes, &path)?;
    Ok(Some((into, bytes)))
}

/// Returns the archive that a redirect leads to; `None` if there is no redirect.
pub(super) fn next(layout: &Layout, id: &ArchiveId) -> Result<Option<ArchiveRef>, StoreError> {
    Ok(read(layout, id)?.map(|(into, _)| into))
}

/// The same from its bytes, wherever they come from; `path` is for messages.
///
/// # Errors
/// [`StoreError::Newer`], [`StoreError::Damaged`].
pub fn parse_moved(bytes: &[u8], path: &Path) -> Result<ArchiveRef, StoreError> {
    let path = path.to_path_buf();
    let damaged = |why: String| StoreError::Damaged {
        path: path.clone(),
        why,
    };
    let text = std::str::from_utf8(bytes).map_err(|why| damaged(why.to_string()))?;
    let (head, json) = text.split_once('\n').unwrap_or_default();
    if head != Digest::of(json.as_bytes()).hex() {
        return Err(damaged("its text is not what its first line says".to_owned()));
    }
    let moved: Moved = serde_json::from_str(json).map_err(|why| damaged(why.to_string()))?;
    if moved.format > FORMAT {
        return Err(StoreError::Newer {
            path,
            found: moved.format.into(),
            known: FORMAT.into(),
        });
    }
    Ok(moved.into)
}

/// Writes the redirect from `id` to `into`. It is on disk when this returns.
pub(super) fn write(
    layout: &Layout,
    draft: &Path,
    id: &ArchiveId,
    into: &ArchiveRef,
) -> Result<(), StoreError> {
    let path = layout.moved(id);
    let moved = Moved {
        format: FORMAT,
        into: into.clone(),
    };
    let json = serde_json::to_string(&moved)
        .map_err(|why| StoreError::io("write", &path)(std::io::Error::other(why)))?;
    let head = format!("{}\n", Digest::of(json.as_bytes()));
    let written = draft.join(format!("{id}.moved"));
    durable::remove(&written)?;
    durable::write(&written, &[head.as_bytes(), json.as_bytes()])?;
    // One that is there leads the way for records: it must not be missing at any moment.
    durable::replace(&written, &path)
}

/// Returns the archive that holds the content of `wanted` now: itself while it exists, or the one that replaced it.
pub(super) fn resolve(layout: &Layout, wanted: &ArchiveRef) -> Result<ArchiveRef, StoreError> {
    resolve_without(layout, wanted, |_| false)
}

/// The same, when the archives that are `gone` count as removed as soon as what replaced them is there: a `forget` that was killed
/// behind its receipt left them, and nothing may rely on them again.
pub(super) fn resolve_without(
    layout: &Layout,
    wanted: &ArchiveRef,
    mut is_gone: impl FnMut(&ArchiveId) -> bool,
) -> Result<ArchiveRef, StoreError> {
    let mut at = wanted.clone();
    // The last one that is there, although it is to go.
    let mut left = None;
    for _ in 0..STEPS {
        // The archive before its redirect: a repack that was killed leaves both, and captures may rely on the old one again.
        if durable::is_there(&layout.archive(&at.id))? {
            if !is_gone(&at.id) {
                return Ok(at);
            }
            left = Some(at.clone());
        }
        match read(layout, &at.id)? {
            Some((into, _)) => at = into,
            // It is missing: opening it fails with the name that the record has.
            None => break,
        }
    }
    Ok(left.unwrap_or_else(|| wanted.clone()))
}

/// The same for all archives of a record, each once.
pub(super) fn resolve_all(
    layout: &Layout,
    wanted: Vec<ArchiveRef>,
    mut is_gone: impl FnMut(&ArchiveId) -> bool,
) -> Vec<ArchiveRef> {
    let mut all: Vec<ArchiveRef> = Vec::with_capacity(wanted.len());
    for archive in wanted {
        // A name that cannot be read hurts what needs it, and nothing else.
        let found = resolve_without(layout, &archive, &mut is_gone).unwrap_or(archive);
        if !all.contains(&found) {
            all.push(found);
        }
    }
    all
}

/// Every archive whose place another one took, and that one.
pub(super) fn all(layout: &Layout) -> Result<HashMap<ArchiveId, Option<ArchiveRef>>, StoreError> {
    let all = with_bytes(layout)?.into_iter();
    Ok(all.map(|(id, found)| (id, found.map(|(into, _)| into))).collect())
}

/// An archive whose place another one took, with that one and the bytes of the file; `None`: the file cannot be read.
type WithBytes = (ArchiveId, Option<(ArchiveRef, Vec<u8>)>);

/// The same, with the bytes of each file.
pub(super) fn with_bytes(layout: &Layout) -> Result<Vec<WithBytes>, StoreError> {
    let mut found = Vec::new();
    for name in directory::names(&layout.archives())? {
        let id = name.to_str().and_then(|name| name.strip_suffix(".moved"));
        if let Some(id) = id.and_then(|id| ArchiveId::parse(id).ok()) {
            let into = read(layout, &id).ok().flatten();
            found.push((id, into));
        }
    }
    Ok(found)
}
