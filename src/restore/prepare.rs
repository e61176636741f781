//! Turns the steps of a plan into moves, and stages the new content for them: afterwards only renames and metadata are
//! left to do.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

use super::RestoreError;
use super::build::Builder;
use super::plan::{Action, Step};
use super::stage::{Stage, new_name, old_name};
use crate::mount::{Dir, Root};
use crate::platform;
use crate::snapshot::{Entry, Manifest, RelPath};

/// One move of the apply step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Move {
    /// A staged object goes to a path where nothing is.
    In(OsString),
    /// A staged object changes places with what is at the path.
    Swap(OsString),
    /// What is at the path goes into the staging directory.
    Out(OsString),
    /// Metadata are put back in place.
    Metadata(Box<Entry>),
}

/// The moves of one mount, by path. A path below another one of these is part of that one's object.
pub(super) type Moves = BTreeMap<RelPath, Move>;

/// Whether the move of the directory above carries this step out as well.
fn is_carried(steps: &BTreeMap<RelPath, Step>, path: &RelPath) -> bool {
    let above = path.split().and_then(|(parent, _)| steps.get(&parent));
    match (
        steps.get(path).map(|step| step.action),
        above.map(|step| step.action),
    ) {
        (Some(Action::Create), Some(above)) => above == Action::Create || above == Action::Replace,
        (Some(Action::Delete), Some(above)) => above == Action::Delete || above == Action::Replace,
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
    let steps: BTreeMap<RelPath, Step> = steps.iter().map(|s| (s.change.path.clone(), s.clone())).collect();
    let links = Links {
        root,
        target,
        now,
        steps: &steps,
        groups: groups(target),
    };
    let mut staged: HashMap<RelPath, OsString> = HashMap::new();
    let mut unfinished: Vec<(RelPath, OsString)> = Vec::new();
    let mut moves = Moves::new();
    let mut number = 0;
    for (path, step) in &steps {
        let Some(entry) = &step.change.from else {
            if !is_carried(&steps, path) {
                moves.insert(path.clone(), Move::Out(old_name(number)));
                number += 1;
            }
            continue;
        };
        if step.action == Action::Metadata {
            moves.insert(path.clone(), Move::Metadata(Box::new(entry.clone())));
            continue;
        }
        let carried = is_carried(&steps, path);
        let place = if carried {
            let above = path
                .split()
                .and_then(|(parent, name)| Some((staged.get(&parent)?, name)));
            // Below an object that could not be made nothing can be made either.
            let Some((parent, name)) = above else { continue };
            join(parent, name.as_bytes())
        } else {
            number += 1;
            new_name(number - 1)
        };
        let (dir, name) = open(stage, &place, path)?;
        let linked = links.link(path, entry, &staged, stage, &dir, &name)?;
        if linked || builder.build(&dir, &name, path, entry)? {
            if entry.is_dir() {
                unfinished.push((path.clone(), place.clone()));
            }
            if !carried {
                let action = if step.action == Action::Create {
                    Move::In
                } else {
                    Move::Swap
                };
                moves.insert(path.clone(), action(place.clone()));
            }
            staged.insert(path.clone(), place);
        }
    }
    // Deepest first: a directory gets its mode and time when nothing more is made in it.
    for (path, place) in unfinished.into_iter().rev() {
        let Some(entry) = target.entry(&path) else {
            continue;
        };
        let (dir, name) = open(stage, &place, &path)?;
        builder.finish(&dir, &name, &path, entry)?;
    }
    stage.sync()?;
    Ok(moves)
}

fn join(parent: &OsString, name: &[u8]) -> OsString {
    let mut bytes = parent.as_bytes().to_vec();
    bytes.push(b'/');
    bytes.extend_from_slice(name);
    OsString::from_vec(bytes)
}

/// The directory that `place` lies in, and its name there.
fn open(stage: &Stage, place: &OsString, path: &RelPath) -> Result<(Dir, OsString), RestoreError> {
    let fail = |source| RestoreError::Build {
        path: path.clone(),
        source,
    };
    let bytes = place.as_bytes();
    let (parent, name) = match bytes.iter().rposition(|b| *b == b'/') {
        Some(at) => (
            bytes.get(..at).unwrap_or_default(),
            bytes.get(at + 1..).unwrap_or_default(),
        ),
        None => (&[][..], bytes),
    };
    let parent = RelPath::new(parent).map_err(|error| fail(std::io::Error::other(error)))?;
    let dir = stage.dir().dir_below(&parent).map_err(fail)?;
    Ok((dir, OsString::from_vec(name.to_vec())))
}

/// Restores hard link groups: a member is linked to one that is staged or untouched, else it is made new.
struct Links<'a> {
    root: Option<&'a Root>,
    target: &'a Manifest,
    now: Option<&'a Manifest>,
    steps: &'a BTreeMap<RelPath, Step>,
    /// First path of each group to all its paths.
    groups: HashMap<RelPath, Vec<RelPath>>,
}

fn groups(manifest: &Manifest) -> HashMap<RelPath, Vec<RelPath>> {
    let mut groups: HashMap<RelPath, Vec<RelPath>> = HashMap::new();
    for (path, entry) in manifest.entries() {
        if let Some(first) = &entry.link {
            groups
                .entry(first.clone())
                .or_insert_with(|| vec![first.clone()])
                .push(path);
        }
    }
    groups
}

impl Links<'_> {
    fn link(
        &self,
        path: &RelPath,
        entry: &Entry,
        staged: &HashMap<RelPath, OsString>,
        stage: &Stage,
        dir: &Dir,
        name: &OsString,
    ) -> Result<bool, RestoreError> {
        if entry.nlink < 2 || entry.is_dir() {
            return Ok(false);
        }
        let fail = |source| RestoreError::Build {
            path: path.clone(),
            source,
        };
        let leader = entry.link.as_ref().unwrap_or(path);
        let Some(members) = self.groups.get(leader) else {
            return Ok(false);
        };
        for member in members.iter().filter(|member| *member != path) {
            if let Some(place) = staged.get(member) {
                let (from, from_name) = open(stage, place, member)?;
                platform::hard_link(&from, &from_name, dir, name).map_err(fail)?;
                return Ok(true);
            }
        }
        let Some(root) = self.root else { return Ok(false) };
        for member in members.iter().filter(|member| *member != path) {
            let states = (
                self.target.entry(member),
                self.now.and_then(|now| now.entry(member)),
            );
            let same = match (states, self.steps.get(member).map(|step| step.action)) {
                ((Some(then), Some(now)), None) => then.kind == now.kind && then.same_metadata(now),
                // Its metadata come back in place, and through it those of every name that is linked to it.
                ((Some(then), Some(now)), Some(Action::Metadata)) => then.kind == now.kind,
                _ => false,
            };
            let Some((parent, member_name)) = member.split().filter(|_| same) else {
                continue;
            };
            let from = root.dir(&parent).map_err(fail)?;
            // Nothing was checked by handle yet: the live file is looked at again when it is compared in the end.
            if platform::hard_link(&from, member_name.as_os_str(), dir, name).is_ok() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
