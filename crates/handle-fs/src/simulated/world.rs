//! One world: what processes see, what is on disk, what lies between, and who has what open.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::os::fd::{BorrowedFd, OwnedFd, RawFd};
use std::path::Path;
use std::sync::Arc;

use rustix::io::Errno;

use super::disk::{Disk, Inode, Node, ROOT};
use super::faults::{Fault, How};
use crate::Result;
use crate::{InodeFlags, Time};

/// A change of names that is not on disk yet: entries of directories, which all come to disk in one step or none does.
#[derive(Clone, Debug)]
pub(super) struct Pending {
    /// Directory, name, and new inode of that name; `None` if there is none any more.
    pub(super) edits: Vec<(u64, Vec<u8>, Option<u64>)>,
    /// Inodes that were moved or got another name.
    pub(super) touched: Vec<u64>,
    /// Time of the change, for the directories and for the touched inodes.
    pub(super) at: Time,
}

/// A world at one moment, without what processes hold: a crash leaves nothing of that.
#[derive(Clone, Debug)]
pub struct Moment {
    pub(super) live: Disk,
    pub(super) durable: Disk,
    pub(super) pending: Vec<Pending>,
    pub(super) databases: BTreeSet<u64>,
    pub(super) clock: i128,
    pub(super) next: u64,
    drawn: u64,
    /// True if two names can be exchanged in one call.
    pub exchanges: bool,
    /// First inode number above the lower layer of an overlay. No directory in that layer can be moved.
    pub lower: u64,
    /// True if nothing may be created beside a mount root.
    pub crowded: bool,
    /// True if the calls are those of macOS.
    pub(super) macos: bool,
    pub(super) sent: Disk,
    /// Number of the next call.
    pub call: u64,
}

/// Inode and offset of an open handle.
#[derive(Clone, Copy, Debug)]
pub(super) struct Open {
    pub(super) inode: u64,
    pub(super) at: u64,
}

/// Handles that hold the lock of a file.
#[derive(Clone, Debug)]
pub(super) enum Held {
    Alone(RawFd),
    Shared(Vec<RawFd>),
}

/// A file system, on disk and as processes see it, with their open handles.
#[derive(Debug)]
pub struct World {
    pub(super) live: Disk,
    pub(super) durable: Disk,
    pub(super) pending: Vec<Pending>,
    /// Files that are replaced by commits. A power loss leaves one commit whole, never half of one.
    pub(super) databases: BTreeSet<u64>,
    pub(super) open: HashMap<RawFd, Open>,
    pub(super) locks: HashMap<u64, Held>,
    /// Nanoseconds since 1970.
    pub(super) clock: i128,
    pub(super) next: u64,
    /// Count of the numbers drawn.
    drawn: u64,
    pub(super) exchanges: bool,
    pub(super) lower: u64,
    pub(super) crowded: bool,
    pub(super) macos: bool,
    /// Objects as they were sent to a disk whose cache has them: a power loss may still lose them (macOS).
    pub(super) sent: Disk,
    /// Calls that changed something.
    pub calls: u64,
    /// The error that is injected.
    pub fault: Option<Fault>,
    /// Moments before each changing call; `None` if they are not recorded.
    pub moments: Option<Vec<Moment>>,
    /// Original of which every handle is a copy.
    null: OwnedFd,
}

/// A time that passes with every call that changes something.
const TICK: i128 = 1_000_000;

impl Moment {
    /// Names that differ in case only are one from now on, as on APFS, FAT and ext4 with `casefold`.
    pub fn fold_names(&mut self) {
        self.live.folds = true;
        self.durable.folds = true;
    }

    /// The calls are those of macOS from now on, or those of Linux. On macOS
    ///
    /// - `fsync` leaves an object in the disk's cache, from where `F_FULLFSYNC` of any object brings it to the disk;
    /// - `sync` sends names and metadata, and no content;
    /// - a file system that exchanges no names knows no exclusive rename either;
    /// - nothing opens a path in one call, pins an object, numbers mounts, or reports stores through a mapping;
    /// - a modification time before an object's birth moves its birth there;
    /// - names are UTF-8.
    pub fn set_macos(&mut self, macos: bool) {
        self.macos = macos;
    }

    /// All that is there lies in the lower layer of an overlay from now on, which macOS has none of.
    pub fn lay_over(&mut self) {
        (self.lower, self.macos) = (self.next, false);
    }
}

impl World {
    /// The same for this world as [`Moment::set_macos`].
    pub fn set_macos(&mut self, macos: bool) {
        self.macos = macos;
    }

    /// A world with these directories, each a file system of its own; all on disk.
    pub fn new(devices: &[&str]) -> Self {
        let mut world = Self::empty();
        for (number, path) in (2..).zip(devices) {
            let at = world.now();
            let inode = world.fresh(Node::Directory(BTreeMap::new()), 0o755, number, at);
            let name = path.trim_start_matches('/').as_bytes().to_vec();
            world.edit(vec![(ROOT, name, Some(inode))], &[]);
        }
        world.settle();
        world
    }

    fn empty() -> Self {
        let null = std::fs::File::open("/dev/null").unwrap();
        let mut world = Self {
            live: Disk::default(),
            durable: Disk::default(),
            pending: Vec::new(),
            databases: BTreeSet::new(),
            open: HashMap::new(),
            locks: HashMap::new(),
            clock: 1_790_000_000_000_000_000,
            next: ROOT,
            drawn: 0,
            exchanges: true,
            lower: 0,
            crowded: false,
            // Tests of such a build show what macOS gets.
            macos: cfg!(any(feature = "portable", target_vendor = "apple")),
            sent: Disk::default(),
            calls: 0,
            fault: None,
            moments: None,
            null: null.into(),
        };
        let at = world.now();
        world.fresh(Node::Directory(BTreeMap::new()), 0o755, 1, at);
        world
    }

    /// The world after a crash that left `disk`: nothing is open.
    pub fn after(moment: &Moment, disk: Disk) -> Self {
        let mut world = Self::empty();
        world.live = disk;
        world.live.sweep([]);
        world.durable = world.live.clone();
        world.clock = moment.clock + 1_000_000_000;
        world.next = moment.next;
        world.drawn = moment.drawn;
        (world.exchanges, world.lower) = (moment.exchanges, moment.lower);
        (world.crowded, world.macos) = (moment.crowded, moment.macos);
        world
    }

    /// The world after a kill: nothing is lost, and what was not on disk is not there yet. A power loss may follow.
    pub fn killed(moment: &Moment) -> Self {
        let mut world = Self::after(moment, moment.disk());
        world.durable = moment.durable.clone();
        world.pending.clone_from(&moment.pending);
        world.databases.clone_from(&moment.databases);
        world.sent = moment.sent.clone();
        world
    }

    /// The world as it is now.
    pub fn moment(&self) -> Moment {
        Moment {
            live: self.live.clone(),
            durable: self.durable.clone(),
            pending: self.pending.clone(),
            databases: self.databases.clone(),
            clock: self.clock,
            next: self.next,
            drawn: self.drawn,
            exchanges: self.exchanges,
            lower: self.lower,
            crowded: self.crowded,
            macos: self.macos,
            sent: self.sent.clone(),
            call: self.calls,
        }
    }

    /// A number that was not drawn before.
    pub fn draw(&mut self) -> u64 {
        self.drawn += 1;
        self.drawn
    }

    /// Everything comes to disk.
    pub fn settle(&mut self) {
        self.live.sweep(self.open.values().map(|open| open.inode));
        self.durable = self.live.clone();
        self.sent = Disk::default();
        self.pending.clear();
    }

    pub(super) fn now(&self) -> Time {
        let sec = i64::try_from(self.clock / 1_000_000_000).unwrap();
        let nsec = u32::try_from(self.clock % 1_000_000_000).unwrap();
        Time { sec, nsec }
    }

    /// Lets time pass.
    pub fn pass(&mut self, nanos: u128) {
        self.clock += i128::try_from(nanos).unwrap();
    }

    /// A call begins on what `path` names below `dir`, or on the handle `dir`: it may fail, and a crash may come just before it.
    pub(super) fn begin(&mut self, how: How, dir: BorrowedFd<'_>, path: Option<&Path>) -> Result<()> {
        let wanted = self.fault.is_some_and(|fault| fault.devices.is_some());
        let number = if wanted { self.meant(dir, path) } else { None };
        self.begin_at(how, number)
    }

    /// Returns the object that a call is about: the one with the name, or the directory if it has no such name.
    fn meant(&self, dir: BorrowedFd<'_>, path: Option<&Path>) -> Option<u64> {
        let base = self.base(dir).ok()?;
        let Some(path) = path else { return base };
        let (dir, name) = self.locate(base, path, false).ok()?;
        Some(self.live.child(dir, &name).unwrap_or(dir))
    }

    /// The same for the object `number`.
    pub(super) fn begin_at(&mut self, how: How, number: Option<u64>) -> Result<()> {
        if how.changes() {
            let moment = self.moments.is_some().then(|| self.moment());
            if let Some(moments) = &mut self.moments {
                moments.extend(moment);
            }
            self.calls += 1;
            self.clock += TICK;
        }
        let device = number.map(|number| self.device(number));
        match self.fault.as_mut().and_then(|fault| fault.strike(how, device)) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// A new inode. It is on disk as it is now once a name leads to it there.
    pub(super) fn fresh(&mut self, node: Node, mode: u32, device: u64, at: Time) -> u64 {
        let number = self.next;
        self.next += 1;
        let inode = Inode {
            node,
            mode,
            owner: crate::own_ids(),
            mtime: at,
            ctime: at,
            born: at,
            xattrs: BTreeMap::new(),
            flags: InodeFlags::default(),
            device,
        };
        self.durable.put(number, inode.clone());
        self.live.put(number, inode);
        number
    }

    /// Changes names, all in one step, of the objects `touched`.
    pub(super) fn edit(&mut self, edits: Vec<(u64, Vec<u8>, Option<u64>)>, touched: &[u64]) {
        let change = Pending {
            edits,
            touched: touched.to_vec(),
            at: self.now(),
        };
        change.apply(&mut self.live);
        self.pending.push(change);
    }

    /// A handle for an inode.
    pub(super) fn hand_out(&mut self, inode: u64) -> OwnedFd {
        use std::os::fd::AsRawFd as _;
        let handle = rustix::io::fcntl_dupfd_cloexec(&self.null, 0).unwrap();
        self.open.insert(handle.as_raw_fd(), Open { inode, at: 0 });
        handle
    }

    /// The process ends: all that it had open is closed.
    pub fn end_process(&mut self) {
        self.open.clear();
        self.locks.clear();
    }

    pub(super) fn held(&self, handle: RawFd) -> Result<Open> {
        self.open.get(&handle).copied().ok_or(Errno::BADF)
    }

    /// The content of a file.
    pub fn content(&self, path: &Path) -> Option<Arc<Vec<u8>>> {
        let number = self.find(path).ok()?;
        match &self.live.get(number)?.node {
            Node::File(bytes) => Some(Arc::clone(bytes)),
            _ => None,
        }
    }

    /// Replaces the content of a file as a commit of a database does that syncs before it writes, and not after its commit: the
    /// commit before it is on disk when this returns, and this one is so with the next, or is rolled back as a whole.
    pub fn commit(&mut self, path: &Path, bytes: &[u8]) -> Result<()> {
        self.begin(How::Sync, rustix::fs::CWD, Some(path))?;
        let number = self.find(path)?;
        self.durable.share(number, &self.live);
        self.databases.insert(number);
        self.fill(number, bytes)
    }

    /// Replaces the content of a file in one step that is on disk when it is done. Its name comes to disk with it.
    pub fn store(&mut self, path: &Path, bytes: &[u8]) -> Result<()> {
        self.begin(How::Sync, rustix::fs::CWD, Some(path))?;
        let number = self.find(path)?;
        self.fill(number, bytes)?;
        self.durable.share(number, &self.live);
        Ok(())
    }

    fn fill(&mut self, number: u64, bytes: &[u8]) -> Result<()> {
        let at = self.now();
        let inode = self.live.get_mut(number).ok_or(Errno::NOENT)?;
        inode.node = Node::File(Arc::new(bytes.to_vec()));
        (inode.mtime, inode.ctime) = (at, at);
        Ok(())
    }

    pub(super) fn find(&self, path: &Path) -> Result<u64> {
        let (dir, name) = self.locate(None, path, false)?;
        if name.is_empty() {
            return Ok(dir);
        }
        self.live.child(dir, &name).ok_or(Errno::NOENT)
    }
}

impl Moment {
    /// Returns the state that processes see.
    pub fn disk(&self) -> Disk {
        self.live.clone()
    }
}

impl Pending {
    pub(super) fn apply(&self, disk: &mut Disk) {
        for (dir, name, to) in &self.edits {
            let Some(inode) = disk.get_mut(*dir) else { continue };
            (inode.mtime, inode.ctime) = (self.at, self.at);
            let Node::Directory(entries) = &mut inode.node else {
                continue;
            };
            match to {
                Some(number) => entries.insert(name.clone(), *number),
                None => entries.remove(name),
            };
        }
        for number in &self.touched {
            if let Some(inode) = disk.get_mut(*number) {
                inode.ctime = self.at;
            }
        }
    }
}
