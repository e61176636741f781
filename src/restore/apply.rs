//! Carries the moves out: each path is checked just before, what was moved aside is compared just after, and on any
//! surprise everything that was done is taken back in reverse order.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io;

use super::RestoreError;
use super::aside::is_as_before;
use super::build::{is_out_of_space, set_metadata};
use super::moves::{fits, relocate, swap};
use super::prepare::{Move, Moves};
use super::stage::Stage;
use crate::capture::words;
use crate::mount::{Dir, Root};
use crate::observer::Observer;
use crate::platform;
use crate::snapshot::{Entry, Manifest, Name, RelPath};

/// Applies moves to one mount.
pub(super) struct Apply<'a> {
    root: &'a Root,
    stage: &'a Stage,
    /// What the emergency snapshot says is there.
    before: &'a Manifest,
    observer: &'a dyn Observer,
    done: Vec<Done>,
    /// Directories whose entries changed.
    touched: BTreeSet<RelPath>,
    /// Paths that could not be changed, with the reason.
    failed: Vec<(RelPath, String)>,
    /// Directories that had to be made writable, with their mode.
    opened: Vec<(RelPath, u32)>,
}

enum Done {
    In(RelPath, std::ffi::OsString),
    Swapped(RelPath, std::ffi::OsString),
    Out(RelPath, std::ffi::OsString),
    Metadata(RelPath, Box<Entry>),
    Opened(RelPath, u32),
}

impl<'a> Apply<'a> {
    pub(super) fn new(
        root: &'a Root,
        stage: &'a Stage,
        before: &'a Manifest,
        observer: &'a dyn Observer,
    ) -> Self {
        Self {
            root,
            stage,
            before,
            observer,
            done: Vec::new(),
            touched: BTreeSet::new(),
            failed: Vec::new(),
            opened: Vec::new(),
        }
    }

    /// Does all moves, or none.
    pub(super) fn run(&mut self, moves: &Moves) -> Result<(), RestoreError> {
        match self.all(moves) {
            Ok(()) => Ok(()),
            Err(error) => Err(self.take_back(error)?),
        }
    }

    /// Takes back what was done and gives the cause again.
    ///
    /// # Errors
    /// When taking back fails.
    pub(super) fn take_back(&mut self, cause: RestoreError) -> Result<RestoreError, RestoreError> {
        match self.roll_back() {
            Ok(()) => Ok(cause),
            Err((path, source)) => {
                let aside = self.stage.path().to_path_buf();
                Err(RestoreError::RollBack {
                    cause: Box::new(cause),
                    path,
                    aside,
                    source,
                })
            }
        }
    }

    /// The directories whose entries changed, and what could not be done.
    pub(super) fn into_outcome(self) -> (BTreeSet<RelPath>, Vec<(RelPath, String)>) {
        (self.touched, self.failed)
    }

    fn all(&mut self, moves: &Moves) -> Result<(), RestoreError> {
        let (metadata, renames): (Vec<_>, Vec<_>) = moves
            .iter()
            .partition(|(_, step)| matches!(step, Move::Metadata(_)));
        for (path, step) in renames {
            if self.observer.cancelled() {
                return Err(RestoreError::Interrupted);
            }
            self.one(path, step)?;
        }
        for (path, mode) in std::mem::take(&mut self.opened) {
            let closed = self
                .root
                .dir(&path)
                .and_then(|dir| platform::chmod_handle(&dir, mode));
            match closed {
                // Taking back begins by opening it again.
                Ok(()) => self.done.push(Done::Opened(path, mode | 0o700)),
                Err(error) => self
                    .failed
                    .push((path, format!("its mode could not be set: {}", words(&error)))),
            }
        }
        // Children before their directories: a mode that shuts us out comes last.
        for (path, step) in metadata.into_iter().rev() {
            self.one(path, step)?;
        }
        platform::sync_file_system(self.stage.dir()).map_err(|source| RestoreError::Apply {
            path: self.root.path().to_path_buf(),
            source,
        })
    }

    fn one(&mut self, path: &RelPath, step: &Move) -> Result<(), RestoreError> {
        let drift = || RestoreError::Drift {
            path: path.on_host(self.root.path()),
        };
        let (parent, name) = match path.split() {
            Some((parent, name)) => (parent, name),
            // The root is addressed from within: it is never moved.
            None => (RelPath::root(), Name::new(b"root").map_err(|_| drift())?),
        };
        let name = if path.is_root() {
            OsStr::new(".")
        } else {
            name.as_os_str()
        };
        let dir = self.root.dir(&parent).map_err(|_| drift())?;
        let was = self.before.entry(path);
        let is = dir.look(name).map_err(|_| drift())?;
        let expected = match (was, &is) {
            (None, None) => true,
            (Some(was), Some(is)) => {
                fits(was, is, self.may_differ(path, step, was)) || step.is_done_by_another_name(was, is)
            }
            _ => false,
        };
        if !expected {
            return Err(drift());
        }
        let outcome = match self.open_for_writing(&parent, &dir, step) {
            Ok(()) => self.carry_out(path, step, &dir, name, was),
            Err(error) => Err(error),
        };
        match outcome {
            Ok(()) => self.compare_aside(path, step, was),
            Err(error) if is_out_of_space(&error) => Err(RestoreError::Apply {
                path: path.on_host(self.root.path()),
                source: error,
            }),
            // Something came into the way, or went, between the look and the move.
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::AlreadyExists | io::ErrorKind::NotFound
                ) =>
            {
                Err(drift())
            }
            Err(error) => {
                self.failed.push((path.clone(), words(&error)));
                Ok(())
            }
        }
    }

    /// Directories that we changed ourselves, files whose other names we replaced, and files that a name was linked to while
    /// we staged have another ctime by now.
    fn may_differ(&self, path: &RelPath, step: &Move, was: &Entry) -> bool {
        let linked = matches!(step, Move::Metadata(entry) if entry.nlink > 1);
        linked || was.nlink > 1 || was.is_dir() || self.touched.contains(path)
    }

    fn carry_out(
        &mut self,
        path: &RelPath,
        step: &Move,
        dir: &Dir,
        name: &OsStr,
        was: Option<&Entry>,
    ) -> io::Result<()> {
        let stage = self.stage.dir();
        match step {
            Move::In(place) => {
                relocate(stage, place, dir, name)?;
                self.done.push(Done::In(path.clone(), place.clone()));
            }
            Move::Swap(place) => {
                swap(stage, place, dir, name)?;
                self.done.push(Done::Swapped(path.clone(), place.clone()));
            }
            Move::Out(place) => {
                relocate(dir, name, stage, place)?;
                self.done.push(Done::Out(path.clone(), place.clone()));
            }
            Move::Metadata(entry) => {
                if let Some(was) = was {
                    self.done
                        .push(Done::Metadata(path.clone(), Box::new(was.clone())));
                }
                let notes = set_metadata(dir, name, entry)?;
                self.failed
                    .extend(notes.into_iter().map(|note| (path.clone(), note)));
                return Ok(());
            }
        }
        self.touched
            .insert(path.split().map(|(parent, _)| parent).unwrap_or_default());
        Ok(())
    }

    /// Makes a directory of ours writable for the time of the restore when its owner took that right away.
    fn open_for_writing(&mut self, path: &RelPath, dir: &Dir, step: &Move) -> io::Result<()> {
        if platform::is_privileged() || matches!(step, Move::Metadata(_)) {
            return Ok(());
        }
        let stat = dir.stat()?;
        if stat.mode & 0o300 == 0o300 || stat.uid != platform::own_ids().0 {
            return Ok(());
        }
        platform::chmod_handle(dir, stat.mode | 0o700)?;
        self.done.push(Done::Opened(path.clone(), stat.mode));
        self.opened.push((path.clone(), stat.mode));
        Ok(())
    }

    /// What lies aside must be what the emergency snapshot holds; otherwise somebody wrote to it meanwhile.
    fn compare_aside(&self, path: &RelPath, step: &Move, was: Option<&Entry>) -> Result<(), RestoreError> {
        let (Move::Swap(place) | Move::Out(place)) = step else {
            return Ok(());
        };
        let same = was.is_some_and(|was| {
            is_as_before(self.stage.dir(), place, path, was, self.before).unwrap_or(false)
        });
        if same {
            Ok(())
        } else {
            Err(RestoreError::Drift {
                path: path.on_host(self.root.path()),
            })
        }
    }

    /// Takes back everything that can be taken back, and says where it could not first.
    fn roll_back(&mut self) -> Result<(), (std::path::PathBuf, io::Error)> {
        let mut first = None;
        while let Some(done) = self.done.pop() {
            if let Err((path, error)) = self.back(&done) {
                first.get_or_insert((path.on_host(self.root.path()), error));
            }
        }
        let _ = platform::sync_file_system(self.stage.dir());
        first.map_or(Ok(()), Err)
    }

    fn back(&self, done: &Done) -> Result<(), (RelPath, io::Error)> {
        let stage = self.stage.dir();
        let (Done::In(path, _)
        | Done::Swapped(path, _)
        | Done::Out(path, _)
        | Done::Metadata(path, _)
        | Done::Opened(path, _)) = done;
        let (parent, name) = match (done, path.split()) {
            (Done::Opened(..), _) | (_, None) => (path.clone(), ".".into()),
            (_, Some((parent, name))) => (parent, name.as_os_str().to_owned()),
        };
        let is_gone = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
        let back = || -> io::Result<()> {
            let dir = self.root.dir(&parent)?;
            match done {
                Done::In(_, place) => relocate(&dir, &name, stage, place),
                Done::Swapped(_, place) => match swap(stage, place, &dir, &name) {
                    // Somebody removed the new one already: the old one's place is free.
                    Err(error) if is_gone(&error) => relocate(stage, place, &dir, &name),
                    other => other,
                },
                Done::Out(_, place) => relocate(stage, place, &dir, &name),
                Done::Metadata(_, was) => set_metadata(&dir, &name, was).map(|_| ()),
                Done::Opened(_, mode) => platform::chmod_handle(&dir, *mode),
            }
        };
        match back() {
            // What we put in is gone already: that is what was to be reached.
            Err(error) if is_gone(&error) && matches!(done, Done::In(..)) => Ok(()),
            other => other.map_err(|error| (path.clone(), error)),
        }
    }
}
