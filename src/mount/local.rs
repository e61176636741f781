//! A local directory as a mount. The root is opened once; everything below is reached through handles, so a directory
//! that is swapped for a link while we work leads nowhere.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use crate::model::{FileSystemId, Name, RelPath, Time, Xattr};
use crate::platform::{
    self, Actor, AsHandle, File, FileSystem, Handle, HandleRef, LoadedFile, Looked, Object, Stat, Wanted,
    remote,
};

/// Why a mount cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum MountError {
    /// It does not exist.
    #[error("{} does not exist", path.display())]
    Missing {
        /// The mount root.
        path: PathBuf,
    },
    /// It is a link, a file, or something else than a directory.
    #[error("{} is not a directory any more", path.display())]
    NotADirectory {
        /// The mount root.
        path: PathBuf,
    },
    /// A file system was mounted there, and none is.
    #[error("nothing is mounted at {}, where a file system was when the snapshot was taken", path.display())]
    Unmounted {
        /// The mount root.
        path: PathBuf,
    },
    /// A file system was mounted there, and another one is.
    #[error("another file system is mounted at {} than when the snapshot was taken", path.display())]
    OtherMounted {
        /// The mount root.
        path: PathBuf,
    },
    /// Nothing was mounted there, and now something is.
    #[error("another file system is mounted over {}; what was captured lies hidden below it", path.display())]
    MountedOver {
        /// The mount root.
        path: PathBuf,
    },
    /// The machine that it lies on does not answer any more.
    #[error("the connection to {} was lost", path.display())]
    Lost {
        /// The mount root.
        path: PathBuf,
    },
    /// The machine that it lies on answers, and it cannot be reached there now.
    #[error("{} cannot be reached: {why}", path.display())]
    OutOfReach {
        /// The mount root.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// The system refuses.
    #[error("{} cannot be opened: {source}", path.display())]
    Io {
        /// The mount root.
        path: PathBuf,
        /// What the system says.
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

/// An opened mount root.
#[derive(Debug)]
pub struct Root {
    path: PathBuf,
    handle: Handle,
    stat: Stat,
    frozen: Option<Frozen>,
}

/// What a frozen state of a mount cannot tell itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frozen {
    /// A moment before it was frozen, by the clock that stamps files.
    pub since: Time,
    /// The finest time before it was frozen, where it is known.
    pub from: Option<Time>,
    /// Whether a file system is mounted at the root itself.
    pub mounted: bool,
}

impl Root {
    /// Opens the root at its canonical host path. A link in its place is refused.
    ///
    /// # Errors
    /// [`MountError`], naming the path.
    pub fn open(path: &Path) -> Result<Self, MountError> {
        let fail = |source: io::Error| {
            let path = path.to_path_buf();
            match source.kind() {
                io::ErrorKind::NotFound => MountError::Missing { path },
                io::ErrorKind::NotADirectory => MountError::NotADirectory { path },
                _ => MountError::Io { path, source },
            }
        };
        if let Some(why) = remote::out_of_reach(path) {
            let path = path.to_path_buf();
            return Err(MountError::OutOfReach { path, why });
        }
        let handle = platform::open_root(path).map_err(fail)?;
        let stat = platform::stat_handle(&handle).map_err(fail)?;
        Ok(Self {
            path: path.to_path_buf(),
            handle,
            stat,
            frozen: None,
        })
    }

    /// Opens a frozen state of the root, which lies at another path. It goes by the root's own.
    ///
    /// # Errors
    /// [`MountError`], naming the other path.
    pub fn open_frozen(path: &Path, at: &Path, frozen: Frozen) -> Result<Self, MountError> {
        Ok(Self {
            path: path.to_path_buf(),
            frozen: Some(frozen),
            ..Self::open(at)?
        })
    }

    /// Of a frozen state a moment before it was frozen.
    #[must_use]
    pub fn frozen_since(&self) -> Option<Time> {
        self.frozen.map(|frozen| frozen.since)
    }

    /// The host path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its facts when it was opened.
    #[must_use]
    pub fn stat(&self) -> Stat {
        self.stat
    }

    /// Which file system, through which mount: nothing with another place is entered.
    #[must_use]
    pub fn place(&self) -> (u64, u64) {
        self.stat.place
    }

    /// Whether a file system, or a bind mount, begins at the root.
    #[must_use]
    pub fn is_mount_point(&self) -> bool {
        if let Some(frozen) = self.frozen {
            return frozen.mounted;
        }
        let above = remote::above(&self.path).map(|parent| Dir::open(parent).and_then(|dir| dir.stat()));
        match above {
            Some(Ok(above)) => above.place != self.stat.place,
            Some(Err(_)) => false,
            None => true,
        }
    }

    /// Which file system is mounted at the root; `None` when none is, for a frozen state, and where nothing can be told.
    #[must_use]
    pub fn file_system_id(&self) -> Option<FileSystemId> {
        if self.frozen.is_some() || remote::is_elsewhere(&self.path) || !self.is_mount_point() {
            return None;
        }
        let above = remote::above(&self.path).map(|parent| Dir::open(parent).and_then(|dir| dir.stat()));
        let facts = platform::file_system_facts(&self.handle).ok()??;
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

    /// Returns true if the mount at the root can be identified.
    fn tells_mounts(&self) -> bool {
        remote::above(&self.path).is_none_or(|above| Dir::open(above).is_ok())
    }

    /// Insists that the root is where it was when `mounted` and `id` were recorded: on no other file system, and not below or above
    /// one that was mounted or unmounted since. What cannot be told is not refused.
    ///
    /// # Errors
    /// [`MountError::Unmounted`], [`MountError::OtherMounted`], [`MountError::MountedOver`].
    pub fn check_mounted(path: &Path, mounted: bool, id: Option<&FileSystemId>) -> Result<(), MountError> {
        // A container that is stopped shows none of the mounts that it has while it runs.
        let tells = !remote::is_elsewhere(path) || path.as_os_str().as_encoded_bytes().starts_with(b"ssh://");
        let was_mounted = mounted && tells && id.is_none_or(|id| id.own_mount);
        let path = path.to_path_buf();
        let root = match Self::open(&path) {
            Err(MountError::Missing { path }) if was_mounted => return Err(MountError::Unmounted { path }),
            // Whoever opens it next says why that fails.
            Err(_) => return Ok(()),
            Ok(root) => root,
        };
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

    /// How many threads read files below it at once.
    #[must_use]
    pub fn readers(&self) -> usize {
        platform::readers(&self.handle)
    }

    /// Whether a shell answers for it.
    #[must_use]
    pub fn is_by_shell(&self) -> bool {
        platform::is_by_shell(&self.handle)
    }

    /// Whether the machine that it lies on still answers. What could not be looked at because it does not is not unreadable.
    ///
    /// # Errors
    /// [`MountError::Lost`].
    pub fn answers(&self) -> Result<(), MountError> {
        let path = &self.path;
        match platform::is_lost(&self.handle) {
            true => Err(MountError::Lost { path: path.clone() }),
            false => Ok(()),
        }
    }

    /// What the file system is known for.
    ///
    /// # Errors
    /// What the system says.
    pub fn file_system(&self) -> io::Result<FileSystem> {
        platform::file_system(&self.handle)
    }

    /// Writes dirty pages back before files are read, so that the times of a file show each later store through a mapping.
    ///
    /// With `many` files to read, or where each call is a command of a shell, all of its file system is written back at once.
    /// Returns whether that is done for every file below; otherwise each file is written back by itself.
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
        platform::sync_file_system(&self.handle).is_ok() && (by_shell || !facts.layered)
    }

    /// The clock that its file system stamps files with at least ([`platform::file_clock`]); of a frozen state the moment that it
    /// shows: what was changed from then on is not in it.
    ///
    /// # Errors
    /// When the machine that it lies on does not answer.
    pub fn clock(&self) -> io::Result<Time> {
        match self.frozen {
            Some(frozen) => Ok(frozen.since),
            None => platform::clock_of(&self.handle, false),
        }
    }

    /// The finest clock of the machine that it lies on.
    ///
    /// # Errors
    /// [`MountError::Io`] when that machine does not answer.
    pub fn fine_clock(&self) -> Result<Time, MountError> {
        let path = &self.path;
        platform::clock_of(&self.handle, true).map_err(|source| MountError::Io {
            path: path.clone(),
            source,
        })
    }

    /// The finest clock of the machine that it lies on; `None` where that tells whole seconds only, or does not answer.
    #[must_use]
    pub fn finest_clock(&self) -> Option<Time> {
        if self.is_by_shell() {
            return None;
        }
        platform::clock_of(&self.handle, true).ok()
    }

    /// Whether a file with this ctime was changed while the root was being frozen. Freezing writes one page after the other, so
    /// such a file may have some pages of before and some of after a change.
    #[must_use]
    pub fn changed_while_frozen(&self, ctime: Time) -> bool {
        let from = self.frozen.and_then(|frozen| frozen.from);
        from.is_some_and(|from| ctime > from)
    }

    /// Whether the file system is made of layers, so that some of its directories may not be movable.
    #[must_use]
    pub fn is_layered(&self) -> bool {
        self.file_system().is_ok_and(|facts| facts.layered)
    }

    /// Opens the directory at `path`, through no link and across no mount.
    ///
    /// # Errors
    /// What the system says.
    pub fn dir(&self, path: &RelPath) -> io::Result<Dir> {
        platform::open_beneath(&self.handle, path.as_path()).map(Dir)
    }

    /// The same with its facts, and what is in it.
    ///
    /// # Errors
    /// Why it cannot be opened.
    pub fn look_below(&self, path: &RelPath) -> io::Result<(Dir, Stat, io::Result<Looked>)> {
        let (dir, stat, looked) = platform::look_below(&self.handle, path.as_path())?;
        Ok((Dir(dir), stat, looked))
    }

    /// Reads several small files of several directories, in their order.
    ///
    /// # Errors
    /// Only when the machine that it lies on does not answer.
    pub fn load(
        &self,
        parts: &[(&Path, Vec<Wanted<'_>>)],
    ) -> io::Result<Vec<io::Result<Vec<io::Result<LoadedFile>>>>> {
        platform::load_below(&self.handle, parts)
    }
}

/// An opened directory.
#[derive(Debug)]
pub struct Dir(Handle);

impl Dir {
    /// Opens a directory by its host path, without following a link in the last part.
    ///
    /// # Errors
    /// What the system says.
    pub fn open(path: &Path) -> io::Result<Self> {
        platform::open_root(path).map(Self)
    }

    /// Its own facts.
    ///
    /// # Errors
    /// What the system says.
    pub fn stat(&self) -> io::Result<Stat> {
        platform::stat_handle(&self.0)
    }

    /// Who acts on the machine that it lies on.
    #[must_use]
    pub fn actor(&self) -> Actor {
        platform::actor_of(&self.0)
    }

    /// The facts of a child, or `None` when there is none.
    ///
    /// # Errors
    /// What the system says.
    pub fn look(&self, name: &OsStr) -> io::Result<Option<Stat>> {
        match platform::stat_child(&self.0, name) {
            Ok(stat) => Ok(Some(stat)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Lists it once, with the facts of what is in it.
    ///
    /// # Errors
    /// What the system says of the directory.
    pub fn look_into(&self) -> io::Result<Looked> {
        platform::look_into(&self.0)
    }

    /// The facts of several children, in their order.
    ///
    /// # Errors
    /// Only when the machine that it lies on does not answer.
    pub fn look_at<'n>(&self, names: impl Iterator<Item = &'n OsStr>) -> io::Result<Vec<io::Result<Stat>>> {
        platform::stat_children(&self.0, names)
    }

    /// What is said of a child that is not read.
    ///
    /// # Errors
    /// What the system says.
    pub fn object(&self, name: &OsStr, is_link: bool) -> io::Result<Object> {
        let mut told = self.objects(&[(name, is_link)])?;
        told.pop().unwrap_or_else(|| Err(io::ErrorKind::NotFound.into()))
    }

    /// What is said of several children that are not read, in their order; with each name whether it is a link.
    ///
    /// # Errors
    /// Only when the machine that it lies on does not answer.
    pub fn objects(&self, names: &[(&OsStr, bool)]) -> io::Result<Vec<io::Result<Object>>> {
        platform::objects(&self.0, names)
    }

    /// The names in it, sorted. A name that no path can hold does not occur: the kernel makes none.
    ///
    /// # Errors
    /// What the system says.
    pub fn names(&self) -> io::Result<Vec<Name>> {
        let mut names: Vec<Name> = Vec::new();
        platform::names(&self.0, |name| names.extend(Name::new(name)))?;
        names.sort_unstable();
        Ok(names)
    }

    /// Opens a child directory, not through a link.
    ///
    /// # Errors
    /// What the system says.
    pub fn dir(&self, name: &OsStr) -> io::Result<Self> {
        platform::open_child_dir(&self.0, name).map(Self)
    }

    /// Opens the directory at a relative path, through no link and across no mount.
    ///
    /// # Errors
    /// What the system says.
    pub fn dir_below(&self, path: &RelPath) -> io::Result<Self> {
        platform::open_beneath(&self.0, path.as_path()).map(Self)
    }

    /// Opens a regular file for reading.
    ///
    /// # Errors
    /// What the system says.
    pub fn file(&self, name: &OsStr) -> io::Result<(File, Stat)> {
        platform::open_child_file(&self.0, name)
    }

    /// Opens what should be a regular file; who reads it asks afterwards whether it was.
    ///
    /// # Errors
    /// What the system says.
    pub fn file_blindly(&self, name: &OsStr) -> io::Result<File> {
        platform::open_child_file_blindly(&self.0, name)
    }

    /// The target of a link.
    ///
    /// # Errors
    /// What the system says.
    pub fn link_target(&self, name: &OsStr) -> io::Result<Vec<u8>> {
        platform::read_link(&self.0, name)
    }

    /// The extended attributes of a child; its own when the name is empty.
    ///
    /// # Errors
    /// What the system says.
    pub fn attributes(&self, name: &OsStr) -> io::Result<Vec<Xattr>> {
        platform::list_attributes(&self.0, name)
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
