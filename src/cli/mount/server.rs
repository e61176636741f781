//! Answers the kernel's requests for files of the tree of snapshots.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use fuser::{
    Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, InitFlags,
    KernelConfig, LockOwner, OpenAccMode, OpenFlags, ReplyAttr, ReplyData, ReplyDirectory,
    ReplyDirectoryPlus, ReplyEmpty, ReplyEntry, ReplyLseek, ReplyOpen, ReplyStatfs, ReplyXattr, Request,
};

use crate::diagnostic::Diagnostic as _;
use crate::model::Time;
use crate::recovery::{BrowseError, Browser, NodeFacts, NodeType, OpenedDirectory, OpenedFile};
use crate::terminal::sanitize;

/// Time for which the kernel may use what it knows of a node above the mounts: new snapshots appear as soon.
const BRIEFLY: Duration = Duration::from_secs(1);
/// The same for one in a snapshot. Its content is asked for again whenever it is opened.
const LONG: Duration = Duration::from_secs(60);
/// Size of a block in bytes, as stat(2) counts them.
const BLOCK: u64 = 512;
/// Entries before the first name: `.` and `..`.
const DOTS: u64 = 2;
/// lseek(2): the next data, and the next hole.
const SEEK_DATA: i32 = 3;
const SEEK_HOLE: i32 = 4;

/// The file system.
pub(super) struct Server {
    browser: Browser,
    tell: Sender<String>,
    next: AtomicU64,
    files: Mutex<HashMap<u64, Arc<OpenedFile>>>,
    directories: Mutex<HashMap<u64, Arc<OpenedDirectory>>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Server {
    /// Creates a file system that reports damage through `tell`.
    pub(super) fn new(browser: Browser, tell: Sender<String>) -> Self {
        Self {
            browser,
            tell,
            next: AtomicU64::new(1),
            files: Mutex::default(),
            directories: Mutex::default(),
        }
    }

    fn handle(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Returns the number of an error, and reports one that the operator should know of.
    fn refusal(&self, error: &BrowseError) -> Errno {
        match error {
            BrowseError::Missing => Errno::ENOENT,
            BrowseError::Stale => Errno::ESTALE,
            BrowseError::NotDirectory => Errno::ENOTDIR,
            BrowseError::NotFile => Errno::EINVAL,
            BrowseError::Hidden | BrowseError::Unlisted => Errno::EACCES,
            BrowseError::Store(store) => {
                // The receiver ends with the command.
                let _ = self.tell.send(sanitize::text(&store.message()));
                Errno::EIO
            }
        }
    }

    fn opened(&self, handle: FileHandle) -> Result<Arc<OpenedFile>, Errno> {
        lock(&self.files).get(&handle.0).cloned().ok_or(Errno::EBADF)
    }

    fn listed(&self, handle: FileHandle) -> Result<Arc<OpenedDirectory>, Errno> {
        lock(&self.directories)
            .get(&handle.0)
            .cloned()
            .ok_or(Errno::EBADF)
    }

    /// Returns the place of data or of a hole.
    fn seek(&self, handle: FileHandle, at: i64, whence: i32) -> Result<i64, Errno> {
        let file = self.opened(handle)?;
        let at = u64::try_from(at).map_err(|_| Errno::ENXIO)?;
        let size = file.size();
        if at >= size {
            return Err(Errno::ENXIO);
        }
        let data = |at| {
            let found = self.browser.data_from(&file, at);
            found.map_err(|error| self.refusal(&error))
        };
        let found = match whence {
            SEEK_DATA => data(at)?.map(|(begin, _)| begin.max(at)).ok_or(Errno::ENXIO)?,
            SEEK_HOLE => {
                let mut hole = at;
                // Stretches of data may meet.
                while let Some((begin, end)) = data(hole)?
                    && begin <= hole
                    && hole < size
                {
                    hole = end;
                }
                hole.min(size)
            }
            _ => return Err(Errno::EINVAL),
        };
        i64::try_from(found).map_err(|_| Errno::EOVERFLOW)
    }

    /// Returns the value of an attribute, or the list of names, each with a NUL behind it.
    fn attribute(&self, number: INodeNo, name: Option<&OsStr>) -> Result<Vec<u8>, Errno> {
        let attributes = self.browser.attributes(number.0);
        let attributes = attributes.map_err(|error| self.refusal(&error))?;
        match name {
            Some(name) => {
                let found = attributes
                    .into_iter()
                    .find(|known| *known.name == *name.as_bytes());
                found.map(|known| known.value.into()).ok_or(Errno::NO_XATTR)
            }
            None => Ok(attributes
                .iter()
                .flat_map(|known| known.name.iter().copied().chain([0]))
                .collect()),
        }
    }
}

/// Returns how long the kernel may use what it knows of a node.
fn lifetime(facts: &NodeFacts) -> &'static Duration {
    match facts.is_stored {
        true => &LONG,
        false => &BRIEFLY,
    }
}

fn time(time: Time) -> SystemTime {
    let nanos = Duration::new(0, time.nsec);
    let seconds = Duration::from_secs(time.sec.unsigned_abs());
    let whole = match time.sec < 0 {
        true => SystemTime::UNIX_EPOCH.checked_sub(seconds),
        false => SystemTime::UNIX_EPOCH.checked_add(seconds),
    };
    whole
        .and_then(|whole| whole.checked_add(nanos))
        .unwrap_or(SystemTime::UNIX_EPOCH)
}

/// Returns a device number as the kernel encodes it (`new_encode_dev`).
fn device(major: u32, minor: u32) -> u32 {
    (minor & 0xff) | (major & 0xfff) << 8 | (minor & !0xff) << 12
}

fn file_type(kind: NodeType) -> FileType {
    match kind {
        NodeType::File => FileType::RegularFile,
        NodeType::Directory => FileType::Directory,
        NodeType::Symlink => FileType::Symlink,
        NodeType::Fifo => FileType::NamedPipe,
        NodeType::Socket => FileType::Socket,
        NodeType::CharDevice(..) => FileType::CharDevice,
        NodeType::BlockDevice(..) => FileType::BlockDevice,
    }
}

fn attributes(facts: &NodeFacts) -> FileAttr {
    let (uid, gid) = facts.owner;
    let mtime = time(facts.mtime);
    FileAttr {
        ino: INodeNo(facts.number),
        size: facts.size,
        blocks: facts.stored.div_ceil(BLOCK),
        atime: mtime,
        mtime,
        ctime: time(facts.ctime),
        crtime: SystemTime::UNIX_EPOCH,
        kind: file_type(facts.kind),
        perm: u16::try_from(facts.mode & 0o7777).unwrap_or(0),
        nlink: facts.nlink,
        uid,
        gid,
        rdev: match facts.kind {
            NodeType::CharDevice(major, minor) | NodeType::BlockDevice(major, minor) => device(major, minor),
            _ => 0,
        },
        blksize: 4096,
        flags: 0,
    }
}

impl Filesystem for Server {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        // An older kernel goes without.
        for wish in [
            InitFlags::FUSE_DO_READDIRPLUS,
            InitFlags::FUSE_READDIRPLUS_AUTO,
            InitFlags::FUSE_PARALLEL_DIROPS,
            InitFlags::FUSE_CACHE_SYMLINKS,
        ] {
            let _ = config.add_capabilities(wish);
        }
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        match self.browser.child(parent.0, name) {
            Ok(facts) => reply.entry(lifetime(&facts), &attributes(&facts), Generation(0)),
            Err(error) => reply.error(self.refusal(&error)),
        }
    }

    fn getattr(&self, _: &Request, number: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.browser.facts(number.0) {
            Ok(facts) => reply.attr(lifetime(&facts), &attributes(&facts)),
            Err(error) => reply.error(self.refusal(&error)),
        }
    }

    fn readlink(&self, _: &Request, number: INodeNo, reply: ReplyData) {
        match self.browser.target(number.0) {
            Ok(target) => reply.data(&target),
            Err(error) => reply.error(self.refusal(&error)),
        }
    }

    fn open(&self, _: &Request, number: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        if flags.acc_mode() != OpenAccMode::O_RDONLY {
            return reply.error(Errno::EROFS);
        }
        match self.browser.open(number.0) {
            Ok(file) => {
                let handle = self.handle();
                lock(&self.files).insert(handle, Arc::new(file));
                // What a snapshot has never changes.
                reply.opened(FileHandle(handle), FopenFlags::FOPEN_KEEP_CACHE);
            }
            Err(error) => reply.error(self.refusal(&error)),
        }
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        at: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let file = match self.opened(handle) {
            Ok(file) => file,
            Err(error) => return reply.error(error),
        };
        let length = usize::try_from(size).unwrap_or(usize::MAX);
        match self.browser.read(&file, at, length) {
            Ok(bytes) => reply.data(&bytes),
            Err(error) => reply.error(self.refusal(&error)),
        }
    }

    fn release(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        _: OpenFlags,
        _: Option<LockOwner>,
        _: bool,
        reply: ReplyEmpty,
    ) {
        lock(&self.files).remove(&handle.0);
        reply.ok();
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }

    fn lseek(&self, _: &Request, _: INodeNo, handle: FileHandle, at: i64, whence: i32, reply: ReplyLseek) {
        match self.seek(handle, at, whence) {
            Ok(place) => reply.offset(place),
            Err(error) => reply.error(error),
        }
    }

    fn opendir(&self, _: &Request, number: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        match self.browser.open_directory(number.0) {
            Ok(directory) => {
                let handle = self.handle();
                lock(&self.directories).insert(handle, Arc::new(directory));
                reply.opened(FileHandle(handle), FopenFlags::empty());
            }
            Err(error) => reply.error(self.refusal(&error)),
        }
    }

    fn readdir(&self, _: &Request, _: INodeNo, handle: FileHandle, at: u64, mut reply: ReplyDirectory) {
        let directory = match self.listed(handle) {
            Ok(directory) => directory,
            Err(error) => return reply.error(error),
        };
        for at in at.. {
            let is_full = match dot(&directory, at) {
                Some((number, name)) => reply.add(INodeNo(number), at + 1, FileType::Directory, name),
                None => match entry(&directory, at) {
                    Some((name, facts)) => {
                        reply.add(INodeNo(facts.number), at + 1, file_type(facts.kind), name)
                    }
                    None => break,
                },
            };
            if is_full {
                break;
            }
        }
        reply.ok();
    }

    fn readdirplus(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        at: u64,
        mut reply: ReplyDirectoryPlus,
    ) {
        let directory = match self.listed(handle) {
            Ok(directory) => directory,
            Err(error) => return reply.error(error),
        };
        for at in at.. {
            let mut add = |name: &OsStr, facts: &NodeFacts| {
                let attributes = attributes(facts);
                let (number, lifetime) = (INodeNo(facts.number), lifetime(facts));
                reply.add(number, at + 1, name, lifetime, &attributes, Generation(0))
            };
            let is_full = match dot(&directory, at) {
                // The kernel takes the number and the type of these two, and nothing else.
                Some((number, name)) => add(OsStr::new(name), &NodeFacts::dot(number)),
                None => match entry(&directory, at) {
                    Some((name, facts)) => add(name, &facts),
                    None => break,
                },
            };
            if is_full {
                break;
            }
        }
        reply.ok();
    }

    fn releasedir(&self, _: &Request, _: INodeNo, handle: FileHandle, _: OpenFlags, reply: ReplyEmpty) {
        lock(&self.directories).remove(&handle.0);
        reply.ok();
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        reply.statfs(0, 0, 0, 0, 0, 4096, 255, 4096);
    }

    fn getxattr(&self, _: &Request, number: INodeNo, name: &OsStr, size: u32, reply: ReplyXattr) {
        answer(self.attribute(number, Some(name)), size, reply);
    }

    fn listxattr(&self, _: &Request, number: INodeNo, size: u32, reply: ReplyXattr) {
        answer(self.attribute(number, None), size, reply);
    }
}

/// Returns the number and the name of one of the first two entries.
fn dot(directory: &OpenedDirectory, at: u64) -> Option<(u64, &'static str)> {
    match at {
        0 => Some((directory.number, ".")),
        1 => Some((directory.parent, "..")),
        _ => None,
    }
}

fn entry(directory: &OpenedDirectory, at: u64) -> Option<(&OsStr, NodeFacts)> {
    directory.entry(usize::try_from(at.checked_sub(DOTS)?).ok()?)
}

/// Answers a question for the size of an attribute (`size` is 0) or for its bytes.
fn answer(found: Result<Vec<u8>, Errno>, size: u32, reply: ReplyXattr) {
    match found {
        Ok(bytes) => match u32::try_from(bytes.len()) {
            Ok(length) if size == 0 => reply.size(length),
            Ok(length) if length <= size => reply.data(&bytes),
            _ => reply.error(Errno::ERANGE),
        },
        Err(error) => reply.error(error),
    }
}
