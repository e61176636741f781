//! Reads and hashes pending files before the sink needs them, on all cores, in manifest order and within a bounded window. It
//! only saves time: files that changed, failed, or are large are left to the ordinary way.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Scope};

use super::source::method_of;
use super::walk::Reference;
use crate::model::{Content, DigestMethod, Directory, Entry, Hasher, Name, RelPath, Time, Xattr};
use handle_fs::Root;
use handle_fs::{LoadedFile, NodeKind, Stat, Wanted};

/// Files up to this size are read once, into memory; larger ones are streamed.
pub(super) const IN_MEMORY: u64 = 4 << 20;

/// Maximum number of files in a batch, and number of bytes that fills one.
const BATCH_FILES: usize = 64;
const BATCH_BYTES: u64 = 1 << 20;
/// The same where a batch is a command of a shell, which takes some time by itself.
const SHELL_FILES: usize = 256;
const SHELL_BYTES: u64 = 2 << 20;
/// Minimum number of files; fewer are read faster than threads start.
const WORTH_FILES: usize = 16;

/// A file that held still since it was listed and while it was read.
pub(super) struct Loaded {
    /// Its facts then.
    pub(super) stat: Stat,
    /// Its attributes.
    pub(super) xattrs: Vec<Xattr>,
    /// Its data; empty if only the digest is needed.
    pub(super) data: Vec<u8>,
    /// Its digest.
    pub(super) content: Content,
    /// True if it was written back before it was read.
    pub(super) written_back: bool,
}

/// A file to read, with the facts that it had when it was listed.
struct Item {
    name: Name,
    size: u64,
    mtime: Time,
    ctime: Time,
    ino: u64,
    method: Option<DigestMethod>,
}

/// Files of a few directories, each directory's together.
#[derive(Default)]
struct Batch {
    parts: Vec<(RelPath, Vec<Item>)>,
}

#[derive(Default)]
struct State {
    /// Batches that no reader has taken yet, each with its number.
    waiting: VecDeque<(usize, Batch)>,
    done: BTreeMap<usize, Vec<Option<Loaded>>>,
    stopped: bool,
}

/// State shared by the readers and the one that takes their results.
pub(super) struct ReadAhead<'a> {
    root: &'a Root,
    /// True if the bytes are needed, not only the digests.
    keep_data: bool,
    /// True if everything was written back already.
    written_back: bool,
    state: Mutex<State>,
    changed: Condvar,
}

impl<'a> ReadAhead<'a> {
    pub(super) fn new(root: &'a Root, keep_data: bool, written_back: bool) -> Self {
        Self {
            root,
            keep_data,
            written_back,
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// Starts to read small files of `pending` ahead. Dropping the result stops it.
    pub(super) fn start<'scope, 'env>(
        &'env self,
        scope: &'scope Scope<'scope, 'env>,
        pending: &'env [(usize, usize)],
    ) -> Taken<'env> {
        let mut taken = Taken {
            ahead: self,
            rest: if pending.len() < WORTH_FILES { &[] } else { pending },
            window: 0,
            given: VecDeque::new(),
            batches: 0,
            files: VecDeque::new(),
        };
        if taken.rest.is_empty() {
            return taken;
        }
        for _ in 0..self.root.readers() {
            // Without another thread everything is read in the ordinary way.
            if handle_fs::start(scope, "read", || self.read()).is_ok() {
                taken.window += 3;
            }
        }
        taken
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'g>(&self, guard: MutexGuard<'g, State>) -> MutexGuard<'g, State> {
        self.changed.wait(guard).unwrap_or_else(PoisonError::into_inner)
    }

    fn read(&self) {
        let _leave = Leave(self);
        while let Some((number, batch)) = self.next() {
            let files = self.load(&batch);
            self.lock().done.insert(number, files);
            self.changed.notify_all();
        }
    }

    /// Returns the next batch, once there is one; `None` if reading was stopped.
    fn next(&self) -> Option<(usize, Batch)> {
        let mut state = self.lock();
        loop {
            if state.stopped {
                return None;
            }
            if let Some(batch) = state.waiting.pop_front() {
                return Some(batch);
            }
            state = self.wait(state);
        }
    }

    fn load(&self, batch: &Batch) -> Vec<Option<Loaded>> {
        let mut parts: Vec<(&Path, Vec<Wanted<'_>>)> = Vec::new();
        for (directory, items) in &batch.parts {
            parts.push((
                directory.as_path(),
                items.iter().map(|item| item.wanted(!self.written_back)).collect(),
            ));
        }
        let loaded = self.root.load(&parts).unwrap_or_default();
        let mut loaded = loaded.into_iter().map(Result::ok);
        let mut files = Vec::new();
        for (_, items) in &batch.parts {
            let mut part = loaded.next().flatten().unwrap_or_default().into_iter();
            files.extend(items.iter().map(|item| self.file(item, part.next()?.ok()?)));
        }
        files
    }

    /// Returns the file; `None` if it is not the listed one, changed meanwhile, or has holes. It is then read in the ordinary
    /// way.
    fn file(&self, item: &Item, loaded: LoadedFile) -> Option<Loaded> {
        let LoadedFile {
            mut data,
            xattrs,
            stat,
            dense,
            written_back,
        } = loaded;
        let still = stat.kind == NodeKind::File
            && (stat.ino, stat.mtime, stat.ctime) == (item.ino, item.mtime, item.ctime)
            && (stat.size, data.len() as u64) == (item.size, item.size);
        if !still || !dense {
            return None;
        }
        let mut hasher = Hasher::new(
            item.method.unwrap_or_else(|| DigestMethod::of_size(stat.size)),
            stat.size,
        );
        hasher.update(&data);
        let content = hasher.finish();
        if !self.keep_data {
            data = Vec::new();
        }
        Some(Loaded {
            stat,
            xattrs,
            data,
            content,
            written_back: written_back || self.written_back,
        })
    }
}

impl Item {
    fn wanted(&self, write_back: bool) -> Wanted<'_> {
        Wanted {
            name: self.name.as_os_str(),
            size: self.size,
            last: self.ctime.max(self.mtime),
            write_back,
        }
    }
}

/// Guard that stops the reading if a reader panics, so that no thread waits for its results.
struct Leave<'r, 'a>(&'r ReadAhead<'a>);

impl Drop for Leave<'_, '_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.lock().stopped = true;
            self.0.changed.notify_all();
        }
    }
}

/// Place of a file, and the file if it was read ahead.
type Placed = ((usize, usize), Option<Loaded>);

/// Queue of files to read, a little ahead, and of the results, in manifest order.
pub(super) struct Taken<'r> {
    ahead: &'r ReadAhead<'r>,
    /// Files that are not in a batch yet.
    rest: &'r [(usize, usize)],
    /// Maximum number of batches under way.
    window: usize,
    /// The places in each batch that is under way.
    given: VecDeque<Vec<(usize, usize)>>,
    /// Number of batches that came back.
    batches: usize,
    files: VecDeque<Placed>,
}

impl Taken<'_> {
    /// Hands out more batches while there is room. `directory` returns the directory with a number, from that of the next file
    /// on.
    pub(super) fn fill<'m>(
        &mut self,
        reference: Option<Reference<'_>>,
        directory: impl Fn(usize) -> Option<&'m Directory>,
    ) {
        let (most_files, most_bytes) = match self.ahead.root.is_by_shell() {
            true => (SHELL_FILES, SHELL_BYTES),
            false => (BATCH_FILES, BATCH_BYTES),
        };
        while self.given.len() < self.window && !self.rest.is_empty() {
            let (mut batch, mut places, mut bytes) = (Batch::default(), Vec::new(), 0);
            let mut last = None;
            while places.len() < most_files && bytes < most_bytes {
                let Some((place, rest)) = self.rest.split_first() else {
                    break;
                };
                self.rest = rest;
                let Some(dir) = directory(place.0) else { continue };
                let Some(entry) = dir.entries.get(place.1).filter(|entry| is_small(entry)) else {
                    continue;
                };
                if last != Some(place.0) {
                    last = Some(place.0);
                    batch.parts.push((dir.path.clone(), Vec::new()));
                }
                let item = item(entry, dir, reference);
                bytes += item.size;
                places.push(*place);
                if let Some((_, items)) = batch.parts.last_mut() {
                    items.push(item);
                }
            }
            if places.is_empty() {
                continue;
            }
            let number = self.batches + self.given.len();
            self.given.push_back(places);
            self.ahead.lock().waiting.push_back((number, batch));
            self.ahead.changed.notify_all();
        }
    }

    /// Returns the file at `place` if it was read ahead. The caller must ask for places in order.
    pub(super) fn file(&mut self, place: (usize, usize)) -> Option<Loaded> {
        if self.files.is_empty() {
            if *self.given.front()?.first()? != place {
                return None;
            }
            self.files = self.next()?;
        }
        if self.files.front()?.0 == place {
            self.files.pop_front()?.1
        } else {
            None
        }
    }

    fn next(&mut self) -> Option<VecDeque<Placed>> {
        let mut state = self.ahead.lock();
        let files = loop {
            if let Some(files) = state.done.remove(&self.batches) {
                break files;
            }
            if state.stopped {
                return None;
            }
            state = self.ahead.wait(state);
        };
        drop(state);
        self.batches += 1;
        let places = self.given.pop_front()?;
        Some(places.into_iter().zip(files).collect())
    }
}

/// Returns true if the file is small enough to be read ahead, and has no other name.
fn is_small(entry: &Entry) -> bool {
    // A file with several names is read once, in the ordinary way. Two reads could record two contents for one inode.
    entry.nlink == 1 && entry.content().is_some_and(|content| content.size <= IN_MEMORY)
}

fn item(entry: &Entry, directory: &Directory, reference: Option<Reference<'_>>) -> Item {
    let size = entry.content().map_or(0, |content| content.size);
    let before = reference.and_then(|reference| reference.earlier.manifest.directory(&directory.path));
    let old = before
        .and_then(|before| before.entry(&entry.name))
        .and_then(Entry::content);
    Item {
        name: entry.name.clone(),
        size,
        mtime: entry.mtime,
        ctime: entry.ctime,
        ino: entry.ino,
        method: method_of(old, size),
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        self.ahead.lock().stopped = true;
        self.ahead.changed.notify_all();
    }
}
