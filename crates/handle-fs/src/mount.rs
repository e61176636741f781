//! A local directory as a mount. The root is opened once, and everything below it is reached through handles, so a directory that
//! is replaced by a link meanwhile leads nowhere.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use crate::remote::Transports;
use crate::{
    Actor, AsHandle, File, FileSystem, Handle, HandleRef, LoadedFile, Looked, NodeKind, Object, Stat, Survey,
    Wanted, remote,
};
use crate::{FileSystemId, Name, RelPath, Time, Xattr};

/// Reason why a mount cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum MountError {
    /// The root does not exist.
    #[error("{} does not exist", path.display())]
    Missing {
        /// The mount root.
        path: PathBuf,
    },
    /// The root is a link, a file, or something else than a directory.
    #[error("{} is not a directory any more", path.display())]
    NotADirectory {
        /// The mount root.
        path: PathBuf,
    },
    /// A directory above the root is a link now, so the path may lead to another tree.
    #[error("{} is a symbolic link now, so {} may lead to other files", link.display(), path.display())]
    BehindLink {
        /// The mount root.
        path: PathBuf,
        /// The link.
        link: PathBuf,
    },
    /// A file system was mounted at the root, and none is now.
    #[error("nothing is mounted at {}, where a file system was when the snapshot was taken", path.display())]
    Unmounted {
        /// The mount root.
        path: PathBuf,
    },
    /// A file system was mounted at the root, and another one is now.
    #[error("another file system is mounted at {} than when the snapshot was taken", path.display())]
    OtherMounted {
        /// The mount root.
        path: PathBuf,
    },
    /// A file system is mounted over the root now, and none was.
    #[error("another file system is mounted over {} and hides the captured files", path.display())]
    MountedOver {
        /// The mount root.
        path: PathBuf,
    },
    /// The root lies in a container that was replaced by another one under its name.
    #[error("{} is in another container than when the snapshot was taken: what it holds is not what the agent left", path.display())]
    Replaced {
        /// The mount root.
        path: PathBuf,
    },
    /// The machine of the mount no longer answers.
    #[error("the connection to {} was lost", path.display())]
    Lost {
        /// The mount root.
        path: PathBuf,
    },
    /// The machine of the mount answers, and the mount cannot be reached there now.
    #[error("{} cannot be reached: {why}", path.display())]
    OutOfReach {
        /// The mount root.
        path: PathBuf,
        /// Reason, in words.
        why: String,
    },
    /// The system reports an error.
    #[error("{} cannot be opened: {source}", path.display())]
    Io {
        /// The mount root.
        path: PathBuf,
        /// Error from the system.
        source: io::Error,
    },
}

impl MountError {
    /// Returns true if a file system was mounted or unmounted at the root since.
    #[must_use]
    pub fn is_about_mounting(&self) -> bool {
        matches!(
            self,
            Self::Unmounted { .. } | Self::OtherMounted { .. } | Self::MountedOver { .. }
        )
    }
}

/// Opened mount root.
#[derive(Debug)]
pub struct Root {
    path: PathBuf,
    handle: Handle,
    stat: Stat,
    frozen: Option<Frozen>,
    transports: Transports,
}

/// Facts of a frozen mount that its frozen state does not show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frozen {
    /// Time before the mount was frozen, by the clock that stamps files.
    pub since: Time,
    /// Finest time before the mount was frozen; `None` if unknown.
    pub from: Option<Time>,
    /// True if a file system is mounted at the root itself.
    pub mounted: bool,
}

impl Root {
    /// Opens the root at its canonical host path. A link in its place is refused.
    ///
    /// # Errors
    /// [`MountError`], naming the path.
    pub fn open(transports: &Transports, path: &Path) -> Result<Self, MountError> {
        let fail = |source: io::Error| {
            let path = path.to_path_buf();
            match source.kind() {
                io::ErrorKind::NotFound => MountError::Missing { path },
                io::ErrorKind::NotADirectory => MountError::NotADirectory { path },
                _ => MountError::Io { path, source },
            }
        };
        if let Some(why) = transports.out_of_reach(path) {
            let path = path.to_path_buf();
            return Err(MountError::OutOfReach { path, why });
        }
        let handle = transports.open_root(path).map_err(fail)?;
        let stat = crate::stat_handle(&handle).map_err(fail)?;
        Ok(Self {
            path: path.to_path_buf(),
            handle,
            stat,
            frozen: None,
            transports: transports.clone(),
        })
    }

    /// Opens a frozen state of the root, which lies at another path. The result keeps the root's own path.
    ///
    /// # Errors
    /// [`MountError`], naming the other path.
    pub fn open_frozen(
        transports: &Transports,
        path: &Path,
        at: &Path,
        frozen: Frozen,
    ) -> Result<Self, MountError> {
        Ok(Self {
            path: path.to_path_buf(),
            frozen: Some(frozen),
            ..Self::open(transports, at)?
        })
    }

    /// Returns a time before a frozen state was frozen; `None` for a live root.
    #[must_use]
    pub fn frozen_since(&self) -> Option<Time> {
        self.frozen.map(|frozen| frozen.since)
    }

    /// Returns the host path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the connections over which it was opened.
    #[must_use]
    pub fn transports(&self) -> &Transports {
        &self.transports
    }

    /// Returns the facts of the root when it was opened.
    #[must_use]
    pub fn stat(&self) -> Stat {
        self.stat
    }

    /// Returns the numbers of the file system and the mount. Nothing with another place is entered.
    #[must_use]
    pub fn place(&self) -> (u64, u64) {
        self.stat.place
    }

    /// Returns true if a file system, or a bind mount, begins at the root.
    #[must_use]
    pub fn is_mount_point(&self) -> bool {
        if let Some(frozen) = self.frozen {
            return frozen.mounted;
        }
        let above = self.stat_above();
        match above {
            Some(Ok(above)) => above.place != self.stat.place,
            Some(Err(_)) => false,
            None => true,
        }
    }

    /// Returns the ID of the file system mounted at the root; `None` if there is none, if it is unknown, and for a frozen state.
    #[must_use]
    pub fn file_system_id(&self) -> Option<FileSystemId> {
        if self.frozen.is_some() {
            return None;
        }
        if let HandleRef::There(far) = self.handle.as_handle() {
            return far.file_system_id(&remote::place_there(&self.path)?);
        }
        if !self.is_mount_point() {
            return None;
        }
        let above = self.stat_above();
        let facts = crate::file_system_facts(&self.handle).ok()??;
        Some(FileSystemId {
            // The number of the mount; 0: the system does not tell.
            own_mount: match above {
                Some(Ok(above)) => above.place.1 == 0 || above.place.1 != self.stat.place.1,
                Some(Err(_)) | None => true,
            },
            kind: facts.kind,
            id: facts.id,
            root: self
                .stat
                .born
                .filter(|_| facts.by_root)
                .map(|born| (self.stat.ino, born)),
        })
    }

    /// Returns the facts of the directory above the root; `None` at the top of a machine or a volume.
    fn stat_above(&self) -> Option<io::Result<Stat>> {
        let parent = remote::above(&self.path)?;
        Some(Dir::open(&self.transports, parent).and_then(|dir| dir.stat()))
    }

    /// Returns true if the mount at the root can be identified.
    fn tells_mounts(&self) -> bool {
        remote::above(&self.path).is_none_or(|above| Dir::open(&self.transports, above).is_ok())
    }

    /// Checks that the root is where it was when `mounted` and `id` were recorded: behind no link, on no other file system, and not below
    /// or above one that was mounted or unmounted since. If that is unknown, the check passes.
    ///
    /// # Errors
    /// [`MountError::BehindLink`], [`MountError::Unmounted`], [`MountError::OtherMounted`], [`MountError::MountedOver`].
    pub fn check_mounted(
        transports: &Transports,
        path: &Path,
        mounted: bool,
        id: Option<&FileSystemId>,
    ) -> Result<(), MountError> {
        // A container that is stopped shows none of the mounts that it has while it runs.
        let tells = !remote::is_elsewhere(path) || path.as_os_str().as_encoded_bytes().starts_with(b"ssh://");
        let was_mounted = mounted && tells && id.is_none_or(|id| id.own_mount);
        let path = path.to_path_buf();
        if let Some(then) = id.filter(|id| remote::is_of_volume(id))
            && Self::backing(transports, &path).is_some_and(|now| then.differs(&now))
        {
            return Err(MountError::OtherMounted { path });
        }
        if let Some(link) = Self::link_above(transports, &path) {
            return Err(MountError::BehindLink { path, link });
        }
        let root = match Self::open(transports, &path) {
            Err(MountError::Missing { path }) if was_mounted => return Err(MountError::Unmounted { path }),
            // The caller that opens it next reports why that fails.
            Err(_) => return Ok(()),
            Ok(root) => root,
        };
        let id = id.filter(|id| !remote::is_of_container(id));
        match (mounted, root.is_mount_point()) {
            (false, true) => Err(MountError::MountedOver { path }),
            (true, false) if was_mounted && root.tells_mounts() => Err(MountError::Unmounted { path }),
            (true, true) => match (id, root.file_system_id()) {
                (Some(then), Some(now)) if then.differs(&now) => Err(MountError::OtherMounted { path }),
                _ => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// Returns the outermost link above a root of this machine. A recorded root has none: its path was resolved then.
    fn link_above(transports: &Transports, path: &Path) -> Option<PathBuf> {
        if remote::is_elsewhere(path) {
            return None;
        }
        let mut above: Vec<&Path> = path.ancestors().skip(1).collect();
        above.reverse();
        let is_link = |at: &&Path| {
            let place = at.parent().zip(at.file_name());
            let seen =
                place.and_then(|(parent, name)| Dir::open(transports, parent).ok()?.look(name).ok()?);
            seen.is_some_and(|seen| seen.kind == NodeKind::Symlink)
        };
        above.into_iter().find(is_link).map(Path::to_path_buf)
    }

    /// Returns the identity of the storage of a path on another machine, which need not exist.
    fn backing(transports: &Transports, path: &Path) -> Option<FileSystemId> {
        let there = remote::place_there(path)?;
        let near = remote::upwards(path).find_map(|at| transports.open_root(at).ok())?;
        match near.as_handle() {
            HandleRef::There(far) => far.file_system_id(&there),
            HandleRef::Here(_) => None,
        }
    }

    /// Checks that the root is not in another container than when `id` was recorded. If that is unknown, the check passes.
    ///
    /// # Errors
    /// [`MountError::Replaced`].
    pub fn check_container(
        transports: &Transports,
        path: &Path,
        id: Option<&FileSystemId>,
    ) -> Result<(), MountError> {
        let Some(then) = id.filter(|id| remote::is_of_container(id)) else {
            return Ok(());
        };
        match Self::backing(transports, path).is_some_and(|now| then.differs(&now)) {
            true => Err(MountError::Replaced {
                path: path.to_path_buf(),
            }),
            false => Ok(()),
        }
    }

    /// Returns the number of threads that read files below the root at once.
    #[must_use]
    pub fn readers(&self) -> usize {
        crate::readers(&self.handle)
    }

    /// Returns true if it lies on another machine.
    #[must_use]
    pub fn is_far(&self) -> bool {
        crate::is_far(&self.handle)
    }

    /// Returns true if a shell performs the operations on it.
    #[must_use]
    pub fn is_by_shell(&self) -> bool {
        crate::is_by_shell(&self.handle)
    }

    /// Checks that the machine of the mount still answers. Objects that are unread because it does not are not unreadable.
    ///
    /// # Errors
    /// [`MountError::Lost`].
    pub fn answers(&self) -> Result<(), MountError> {
        let path = &self.path;
        match crate::is_lost(&self.handle) {
            true => Err(MountError::Lost { path: path.clone() }),
            false => Ok(()),
        }
    }

    /// Returns the known properties of the file system.
    ///
    /// # Errors
    /// Error from the system.
    pub fn file_system(&self) -> io::Result<FileSystem> {
        crate::file_system(&self.handle)
    }

    /// Writes dirty pages back before files are read, so that the times of a file show each later store through a mapping.
    ///
    /// With `many` files to read, or where each call is a command of a shell, all of its file system is written back at once.
    /// Returns true if that covers every file below; otherwise each file is written back by itself.
    #[must_use]
    pub fn write_back(&self, many: bool) -> bool {
        let Ok(facts) = self.file_system() else {
            return false;
        };
        if !facts.writes_back {
            return false;
        }
        // A frozen state was written back before it was frozen, and does not change.
        if self.frozen.is_some() {
            return true;
        }
        let by_shell = self.is_by_shell();
        if !many && !by_shell {
            return false;
        }
        // An upper layer may lie in memory; only its files tell.
        crate::sync_file_system(&self.handle).is_ok() && (by_shell || !facts.layered)
    }

    /// Returns the earliest time at which its file system may stamp a change from now on ([`crate::file_clock`]). Of a frozen
    /// state, returns the time that it shows: later changes are not in it.
    ///
    /// # Errors
    /// Fails if the machine of the mount does not answer.
    pub fn clock(&self) -> io::Result<Time> {
        match self.frozen {
            Some(frozen) => Ok(frozen.since),
            None => crate::clock_of(&self.handle, false),
        }
    }

    /// Returns the finest clock of the mount's machine.
    ///
    /// # Errors
    /// [`MountError::Io`] if that machine does not answer.
    pub fn fine_clock(&self) -> Result<Time, MountError> {
        let path = &self.path;
        crate::clock_of(&self.handle, true).map_err(|source| MountError::Io {
            path: path.clone(),
            source,
        })
    }

    /// Returns the finest clock of the mount's machine; `None` if it has whole seconds only, or does not answer.
    #[must_use]
    pub fn finest_clock(&self) -> Option<Time> {
        if self.is_by_shell() {
            return None;
        }
        crate::clock_of(&self.handle, true).ok()
    }

    /// Returns true if a file with this ctime was changed while the root was being frozen. Freezing writes one page after the
    /// other, so such a file may mix pages from before and after a change.
    #[must_use]
    pub fn changed_while_frozen(&self, ctime: Time) -> bool {
        let from = self.frozen.and_then(|frozen| frozen.from);
        from.is_some_and(|from| ctime > from)
    }

    /// Returns true if the file system is made of layers, so that some of its directories may not be movable.
    #[must_use]
    pub fn is_layered(&self) -> bool {
        self.file_system().is_ok_and(|facts| facts.layered)
    }

    /// Opens the directory at `path`, through no link and across no mount.
    ///
    /// # Errors
    /// Error from the system.
    pub fn dir(&self, path: &RelPath) -> io::Result<Dir> {
        crate::open_beneath(&self.handle, path.as_path()).map(Dir)
    }

    /// Does the same, and returns the directory's facts and entries.
    ///
    /// # Errors
    /// Error from opening the directory.
    pub fn look_below(&self, path: &RelPath) -> io::Result<(Dir, Stat, io::Result<Looked>)> {
        let (dir, stat, looked) = crate::look_below(&self.handle, path.as_path())?;
        Ok((Dir(dir), stat, looked))
    }

    /// Looks at names in directories below the root, and with `load` at small files among them. Only another machine is asked.
    pub fn survey<'n>(&self, parts: impl Iterator<Item = (&'n Path, Vec<&'n OsStr>)>, load: bool) -> Survey {
        crate::survey(&self.handle, parts, load)
    }

    /// Reads several small files of several directories, in their order.
    ///
    /// # Errors
    /// Fails only if the machine of the mount does not answer.
    pub fn load(
        &self,
        parts: &[(&Path, Vec<Wanted<'_>>)],
    ) -> io::Result<Vec<io::Result<Vec<io::Result<LoadedFile>>>>> {
        crate::load_below(&self.handle, parts)
    }
}

/// Opened directory.
#[derive(Debug)]
pub struct Dir(Handle);

impl Dir {
    /// Opens a directory by its host path, without following a link in the last part.
    ///
    /// # Errors
    /// Error from the system.
    pub fn open(transports: &Transports, path: &Path) -> io::Result<Self> {
        transports.open_root(path).map(Self)
    }

    /// Returns the directory's own facts.
    ///
    /// # Errors
    /// Error from the system.
    pub fn stat(&self) -> io::Result<Stat> {
        crate::stat_handle(&self.0)
    }

    /// Returns the effective user and group on the directory's machine.
    #[must_use]
    pub fn actor(&self) -> Actor {
        crate::actor_of(&self.0)
    }

    /// Returns the facts of a child; `None` if there is none.
    ///
    /// # Errors
    /// Error from the system.
    pub fn look(&self, name: &OsStr) -> io::Result<Option<Stat>> {
        match crate::stat_child(&self.0, name) {
            Ok(stat) => Ok(Some(stat)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Lists the directory once, with the facts of its entries.
    ///
    /// # Errors
    /// Error from the system about the directory.
    pub fn look_into(&self) -> io::Result<Looked> {
        crate::look_into(&self.0)
    }

    /// Returns the facts of several children, in their order.
    ///
    /// # Errors
    /// Fails only if the directory's machine does not answer.
    pub fn look_at<'n>(&self, names: impl Iterator<Item = &'n OsStr>) -> io::Result<Vec<io::Result<Stat>>> {
        crate::stat_children(&self.0, names)
    }

    /// Returns target and attributes of a child that is not read.
    ///
    /// # Errors
    /// Error from the system.
    pub fn object(&self, name: &OsStr, is_link: bool) -> io::Result<Object> {
        let mut told = self.objects(&[(name, is_link)])?;
        told.pop().unwrap_or_else(|| Err(io::ErrorKind::NotFound.into()))
    }

    /// Returns target and attributes of several children that are not read, in their order. The flag of a name is true for a
    /// link.
    ///
    /// # Errors
    /// Fails only if the directory's machine does not answer.
    pub fn objects(&self, names: &[(&OsStr, bool)]) -> io::Result<Vec<io::Result<Object>>> {
        crate::objects(&self.0, names)
    }

    /// Returns the names in the directory, sorted. The kernel makes none that a path cannot hold.
    ///
    /// # Errors
    /// Error from the system.
    pub fn names(&self) -> io::Result<Vec<Name>> {
        let mut names: Vec<Name> = Vec::new();
        crate::names(&self.0, |name| names.extend(Name::new(name)))?;
        names.sort_unstable();
        Ok(names)
    }

    /// Opens a child directory, not through a link.
    ///
    /// # Errors
    /// Error from the system.
    pub fn dir(&self, name: &OsStr) -> io::Result<Self> {
        crate::open_child_dir(&self.0, name).map(Self)
    }

    /// Opens the directory at a relative path, through no link and across no mount.
    ///
    /// # Errors
    /// Error from the system.
    pub fn dir_below(&self, path: &RelPath) -> io::Result<Self> {
        crate::open_beneath(&self.0, path.as_path()).map(Self)
    }

    /// Looks at names in directories below it, and with `load` at small files among them. Only another machine is asked.
    pub fn survey<'n>(&self, parts: impl Iterator<Item = (&'n Path, Vec<&'n OsStr>)>, load: bool) -> Survey {
        crate::survey(&self.0, parts, load)
    }

    /// Opens a regular file for reading.
    ///
    /// # Errors
    /// Error from the system.
    pub fn file(&self, name: &OsStr) -> io::Result<(File, Stat)> {
        crate::open_child_file(&self.0, name)
    }

    /// Opens a file that should be regular; the reader must check that afterwards.
    ///
    /// # Errors
    /// Error from the system.
    pub fn file_blindly(&self, name: &OsStr) -> io::Result<File> {
        crate::open_child_file_blindly(&self.0, name)
    }

    /// Returns the target of a link.
    ///
    /// # Errors
    /// Error from the system.
    pub fn link_target(&self, name: &OsStr) -> io::Result<Vec<u8>> {
        crate::read_link(&self.0, name)
    }

    /// Returns the extended attributes of a child, or of the directory itself if the name is empty.
    ///
    /// # Errors
    /// Error from the system.
    pub fn attributes(&self, name: &OsStr) -> io::Result<Vec<Xattr>> {
        crate::list_attributes(&self.0, name)
    }
}

impl AsHandle for Dir {
    fn as_handle(&self) -> HandleRef<'_> {
        self.0.as_handle()
    }
}

impl From<Dir> for Handle {
    fn from(dir: Dir) -> Self {
        dir.0
    }
}
