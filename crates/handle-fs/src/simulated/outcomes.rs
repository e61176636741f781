//! States that a crash may leave on disk. The contract, which `docs/crash-safety.md` explains:
//!
//! - A change of names (also a rename, also an exchange) comes to disk whole or not at all.
//! - It is on disk once one of its directories, or the file system, was synced; before that any set of changes may have come to
//!   disk, in which each stands with those that it builds on (that changed the same name before it).
//! - Metadata and content of an object are on disk once it, or the file system, was synced; before that the old ones, the new
//!   ones, or of content half may be there. A name that comes to disk before its object leads to the object as it was made.

use std::collections::{BTreeSet, HashSet};
use std::hash::{Hash as _, Hasher};
use std::sync::Arc;

use super::disk::{Disk, Node, key};
use super::world::{Moment, Pending, World};

/// Losses in a crash.
#[derive(Clone, Copy, Debug)]
pub enum Losses {
    /// The process is killed: the kernel goes on, and nothing is lost.
    Kill,
    /// Power fails: up to so many of the states that this may leave, all of them when there are no more.
    Power {
        /// Maximum number of states.
        most: usize,
    },
}

/// The states that a crash at `moment` may leave, each once.
pub fn outcomes(moment: &Moment, losses: Losses) -> Vec<Disk> {
    let most = match losses {
        Losses::Kill => return vec![moment.live.clone()],
        Losses::Power { most } => most,
    };
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    let mut offer = |disk: Disk| {
        if seen.insert(disk.print()) {
            found.push(disk);
        }
    };
    let mut dice = Dice(moment.call.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    for set in sets((&moment.pending, moment.live.folds), most, &mut dice) {
        let mut names = moment.durable.clone();
        for change in set.iter().filter_map(|at| moment.pending.get(*at)) {
            change.apply(&mut names);
        }
        let dirty: Vec<u64> = names
            .numbers()
            .filter(|number| is_dirty(moment, *number))
            .collect();
        offer(names.clone());
        if dirty.is_empty() {
            continue;
        }
        offer(with(&names, moment, &dirty, Content::Whole));
        offer(with(&names, moment, &dirty, Content::Half));
        let some: Vec<u64> = dirty.iter().copied().filter(|_| dice.throw(2) == 0).collect();
        offer(with(&names, moment, &some, Content::Whole));
    }
    found
}

/// A generator of numbers that are the same in every run.
struct Dice(u64);

impl Dice {
    fn throw(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % sides
    }
}

/// Returns true if an object's content or metadata differ from those on disk.
fn is_dirty(moment: &Moment, number: u64) -> bool {
    if moment.live.is_shared(number, &moment.durable) {
        return false;
    }
    let (Some(live), Some(durable)) = (moment.live.get(number), moment.durable.get(number)) else {
        return false;
    };
    let content = live.entries().is_none() && live.node != durable.node;
    content || !live.bare_equals(durable)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Content {
    Whole,
    Half,
}

/// `disk` with the metadata and the content that `numbers` have in memory.
fn with(disk: &Disk, moment: &Moment, numbers: &[u64], content: Content) -> Disk {
    let mut disk = disk.clone();
    for number in numbers {
        let (Some(live), Some(there)) = (moment.live.get(*number), disk.get_mut(*number)) else {
            continue;
        };
        there.dress(live);
        match &live.node {
            Node::Directory(_) => {}
            Node::File(bytes) if content == Content::Half && !moment.databases.contains(number) => {
                // Its length is there, and of what is new in it only the first part.
                let mut half = bytes.to_vec();
                let old = match &there.node {
                    Node::File(old) => old.iter().zip(&half).take_while(|(old, new)| old == new).count(),
                    _ => 0,
                };
                let kept = old + (half.len() - old) / 2;
                half.get_mut(kept..).unwrap_or_default().fill(0);
                there.node = Node::File(Arc::new(half));
            }
            node => there.node = node.clone(),
        }
    }
    disk
}

/// The changes that each change builds on: those before it that concern a name of it.
fn grounds(pending: &[Pending], folds: bool) -> Vec<BTreeSet<usize>> {
    let mut grounds: Vec<BTreeSet<usize>> = Vec::new();
    for (at, change) in pending.iter().enumerate() {
        let mut own = BTreeSet::new();
        for (before, earlier) in pending.iter().enumerate().take(at) {
            let meets = change.edits.iter().any(|(dir, name, _)| {
                let same = |(other, named, _): &&(u64, Vec<u8>, Option<u64>)| {
                    other == dir && (named == name || (folds && key(named) == key(name)))
                };
                earlier.edits.iter().find(same).is_some()
            });
            if meets {
                own.insert(before);
                own.extend(grounds.get(before).into_iter().flatten());
            }
        }
        grounds.push(own);
    }
    grounds
}

/// Sets of changes that may have come to disk: all, or up to about `most` of them, among which those that come first, all but
/// one, and one alone.
fn sets((pending, folds): (&[Pending], bool), most: usize, dice: &mut Dice) -> Vec<BTreeSet<usize>> {
    let grounds = grounds(pending, folds);
    let count = pending.len();
    let closed = |wanted: &dyn Fn(usize) -> bool| -> BTreeSet<usize> {
        let mut set = BTreeSet::new();
        for at in 0..count {
            if wanted(at) && grounds.get(at).is_some_and(|own| own.is_subset(&set)) {
                set.insert(at);
            }
        }
        set
    };
    let mut found = BTreeSet::new();
    for length in 0..=count {
        found.insert(closed(&|at| at < length));
    }
    if count < 12 {
        for bits in 0..1_usize << count {
            if found.len() >= most {
                break;
            }
            found.insert(closed(&|at| bits >> at & 1 == 1));
        }
        return found.into_iter().collect();
    }
    for one in 0..count {
        found.insert(closed(&|at| at != one));
        let mut alone = grounds.get(one).cloned().unwrap_or_default();
        alone.insert(one);
        found.insert(alone);
    }
    for _ in 0..most {
        if found.len() >= most {
            break;
        }
        let bits: Vec<bool> = (0..count).map(|_| dice.throw(2) == 0).collect();
        found.insert(closed(&|at| bits.get(at).copied().unwrap_or(false)));
    }
    found.into_iter().collect()
}

impl Disk {
    /// A digest of everything that a name leads to, to tell states apart.
    pub fn print(&self) -> [u8; 32] {
        let mut hasher = Flat::default();
        let mut disk = self.clone();
        disk.sweep([]);
        for number in disk.numbers() {
            let Some(inode) = disk.get(number) else { continue };
            number.hash(&mut hasher);
            inode.node.hash(&mut hasher);
            (inode.mode, inode.owner, inode.mtime.nanos(), inode.ctime.nanos()).hash(&mut hasher);
            inode.xattrs.hash(&mut hasher);
            inode.flags.bits().hash(&mut hasher);
        }
        *blake3::hash(&hasher.0).as_bytes()
    }
}

/// The bytes that a value consists of, one after the other.
#[derive(Default)]
struct Flat(Vec<u8>);

impl Hasher for Flat {
    fn write(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn finish(&self) -> u64 {
        0
    }
}

impl World {
    /// Makes an object durable, as `fsync` guarantees, and `F_FULLFSYNC` on macOS.
    pub(super) fn make_durable(&mut self, number: u64) {
        self.flush_cache(self.device(number));
        let grounds = grounds(&self.pending, self.live.folds);
        let mut wanted = BTreeSet::new();
        for (at, change) in self.pending.iter().enumerate() {
            if change.edits.iter().any(|(dir, _, _)| *dir == number) {
                wanted.insert(at);
                wanted.extend(grounds.get(at).into_iter().flatten());
            }
        }
        self.bring_to_disk(|at, _| wanted.contains(&at));
        if let Some(live) = self.live.get(number) {
            let (live, is_dir) = (live.clone(), live.entries().is_some());
            match self.durable.get_mut(number) {
                // Its entries came with the changes.
                Some(durable) if is_dir => durable.dress(&live),
                _ => self.durable.share(number, &self.live),
            }
        }
    }

    /// Brings to the disk what its cache has.
    fn flush_cache(&mut self, device: u64) {
        let sent = std::mem::take(&mut self.sent);
        for number in sent.numbers() {
            let is_on_it = sent.get(number).is_some_and(|inode| inode.device == device);
            let to = if is_on_it {
                &mut self.durable
            } else {
                &mut self.sent
            };
            to.share(number, &sent);
        }
    }

    /// Makes a file system durable, as `syncfs` guarantees. `sync` and `F_FULLFSYNC` of macOS omit content that was not sent.
    pub(super) fn make_device_durable(&mut self, device: u64) {
        self.flush_cache(device);
        let on_it: HashSet<u64> = self
            .live
            .numbers()
            .filter(|number| self.live.get(*number).is_some_and(|inode| inode.device == device))
            .collect();
        self.bring_to_disk(|_, change| change.edits.iter().any(|(dir, _, _)| on_it.contains(dir)));
        for number in on_it {
            let Some(live) = self.live.get(number) else {
                continue;
            };
            match self.durable.get_mut(number) {
                Some(durable) if self.macos && live.entries().is_none() && live.node != durable.node => {
                    durable.dress(live);
                }
                _ => self.durable.share(number, &self.live),
            }
        }
    }

    fn bring_to_disk(&mut self, wanted: impl Fn(usize, &Pending) -> bool) {
        let pending = std::mem::take(&mut self.pending);
        for (at, change) in pending.into_iter().enumerate() {
            if wanted(at, &change) {
                change.apply(&mut self.durable);
            } else {
                self.pending.push(change);
            }
        }
    }
}
