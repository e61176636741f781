//! The calls about extended attributes and inode flags.

#[cfg(any(test, debug_assertions, feature = "simulated"))]
use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::path::Path;
#[cfg(any(test, debug_assertions, feature = "simulated"))]
use std::path::PathBuf;

use crate::remote::{self, Call};
#[cfg(any(test, debug_assertions, feature = "simulated"))]
use crate::simulated::Address;
use crate::system::{Bearer, own};
use crate::{AsHandle, HandleRef, Result};

/// The bearer with a handle of this machine; else the answer comes from the machine that it belongs to.
macro_rules! bearer_here {
    ($bearer:expr, |$far:ident, $name:ident| $answer:expr) => {
        match $bearer {
            Bearer::Open(handle) => Bearer::Open(here!(handle, |$far| {
                let $name = None;
                $answer
            })),
            Bearer::Child(dir, name) => Bearer::Child(
                here!(dir, |$far| {
                    let $name = Some(remote::Bytes::from(Path::new(name)));
                    $answer
                }),
                *name,
            ),
        }
    };
}

/// Returns the address of a bearer in a world.
#[cfg(any(test, debug_assertions, feature = "simulated"))]
fn address(bearer: &Bearer<'_, BorrowedFd<'_>>) -> Address {
    match bearer {
        Bearer::Open(handle) => Address::Open(handle.as_raw_fd()),
        Bearer::Child(dir, name) => {
            let name = if name.is_empty() {
                PathBuf::from(".")
            } else {
                PathBuf::from(name)
            };
            Address::Child(dir.as_raw_fd(), name)
        }
    }
}

pub(crate) fn list_xattr<D: AsHandle>(bearer: &Bearer<'_, D>, room: &mut [u8]) -> Result<usize> {
    let bearer = bearer_here!(bearer, |far, name| far.fill(
        Call::ListAttributes {
            dir: far.number(),
            name
        },
        room
    ));
    simulated!(list_xattr(address(&bearer), room));
    own::list_xattr(&bearer, room)
}

pub(crate) fn get_xattr<D: AsHandle>(bearer: &Bearer<'_, D>, name: &[u8], room: &mut [u8]) -> Result<usize> {
    let bearer = bearer_here!(bearer, |far, child| far.fill(
        Call::GetAttribute {
            dir: far.number(),
            name: child,
            attribute: name.into()
        },
        room
    ));
    simulated!(get_xattr(address(&bearer), name, room));
    own::get_xattr(&bearer, name, room)
}

pub(crate) fn set_xattr<D: AsHandle>(bearer: &Bearer<'_, D>, name: &[u8], value: &[u8]) -> Result<()> {
    let bearer = bearer_here!(bearer, |far, child| far.done(Call::SetAttribute {
        dir: far.number(),
        name: child,
        attribute: name.into(),
        value: Some(value.into())
    }));
    simulated!(set_xattr(address(&bearer), name, Some(value)));
    own::set_xattr(&bearer, name, value)
}

pub(crate) fn remove_xattr<D: AsHandle>(bearer: &Bearer<'_, D>, name: &[u8]) -> Result<()> {
    let bearer = bearer_here!(bearer, |far, child| far.done(Call::SetAttribute {
        dir: far.number(),
        name: child,
        attribute: name.into(),
        value: None
    }));
    simulated!(set_xattr(address(&bearer), name, None));
    own::remove_xattr(&bearer, name)
}

/// The flags of `chattr` with Linux's numbers.
pub(crate) fn inode_flags(handle: impl AsHandle) -> Result<u32> {
    let handle = here!(handle, |far| far.inode_flags());
    simulated!(inode_flags(handle));
    own::inode_flags(handle)
}

/// Sets the flags of `chattr`, given with Linux's numbers.
pub(crate) fn set_inode_flags(handle: impl AsHandle, flags: u32) -> Result<()> {
    let handle = here!(handle, |far| far.set_inode_flags(flags));
    simulated!(set_inode_flags(handle, flags));
    own::set_inode_flags(handle, flags)
}
