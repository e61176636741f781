//! Carries the moves of a journal out, or takes them back. How far a move came is told by the identity of what lies where, never
//! by what exists: so the same code acts the first time, after a crash at any point, and after a crash of that.
//!
//! Directories that an ordinary user may not write are opened for a move and shut again. Only a mode that is recorded is opened, so a mode
//! that jackin set can be told from one that another process set, also after a crash at any point, and the latter stays.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::io;

use super::RestoreError;
use super::file_identity::{
    Exchange, FOR_ENTRIES, FOR_ITSELF, aside_name, exchange, finish_steps, fits, has_attributes, is_same,
};
use super::folded_names::is_by_another_name;
use super::git_parts::is_inseparable;
use super::holding_dir::{HoldingDir, is_aside};
use super::metadata::{is_between, is_meant, may_change, set_directory_mode, set_metadata};
use super::move_state::{Order, Other, Progress, place, progress, survey_moves};
use super::problem::{Problem, concerns_all, is_denial, is_foreign_object};
use super::slot::{Slot, seat};
use super::stage::{OwnedInodes, Stage, is_as_before};
use super::survey::TOGETHER;
use crate::capture::{is_gone, words};
use crate::git_directories::Repositories;
use crate::model::{Entry, Identity, JournalMount, JournalMove, JournalParent, Manifest, MoveKind, RelPath};
use crate::observer::Observer;
use handle_fs::remote::Transports;
use handle_fs::{Actor, NodeKind, Root, Stat};

/// The moves of one mount under way.
pub(super) struct MoveExecutor<'a> {
    /// None when the root did not exist and comes back as a whole.
    pub(super) root: Option<&'a Root>,
    pub(super) stage: &'a Stage,
    /// Holding directories of the excluded directories that are set aside.
    pub(super) berths: &'a [HoldingDir],
    pub(super) mount: &'a JournalMount,
    /// The mount root on the host, for messages and for a root that is missing.
    pub(super) host: std::path::PathBuf,
    /// Connections to the machine of the mount.
    pub(super) transports: &'a Transports,
    /// Manifest of the emergency snapshot.
    pub(super) before: Option<&'a Manifest>,
    pub(super) observer: &'a dyn Observer,
    /// True if a process that died began the restore.
    pub(super) again: bool,
    /// Objects that the staging directory may hold.
    pub(super) known: &'a OwnedInodes,
    /// Paths that could not be changed, with the reason.
    pub(super) failed: Vec<(RelPath, Problem)>,
    /// Some path was missing for a moment, because the file system cannot exchange.
    pub(super) in_steps: bool,
    /// Git directories of the emergency snapshot, once they are needed.
    pub(super) repositories: OnceCell<Repositories>,
}

/// A move as it stands.
pub(super) struct Stand {
    /// None when the directory that its path lies in is gone.
    pub(super) seat: Option<Slot>,
    /// Object at its path; `None` if there is none.
    live: Option<Stat>,
    pub(super) progress: Progress,
    /// Mode of the directory that its path lies in, if that was opened to look.
    opened: Option<u32>,
}

impl MoveExecutor<'_> {
    pub(super) fn seat(&self, step: &JournalMove) -> io::Result<Slot> {
        seat(step, self.root, (self.transports, &self.host))
    }

    pub(super) fn other(&self, step: &JournalMove) -> Other<'_> {
        Other::of(step, self.stage, self.berths)
    }

    /// Returns how far a move came, and leaves everything as it is.
    pub(super) fn progress(&self, step: &JournalMove) -> Result<Progress, RestoreError> {
        let stand = self.stand(step)?;
        if let (Some(mode), Some(seat)) = (stand.opened, &stand.seat) {
            // Where every move was made, the directory has its last mode already, and nothing else would close it again.
            handle_fs::chmod_handle(&seat.dir, mode).map_err(|source| RestoreError::Apply {
                path: step.path.on_host(&self.host),
                source,
            })?;
        }
        Ok(stand.progress)
    }

    /// Returns a move as it stands. A directory that its owner may not search is opened to look, and stays open for the move.
    pub(super) fn stand(&self, step: &JournalMove) -> Result<Stand, RestoreError> {
        let look = || -> io::Result<Stand> {
            let seat = match self.seat(step) {
                // The directory it lies in may have been removed by a later move.
                Err(error) if is_gone(&error) => None,
                other => Some(other?),
            };
            let live = seat.as_ref().map_or(Ok(None), Slot::look)?;
            let live = live.filter(|live| !self.is_other_case(step, live));
            let progress = progress(step, live, &self.other(step))?;
            Ok(Stand {
                seat,
                live,
                progress,
                opened: None,
            })
        };
        let stand = look().or_else(|error| match self.open_unsearchable(step, &error) {
            opened @ Some(_) => look().map(|stand| Stand { opened, ..stand }),
            None => Err(error),
        });
        stand.map_err(|_| self.drift(&step.path))
    }

    /// Returns true if what answers to the path of a directory to be removed is not that directory, but one that came under another case
    /// of its name, or lies in such a one.
    fn is_other_case(&self, step: &JournalMove, live: &Stat) -> bool {
        let is_old = |old: &Identity| is_same(old, live, true);
        is_unmade(step)
            && !step.old.as_ref().is_some_and(is_old)
            && self.root.is_some_and(|root| is_by_another_name(root, &step.path))
    }

    pub(super) fn drift(&self, path: &RelPath) -> RestoreError {
        RestoreError::Drift {
            path: path.on_host(&self.host),
        }
    }

    /// Returns true for a move that a git repository cannot do without: all of it is restored or nothing.
    fn is_of_repository(&self, step: &JournalMove) -> bool {
        let repositories = self.repositories.get_or_init(|| Repositories::of(self.before));
        let is_removed = matches!(step.deed, MoveKind::StageOut(_) | MoveKind::RemoveDir(_));
        !matches!(step.deed, MoveKind::Metadata { .. })
            && !is_aside(&step.deed)
            && is_inseparable(repositories, &step.path, is_removed)
    }

    fn foreign(&self, step: &JournalMove) -> RestoreError {
        let parent = step.path.split().map(|(parent, _)| parent).unwrap_or_default();
        RestoreError::Foreign {
            directory: parent.on_host(&self.host),
            staging: self.stage.path().to_path_buf(),
        }
    }

    /// Makes durable what was moved.
    pub(super) fn sync(&self) -> Result<(), RestoreError> {
        handle_fs::sync_file_system(self.stage.dir()).map_err(|source| RestoreError::Apply {
            path: self.host.clone(),
            source,
        })
    }

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
        let all: Vec<&JournalMove> = mount.moves.iter().collect();
        for some in all.chunks(TOGETHER) {
            let _view = survey_moves(self.root, self.stage, some, false);
            for step in some {
                self.check_before_all(step, &order)?;
            }
        }
        let renames: Vec<&JournalMove> = order.renames().collect();
        let mut emptied = false;
        for some in renames.chunks(TOGETHER) {
            // That a directory is gone may be on disk before what was moved out of it is anywhere else.
            if some.iter().any(|step| is_unmade(step)) && !emptied {
                self.advance_all(some.iter().copied().take_while(|step| !is_unmade(step)))?;
                self.sync()?;
                emptied = true;
                self.advance_all(some.iter().copied().skip_while(|step| !is_unmade(step)))?;
            } else {
                self.advance_all(some.iter().copied())?;
            }
        }
        self.close_parents();
        // Children before their directories: a mode that shuts us out comes last.
        for step in order.metadata.iter().rev() {
            self.observer.reached("move");
            self.advance(step)?;
        }
        Ok(())
    }

    /// Checks a move before the first one is made.
    fn check_before_all(&self, step: &JournalMove, order: &Order<'_>) -> Result<(), RestoreError> {
        let stand = self.stand(step)?;
        if stand.progress != Progress::Before {
            return self.check_waiting(step, stand.progress);
        }
        if step.old.is_some() {
            return self.check(step, &stand).map(drop);
        }
        self.check_staged(step)?;
        let is_cleared = |there: &Stat| order.clears(step, there) || self.is_made_again(order, step, there);
        match stand.live.is_some_and(|there| !is_cleared(&there)) {
            true => Err(self.drift(&step.path)),
            false => Ok(()),
        }
    }

    /// Returns true for a directory that another move removes under another name: a rollback that was interrupted made it again, so that it
    /// has another inode.
    fn is_made_again(&self, order: &Order<'_>, step: &JournalMove, there: &Stat) -> bool {
        let parent = |path: &RelPath| path.split().map(|(parent, _)| parent);
        let mut removed = order.removed();
        there.kind == NodeKind::Directory
            && removed.any(|other| {
                parent(&other.path) == parent(&step.path)
                    && self.stand(other).is_ok_and(|stand| {
                        stand
                            .live
                            .is_some_and(|live| (live.kind, live.ino) == (there.kind, there.ino))
                    })
            })
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
        let moved = self.mount.moves.iter().filter_map(|step| match &step.deed {
            MoveKind::Exchange(name) | MoveKind::StageOut(name) => Some((step, name)),
            _ => None,
        });
        let mut seen = None;
        for (at, (step, name)) in moved.clone().enumerate() {
            if at % TOGETHER == 0 {
                let some: Vec<&JournalMove> = moved
                    .clone()
                    .skip(at)
                    .take(TOGETHER)
                    .map(|(step, _)| step)
                    .collect();
                drop(seen.take());
                seen = survey_moves(self.root, self.stage, &some, true);
            }
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
                let state = (was, before, self.again);
                is_as_before(self.stage.dir(), place(name), &step.path, state, &changed).unwrap_or(false)
            });
            if !same {
                return Err(self.drift(&step.path));
            }
        }
        Ok(())
    }

    /// Checks that the path still holds what the emergency snapshot recorded, and returns its slot.
    pub(super) fn check<'s>(&self, step: &JournalMove, stand: &'s Stand) -> Result<&'s Slot, RestoreError> {
        let drift = || self.drift(&step.path);
        let seat = stand.seat.as_ref().ok_or_else(drift)?;
        let was = self.before.and_then(|before| before.entry(&step.path));
        let expected = match (was, &stand.live) {
            // What was there is gone by then.
            (_, is) if matches!(step.deed, MoveKind::Install(_) | MoveKind::PutBack(_)) => is.is_none(),
            // No snapshot holds it: that it is the same object was told by how far the move came.
            (_, is) if is_aside(&step.deed) => is.is_some(),
            (Some(was), Some(is)) => {
                self.still_fits(step, seat, was, is)
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
                let state = (was, before, self.again);
                is_as_before(&seat.dir, &seat.name, &step.path, state, &nothing).unwrap_or(false)
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

    fn still_fits(&self, step: &JournalMove, seat: &Slot, was: &Entry, is: &Stat) -> bool {
        if fits(was, is, false) {
            return true;
        }
        let several = was.nlink > 1;
        let linked = matches!(&step.deed, MoveKind::Metadata { will, .. } if will.0.nlink > 1);
        // Directories that we changed ourselves, files whose other names we replaced, and files that a name was linked to while
        // we staged, and those whose flags were in the way have another ctime by now.
        if (several || linked || was.is_dir() || was.flags.bind())
            && fits(was, is, true)
            && has_attributes(&seat.dir, &seat.name, is, was).unwrap_or(false)
        {
            return true;
        }
        let MoveKind::Metadata { will, .. } = &step.deed else {
            return false;
        };
        // Put back before a crash, wholly or in part, or through another name of the same file.
        may_change(&seat.dir, &seat.name, is, was, &will.0).unwrap_or(false)
    }

    pub(super) fn advance(&mut self, step: &JournalMove) -> Result<(), RestoreError> {
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
            // A directory that refuses one object refuses the next one too. What was already moved out would be missing.
            Err(error) if is_foreign_object(&error) && !is_aside(&step.deed) => Err(self.foreign(step)),
            // What is about this path alone is left out; anything else would meet the next path too, and a path between its
            // two objects is no path that is left out.
            Err(error)
                if concerns_all(&error)
                    || self.is_of_repository(step)
                    || self.progress(step)? != Progress::Before =>
            {
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

/// Returns true if a directory is unchanged, or was removed and recreated, even if a crash came before its metadata were set.
pub(super) fn is_made_anew(was: &Entry, is: &Stat, actor: Actor) -> bool {
    let Actor { uid, gid } = actor;
    // What is made in a directory may have the group of that one, and pass it on.
    let is_bare = is.mode & !0o2000 == 0o700;
    let bare = Entry {
        mode: if is_bare { is.mode } else { 0o700 },
        uid,
        gid: if is_bare { is.gid } else { gid },
        xattrs: Vec::new(),
        ..was.clone()
    };
    is.kind == NodeKind::Directory && is_between(is, &bare, was, actor)
}

/// Modes of directories that are opened for a move.
impl MoveExecutor<'_> {
    /// The mode of the directory of a move, if jackin owns it and cannot write it.
    pub(super) fn closed(&self, step: &JournalMove, seat: &Slot) -> io::Result<Option<u32>> {
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
    fn is_shut(&self, step: &JournalMove, seat: &Slot) -> io::Result<bool> {
        let closed = self.closed(step, seat)?;
        Ok(closed.is_some_and(|mode| !self.is_recorded(step, mode)))
    }

    /// Makes a directory of jackin writable during the restore if its owner had made it read-only.
    pub(super) fn open_parent(&self, step: &JournalMove, seat: &Slot) -> io::Result<()> {
        match self.closed(step, seat)? {
            Some(mode) if self.is_recorded(step, mode) => {
                // The handle whose mode was looked at: a directory that takes its name in between keeps its own mode.
                handle_fs::chmod_handle(&seat.dir, mode | FOR_ENTRIES)
            }
            _ => Ok(()),
        }
    }

    /// Opens the directory of a move if its owner may not even search it: nothing in it can be looked at before. Returns its mode if it
    /// was opened.
    fn open_unsearchable(&self, step: &JournalMove, error: &io::Error) -> Option<u32> {
        let open = || -> io::Result<Option<u32>> {
            let seat = self.seat(step)?;
            let closed = self.closed(step, &seat)?;
            let unsearchable = closed.filter(|mode| mode & 0o100 == 0 && self.is_recorded(step, *mode));
            if unsearchable.is_some() {
                self.open_parent(step, &seat)?;
            }
            Ok(unsearchable)
        };
        is_denial(error).then(open)?.ok().flatten()
    }

    /// Gives the directories that had to be opened their modes again.
    fn close_parents(&mut self) {
        for parent in self.mount.parents.iter().rev() {
            if let Err(error) = self.as_it_was(parent, false) {
                let note = format!("its mode could not be set: {}", words(&error));
                self.failed
                    .push((parent.path.clone(), Problem::caused(note, &error)));
            }
        }
    }

    /// Gives a directory the mode that it had, when it was opened, and its time. A move of its own that gives it
    /// another mode comes after that, and is undone before.
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
            // By its handle: its mode may forbid to search it.
            match handle_fs::set_mtime_handle(&dir, parent.mtime.into()) {
                // Only its owner may set it. A time that may not be set harms nothing, and a rollback has to end.
                Err(error) if is_denial(&error) => {}
                other => other?,
            }
        }
        Ok(())
    }

    /// Makes the directories that a move is about movable. A directory whose mode was changed is not opened.
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
