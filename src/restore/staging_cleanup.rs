//! Removal of the objects in a staging directory that are still what the restore moved or staged there. It never removes an
//! object that the restore does not know.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;

use super::file_identity::{fits, with_metadata_of};
use super::metadata::set_directory_mode;
use crate::capture::ContentSource;
use crate::model::{Entry, EntryKind, KnownObject, KnownState, Manifest, Name, RelPath, Time};
use handle_fs::Dir;
use handle_fs::{Actor, NodeKind, Stat};

/// The objects that may be removed, by inode: what was staged, and what the emergency snapshot holds of what was there.
#[derive(Debug, Default)]
pub(super) struct OwnedInodes(HashMap<u64, KnownState>);

fn state(stat: &Stat) -> KnownState {
    match stat.kind {
        NodeKind::File => KnownState::File(stat.size, stat.mtime.into()),
        NodeKind::Directory => KnownState::Directory,
        _ => KnownState::Other(stat.mtime.into()),
    }
}

/// Returns true if the object is a directory that may have entries. One that the user may not enter was staged empty.
fn enters(stat: &Stat, actor: Actor) -> bool {
    stat.kind == NodeKind::Directory && (actor.is_privileged() || stat.mode & 0o500 == 0o500)
}

impl OwnedInodes {
    /// Returns the objects that a journal lists.
    pub(super) fn of(objects: &[KnownObject]) -> Self {
        Self(
            objects
                .iter()
                .map(|KnownObject(ino, state)| (*ino, *state))
                .collect(),
        )
    }

    /// For a journal, in the order of the inodes.
    pub(super) fn objects(&self) -> Vec<KnownObject> {
        let mut objects: Vec<KnownObject> = self
            .0
            .iter()
            .map(|(ino, state)| KnownObject(*ino, *state))
            .collect();
        objects.sort_unstable_by_key(|KnownObject(ino, _)| *ino);
        objects
    }

    /// The state that the emergency snapshot holds.
    pub(super) fn held(&mut self, entry: &Entry) {
        let state = match &entry.kind {
            EntryKind::File(content) => KnownState::File(content.size, entry.mtime.into()),
            EntryKind::Directory => KnownState::Directory,
            _ => KnownState::Other(entry.mtime.into()),
        };
        self.0.insert(entry.ino, state);
    }

    /// Everything that lies below `top` now.
    pub(super) fn staged(&mut self, top: &Dir) -> io::Result<()> {
        self.staged_since(top, None)
    }

    /// Adds objects like [`Self::staged`], except those made before `since`, which came from elsewhere.
    pub(super) fn staged_since(&mut self, top: &Dir, since: Option<Time>) -> io::Result<()> {
        let mut stack = vec![RelPath::root()];
        while let Some(at) = stack.pop() {
            let dir = top.dir_below(&at)?;
            for name in dir.names()? {
                let Some(stat) = dir.look(name.as_os_str())? else {
                    continue;
                };
                // A second name of a file that lives elsewhere is ours to remove.
                let older = since.zip(stat.born).is_some_and(|(since, born)| born < since);
                if older && (stat.nlink < 2 || stat.kind == NodeKind::Directory) {
                    continue;
                }
                self.0.insert(stat.ino, state(&stat));
                if enters(&stat, dir.actor()) {
                    stack.push(at.join(&name));
                }
            }
        }
        Ok(())
    }

    /// Returns true if the object itself is known.
    pub(super) fn has(&self, stat: &Stat) -> bool {
        self.0.get(&stat.ino) == Some(&state(stat))
    }

    /// Returns true if an object, and everything below it, is known.
    pub(super) fn holds(&self, dir: &Dir, name: &OsStr) -> io::Result<bool> {
        let Some(stat) = dir.look(name)? else {
            return Ok(false);
        };
        if !self.has(&stat) {
            return Ok(false);
        }
        let mut stack = Vec::new();
        if enters(&stat, dir.actor()) {
            stack.push(RelPath::new(name.as_encoded_bytes()).map_err(io::Error::other)?);
        }
        while let Some(at) = stack.pop() {
            let below = dir.dir_below(&at)?;
            for name in below.names()? {
                match below.look(name.as_os_str())? {
                    Some(stat) if self.has(&stat) => {
                        if enters(&stat, dir.actor()) {
                            stack.push(at.join(&name));
                        }
                    }
                    _ => return Ok(false),
                }
            }
        }
        Ok(true)
    }

    /// Removes what is known below `top`, one by one, following nothing and crossing no mount. The rest stays.
    ///
    /// # Errors
    /// The first reason why something stays.
    pub(super) fn empty(&self, top: &Dir) -> io::Result<()> {
        let mut kept: Option<io::Error> = None;
        let mut seen = Vec::new();
        let mut stack = vec![RelPath::root()];
        while let Some(at) = stack.pop() {
            match self.files(top, &at) {
                Ok((below, problem)) => {
                    stack.extend(below);
                    kept = kept.or(problem);
                }
                Err(error) => kept = kept.or(Some(error)),
            }
            seen.push(at);
        }
        // Deepest first. Where something stayed, its directories do.
        for (parent, name) in seen.iter().rev().filter_map(RelPath::split) {
            let gone = top
                .dir_below(&parent)
                .and_then(|dir| handle_fs::remove_dir(&dir, name.as_os_str()));
            if let Err(error) = gone {
                kept = kept.or(Some(error));
            }
        }
        kept.map_or(Ok(()), Err)
    }

    /// Removes what is known in one directory and is none; gives the known directories in it.
    fn files(&self, top: &Dir, at: &RelPath) -> io::Result<(Vec<RelPath>, Option<io::Error>)> {
        if let Some((parent, name)) = at.split() {
            let dir = top.dir_below(&parent)?;
            let mode = dir.look(name.as_os_str())?.map_or(0o700, |stat| stat.mode);
            if mode & 0o700 != 0o700 && !dir.actor().is_privileged() {
                set_directory_mode(&dir, name.as_os_str(), mode | 0o700, |is| self.has(is))?;
            }
        }
        let dir = top.dir_below(at)?;
        let (mut below, mut kept) = (Vec::new(), None);
        for name in dir.names()? {
            let Some(stat) = dir.look(name.as_os_str())? else {
                continue;
            };
            // The last look before the removal. A write through a descriptor that is still open changes size or time, and the
            // object stays. Only a write between these two calls is lost, and nothing can close that.
            if !self.has(&stat) {
                let changed = format!("{name:?} in it is nothing that the restore put there");
                kept = kept.or(Some(io::Error::other(changed)));
            } else if stat.kind == NodeKind::Directory {
                below.push(at.join(&name));
            } else if let Err(error) = handle_fs::remove_file(&dir, name.as_os_str()) {
                kept = kept.or(Some(error));
            }
        }
        Ok((below, kept))
    }
}

/// Returns true if the object `place` in `stage`, and all below it, is what `before` holds at `path`. `changed` holds, by inode,
/// the metadata that the restore itself has set through another name of a file.
pub(super) fn is_as_before(
    stage: &Dir,
    place: &OsStr,
    path: &RelPath,
    was: &Entry,
    before: &Manifest,
    changed: &HashMap<u64, &Entry>,
) -> io::Result<bool> {
    // A rename moves the ctime of what is renamed, and of nothing below it.
    if !one_fits(stage, place, was, true, changed)? {
        return Ok(false);
    }
    let mut stack = Vec::new();
    if was.is_dir() {
        let top = RelPath::new(place.as_encoded_bytes()).map_err(io::Error::other)?;
        stack.push((top, path.clone()));
    }
    while let Some((at, path)) = stack.pop() {
        let dir = stage.dir_below(&at)?;
        let known = before.directory(&path);
        let entries = || known.iter().flat_map(|dir| &dir.entries);
        let names: Vec<&Name> = entries().map(|entry| &entry.name).collect();
        if !dir.names()?.iter().eq(names) {
            return Ok(false);
        }
        for entry in entries() {
            if !one_fits(&dir, entry.name.as_os_str(), entry, false, changed)? {
                return Ok(false);
            }
            if entry.is_dir() {
                stack.push((at.join(&entry.name), path.join(&entry.name)));
            }
        }
    }
    Ok(true)
}

fn one_fits(
    dir: &Dir,
    name: &OsStr,
    was: &Entry,
    top: bool,
    changed: &HashMap<u64, &Entry>,
) -> io::Result<bool> {
    let Some(is) = dir.look(name)? else {
        return Ok(false);
    };
    // Where a store through a mapping may leave the times as they were, only the bytes tell.
    let shows_stores = handle_fs::file_system(dir).is_ok_and(|facts| facts.writes_back && !facts.layered);
    // Taking off the flags that were in the way moved the ctime as well.
    let loose = top || was.nlink > 1 || was.flags.bind();
    let done = changed.get(&was.ino).map(|will| with_metadata_of(was, will));
    if !fits(was, &is, loose) && !done.is_some_and(|done| fits(&done, &is, true)) {
        return Ok(false);
    }
    match &was.kind {
        EntryKind::File(content) if (loose || !shows_stores) && content.size > 0 => {
            let (file, stat) = dir.file(name)?;
            let mut source = ContentSource::new(file, &stat, Some(content.method))?;
            Ok(source.digest(|_| Ok(()))? == *content)
        }
        _ => Ok(true),
    }
}
