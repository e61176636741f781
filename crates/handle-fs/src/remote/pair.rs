//! Two places of one call, which have to lie on one machine.

use std::path::Path;
use std::sync::Arc;

use rustix::fs::RenameFlags;
use rustix::io::Errno;

use super::connection::Connection;
use super::ensure_here;
use super::protocol::{Answer, Bytes, Call, Moving};
use crate::{AsHandle, HandleRef, Result};

/// Two places of one call.
pub(crate) enum Pair<'h> {
    Here(std::os::fd::BorrowedFd<'h>, std::os::fd::BorrowedFd<'h>),
    There(FarPair),
}

/// Two places on one other machine.
pub(crate) struct FarPair {
    connection: Arc<Connection>,
    from: (u64, Bytes),
    to: (u64, Bytes),
}

/// Resolves the two paths of one call. It fails with `EXDEV` if they are on different machines.
pub(crate) fn pair<'h>(
    from: &'h impl AsHandle,
    old: &Path,
    to: &'h impl AsHandle,
    new: &Path,
) -> Result<Pair<'h>> {
    let place = |handle: HandleRef<'h>, path: &Path| match handle {
        HandleRef::There(far) => Ok(Err((
            Arc::clone(far.connection()),
            far.number(),
            Bytes::from(path),
        ))),
        HandleRef::Here(here) => ensure_here(here, path).map(|()| Ok(here)),
    };
    match (place(from.as_handle(), old)?, place(to.as_handle(), new)?) {
        (Ok(from), Ok(to)) => Ok(Pair::Here(from, to)),
        (Err((connection, dir, old)), Err((other, to, new))) if Arc::ptr_eq(&connection, &other) => {
            Ok(Pair::There(FarPair {
                connection,
                from: (dir, old),
                to: (to, new),
            }))
        }
        _ => Err(Errno::XDEV),
    }
}

impl FarPair {
    fn done(self, call: impl FnOnce((u64, Bytes), (u64, Bytes)) -> Call) -> Result<()> {
        match self.connection.call(call(self.from, self.to))? {
            Answer::Done => Ok(()),
            _ => Err(Errno::IO),
        }
    }

    pub(crate) fn link(self) -> Result<()> {
        self.done(|(from, old), (to, new)| Call::Link { from, old, to, new })
    }

    pub(crate) fn rename(self, flags: RenameFlags) -> Result<()> {
        let how = if flags.contains(RenameFlags::EXCHANGE) {
            Moving::Exchange
        } else if flags.contains(RenameFlags::NOREPLACE) {
            Moving::New
        } else {
            Moving::Over
        };
        self.done(|(from, old), (to, new)| Call::Rename {
            from,
            old,
            to,
            new,
            how,
        })
    }
}
