//! A file system in memory that answers the calls of one thread, for tests: it keeps apart what a process sees and what is on
//! disk, so that every state that a power loss may leave can be made (`docs/crash-safety.md` has its contract).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a panic here is a test that fails"
)]

mod calls;
mod disk;
mod faults;
mod handles;
mod outcomes;
#[cfg(test)]
mod tests;
mod tree;
mod world;

use std::cell::RefCell;
use std::marker::PhantomData;
use std::os::fd::RawFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub use disk::{Disk, Node};
pub use faults::{Fault, errors};
pub use outcomes::{Losses, outcomes};
pub use tree::{Object, Tree};
pub use world::{Moment, World};

use crate::Entropy;

thread_local! {
    static HERE: RefCell<Option<Shared>> = const { RefCell::new(None) };
}

/// A world that several hold.
#[derive(Clone, Debug)]
pub struct Shared(Arc<Mutex<World>>);

impl Shared {
    /// Makes a world that can be shared.
    #[must_use]
    pub fn new(world: World) -> Self {
        Self(Arc::new(Mutex::new(world)))
    }

    /// Locks the world for this thread.
    pub fn lock(&self) -> MutexGuard<'_, World> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets this thread live in the world until the answer is dropped.
    pub fn enter(&self) -> Inside {
        HERE.with_borrow_mut(|here| {
            assert!(here.is_none(), "a world within a world");
            *here = Some(self.clone());
        });
        Inside(PhantomData)
    }
}

/// This thread lives in a simulated world.
pub struct Inside(PhantomData<*const ()>);

impl Drop for Inside {
    fn drop(&mut self) {
        HERE.with_borrow_mut(|here| *here = None);
    }
}

/// The world that this thread lives in.
pub fn world() -> Option<Shared> {
    HERE.with_borrow(Clone::clone)
}

/// The content of the file at `path`; none outside of a world.
pub fn content(path: &Path) -> Option<Arc<Vec<u8>>> {
    world().map(|world| world.lock().content(path).unwrap_or_default())
}

/// Runs `work` in a world; gives its answer and the world.
pub fn within<T>(world: World, work: impl FnOnce() -> T) -> (T, Shared) {
    let shared = Shared::new(world);
    let inside = shared.enter();
    let done = work();
    drop(inside);
    (done, shared)
}

/// Bytes that are the same in every run of a world, and never the same twice in it.
pub struct Letters;

impl Entropy for Letters {
    fn fill(&self, bytes: &mut [u8]) {
        let Some(world) = world() else { return };
        let mut number = world.lock().draw();
        for byte in bytes.iter_mut().rev() {
            *byte = (number % 32) as u8;
            number /= 32;
        }
    }
}

/// Object that bears attributes: an open one, or a child of an open directory.
pub(super) enum Address {
    Open(RawFd),
    Child(RawFd, PathBuf),
}
