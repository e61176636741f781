//! An open file or directory: of this machine, or of another one, reached through an agent that runs there.

use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use super::remote::RemoteHandle;

/// An open file or directory. Closed when it is dropped.
#[derive(Debug)]
pub struct Handle(Held);

#[derive(Debug)]
enum Held {
    Here(OwnedFd),
    There(RemoteHandle),
}

/// A borrowed [`Handle`].
#[derive(Clone, Copy, Debug)]
pub enum HandleRef<'h> {
    /// Of this machine.
    Here(BorrowedFd<'h>),
    /// Of another one.
    There(&'h RemoteHandle),
}

/// A type that has a handle.
pub trait AsHandle {
    /// Borrows it.
    fn as_handle(&self) -> HandleRef<'_>;
}

impl From<OwnedFd> for Handle {
    fn from(handle: OwnedFd) -> Self {
        Self(Held::Here(handle))
    }
}

impl From<RemoteHandle> for Handle {
    fn from(far: RemoteHandle) -> Self {
        Self(Held::There(far))
    }
}

impl AsHandle for Handle {
    fn as_handle(&self) -> HandleRef<'_> {
        match &self.0 {
            Held::Here(handle) => HandleRef::Here(handle.as_fd()),
            Held::There(far) => HandleRef::There(far),
        }
    }
}

impl AsHandle for std::fs::File {
    fn as_handle(&self) -> HandleRef<'_> {
        HandleRef::Here(self.as_fd())
    }
}

impl AsHandle for BorrowedFd<'_> {
    fn as_handle(&self) -> HandleRef<'_> {
        HandleRef::Here(*self)
    }
}

impl AsHandle for HandleRef<'_> {
    fn as_handle(&self) -> HandleRef<'_> {
        *self
    }
}

impl<T: AsHandle> AsHandle for &T {
    fn as_handle(&self) -> HandleRef<'_> {
        T::as_handle(self)
    }
}
