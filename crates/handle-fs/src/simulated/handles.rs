//! The kernel's calls on a world: content, metadata, locks, and what makes things durable.

use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{FlockOperation, Mode, SeekFrom, Timespec, Timestamps};
use rustix::io::Errno;

use super::Address;
use super::disk::{Inode, Node};
use super::faults::How;
use super::world::{Held, World};
use crate::Result;
use crate::{FileSystem, InodeFlags, Time};

impl World {
    /// The inode of a handle, or of a name below it.
    fn target(&self, dir: BorrowedFd<'_>, path: Option<&Path>) -> Result<u64> {
        match path {
            None => Ok(self.held(dir.as_raw_fd())?.inode),
            Some(path) => self.below(dir.as_raw_fd(), path),
        }
    }

    fn below(&self, dir: i32, path: &Path) -> Result<u64> {
        let base = if dir == rustix::fs::CWD.as_raw_fd() {
            None
        } else {
            Some(self.held(dir)?.inode)
        };
        let (dir, name) = self.locate(base, path, false)?;
        if name.is_empty() {
            return Ok(dir);
        }
        self.live.child(dir, &name).ok_or(Errno::NOENT)
    }

    /// Changes the metadata of an object that nothing binds.
    fn change(&mut self, number: u64, how: impl FnOnce(&mut Inode)) -> Result<()> {
        self.refuse_bound(number, InodeFlags::IMMUTABLE)?;
        self.refuse_bound(number, InodeFlags::APPEND)?;
        let now = self.now();
        let inode = self.live.get_mut(number).ok_or(Errno::NOENT)?;
        how(inode);
        inode.ctime = now;
        Ok(())
    }

    pub(crate) fn chown(
        &mut self,
        dir: BorrowedFd<'_>,
        path: Option<&Path>,
        uid: u32,
        gid: u32,
    ) -> Result<()> {
        self.begin(How::Metadata, dir, path)?;
        let number = self.target(dir, path)?;
        self.change(number, |inode| {
            inode.owner = (uid, gid);
            if matches!(inode.node, Node::File(_)) {
                // As the kernel does: who gets a file gets no rights of its owner's with it.
                inode.mode &= !0o6000;
            }
        })
    }

    pub(crate) fn chmod(&mut self, handle: BorrowedFd<'_>, mode: Mode) -> Result<()> {
        self.begin(How::Metadata, handle, None)?;
        let number = self.target(handle, None)?;
        self.change(number, |inode| inode.mode = crate::system::own::bits_of(mode))
    }

    /// Of a name itself, where nothing is pinned.
    pub(crate) fn chmod_unpinned(&mut self, dir: BorrowedFd<'_>, path: &Path, mode: Mode) -> Result<()> {
        self.begin(How::Metadata, dir, Some(path))?;
        let number = self.target(dir, Some(path))?;
        self.change(number, |inode| inode.mode = crate::system::own::bits_of(mode))
    }

    pub(crate) fn utimens(
        &mut self,
        dir: BorrowedFd<'_>,
        path: Option<&Path>,
        times: &Timestamps,
    ) -> Result<()> {
        self.begin(How::Metadata, dir, path)?;
        let number = self.target(dir, path)?;
        let told = times.last_modification;
        let mtime = Time {
            sec: told.tv_sec,
            nsec: u32::try_from(told.tv_nsec).map_err(|_| Errno::INVAL)?,
        };
        let macos = self.macos;
        self.change(number, |inode| {
            inode.mtime = mtime;
            if macos && mtime < inode.born {
                inode.born = mtime;
            }
        })
    }

    pub(crate) fn fsync(&mut self, handle: BorrowedFd<'_>) -> Result<()> {
        let begun = self.begin(How::Sync, handle, None);
        let number = self.target(handle, None)?;
        let is_out = self.fault.is_some_and(|fault| fault.devices.is_some());
        if begun.is_err()
            && is_out
            && self
                .live
                .get(number)
                .is_some_and(|inode| inode.entries().is_some())
        {
            return Ok(());
        }
        begun?;
        self.make_durable(number);
        Ok(())
    }

    /// Sends a file to the disk's cache. Linux has no use for it, and makes no call.
    pub(crate) fn write_out(&mut self, handle: BorrowedFd<'_>) -> Result<()> {
        if !self.macos {
            return Ok(());
        }
        self.begin(How::Sync, handle, None)?;
        let number = self.target(handle, None)?;
        self.sent.share(number, &self.live);
        Ok(())
    }

    pub(crate) fn syncfs(&mut self, handle: BorrowedFd<'_>) -> Result<()> {
        self.begin(How::Sync, handle, None)?;
        let number = self.target(handle, None)?;
        let device = self.live.get(number).ok_or(Errno::NOENT)?.device;
        self.make_device_durable(device);
        Ok(())
    }

    /// The number of ext4. macOS has none.
    pub(crate) fn magic(&mut self, handle: BorrowedFd<'_>) -> Result<u64> {
        self.begin(How::Read, handle, None)?;
        self.target(handle, None)?;
        match self.macos {
            true => Err(Errno::NOSYS),
            // Those of an overlay and of ext4.
            false => Ok(if self.lower > 0 { 0x794c_7630 } else { 0xef53 }),
        }
    }

    pub(crate) fn file_system(&mut self, handle: BorrowedFd<'_>) -> Result<FileSystem> {
        match self.magic(handle) {
            // As APFS.
            Err(Errno::NOSYS) => Ok(FileSystem {
                trusted_ctime: true,
                ..FileSystem::UNKNOWN
            }),
            magic => magic.map(FileSystem::of),
        }
    }

    /// Answers whether later stores through a mapping move a file's times.
    #[expect(clippy::unnecessary_wraps, reason = "as the kernel answers")]
    pub(crate) fn write_back(&self) -> Result<Option<bool>> {
        Ok(Some(!self.macos))
    }

    pub(crate) fn free_bytes(&mut self, handle: BorrowedFd<'_>) -> Result<u64> {
        self.begin(How::Read, handle, None)?;
        self.target(handle, None)?;
        Ok(1 << 40)
    }

    fn size(&self, number: u64) -> Result<u64> {
        match &self.live.get(number).ok_or(Errno::NOENT)?.node {
            Node::File(bytes) => Ok(bytes.len() as u64),
            _ => Err(Errno::INVAL),
        }
    }

    pub(crate) fn seek(&mut self, handle: BorrowedFd<'_>, to: SeekFrom) -> Result<u64> {
        self.begin(How::Read, handle, None)?;
        let open = self.held(handle.as_raw_fd())?;
        let size = self.size(open.inode)?;
        let from = |base: u64, offset: i64| base.checked_add_signed(offset).ok_or(Errno::INVAL);
        let at = match to {
            SeekFrom::Start(at) => at,
            SeekFrom::End(offset) => from(size, offset)?,
            SeekFrom::Current(offset) => from(open.at, offset)?,
            SeekFrom::Data(_) if self.macos => return Err(Errno::NXIO),
            // There are no holes here.
            SeekFrom::Data(at) if at < size => at,
            SeekFrom::Hole(at) if at < size => size,
            _ => return Err(Errno::NXIO),
        };
        if let Some(open) = self.open.get_mut(&handle.as_raw_fd()) {
            open.at = at;
        }
        Ok(at)
    }

    pub(crate) fn read(&mut self, handle: BorrowedFd<'_>, room: &mut [u8], at: Option<u64>) -> Result<usize> {
        self.begin(How::Read, handle, None)?;
        let open = self.held(handle.as_raw_fd())?;
        let inode = self.live.get(open.inode).ok_or(Errno::NOENT)?;
        let bytes = match &inode.node {
            Node::File(bytes) => Arc::clone(bytes),
            Node::Directory(_) => return Err(Errno::ISDIR),
            _ => return Ok(0),
        };
        let from = usize::try_from(at.unwrap_or(open.at)).map_err(|_| Errno::INVAL)?;
        let rest = bytes.get(from..).unwrap_or_default();
        let count = rest.len().min(room.len());
        room[..count].copy_from_slice(&rest[..count]);
        if at.is_none()
            && let Some(open) = self.open.get_mut(&handle.as_raw_fd())
        {
            open.at += count as u64;
        }
        Ok(count)
    }

    pub(crate) fn write(&mut self, handle: BorrowedFd<'_>, bytes: &[u8], at: Option<u64>) -> Result<usize> {
        let begun = self.begin(How::Write, handle, None);
        let open = self.held(handle.as_raw_fd())?;
        let from = usize::try_from(at.unwrap_or(open.at)).map_err(|_| Errno::INVAL)?;
        // A disk that is full takes a part, and says so by the next write.
        let count = match begun {
            Ok(()) => bytes.len(),
            Err(Errno::NOSPC | Errno::DQUOT | Errno::IO) => bytes.len() / 2,
            Err(error) => return Err(error),
        };
        let now = self.now();
        let inode = self.live.get_mut(open.inode).ok_or(Errno::NOENT)?;
        let Node::File(content) = &mut inode.node else {
            return Err(Errno::BADF);
        };
        let content = Arc::make_mut(content);
        if content.len() < from + count {
            content.resize(from + count, 0);
        }
        content[from..from + count].copy_from_slice(&bytes[..count]);
        (inode.mtime, inode.ctime) = (now, now);
        begun?;
        if at.is_none()
            && let Some(open) = self.open.get_mut(&handle.as_raw_fd())
        {
            open.at += count as u64;
        }
        Ok(count)
    }

    pub(crate) fn truncate(&mut self, handle: BorrowedFd<'_>, length: u64) -> Result<()> {
        self.begin(How::Write, handle, None)?;
        let number = self.target(handle, None)?;
        let now = self.now();
        let inode = self.live.get_mut(number).ok_or(Errno::NOENT)?;
        let Node::File(content) = &mut inode.node else {
            return Err(Errno::INVAL);
        };
        Arc::make_mut(content).resize(usize::try_from(length).map_err(|_| Errno::FBIG)?, 0);
        (inode.mtime, inode.ctime) = (now, now);
        Ok(())
    }

    pub(crate) fn flock(&mut self, handle: BorrowedFd<'_>, how: FlockOperation) -> Result<()> {
        // Closing, which is not seen here and cannot fail, lets go as well: that one cannot be let go is never the case.
        if how != FlockOperation::Unlock {
            self.begin(How::Lock, handle, None)?;
        }
        let handle = handle.as_raw_fd();
        let number = self.held(handle)?.inode;
        let others: Vec<i32> = match self.locks.remove(&number) {
            None => Vec::new(),
            Some(Held::Alone(holder)) if holder == handle => Vec::new(),
            Some(Held::Alone(holder)) => {
                self.locks.insert(number, Held::Alone(holder));
                return Err(Errno::WOULDBLOCK);
            }
            Some(Held::Shared(holders)) => holders.into_iter().filter(|holder| *holder != handle).collect(),
        };
        let held = match how {
            FlockOperation::NonBlockingLockShared => {
                Held::Shared(others.into_iter().chain([handle]).collect())
            }
            FlockOperation::NonBlockingLockExclusive if others.is_empty() => Held::Alone(handle),
            FlockOperation::Unlock if others.is_empty() => return Ok(()),
            FlockOperation::Unlock => Held::Shared(others),
            _ => {
                self.locks.insert(number, Held::Shared(others));
                return Err(Errno::WOULDBLOCK);
            }
        };
        self.locks.insert(number, held);
        Ok(())
    }

    fn bearer(&self, address: &Address) -> Result<u64> {
        match address {
            Address::Open(handle) => Ok(self.held(*handle)?.inode),
            Address::Child(dir, name) => self.below(*dir, name),
        }
    }

    pub(crate) fn list_xattr(&mut self, of: Address, room: &mut [u8]) -> Result<usize> {
        self.begin_at(How::Read, self.bearer(&of).ok())?;
        let number = self.bearer(&of)?;
        let inode = self.live.get(number).ok_or(Errno::NOENT)?;
        let list: Vec<u8> = inode
            .xattrs
            .keys()
            .flat_map(|name| [name, &b"\0"[..]].concat())
            .collect();
        give(&list, room)
    }

    pub(crate) fn get_xattr(&mut self, of: Address, name: &[u8], room: &mut [u8]) -> Result<usize> {
        self.begin_at(How::Read, self.bearer(&of).ok())?;
        let number = self.bearer(&of)?;
        let inode = self.live.get(number).ok_or(Errno::NOENT)?;
        give(
            inode.xattrs.get(name).ok_or(crate::system::own::NO_ATTRIBUTE)?,
            room,
        )
    }

    /// Sets an attribute, or removes it.
    pub(crate) fn set_xattr(&mut self, of: Address, name: &[u8], value: Option<&[u8]>) -> Result<()> {
        self.begin_at(How::Metadata, self.bearer(&of).ok())?;
        let number = self.bearer(&of)?;
        self.change(number, |inode| {
            match value {
                Some(value) => inode.xattrs.insert(name.to_vec(), value.to_vec()),
                None => inode.xattrs.remove(name),
            };
        })
    }

    pub(crate) fn inode_flags(&mut self, handle: BorrowedFd<'_>) -> Result<u32> {
        self.begin(How::Read, handle, None)?;
        let number = self.target(handle, None)?;
        let flags = self.live.get(number).ok_or(Errno::NOENT)?.flags;
        Ok(flags.linux_bits())
    }

    pub(crate) fn set_inode_flags(&mut self, handle: BorrowedFd<'_>, flags: u32) -> Result<()> {
        self.begin(How::Metadata, handle, None)?;
        let number = self.target(handle, None)?;
        let now = self.now();
        let inode = self.live.get_mut(number).ok_or(Errno::NOENT)?;
        inode.flags = InodeFlags::from_linux_bits(flags);
        inode.ctime = now;
        Ok(())
    }

    pub(crate) fn births_move(&self) -> bool {
        self.macos
    }

    pub(crate) fn clock(&mut self) -> Timespec {
        let now = self.now();
        Timespec {
            tv_sec: now.sec,
            tv_nsec: now.nsec.into(),
        }
    }
}

fn give(bytes: &[u8], room: &mut [u8]) -> Result<usize> {
    room.get_mut(..bytes.len())
        .ok_or(Errno::RANGE)?
        .copy_from_slice(bytes);
    Ok(bytes.len())
}
