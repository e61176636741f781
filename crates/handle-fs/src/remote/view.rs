//! A view of many objects that an agent looked at in one call. The caller that holds it asks about them right afterwards, one by one, and each
//! call would wait for the connection otherwise. It ends with its last handle, with the first change through this connection, and after a
//! few seconds.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use super::error_number::received;
use super::loaded::Loaded;
use super::protocol::{Bytes, Each, Facts, LoadedFile, Surveyed};
use crate::{Result, uptime};

/// Time for which it is used.
const FRESH: Duration = Duration::from_secs(3);
/// Number of a handle that the other side does not have: it answers `EBADF` to every other call about the file.
const UNKNOWN: u64 = u64::MAX;

/// Directories and names that were seen.
#[derive(Debug, Default)]
pub(super) struct View {
    /// Number of the changes so far: what was seen before one is not added after it.
    changes: u64,
    /// Number of the last handle of a view.
    last: u64,
    /// Handles that it lasts as long as, all of them; empty if there is none.
    handles: Vec<u64>,
    taken: Duration,
    /// Handles of directories, by the handle and the path that they are reached from.
    directories: HashMap<(u64, Vec<u8>), u64>,
    /// Numbers of holders of each handle of a directory: the view, and each who opened it.
    holders: HashMap<u64, usize>,
    /// Handles that are not needed any more, until the next call reports them.
    released: Vec<u64>,
    /// Second handles of a directory that was itself looked at, and the first ones, by which it is known here.
    first: HashMap<u64, u64>,
    /// Facts of the directories, and the type of their file system.
    own: HashMap<u64, (Facts, Each<u64>)>,
    names: HashMap<(u64, Vec<u8>), Each<Facts>>,
    /// Files that were read, each until it is opened.
    files: HashMap<(u64, Vec<u8>), LoadedFile>,
    /// Names of files without attributes.
    bare: HashSet<(u64, Vec<u8>)>,
}

/// A directory, and names in it.
pub(super) type Part = (Bytes, Vec<Bytes>);

impl View {
    /// Ends it before a call that changes something. Returns the handles that are not needed any more.
    pub(super) fn called(&mut self, changes: bool) -> Vec<u64> {
        if changes {
            self.changes += 1;
            self.clear();
        }
        std::mem::take(&mut self.released)
    }

    /// Releases a handle; the next call reports it when nothing holds it any more.
    pub(super) fn release(&mut self, handle: u64) {
        match self.holders.get_mut(&handle) {
            Some(holders) if *holders > 1 => *holders -= 1,
            _ => {
                self.holders.remove(&handle);
                self.released.push(handle);
            }
        }
    }

    /// Ends it if this is its last handle.
    pub(super) fn closed(&mut self, handle: u64) {
        self.handles.retain(|other| *other != handle);
        if self.handles.is_empty() {
            self.clear();
        }
    }

    fn clear(&mut self) {
        for (_, handle) in std::mem::take(&mut self.directories) {
            self.release(handle);
        }
        self.first.clear();
        self.own.clear();
        self.names.clear();
        self.files.clear();
        self.bare.clear();
    }

    /// Returns the number of the changes so far, for [`View::add`].
    pub(super) fn changes(&self) -> u64 {
        self.changes
    }

    /// Adds what was seen below a directory since the given number of changes. Returns the number of a handle of the view.
    pub(super) fn add(
        &mut self,
        since: (u64, Duration),
        dir: u64,
        seen: impl Iterator<Item = (Part, Surveyed)>,
    ) -> u64 {
        let (changes, taken) = since;
        if !self.is_fresh() {
            self.clear();
            self.taken = taken;
        }
        self.last += 1;
        // One that is held, too, is part of it, and all of it is as old as that.
        self.handles.push(self.last);
        let is_current = changes == self.changes;
        for ((path, names), surveyed) in seen {
            let handle = surveyed.handle;
            let is_whole = surveyed.names.len() == names.len() && surveyed.files.len() == names.len();
            let place = (dir, path.0);
            if !is_current || !is_whole || self.directories.contains_key(&place) {
                self.release(handle);
                continue;
            }
            let mut by = handle;
            if place.1.is_empty() {
                self.first.insert(handle, dir);
                by = dir;
            }
            for (name, facts) in names.iter().zip(&surveyed.names) {
                self.names.insert((by, name.0.clone()), *facts);
            }
            for (name, file) in names.into_iter().zip(surveyed.files) {
                let Some(file) = file.filter(|file| file.dense) else {
                    continue;
                };
                if file.attributes.is_empty() {
                    self.bare.insert((by, name.0.clone()));
                }
                self.files.insert((by, name.0), file);
            }
            self.own.insert(by, (surveyed.own, surveyed.magic));
            self.holders.insert(handle, 1);
            self.directories.insert(place, handle);
        }
        self.last
    }

    fn is_fresh(&self) -> bool {
        !self.handles.is_empty() && uptime().saturating_sub(self.taken) < FRESH
    }

    fn first_of(&self, dir: u64) -> u64 {
        self.first.get(&dir).copied().unwrap_or(dir)
    }

    /// Opens a directory that was looked at: the number of its handle.
    pub(super) fn directory(&mut self, dir: u64, path: &[u8]) -> Option<u64> {
        let path = if path == b"." { b"" } else { path };
        let handle = *self.directories.get(&(dir, path.to_vec()))?;
        if !self.is_fresh() {
            return None;
        }
        *self.holders.get_mut(&handle)? += 1;
        Some(handle)
    }

    /// Returns the facts of a directory or of what has a name in it, or why there are none.
    pub(super) fn facts(&self, dir: u64, name: &[u8], own: bool) -> Option<Result<Facts>> {
        let dir = self.first_of(dir);
        let facts = match own || name == b"." {
            true => Ok(self.own.get(&dir)?.0),
            false => *self.names.get(&(dir, name.to_vec()))?,
        };
        self.is_fresh().then_some(facts.map_err(received))
    }

    /// Opens a file that was read, once: the number of its handle, which the other side does not know, and the file.
    pub(super) fn open(&mut self, dir: u64, name: &[u8]) -> Option<(u64, Loaded)> {
        let magic = self.magic(dir)?;
        let file = self.files.remove(&(self.first_of(dir), name.to_vec()))?;
        Some((UNKNOWN, Loaded::new(file, magic)))
    }

    /// Returns true if a name is that of a file that was read and has no attributes.
    pub(super) fn has_no_attributes(&self, dir: u64, name: &[u8]) -> bool {
        self.bare.contains(&(self.first_of(dir), name.to_vec())) && self.is_fresh()
    }

    /// Returns the number of the type of a directory's file system, or why there is none, which is so on macOS.
    pub(super) fn magic(&self, dir: u64) -> Option<Each<u64>> {
        let (_, magic) = self.own.get(&self.first_of(dir))?;
        self.is_fresh().then_some(*magic)
    }
}
