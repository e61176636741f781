//! Lists a directory until it holds still, so that what is not in the list was not there.

use std::io;
use std::time::Duration;

use crate::mount::Dir;
use crate::platform::{self, Stat};
use crate::snapshot::{Listing, Name, Time};

/// How coarse a file system's times may be: two changes within this span can carry the same time (kernels before
/// 6.13 stamp with the timer tick, at most 10 ms).
pub(super) const TICK_NANOS: i128 = 20_000_000;

/// A name with the facts of what it names.
pub(super) type Child = (Name, io::Result<Stat>);

/// Lists a directory until it holds still: neither its times nor its names moved between two looks.
pub(super) fn list(dir: &Dir) -> io::Result<(Listing, Vec<Child>)> {
    let mut children = Vec::new();
    for _ in 0..4 {
        let before = dir.stat()?;
        settle(before.ctime.max(before.mtime));
        children.clear();
        let mut vanished = false;
        for name in dir.names()? {
            match dir.look(name.as_os_str()) {
                Ok(Some(stat)) => children.push((name, Ok(stat))),
                Ok(None) => vanished = true,
                Err(error) => children.push((name, Err(error))),
            }
        }
        let after = dir.stat()?;
        if !vanished && before.mtime == after.mtime && before.ctime == after.ctime {
            return Ok((Listing::Proven, children));
        }
    }
    Ok((Listing::Unsettled, children))
}

/// Waits until a change made now would carry another time than `last`; a change within one tick of the file system's
/// clock would otherwise go unseen.
pub(crate) fn settle(last: Time) {
    let age = platform::file_clock().nanos() - last.nanos();
    if (0..TICK_NANOS).contains(&age) {
        let rest = u64::try_from(TICK_NANOS - age).unwrap_or(0);
        platform::pause(Duration::from_nanos(rest));
    }
}
