//! A handle that an agent holds, and what it is asked about it.

mod batch;
mod many;

use std::io;
use std::sync::Arc;

use rustix::fs::{SeekFrom, Timestamps};
use rustix::io::Errno;

use super::connection::Connection;
use super::error_number::received;
use super::loaded::Loaded;
use super::opening;
use super::protocol::{Answer, Bytes, Call, Each, Facts, NOWHERE, Whence};
use crate::system::own::KEEPS_ACCESS_TIME;
use crate::{InodeFlags, Time};
use crate::{NodeKind, Result, Stat};

/// Flags of an opening that only reads, as they are sent.
const READING: u32 = 1 << 5 | 1 << 6 | 1 << 7;
/// Largest number of bytes that an agent reads in one call.
const AT_ONCE: usize = 4 << 20;

/// A handle on another machine. Closed when it is dropped.
#[derive(Debug)]
pub struct RemoteHandle {
    connection: Arc<Connection>,
    number: u64,
    /// The file, if it was read before it was opened.
    loaded: Option<Loaded>,
}

impl Drop for RemoteHandle {
    fn drop(&mut self) {
        if self.number != NOWHERE && self.loaded.is_none() {
            self.connection.close(self.number);
        }
    }
}

impl RemoteHandle {
    /// Creates the handle at which absolute paths begin.
    pub(super) fn nowhere(connection: Arc<Connection>) -> Self {
        Self::new(connection, NOWHERE)
    }

    fn new(connection: Arc<Connection>, number: u64) -> Self {
        Self {
            connection,
            number,
            loaded: None,
        }
    }

    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Returns the connection to the agent that holds it.
    pub(super) fn connection(&self) -> &Arc<Connection> {
        &self.connection
    }

    /// Returns the identity of the storage at a path there.
    pub(crate) fn file_system_id(&self, path: &std::path::Path) -> Option<crate::FileSystemId> {
        self.connection.file_system_id(path)
    }

    /// Returns true if a shell answers: a shell always has limitations.
    pub(crate) fn is_by_shell(&self) -> bool {
        !self.connection.lacks().is_empty()
    }

    /// An answer of another kind than was asked for says nothing.
    fn ask<T>(&self, call: Call, take: impl FnOnce(Answer) -> Option<T>) -> Result<T> {
        take(self.connection.call(call)?).ok_or(Errno::IO)
    }

    pub(crate) fn open(&self, call: Call) -> Result<Self> {
        if let Call::OpenBeneath { dir, path, flags } = &call
            && *flags == opening(crate::open::DIRECTORY)
            && let Some(number) = self.connection.view().directory(*dir, &path.0)
        {
            return Ok(Self::new(Arc::clone(&self.connection), number));
        }
        if let Call::Open { dir, path, flags, .. } = &call
            && *flags & !(READING | opening(KEEPS_ACCESS_TIME)) == 0
            && let Some((number, loaded)) = self.connection.view().open(*dir, &path.0)
        {
            return Ok(Self {
                connection: Arc::clone(&self.connection),
                number,
                loaded: Some(loaded),
            });
        }
        let number = self.ask(call, |answer| match answer {
            Answer::Handle(number) => Some(number),
            _ => None,
        })?;
        Ok(Self::new(Arc::clone(&self.connection), number))
    }

    pub(crate) fn done(&self, call: Call) -> Result<()> {
        self.ask(call, |answer| matches!(answer, Answer::Done).then_some(()))
    }

    pub(crate) fn count(&self, call: Call) -> Result<u64> {
        if let (Call::Seek { to, .. }, Some(loaded)) = (&call, &self.loaded) {
            return loaded.seek(*to);
        }
        self.ask(call, |answer| match answer {
            Answer::Number(number) => Some(number),
            _ => None,
        })
    }

    /// Returns the number of the type of its file system.
    pub(crate) fn magic(&self) -> Result<u64> {
        if let Some(loaded) = &self.loaded {
            return loaded.magic.map_err(received);
        }
        let handle = self.number;
        let seen = self.connection.view().magic(handle);
        match seen {
            Some(magic) => magic.map_err(received),
            None => self.count(Call::Magic { handle }),
        }
    }

    pub(crate) fn bytes(&self, call: Call) -> Result<Vec<u8>> {
        self.ask(call, |answer| match answer {
            Answer::Bytes(bytes) => Some(bytes.0),
            _ => None,
        })
    }

    /// Copies the answer into a buffer, like a system call. A buffer that is too small is an error (`ERANGE`).
    pub(crate) fn fill(&self, call: Call, room: &mut [u8]) -> Result<usize> {
        if let Call::ListAttributes {
            dir,
            name: Some(name),
        } = &call
            && self.connection.view().has_no_attributes(*dir, &name.0)
        {
            return Ok(0);
        }
        let bytes = self.bytes(call)?;
        match room.get_mut(..bytes.len()) {
            Some(part) => part.copy_from_slice(&bytes),
            None => return Err(Errno::RANGE),
        }
        Ok(bytes.len())
    }

    pub(crate) fn stat(&self, path: Bytes, own: bool) -> Result<Stat> {
        if let (Some(loaded), true) = (&self.loaded, own) {
            return stat(&loaded.facts);
        }
        let dir = self.number;
        let seen = self.connection.view().facts(dir, &path.0, own);
        if let Some(facts) = seen {
            return stat(&facts?);
        }
        let facts = self.ask(Call::Stat { dir, path, own }, |answer| match answer {
            Answer::Facts(facts) => Some(facts),
            _ => None,
        });
        stat(&facts?)
    }

    pub(crate) fn names(&self, each: &mut dyn FnMut(&[u8])) -> Result<()> {
        let dir = self.number;
        let names = self.ask(Call::Names { dir }, |answer| match answer {
            Answer::Names(names) => Some(names),
            _ => None,
        })?;
        // The kernel lists a directory itself and the one above it, too.
        let is_listed = |name: &Bytes| matches!(name.0.as_slice(), b"." | b"..") || is_name(name);
        if !names.iter().all(is_listed) {
            return Err(Errno::IO);
        }
        names.iter().for_each(|name| each(&name.0));
        Ok(())
    }

    pub(crate) fn set_mtime(&self, path: Option<Bytes>, times: &Timestamps) -> Result<()> {
        let told = times.last_modification;
        let nanos = u32::try_from(told.tv_nsec).map_err(|_| Errno::INVAL)?;
        let (dir, mtime) = (self.number, (told.tv_sec, nanos));
        self.done(Call::Modified { dir, path, mtime })
    }

    pub(crate) fn read(&self, room: &mut [u8], at: Option<u64>) -> Result<usize> {
        if let Some(loaded) = &self.loaded {
            return Ok(loaded.read(room, at));
        }
        let (handle, most) = (self.number, room.len().min(AT_ONCE) as u64);
        self.fill(Call::Read { handle, most, at }, room)
    }

    pub(crate) fn write(&self, bytes: &[u8], at: Option<u64>) -> Result<usize> {
        let part = bytes.get(..AT_ONCE).unwrap_or(bytes);
        let (handle, bytes) = (self.number, Bytes::from(part));
        let written = self.count(Call::Write { handle, bytes, at })?;
        usize::try_from(written)
            .ok()
            .filter(|written| *written <= part.len())
            .ok_or(Errno::IO)
    }

    pub(crate) fn inode_flags(&self) -> Result<u32> {
        let bits = self.count(Call::InodeFlags { handle: self.number })?;
        u32::try_from(bits).map_err(|_| Errno::IO)
    }

    pub(crate) fn set_inode_flags(&self, flags: u32) -> Result<()> {
        let handle = self.number;
        self.done(Call::SetInodeFlags { handle, flags })
    }

    pub(crate) fn clock(&self, fine: bool) -> Result<Time> {
        self.ask(Call::Clock { fine }, |answer| match answer {
            Answer::Time(sec, nsec) if nsec < 1_000_000_000 => Some(Time { sec, nsec }),
            _ => None,
        })
    }

    /// Numeric user and group that the agent acts as.
    pub(crate) fn actor(&self) -> (u32, u32) {
        let greeting = self.connection.greeting();
        (greeting.uid, greeting.gid)
    }

    /// Returns true if the connection broke, so that no call can be made.
    pub(crate) fn is_lost(&self) -> bool {
        self.connection.is_broken()
    }

    /// Facts of several names, in their order.
    pub(crate) fn facts(&self, names: Vec<Bytes>) -> Result<Vec<io::Result<Stat>>> {
        let (dir, wanted) = (self.number, names.len());
        let found = self.ask(Call::Facts { dir, names }, |answer| match answer {
            Answer::Several(found) if found.len() == wanted => Some(found),
            _ => None,
        })?;
        Ok(found
            .into_iter()
            .map(|facts| each(facts, |facts| stat(&facts)))
            .collect())
    }
}

/// Returns true for a plain name. Anything else would lead elsewhere.
fn is_name(name: &Bytes) -> bool {
    let plain = |byte: &u8| *byte != b'/' && *byte != 0;
    !matches!(name.0.as_slice(), b"" | b"." | b"..") && name.0.iter().all(plain)
}

fn each<T, U>(one: Each<T>, take: impl FnOnce(T) -> Result<U>) -> io::Result<U> {
    let one = one.map_err(received);
    Ok(one.and_then(take)?)
}

const KINDS: [NodeKind; 8] = [
    NodeKind::File,
    NodeKind::Directory,
    NodeKind::Symlink,
    NodeKind::Fifo,
    NodeKind::Socket,
    NodeKind::CharDevice,
    NodeKind::BlockDevice,
    NodeKind::Other,
];

/// Facts as the other side tells them. What cannot be is an error.
fn stat(facts: &Facts) -> Result<Stat> {
    let time = |(sec, nsec): (i64, u32)| match nsec {
        0..1_000_000_000 => Ok(Time { sec, nsec }),
        _ => Err(Errno::IO),
    };
    Ok(Stat {
        kind: *KINDS.get(usize::from(facts.kind)).ok_or(Errno::IO)?,
        mode: facts.mode & 0o7777,
        uid: facts.owner.0,
        gid: facts.owner.1,
        size: facts.size,
        allocated: facts.allocated,
        mtime: time(facts.mtime)?,
        ctime: time(facts.ctime)?,
        ino: facts.ino,
        born: facts.born.map(time).transpose()?,
        nlink: facts.nlink,
        rdev: facts.rdev,
        flags: InodeFlags::from_bits(facts.flags).ok_or(Errno::IO)?,
        place: facts.place,
    })
}

impl From<&Stat> for Facts {
    fn from(stat: &Stat) -> Self {
        let kind = KINDS.iter().position(|kind| *kind == stat.kind);
        let time = |time: Time| (time.sec, time.nsec);
        Self {
            kind: kind.and_then(|kind| u8::try_from(kind).ok()).unwrap_or(7),
            mode: stat.mode,
            owner: (stat.uid, stat.gid),
            size: stat.size,
            allocated: stat.allocated,
            mtime: time(stat.mtime),
            ctime: time(stat.ctime),
            ino: stat.ino,
            born: stat.born.map(time),
            nlink: stat.nlink,
            rdev: stat.rdev,
            flags: stat.flags.bits(),
            place: stat.place,
        }
    }
}

impl From<SeekFrom> for Whence {
    fn from(to: SeekFrom) -> Self {
        match to {
            SeekFrom::Start(at) => Self::Start(at),
            SeekFrom::End(offset) => Self::End(offset),
            SeekFrom::Current(offset) => Self::Current(offset),
            SeekFrom::Data(at) => Self::Data(at),
            SeekFrom::Hole(at) => Self::Hole(at),
        }
    }
}
