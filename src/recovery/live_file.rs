//! A file as it is now, compared with the last version that a snapshot shows.

use std::io;

use super::path_history::{Loaded, WholeReason, text};
use crate::diff::{MAX_TEXT, is_secret_path};
use crate::model::{Content, Coverage, Entry, EntryKind, Hasher, RelPath};
use handle_fs::remote::Transports;
use handle_fs::{File, NodeKind, Root};

/// The file as it is now.
pub(super) enum Live {
    /// It cannot be read, or is not compared.
    Unknown,
    Absent,
    Directory,
    /// It has the content that the last snapshot shows.
    Same {
        is_secret: bool,
    },
    Other {
        loaded: Loaded,
        is_secret: bool,
    },
}

/// Reads the live file, and compares it with the last version.
pub(super) fn read_live(
    transports: &Transports,
    coverage: &Coverage,
    path: &RelPath,
    last: Option<&Entry>,
) -> io::Result<Live> {
    let place = coverage.root.to_path();
    let root = Root::open(transports, &place).map_err(|error| match error {
        handle_fs::MountError::Missing { .. } => io::ErrorKind::NotFound.into(),
        other => io::Error::other(other),
    })?;
    let Some((parent, name)) = path.split() else {
        return Ok(Live::Directory);
    };
    let dir = root.dir(&parent)?;
    let Some(stat) = dir.look(name.as_os_str())? else {
        return Ok(Live::Absent);
    };
    let is_private = stat.kind == NodeKind::File && stat.mode & 0o077 == 0;
    let is_secret = is_private || is_secret_path(&place, path, None);
    let other = |loaded| Ok(Live::Other { loaded, is_secret });
    let same = || Ok(Live::Same { is_secret });
    match (stat.kind, last.map(|entry| &entry.kind)) {
        (NodeKind::Directory, _) => Ok(Live::Directory),
        (NodeKind::Symlink, Some(EntryKind::Symlink(target)))
            if **target == *dir.link_target(name.as_os_str())? =>
        {
            same()
        }
        (NodeKind::Fifo, Some(EntryKind::Fifo))
        | (NodeKind::Socket, Some(EntryKind::Socket))
        | (NodeKind::CharDevice, Some(EntryKind::CharDevice(..)))
        | (NodeKind::BlockDevice, Some(EntryKind::BlockDevice(..))) => same(),
        (NodeKind::File, kind) => {
            let (file, stat) = dir.file(name.as_os_str())?;
            let known = match kind {
                Some(EntryKind::File(content)) if content.size == stat.size => Some(*content),
                _ => None,
            };
            if stat.size > MAX_TEXT && known.is_none() {
                return other(Err(WholeReason::Large));
            }
            let mut hasher = known.map(|content: Content| Hasher::new(content.method, content.size));
            let mut bytes = Vec::new();
            let mut room = vec![0; 1 << 20];
            // Of a large file only the digest counts, and holes are not read for it.
            let holes = match stat.size > MAX_TEXT {
                true => holes(&file, stat.size)?,
                false => Vec::new(),
            };
            let mut holes = holes.into_iter().peekable();
            let mut at = 0;
            loop {
                if let Some((start, length)) = holes.next_if(|(start, _)| *start <= at) {
                    let rest = (start + length).saturating_sub(at);
                    if let Some(hasher) = &mut hasher {
                        hasher.skip_zeros(rest);
                    }
                    at += rest;
                    continue;
                }
                let most = holes.peek().map_or(u64::MAX, |(start, _)| start - at);
                let most = usize::try_from(most).unwrap_or(usize::MAX).min(room.len());
                let count = file.read_at(room.get_mut(..most).unwrap_or_default(), at)?;
                let Some(read) = room.get(..count).filter(|read| !read.is_empty()) else {
                    break;
                };
                at += count as u64;
                if let Some(hasher) = &mut hasher {
                    hasher.update(read);
                }
                if at <= MAX_TEXT {
                    bytes.extend_from_slice(read);
                }
            }
            if let (Some(hasher), Some(known)) = (hasher, known)
                && at == known.size
                && hasher.finish() == known
            {
                return same();
            }
            match at > MAX_TEXT {
                true => other(Err(WholeReason::Large)),
                false => other(text(bytes)),
            }
        }
        _ => other(Err(WholeReason::Special)),
    }
}

/// Returns the holes in the first `size` bytes of a file, as (offset, length).
fn holes(file: &File, size: u64) -> io::Result<Vec<(u64, u64)>> {
    let (mut holes, mut at) = (Vec::new(), 0);
    for (start, length) in handle_fs::data_segments(file, size)? {
        if start > at {
            holes.push((at, start - at));
        }
        at = start + length;
    }
    if size > at {
        holes.push((at, size - at));
    }
    Ok(holes)
}
