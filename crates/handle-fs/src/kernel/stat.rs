//! The call for the facts of an object.

use std::path::Path;

use crate::system::{Named, own};
use crate::{AsHandle, HandleRef, Result, Stat, remote};

/// Of a name itself.
pub(crate) fn stat(dir: impl AsHandle, path: impl Named) -> Result<Stat> {
    let dir = at!(dir, path, |far, path| far.stat(path, false));
    simulated!(stat(dir, Some(path.as_ref())));
    own::stat(dir, path)
}

/// Of an open object.
pub(crate) fn stat_itself(handle: impl AsHandle) -> Result<Stat> {
    let handle = here!(handle, |far| far.stat(remote::Bytes::default(), true));
    simulated!(stat(handle, None));
    own::stat_itself(handle)
}
