//! On a file system of layers a directory that lies in a lower one cannot be moved (EXDEV, where it does not redirect): what is
//! in it is moved file by file, and the empty directory removed. Taking back makes it anew.

use std::ffi::OsString;

use super::build_moves::{Move, Moves};
use crate::model::{Manifest, RelPath};

/// The moves with every directory that goes away unfolded; `before` says what is in it.
pub(super) fn unfold(moves: Moves, before: &Manifest) -> Vec<(RelPath, Move)> {
    let mut unfolded = Vec::new();
    for (path, step) in moves {
        let is_dir = before.entry(&path).is_some_and(crate::model::Entry::is_dir);
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
