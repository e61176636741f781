//! Those who walk: as many as there are cores, each takes the next directory that nobody has looked at.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use super::scan::{Job, Scan, Scanned, Tally};
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

/// The directories that wait, and how many are looked at now. The walk is over when both are none.
#[derive(Default)]
struct Queue {
    waiting: Vec<Job>,
    busy: usize,
    /// Why everybody stops.
    stopped: Option<CaptureError>,
    is_stopped: bool,
}

/// The walkers of one walk.
pub(super) struct Crew<'w> {
    scan: Scan<'w>,
    queue: Mutex<Queue>,
    changed: Condvar,
}

impl<'w> Crew<'w> {
    pub(super) fn new(walk: &'w Walk<'w>, tally: &'w Tally) -> Self {
        Self {
            scan: Scan { walk, tally },
            queue: Mutex::default(),
            changed: Condvar::new(),
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
        while let Some(job) = self.next() {
            let path = job.0.clone();
            let below = match self.scan.directory(job) {
                Ok(outcome) => {
                    match outcome.scanned {
                        Some(scanned) => found.directories.push(scanned),
                        None => found.vanished.push(path),
                    }
                    found.skipped.extend(outcome.skipped);
                    outcome.below
                }
                Err(error) => {
                    self.stop(Some(error));
                    Vec::new()
                }
            };
            if self.scan.walk.observer.cancelled() {
                self.stop(Some(CaptureError::Interrupted));
            } else if self.scan.tally.exceeded().is_some() {
                self.stop(None);
            }
            self.done(below);
        }
        found
    }

    /// The next directory; waits while others may still find some.
    fn next(&self) -> Option<Job> {
        let mut queue = self.lock();
        loop {
            if queue.is_stopped {
                return None;
            }
            if let Some(job) = queue.waiting.pop() {
                queue.busy += 1;
                return Some(job);
            }
            if queue.busy == 0 {
                return None;
            }
            queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn done(&self, below: Vec<Job>) {
        let mut queue = self.lock();
        queue.busy -= 1;
        let more = below.len() > 1;
        // The first comes out first: neighbours lie close to each other on the disk.
        queue.waiting.extend(below.into_iter().rev());
        let wake = more || queue.busy == 0;
        drop(queue);
        if wake {
            self.changed.notify_all();
        }
    }

    fn stop(&self, why: Option<CaptureError>) {
        let mut queue = self.lock();
        queue.is_stopped = true;
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
