//! Writes the journal of one mount: every move with the identities of what it moves, every directory as it is before.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;

use super::build_moves::Move;
use super::file_identity::identity;
use super::holding_dir::as_move;
use super::plan::{Action, Step};
use super::stage::{OwnedInodes, Stage};
use super::survey::{self, TOGETHER};
use crate::model::{
    AsideStep, ByteString, Entry, Identity, JournalMount, JournalMove, JournalParent, JournalStep, Manifest,
    MoveKind, PathAct, Recorded, RelPath,
};
use handle_fs::{Dir, Root, Survey};
use handle_fs::{NodeKind, Stat};

/// Input for the journal of one mount.
pub(super) struct Draft<'a> {
    pub(super) label: &'a str,
    pub(super) root: Option<&'a Root>,
    pub(super) stage: &'a Stage,
    pub(super) before: Option<&'a Manifest>,
    pub(super) steps: &'a [Step],
    pub(super) moves: &'a [(RelPath, Move)],
    pub(super) known: &'a OwnedInodes,
    pub(super) aside: &'a [AsideStep],
}

impl From<Action> for PathAct {
    fn from(action: Action) -> Self {
        match action {
            Action::Create => Self::Created,
            Action::Replace => Self::Replaced,
            Action::Delete => Self::Deleted,
            Action::Metadata => Self::Metadata,
        }
    }
}

impl From<PathAct> for Action {
    fn from(act: PathAct) -> Self {
        match act {
            PathAct::Created => Self::Create,
            PathAct::Replaced => Self::Replace,
            PathAct::Deleted => Self::Delete,
            PathAct::Metadata => Self::Metadata,
        }
    }
}

/// The identity of what lies there, and the mode of a directory.
type Found = (Option<Identity>, Option<u32>);

fn found(dir: &Dir, name: &OsStr) -> io::Result<Found> {
    let stat = dir.look(name)?;
    let directory = stat.filter(|stat| stat.kind == NodeKind::Directory);
    Ok((stat.as_ref().map(identity), directory.map(|stat| stat.mode)))
}

impl Draft<'_> {
    /// The journal; nothing is moved yet.
    pub(super) fn write(&self) -> io::Result<JournalMount> {
        let root = self.root.map(Root::stat);
        let mut parents: BTreeMap<RelPath, JournalParent> = BTreeMap::new();
        let mut moves = Vec::new();
        let inside = self.stage.is_inside() || self.aside.iter().any(|step| step.place.inside);
        if let (true, Some(before)) = (inside, self.before) {
            // Staging in the root already shows in its time.
            let top = RelPath::root();
            parents.insert(
                top.clone(),
                parent(top, before.root.mode, before.root.mtime.into()),
            );
        }
        let mut held: Option<(RelPath, Dir)> = None;
        // These identities are those of now, and another process may replace an object before or after this look. So a move also
        // compares what it takes away with the emergency snapshot, and never trusts the journal alone.
        let mut seen = None;
        for (at, (path, step)) in self.moves.iter().enumerate() {
            if at.is_multiple_of(TOGETHER) {
                drop(seen.take());
                seen = self.survey(self.moves.iter().skip(at).take(TOGETHER));
            }
            let above = path.split();
            let (old, old_mode) = match (&above, self.root) {
                // Whatever is there goes first.
                (Some((above, _)), Some(root)) if matches!(step, Move::In(_)) => {
                    note(&mut parents, above, || root.dir(above)?.stat())?;
                    (None, None)
                }
                (Some((above, name)), Some(root)) => {
                    if held.as_ref().is_none_or(|(path, _)| path != above) {
                        held = Some((above.clone(), root.dir(above)?));
                    }
                    let Some((_, dir)) = &held else { continue };
                    if !matches!(step, Move::Metadata(_)) {
                        note(&mut parents, above, || dir.stat())?;
                    }
                    found(dir, name.as_os_str())?
                }
                (None, Some(root)) => found(&root.dir(&RelPath::root())?, OsStr::new("."))?,
                (_, None) => (None, None),
            };
            let (new, new_mode) = self.staged(step)?;
            let is_moved = !matches!(step, Move::Unmake(_) | Move::Metadata(_));
            moves.push(JournalMove {
                path: path.clone(),
                deed: self.deed(path, step),
                old,
                new,
                old_mode: old_mode.filter(|_| is_moved),
                new_mode,
            });
        }
        for step in self.aside {
            let mut moved = as_move(step);
            if let (Some((above, name)), Some(root)) = (step.path.split(), self.root) {
                let dir = root.dir(&above)?;
                note(&mut parents, &above, || dir.stat())?;
                (_, moved.old_mode) = found(&dir, name.as_os_str())?;
                (_, moved.new_mode) = found(
                    &Dir::open(root.transports(), &step.place.path())?,
                    name.as_os_str(),
                )?;
            }
            moves.push(moved);
        }
        Ok(JournalMount {
            label: self.label.to_owned(),
            root: root.as_ref().map(identity),
            stage: identity(&self.stage.dir().stat()?),
            steps: self.steps.iter().map(step).collect(),
            moves,
            parents: parents.into_values().collect(),
            known: self.known.objects(),
        })
    }

    /// Looks at the paths of some moves, and at what is staged for them, at once.
    fn survey<'m>(
        &self,
        some: impl Iterator<Item = &'m (RelPath, Move)> + Clone,
    ) -> Option<(Survey, Survey)> {
        let root = self.root.filter(|root| root.is_far())?;
        let staged = some.clone().filter_map(|(_, step)| match step {
            Move::In(name) | Move::Swap(name) => Some(name.as_os_str()),
            Move::Out(_) | Move::Unmake(_) | Move::Metadata(_) => None,
        });
        let staged: Vec<&OsStr> = staged.collect();
        let live = survey::of_paths(root, some.map(|(path, _)| path), false)?;
        Some((live, survey::of_names(self.stage.dir(), &staged, false)))
    }

    fn deed(&self, path: &RelPath, step: &Move) -> MoveKind {
        let place = |name: &OsStr| ByteString(name.as_bytes().to_vec());
        match step {
            Move::In(name) => MoveKind::Install(place(name)),
            Move::Swap(name) => MoveKind::Exchange(place(name)),
            Move::Out(name) => MoveKind::StageOut(place(name)),
            Move::Unmake(was) => MoveKind::RemoveDir(Recorded(was.clone())),
            Move::Metadata(will) => {
                let was = self.before.and_then(|before| before.entry(path));
                let recorded = |entry: &Entry| Recorded(Box::new(entry.clone()));
                MoveKind::Metadata {
                    was: recorded(was.unwrap_or(will)),
                    will: recorded(will),
                }
            }
        }
    }

    fn staged(&self, step: &Move) -> io::Result<Found> {
        match step {
            Move::In(name) | Move::Swap(name) => found(self.stage.dir(), name),
            Move::Out(_) | Move::Unmake(_) | Move::Metadata(_) => Ok((None, None)),
        }
    }
}

fn parent(path: RelPath, mode: u32, mtime: crate::model::Stamp) -> JournalParent {
    JournalParent { path, mode, mtime }
}

/// Notes a directory as it was before anything moved in it, once.
fn note(
    parents: &mut BTreeMap<RelPath, JournalParent>,
    above: &RelPath,
    look: impl FnOnce() -> io::Result<Stat>,
) -> io::Result<()> {
    if !parents.contains_key(above) {
        let stat = look()?;
        let noted = parent(above.clone(), stat.mode, stat.mtime.into());
        parents.insert(above.clone(), noted);
    }
    Ok(())
}

fn step(step: &Step) -> JournalStep {
    JournalStep {
        path: step.change.path.clone(),
        act: step.action.into(),
        overrode: step.overrode,
    }
}
