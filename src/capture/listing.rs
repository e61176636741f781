//! Lists a directory until it holds still, so that what is not in the list was not there.

use std::io;

use crate::model::{Listing, Name};
use handle_fs::Dir;
use handle_fs::{Looked, Stat};

/// A name with the facts of what it names.
pub(super) type Child = (Name, io::Result<Stat>);

/// Maximum number of times that a changing directory is listed.
const ATTEMPTS: usize = 4;

/// Lists a directory until it holds still: its times and names did not change during one listing. `first` is the first listing.
pub(super) fn list(dir: &Dir, first: io::Result<Looked>) -> io::Result<(Listing, Vec<Child>)> {
    let mut children = Vec::new();
    let mut next = Some(first);
    for _ in 0..ATTEMPTS {
        let Looked {
            before,
            children: found,
            vanished,
            after,
        } = next.take().unwrap_or_else(|| dir.look_into())?;
        children = named(found);
        // A name that comes or goes during the listing may be missing from it. These times are the only trace of that.
        if !vanished && before.mtime == after.mtime && before.ctime == after.ctime {
            return Ok((Listing::Proven, children));
        }
    }
    // A name that is not in this list may exist all the same: nothing is ever deleted because of it.
    Ok((Listing::Unsettled, children))
}

/// Converts the names. The kernel makes none that a path cannot hold.
fn named(found: Vec<(Vec<u8>, io::Result<Stat>)>) -> Vec<Child> {
    let child = |(name, stat): (Vec<u8>, _)| Name::new(&name).ok().map(|name| (name, stat));
    found.into_iter().filter_map(child).collect()
}
