//! Reads the files that a walk left pending, each until it holds still, and completes the manifest: digests, hard link
//! groups, and gaps for what could not be read.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::thread;

use super::CaptureError;
use super::ahead::{Loaded, ReadAhead, Taken};
use super::facts::{insert_gap, is_gone, words};
use super::source::{Source, method_of};
use super::walk::{Reference, Walked};
use crate::mount::{Dir, Root};
use crate::observer::Observer;
use crate::platform;
use crate::snapshot::{Content, Directory, Entry, Gap, GapReason, Kind, Manifest, RelPath, Time};

/// Takes what a scan finds, in manifest order. A capture stores it; a comparison only hashes.
pub(super) trait Sink {
    /// The mount root, before everything else.
    ///
    /// # Errors
    /// What keeps the sink from going on.
    fn root(&mut self, root: &Entry) -> Result<(), CaptureError>;

    /// Whether it wants to see what needs no reading.
    fn wants_objects(&self) -> bool;

    /// An object whose content needs no reading: directory, link, special, empty or unchanged file. Only called when it is
    /// wanted.
    ///
    /// # Errors
    /// What keeps the sink from going on.
    fn object(&mut self, path: &RelPath, entry: &Entry) -> Result<(), CaptureError>;

    /// A file whose content must be read. Called again for the same path when the file moved meanwhile.
    ///
    /// # Errors
    /// [`Failure::Source`] when the file cannot be read, else what keeps the sink from going on.
    fn file(&mut self, path: &RelPath, entry: &Entry, source: &mut Source) -> Result<Content, Failure>;

    /// Whether the bytes of files are needed, or their digests alone.
    fn keeps_data(&self) -> bool;

    /// A file that was read already and held still.
    ///
    /// # Errors
    /// What keeps the sink from going on.
    fn loaded(&mut self, path: &RelPath, entry: &Entry, file: &Loaded) -> Result<(), CaptureError>;

    /// Another name of a file that was given before under `first`.
    ///
    /// # Errors
    /// What keeps the sink from going on.
    fn hard_link(&mut self, path: &RelPath, entry: &Entry, first: &RelPath) -> Result<(), CaptureError>;
}

/// What went wrong while a file was read.
pub(super) enum Failure {
    /// The file itself: it becomes a gap, and the rest goes on.
    Source(io::Error),
    /// Everything stops.
    Fatal(CaptureError),
}

/// Only takes digests.
pub struct HashOnly<'a> {
    /// Who is told, and asked whether to stop.
    pub observer: &'a dyn Observer,
}

impl Sink for HashOnly<'_> {
    fn root(&mut self, _: &Entry) -> Result<(), CaptureError> {
        Ok(())
    }

    fn wants_objects(&self) -> bool {
        false
    }

    fn object(&mut self, _: &RelPath, _: &Entry) -> Result<(), CaptureError> {
        Ok(())
    }

    fn file(&mut self, _: &RelPath, _: &Entry, source: &mut Source) -> Result<Content, Failure> {
        let observer = self.observer;
        let mut cancelled = false;
        let content = source.digest(|bytes| {
            observer.advance(0, bytes);
            cancelled = observer.cancelled();
            if cancelled {
                Err(io::Error::other("interrupted"))
            } else {
                Ok(())
            }
        });
        if cancelled {
            Err(Failure::Fatal(CaptureError::Interrupted))
        } else {
            content.map_err(Failure::Source)
        }
    }

    fn keeps_data(&self) -> bool {
        false
    }

    fn loaded(&mut self, _: &RelPath, _: &Entry, file: &Loaded) -> Result<(), CaptureError> {
        self.observer.advance(0, file.content.size);
        Ok(())
    }

    fn hard_link(&mut self, _: &RelPath, _: &Entry, _: &RelPath) -> Result<(), CaptureError> {
        Ok(())
    }
}

/// How often a file that moves while it is read is read again before it is flagged.
const ATTEMPTS: usize = 3;

/// Reads what is pending and completes the manifest.
///
/// # Errors
/// When the sink cannot go on or the operator stopped it.
pub(super) fn complete(
    root: &Root,
    walked: Walked,
    reference: Option<Reference<'_>>,
    sink: &mut dyn Sink,
    observer: &dyn Observer,
) -> Result<Manifest, CaptureError> {
    let ahead = ReadAhead::new(root, sink.keeps_data());
    let Walked {
        manifest, pending, ..
    } = walked;
    thread::scope(|scope| {
        let mut ahead = ahead.start(scope, &pending);
        complete_with(root, manifest, &pending, reference, sink, observer, &mut ahead)
    })
}

fn complete_with(
    root: &Root,
    mut manifest: Manifest,
    pending: &[(usize, usize)],
    reference: Option<Reference<'_>>,
    sink: &mut dyn Sink,
    observer: &dyn Observer,
    ahead: &mut Taken<'_>,
) -> Result<Manifest, CaptureError> {
    let mut pending = pending.iter().peekable();
    let wants_objects = sink.wants_objects();
    let mut read: HashMap<(u64, Time), (RelPath, Entry)> = HashMap::new();
    sink.root(&manifest.root)?;
    for at in 0..manifest.directories.len() {
        if observer.cancelled() {
            return Err(CaptureError::Interrupted);
        }
        if !wants_objects && pending.peek().is_none_or(|(next, _)| *next != at) {
            continue;
        }
        let own = manifest
            .directories
            .get(at)
            .map(|dir| dir.path.clone())
            .filter(|path| wants_objects && !path.is_root());
        // A directory comes right before what it holds: whoever unpacks the archive sets its time when it is left.
        if let Some((path, entry)) = own.as_ref().and_then(|path| Some((path, manifest.entry(path)?))) {
            sink.object(path, entry)?;
        }
        let (until, later) = manifest.directories.split_at_mut(at + 1);
        let Some(directory) = until.last_mut().map(Arc::make_mut) else {
            continue;
        };
        let before = reference.and_then(|r| r.earlier.manifest.directory(&directory.path));
        let mut handle = None;
        let mut lost = Vec::new();
        for index in 0..directory.entries.len() {
            ahead.fill(reference, |number| match number.checked_sub(at + 1) {
                None => Some(&*directory),
                Some(behind) => later.get(behind).map(|dir| &**dir),
            });
            let Some(entry) = directory.entries.get_mut(index) else {
                continue;
            };
            if entry.is_dir() {
                continue;
            }
            let is_pending = pending.next_if_eq(&&(at, index)).is_some();
            if !is_pending && !wants_objects {
                continue;
            }
            let path = directory.path.join(&entry.name);
            if !is_pending {
                sink.object(&path, entry)?;
                continue;
            }
            if let Some((first, one)) = read.get(&(entry.ino, entry.ctime)).filter(|_| entry.nlink > 1) {
                entry.kind = one.kind.clone();
                entry.xattrs = one.xattrs.clone();
                entry.unstable = one.unstable;
                sink.hard_link(&path, entry, first)?;
                continue;
            }
            if let Some(file) = ahead.file((at, index)) {
                if observer.cancelled() {
                    return Err(CaptureError::Interrupted);
                }
                take_facts(entry, &file.stat);
                entry.kind = Kind::File(file.content);
                entry.xattrs.clone_from(&file.xattrs);
                entry.unstable = false;
                sink.loaded(&path, entry, &file)?;
                continue;
            }
            let dir = match handle.take() {
                Some(dir) => Ok(dir),
                None => root.dir(&directory.path),
            };
            let old = before
                .and_then(|dir| dir.entry(&entry.name))
                .and_then(Entry::content);
            let done = dir.map(|dir| {
                (
                    Reading {
                        dir: &dir,
                        path: &path,
                        old,
                    }
                    .run(entry, sink),
                    dir,
                )
            });
            match done {
                Ok((Ok(()), dir)) => {
                    handle = Some(dir);
                    if entry.nlink > 1 {
                        read.insert((entry.ino, entry.ctime), (path, entry.clone()));
                    }
                }
                Ok((Err(Failure::Fatal(error)), _)) => return Err(error),
                Ok((Err(Failure::Source(error)), dir)) => {
                    handle = Some(dir);
                    lost.push((index, error));
                }
                Err(error) => lost.push((index, error)),
            }
        }
        for (index, error) in lost.into_iter().rev() {
            let entry = directory.entries.remove(index);
            let reason = if is_gone(&error) {
                GapReason::Moving
            } else {
                GapReason::Unreadable(words(&error))
            };
            insert_gap(
                directory,
                Gap {
                    name: entry.name,
                    reason,
                },
            );
        }
    }
    group_links(&mut manifest.directories);
    Ok(manifest)
}

struct Reading<'a> {
    dir: &'a Dir,
    path: &'a RelPath,
    old: Option<&'a Content>,
}

impl Reading<'_> {
    /// Reads one file until nothing moved while it was read, at most [`ATTEMPTS`] times.
    fn run(&self, entry: &mut Entry, sink: &mut dyn Sink) -> Result<(), Failure> {
        for attempt in 1..=ATTEMPTS {
            let (file, before) = self.dir.file(entry.name.as_os_str()).map_err(Failure::Source)?;
            platform::settle(&file, before.ctime.max(before.mtime)).map_err(Failure::Source)?;
            let method = method_of(self.old, before.size);
            let mut source = Source::new(file, &before, method).map_err(Failure::Source)?;
            entry.xattrs = platform::handle_attributes(source.file()).map_err(Failure::Source)?;
            take_facts(entry, &before);
            let content = sink.file(self.path, entry, &mut source)?;
            entry.kind = Kind::File(content);
            let after = platform::stat_handle(source.file()).map_err(Failure::Source)?;
            let still = after.same_moment(&before) && !source.was_short();
            entry.unstable = !still;
            if still || attempt == ATTEMPTS {
                return Ok(());
            }
        }
        Err(Failure::Source(io::Error::other("it does not hold still")))
    }
}

/// The facts of the object that is really read; it may be another than the one that was listed.
fn take_facts(entry: &mut Entry, stat: &platform::Stat) {
    let content = entry.content().copied();
    entry.mode = stat.mode;
    (entry.uid, entry.gid) = (stat.uid, stat.gid);
    (entry.mtime, entry.ctime) = (stat.mtime, stat.ctime);
    (entry.ino, entry.nlink) = (stat.ino, stat.nlink);
    entry.flags = stat.flags;
    if let Some(content) = content {
        entry.kind = Kind::File(Content {
            size: stat.size,
            ..content
        });
    }
}

/// Names for everything with several links (pipes, links and devices can have them too) the first path of its group, in
/// manifest order.
pub(super) fn group_links(directories: &mut [Arc<Directory>]) {
    let mut first: HashMap<u64, (RelPath, Kind)> = HashMap::new();
    for directory in directories {
        for index in 0..directory.entries.len() {
            let Some(entry) = directory.entries.get(index) else {
                continue;
            };
            let mut link = None;
            if entry.nlink > 1 && !entry.is_dir() {
                match first.get(&entry.ino) {
                    Some((path, kind)) if *kind == entry.kind => link = Some(path.clone()),
                    Some(_) => {}
                    None => {
                        first.insert(entry.ino, (directory.path.join(&entry.name), entry.kind.clone()));
                    }
                }
            }
            // What is shared with an earlier manifest is copied only when it is not right any more.
            if entry.link != link
                && let Some(entry) = Arc::make_mut(directory).entries.get_mut(index)
            {
                entry.link = link;
            }
        }
    }
}
