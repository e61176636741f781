//! Turns the steps of a plan into moves, and stages the new content for them: afterwards only renames and metadata are
//! left to do. On an overlay a directory of a lower layer cannot be moved, so its content is.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::io;

use super::hard_links::{NameCounts, groups};
use super::plan::{Action, Step};
use super::stage::{Stage, new_name, old_name};
use super::tree_writer::{Builder, Origin, TreeWriter, failed};
use super::{RestoreError, hidden};
use crate::model::{Entry, Manifest, RelPath};
use handle_fs::{Dir, Root};

/// One move of the apply step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Move {
    /// A staged object goes to a path where nothing is.
    In(OsString),
    /// A staged object changes places with what is at the path.
    Swap(OsString),
    /// The object at the path goes into the staging directory.
    Out(OsString),
    /// The directory at the path, which is empty by then, is removed.
    Unmake(Box<Entry>),
    /// Metadata are restored in place.
    Metadata(Box<Entry>),
}

/// The moves of one mount, by path. A path below another one of these is part of that one's object.
pub(super) type Moves = BTreeMap<RelPath, Move>;

/// Returns true if the move of the parent directory covers this step as well.
fn is_carried(step: &Step, above: Option<&Step>) -> bool {
    match (step.action, above.map(|step| step.action)) {
        (Action::Create, Some(above)) => above == Action::Create || above == Action::Replace,
        (Action::Delete, Some(above)) => above == Action::Delete || above == Action::Replace,
        _ => false,
    }
}

/// Stages everything that `steps` need. `target` is what the tree will be, `now` what it is.
pub(super) fn prepare(
    root: Option<&Root>,
    stage: &Stage,
    steps: &[Step],
    target: &Manifest,
    now: Option<&Manifest>,
    builder: &mut Builder<'_>,
) -> Result<Moves, RestoreError> {
    let mut sorted: Vec<&Step> = steps.iter().collect();
    sorted.sort_by(|a, b| a.change.path.cmp(&b.change.path));
    let mut layout = Layout {
        site: TreeWriter::new(stage.dir()),
        links: Links {
            root,
            target,
            now,
            steps: &sorted,
            groups: groups(target),
            counts: now.map(NameCounts::of).unwrap_or_default(),
            first: HashMap::new(),
        },
        above: Vec::new(),
        moves: Moves::new(),
        staged: Vec::new(),
        number: 0,
    };
    for step in &sorted {
        layout.add(step)?;
    }
    let Layout {
        mut site,
        links,
        mut moves,
        staged,
        ..
    } = layout;
    site.make_folders()?;
    if root.is_some() && !links.first.is_empty() {
        stage.stages_links().map_err(|source| RestoreError::Stage {
            path: stage.path().to_path_buf(),
            source,
        })?;
    }
    links.take_from_live(&mut site)?;
    let made = site.fill(builder)?;
    for (number, path, action) in staged {
        if made.get(number).copied().unwrap_or(false) {
            moves.insert(path.clone(), action);
        }
    }
    site.finish_folders(builder)?;
    Ok(moves)
}

/// The steps as objects in the staging directory, and the moves that follow.
struct Layout<'a> {
    site: TreeWriter<'a>,
    links: Links<'a>,
    /// The steps above the one that is looked at, and the number of the directory each of them stages.
    above: Vec<(&'a Step, Option<usize>)>,
    moves: Moves,
    /// Moves that depend on a staged object, with the object's number. A move is made only if its object could be built.
    staged: Vec<(usize, &'a RelPath, Move)>,
    /// Number of the next new or old object.
    number: usize,
}

impl<'a> Layout<'a> {
    /// Takes the next step in the order of paths.
    fn add(&mut self, step: &'a Step) -> Result<(), RestoreError> {
        let path = &step.change.path;
        while self
            .above
            .pop_if(|(above, _)| !path.is_within(&above.change.path))
            .is_some()
        {}
        // The nearest step above is that of the directory only when it is one part shorter.
        let depth = path.parts().count();
        let above = self.above.last().copied();
        let above = above.filter(|(above, _)| above.change.path.parts().count() + 1 == depth);
        let carried = is_carried(step, above.map(|(step, _)| step));
        let mut folder = None;
        match &step.change.from {
            None if carried => {}
            None => {
                let name = old_name(self.next());
                self.moves.insert(path.clone(), Move::Out(name));
            }
            Some(entry) if step.action == Action::Metadata => {
                let action = Move::Metadata(Box::new(entry.clone()));
                self.moves.insert(path.clone(), action);
            }
            Some(entry) if carried => {
                // Below an object that could not be made nothing can be made either.
                if let Some(within) = above.and_then(|(_, folder)| folder) {
                    (folder, _) = self.object(within, Cow::Borrowed(entry.name.as_os_str()), path, entry)?;
                }
            }
            Some(entry) => {
                let place = new_name(self.next());
                let object;
                (folder, object) = self.object(TreeWriter::TOP, Cow::Owned(place.clone()), path, entry)?;
                let action = if step.action == Action::Create {
                    Move::In(place)
                } else {
                    Move::Swap(place)
                };
                match object {
                    Some(number) => self.staged.push((number, path, action)),
                    None => drop(self.moves.insert(path.clone(), action)),
                }
            }
        }
        self.above.push((step, folder));
        Ok(())
    }

    fn next(&mut self) -> usize {
        self.number += 1;
        self.number - 1
    }

    /// Plans what a step makes; gives its number as a directory or as an object.
    fn object(
        &mut self,
        within: usize,
        name: Cow<'a, OsStr>,
        path: &'a RelPath,
        entry: &'a Entry,
    ) -> Result<(Option<usize>, Option<usize>), RestoreError> {
        if entry.is_dir() {
            let entry = self.links.target.entry(path).unwrap_or(entry);
            return Ok((Some(self.site.folder(within, &name, path, entry)?), None));
        }
        let leader = self.links.leader(path, entry).cloned();
        let first = leader.as_ref().and_then(|leader| self.links.first.get(leader));
        let origin = first.map_or(Origin::Store, |first| Origin::NameOf(first.number));
        let number = self.site.object(within, name, path, entry, origin);
        if let (Some(leader), Origin::Store) = (leader, origin) {
            self.links.first.insert(leader, First { number, path });
        }
        Ok((None, Some(number)))
    }
}

/// The member of a hard link group that is staged first.
struct First<'a> {
    number: usize,
    path: &'a RelPath,
}

/// Restores hard link groups: a member is linked to one that is staged or untouched, else it is made new.
struct Links<'a> {
    root: Option<&'a Root>,
    target: &'a Manifest,
    now: Option<&'a Manifest>,
    /// Sorted by path.
    steps: &'a [&'a Step],
    /// First path of each group to all its paths.
    groups: HashMap<RelPath, Vec<RelPath>>,
    /// Names that files have now.
    counts: NameCounts,
    /// First path of each group to what is staged of it first.
    first: HashMap<RelPath, First<'a>>,
}

impl Links<'_> {
    /// The first path of the group that `path` belongs to.
    fn leader<'p>(&self, path: &'p RelPath, entry: &'p Entry) -> Option<&'p RelPath> {
        (entry.nlink > 1).then(|| entry.link.as_ref().unwrap_or(path))
    }

    /// Gives the first of each group that is staged to a live file that is one of the group and stays: then all of them
    /// are names of that one.
    fn take_from_live(&self, site: &mut TreeWriter<'_>) -> Result<(), RestoreError> {
        let Some(root) = self.root else { return Ok(()) };
        let mut firsts: Vec<(&RelPath, &First<'_>)> = self.first.iter().collect();
        firsts.sort_unstable_by_key(|(_, first)| first.number);
        let is_layered = !firsts.is_empty() && root.is_layered();
        let mut alone = Vec::new();
        for (leader, first) in firsts {
            let members = self.groups.get(leader).map(Vec::as_slice).unwrap_or_default();
            let parts = |member: &RelPath| {
                let now = self.now.and_then(|now| now.entry(member));
                is_layered && now.is_some_and(|now| self.counts.may_be_parted(now))
            };
            let stays = |member: &&RelPath| *member != first.path && self.stays(member) && !parts(member);
            let mut live: Vec<&RelPath> = members.iter().filter(stays).collect();
            // A name that was parted from the group may have the same content.
            live.sort_by_key(|member| !self.is_same_file(member));
            if live.is_empty() {
                let entry = self.target.entry(first.path);
                let unseen =
                    |entry: &&Entry| usize::try_from(entry.nlink).is_ok_and(|all| all > members.len().max(1));
                alone.extend(entry.filter(unseen).map(|entry| (first, entry)));
                continue;
            }
            site.link_in(first.number, |dir, name| {
                link_to_one(root, &live, first.path, dir, name)
            })?;
        }
        self.take_from_others(root, &alone, site)
    }

    /// The same for a file that had names which no snapshot shows, so that it is linked to these again. The link is made through a name that
    /// goes, or through a hidden one. A name that stays is another path's: what comes back may not share its file.
    fn take_from_others(
        &self,
        root: &Root,
        alone: &[(&First<'_>, &Entry)],
        site: &mut TreeWriter<'_>,
    ) -> Result<(), RestoreError> {
        let mut wanted: HashSet<u64> = alone.iter().map(|(_, entry)| entry.ino).collect();
        if wanted.is_empty() {
            return Ok(());
        }
        let shown = self.shown(&wanted);
        // A hidden name holds what a shown one does, and none of the two may be used if the latter may not.
        wanted.retain(|ino| !shown.contains_key(ino));
        let hidden = match wanted.is_empty() {
            true => HashMap::new(),
            false => hidden::find(root, &wanted),
        };
        for (first, entry) in alone {
            let names = shown.get(&entry.ino).map(Vec::as_slice);
            let path = match names {
                Some(names) => self.leaving(names, entry),
                None => hidden.get(&entry.ino),
            };
            let Some(path) = path else { continue };
            site.link_in(first.number, |dir, name| {
                hidden::link(root, path, entry, (dir, name)).map_err(|source| failed(first.path, source))
            })?;
        }
        Ok(())
    }

    /// Returns the names that each of these files has now, by inode.
    fn shown(&self, wanted: &HashSet<u64>) -> HashMap<u64, Vec<RelPath>> {
        let mut shown: HashMap<u64, Vec<RelPath>> = HashMap::new();
        let entries = self.now.into_iter().flat_map(Manifest::entries);
        for (path, entry) in entries.filter(|(_, entry)| wanted.contains(&entry.ino)) {
            shown.entry(entry.ino).or_default().push(path);
        }
        shown
    }

    /// Returns a name of a file that is as `wanted`, has more names than these, and loses all of these in this restore.
    fn leaving<'n>(&self, names: &'n [RelPath], wanted: &Entry) -> Option<&'n RelPath> {
        let name = names.first()?;
        let now = self.now?.entry(name)?;
        // A link to a file without other names brings nothing back. It would change the file's ctime, which shows later edits.
        let has_others = self.counts.has_others(now);
        let is_alike = now.kind == wanted.kind && now.same_metadata(wanted);
        let goes = |name: &RelPath| {
            let action = self.step(name).map(|step| step.action);
            matches!(action, Some(Action::Delete | Action::Replace))
        };
        (has_others && is_alike && names.iter().all(goes)).then_some(name)
    }

    fn step(&self, path: &RelPath) -> Option<&Step> {
        let at = self.steps.binary_search_by(|step| step.change.path.cmp(path));
        at.ok().and_then(|at| self.steps.get(at)).copied()
    }

    /// Returns true if `member` is a name of the same file as in the target.
    fn is_same_file(&self, member: &RelPath) -> bool {
        let [then, now] = [Some(self.target), self.now].map(|side| Some(side?.entry(member)?.ino));
        then == now
    }

    /// Returns true if `member` already has its target state, or gets it without being moved, and is no name of a foreign file.
    fn stays(&self, member: &RelPath) -> bool {
        let now = self.now.and_then(|now| now.entry(member));
        let Some((then, now)) = self.target.entry(member).zip(now) else {
            return false;
        };
        let is_right = match self.step(member).map(|step| step.action) {
            None => then.kind == now.kind && then.same_metadata(now),
            // Its metadata come back in place, and through it those of every name that is linked to it.
            Some(Action::Metadata) => then.kind == now.kind,
            Some(_) => false,
        };
        is_right && !self.counts.is_foreign(then, now)
    }
}

/// Returns true if a file takes no further name: it has as many as it may have, the user may not name it, or it is gone or elsewhere.
fn takes_no_name(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::TooManyLinks
            | io::ErrorKind::PermissionDenied
            | io::ErrorKind::NotFound
            | io::ErrorKind::CrossesDevices
            | io::ErrorKind::Unsupported
            | io::ErrorKind::InvalidInput
    )
}

/// Links `name` in `dir` to the first of the live files that allows it.
fn link_to_one(
    root: &Root,
    live: &[&RelPath],
    path: &RelPath,
    dir: &Dir,
    name: &OsStr,
) -> Result<bool, RestoreError> {
    for (parent, member) in live.iter().filter_map(|member| member.split()) {
        let from = root.dir(&parent).map_err(|source| RestoreError::Build {
            path: path.clone(),
            source,
        })?;
        // Nothing was checked by handle yet: the live file is looked at again when it is compared in the end.
        match handle_fs::hard_link(&from, member.as_os_str(), dir, name) {
            Ok(()) => return Ok(true),
            // Another machine's shell does not say why.
            Err(error) if root.is_far() || takes_no_name(&error) => {}
            Err(source) => {
                return Err(RestoreError::Build {
                    path: path.clone(),
                    source,
                });
            }
        }
    }
    Ok(false)
}

/// The moves with every directory that goes away unfolded; `before` says what is in it.
pub(super) fn unfold(moves: Moves, before: &Manifest) -> Vec<(RelPath, Move)> {
    let mut unfolded = Vec::new();
    for (path, step) in moves {
        let is_dir = before.entry(&path).is_some_and(Entry::is_dir);
        match step {
            Move::Out(place) if is_dir => take_apart(before, &path, &place, &mut unfolded),
            Move::Swap(place) if is_dir => {
                let mut old = place.clone();
                old.push("-old");
                take_apart(before, &path, &old, &mut unfolded);
                unfolded.push((path, Move::In(place)));
            }
            other => unfolded.push((path, other)),
        }
    }
    unfolded
}

fn take_apart(before: &Manifest, top: &RelPath, place: &OsString, moves: &mut Vec<(RelPath, Move)>) {
    let mut stack = vec![top.clone()];
    let mut number = 0;
    while let Some(path) = stack.pop() {
        let Some(entry) = before.entry(&path) else {
            continue;
        };
        if !entry.is_dir() {
            let mut name = place.clone();
            name.push(format!("-{number}"));
            number += 1;
            moves.push((path, Move::Out(name)));
            continue;
        }
        let within = before.directory(&path).into_iter();
        stack.extend(within.flat_map(|dir| dir.entries.iter().map(|entry| path.join(&entry.name))));
        moves.push((path, Move::Unmake(Box::new(entry.clone()))));
    }
}
