//! Those who walk: as many as there are cores.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use super::scan::{Job, Scan, Scanned};
use super::tally::Tally;
use super::{Skipped, Walk};
use crate::capture::CaptureError;
use crate::platform;
use crate::snapshot::RelPath;

/// What all of them found, in no order.
#[derive(Default)]
pub(super) struct Found {
    pub(super) directories: Vec<Scanned>,
    pub(super) skipped: Vec<Skipped>,
    /// Directories that their parents named and that are gone, or others, now.
    pub(super) vanished: Vec<RelPath>,
}

impl Found {
    fn add(&mut self, other: Self) {
        self.directories.extend(other.directories);
        self.skipped.extend(other.skipped);
        self.vanished.extend(other.vanished);
    }
}

/// What is shared: the directories that anybody may take, and how many walkers still have some of their own. The walk is
/// over when both are none.
#[derive(Default)]
struct Queue {
    waiting: Vec<Job>,
    busy: usize,
    /// Why everybody stops.
    stopped: Option<CaptureError>,
}

/// The walkers of one walk. Each goes down into what it finds and shares only when another one has nothing to do.
pub(super) struct Crew<'w> {
    scan: Scan<'w>,
    queue: Mutex<Queue>,
    changed: Condvar,
    /// How many walkers wait for something to do.
    idle: AtomicUsize,
    is_stopped: AtomicBool,
}

impl<'w> Crew<'w> {
    pub(super) fn new(walk: &'w Walk<'w>, tally: &'w Tally) -> Self {
        Self {
            scan: Scan { walk, tally },
            queue: Mutex::default(),
            changed: Condvar::new(),
            idle: AtomicUsize::new(0),
            is_stopped: AtomicBool::new(false),
        }
    }

    /// Looks at `root` and everything below it. A limit that is exceeded ends it early; the tally knows.
    ///
    /// # Errors
    /// When the root cannot be listed, or the operator stopped it.
    pub(super) fn run(self, root: Job) -> Result<Found, CaptureError> {
        self.lock().waiting.push(root);
        let more = platform::threads() - 1;
        let mut found = Found::default();
        thread::scope(|scope| {
            // A system that gives no more threads gets by with this one.
            let others: Vec<_> = (0..more)
                .filter_map(|_| {
                    let walker = thread::Builder::new().name("walk".to_owned());
                    walker.spawn_scoped(scope, || self.walk()).ok()
                })
                .collect();
            found.add(self.walk());
            for other in others {
                match other.join() {
                    Ok(theirs) => found.add(theirs),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
        });
        match self.lock().stopped.take() {
            Some(error) => Err(error),
            None => Ok(found),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at one directory after the other until there is none left.
    fn walk(&self) -> Found {
        let mut found = Found::default();
        let _leave = Leave(self);
        let mut own = Vec::new();
        let mut first = true;
        while let Some(job) = own.pop().or_else(|| self.next(std::mem::take(&mut first))) {
            let path = job.path.clone();
            match self.scan.directory(job) {
                Ok(outcome) => {
                    match outcome.scanned {
                        Some(scanned) => found.directories.push(scanned),
                        None => found.vanished.push(path),
                    }
                    found.skipped.extend(outcome.skipped);
                    // The first comes out first: neighbours lie close to each other on the disk.
                    own.extend(outcome.below.into_iter().rev());
                }
                Err(error) => self.stop(Some(error)),
            }
            if self.scan.walk.observer.cancelled() {
                self.stop(Some(CaptureError::Interrupted));
            } else if self.scan.tally.exceeded().is_some() {
                self.stop(None);
            }
            if self.is_stopped.load(Ordering::Relaxed) {
                break;
            }
            if own.len() > 1 && self.idle.load(Ordering::Relaxed) > 0 {
                self.share(&mut own);
            }
        }
        found
    }

    /// A directory that somebody shared; waits while others may still share some. `first`: before the first one.
    fn next(&self, first: bool) -> Option<Job> {
        let mut queue = self.lock();
        if !first {
            queue.busy -= 1;
        }
        loop {
            if self.is_stopped.load(Ordering::Relaxed) {
                return None;
            }
            if let Some(job) = queue.waiting.pop() {
                queue.busy += 1;
                return Some(job);
            }
            if queue.busy == 0 {
                self.changed.notify_all();
                return None;
            }
            self.idle.fetch_add(1, Ordering::Relaxed);
            queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
            self.idle.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Gives away the older half: those are nearer to the top, and hold more.
    fn share(&self, own: &mut Vec<Job>) {
        let mut queue = self.lock();
        let half = own.len() / 2;
        queue.waiting.extend(own.drain(..half));
        drop(queue);
        self.changed.notify_all();
    }

    fn stop(&self, why: Option<CaptureError>) {
        let mut queue = self.lock();
        self.is_stopped.store(true, Ordering::Relaxed);
        if queue.stopped.is_none() {
            queue.stopped = why;
        }
        drop(queue);
        self.changed.notify_all();
    }
}

/// A walker that panics stops the others, who would wait for what it never finds.
struct Leave<'c, 'w>(&'c Crew<'w>);

impl Drop for Leave<'_, '_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.stop(None);
        }
    }
}
