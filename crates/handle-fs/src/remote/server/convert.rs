//! Conversions from results of this machine's kernel to answers of the protocol.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;

use rustix::io::Errno;

use crate::HandleRef;
use crate::remote::error_number::sent;
use crate::remote::protocol::{Bytes, Each, Facts, LoadedFile, Seen, Wanted};
use crate::{Time, Xattr};

/// An agent reads so much at once (bytes).
pub(super) const MOST: u64 = 4 << 20;

pub(super) fn seen(looked: crate::Looked) -> Seen {
    let child = |(name, stat): (Vec<u8>, io::Result<crate::Stat>)| (Bytes(name), one(stat));
    Seen {
        before: Facts::from(&looked.before),
        children: looked.children.into_iter().map(child).collect(),
        vanished: looked.vanished,
        after: Facts::from(&looked.after),
    }
}

pub(super) fn attribute(attribute: Xattr) -> (Bytes, Bytes) {
    (Bytes::from(&*attribute.name), Bytes::from(&*attribute.value))
}

pub(super) fn one(stat: io::Result<crate::Stat>) -> Each<Facts> {
    stat.map(|stat| Facts::from(&stat))
        .map_err(|error| sent(number_of(&error)))
}

pub(super) fn number_of(error: &io::Error) -> Errno {
    error.raw_os_error().map_or(Errno::IO, Errno::from_raw_os_error)
}

pub(super) fn load(dir: HandleRef<'_>, wanted: &Wanted) -> Each<LoadedFile> {
    let (sec, nsec) = wanted.last;
    let loaded = crate::load_file(
        dir,
        &crate::Wanted {
            name: OsStr::from_bytes(&wanted.name.0),
            size: wanted.size.min(MOST),
            last: Time { sec, nsec },
            write_back: wanted.write_back,
        },
    );
    let loaded = loaded.map_err(|error| sent(number_of(&error)))?;
    Ok(LoadedFile {
        data: Bytes(loaded.data),
        attributes: loaded.xattrs.into_iter().map(attribute).collect(),
        facts: Facts::from(&loaded.stat),
        dense: loaded.dense,
        written_back: loaded.written_back,
    })
}
