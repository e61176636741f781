//! Watch over a tree: it reports that something in it may have changed, never what (inotify(7)).
//!
//! Each directory has a watch. An event is in the queue before the call that caused it returns, so an empty queue proves that
//! nothing has happened. A store through a mapping causes none; the file was opened before, and that does.

use std::io;
use std::path::Path;

use crate::RelPath;

/// Decides which directories of a tree are watched.
pub type Enters<'a> = Box<dyn Fn(&RelPath) -> bool + 'a>;

/// Reason why events of a tree do not show every change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blindness {
    /// Events were lost, or a directory was moved: the tree must be read again.
    Stale,
    /// A file has a name outside of the tree.
    Links,
    /// A file belongs to another user, whose processes cannot be examined.
    Owners,
    /// Another directory has taken the root's path.
    Replaced,
}

#[cfg(target_os = "linux")]
pub use linux::TreeWatch;
#[cfg(not(target_os = "linux"))]
pub use other::TreeWatch;

#[cfg(test)]
#[cfg(all(target_os = "linux", not(feature = "portable")))]
mod tests;

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::HashMap;
    use std::mem::MaybeUninit;
    use std::os::fd::{AsFd, OwnedFd};
    use std::path::PathBuf;
    use std::rc::Rc;
    use std::time::Duration;

    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::fs::inotify::{CreateFlags, ReadFlags, Reader, WatchFlags, add_watch, init};
    use rustix::io::Errno;

    use super::{Blindness, Enters, Path, RelPath, io};
    use crate::{
        Handle, Name, NodeKind, Stat, file_system_facts, names, open_beneath, open_root, own_ids,
        path_of_held, stat_child, stat_handle, stat_path,
    };

    /// File systems of a disk or of memory on which all changes are made by this kernel: ext4, XFS, btrfs, F2FS, ZFS, bcachefs, tmpfs.
    const REPORTING: [u64; 7] = [
        0xef53,
        0x5846_5342,
        0x9123_683e,
        0xf2f5_2010,
        0x2fc1_2fc1,
        0xca45_1a4e,
        0x0102_1994,
    ];
    /// Bytes of events that are read at once.
    const BUFFER: usize = 1 << 16;
    /// Events after which a reading stops: the caller does not wait for a program that writes without end.
    const MOST: usize = 1 << 16;

    const WATCHED: WatchFlags = WatchFlags::ONLYDIR
        .union(WatchFlags::OPEN)
        .union(WatchFlags::MODIFY)
        .union(WatchFlags::CLOSE_WRITE)
        .union(WatchFlags::ATTRIB)
        .union(WatchFlags::CREATE)
        .union(WatchFlags::DELETE)
        .union(WatchFlags::DELETE_SELF)
        .union(WatchFlags::MOVED_FROM)
        .union(WatchFlags::MOVED_TO)
        .union(WatchFlags::MOVE_SELF);

    /// Watch over the directories of one tree.
    pub struct TreeWatch<'a> {
        path: PathBuf,
        root: Handle,
        top: Stat,
        enters: Enters<'a>,
        queue: Rc<OwnedFd>,
        /// Path of each watched directory.
        directories: HashMap<i32, RelPath>,
        /// Number of names of each file with several ones that lie outside of the tree.
        outside: HashMap<u64, u32>,
        changes: u64,
        openings: u64,
        is_stale: bool,
        /// True if a file belongs to another user.
        has_others: bool,
        /// True if a directory could not be listed.
        has_closed: bool,
    }

    impl<'a> TreeWatch<'a> {
        /// Watches the directories of a tree into which `enters` leads.
        ///
        /// # Errors
        /// `Unsupported` for a file system that does not report every change. The system's error, also if there are no watches left.
        pub fn begin(path: &Path, enters: Enters<'a>) -> io::Result<Self> {
            let root = open_root(path)?;
            if !file_system_facts(&root)?.is_some_and(|facts| REPORTING.contains(&facts.kind)) {
                return Err(io::ErrorKind::Unsupported.into());
            }
            let mut watch = Self {
                path: path.to_path_buf(),
                top: stat_handle(&root)?,
                root,
                enters,
                queue: Rc::new(new_queue()?),
                directories: HashMap::new(),
                outside: HashMap::new(),
                changes: 0,
                openings: 0,
                is_stale: false,
                has_others: false,
                has_closed: false,
            };
            watch.fill()?;
            Ok(watch)
        }

        /// Returns the number of changes so far. One may be counted several times.
        #[must_use]
        pub fn changes(&self) -> u64 {
            self.changes
        }

        /// Returns how often a file may have been opened so far.
        #[must_use]
        pub fn openings(&self) -> u64 {
            self.openings
        }

        /// Returns the reason why the counts do not show everything, if there is one.
        #[must_use]
        pub fn blindness(&self) -> Option<Blindness> {
            let named = stat_path(&self.path).ok().flatten();
            let is_it = |named: Stat| (named.place, named.ino) == (self.top.place, self.top.ino);
            if !named.is_some_and(is_it) {
                return Some(Blindness::Replaced);
            }
            if self.is_stale {
                return Some(Blindness::Stale);
            }
            if self.has_others {
                return Some(Blindness::Owners);
            }
            let has_outside = self.outside.values().any(|count| *count > 0);
            has_outside.then_some(Blindness::Links)
        }

        /// Reads the tree again, with new watches.
        ///
        /// # Errors
        /// The system's error.
        pub fn renew(&mut self) -> io::Result<()> {
            self.queue = Rc::new(new_queue()?);
            self.directories.clear();
            self.outside.clear();
            (self.is_stale, self.has_others, self.has_closed) = (false, false, false);
            let filled = self.fill();
            // Not before: until then changes had no watch.
            self.changes += 1;
            self.openings += 1;
            filled
        }

        /// Counts what has happened. Returns true if that was everything: the queue is empty.
        ///
        /// # Errors
        /// The system's error.
        pub fn read(&mut self) -> io::Result<bool> {
            let queue = Rc::clone(&self.queue);
            let mut buffer = vec![MaybeUninit::uninit(); BUFFER];
            let mut reader = Reader::new(queue.as_fd(), &mut buffer);
            for _ in 0..MOST {
                let (place, events, name) = match reader.next() {
                    Ok(event) => {
                        let name = event.file_name().and_then(|name| Name::new(name.to_bytes()).ok());
                        (event.wd(), event.events(), name)
                    }
                    Err(Errno::AGAIN) => return Ok(true),
                    Err(Errno::INTR) => continue,
                    Err(error) => return Err(error.into()),
                };
                self.count(place, events, name.as_ref())?;
            }
            Ok(false)
        }

        /// Waits until something happens in one of the trees, or `other` can be read. Returns false if the time passed without.
        ///
        /// # Errors
        /// The system's error.
        pub fn wait(watches: &[Self], other: impl AsFd, most: Duration) -> io::Result<bool> {
            let queues = watches
                .iter()
                .map(|watch| PollFd::new(&*watch.queue, PollFlags::IN));
            let mut all: Vec<PollFd<'_>> = queues.collect();
            all.push(PollFd::new(&other, PollFlags::IN));
            let most = Timespec::try_from(most).map_err(io::Error::other)?;
            match poll(&mut all, Some(&most)) {
                Err(Errno::INTR) => Ok(true),
                ready => Ok(ready? > 0),
            }
        }

        fn fill(&mut self) -> io::Result<()> {
            let mut linked: HashMap<u64, (u32, u32)> = HashMap::new();
            let filled = self.enter(RelPath::root(), &mut |stat| {
                let (_, seen) = linked.entry(stat.ino).or_insert((stat.nlink, 0));
                *seen += 1;
            });
            let outside = linked
                .into_iter()
                .map(|(ino, (all, seen))| (ino, all.saturating_sub(seen)));
            self.outside = outside.collect();
            filled
        }

        /// Watches a directory and those below it. A name that comes after its directory was listed has an event.
        fn enter(&mut self, top: RelPath, linked: &mut dyn FnMut(&Stat)) -> io::Result<()> {
            let mut waiting = vec![top];
            while let Some(path) = waiting.pop() {
                let dir = match open_beneath(&self.root, path.as_path()) {
                    Ok(dir) => dir,
                    Err(error) => {
                        self.unseen(error)?;
                        continue;
                    }
                };
                // By the handle, so that no link is followed.
                let place = add_watch(
                    &*self.queue,
                    path_of_held(&dir).ok_or(io::ErrorKind::Unsupported)?,
                    WATCHED,
                )?;
                self.directories.insert(place, path.clone());
                let mut listed = Vec::new();
                names(&dir, |name| listed.extend(Name::new(name).ok()))?;
                for name in listed {
                    let stat = match stat_child(&dir, name.as_os_str()) {
                        Ok(stat) => stat,
                        Err(error) => {
                            self.unseen(error)?;
                            continue;
                        }
                    };
                    match stat.kind {
                        NodeKind::Directory => {
                            let below = path.join(&name);
                            if (self.enters)(&below) {
                                waiting.push(below);
                            }
                        }
                        NodeKind::File => self.found(&stat, linked),
                        _ => {}
                    }
                }
            }
            Ok(())
        }

        /// Notes that nothing of a name could be seen: there is an event when that changes.
        fn unseen(&mut self, error: io::Error) -> io::Result<()> {
            const CLOSED: Errno = Errno::ACCESS;
            const GONE: [Errno; 4] = [Errno::NOENT, Errno::NOTDIR, Errno::LOOP, Errno::XDEV];
            let is = |errno: &Errno| error.raw_os_error() == Some(errno.raw_os_error());
            self.has_closed |= is(&CLOSED);
            match is(&CLOSED) || GONE.iter().any(is) {
                true => Ok(()),
                false => Err(error),
            }
        }

        fn found(&mut self, stat: &Stat, linked: &mut dyn FnMut(&Stat)) {
            let (user, _) = own_ids();
            // Root can examine every process.
            self.has_others |= user != 0 && stat.uid != user;
            if stat.nlink > 1 {
                linked(stat);
            }
        }

        fn count(&mut self, place: i32, events: ReadFlags, name: Option<&Name>) -> io::Result<()> {
            let is_dir = events.contains(ReadFlags::ISDIR);
            if events.contains(ReadFlags::OPEN) {
                self.openings += u64::from(!is_dir);
                return Ok(());
            }
            self.changes += 1;
            // A file that came may be open already.
            self.openings += 1;
            if events.contains(ReadFlags::QUEUE_OVERFLOW) {
                self.is_stale = true;
                return Ok(());
            }
            if events.contains(ReadFlags::IGNORED) {
                self.directories.remove(&place);
                return Ok(());
            }
            let moved = ReadFlags::MOVED_FROM | ReadFlags::MOVED_TO | ReadFlags::MOVE_SELF;
            let came = ReadFlags::CREATE | ReadFlags::MOVED_TO;
            let went = ReadFlags::DELETE | ReadFlags::MOVED_FROM;
            // What was closed may be open now.
            self.is_stale |= is_dir && self.has_closed && events.contains(ReadFlags::ATTRIB);
            if is_dir && events.intersects(moved) || events.contains(ReadFlags::MOVE_SELF) {
                // The paths of directories would be wrong.
                self.is_stale = true;
                return Ok(());
            }
            if !is_dir && events.intersects(went) && !self.outside.is_empty() {
                self.is_stale = true;
            }
            let path = self
                .directories
                .get(&place)
                .zip(name)
                .map(|(dir, name)| dir.join(name));
            if let Some(path) = path.filter(|_| events.intersects(came)) {
                self.came(&path, is_dir)?;
            }
            Ok(())
        }

        fn came(&mut self, path: &RelPath, is_dir: bool) -> io::Result<()> {
            let mut is_linked = false;
            let mut linked = |_: &Stat| is_linked = true;
            if is_dir {
                if (self.enters)(path) {
                    self.enter(path.clone(), &mut linked)?;
                }
            } else if let Some((parent, name)) = path.split()
                && let Ok(dir) = open_beneath(&self.root, parent.as_path())
                && let Ok(stat) = stat_child(&dir, name.as_os_str())
                && stat.kind == NodeKind::File
            {
                self.found(&stat, &mut linked);
            }
            self.is_stale |= is_linked;
            Ok(())
        }
    }

    fn new_queue() -> io::Result<OwnedFd> {
        Ok(init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?)
    }
}

/// True on a system that reports every change to a [`TreeWatch`].
pub const CAN_WATCH: bool = cfg!(target_os = "linux");

#[cfg(not(target_os = "linux"))]
mod other {
    use std::convert::Infallible;
    use std::marker::PhantomData;
    use std::os::fd::AsFd;
    use std::time::Duration;

    use super::{Blindness, Enters, Path, io};

    /// Watch over the directories of one tree: none on this system.
    pub struct TreeWatch<'a>(Infallible, PhantomData<Enters<'a>>);

    impl<'a> TreeWatch<'a> {
        /// Returns an error: this system does not report every change.
        ///
        /// # Errors
        /// `Unsupported`.
        pub fn begin(_: &Path, _: Enters<'a>) -> io::Result<Self> {
            Err(io::ErrorKind::Unsupported.into())
        }

        /// Returns the number of changes so far.
        #[must_use]
        pub fn changes(&self) -> u64 {
            match self.0 {}
        }

        /// Returns how often a file may have been opened so far.
        #[must_use]
        pub fn openings(&self) -> u64 {
            match self.0 {}
        }

        /// Returns the reason why the counts do not show everything, if there is one.
        #[must_use]
        pub fn blindness(&self) -> Option<Blindness> {
            match self.0 {}
        }

        /// Reads the tree again.
        ///
        /// # Errors
        /// None.
        pub fn renew(&mut self) -> io::Result<()> {
            match self.0 {}
        }

        /// Counts what has happened.
        ///
        /// # Errors
        /// None.
        pub fn read(&mut self) -> io::Result<bool> {
            match self.0 {}
        }

        /// Returns an error, as there is nothing to wait for.
        ///
        /// # Errors
        /// `Unsupported`.
        pub fn wait(_: &[Self], _: impl AsFd, _: Duration) -> io::Result<bool> {
            Err(io::ErrorKind::Unsupported.into())
        }
    }
}
