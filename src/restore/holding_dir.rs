//! The directories that excluded directories lie aside in: one each, so that each can come back alone, and none needs another
//! name there. Made before anything is moved, removed when they are empty in the end.

use std::ffi::{OsStr, OsString};
use std::io;

use super::RestoreError;
use super::file_identity::{identity, is_same};
use super::proposal::ProposedMount;
use super::slot::Slot;
use super::stage::take_all;
use crate::capture::is_gone;
use crate::model::{AsideAct, AsideStep, Identity, JournalMove, MoveKind, StagePlace};
use handle_fs::remote::Transports;
use handle_fs::{Dir, Root};

/// One such directory, opened.
pub(super) struct HoldingDir {
    pub(super) place: StagePlace,
    act: AsideAct,
    parent: Dir,
    /// None when it is not there any more.
    pub(super) dir: Option<Dir>,
}

/// Ending of a restore.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// The plan was carried out.
    Kept,
    /// Everything is as it was.
    TakenBack,
}

impl HoldingDir {
    /// Makes the one that something goes into, mode 0700, or opens the one that something comes out of.
    pub(super) fn create(transports: &Transports, step: &AsideStep) -> Result<Self, RestoreError> {
        let fail = |source| RestoreError::Stage {
            path: step.place.path(),
            source,
        };
        if step.act == AsideAct::Away {
            let make = || -> io::Result<()> {
                let parent = Dir::open(transports, &step.place.directory.to_path())?;
                handle_fs::make_dir(&parent, OsStr::new(&step.place.name))
            };
            make().map_err(fail)?;
        }
        let berth = Self::open(transports, step)?;
        match &berth.dir {
            // It is what our mask made of it until here.
            Some(dir) if step.act == AsideAct::Away => {
                handle_fs::chmod_handle(dir, 0o700).map_err(fail)?;
                take_all(dir);
            }
            _ => {}
        }
        Ok(berth)
    }

    /// Opens one as an interrupted restore left it.
    pub(super) fn open(transports: &Transports, step: &AsideStep) -> Result<Self, RestoreError> {
        let open = || -> io::Result<Self> {
            let parent = Dir::open(transports, &step.place.directory.to_path())?;
            let dir = match parent.dir(OsStr::new(&step.place.name)) {
                Ok(dir) => Some(dir),
                Err(error) if is_gone(&error) => None,
                Err(error) => return Err(error),
            };
            Ok(Self {
                place: step.place.clone(),
                act: step.act,
                parent,
                dir,
            })
        };
        open().map_err(|source| RestoreError::Stage {
            path: step.place.path(),
            source,
        })
    }

    /// Removes it when nothing lies in it. Where something does that should not, it stays with that.
    pub(super) fn settle(&self, end: End) -> Result<(), RestoreError> {
        let Some(dir) = &self.dir else { return Ok(()) };
        let settle = || -> io::Result<()> {
            let holds = match end {
                End::Kept => self.act != AsideAct::Back,
                End::TakenBack => self.act != AsideAct::Away,
            };
            if holds && !dir.names()?.is_empty() {
                return Ok(());
            }
            // Never emptied first: an excluded directory that still lies in it is in no snapshot.
            match handle_fs::remove_dir(&self.parent, OsStr::new(&self.place.name)) {
                // Cleared up before a crash.
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                other => other,
            }?;
            handle_fs::sync_directory(&self.parent)
        };
        settle().map_err(|source| RestoreError::Settle {
            path: self.place.path(),
            source,
        })
    }
}

/// The places of one mount, made; when one cannot be, none stays.
pub(super) fn create_all(
    transports: &Transports,
    steps: &[AsideStep],
) -> Result<Vec<HoldingDir>, RestoreError> {
    let mut berths = Vec::new();
    for step in steps {
        match HoldingDir::create(transports, step) {
            Ok(berth) => berths.push(berth),
            Err(error) => {
                forget(transports, steps);
                return Err(error);
            }
        }
    }
    Ok(berths)
}

/// Opens the holding directories of an interrupted restore. With `all`, their content is still needed, so none may be missing.
pub(super) fn open_all(
    transports: &Transports,
    steps: &[AsideStep],
    all: bool,
) -> Result<Vec<HoldingDir>, RestoreError> {
    let open = |step: &AsideStep| -> Result<HoldingDir, RestoreError> {
        let berth = HoldingDir::open(transports, step)?;
        if all && berth.dir.is_none() {
            let path = step.place.path();
            return Err(RestoreError::StageGone { path });
        }
        Ok(berth)
    };
    steps.iter().map(open).collect()
}

/// Removes the empty ones of a restore that moved nothing. Gives what stays.
pub(super) fn forget(transports: &Transports, steps: &[AsideStep]) -> Vec<RestoreError> {
    // The others were made by an earlier restore, and what it set aside lies in them.
    let made = steps.iter().filter(|step| step.act == AsideAct::Away);
    // Where the directory above is gone, so is what was made in it.
    let there = made.filter(|step| !matches!(transports.stat_path(&step.place.path()), Ok(None)));
    let settled = there.map(|step| HoldingDir::open(transports, step)?.settle(End::TakenBack));
    settled.filter_map(Result::err).collect()
}

/// The move that a step becomes.
pub(super) fn as_move(step: &AsideStep) -> JournalMove {
    let place = step.place.clone();
    JournalMove {
        path: step.path.clone(),
        deed: match step.act {
            AsideAct::Away => MoveKind::SetAside(place),
            AsideAct::Back => MoveKind::PutBack(place),
            AsideAct::Exchanged => MoveKind::SwapAside(place),
        },
        old: step.live,
        new: step.aside,
        old_mode: None,
        new_mode: None,
    }
}

/// Returns true if a move sets something aside or puts it back.
pub(super) fn is_aside(deed: &MoveKind) -> bool {
    matches!(
        deed,
        MoveKind::SetAside(_) | MoveKind::PutBack(_) | MoveKind::SwapAside(_)
    )
}

/// Returns the slot of a step's path, and the identity of the object there.
pub(super) fn find(root: &Root, step: &AsideStep) -> io::Result<(Slot, Option<Identity>)> {
    let gone = || io::Error::from(io::ErrorKind::NotFound);
    let (parent, name) = step.path.split().ok_or_else(gone)?;
    let seat = Slot {
        dir: root.dir(&parent)?,
        name: OsString::from(name.as_os_str()),
    };
    let found = seat.dir.look(&seat.name)?.as_ref().map(identity);
    Ok((seat, found))
}

/// Returns true if a step finds the objects that it was planned with.
pub(super) fn still_fits(root: &Root, step: &AsideStep, berth: &HoldingDir) -> io::Result<bool> {
    let (seat, _) = find(root, step)?;
    let live = seat.dir.look(&seat.name)?;
    let aside = match &berth.dir {
        Some(dir) => dir.look(&seat.name)?,
        None => None,
    };
    let same = |then: &Option<Identity>, now: &Option<handle_fs::Stat>, ours| match (then, now) {
        (Some(then), Some(now)) => is_same(then, now, ours),
        (None, None) => true,
        _ => false,
    };
    Ok(same(&step.live, &live, false) && same(&step.aside, &aside, true))
}

/// The directories that excluded ones go into or come out of, when everything is still what was shown.
pub(super) fn of_mount(mount: &ProposedMount, root: Option<&Root>) -> Result<Vec<HoldingDir>, RestoreError> {
    let berths = create_all(&mount.transports, &mount.aside)?;
    let Some(root) = root else { return Ok(berths) };
    for (step, berth) in mount.aside.iter().zip(&berths) {
        // The identities were read before the plan was confirmed. No snapshot holds these directories, so nothing else can
        // tell that one was replaced since.
        if !still_fits(root, step, berth).unwrap_or(false) {
            forget(&mount.transports, &mount.aside);
            return Err(RestoreError::Drift {
                path: step.path.on_host(root.path()),
            });
        }
    }
    Ok(berths)
}
