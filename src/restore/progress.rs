//! How far a move came: told by the identity of what lies at its path and in the staging directory.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use super::identity::is_same;
use super::moves::aside_name;
use super::stage::Stage;
use crate::mount::{Dir, Root};
use crate::platform::{NodeKind, Stat};
use crate::snapshot::{ByteString, Deed, Identity, JournalMount, JournalMove, RelPath};

/// How far a move came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// Not begun.
    Before,
    /// The file system cannot exchange: the old object is aside, the new one waits in its place.
    Parted,
    /// As before, and the new one is at the path; only the old one's name in the staging directory is not what it will be.
    Joined,
    /// Done.
    After,
    /// What the move is about lies neither here nor there: somebody took it away.
    Lost,
}

/// Where a path is reached: the directory it lies in, and its name there.
pub(super) struct Seat {
    pub(super) dir: Dir,
    pub(super) name: OsString,
}

/// A place in the staging directory as a name.
pub(super) fn place(place: &ByteString) -> &OsStr {
    OsStr::from_bytes(&place.0)
}

/// Where the path of a move is reached.
pub(super) fn seat(step: &JournalMove, root: Option<&Root>, host: &Path) -> io::Result<Seat> {
    let gone = || io::Error::from(io::ErrorKind::NotFound);
    match (step.path.split(), root) {
        (Some((parent, name)), Some(root)) => Ok(Seat {
            dir: root.dir(&parent)?,
            name: name.as_os_str().to_owned(),
        }),
        // The root itself is addressed from within: it is never moved.
        (None, Some(root)) => Ok(Seat {
            dir: root.dir(&RelPath::root())?,
            name: ".".into(),
        }),
        // It is made anew, as a whole.
        (None, None) => Ok(Seat {
            dir: Dir::open(host.parent().ok_or_else(gone)?)?,
            name: host.file_name().ok_or_else(gone)?.to_owned(),
        }),
        (Some(_), None) => Err(gone()),
    }
}

/// How far a move came.
pub(super) fn progress(step: &JournalMove, seat: Option<&Seat>, stage: &Stage) -> io::Result<Progress> {
    let stage = stage.dir();
    let is = |identity: &Option<Identity>, stat: &Option<Stat>, ours: bool| {
        identity
            .as_ref()
            .zip(stat.as_ref())
            .is_some_and(|(identity, stat)| is_same(identity, stat, ours))
    };
    let is_dir = |stat: &Option<Stat>| stat.is_some_and(|stat| stat.kind == NodeKind::Directory);
    // The directory it lies in may have been removed by a later move.
    let live = match seat {
        Some(seat) => seat.dir.look(&seat.name)?,
        None => None,
    };
    Ok(match &step.deed {
        Deed::In(name) => {
            if is(&step.new, &stage.look(place(name))?, true) {
                Progress::Before
            } else if is(&step.new, &live, false) {
                Progress::After
            } else {
                Progress::Lost
            }
        }
        Deed::Out(name) => {
            if is(&step.old, &stage.look(place(name))?, true) {
                Progress::After
            } else if is(&step.old, &live, false) {
                Progress::Before
            } else {
                Progress::Lost
            }
        }
        Deed::Swap(name) => {
            let (staged, parted) = (stage.look(place(name))?, stage.look(&aside_name(place(name)))?);
            if is(&step.old, &parted, true) {
                if is(&step.new, &staged, true) {
                    Progress::Parted
                } else {
                    Progress::Joined
                }
            } else if is(&step.old, &staged, true) {
                Progress::After
            } else if is(&step.new, &staged, true) {
                Progress::Before
            } else if is(&step.new, &live, false) {
                Progress::After
            } else {
                Progress::Lost
            }
        }
        // Taking its children away may have made another inode of it; only an empty one can be removed.
        Deed::Unmake(_) if is_dir(&live) => Progress::Before,
        Deed::Unmake(_) => Progress::After,
        // Done twice is done once. The times of a directory have changed with its entries.
        Deed::Metadata { .. } if is(&step.old, &live, is_dir(&live)) => Progress::Before,
        Deed::Metadata { .. } => Progress::Lost,
    })
}

/// In which order moves are made; taking back goes the other way.
pub(super) struct Order<'a> {
    renames: Vec<&'a JournalMove>,
    /// What is done in place, after all renames.
    pub(super) metadata: Vec<&'a JournalMove>,
}

impl<'a> Order<'a> {
    /// What goes makes room for what comes: two names may be one to a file system that ignores case, and a directory is removed
    /// when it is empty.
    pub(super) fn of(mount: &'a JournalMount) -> Self {
        let of = |wanted: fn(&Deed) -> bool| mount.moves.iter().filter(move |step| wanted(&step.deed));
        let outs = of(|deed| matches!(deed, Deed::Out(_)));
        let emptied = of(|deed| matches!(deed, Deed::Unmake(_)));
        let others = of(|deed| matches!(deed, Deed::In(_) | Deed::Swap(_)));
        // The deepest directory first.
        let mut emptied: Vec<&JournalMove> = emptied.collect();
        emptied.sort_by(|a, b| b.path.cmp(&a.path));
        Self {
            renames: outs.chain(emptied).chain(others).collect(),
            metadata: of(|deed| matches!(deed, Deed::Metadata { .. })).collect(),
        }
    }

    /// Everything but what is done in place.
    pub(super) fn renames(&self) -> impl DoubleEndedIterator<Item = &'a JournalMove> {
        self.renames.iter().copied()
    }
}
