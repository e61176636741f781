//! Writer of a tree: builds each object in a directory of jackin's own from a snapshot, in parallel, and sets the metadata of its
//! directories last. Content is hashed while it is written, and never more readable than it will be.
//!
//! All cores take pieces of work in the order in which content is in the store, so that each frame is
//! decompressed once. Further names of files come last.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::io;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::RestoreError;
use super::metadata::Object;
use super::problem::{Problem, is_out_of_space};
use super::reflink::Twins;
use crate::capture::words;
use crate::model::{Content, Digest, Entry, EntryKind, Hasher, Name, RelPath, Time};
use crate::observer::Observer;
use crate::store::archive::Piece;
use crate::store::{BlobPlace, BlobReader, Blobs};
use handle_fs::{Actor, AsHandle as _, Dir, File, parallel};

/// So many directories are one piece of work.
const SOME: usize = 64;

/// Something to be made.
pub(super) struct Planned<'a> {
    /// The number of the directory it lies in.
    pub(super) folder: usize,
    pub(super) name: Cow<'a, OsStr>,
    /// Path in messages.
    pub(super) path: &'a RelPath,
    pub(super) entry: &'a Entry,
    pub(super) origin: Origin,
}

/// Origin of an object.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// The object is built.
    Store,
    /// The object is another name of the one with this number.
    NameOf(usize),
    /// The object already exists as a link to another file.
    There,
}

/// A directory to be made, and those in it.
struct Folder<'a> {
    /// Below the top.
    place: RelPath,
    depth: usize,
    /// Path in messages and target entry; `None` for the top.
    made: Option<(&'a RelPath, &'a Entry)>,
    below: Vec<(OsString, usize)>,
}

/// A tree that is built below a directory of jackin. The planner adds everything in the order of paths.
pub(super) struct TreeWriter<'a> {
    top: &'a Dir,
    /// True if it is made on another machine, where each call is waited for.
    is_far: bool,
    folders: Vec<Folder<'a>>,
    pub(super) objects: Vec<Planned<'a>>,
}

impl<'a> TreeWriter<'a> {
    /// The user who makes it.
    pub(super) fn actor(&self) -> Actor {
        self.top.actor()
    }

    /// The number of the top.
    pub(super) const TOP: usize = 0;

    /// A site on `top`, which is there already.
    pub(super) fn new(top: &'a Dir) -> Self {
        let folder = Folder {
            place: RelPath::root(),
            depth: 0,
            made: None,
            below: Vec::new(),
        };
        Self {
            top,
            is_far: handle_fs::is_far(top),
            folders: vec![folder],
            objects: Vec::new(),
        }
    }

    /// Plans a directory; gives its number.
    pub(super) fn folder(
        &mut self,
        within: usize,
        name: &OsStr,
        path: &'a RelPath,
        entry: &'a Entry,
    ) -> Result<usize, RestoreError> {
        let wrong = |error| failed(path, io::Error::other(error));
        let valid = Name::new(name.as_bytes()).map_err(wrong)?;
        let number = self.folders.len();
        let parent = self.folders.get_mut(within);
        let parent = parent.ok_or_else(|| failed(path, io::ErrorKind::NotFound.into()))?;
        parent.below.push((name.to_owned(), number));
        let (place, depth) = (parent.place.join(&valid), parent.depth + 1);
        self.folders.push(Folder {
            place,
            depth,
            made: Some((path, entry)),
            below: Vec::new(),
        });
        Ok(number)
    }

    /// Plans anything else; gives its number.
    pub(super) fn object(
        &mut self,
        folder: usize,
        name: Cow<'a, OsStr>,
        path: &'a RelPath,
        entry: &'a Entry,
        origin: Origin,
    ) -> usize {
        self.objects.push(Planned {
            folder,
            name,
            path,
            entry,
            origin,
        });
        self.objects.len() - 1
    }

    /// Makes all directories, empty and open to us alone. The first in the order of paths that cannot be made is named.
    pub(super) fn make_folders(&self) -> Result<(), RestoreError> {
        if self.folders.len() == 1 {
            return Ok(());
        }
        let visit = |number: usize, found: &mut Vec<usize>, errors: &mut Vec<(usize, RestoreError)>| {
            let (below, error) = self.make_below(number);
            found.extend(below);
            if let Some(error) = error {
                errors.push(error);
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        };
        let errors = parallel::explore(Self::TOP, visit).into_iter().flatten();
        match errors.min_by_key(|(number, _)| *number) {
            Some((_, error)) => Err(error),
            None => Ok(()),
        }
    }

    /// Makes the directories in one; gives those in which more are to be made.
    fn make_below(&self, number: usize) -> (Vec<usize>, Option<(usize, RestoreError)>) {
        let Some(folder) = self.folders.get(number) else {
            return (Vec::new(), None);
        };
        let mut found = Vec::new();
        let mut dir = None;
        for (name, child) in &folder.below {
            let Some(planned) = self.folders.get(*child) else {
                continue;
            };
            let made = match &dir {
                Some(dir) => handle_fs::make_dir(dir, name),
                None => self
                    .top
                    .dir_below(&folder.place)
                    .and_then(|opened| handle_fs::make_dir(&*dir.insert(opened), name)),
            };
            if let (Err(source), Some((path, _))) = (made, planned.made) {
                return (found, Some((*child, failed(path, source))));
            }
            if !planned.below.is_empty() {
                found.push(*child);
            }
        }
        (found, None)
    }

    /// Says that an object is there: `link` made it in the directory it gets, under the name it gets.
    pub(super) fn link_in(
        &mut self,
        number: usize,
        link: impl FnOnce(&Dir, &OsStr) -> Result<bool, RestoreError>,
    ) -> Result<(), RestoreError> {
        let Some(object) = self.objects.get_mut(number) else {
            return Ok(());
        };
        let Some(folder) = self.folders.get(object.folder) else {
            return Ok(());
        };
        let dir = self.top.dir_below(&folder.place);
        if link(&dir.map_err(|source| failed(object.path, source))?, &object.name)? {
            object.origin = Origin::There;
        }
        Ok(())
    }

    /// Gives directories their metadata, the deepest first: nothing more is made in them, and where we may not enter
    /// afterwards nothing is left to do.
    pub(super) fn finish_folders(&self, builder: &mut Builder<'_>) -> Result<(), RestoreError> {
        let mut levels: Vec<Vec<usize>> = Vec::new();
        for (number, folder) in self.folders.iter().enumerate().skip(1) {
            if levels.len() < folder.depth {
                levels.resize_with(folder.depth, Vec::new);
            }
            if let Some(level) = levels.get_mut(folder.depth - 1) {
                level.push(number);
            }
        }
        let mut notes: Vec<(usize, Vec<Problem>)> = Vec::new();
        for level in levels.iter().rev() {
            let shared: &Builder<'_> = builder;
            let some: Vec<&[usize]> = level.chunks(SOME).collect();
            let done = parallel::map(&some, |some| -> Result<Vec<_>, RestoreError> {
                let each = some
                    .iter()
                    .map(|number| Ok((*number, self.finish(*number, shared)?)));
                each.filter(|done| !matches!(done, Ok((_, notes)) if notes.is_empty()))
                    .collect()
            });
            for done in done {
                notes.extend(done?);
            }
        }
        notes.sort_by_key(|(number, _)| *number);
        for (number, notes) in notes {
            let made = self.folders.get(number).and_then(|folder| folder.made);
            let Some((path, _)) = made else { continue };
            builder
                .problems
                .extend(notes.into_iter().map(|note| (path.clone(), note)));
        }
        Ok(())
    }

    fn finish(&self, number: usize, builder: &Builder<'_>) -> Result<Vec<Problem>, RestoreError> {
        let made = self.folders.get(number).and_then(|folder| folder.made);
        let Some((path, entry)) = made else {
            return Ok(Vec::new());
        };
        let dir = self.dir(number).map_err(|source| failed(path, source))?;
        Ok(builder.finish(Object::Open(dir.as_handle()), path, entry)?.notes)
    }

    /// The object with this number.
    pub(super) fn planned(&self, number: usize) -> Option<&Planned<'a>> {
        self.objects.get(number)
    }

    /// Opens the directory with this number.
    pub(super) fn dir(&self, number: usize) -> io::Result<Dir> {
        let folder = self.folders.get(number).ok_or(io::ErrorKind::NotFound)?;
        self.top.dir_below(&folder.place)
    }
}

/// Modification times that restored objects get.
pub(super) enum Times {
    /// The times in the snapshot.
    Recorded,
    /// Now, in the order of the snapshot.
    Ranked {
        /// Recorded time to new time.
        ranks: HashMap<Time, Time>,
        /// Contents whose files get their recorded times.
        kept: HashSet<Digest>,
    },
}

impl Times {
    /// New times for `recorded`: from `now` on, one microsecond apart, in their order. A build tool compares them with
    /// what survived, so none may be older than now.
    pub(super) fn rank(now: Time, recorded: impl Iterator<Item = Time>, kept: HashSet<Digest>) -> Self {
        let mut sorted: Vec<Time> = recorded.collect();
        sorted.sort_unstable();
        sorted.dedup();
        let ranks = sorted.into_iter().zip(0_i128..);
        let ranks = ranks.map(|(time, rank)| (time, now.plus_nanos(rank * 1000)));
        Self::Ranked {
            ranks: ranks.collect(),
            kept,
        }
    }

    pub(super) fn of(&self, entry: &Entry) -> Option<Time> {
        match self {
            Self::Recorded => Some(entry.mtime),
            Self::Ranked { kept, .. } if entry.content().is_some_and(|own| kept.contains(&own.digest)) => {
                Some(entry.mtime)
            }
            Self::Ranked { ranks, .. } => ranks.get(&entry.mtime).copied(),
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
                let written = written.and_then(|()| file.write_out().map_err(fail));
                let built = written.and_then(|()| self.finish(Object::Open(file.as_handle()), path, entry));
                if built.is_err() {
                    discard(dir, name, &file);
                }
                return built;
            }
            EntryKind::Directory => Err(io::ErrorKind::IsADirectory.into()),
            EntryKind::Symlink(target) => handle_fs::make_symlink(dir, name, target),
            EntryKind::Fifo => handle_fs::make_fifo(dir, name),
            EntryKind::Socket => Err(io::Error::other("sockets are not restored")),
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

    /// Gives an object its metadata.
    pub(super) fn finish(
        &self,
        object: Object<'_>,
        path: &RelPath,
        entry: &Entry,
    ) -> Result<Built, RestoreError> {
        let set = object.set_metadata(entry, self.times.of(entry));
        let notes = set.map_err(|source| RestoreError::Build {
            path: path.clone(),
            source,
        })?;
        Ok(Built { is_made: true, notes })
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
    pub(super) fn told(&self, content: &Content) -> Result<(), RestoreError> {
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

/// A file of so many bytes is begun before all smaller ones: one that is begun last is written while the other cores have
/// nothing left to do.
const LARGE: u64 = 4 << 20;

/// So many objects without content in the store are one piece of work.
const SMALL: usize = 64;

/// So many directories a thread holds open.
const OPEN: usize = 8;

/// Splits the objects into pieces of work: large files first, then files that are adjacent in the store, then objects that need
/// nothing from the store.
fn runs(objects: &[Planned<'_>], blobs: &Blobs) -> Vec<Vec<usize>> {
    let (mut large, mut stored, mut rest) = (Vec::new(), Vec::new(), Vec::new());
    for (number, object) in objects.iter().enumerate() {
        if object.origin != Origin::Store {
            continue;
        }
        let content = object.entry.content().filter(|content| content.size > 0);
        match content.and_then(|content| Some((content, blobs.place_of(&content.digest)?))) {
            Some((content, _)) if blobs.stored_bytes(&content.digest) >= Some(LARGE) => {
                large.push((std::cmp::Reverse(content.size), number));
            }
            Some((_, place)) => stored.push((place, number)),
            None => rest.push(number),
        }
    }
    large.sort_unstable();
    stored.sort_unstable();
    let beside = |a: &(BlobPlace, usize), b: &(BlobPlace, usize)| a.0.is_adjacent(&b.0);
    let large = large.into_iter().map(|(_, number)| vec![number]);
    let stored = stored
        .chunk_by(beside)
        .map(|run| run.iter().map(|(_, number)| *number).collect());
    let rest = rest.chunks(SMALL).map(<[usize]>::to_vec);
    large.chain(stored).chain(rest).collect()
}

impl TreeWriter<'_> {
    /// Makes everything that is no directory; gives, for each object, whether it was made.
    pub(super) fn fill(&self, builder: &mut Builder<'_>) -> Result<Vec<bool>, RestoreError> {
        let runs = runs(&self.objects, builder.blobs);
        // No object from this one on needs to be made any more.
        let limit = AtomicUsize::new(usize::MAX);
        let shared: &Builder<'_> = builder;
        let done = parallel::map_with(
            &runs,
            || Worker::new(self),
            |hand, run| hand.work(run, shared, &limit),
        );
        let mut made: Vec<bool> = self
            .objects
            .iter()
            .map(|object| object.origin == Origin::There)
            .collect();
        let mut notes: Vec<(usize, Vec<Problem>)> = Vec::new();
        let mut errors = Vec::new();
        for done in done {
            errors.extend(done.error);
            for (number, built) in done.odd {
                notes.push((number, built.notes));
                set(&mut made, number, built.is_made);
            }
            for number in done.made {
                set(&mut made, number, true);
            }
        }
        if let Some((_, error)) = errors.into_iter().min_by_key(|(number, _)| *number) {
            return Err(error);
        }
        self.name_again(shared, &mut made, &mut notes)?;
        notes.sort_by_key(|(number, _)| *number);
        for (number, notes) in notes {
            let Some(object) = self.objects.get(number) else {
                continue;
            };
            builder
                .problems
                .extend(notes.into_iter().map(|note| (object.path.clone(), note)));
        }
        Ok(made)
    }

    /// Gives what has several names the others. Where the first could not be made, the next one is tried.
    fn name_again(
        &self,
        builder: &Builder<'_>,
        made: &mut [bool],
        notes: &mut Vec<(usize, Vec<Problem>)>,
    ) -> Result<(), RestoreError> {
        let mut hand = Worker::new(self);
        let mut instead: HashMap<usize, usize> = HashMap::new();
        for (number, object) in self.objects.iter().enumerate() {
            let Origin::NameOf(first) = object.origin else {
                continue;
            };
            let fail = |source| failed(object.path, source);
            let is_made = made.get(first).copied().unwrap_or(false);
            let first = if is_made {
                Some(first)
            } else {
                instead.get(&first).copied()
            };
            if let Some(from) = first.and_then(|first| self.objects.get(first)) {
                let from_dir = self.dir(from.folder).map_err(fail)?;
                let dir = hand.dir(object.folder).map_err(fail)?;
                handle_fs::hard_link(&from_dir, &from.name, dir, &object.name).map_err(fail)?;
            } else {
                let built = hand.build(object, builder)?;
                let is_made = built.is_made;
                notes.push((number, built.notes));
                if !is_made {
                    continue;
                }
                if let Origin::NameOf(first) = object.origin {
                    instead.insert(first, number);
                }
            }
            set(made, number, true);
        }
        Ok(())
    }
}

/// Result of a piece of work.
#[derive(Default)]
struct Done {
    made: Vec<usize>,
    /// Objects that were not made, or not exactly.
    odd: Vec<(usize, Built)>,
    error: Option<(usize, RestoreError)>,
}

/// One thread at work.
pub(super) struct Worker<'s, 'a> {
    pub(super) site: &'s TreeWriter<'a>,
    pub(super) reader: BlobReader,
    /// The directories that were filled last, by number; the last one in front.
    pub(super) open: Vec<(usize, Dir)>,
    /// Files that were made together with an earlier one.
    made: HashSet<usize>,
    /// Files that cannot be made together with others.
    pub(super) single: HashSet<usize>,
}

impl<'s, 'a> Worker<'s, 'a> {
    fn new(site: &'s TreeWriter<'a>) -> Self {
        Self {
            site,
            reader: BlobReader::default(),
            open: Vec::with_capacity(OPEN),
            made: HashSet::new(),
            single: HashSet::new(),
        }
    }

    /// Builds what a run names. After a failure, here or elsewhere, only what comes before it in the order of paths is
    /// built still, so that the first failure in that order is always the one that is told.
    fn work(&mut self, run: &[usize], builder: &Builder<'_>, limit: &AtomicUsize) -> Done {
        let mut done = Done::default();
        let next = run.iter().filter_map(|number| self.site.planned(*number));
        let next = next.filter_map(|object| object.entry.content());
        builder.blobs.read_ahead(&mut self.reader, next);
        for number in run.iter().copied() {
            let Some(object) = self.site.planned(number) else {
                continue;
            };
            if number >= limit.load(Ordering::Relaxed) || self.made.remove(&number) {
                continue;
            }
            if self.site.is_far {
                let rest = run.iter().copied().skip_while(|next| *next != number);
                let made = self.make_together(rest, builder);
                done.made.extend(&made);
                self.made.extend(made);
                if self.made.remove(&number) {
                    continue;
                }
            }
            match self.build(object, builder) {
                Ok(built) if built.is_made && built.notes.is_empty() => done.made.push(number),
                Ok(built) => done.odd.push((number, built)),
                Err(error) => {
                    limit.fetch_min(if is_final(&error) { 0 } else { number }, Ordering::Relaxed);
                    if done.error.as_ref().is_none_or(|(first, _)| number < *first) {
                        done.error = Some((number, error));
                    }
                }
            }
        }
        done
    }

    fn build(&mut self, object: &Planned<'_>, builder: &Builder<'_>) -> Result<Built, RestoreError> {
        let mut reader = std::mem::take(&mut self.reader);
        let built = self
            .dir(object.folder)
            .map_err(|source| failed(object.path, source))
            .and_then(|dir| builder.build(dir, &object.name, object.path, object.entry, &mut reader));
        self.reader = reader;
        built
    }

    pub(super) fn dir(&mut self, number: usize) -> io::Result<&Dir> {
        match self.open.iter().position(|(held, _)| *held == number) {
            Some(0) => {}
            Some(at) => self.open.swap(0, at),
            None => {
                let dir = self.site.dir(number)?;
                self.open.truncate(OPEN - 1);
                self.open.insert(0, (number, dir));
            }
        }
        let first = self.open.first().map(|(_, dir)| dir);
        first.ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

/// Returns true if no error of an earlier object would be reported instead: the operator stopped the restore, or no space is
/// left.
fn is_final(error: &RestoreError) -> bool {
    match error {
        RestoreError::Interrupted => true,
        RestoreError::Build { source, .. } => is_out_of_space(source),
        _ => false,
    }
}

fn set(made: &mut [bool], number: usize, is_made: bool) {
    if let Some(place) = made.get_mut(number) {
        *place = is_made;
    }
}
