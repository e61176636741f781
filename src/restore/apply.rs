//! Carries the moves of a journal out, or takes them back. How far a move came is told by the identity of what lies where, never
//! by what exists: so the same code acts the first time, after a crash at any point, and after a crash of that.

use std::collections::HashMap;
use std::io;

use super::RestoreError;
use super::file_identity::{Exchange, aside_name, exchange, finish_steps, fits};
use super::holding_dir::is_aside;
use super::io_error::concerns_all;
use super::metadata::{is_meant, may_change, set_metadata};
use super::move_executor::{MoveExecutor, Stand};
use super::move_state::{Order, Progress, place, progress};
use super::problem::Problem;
use super::slot::Slot;
use super::staging_cleanup::is_as_before;
use super::temp_writable::is_made_anew;
use crate::model::{Entry, JournalMove, MoveKind};
use handle_fs::Stat;

impl MoveExecutor<'_> {
    /// Makes every move that was not made yet. Everything is looked at before the first one.
    ///
    /// # Errors
    /// [`RestoreError::Drift`], [`RestoreError::Interrupted`], [`RestoreError::Apply`]: what was done is still done, and
    /// [`MoveExecutor::back`] takes it back.
    pub(super) fn forward(&mut self) -> Result<(), RestoreError> {
        let mount = self.mount;
        let order = Order::of(mount);
        // All of it before the first move: what changed since the emergency snapshot refuses the restore while no path has
        // moved.
        for step in &mount.moves {
            let stand = self.stand(step)?;
            if stand.progress != Progress::Before {
                self.check_waiting(step, stand.progress)?;
                continue;
            }
            if step.old.is_some() {
                self.check(step, &stand)?;
                continue;
            }
            self.check_staged(step)?;
            if stand.live.is_some_and(|there| !order.clears(step, &there)) {
                return Err(self.drift(&step.path));
            }
        }
        let mut emptied = false;
        for step in order.renames() {
            if self.observer.cancelled() {
                return Err(RestoreError::Interrupted);
            }
            // That a directory is gone may be on disk before what was moved out of it is anywhere else.
            if is_unmade(step) && !emptied {
                self.sync()?;
                emptied = true;
            }
            self.observer.reached("move");
            self.advance(step)?;
        }
        self.close_parents();
        // Children before their directories: a mode that shuts us out comes last.
        for step in order.metadata.iter().rev() {
            self.observer.reached("move");
            self.advance(step)?;
        }
        Ok(())
    }

    /// Checks that the objects moved out match the emergency snapshot. A difference means that another process wrote to them.
    ///
    /// # Errors
    /// [`RestoreError::Drift`] with the first path that differs.
    pub(super) fn compare(&self) -> Result<(), RestoreError> {
        let changed: HashMap<u64, &Entry> = self
            .mount
            .moves
            .iter()
            .filter_map(|step| match &step.deed {
                MoveKind::Metadata { will, .. } => Some((step.old.as_ref()?.ino, &*will.0)),
                _ => None,
            })
            .collect();
        for step in &self.mount.moves {
            let (MoveKind::Exchange(name) | MoveKind::StageOut(name)) = &step.deed else {
                continue;
            };
            match self.progress(step)? {
                Progress::After => {}
                // Another process took the old object away. Whether it held a later edit cannot be told any more.
                Progress::Bereft => return Err(self.drift(&step.path)),
                // It could not be moved, which was noted.
                _ => continue,
            }
            let was = self
                .before
                .and_then(|before| before.entry(&step.path).zip(Some(before)));
            let same = was.is_some_and(|(was, before)| {
                is_as_before(self.stage.dir(), place(name), &step.path, was, before, &changed)
                    .unwrap_or(false)
            });
            if !same {
                return Err(self.drift(&step.path));
            }
        }
        Ok(())
    }

    /// Checks that the path still holds what the emergency snapshot recorded, and returns its slot.
    fn check<'s>(&self, step: &JournalMove, stand: &'s Stand) -> Result<&'s Slot, RestoreError> {
        let drift = || self.drift(&step.path);
        let seat = stand.seat.as_ref().ok_or_else(drift)?;
        let was = self.before.and_then(|before| before.entry(&step.path));
        let expected = match (was, &stand.live) {
            // What was there is gone by then.
            (_, is) if matches!(step.deed, MoveKind::Install(_) | MoveKind::PutBack(_)) => is.is_none(),
            // No snapshot holds it: that it is the same object was told by how far the move came.
            (_, is) if is_aside(&step.deed) => is.is_some(),
            (Some(was), Some(is)) => {
                self.still_fits(step, was, is)
                    || self.is_made_back(step, was, is)
                    || self.is_same_content(step, seat, was)
            }
            _ => false,
        };
        if !expected || self.is_shut(step, seat).unwrap_or(false) {
            return Err(drift());
        }
        self.check_staged(step)?;
        Ok(seat)
    }

    /// Returns true if a directory to be removed may be one that a rollback recreated before a crash.
    ///
    /// Its owner is set later, so it may differ. Its content needs no check: a directory with content cannot be removed.
    fn is_made_back(&self, step: &JournalMove, was: &Entry, is: &Stat) -> bool {
        self.again && is_unmade(step) && is_made_anew(was, is, self.stage.actor())
    }

    /// Returns true if the object matches the emergency snapshot after a crash. It is compared as a whole because the restore's
    /// own moves there and back changed its times.
    fn is_same_content(&self, step: &JournalMove, seat: &Slot, was: &Entry) -> bool {
        let nothing = HashMap::new();
        self.again
            && self.before.is_some_and(|before| {
                is_as_before(&seat.dir, &seat.name, &step.path, was, before, &nothing).unwrap_or(false)
            })
    }

    /// Checks after a crash that the object staged for a move is still the one that was staged.
    fn check_staged(&self, step: &JournalMove) -> Result<(), RestoreError> {
        if !self.again || !matches!(step.deed, MoveKind::Install(_) | MoveKind::Exchange(_)) {
            return Ok(());
        }
        let other = self.other(step);
        match other.dir().and_then(|dir| self.known.holds(dir, &other.name)) {
            Ok(true) => Ok(()),
            _ => Err(self.drift(&step.path)),
        }
    }

    /// The same where an exchange in steps stopped half way and what is staged waits under one name or the other.
    fn check_waiting(&self, step: &JournalMove, progress: Progress) -> Result<(), RestoreError> {
        let other = self.other(step);
        let name = match progress {
            Progress::Parted => other.name.clone(),
            Progress::BackParted | Progress::BackJoined => aside_name(&other.name),
            Progress::PartedBereft => return Err(self.drift(&step.path)),
            _ => return Ok(()),
        };
        let known = !self.again
            || !matches!(step.deed, MoveKind::Exchange(_))
            || other
                .dir()
                .and_then(|dir| self.known.holds(dir, &name))
                .unwrap_or(false);
        if known {
            Ok(())
        } else {
            Err(self.drift(&step.path))
        }
    }

    fn still_fits(&self, step: &JournalMove, was: &Entry, is: &Stat) -> bool {
        let several = was.nlink > 1;
        let linked = matches!(&step.deed, MoveKind::Metadata { will, .. } if will.0.nlink > 1);
        // Directories that we changed ourselves, files whose other names we replaced, and files that a name was linked to while
        // we staged, and those whose flags were in the way have another ctime by now.
        if fits(was, is, several || linked || was.is_dir() || was.flags.bind()) {
            return true;
        }
        let MoveKind::Metadata { will, .. } = &step.deed else {
            return false;
        };
        // Put back before a crash, wholly or in part, or through another name of the same file.
        may_change(is, was, &will.0)
    }

    fn advance(&mut self, step: &JournalMove) -> Result<(), RestoreError> {
        let stand = self.stand(step)?;
        let outcome = match stand.progress {
            Progress::After | Progress::Bereft => Ok(()),
            Progress::Lost | Progress::PartedBereft => return Err(self.drift(&step.path)),
            Progress::Before => {
                // Looked at again, since the moves before this one take time. What another process still puts there before
                // the rename goes aside with the path, and `compare` finds it before the decision.
                let seat = self.check(step, &stand)?;
                self.open_parent(step, seat)
                    .and_then(|()| self.loosen(step))
                    .and_then(|()| self.act(step, seat))
            }
            progress => {
                self.check_waiting(step, progress)?;
                self.rejoin(step)
            }
        };
        // Whatever became of it, and also where a crash came after it was made.
        match self.tighten(step).and(outcome) {
            Ok(()) => Ok(()),
            // Something came into the way, or went, between the look and the move.
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::AlreadyExists | io::ErrorKind::NotFound | io::ErrorKind::DirectoryNotEmpty
                ) =>
            {
                Err(self.drift(&step.path))
            }
            // What is about this path alone is left out; anything else would meet the next path too, and a path between its
            // two objects is no path that is left out.
            Err(error) if concerns_all(&error) || self.progress(step)? != Progress::Before => {
                Err(RestoreError::Apply {
                    path: step.path.on_host(&self.host),
                    source: error,
                })
            }
            Err(error) => {
                self.failed.push((step.path.clone(), Problem::from(&error)));
                Ok(())
            }
        }
    }

    fn act(&mut self, step: &JournalMove, seat: &Slot) -> io::Result<()> {
        let other = self.other(step);
        let dir = other.dir()?;
        match &step.deed {
            // Never over a name that exists: what another process created there since the look would be lost.
            MoveKind::Install(_) | MoveKind::PutBack(_) => {
                handle_fs::rename_new(dir, &other.name, &seat.dir, &seat.name)
            }
            MoveKind::StageOut(_) | MoveKind::SetAside(_) => {
                handle_fs::rename_new(&seat.dir, &seat.name, dir, &other.name)
            }
            // Refuses a directory in which another process has made something since it was emptied.
            MoveKind::RemoveDir(_) => handle_fs::remove_dir(&seat.dir, &seat.name),
            MoveKind::Exchange(_) | MoveKind::SwapAside(_) => {
                let how = exchange(dir, &other.name, &seat.dir, &seat.name, self.observer)?;
                self.in_steps |= how == Exchange::InSteps;
                Ok(())
            }
            MoveKind::Metadata { was, will } => {
                let meant = |is: &Stat| is_meant(step.old.as_ref(), &was.0, is);
                let notes = set_metadata(&seat.dir, &seat.name, meant, &will.0)?;
                self.failed
                    .extend(notes.into_iter().map(|note| (step.path.clone(), note)));
                Ok(())
            }
        }
    }

    /// Goes on with an exchange in steps that stopped in its middle, on its way there or back.
    fn rejoin(&mut self, step: &JournalMove) -> io::Result<()> {
        let seat = self.seat(step)?;
        self.open_parent(step, &seat)?;
        self.loosen(step)?;
        let other = self.other(step);
        let (dir, name) = (other.dir()?, &other.name);
        match progress(step, seat.look()?, &other)? {
            Progress::BackParted => handle_fs::rename_new(dir, &aside_name(name), &seat.dir, &seat.name),
            Progress::BackJoined => {
                handle_fs::rename_new(dir, &aside_name(name), dir, name)?;
                self.act(step, &seat)
            }
            _ => finish_steps(dir, name, &seat.dir, &seat.name),
        }
    }
}

/// Returns true if a move removes an emptied directory.
pub(super) fn is_unmade(step: &JournalMove) -> bool {
    matches!(step.deed, MoveKind::RemoveDir(_))
}
