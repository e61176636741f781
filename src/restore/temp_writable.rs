//! Directories that an ordinary user may not write, opened for a move and shut again. Only a mode that is recorded is opened: so
//! what was made of it can be told from what somebody set, also after a crash at any point, and what somebody set stays.

use std::ffi::OsStr;
use std::io;

use super::file_identity::{FOR_ENTRIES, FOR_ITSELF, aside_name};
use super::identity::is_same;
use super::metadata::{is_between, set_directory_mode};
use super::move_executor::MoveExecutor;
use super::problem::Problem;
use super::slot::Slot;
use crate::capture::{is_gone, words};
use crate::model::{Entry, JournalMove, JournalParent, MoveKind};
use handle_fs::{Actor, NodeKind, Stat};

/// Returns true if a directory is unchanged, or was removed and recreated, even if a crash came before its metadata were set.
pub(super) fn is_made_anew(was: &Entry, is: &Stat, Actor { uid, gid }: Actor) -> bool {
    // What is made in a directory may have the group of that one, and pass it on.
    let is_bare = is.mode & !0o2000 == 0o700;
    let bare = Entry {
        mode: if is_bare { is.mode } else { 0o700 },
        uid,
        gid: if is_bare { is.gid } else { gid },
        xattrs: Vec::new(),
        ..was.clone()
    };
    is.kind == NodeKind::Directory && is_between(is, &bare, was)
}

impl MoveExecutor<'_> {
    /// The mode of the directory that a move is made in, where that is ours and we may not write it.
    fn closed(&self, step: &JournalMove, seat: &Slot) -> io::Result<Option<u32>> {
        if seat.dir.actor().is_privileged() || matches!(step.deed, MoveKind::Metadata { .. }) {
            return Ok(None);
        }
        let stat = seat.dir.stat()?;
        let is_ours = stat.uid == seat.dir.actor().uid;
        Ok(Some(stat.mode).filter(|mode| mode & 0o300 != 0o300 && is_ours))
    }

    /// Returns true if the parent directory of a move had `mode` before the restore, or gets it.
    fn is_recorded(&self, step: &JournalMove, mode: u32) -> bool {
        let above = step.path.split().map(|(above, _)| above).unwrap_or_default();
        let gets = |step: &JournalMove| match &step.deed {
            MoveKind::Metadata { will, .. } => step.path == above && will.0.mode == mode,
            _ => false,
        };
        let had = |parent: &JournalParent| parent.path == above && parent.mode == mode;
        self.mount.parents.iter().any(had) || self.mount.moves.iter().any(gets)
    }

    /// Returns true if the parent directory of a move was made unwritable by another process.
    pub(super) fn is_shut(&self, step: &JournalMove, seat: &Slot) -> io::Result<bool> {
        let closed = self.closed(step, seat)?;
        Ok(closed.is_some_and(|mode| !self.is_recorded(step, mode)))
    }

    /// Makes a directory of ours writable for the time of the restore when its owner took that right away before.
    pub(super) fn open_parent(&self, step: &JournalMove, seat: &Slot) -> io::Result<()> {
        match self.closed(step, seat)? {
            Some(mode) if self.is_recorded(step, mode) => {
                // The handle whose mode was looked at: a directory that takes its name in between keeps its own mode.
                handle_fs::chmod_handle(&seat.dir, mode | FOR_ENTRIES)
            }
            _ => Ok(()),
        }
    }

    /// Gives the directories that had to be opened their modes again.
    pub(super) fn close_parents(&mut self) {
        for parent in self.mount.parents.iter().rev() {
            if let Err(error) = self.as_it_was(parent, false) {
                let note = format!("its mode could not be set: {}", words(&error));
                self.failed
                    .push((parent.path.clone(), Problem::caused(note, &error)));
            }
        }
    }

    /// Gives a directory the mode that it had, when it was opened, and its time. A move of its own that gives it
    /// another mode comes after that, and is taken back before.
    pub(super) fn as_it_was(&self, parent: &JournalParent, times: bool) -> io::Result<()> {
        let Some(root) = self.root else { return Ok(()) };
        let dir = match root.dir(&parent.path) {
            // Somebody removed it since: there is nothing to put right.
            Err(error) if is_gone(&error) => return Ok(()),
            other => other?,
        };
        let stat = dir.stat()?;
        let is_open = stat.mode == parent.mode | FOR_ENTRIES;
        if is_open && stat.mode != parent.mode {
            handle_fs::chmod_handle(&dir, parent.mode)?;
        }
        if times && stat.mtime != parent.mtime.into() {
            handle_fs::set_mtime(&dir, OsStr::new("."), parent.mtime.into())?;
        }
        Ok(())
    }

    /// Makes the directories that a move is about movable. One whose mode somebody set is not opened.
    pub(super) fn loosen(&self, step: &JournalMove) -> io::Result<()> {
        let actor = self.stage.actor();
        if actor.is_privileged() {
            return Ok(());
        }
        let own = actor.uid;
        self.change_moved(step, |is, mode| {
            (is.mode == mode && is.uid == own).then_some(mode | FOR_ITSELF)
        })
    }

    /// Gives them their modes again, wherever they lie.
    pub(super) fn tighten(&self, step: &JournalMove) -> io::Result<()> {
        self.change_moved(step, |is, mode| (is.mode == mode | FOR_ITSELF).then_some(mode))
    }

    /// Gives the directories that a move is about, and that their owner may not write, another mode; `change` is told what one is
    /// now and which mode is recorded.
    fn change_moved(&self, step: &JournalMove, change: impl Fn(&Stat, u32) -> Option<u32>) -> io::Result<()> {
        let recorded = [step.old.zip(step.old_mode), step.new.zip(step.new_mode)];
        let shut = recorded
            .into_iter()
            .flatten()
            .filter(|(_, mode)| mode & FOR_ITSELF == 0);
        if shut.clone().next().is_none() {
            return Ok(());
        }
        let seat = match self.seat(step) {
            Err(error) if is_gone(&error) => None,
            seat => Some(seat?),
        };
        let other = self.other(step);
        let aside = aside_name(&other.name);
        let live = seat.as_ref().map(|seat| (&seat.dir, &seat.name, false));
        let staged = other
            .dir
            .map(|dir| [(dir, &other.name, true), (dir, &aside, true)]);
        for (dir, name, ours) in live.into_iter().chain(staged.into_iter().flatten()) {
            let Some(is) = dir.look(name)?.filter(|is| is.kind == NodeKind::Directory) else {
                continue;
            };
            let wanted = |is: &Stat| {
                let moved = shut.clone().find(|(identity, _)| is_same(identity, is, ours));
                moved.and_then(|(_, mode)| change(is, mode))
            };
            if let Some(mode) = wanted(&is) {
                set_directory_mode(dir, name, mode, |is| wanted(is) == Some(mode))?;
            }
        }
        Ok(())
    }
}
