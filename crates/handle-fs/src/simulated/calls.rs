//! The kernel's calls on a world: names, and opening.

use std::collections::BTreeMap;
use std::os::fd::{AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path};
use std::sync::Arc;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use super::disk::{Inode, Node, ROOT};
use super::faults::How;
use super::world::World;
use crate::InodeFlags;
use crate::{NodeKind, Result, Stat};

/// A directory and a name in it.
type Spot<'a> = (BorrowedFd<'a>, &'a Path);

impl World {
    pub(super) fn base(&self, dir: BorrowedFd<'_>) -> Result<Option<u64>> {
        if dir.as_raw_fd() == rustix::fs::CWD.as_raw_fd() {
            return Ok(None);
        }
        Ok(Some(self.held(dir.as_raw_fd())?.inode))
    }

    /// The directory that a path's last name lies in, and that name; the name is empty for the directory itself. Links on the
    /// way are not followed.
    pub(super) fn locate(&self, base: Option<u64>, path: &Path, stay: bool) -> Result<(u64, Vec<u8>)> {
        let mut here = base.unwrap_or(ROOT);
        let device = self.live.get(here).ok_or(Errno::NOENT)?.device;
        let mut parts = path.components().peekable();
        while let Some(part) = parts.next() {
            let name = match part {
                Component::RootDir if base.is_none() => continue,
                Component::CurDir => continue,
                Component::Normal(name) => name.as_bytes(),
                _ => return Err(Errno::XDEV),
            };
            let inode = self.live.get(here).ok_or(Errno::NOENT)?;
            if inode.entries().is_none() {
                return Err(Errno::NOTDIR);
            }
            if self.macos && std::str::from_utf8(name).is_err() {
                return Err(Errno::ILSEQ);
            }
            if parts.peek().is_none() {
                return Ok((here, self.live.stored(here, name)));
            }
            here = self.live.child(here, name).ok_or(Errno::NOENT)?;
            if stay && self.live.get(here).is_some_and(|inode| inode.device != device) {
                return Err(Errno::XDEV);
            }
        }
        Ok((here, Vec::new()))
    }

    /// The inode that a path names.
    fn named(&self, dir: BorrowedFd<'_>, path: &Path) -> Result<u64> {
        let (dir, name) = self.locate(self.base(dir)?, path, false)?;
        if name.is_empty() {
            return Ok(dir);
        }
        self.live.child(dir, &name).ok_or(Errno::NOENT)
    }

    /// A place for a new name.
    fn vacant(&self, (dir, path): Spot<'_>) -> Result<(u64, Vec<u8>)> {
        let (dir, name) = self.locate(self.base(dir)?, path, false)?;
        if name.is_empty() || self.live.child(dir, &name).is_some() {
            return Err(Errno::EXIST);
        }
        // A directory that was removed takes nothing new.
        if dir != ROOT && self.live.names_of(dir) == 0 {
            return Err(Errno::NOENT);
        }
        self.refuse_bound(dir, InodeFlags::IMMUTABLE)?;
        Ok((dir, name))
    }

    /// Returns the directory, name and number of an object that may be moved away.
    fn movable(&self, (dir, path): Spot<'_>) -> Result<(u64, Vec<u8>, u64)> {
        let (dir, name) = self.locate(self.base(dir)?, path, false)?;
        let found = self.live.child(dir, &name).ok_or(Errno::NOENT)?;
        for bound in [InodeFlags::IMMUTABLE, InodeFlags::APPEND] {
            self.refuse_bound(dir, bound)?;
            self.refuse_bound(found, bound)?;
        }
        Ok((dir, name, found))
    }

    pub(super) fn refuse_bound(&self, number: u64, by: InodeFlags) -> Result<()> {
        let inode = self.live.get(number).ok_or(Errno::NOENT)?;
        if inode.flags.contains(by) {
            return Err(Errno::PERM);
        }
        Ok(())
    }

    pub(super) fn device(&self, number: u64) -> u64 {
        self.live.get(number).map_or(0, |inode| inode.device)
    }

    fn is_dir(&self, number: u64) -> bool {
        self.live
            .get(number)
            .is_some_and(|inode| inode.entries().is_some())
    }

    fn make(&mut self, spot: Spot<'_>, node: Node, mode: u32) -> Result<u64> {
        let (dir, name) = self.vacant(spot)?;
        let at = self.now();
        let number = self.fresh(node, mode, self.device(dir), at);
        self.edit(vec![(dir, name, Some(number))], &[]);
        Ok(number)
    }

    pub(crate) fn open(
        &mut self,
        dir: BorrowedFd<'_>,
        path: &Path,
        flags: OFlags,
        mode: Mode,
    ) -> Result<OwnedFd> {
        let found = self.named(dir, path);
        let creates = flags.contains(OFlags::CREATE) && found == Err(Errno::NOENT);
        self.begin(if creates { How::Name } else { How::Open }, dir, Some(path))?;
        let number = match found {
            Ok(_) if flags.contains(OFlags::CREATE | OFlags::EXCL) => return Err(Errno::EXIST),
            Err(Errno::NOENT) if creates => {
                let node = Node::File(Arc::default());
                self.make((dir, path), node, crate::system::own::bits_of(mode))?
            }
            other => other?,
        };
        let inode = self.live.get(number).ok_or(Errno::NOENT)?;
        let writes = flags.intersects(OFlags::WRONLY | OFlags::RDWR);
        match &inode.node {
            Node::Symlink(_) if flags.contains(crate::system::own::ONLY_NAMED) => {}
            Node::Symlink(_) if flags.contains(OFlags::DIRECTORY) => return Err(Errno::NOTDIR),
            Node::Symlink(_) => return Err(Errno::LOOP),
            Node::Directory(_) if writes => return Err(Errno::ISDIR),
            Node::Directory(_) => {}
            _ if flags.contains(OFlags::DIRECTORY) => return Err(Errno::NOTDIR),
            _ if writes => self.refuse_bound(number, InodeFlags::IMMUTABLE)?,
            _ => {}
        }
        Ok(self.hand_out(number))
    }

    pub(crate) fn open_beneath(
        &mut self,
        dir: BorrowedFd<'_>,
        path: &Path,
        flags: OFlags,
    ) -> Result<OwnedFd> {
        if self.macos {
            return Err(Errno::NOSYS);
        }
        let base = self.base(dir)?.ok_or(Errno::BADF)?;
        self.locate(Some(base), path, true)?;
        let found = self.named(dir, path);
        if found.is_ok_and(|number| self.device(number) != self.device(base)) {
            return Err(Errno::XDEV);
        }
        self.open(dir, path, flags, Mode::empty())
    }

    /// Opens an object for its place alone.
    pub(crate) fn pin(&mut self, dir: BorrowedFd<'_>, path: &Path, flags: OFlags) -> Result<OwnedFd> {
        match self.macos {
            true => Err(Errno::NOSYS),
            false => self.open(dir, path, flags, Mode::empty()),
        }
    }

    /// Of a handle itself without a path.
    pub(crate) fn stat(&mut self, dir: BorrowedFd<'_>, path: Option<&Path>) -> Result<Stat> {
        let number = match path {
            None => {
                self.begin(How::Read, dir, None)?;
                self.held(dir.as_raw_fd())?.inode
            }
            Some(path) => {
                self.begin(How::Look, dir, Some(path))?;
                self.named(dir, path)?
            }
        };
        let inode = self.live.get(number).ok_or(Errno::NOENT)?;
        let (kind, size, rdev) = match &inode.node {
            Node::File(bytes) => (NodeKind::File, bytes.len() as u64, (0, 0)),
            Node::Directory(_) => (NodeKind::Directory, 4096, (0, 0)),
            Node::Symlink(target) => (NodeKind::Symlink, target.len() as u64, (0, 0)),
            Node::Fifo => (NodeKind::Fifo, 0, (0, 0)),
            Node::CharDevice(major, minor) => (NodeKind::CharDevice, 0, (*major, *minor)),
            Node::BlockDevice(major, minor) => (NodeKind::BlockDevice, 0, (*major, *minor)),
        };
        Ok(Stat {
            kind,
            mode: inode.mode,
            uid: inode.owner.0,
            gid: inode.owner.1,
            size,
            // A Mac may show what is not synced as a hole.
            allocated: if self.macos { 0 } else { size.next_multiple_of(512) },
            mtime: inode.mtime,
            ctime: inode.ctime,
            ino: number,
            born: Some(inode.born),
            nlink: self.links(number, inode),
            rdev,
            flags: inode.flags,
            place: (inode.device, if self.macos { 0 } else { inode.device }),
        })
    }

    fn links(&self, number: u64, inode: &Inode) -> u32 {
        if inode.entries().is_some() {
            2
        } else {
            self.live.names_of(number)
        }
    }

    pub(crate) fn names(&mut self, dir: BorrowedFd<'_>, each: &mut impl FnMut(&[u8])) -> Result<()> {
        self.begin(How::Read, dir, None)?;
        let number = self.held(dir.as_raw_fd())?.inode;
        let inode = self.live.get(number).ok_or(Errno::NOENT)?;
        let entries = inode.entries().ok_or(Errno::NOTDIR)?;
        entries.keys().for_each(|name| each(name));
        Ok(())
    }

    pub(crate) fn readlink(&mut self, dir: BorrowedFd<'_>, path: &Path) -> Result<Vec<u8>> {
        self.begin(How::Look, dir, Some(path))?;
        let number = self.named(dir, path)?;
        match &self.live.get(number).ok_or(Errno::NOENT)?.node {
            Node::Symlink(target) => Ok(target.clone()),
            _ => Err(Errno::INVAL),
        }
    }

    pub(crate) fn mkdir(&mut self, dir: BorrowedFd<'_>, path: &Path, mode: Mode) -> Result<()> {
        self.begin(How::Name, dir, Some(path))?;
        let node = Node::Directory(BTreeMap::new());
        self.make((dir, path), node, crate::system::own::bits_of(mode))?;
        Ok(())
    }

    pub(crate) fn symlink(&mut self, target: &[u8], dir: BorrowedFd<'_>, path: &Path) -> Result<()> {
        self.begin(How::Name, dir, Some(path))?;
        self.make((dir, path), Node::Symlink(target.to_vec()), 0o777)?;
        Ok(())
    }

    pub(crate) fn mknod(
        &mut self,
        dir: BorrowedFd<'_>,
        path: &Path,
        kind: FileType,
        (major, minor): (u32, u32),
    ) -> Result<()> {
        self.begin(How::Name, dir, Some(path))?;
        let node = match kind {
            FileType::Fifo => Node::Fifo,
            FileType::CharacterDevice => Node::CharDevice(major, minor),
            FileType::BlockDevice => Node::BlockDevice(major, minor),
            _ => return Err(Errno::INVAL),
        };
        self.make((dir, path), node, 0o600)?;
        Ok(())
    }

    pub(crate) fn link(
        &mut self,
        from: BorrowedFd<'_>,
        old: &Path,
        to: BorrowedFd<'_>,
        new: &Path,
    ) -> Result<()> {
        self.begin(How::Name, to, Some(new))?;
        let number = self.named(from, old)?;
        let (dir, name) = self.vacant((to, new))?;
        if self.device(dir) != self.device(number) {
            return Err(Errno::XDEV);
        }
        self.refuse_bound(number, InodeFlags::IMMUTABLE)?;
        self.refuse_bound(number, InodeFlags::APPEND)?;
        if self.is_dir(number) {
            return Err(Errno::PERM);
        }
        self.edit(vec![(dir, name, Some(number))], &[number]);
        Ok(())
    }

    pub(crate) fn rename(&mut self, from: Spot<'_>, to: Spot<'_>, flags: RenameFlags) -> Result<()> {
        self.begin(How::Name, to.0, Some(to.1))?;
        let (old_dir, old) = self.locate(self.base(from.0)?, from.1, false)?;
        let (new_dir, new) = self.locate(self.base(to.0)?, to.1, false)?;
        if self.device(old_dir) != self.device(new_dir) {
            return Err(Errno::XDEV);
        }
        let number = self.live.child(old_dir, &old).ok_or(Errno::NOENT)?;
        let there = self.live.child(new_dir, &new);
        if let Some(new) = self
            .recased((old_dir, &old), (new_dir, &new), to.1)
            .filter(|_| flags.is_empty())
        {
            self.movable(from)?;
            self.edit(
                vec![(old_dir, old, None), (new_dir, new, Some(number))],
                &[number],
            );
            return Ok(());
        }
        let exchange = flags.contains(RenameFlags::EXCHANGE);
        if !flags.is_empty() && self.macos && !self.exchanges {
            return Err(Errno::NOSYS);
        }
        if exchange && !self.exchanges {
            return Err(Errno::INVAL);
        }
        if there.is_some() && flags.contains(RenameFlags::NOREPLACE) {
            return Err(Errno::EXIST);
        }
        if there.is_none() && exchange {
            return Err(Errno::NOENT);
        }
        if self.is_above(number, new_dir) {
            return Err(Errno::INVAL);
        }
        if there.is_some_and(|there| self.is_above(there, old_dir)) {
            return Err(if exchange { Errno::INVAL } else { Errno::NOTEMPTY });
        }
        if there == Some(number) {
            return Ok(());
        }
        let fixed = |number: u64| number < self.lower && self.is_dir(number);
        if fixed(number) || (exchange && there.is_some_and(fixed)) {
            return Err(Errno::XDEV);
        }
        self.movable(from)?;
        let Some(there) = there else {
            self.vacant(to)?;
            let edits = vec![(old_dir, old, None), (new_dir, new, Some(number))];
            self.edit(edits, &[number]);
            return Ok(());
        };
        self.movable(to)?;
        if exchange {
            let edits = vec![(old_dir, old, Some(there)), (new_dir, new, Some(number))];
            self.edit(edits, &[number, there]);
            return Ok(());
        }
        match (self.is_dir(number), self.is_dir(there)) {
            (true, false) => return Err(Errno::NOTDIR),
            (false, true) => return Err(Errno::ISDIR),
            _ => {}
        }
        let empty = |inode: &Inode| inode.entries().is_none_or(BTreeMap::is_empty);
        if !self.live.get(there).is_some_and(empty) {
            return Err(Errno::NOTEMPTY);
        }
        let edits = vec![(old_dir, old, None), (new_dir, new, Some(number))];
        self.edit(edits, &[number, there]);
        Ok(())
    }

    /// Returns the new name if a rename only changes how its directory writes the name.
    pub(super) fn recased(&self, old: (u64, &[u8]), new: (u64, &[u8]), to: &Path) -> Option<Vec<u8>> {
        let written = to.file_name()?.as_bytes();
        (self.live.folds && old == new && old.1 != written).then(|| written.to_vec())
    }

    /// Returns true if the directory `above` is `below`, or contains it at any depth.
    fn is_above(&self, above: u64, below: u64) -> bool {
        if above == below {
            return true;
        }
        let entries = self.live.get(above).and_then(Inode::entries);
        entries
            .into_iter()
            .flat_map(BTreeMap::values)
            .any(|child| self.is_dir(*child) && self.is_above(*child, below))
    }

    pub(crate) fn unlink(&mut self, dir: BorrowedFd<'_>, path: &Path, flags: AtFlags) -> Result<()> {
        self.begin(How::Name, dir, Some(path))?;
        let (dir, name, number) = self.movable((dir, path))?;
        let inode = self.live.get(number).ok_or(Errno::NOENT)?;
        match (inode.entries(), flags.contains(AtFlags::REMOVEDIR)) {
            (Some(_), false) => return Err(if self.macos { Errno::PERM } else { Errno::ISDIR }),
            (None, true) => return Err(Errno::NOTDIR),
            (Some(entries), true) if !entries.is_empty() => return Err(Errno::NOTEMPTY),
            _ => {}
        }
        self.edit(vec![(dir, name, None)], &[number]);
        Ok(())
    }

    pub(crate) fn access(&mut self, path: &Path) -> Result<()> {
        self.begin(How::Look, rustix::fs::CWD, Some(path))?;
        self.named(rustix::fs::CWD, path)?;
        if self.crowded {
            return Err(Errno::ACCESS);
        }
        Ok(())
    }
}
