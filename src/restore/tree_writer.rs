//! Writer of a tree: its objects as planned, the making of its directories, and finally their metadata.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::io;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt as _;

use super::RestoreError;
use super::build::{Builder, failed};
use super::metadata::Object;
use super::problem::Problem;
use crate::model::{Entry, Name, RelPath};
use handle_fs::Dir;
use handle_fs::{AsHandle as _, parallel};

/// So many directories are one piece of work.
const SOME: usize = 64;

/// Something to be made.
pub(super) struct Planned<'a> {
    /// The number of the directory it lies in.
    pub(super) folder: usize,
    pub(super) name: Cow<'a, OsStr>,
    /// Path in messages.
    pub(super) path: &'a RelPath,
    pub(super) entry: &'a Entry,
    pub(super) origin: Origin,
}

/// Origin of an object.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// The object is built.
    Store,
    /// The object is another name of the one with this number.
    NameOf(usize),
    /// The object already exists as a link to another file.
    There,
}

/// A directory to be made, and those in it.
struct Folder<'a> {
    /// Below the top.
    place: RelPath,
    depth: usize,
    /// Path in messages and target entry; `None` for the top.
    made: Option<(&'a RelPath, &'a Entry)>,
    below: Vec<(OsString, usize)>,
}

/// A tree that is built below a directory of ours. Whoever plans it adds everything in the order of paths.
pub(super) struct TreeWriter<'a> {
    top: &'a Dir,
    folders: Vec<Folder<'a>>,
    pub(super) objects: Vec<Planned<'a>>,
}

impl<'a> TreeWriter<'a> {
    /// The number of the top.
    pub(super) const TOP: usize = 0;

    /// A site on `top`, which is there already.
    pub(super) fn new(top: &'a Dir) -> Self {
        let folder = Folder {
            place: RelPath::root(),
            depth: 0,
            made: None,
            below: Vec::new(),
        };
        Self {
            top,
            folders: vec![folder],
            objects: Vec::new(),
        }
    }

    /// Plans a directory; gives its number.
    pub(super) fn folder(
        &mut self,
        within: usize,
        name: &OsStr,
        path: &'a RelPath,
        entry: &'a Entry,
    ) -> Result<usize, RestoreError> {
        let wrong = |error| failed(path, io::Error::other(error));
        let valid = Name::new(name.as_bytes()).map_err(wrong)?;
        let number = self.folders.len();
        let parent = self.folders.get_mut(within);
        let parent = parent.ok_or_else(|| failed(path, io::ErrorKind::NotFound.into()))?;
        parent.below.push((name.to_owned(), number));
        let (place, depth) = (parent.place.join(&valid), parent.depth + 1);
        self.folders.push(Folder {
            place,
            depth,
            made: Some((path, entry)),
            below: Vec::new(),
        });
        Ok(number)
    }

    /// Plans anything else; gives its number.
    pub(super) fn object(
        &mut self,
        folder: usize,
        name: Cow<'a, OsStr>,
        path: &'a RelPath,
        entry: &'a Entry,
        origin: Origin,
    ) -> usize {
        self.objects.push(Planned {
            folder,
            name,
            path,
            entry,
            origin,
        });
        self.objects.len() - 1
    }

    /// Makes all directories, empty and open to us alone. The first in the order of paths that cannot be made is named.
    pub(super) fn make_folders(&self) -> Result<(), RestoreError> {
        if self.folders.len() == 1 {
            return Ok(());
        }
        let visit = |number: usize, found: &mut Vec<usize>, errors: &mut Vec<(usize, RestoreError)>| {
            let (below, error) = self.make_below(number);
            found.extend(below);
            if let Some(error) = error {
                errors.push(error);
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        };
        let errors = parallel::explore(Self::TOP, visit).into_iter().flatten();
        match errors.min_by_key(|(number, _)| *number) {
            Some((_, error)) => Err(error),
            None => Ok(()),
        }
    }

    /// Makes the directories in one; gives those in which more are to be made.
    fn make_below(&self, number: usize) -> (Vec<usize>, Option<(usize, RestoreError)>) {
        let Some(folder) = self.folders.get(number) else {
            return (Vec::new(), None);
        };
        let mut found = Vec::new();
        let mut dir = None;
        for (name, child) in &folder.below {
            let Some(planned) = self.folders.get(*child) else {
                continue;
            };
            let made = match &dir {
                Some(dir) => handle_fs::make_dir(dir, name),
                None => self
                    .top
                    .dir_below(&folder.place)
                    .and_then(|opened| handle_fs::make_dir(&*dir.insert(opened), name)),
            };
            if let (Err(source), Some((path, _))) = (made, planned.made) {
                return (found, Some((*child, failed(path, source))));
            }
            if !planned.below.is_empty() {
                found.push(*child);
            }
        }
        (found, None)
    }

    /// Says that an object is there: `link` made it in the directory it gets, under the name it gets.
    pub(super) fn link_in(
        &mut self,
        number: usize,
        link: impl FnOnce(&Dir, &OsStr) -> Result<bool, RestoreError>,
    ) -> Result<(), RestoreError> {
        let Some(object) = self.objects.get_mut(number) else {
            return Ok(());
        };
        let Some(folder) = self.folders.get(object.folder) else {
            return Ok(());
        };
        let dir = self.top.dir_below(&folder.place);
        if link(&dir.map_err(|source| failed(object.path, source))?, &object.name)? {
            object.origin = Origin::There;
        }
        Ok(())
    }

    /// Gives directories their metadata, the deepest first: nothing more is made in them, and where we may not enter
    /// afterwards nothing is left to do.
    pub(super) fn finish_folders(&self, builder: &mut Builder<'_>) -> Result<(), RestoreError> {
        let mut levels: Vec<Vec<usize>> = Vec::new();
        for (number, folder) in self.folders.iter().enumerate().skip(1) {
            if levels.len() < folder.depth {
                levels.resize_with(folder.depth, Vec::new);
            }
            if let Some(level) = levels.get_mut(folder.depth - 1) {
                level.push(number);
            }
        }
        let mut notes: Vec<(usize, Vec<Problem>)> = Vec::new();
        for level in levels.iter().rev() {
            let shared: &Builder<'_> = builder;
            let some: Vec<&[usize]> = level.chunks(SOME).collect();
            let done = parallel::map(&some, |some| -> Result<Vec<_>, RestoreError> {
                let each = some
                    .iter()
                    .map(|number| Ok((*number, self.finish(*number, shared)?)));
                each.filter(|done| !matches!(done, Ok((_, notes)) if notes.is_empty()))
                    .collect()
            });
            for done in done {
                notes.extend(done?);
            }
        }
        notes.sort_by_key(|(number, _)| *number);
        for (number, notes) in notes {
            let made = self.folders.get(number).and_then(|folder| folder.made);
            let Some((path, _)) = made else { continue };
            builder
                .problems
                .extend(notes.into_iter().map(|note| (path.clone(), note)));
        }
        Ok(())
    }

    fn finish(&self, number: usize, builder: &Builder<'_>) -> Result<Vec<Problem>, RestoreError> {
        let made = self.folders.get(number).and_then(|folder| folder.made);
        let Some((path, entry)) = made else {
            return Ok(Vec::new());
        };
        let dir = self.dir(number).map_err(|source| failed(path, source))?;
        Ok(builder.finish(Object::Open(dir.as_handle()), path, entry)?.notes)
    }

    /// The object with this number.
    pub(super) fn planned(&self, number: usize) -> Option<&Planned<'a>> {
        self.objects.get(number)
    }

    /// Opens the directory with this number.
    pub(super) fn dir(&self, number: usize) -> io::Result<Dir> {
        let folder = self.folders.get(number).ok_or(io::ErrorKind::NotFound)?;
        self.top.dir_below(&folder.place)
    }
}
