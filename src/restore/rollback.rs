//! Rolls back the moves from any state: the old tree again, without losing later edits.

use std::collections::BTreeSet;
use std::io;

use super::apply::{MoveExecutor, is_made_anew, is_unmade};
use super::file_identity::{aside_name, exchange_back};
use super::metadata::{is_as_was, is_meant, may_change, set_metadata};
use super::move_state::{Order, Progress, progress};
use crate::capture::is_gone;
use crate::model::{JournalMove, MoveKind, RelPath};
use handle_fs::Stat;

/// The directory of a path that was installed or changed in place is missing: whether the path is as before is unknown.
#[derive(Debug, thiserror::Error)]
#[error("its directory is missing")]
pub(super) struct Away;

impl MoveExecutor<'_> {
    /// Takes every move back that was made. Goes on where one cannot be, and says which: the old object of a path is then gone,
    /// or lies in the staging directory.
    pub(super) fn back(&self) -> Vec<(RelPath, io::Error)> {
        let mut failed = Vec::new();
        let mut opened = BTreeSet::new();
        let mount = self.mount;
        let order = Order::of(mount);
        let mut made = false;
        for step in order.renames().rev() {
            // What comes back into a directory that was made anew may be on disk before the directory is.
            if made && !is_unmade(step) {
                if let Err(error) = handle_fs::sync_file_system(self.stage.dir()) {
                    failed.push((step.path.clone(), error));
                    return failed;
                }
                made = false;
            }
            made |= is_unmade(step);
            self.observer.reached("back");
            let opened = match self.open(step, &mut opened) {
                Err(error) if is_gone(&error) => Ok(()),
                opened => opened,
            };
            let back = opened.and_then(|()| self.retreat(step));
            // Whatever became of it, and also where a crash came after it was made or taken back.
            if let Err(error) = self.tighten(step).and(back) {
                failed.push((step.path.clone(), error));
            }
        }
        // After the renames: an old mode may forbid writing to a directory that an object still has to come back to.
        for step in order.metadata.iter().rev() {
            self.observer.reached("back");
            if let Err(error) = self.retreat(step) {
                failed.push((step.path.clone(), error));
            }
        }
        for parent in mount.parents.iter().rev() {
            if let Err(error) = self.as_it_was(parent, true) {
                failed.push((parent.path.clone(), error));
            }
        }
        failed
    }

    fn retreat(&self, step: &JournalMove) -> io::Result<()> {
        let other = self.other(step);
        let (seat, name) = (self.seat(step), &other.name);
        let seat = match seat {
            Err(error) if is_gone(&error) => {
                let missing = || Err(io::Error::other("its directory is missing"));
                return match (&step.deed, progress(step, None, &other)?) {
                    // Nothing was taken from where it was staged, or nothing is left to be made again.
                    (_, Progress::Before) | (MoveKind::RemoveDir(_), _) => Ok(()),
                    // The new object or mode may have gone with the directory, and come back with it. Nothing lies aside for it, so nothing
                    // has to wait.
                    (MoveKind::Install(_) | MoveKind::Metadata { .. }, _) => Err(io::Error::other(Away)),
                    // What lies aside has no place to go back to, and is not thrown away for that.
                    (
                        _,
                        Progress::After
                        | Progress::Parted
                        | Progress::PartedBereft
                        | Progress::Joined
                        | Progress::BackParted,
                    ) => missing(),
                    (_, Progress::Lost) => Err(io::ErrorKind::NotFound.into()),
                    (_, Progress::BackJoined | Progress::Bereft) => Ok(()),
                };
            }
            seat => seat?,
        };
        let live = seat.look()?;
        let (progress, taken) = (progress(step, live, &other)?, live.is_some());
        if !matches!(progress, Progress::Before | Progress::Lost | Progress::Bereft) {
            self.loosen(step)?;
        }
        match (&step.deed, progress) {
            (MoveKind::Install(_) | MoveKind::PutBack(_), Progress::After) => {
                // Moved aside, not deleted: another process may have written to it since it was installed. Clearing up keeps
                // what changed.
                handle_fs::rename_new(&seat.dir, &seat.name, other.dir()?, name)
            }
            // Whatever is there now goes aside: it is ours, or somebody's, and then it stays there and is named.
            (
                MoveKind::Exchange(_)
                | MoveKind::StageOut(_)
                | MoveKind::SetAside(_)
                | MoveKind::SwapAside(_),
                Progress::After,
            ) if taken => exchange_back(other.dir()?, name, &seat.dir, &seat.name, self.observer),
            (
                MoveKind::Exchange(_)
                | MoveKind::StageOut(_)
                | MoveKind::SetAside(_)
                | MoveKind::SwapAside(_),
                Progress::After,
            ) => handle_fs::rename_new(other.dir()?, name, &seat.dir, &seat.name),
            (
                MoveKind::Exchange(_) | MoveKind::SwapAside(_),
                Progress::Parted | Progress::PartedBereft | Progress::Joined,
            ) => {
                // The place is free when the new object is at the path.
                if taken {
                    handle_fs::rename_new(&seat.dir, &seat.name, other.dir()?, name)?;
                }
                handle_fs::rename_new(other.dir()?, &aside_name(name), &seat.dir, &seat.name)
            }
            (MoveKind::Exchange(_) | MoveKind::SwapAside(_), Progress::BackParted) => {
                handle_fs::rename_new(other.dir()?, name, &seat.dir, &seat.name)?;
                handle_fs::rename_new(other.dir()?, &aside_name(name), other.dir()?, name)
            }
            (MoveKind::Exchange(_) | MoveKind::SwapAside(_), Progress::BackJoined) => {
                handle_fs::rename_new(other.dir()?, &aside_name(name), other.dir()?, name)
            }
            (MoveKind::RemoveDir(was), progress) => {
                if progress == Progress::After {
                    handle_fs::make_dir(&seat.dir, &seat.name)?;
                } else if live.is_some_and(|live| !is_made_anew(&was.0, &live, self.stage.actor())) {
                    // Somebody has set its mode or its owner since: that is later work.
                    return Err(io::ErrorKind::ResourceBusy.into());
                }
                // It may have been made before a crash, and its metadata not yet.
                set_metadata(&seat.dir, &seat.name, |_| true, &was.0)?;
                let is_old = |live: Stat| step.old.as_ref().is_some_and(|old| old.ino == live.ino);
                // Nothing comes back into one that was empty, so no parent in the journal has its time.
                match live.is_some_and(is_old) {
                    true => Ok(()),
                    false => handle_fs::set_mtime(&seat.dir, &seat.name, was.0.mtime),
                }
            }
            (MoveKind::Metadata { was, will }, Progress::Before) => {
                let now = seat.dir.look(&seat.name)?;
                // The move was never made, or is rolled back: what else was set there stays.
                if let Some(now) = &now
                    && is_as_was(&seat.dir, &seat.name, now, &was.0, &will.0)?
                {
                    return Ok(());
                }
                let is_ours = |now| may_change(&seat.dir, &seat.name, &now, &was.0, &will.0);
                if !now.map_or(Ok(false), is_ours)? {
                    // Somebody has set it since: that is later work.
                    return Err(io::ErrorKind::ResourceBusy.into());
                }
                let meant = |is: &Stat| is_meant(step.old.as_ref(), &was.0, is);
                let notes = set_metadata(&seat.dir, &seat.name, meant, &was.0)?;
                notes
                    .into_iter()
                    .next()
                    .map_or(Ok(()), |note| Err(io::Error::other(note.words)))
            }
            (
                MoveKind::Exchange(_)
                | MoveKind::StageOut(_)
                | MoveKind::SetAside(_)
                | MoveKind::PutBack(_)
                | MoveKind::SwapAside(_),
                Progress::Lost | Progress::Bereft,
            ) => Err(io::ErrorKind::NotFound.into()),
            _ => Ok(()),
        }
    }

    /// Opens the parent directory like [`Self::open_parent`], but only once.
    fn open(&self, step: &JournalMove, opened: &mut BTreeSet<RelPath>) -> io::Result<()> {
        let parent = step.path.split().map(|(parent, _)| parent).unwrap_or_default();
        if opened.insert(parent) {
            self.open_parent(step, &self.seat(step)?)?;
        }
        Ok(())
    }
}
