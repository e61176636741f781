//! Builds objects from a snapshot in a directory of ours: content hashed while it is written, never more readable than
//! it will be, metadata exact.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

use super::RestoreError;
use crate::mount::Dir;
use crate::observer::Observer;
use crate::platform;
use crate::snapshot::{Content, Entry, Hasher, Kind, RelPath, Time, Xattr};
use crate::store::Blobs;
use crate::store::archive::Piece;

/// Which modification times restored objects get.
pub(super) enum Times {
    /// Those of the snapshot.
    Recorded,
    /// Now, in the order of the snapshot: recorded time to new time.
    Ranked(HashMap<Time, Time>),
}

impl Times {
    /// New times for `recorded`: from `now` on, one microsecond apart, in their order. A build tool compares them with
    /// what survived, so none may be older than now.
    pub(super) fn rank(now: Time, recorded: impl Iterator<Item = Time>) -> Self {
        let mut sorted: Vec<Time> = recorded.collect();
        sorted.sort_unstable();
        sorted.dedup();
        let ranks = sorted.into_iter().zip(0_i128..);
        Self::Ranked(
            ranks
                .map(|(time, rank)| (time, now.plus_nanos(rank * 1000)))
                .collect(),
        )
    }

    fn of(&self, entry: &Entry) -> Option<Time> {
        match self {
            Self::Recorded => Some(entry.mtime),
            Self::Ranked(ranks) => ranks.get(&entry.mtime).copied(),
        }
    }
}

/// Builds objects; remembers what could not be made exact.
pub(super) struct Builder<'a> {
    pub(super) blobs: &'a Blobs,
    pub(super) observer: &'a dyn Observer,
    pub(super) times: Times,
    /// Paths with what is not as it was, in words.
    pub(super) problems: Vec<(RelPath, String)>,
}

impl Builder<'_> {
    /// Makes the object at `name` in `dir`. A directory is made empty and open to us; [`Builder::finish`] gives it its
    /// metadata when its children are there. `Ok(false)`: this kind of object cannot be made here, which is noted.
    pub(super) fn build(
        &mut self,
        dir: &Dir,
        name: &OsStr,
        path: &RelPath,
        entry: &Entry,
    ) -> Result<bool, RestoreError> {
        let fail = |source| RestoreError::Build {
            path: path.clone(),
            source,
        };
        let made = match &entry.kind {
            Kind::File(content) => {
                let file = platform::create_file(dir, name).map_err(fail)?;
                self.write(&file, path, content)?;
                Ok(())
            }
            Kind::Directory => {
                platform::make_dir(dir, name).map_err(fail)?;
                return Ok(true);
            }
            Kind::Symlink(target) => platform::make_symlink(dir, name, target),
            Kind::Fifo => platform::make_fifo(dir, name),
            Kind::Socket => Err(io::Error::other(
                "only the program that listens on a socket can make it",
            )),
            Kind::CharDevice(major, minor) => platform::make_device(dir, name, false, *major, *minor),
            Kind::BlockDevice(major, minor) => platform::make_device(dir, name, true, *major, *minor),
        };
        if let Err(error) = made {
            if is_out_of_space(&error) {
                return Err(fail(error));
            }
            self.problems.push((
                path.clone(),
                format!("cannot be made: {}", crate::capture::words(&error)),
            ));
            return Ok(false);
        }
        self.finish(dir, name, path, entry)?;
        Ok(true)
    }

    /// Gives an object its metadata, the modification time last.
    pub(super) fn finish(
        &mut self,
        dir: &Dir,
        name: &OsStr,
        path: &RelPath,
        entry: &Entry,
    ) -> Result<(), RestoreError> {
        let notes = set_metadata(dir, name, entry).map_err(|source| RestoreError::Build {
            path: path.clone(),
            source,
        })?;
        self.problems
            .extend(notes.into_iter().map(|note| (path.clone(), note)));
        if let Some(time) = self.times.of(entry) {
            platform::set_mtime(dir, name, time).map_err(|source| RestoreError::Build {
                path: path.clone(),
                source,
            })?;
        }
        Ok(())
    }

    fn write(&mut self, file: &File, path: &RelPath, content: &Content) -> Result<(), RestoreError> {
        if content.size == 0 {
            return Ok(());
        }
        let mut hasher = Hasher::new(content.method, content.size);
        let mut at = 0_u64;
        let mut failed = None;
        let result = self.blobs.stream(&content.digest, &mut |piece| {
            match piece {
                Piece::Data(bytes) => {
                    if let Err(error) = file.write_all_at(bytes, at) {
                        failed = Some(error);
                        return Err(io::ErrorKind::Other.into());
                    }
                    hasher.update(bytes);
                    at += bytes.len() as u64;
                }
                Piece::Hole(count) => {
                    hasher.skip_zeros(count);
                    at += count;
                }
            }
            Ok(())
        });
        if let Some(source) = failed {
            return Err(RestoreError::Build {
                path: path.clone(),
                source,
            });
        }
        result.map_err(|source| RestoreError::Content {
            path: path.clone(),
            source,
        })?;
        file.set_len(content.size).map_err(|source| RestoreError::Build {
            path: path.clone(),
            source,
        })?;
        if hasher.finish() != *content {
            return Err(RestoreError::Damaged {
                path: path.clone(),
                digest: content.digest,
            });
        }
        self.observer.advance(1, content.size);
        if self.observer.cancelled() {
            Err(RestoreError::Interrupted)
        } else {
            Ok(())
        }
    }
}

/// Puts owner, attributes and mode of an object to what `entry` says. What the system does not allow is returned in
/// words; the rest is done.
pub(super) fn set_metadata(dir: &Dir, name: &OsStr, entry: &Entry) -> io::Result<Vec<String>> {
    let mut notes = Vec::new();
    let Some(now) = dir.look(name)? else {
        return Err(io::ErrorKind::NotFound.into());
    };
    let mut mode = entry.mode;
    if (now.uid, now.gid) != (entry.uid, entry.gid) {
        let both = platform::chown(dir, name, entry.uid, entry.gid);
        if both.is_err() {
            // The group alone may be one of ours.
            let _ = platform::chown(dir, name, now.uid, entry.gid);
            let owner = format!("{}:{}", entry.uid, entry.gid);
            notes.push(format!("owner {owner} could not be set"));
            // A set-id bit under another owner would be a right that nobody gave.
            mode &= 0o1777;
        }
    }
    let present = dir.attributes(name)?;
    if present != entry.xattrs && !may_write(&now) {
        // A user's attributes can be set only where the content could be written; the mode follows below.
        platform::chmod_node(dir, name, now.mode | 0o200)?;
    }
    for extra in present
        .iter()
        .filter(|have| !entry.xattrs.iter().any(|want| want.name == have.name))
    {
        if let Err(error) = platform::remove_attribute(dir, name, &extra.name) {
            notes.push(attribute_note(extra, "could not be removed", &error));
        }
    }
    for want in entry.xattrs.iter().filter(|want| !present.contains(want)) {
        if let Err(error) = platform::set_attribute(dir, name, want) {
            if is_out_of_space(&error) {
                return Err(error);
            }
            notes.push(attribute_note(want, "could not be set", &error));
        }
    }
    if !matches!(entry.kind, Kind::Symlink(_)) {
        let now = dir.look(name)?.map(|stat| stat.mode);
        if now != Some(mode) {
            platform::chmod_node(dir, name, mode)?;
        }
    }
    Ok(notes)
}

/// Whether attributes can be set as it is: not when it is our own and its mode says that we may not write.
fn may_write(now: &platform::Stat) -> bool {
    let plain = matches!(now.kind, platform::NodeKind::File | platform::NodeKind::Directory);
    let ours = now.uid == platform::own_ids().0 && !platform::is_privileged();
    !(plain && ours && now.mode & 0o200 == 0)
}

fn attribute_note(attribute: &Xattr, what: &str, error: &io::Error) -> String {
    format!(
        "attribute {} {what}: {}",
        attribute.name.escape_ascii(),
        crate::capture::words(error)
    )
}

/// No blocks, no inodes, no quota left: nothing that follows would work either.
pub(super) fn is_out_of_space(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
    )
}
