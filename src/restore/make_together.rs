//! Makes small files of one directory together, with content and metadata, on another machine, where each call is waited for. Content is
//! hashed before it is sent, and what was made is compared with what was asked for; any other file is made by itself.

use std::ffi::OsStr;
use std::io;

use super::tree_writer::{Builder, Origin, Planned, Worker};
use crate::model::{Entry, EntryKind, Hasher};
use crate::store::archive::Piece;
use handle_fs::{Dir, NewFile, NodeKind, Stat, make_files};

/// Mode bits that make a program run as its owner or group.
const SET_ID: u32 = 0o6000;
/// Size of the largest file that is made together with others (bytes).
const SMALL: u64 = 64 << 10;
/// Number of files that are made together.
const FILES: usize = 64;
/// Bytes of content that are sent together.
const BYTES: usize = 512 << 10;

impl Worker<'_, '_> {
    /// Makes some of the files that have these numbers, as long as they lie in one directory. Returns those that were made, exactly as
    /// recorded.
    pub(super) fn make_together(
        &mut self,
        numbers: impl Iterator<Item = usize>,
        builder: &Builder<'_>,
    ) -> Vec<usize> {
        let (mut some, mut files, mut sum) = (Vec::new(), Vec::new(), 0);
        let actor = self.site.actor();
        for number in numbers {
            let Some(object) = self.site.planned(number) else {
                continue;
            };
            if self.single.contains(&number) || files.len() == FILES || sum >= BYTES {
                break;
            }
            if some
                .first()
                .is_some_and(|(_, first): &(usize, &Planned<'_>)| first.folder != object.folder)
            {
                break;
            }
            let (uid, gid) = (object.entry.uid, object.entry.gid);
            let may_own = actor.is_privileged() || (uid, gid) == (actor.uid, actor.gid);
            let Some(file) = self.file(object, builder).filter(|_| may_own) else {
                self.single.insert(number);
                break;
            };
            sum += file.data.len();
            files.push(file);
            some.push((number, object));
        }
        let Some((_, first)) = some.first().filter(|_| files.len() > 1) else {
            return Vec::new();
        };
        let Ok(dir) = self.dir(first.folder) else {
            return Vec::new();
        };
        let wanted: Vec<(u64, handle_fs::Time)> = files
            .iter()
            .map(|file| (file.data.len() as u64, file.mtime))
            .collect();
        let made = make_files(dir, files);
        let mut done = Vec::new();
        for (at, (number, object)) in some.iter().enumerate() {
            let stat = made.as_ref().ok().and_then(|made| made.get(at)?.as_ref().ok());
            let is_right = stat.zip(wanted.get(at)).is_some_and(|(stat, (size, mtime))| {
                is_as_wanted(stat, object.entry, *size, handle_fs::settable(dir, *mtime))
            });
            let told = || {
                object
                    .entry
                    .content()
                    .is_none_or(|content| builder.told(content).is_ok())
            };
            if is_right && told() {
                done.push(*number);
            } else {
                // It is made again by itself, which tells what cannot be done.
                remove_if_there(dir, &object.name);
            }
        }
        self.single.extend(
            some.iter()
                .map(|(number, _)| *number)
                .filter(|number| !done.contains(number)),
        );
        done
    }

    /// Returns a file that can be made exactly together with others, with its content.
    fn file<'o>(&mut self, object: &'o Planned<'_>, builder: &Builder<'_>) -> Option<NewFile<'o>> {
        let entry = object.entry;
        let EntryKind::File(content) = &entry.kind else {
            return None;
        };
        // busybox' tar omits set-id bits where it does not run as root.
        let is_plain = entry.xattrs.is_empty() && entry.mode & SET_ID == 0 && content.size <= SMALL;
        if object.origin != Origin::Store || !is_plain {
            return None;
        }
        let mut data = Vec::new();
        if content.size > 0 {
            let read = builder
                .blobs
                .stream_by(&mut self.reader, &content.digest, &mut |piece| match piece {
                    Piece::Data(bytes) => {
                        data.extend_from_slice(bytes);
                        Ok(())
                    }
                    // A hole is none in an archive.
                    Piece::Hole(_) => Err(io::ErrorKind::Unsupported.into()),
                });
            let mut hasher = Hasher::new(content.method, content.size);
            hasher.update(&data);
            if read.is_err() || data.len() as u64 != content.size || hasher.finish() != *content {
                return None;
            }
        }
        Some(NewFile {
            name: &object.name,
            data,
            mode: entry.mode,
            owner: (entry.uid, entry.gid),
            mtime: builder.times.of(entry)?,
        })
    }
}

fn is_as_wanted(stat: &Stat, entry: &Entry, size: u64, mtime: handle_fs::Time) -> bool {
    stat.kind == NodeKind::File
        && (stat.size, stat.mtime) == (size, mtime)
        && (stat.mode, stat.uid, stat.gid) == (entry.mode, entry.uid, entry.gid)
}

/// Removes what may have been made under a name of the staging directory.
fn remove_if_there(dir: &Dir, name: &OsStr) {
    let _ = handle_fs::remove_file(dir, name);
}
