//! Compresses frames on a few threads and returns them in the order of submission, so that the bytes of an archive do not depend on
//! the number of threads.

use std::collections::VecDeque;
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};

use super::frame::{Packed, pack};

struct Job {
    raw: Vec<u8>,
    reply: Sender<io::Result<Packed>>,
}

/// Frames under way, oldest first.
pub(super) struct Pool {
    level: i32,
    limit: usize,
    workers: Vec<JoinHandle<()>>,
    /// `None` only while the pool is dropped.
    jobs: Option<Sender<Job>>,
    queue: Arc<Mutex<Receiver<Job>>>,
    pending: VecDeque<Receiver<io::Result<Packed>>>,
}

impl Pool {
    pub(super) fn new(level: i32) -> Self {
        let (jobs, queue) = channel();
        Self {
            level,
            limit: handle_fs::threads(),
            workers: Vec::new(),
            jobs: Some(jobs),
            queue: Arc::new(Mutex::new(queue)),
            pending: VecDeque::new(),
        }
    }

    /// Takes a frame. Threads are started one a frame until the limit, so a small archive starts few.
    pub(super) fn submit(&mut self, raw: Vec<u8>) {
        if self.workers.len() < self.limit {
            let (queue, level) = (Arc::clone(&self.queue), self.level);
            // A system that gives no more threads gets by with those that run, or with none.
            if let Ok(worker) = Builder::new()
                .name("frame".to_owned())
                .spawn(move || work(&queue, level))
            {
                self.workers.push(worker);
            }
        }
        let (reply, result) = channel();
        self.pending.push_back(result);
        let job = Job { raw, reply };
        let left = match &self.jobs {
            Some(jobs) if !self.workers.is_empty() => jobs.send(job).err().map(|refused| refused.0),
            _ => Some(job),
        };
        if let Some(job) = left {
            finish(&job, self.level);
        }
    }

    /// Returns true if every thread has enough work; the caller then takes the oldest frame before it submits more.
    pub(super) fn is_full(&self) -> bool {
        self.pending.len() > self.limit + 1
    }

    /// Waits for the oldest frame; `None` when none is under way.
    pub(super) fn oldest(&mut self) -> Option<io::Result<Packed>> {
        let result = self.pending.pop_front()?;
        Some(
            result
                .recv()
                .unwrap_or_else(|_| Err(io::Error::other("a compressing thread ended early"))),
        )
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.jobs = None;
        for worker in self.workers.drain(..) {
            // A worker that died has shown itself by the frame it did not deliver.
            drop(worker.join());
        }
    }
}

fn work(queue: &Mutex<Receiver<Job>>, level: i32) {
    loop {
        let job = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
        match job {
            Ok(job) => finish(&job, level),
            Err(_) => return,
        }
    }
}

fn finish(job: &Job, level: i32) {
    // The receiver is gone only when the archive was given up.
    drop(job.reply.send(pack(&job.raw, level)));
}
