//! A split index: the few entries that changed, and a shared file with all others.

use std::collections::BTreeMap;

use super::{Index, IndexEntry, Link};
use crate::Id;
use crate::reading::Cursor;

/// Maximum number of bits in a bitmap, which cannot exceed the entries of an index.
const MOST_BITS: usize = 8 << 20;

/// Parses the extension `link`: the name of the shared file, and its entries that are deleted or replaced.
pub(super) fn link<I: Id>(content: &[u8]) -> Option<Link<I>> {
    let mut rest = Cursor(content);
    let base = I::read(&mut rest)?;
    let (mut deleted, mut replaced) = (Vec::new(), Vec::new());
    if !rest.0.is_empty() {
        deleted = bitmap(&mut rest)?;
        replaced = bitmap(&mut rest)?;
    }
    rest.0.is_empty().then_some(Link {
        base,
        deleted,
        replaced,
    })
}

/// Reads a compressed bitmap (EWAH): words that describe a run of equal words and the number of literal words after it.
fn bitmap(rest: &mut Cursor) -> Option<Vec<bool>> {
    let bits = usize::try_from(rest.u32()?)
        .ok()
        .filter(|bits| *bits <= MOST_BITS)?;
    let mut words = rest.u32()?;
    let mut map = Vec::new();
    while let Some(left) = words.checked_sub(1) {
        words = left;
        let word = rest.u64()?;
        let (value, run) = (word & 1 == 1, usize::try_from(word >> 1 & 0xffff_ffff).ok()?);
        let length = map.len().checked_add(run.checked_mul(64)?)?;
        if length > bits.next_multiple_of(64) {
            return None;
        }
        map.resize(length, value);
        let literal = u32::try_from(word >> 33).ok()?;
        words = words.checked_sub(literal)?;
        for _ in 0..literal {
            let word = rest.u64()?;
            map.extend((0..64).map(|bit| word >> bit & 1 == 1));
        }
        if map.len() > bits.next_multiple_of(64) {
            return None;
        }
    }
    // Where the last run begins; only who writes needs it.
    rest.u32()?;
    if map.iter().skip(bits).any(|bit| *bit) {
        return None;
    }
    map.truncate(bits);
    Some(map)
}

/// Merges both files; `None` if they do not fit.
pub(super) fn merge<I>(base: Index<I>, own: Index<I>, link: &Link<I>) -> Option<Index<I>> {
    let count = base.entries.len();
    let set = |map: &[bool], at: usize| map.get(at).copied().unwrap_or_default();
    let fits = |map: &[bool]| !map.iter().skip(count).any(|bit| *bit);
    if !fits(&link.deleted) || !fits(&link.replaced) {
        return None;
    }
    let mut own_entries = own.entries.into_iter().peekable();
    let mut merged = BTreeMap::<(Vec<u8>, u8), IndexEntry<I>>::new();
    for (at, mut entry) in base.entries.into_iter().enumerate() {
        if set(&link.replaced, at) {
            // It stands without a path, for it has that of the one it replaces.
            let newer = own_entries.next().filter(|newer| newer.path.is_empty())?;
            entry = IndexEntry {
                path: entry.path,
                ..newer
            };
        }
        if !set(&link.deleted, at) {
            merged.insert((entry.path.clone(), entry.stage), entry);
        }
    }
    for entry in own_entries {
        if entry.path.is_empty() {
            return None;
        }
        // An entry without a conflict ends the conflict, and the other way round.
        if entry.stage == 0 {
            for stage in 1..4 {
                merged.remove(&(entry.path.clone(), stage));
            }
        } else {
            merged.remove(&(entry.path.clone(), 0));
        }
        merged.insert((entry.path.clone(), entry.stage), entry);
    }
    Some(Index {
        entries: merged.into_values().collect(),
        is_sparse: own.is_sparse || base.is_sparse,
        ..own
    })
}
