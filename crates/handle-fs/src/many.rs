//! Many calls in one exchange with another machine, where each call by itself is waited for. This machine takes the same calls one by one,
//! so a caller asks first ([`super::is_far`]).

use std::ffi::OsStr;
use std::io;
use std::path::Path;

use super::remote::{Limitation, NewName as Named, protocol::Moving};
use super::{AsHandle, Handle, HandleRef, Stat, Time, exchange, rename_new};

/// A view of many objects, seen at one moment. While it is held and nothing is changed, looks at them are answered from it, for a few
/// seconds.
#[derive(Debug)]
pub struct Survey(#[expect(dead_code, reason = "the view ends when the handle is dropped")] Option<Handle>);

/// A name that gets another name.
#[derive(Clone, Copy, Debug)]
pub struct NewName<'n> {
    /// The directory that it lies in.
    pub from: HandleRef<'n>,
    /// Its name there.
    pub old: &'n OsStr,
    /// The directory that it goes to.
    pub to: HandleRef<'n>,
    /// Its name there, which must be free, or that of the object it changes places with.
    pub new: &'n OsStr,
    /// True if the two objects change places.
    pub exchange: bool,
}

/// A small file to make.
#[derive(Clone, Debug)]
pub struct NewFile<'n> {
    /// Its name, which must be free.
    pub name: &'n OsStr,
    /// Its content.
    pub data: Vec<u8>,
    /// Its mode.
    pub mode: u32,
    /// Its user and group, as far as they can be set.
    pub owner: (u32, u32),
    /// Its modification time, as finely as it can be set.
    pub mtime: Time,
}

/// Looks at names in directories below one, and with `load` at the content of small files among them. On this machine nothing is asked.
pub fn survey<'n>(
    root: impl AsHandle,
    parts: impl Iterator<Item = (&'n Path, Vec<&'n OsStr>)>,
    load: bool,
) -> Survey {
    let HandleRef::There(far) = root.as_handle() else {
        return Survey(None);
    };
    let part = |(path, names): (&Path, Vec<&OsStr>)| {
        let names = names.into_iter().map(|name| Path::new(name).into());
        (path.into(), names.collect())
    };
    // What fails here is asked for by itself, and fails there.
    let seen = far.survey(parts.map(part).collect(), load);
    Survey(seen.ok().map(Handle::from))
}

/// Moves names ([`rename_new`], [`exchange`]), in order, up to the first that fails. Returns the number of those that were moved, and the
/// error of the next one.
pub fn rename_many(moves: &[NewName<'_>]) -> (usize, io::Result<()>) {
    let far = |handle: HandleRef<'_>| match handle {
        HandleRef::There(far) => Some(far.number()),
        HandleRef::Here(_) => None,
    };
    let named = |one: &NewName<'_>| {
        Some(Named {
            from: far(one.from)?,
            old: Path::new(one.old).into(),
            to: far(one.to)?,
            new: Path::new(one.new).into(),
            how: match one.exchange {
                true => Moving::Exchange,
                false => Moving::New,
            },
        })
    };
    let one_machine = moves.first().and_then(|first| match first.from {
        HandleRef::There(far) => Some(far),
        HandleRef::Here(_) => None,
    });
    let on_it = |handle: HandleRef<'_>| match (handle, one_machine) {
        (HandleRef::There(far), Some(first)) => far.is_on_machine_of(first),
        _ => false,
    };
    let together = moves.iter().all(|one| on_it(one.from) && on_it(one.to));
    let all: Option<Vec<Named>> = moves.iter().map(named).collect();
    match (one_machine, all) {
        (Some(first), Some(all)) if together => first.rename_many(all),
        _ => {
            for (count, one) in moves.iter().enumerate() {
                let moved = match one.exchange {
                    true => exchange(one.from, one.old, one.to, one.new),
                    false => rename_new(one.from, one.old, one.to, one.new),
                };
                if let Err(error) = moved {
                    return (count, Err(error));
                }
            }
            (moves.len(), Ok(()))
        }
    }
}

/// Removes names that are no directories, in one exchange with another machine.
///
/// # Errors
/// The system's error; an unknown part of them is removed then. `Unsupported` on this machine: nothing is removed.
pub fn remove_many(dir: impl AsHandle, names: &[&OsStr]) -> io::Result<()> {
    match dir.as_handle() {
        HandleRef::There(far) => {
            Ok(far.unlink_many(names.iter().map(|name| Path::new(name).into()).collect())?)
        }
        HandleRef::Here(_) => Err(io::ErrorKind::Unsupported.into()),
    }
}

/// Returns the time that a file gets on the machine of a handle when `mtime` is set: some have whole seconds only.
#[must_use]
pub fn settable(handle: impl AsHandle, mtime: Time) -> Time {
    match handle.as_handle() {
        HandleRef::There(far) if far.lacks(Limitation::FineTimes) => Time { nsec: 0, ..mtime },
        _ => mtime,
    }
}

/// Makes small files in one exchange with another machine, and returns their facts in order. What could not be set shows in them.
///
/// # Errors
/// The system's error; an unknown part of them is made then. `Unsupported` on this machine: none is made.
pub fn make_files(dir: impl AsHandle, files: Vec<NewFile<'_>>) -> io::Result<Vec<io::Result<Stat>>> {
    match dir.as_handle() {
        HandleRef::There(far) => Ok(far.make_files(files)?),
        HandleRef::Here(_) => Err(io::ErrorKind::Unsupported.into()),
    }
}
