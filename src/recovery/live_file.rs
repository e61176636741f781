//! A file as it is now, compared with the last version that a snapshot shows.

use std::io;

use super::path_history::{Loaded, WholeReason, text};
use crate::capture::ContentSource;
use crate::diff::{MAX_TEXT, is_secret_path};
use crate::model::{Content, Coverage, Entry, EntryKind, Hasher, RelPath};
use handle_fs::remote::Transports;
use handle_fs::{File, NodeKind, Root, Stat};

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
            if stat.size > MAX_TEXT {
                return match known {
                    Some(known) if has_content(file, &stat, known)? => same(),
                    _ => other(Err(WholeReason::Large)),
                };
            }
            let Some(bytes) = read_text(&file)? else {
                return other(Err(WholeReason::Large));
            };
            let is_same = known.is_some_and(|known| {
                let mut hasher = Hasher::new(known.method, known.size);
                hasher.update(&bytes);
                bytes.len() as u64 == known.size && hasher.finish() == known
            });
            match is_same {
                true => same(),
                false => other(text(bytes)),
            }
        }
        _ => other(Err(WholeReason::Special)),
    }
}

/// Returns true if a file has this content, and no more of it. Holes are not read.
fn has_content(file: File, stat: &Stat, known: Content) -> io::Result<bool> {
    let mut source = ContentSource::new(file, stat, Some(known.method))?;
    let found = source.digest(|_| Ok(()))?;
    Ok(found == known && !source.was_short() && source.file().stat()?.size == known.size)
}

/// Reads a file; `None` if it is larger than a text may be.
fn read_text(file: &File) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    let mut room = vec![0; 1 << 20];
    loop {
        let count = file.read_at(&mut room, bytes.len() as u64)?;
        match room.get(..count) {
            Some(read) if !read.is_empty() => bytes.extend_from_slice(read),
            _ => return Ok(Some(bytes)),
        }
        if bytes.len() as u64 > MAX_TEXT {
            return Ok(None);
        }
    }
}
