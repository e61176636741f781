//! Sources from which repositories are read: a live mount here, the content of a snapshot elsewhere.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::rc::Rc;

use handle_fs::{Dir, Root};
use handle_fs::{File, NodeKind};
use handle_fs::{Name, RelPath};

/// Object at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// A regular file.
    File {
        /// Length in bytes.
        size: u64,
        /// True if any execute permission is set.
        executable: bool,
    },
    /// A directory.
    Directory,
    /// A symbolic link, with its target.
    Symlink(Vec<u8>),
    /// A pipe, a socket, a device.
    Other,
}

/// Tree of readable files. No method follows a link, and none leaves the tree.
pub trait Files {
    /// Returns the object at a path; `None` if there is none.
    ///
    /// # Errors
    /// Error from the system.
    fn look(&self, path: &RelPath) -> io::Result<Option<Found>>;

    /// Returns the names in a directory, sorted.
    ///
    /// # Errors
    /// Error from the system, or one about too many names.
    fn names(&self, dir: &RelPath) -> io::Result<Vec<Name>>;

    /// Reads up to `room.len()` bytes of a regular file from byte `at` on; 0 at its end.
    ///
    /// # Errors
    /// Error from the system, also if it is no regular file.
    fn read_at(&self, path: &RelPath, room: &mut [u8], at: u64) -> io::Result<usize>;

    /// Returns the effort that objects of the tree took so far, in bytes that were read or built. All of its repositories share it, because one
    /// pack may serve many of them.
    fn effort(&self) -> &Cell<u64>;

    /// Returns true if the tree excludes a path: that nothing is found there says nothing about the repository.
    fn excludes(&self, _path: &RelPath) -> bool {
        false
    }

    /// Returns the path of the root on the host, by which absolute paths that lead back into the tree are recognized.
    fn host_path(&self) -> Option<&Path> {
        None
    }
}

/// Files below a live root. Opened files are kept, so a file that is replaced meanwhile may still be read as before: create a new
/// value for a new look.
#[derive(Debug)]
pub struct Live<'a> {
    root: &'a Root,
    dir: RefCell<Option<(RelPath, Rc<Dir>)>>,
    /// Opened files, the most recently used first.
    open: RefCell<VecDeque<(RelPath, Rc<File>)>>,
    effort: Cell<u64>,
}

/// Maximum number of files kept open: a pack, its index, and those of a few others.
const KEPT_OPEN: usize = 8;

/// Maximum number of names in a directory: more would fill the memory.
const MOST_NAMES: usize = 1_000_000;

impl<'a> Live<'a> {
    /// Reads below this root.
    #[must_use]
    pub fn new(root: &'a Root) -> Self {
        Self {
            root,
            dir: RefCell::default(),
            open: RefCell::default(),
            effort: Cell::default(),
        }
    }

    fn dir(&self, path: &RelPath) -> io::Result<Rc<Dir>> {
        if let Some((known, dir)) = &*self.dir.borrow()
            && known == path
        {
            return Ok(Rc::clone(dir));
        }
        let dir = Rc::new(self.root.dir(path)?);
        *self.dir.borrow_mut() = Some((path.clone(), Rc::clone(&dir)));
        Ok(dir)
    }

    fn file(&self, path: &RelPath) -> io::Result<Rc<File>> {
        let mut open = self.open.borrow_mut();
        if let Some(at) = open.iter().position(|(known, _)| known == path)
            && let Some(kept) = open.remove(at)
        {
            let file = Rc::clone(&kept.1);
            open.push_front(kept);
            return Ok(file);
        }
        let (parent, name) = path.split().ok_or(io::ErrorKind::IsADirectory)?;
        let (file, _) = self.dir(&parent)?.file(name.as_os_str())?;
        let file = Rc::new(file);
        open.truncate(KEPT_OPEN - 1);
        open.push_front((path.clone(), Rc::clone(&file)));
        Ok(file)
    }
}

impl Files for Live<'_> {
    fn look(&self, path: &RelPath) -> io::Result<Option<Found>> {
        let Some((parent, name)) = path.split() else {
            return Ok(Some(Found::Directory));
        };
        let dir = match self.dir(&parent) {
            Ok(dir) => dir,
            Err(error) if is_absent(&error) => return Ok(None),
            Err(error) => return Err(error),
        };
        let Some(stat) = dir.look(name.as_os_str())? else {
            return Ok(None);
        };
        Ok(Some(match stat.kind {
            NodeKind::File => Found::File {
                size: stat.size,
                executable: stat.mode & 0o111 != 0,
            },
            NodeKind::Directory => Found::Directory,
            NodeKind::Symlink => Found::Symlink(dir.link_target(name.as_os_str())?),
            _ => Found::Other,
        }))
    }

    fn names(&self, dir: &RelPath) -> io::Result<Vec<Name>> {
        // A handle of its own: what lists shares the handle's place in the list.
        let dir = self.root.dir(dir)?;
        let (mut names, mut excess) = (Vec::<Name>::new(), false);
        handle_fs::names(&dir, |name| {
            if names.len() < MOST_NAMES {
                names.extend(Name::new(name));
            } else {
                excess = true;
            }
        })?;
        if excess {
            let what = format!("it holds more than {MOST_NAMES} names");
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        names.sort_unstable();
        Ok(names)
    }

    fn read_at(&self, path: &RelPath, room: &mut [u8], at: u64) -> io::Result<usize> {
        self.file(path)?.read_at(room, at)
    }

    fn effort(&self) -> &Cell<u64> {
        &self.effort
    }

    fn host_path(&self) -> Option<&Path> {
        Some(self.root.path())
    }
}

/// Returns true if nothing can exist at the path: a directory above is missing, or is not one.
fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}
