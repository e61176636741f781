//! Objects that a restore brought and another process changed while it was interrupted, in mode, owner or attributes. A rollback moves them
//! aside, and clearing up leaves them there, as it leaves a file with other content.
//!
//! Each rename of a restore goes into the staging directory or out of it, and changes the ctime of that directory and of the object
//! alike. An object whose ctime is later was changed after the last rename.

use std::collections::HashSet;
use std::io;

use super::apply::MoveExecutor;
use super::mount_task::MountTask;
use super::move_state::Progress;
use super::stage::TICK;
use crate::model::{JournalMove, MoveKind, RelPath, Time};
use crate::observer::Observer;
use handle_fs::{Dir, NodeKind, Stat};

impl MountTask<'_> {
    /// Takes changed objects out of those that may be removed. Asked before a rollback makes its first move.
    pub(super) fn spare_changed(&mut self, observer: &dyn Observer) {
        // Without its staging directory nothing is moved aside.
        let changed = changed(&self.carry(observer)).unwrap_or_default();
        for ino in changed {
            self.known.disown(ino);
        }
    }
}

/// Returns the inodes of new objects at their paths, and below them, that were changed after the last rename.
fn changed(carry: &MoveExecutor<'_>) -> io::Result<Vec<u64>> {
    let since = carry.stage.dir().stat()?.ctime;
    // Their metadata are set after the last rename.
    let set: HashSet<u64> = carry.mount.moves.iter().filter_map(set_in_place).collect();
    let is_changed = |stat: &Stat| is_later(stat, since) && !set.contains(&stat.ino);
    let mut found = Vec::new();
    for step in &carry.mount.moves {
        if !matches!(step.deed, MoveKind::Install(_) | MoveKind::Exchange(_)) {
            continue;
        }
        let Ok(stand) = carry.stand(step) else { continue };
        let is_there = matches!(
            stand.progress,
            Progress::After | Progress::Joined | Progress::Bereft
        );
        let Some(seat) = stand.seat.filter(|_| is_there) else {
            continue;
        };
        // One that cannot be looked at now stops the rollback, or is no more to be moved.
        let Ok(Some(top)) = seat.look() else { continue };
        found.extend(is_changed(&top).then_some(top.ino));
        if top.kind == NodeKind::Directory
            && let Ok(dir) = seat.dir.dir(&seat.name)
        {
            add_below(&dir, &is_changed, &mut found);
        }
    }
    Ok(found)
}

fn set_in_place(step: &JournalMove) -> Option<u64> {
    match step.deed {
        MoveKind::Metadata { .. } => step.old.map(|old| old.ino),
        _ => None,
    }
}

/// Returns true if an object was changed after `since`. An entry made in a directory or removed from it is no change of the directory.
fn is_later(stat: &Stat, since: Time) -> bool {
    let later = |than: Time| stat.ctime.nanos() - than.nanos() > TICK;
    later(since) && (stat.kind != NodeKind::Directory || later(stat.mtime))
}

/// Adds the changed objects below a directory. What cannot be listed is left alone, there and by clearing up.
fn add_below(top: &Dir, is_changed: &impl Fn(&Stat) -> bool, found: &mut Vec<u64>) {
    let mut stack = vec![RelPath::root()];
    while let Some(at) = stack.pop() {
        let looked = top.dir_below(&at).and_then(|dir| Ok((dir.names()?, dir)));
        let Ok((names, dir)) = looked else { continue };
        for name in names {
            let Ok(Some(stat)) = dir.look(name.as_os_str()) else {
                continue;
            };
            found.extend(is_changed(&stat).then_some(stat.ino));
            if stat.kind == NodeKind::Directory {
                stack.push(at.join(&name));
            }
        }
    }
}
