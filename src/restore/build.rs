//! Builds objects from a snapshot in a directory of ours: content hashed while it is written, never more readable than
//! it will be, metadata exact.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;

use super::RestoreError;
use super::io_error::is_out_of_space;
use super::metadata::Object;
use super::problem::Problem;
use super::reflink::Twins;
use crate::capture::words;
use crate::model::{Content, Entry, EntryKind, Hasher, RelPath, Time};
use crate::observer::Observer;
use crate::store::archive::Piece;
use crate::store::{BlobReader, Blobs};
use handle_fs::Dir;
use handle_fs::{AsHandle as _, File};

/// Modification times that restored objects get.
pub(super) enum Times {
    /// The times in the snapshot.
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
    /// Files that have what is wanted already.
    pub(super) twins: Twins<'a>,
    /// Paths that are not as they were.
    pub(super) problems: Vec<(RelPath, Problem)>,
}

/// Result of building one object.
#[derive(Debug, Default)]
pub(super) struct Built {
    /// `false`: this kind of object cannot be made here, which the notes say.
    pub(super) is_made: bool,
    /// Differences from the recorded object.
    pub(super) notes: Vec<Problem>,
}

impl Builder<'_> {
    /// Makes the object at `name` in `dir`, which is no directory. Many threads may do so at once, each with a reader of
    /// its own.
    pub(super) fn build(
        &self,
        dir: &Dir,
        name: &OsStr,
        path: &RelPath,
        entry: &Entry,
        reader: &mut BlobReader,
    ) -> Result<Built, RestoreError> {
        let fail = |source| RestoreError::Build {
            path: path.clone(),
            source,
        };
        let made = match &entry.kind {
            EntryKind::File(content) => {
                let file = handle_fs::create_file(dir, name).map_err(fail)?;
                let written = match self.twins.share(&file, (dir, name), content, self.blobs) {
                    Ok(true) => self.told(content),
                    Ok(false) => self.write(&file, path, content, reader),
                    Err(source) => Err(fail(source)),
                };
                let built = written.and_then(|()| self.finish(Object::Open(file.as_handle()), path, entry));
                if built.is_err() {
                    discard(dir, name, &file);
                }
                return built;
            }
            EntryKind::Directory => Err(io::ErrorKind::IsADirectory.into()),
            EntryKind::Symlink(target) => handle_fs::make_symlink(dir, name, target),
            EntryKind::Fifo => handle_fs::make_fifo(dir, name),
            EntryKind::Socket => Err(io::Error::other(
                "only the program that listens on a socket can make it",
            )),
            EntryKind::CharDevice(major, minor) => handle_fs::make_device(dir, name, false, *major, *minor),
            EntryKind::BlockDevice(major, minor) => handle_fs::make_device(dir, name, true, *major, *minor),
        };
        match made {
            Ok(()) => self
                .finish(Object::Named(dir, name), path, entry)
                .inspect_err(|_| drop(handle_fs::remove_file(dir, name))),
            Err(error) if is_out_of_space(&error) => Err(fail(error)),
            Err(error) => Ok(Built {
                is_made: false,
                notes: vec![Problem::caused(
                    format!("cannot be made: {}", words(&error)),
                    &error,
                )],
            }),
        }
    }

    /// Gives an object its metadata, the modification time last.
    pub(super) fn finish(
        &self,
        object: Object<'_>,
        path: &RelPath,
        entry: &Entry,
    ) -> Result<Built, RestoreError> {
        let finish = || {
            let notes = object.set_metadata(entry)?;
            if let Some(time) = self.times.of(entry) {
                object.set_mtime(time)?;
            }
            Ok(Built { is_made: true, notes })
        };
        finish().map_err(|source| RestoreError::Build {
            path: path.clone(),
            source,
        })
    }

    fn write(
        &self,
        file: &File,
        path: &RelPath,
        content: &Content,
        reader: &mut BlobReader,
    ) -> Result<(), RestoreError> {
        if content.size == 0 {
            return Ok(());
        }
        let mut hasher = Hasher::new(content.method, content.size);
        // Where the next bytes belong, and how long the file is.
        let (mut at, mut end) = (0_u64, 0_u64);
        let mut failed = None;
        let result = self.blobs.stream_by(reader, &content.digest, &mut |piece| {
            let mut fail = |error| {
                failed = Some(error);
                io::Error::from(io::ErrorKind::Other)
            };
            match piece {
                Piece::Data(bytes) => {
                    let build = |source| RestoreError::Build {
                        path: path.clone(),
                        source,
                    };
                    file.write_all_at(bytes, at).map_err(|error| fail(build(error)))?;
                    hasher.update(bytes);
                    at += bytes.len() as u64;
                    end = at;
                }
                Piece::Hole(count) => {
                    hasher.skip_zeros(count);
                    at += count;
                }
            }
            // A large file takes long.
            if at < content.size && self.observer.cancelled() {
                return Err(fail(RestoreError::Interrupted));
            }
            Ok(())
        });
        if let Some(error) = failed {
            return Err(error);
        }
        result.map_err(|source| RestoreError::Content {
            path: path.clone(),
            source,
        })?;
        if end != content.size {
            // It ends in a hole.
            file.set_len(content.size).map_err(|source| RestoreError::Build {
                path: path.clone(),
                source,
            })?;
        }
        if hasher.finish() != *content {
            return Err(RestoreError::Damaged {
                path: path.clone(),
                digest: content.digest,
            });
        }
        self.told(content)
    }

    /// A file has its content.
    fn told(&self, content: &Content) -> Result<(), RestoreError> {
        self.observer.advance(1, content.size);
        if self.observer.cancelled() {
            Err(RestoreError::Interrupted)
        } else {
            Ok(())
        }
    }
}

/// Removes a file that could not be finished, unless something else has its name by now.
fn discard(dir: &Dir, name: &OsStr, file: &File) {
    let (there, ours) = (dir.look(name), handle_fs::stat_handle(file));
    if let (Ok(Some(there)), Ok(ours)) = (there, ours)
        && there.ino == ours.ino
    {
        let _ = handle_fs::remove_file(dir, name);
    }
}

/// Returns the error for an object that cannot be made.
pub(super) fn failed(path: &RelPath, source: io::Error) -> RestoreError {
    RestoreError::Build {
        path: path.clone(),
        source,
    }
}
