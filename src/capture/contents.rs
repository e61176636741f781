//! Reads the files that a walk left pending, each until it holds still, and completes the manifest: digests, hard link
//! groups, and gaps for what could not be read.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;
use std::sync::Arc;
use std::thread;

use super::CaptureError;
use super::arrivals::note_arrivals;
use super::facts::{insert_gap, is_gone, same_moment, words};
use super::readahead::{Loaded, ReadAhead, Taken};
use super::source::{ContentSource, method_of};
use super::walk::{Reference, Walked};
use crate::model::{
    Content, Coverage, Directory, Entry, EntryKind, Gap, GapReason, Manifest, Name, RelPath, Time,
};
use crate::observer::Observer;
use handle_fs::{Dir, NodeKind, Root, parallel};

/// Takes what a scan finds, in manifest order. A capture stores it; a comparison only hashes.
pub(super) trait Sink {
    /// Takes the mount root, before everything else.
    ///
    /// # Errors
    /// Fails if the sink cannot continue.
    fn root(&mut self, root: &Entry) -> Result<(), CaptureError>;

    /// Returns true if the sink wants objects whose content needs no reading.
    fn wants_objects(&self) -> bool;

    /// Takes an object whose content needs no reading: directory, link, special, empty or unchanged file. Only called if
    /// [`Self::wants_objects`] returns true.
    ///
    /// # Errors
    /// Fails if the sink cannot continue.
    fn object(&mut self, path: &RelPath, entry: &Entry) -> Result<(), CaptureError>;

    /// Takes a file whose content must be read. Called again for the same path if the file changed meanwhile.
    ///
    /// # Errors
    /// [`Failure::Source`] if the file cannot be read; [`Failure::Fatal`] if the sink cannot continue.
    fn file(&mut self, path: &RelPath, entry: &Entry, source: &mut ContentSource)
    -> Result<Content, Failure>;

    /// Returns true if the sink needs the bytes of files, not only their digests.
    fn keeps_data(&self) -> bool;

    /// Takes a file that was read ahead and did not change meanwhile.
    ///
    /// # Errors
    /// Fails if the sink cannot continue.
    fn loaded(&mut self, path: &RelPath, entry: &Entry, file: &Loaded) -> Result<(), CaptureError>;

    /// Takes another name of a file that was passed before as `first`.
    ///
    /// # Errors
    /// Fails if the sink cannot continue.
    fn hard_link(&mut self, path: &RelPath, entry: &Entry, first: &RelPath) -> Result<(), CaptureError>;
}

/// Error while a file was read.
pub(super) enum Failure {
    /// The file itself failed: it becomes a gap, and the work continues.
    Source(io::Error),
    /// The whole work stops.
    Fatal(CaptureError),
}

/// Sink that only computes digests.
pub struct HashOnly<'a> {
    /// Observer of the progress, which can stop the work.
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

    fn file(&mut self, _: &RelPath, _: &Entry, source: &mut ContentSource) -> Result<Content, Failure> {
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

/// Maximum number of times that a changing file is read before it is marked unstable.
const ATTEMPTS: usize = 3;
/// Number of files from which syncing the whole file system is faster than writing back each file.
const MANY: usize = 256;

/// A manifest whose files were read.
pub(super) struct Completed {
    pub(super) manifest: Manifest,
    /// True if every file was written back before it was read, here or for the reference that it was taken from.
    pub(super) written_back: bool,
    /// Files that changed after they were read (or listed, beside one that was read), in manifest order. Files that came after their
    /// directory was listed are among them, also excluded ones.
    pub(super) changed: Vec<RelPath>,
}

/// Reads the pending files and completes the manifest.
///
/// Each file is written back before it is read, and a `write(2)` that is filling it has ended by then. A store through a mapping faults then, moves the ctime, and is seen: by the look
/// that follows the reading, and by the next capture.
///
/// # Errors
/// When the sink cannot go on or the operator stopped it.
pub(super) fn complete(
    root: &Root,
    coverage: &Coverage,
    walked: Walked,
    reference: Option<Reference<'_>>,
    sink: &mut dyn Sink,
    observer: &dyn Observer,
) -> Result<Completed, CaptureError> {
    let Walked {
        manifest, pending, ..
    } = walked;
    // After the walk: what is stored from now on has a later time than the one that was listed.
    let all_written_back = !pending.is_empty() && root.write_back(pending.len() >= MANY);
    let ahead = ReadAhead::new(root, sink.keeps_data(), all_written_back);
    thread::scope(|scope| {
        let mut ahead = ahead.start(scope, &pending);
        let mut completed = complete_with(root, manifest, &pending, reference, sink, observer, &mut ahead)?;
        // A frozen state does not change. A shell would need a command for each directory, and a request for each takes long where nothing
        // is read.
        let is_slow = root.is_by_shell() || root.is_far() && pending.is_empty();
        if root.frozen_since().is_none() && !is_slow {
            note_arrivals(root, coverage, &mut completed.manifest)?;
        }
        let changed = match sink.keeps_data() {
            true => changed_meanwhile(root, &completed.manifest, &pending),
            false => Vec::new(),
        };
        Ok(Completed { changed, ..completed })
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
) -> Result<Completed, CaptureError> {
    let mut written_back = true;
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
        // A directory comes right before its entries: tar sets its time after it has unpacked them.
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
            // The file was read through its first name with this very change time, so it had the same bytes under both names.
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
                entry.kind = EntryKind::File(file.content);
                entry.xattrs.clone_from(&file.xattrs);
                entry.unstable = root.changed_while_frozen(file.stat.ctime);
                // One file that was not written back spoils the proof for the mount: a store through a mapping can change it
                // without a new time.
                written_back &= file.written_back;
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
                        root,
                        dir: &dir,
                        path: &path,
                        old,
                        observer,
                    }
                    .run(entry, sink),
                    dir,
                )
            });
            match done {
                Ok((Ok(shows_stores), dir)) => {
                    handle = Some(dir);
                    written_back &= shows_stores;
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
    Ok(Completed {
        manifest,
        written_back,
        changed: Vec::new(),
    })
}

/// Looks once more at the directories in which files were read.
///
/// Each file that was read held still meanwhile, but a program may go on writing, so that a database and its log show two times.
/// A file beside one that was read counts as well: a log can be emptied into a file that had not changed before. So does a new one: it can
/// be the journal of a transaction of which the file shows a part.
fn changed_meanwhile(root: &Root, manifest: &Manifest, pending: &[(usize, usize)]) -> Vec<RelPath> {
    // A frozen state does not change; a shell would need a command for each directory.
    if root.frozen_since().is_some() || root.is_by_shell() {
        return Vec::new();
    }
    let mut places: Vec<usize> = pending.iter().map(|(at, _)| *at).collect();
    places.dedup();
    let changed = parallel::map(&places, |at| {
        let directory = manifest.directories.get(*at)?;
        let files: Vec<&Entry> = directory
            .entries
            .iter()
            .filter(|entry| entry.content().is_some())
            .collect();
        let dir = root.dir(&directory.path).ok()?;
        let names = files.iter().map(|file| file.name.as_os_str());
        let stats = dir.look_at(std::iter::once(OsStr::new(".")).chain(names)).ok()?;
        let (own, stats) = stats.split_first()?;
        let moved = files.iter().zip(stats).filter(|(file, stat)| {
            let held = stat.as_ref().is_ok_and(|stat| same_moment(file, stat));
            !held && !file.unstable
        });
        let moved = moved.map(|(file, _)| file.name.clone());
        let listed = match directory.path.is_root() {
            true => Some(&manifest.root),
            false => manifest.entry(&directory.path),
        };
        let came = match own
            .as_ref()
            .is_ok_and(|own| listed.is_some_and(|listed| listed.mtime == own.mtime))
        {
            true => Vec::new(),
            false => came(&dir, directory),
        };
        let all = moved.chain(came).map(|name| directory.path.join(&name));
        Some(all.collect::<Vec<_>>())
    });
    changed.into_iter().flatten().flatten().collect()
}

/// Returns the files of a directory that came after it was listed, also excluded ones. Gaps that [`note_arrivals`] made are among them.
fn came(dir: &Dir, listed: &Directory) -> Vec<Name> {
    let mut names = dir.names().unwrap_or_default();
    names.retain(|name| {
        let is_gap = listed
            .gap(name)
            .is_some_and(|gap| gap.reason != GapReason::Moving);
        let is_new = listed.entry(name).is_none() && !is_gap;
        let is_file = || matches!(dir.look(name.as_os_str()), Ok(Some(stat)) if stat.kind == NodeKind::File);
        is_new && is_file()
    });
    names
}

struct Reading<'a> {
    root: &'a Root,
    dir: &'a Dir,
    path: &'a RelPath,
    old: Option<&'a Content>,
    observer: &'a dyn Observer,
}

impl Reading<'_> {
    /// Reads one file until nothing moved while it was read, at most [`ATTEMPTS`] times. Returns whether it was written back
    /// before.
    fn run(&self, entry: &mut Entry, sink: &mut dyn Sink) -> Result<bool, Failure> {
        for attempt in 1..=ATTEMPTS {
            // Opened anew in each attempt: programs replace a file by a rename, and the old one would hold still forever.
            let (file, before) = self.dir.file(entry.name.as_os_str()).map_err(Failure::Source)?;
            handle_fs::settle(&file, before.ctime.max(before.mtime)).map_err(Failure::Source)?;
            // After its last change has settled: each store from here on, also through a mapping, has a later time.
            let written_back = handle_fs::write_back(&file);
            let method = method_of(self.old, before.size);
            let mut source = ContentSource::new(file, &before, method).map_err(Failure::Source)?;
            if before.size == 0 && has_content(source.file()).map_err(Failure::Source)? {
                let after = handle_fs::stat_handle(source.file()).map_err(Failure::Source)?;
                if after.size == 0 {
                    return Err(Failure::Source(io::Error::other("its size is not known")));
                }
                // It grew meanwhile.
                continue;
            }
            entry.xattrs = handle_fs::handle_attributes(source.file()).map_err(Failure::Source)?;
            take_facts(entry, &before);
            let content = sink.file(self.path, entry, &mut source)?;
            entry.kind = EntryKind::File(content);
            // Asked of the open file, not of its name: the name may lead to another file by now, whose facts say nothing
            // about these bytes.
            let after = handle_fs::stat_handle(source.file()).map_err(Failure::Source)?;
            let mut still = after.same_moment(&before) && !source.was_short();
            if still && !written_back {
                // Its times show no store through a mapping; its bytes do, when they are read once more.
                still = self.digest_again(&mut source)? == content;
            }
            entry.unstable = !still || self.root.changed_while_frozen(before.ctime);
            if still || attempt == ATTEMPTS {
                return Ok(written_back);
            }
        }
        Err(Failure::Source(io::Error::other("it keeps changing")))
    }

    fn digest_again(&self, source: &mut ContentSource) -> Result<Content, Failure> {
        source.rewind();
        let content = source.digest(|_| match self.observer.cancelled() {
            true => Err(io::ErrorKind::Interrupted.into()),
            false => Ok(()),
        });
        if self.observer.cancelled() {
            return Err(Failure::Fatal(CaptureError::Interrupted));
        }
        content.map_err(Failure::Source)
    }
}

/// Returns true if a byte can be read.
fn has_content(file: &handle_fs::File) -> io::Result<bool> {
    Ok(!file.read_up_to(1)?.is_empty())
}

/// Takes over the facts of the file that is really read, which may not be the one that was listed.
fn take_facts(entry: &mut Entry, stat: &handle_fs::Stat) {
    let content = entry.content().copied();
    entry.mode = stat.mode;
    (entry.uid, entry.gid) = (stat.uid, stat.gid);
    (entry.mtime, entry.ctime) = (stat.mtime, stat.ctime);
    (entry.ino, entry.nlink) = (stat.ino, stat.nlink);
    entry.flags = stat.flags;
    if let Some(content) = content {
        entry.kind = EntryKind::File(Content {
            size: stat.size,
            ..content
        });
    }
}

/// Sets the first path of its group on every entry with several links, in manifest order. Pipes, links and devices can have them
/// too.
pub(super) fn group_links(directories: &mut [Arc<Directory>]) {
    let mut first: HashMap<u64, (RelPath, EntryKind)> = HashMap::new();
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
