//! Reads and hashes pending files ahead of whoever stores them, on all cores, in manifest order and within a bounded
//! window. Only a help: what did not hold still, failed, or is large is left to be read in the ordinary way.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Scope};

use super::listing::settle;
use super::source::{Source, method_of};
use super::walk::{Reference, Walked};
use crate::mount::{Dir, Root};
use crate::platform::{self, Stat};
use crate::snapshot::{Content, DigestMethod, Name, RelPath, Time};

/// Files up to this size are read once, into memory; larger ones are hashed first and stored in a second pass.
pub(super) const IN_MEMORY: u64 = 4 << 20;

/// A batch holds files of one directory: at most so many, and after so many bytes no more.
const BATCH_FILES: usize = 64;
const BATCH_BYTES: u64 = 1 << 20;
/// Fewer than this are read faster than threads start.
const WORTH_FILES: usize = 16;

/// A file that held still while it was read.
pub(super) struct Loaded {
    /// Its facts then.
    pub(super) stat: Stat,
    /// Its data without holes; empty when nobody needs it.
    pub(super) data: Vec<u8>,
    /// Its digest.
    pub(super) content: Content,
    /// Where the data lies; `None` when it is dense.
    pub(super) segments: Option<Vec<(u64, u64)>>,
}

struct Item {
    /// Indexes of directory and entry.
    place: (usize, usize),
    name: Name,
    ctime: Time,
    method: Option<DigestMethod>,
}

struct Batch {
    directory: RelPath,
    items: Vec<Item>,
}

#[derive(Default)]
struct State {
    /// The next batch that nobody reads yet.
    next: usize,
    /// How many batches were taken.
    taken: usize,
    done: BTreeMap<usize, Vec<Option<Loaded>>>,
    stopped: bool,
}

/// What will be read, and what was.
pub(super) struct ReadAhead<'a> {
    root: &'a Root,
    batches: Vec<Batch>,
    keep_data: bool,
    threads: usize,
    state: Mutex<State>,
    changed: Condvar,
}

impl<'a> ReadAhead<'a> {
    /// Plans what of a walk's pending files is read ahead. `keep_data`: whether the bytes are needed, or the digests alone.
    pub(super) fn plan(
        root: &'a Root,
        walked: &Walked,
        reference: Option<Reference<'_>>,
        keep_data: bool,
    ) -> Self {
        let mut batches: Vec<Batch> = Vec::new();
        let mut last: Option<(usize, u64)> = None;
        let mut files = 0;
        for place in &walked.pending {
            let Some(directory) = walked.manifest.directories.get(place.0) else {
                continue;
            };
            let Some((entry, content)) = directory
                .entries
                .get(place.1)
                .and_then(|entry| Some((entry, entry.content()?)))
            else {
                continue;
            };
            // Another name may have been read already.
            if content.size > IN_MEMORY || entry.nlink > 1 {
                continue;
            }
            let old = reference.and_then(|reference| {
                reference
                    .earlier
                    .manifest
                    .directory(&directory.path)?
                    .entry(&entry.name)?
                    .content()
            });
            let item = Item {
                place: *place,
                name: entry.name.clone(),
                ctime: entry.ctime,
                method: method_of(old, content.size),
            };
            files += 1;
            match (batches.last_mut(), &mut last) {
                (Some(batch), Some((at, bytes)))
                    if *at == place.0 && batch.items.len() < BATCH_FILES && *bytes < BATCH_BYTES =>
                {
                    batch.items.push(item);
                    *bytes = bytes.saturating_add(content.size);
                }
                _ => {
                    batches.push(Batch {
                        directory: directory.path.clone(),
                        items: vec![item],
                    });
                    last = Some((place.0, content.size));
                }
            }
        }
        if files < WORTH_FILES {
            batches.clear();
        }
        Self {
            root,
            batches,
            keep_data,
            threads: platform::threads(),
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// Starts to read. What is dropped stops it.
    pub(super) fn start<'scope, 'env>(&'env self, scope: &'scope Scope<'scope, 'env>) -> Taken<'env> {
        let threads = self.threads.min(self.batches.len());
        for _ in 0..threads {
            // Without another thread everything is read in the ordinary way.
            let reader = thread::Builder::new().name("read".to_owned());
            if reader.spawn_scoped(scope, || self.read()).is_err() {
                self.lock().stopped = true;
            }
        }
        Taken {
            ahead: self,
            batch: 0,
            files: VecDeque::new(),
        }
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
            let files = self.load(batch);
            self.lock().done.insert(number, files);
            self.changed.notify_all();
        }
    }

    /// The next batch, once there is room for it.
    fn next(&self) -> Option<(usize, &Batch)> {
        let mut state = self.lock();
        loop {
            let number = state.next;
            if state.stopped {
                return None;
            }
            let batch = self.batches.get(number)?;
            if number < state.taken + 2 * self.threads + 2 {
                state.next += 1;
                return Some((number, batch));
            }
            state = self.wait(state);
        }
    }

    fn load(&self, batch: &Batch) -> Vec<Option<Loaded>> {
        match self.root.dir(&batch.directory) {
            Ok(dir) => batch
                .items
                .iter()
                .map(|item| self.file(&dir, item).unwrap_or_default())
                .collect(),
            Err(_) => batch.items.iter().map(|_| None).collect(),
        }
    }

    /// `None` when it is not what was listed, or did not hold still: then it is looked at closely by others.
    fn file(&self, dir: &Dir, item: &Item) -> io::Result<Option<Loaded>> {
        let (file, stat) = dir.file(item.name.as_os_str())?;
        if stat.ctime != item.ctime || stat.size > IN_MEMORY {
            return Ok(None);
        }
        settle(stat.ctime.max(stat.mtime));
        let mut source = Source::new(file, &stat, item.method)?;
        let (content, data) = if self.keep_data {
            source.load()?
        } else {
            (source.digest(|_| Ok(()))?, Vec::new())
        };
        let still = platform::stat_handle(source.file())?.same_moment(&stat) && !source.was_short();
        Ok(still.then(|| Loaded {
            stat,
            data,
            content,
            segments: source.segments().map(<[_]>::to_vec),
        }))
    }
}

/// A reader that panics lets nobody wait for what it never gives.
struct Leave<'r, 'a>(&'r ReadAhead<'a>);

impl Drop for Leave<'_, '_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.lock().stopped = true;
            self.0.changed.notify_all();
        }
    }
}

/// What became of the file at a place.
type Placed = ((usize, usize), Option<Loaded>);

/// Gives out what was read, in manifest order.
pub(super) struct Taken<'r> {
    ahead: &'r ReadAhead<'r>,
    /// The batch after the one in `files`.
    batch: usize,
    files: VecDeque<Placed>,
}

impl Taken<'_> {
    /// The file at `place`, when it was read ahead. Places must be asked for in order.
    pub(super) fn file(&mut self, place: (usize, usize)) -> Option<Loaded> {
        if self.files.is_empty() {
            let first = self.ahead.batches.get(self.batch)?.items.first()?;
            if first.place != place {
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
        let batch = self.ahead.batches.get(self.batch)?;
        let mut state = self.ahead.lock();
        let files = loop {
            if let Some(files) = state.done.remove(&self.batch) {
                break files;
            }
            if state.stopped {
                return None;
            }
            state = self.ahead.wait(state);
        };
        self.batch += 1;
        state.taken = self.batch;
        drop(state);
        self.ahead.changed.notify_all();
        let places = batch.items.iter().map(|item| item.place);
        Some(places.zip(files).collect())
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        self.ahead.lock().stopped = true;
        self.ahead.changed.notify_all();
    }
}
