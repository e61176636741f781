//! Progress of a move, found from the identity of the objects at its path and in the staging or holding directory.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt as _;

use super::file_identity::{aside_name, is_same};
use super::holding_dir::{HoldingDir, is_aside};
use super::stage::Stage;
use super::survey;
use crate::model::{ByteString, Identity, JournalMount, JournalMove, MoveKind, RelPath};
use handle_fs::{Dir, Root, Survey};
use handle_fs::{NodeKind, Stat};

/// Progress of a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// Not begun.
    Before,
    /// The file system cannot exchange: the old object is aside, the new one waits in its place.
    Parted,
    /// The new object is at the path; only the old one still has its temporary name in the staging directory.
    Joined,
    /// Like [`Self::Parted`], but another process took the new object away: it is neither in its place nor at the path.
    PartedBereft,
    /// On its way back: the new object is aside, the old one waits in its place, and nothing is at the path.
    BackParted,
    /// The old object is back at the path; the new one still has the temporary name.
    BackJoined,
    /// Done.
    After,
    /// Done, but another process took the old object away from its new place, or put something else there.
    Bereft,
    /// The objects of the move are in neither place: another process took them away.
    Lost,
}

/// Other end of a move, from which or to which it takes an object.
pub(super) struct Other<'a> {
    /// None when it is gone: nothing lies there then.
    pub(super) dir: Option<&'a Dir>,
    pub(super) name: OsString,
}

impl<'a> Other<'a> {
    /// Returns the other end of a move. A move in place has none and gets the staging directory itself.
    pub(super) fn of(step: &JournalMove, stage: &'a Stage, berths: &'a [HoldingDir]) -> Self {
        let staged = |name: &OsStr| Self {
            dir: Some(stage.dir()),
            name: name.to_owned(),
        };
        match &step.deed {
            MoveKind::Install(name) | MoveKind::StageOut(name) | MoveKind::Exchange(name) => {
                staged(place(name))
            }
            MoveKind::SetAside(place) | MoveKind::PutBack(place) | MoveKind::SwapAside(place) => {
                let berth = berths.iter().find(|berth| berth.place == *place);
                let name = step.path.split().map(|(_, name)| name.as_os_str().to_owned());
                Self {
                    dir: berth.and_then(|berth| berth.dir.as_ref()),
                    name: name.unwrap_or_default(),
                }
            }
            MoveKind::RemoveDir(_) | MoveKind::Metadata { .. } => staged(OsStr::new(".")),
        }
    }

    /// The directory.
    ///
    /// # Errors
    /// `NotFound` when it is gone.
    pub(super) fn dir(&self) -> io::Result<&'a Dir> {
        self.dir.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn look(&self, name: &OsStr) -> io::Result<Option<Stat>> {
        match self.dir {
            Some(dir) => dir.look(name),
            None => Ok(None),
        }
    }
}

/// A place in the staging directory as a name.
pub(super) fn place(place: &ByteString) -> &OsStr {
    OsStr::from_bytes(&place.0)
}

/// Returns the progress of a move; `live` is the object at its path.
pub(super) fn progress(step: &JournalMove, live: Option<Stat>, other: &Other<'_>) -> io::Result<Progress> {
    let is = |identity: &Option<Identity>, stat: &Option<Stat>, ours: bool| {
        identity
            .as_ref()
            .zip(stat.as_ref())
            .is_some_and(|(identity, stat)| is_same(identity, stat, ours))
    };
    let is_dir = |stat: &Option<Stat>| stat.is_some_and(|stat| stat.kind == NodeKind::Directory);
    Ok(match &step.deed {
        MoveKind::Install(_) | MoveKind::PutBack(_) => {
            // The staging directory is asked first, here and below. An object at the path may have been edited, and without
            // birth times it is not recognized then; in the staging directory its inode number is enough.
            if is(&step.new, &other.look(&other.name)?, true) {
                Progress::Before
            } else if is(&step.new, &live, false) {
                Progress::After
            } else {
                Progress::Lost
            }
        }
        MoveKind::StageOut(_) | MoveKind::SetAside(_) => {
            if is(&step.old, &other.look(&other.name)?, true) {
                Progress::After
            } else if is(&step.old, &live, false) {
                Progress::Before
            } else {
                Progress::Lost
            }
        }
        MoveKind::Exchange(_) | MoveKind::SwapAside(_) => {
            let (staged, parted) = (other.look(&other.name)?, other.look(&aside_name(&other.name))?);
            if is(&step.old, &parted, true) {
                if is(&step.new, &staged, true) {
                    Progress::Parted
                } else if is(&step.new, &live, false) {
                    Progress::Joined
                } else {
                    Progress::PartedBereft
                }
            } else if is(&step.new, &parted, true) {
                if is(&step.old, &staged, true) {
                    Progress::BackParted
                } else if is(&step.old, &live, false) {
                    Progress::BackJoined
                } else {
                    Progress::Lost
                }
            } else if is(&step.old, &staged, true) {
                Progress::After
            } else if is(&step.new, &staged, true) {
                Progress::Before
            } else if is(&step.new, &live, false) {
                Progress::Bereft
            } else {
                Progress::Lost
            }
        }
        // Taking its children away may have made another inode of it; only an empty one can be removed.
        MoveKind::RemoveDir(_) if is_dir(&live) => Progress::Before,
        MoveKind::RemoveDir(_) => Progress::After,
        // Done twice is done once. The times of a directory have changed with its entries.
        MoveKind::Metadata { .. } if is(&step.old, &live, is_dir(&live)) => Progress::Before,
        MoveKind::Metadata { .. } => Progress::Lost,
    })
}

/// Looks at both ends of moves, except where something is set aside, and with `load` at the content of small files that are staged.
pub(super) fn survey_moves(
    root: Option<&Root>,
    stage: &Stage,
    steps: &[&JournalMove],
    load: bool,
) -> Option<(Survey, Survey)> {
    let root = root.filter(|root| root.is_far())?;
    let mut staged = Vec::new();
    for step in steps {
        match &step.deed {
            MoveKind::Install(name) | MoveKind::StageOut(name) => staged.push(place(name).to_owned()),
            MoveKind::Exchange(name) => staged.extend([place(name).to_owned(), aside_name(place(name))]),
            MoveKind::SetAside(_)
            | MoveKind::PutBack(_)
            | MoveKind::SwapAside(_)
            | MoveKind::RemoveDir(_)
            | MoveKind::Metadata { .. } => {}
        }
    }
    let names: Vec<&OsStr> = staged.iter().map(OsString::as_os_str).collect();
    let live = survey::of_paths(root, steps.iter().map(|step| &step.path), false)?;
    Some((live, survey::of_names(stage.dir(), &names, load)))
}

/// In which order moves are made; taking back goes the other way.
pub(super) struct Order<'a> {
    renames: Vec<&'a JournalMove>,
    /// Moves in place, made after all renames.
    pub(super) metadata: Vec<&'a JournalMove>,
    /// Paths that something is taken away from before anything comes.
    cleared: HashSet<&'a RelPath>,
    /// The inodes of that.
    taken: HashSet<u64>,
}

impl<'a> Order<'a> {
    /// Sorts the moves so that outgoing objects make room for incoming ones.
    ///
    /// A file system that ignores case may treat two names as one, and a directory can be removed only when it is empty.
    pub(super) fn of(mount: &'a JournalMount) -> Self {
        let of = |wanted: fn(&MoveKind) -> bool| mount.moves.iter().filter(move |step| wanted(&step.deed));
        let outs = of(|deed| matches!(deed, MoveKind::StageOut(_)));
        let emptied = of(|deed| matches!(deed, MoveKind::RemoveDir(_)));
        let others = of(|deed| matches!(deed, MoveKind::Install(_) | MoveKind::Exchange(_)));
        // What no snapshot holds waits until everything else went well.
        let aside = of(is_aside);
        // The deepest directory first.
        let mut emptied: Vec<&JournalMove> = emptied.collect();
        emptied.sort_by(|a, b| b.path.cmp(&a.path));
        let going = of(|deed| matches!(deed, MoveKind::StageOut(_) | MoveKind::RemoveDir(_)));
        Self {
            cleared: going.clone().map(|step| &step.path).collect(),
            taken: going.filter_map(|step| Some(step.old.as_ref()?.ino)).collect(),
            renames: outs.chain(emptied).chain(others).chain(aside).collect(),
            metadata: of(|deed| matches!(deed, MoveKind::Metadata { .. })).collect(),
        }
    }

    /// Returns true if another move takes `there` away from the path of `step` first, even under another name that the file
    /// system treats as the same.
    pub(super) fn clears(&self, step: &JournalMove, there: &Stat) -> bool {
        self.cleared.contains(&step.path) || self.taken.contains(&there.ino)
    }

    /// Removals of directories.
    pub(super) fn removed(&self) -> impl Iterator<Item = &'a JournalMove> {
        let is_removal = |step: &&JournalMove| matches!(step.deed, MoveKind::RemoveDir(_));
        self.renames.iter().copied().filter(is_removal)
    }

    /// Everything but what is done in place.
    pub(super) fn renames(&self) -> impl DoubleEndedIterator<Item = &'a JournalMove> {
        self.renames.iter().copied()
    }
}
