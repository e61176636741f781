//! Looks at one directory: its listing, its entries' facts, what is skipped in it. Any number may be looked at at once.

use std::io;
use std::sync::Arc;

use super::guard::Guard;
use super::limits::{Share, Tally};
use super::{Reference, Skipped, Walk};
use crate::capture::CaptureError;
use crate::capture::facts::{entry, is_gone, links, words};
use crate::capture::listing::list;
use crate::contract::Verdict;
use crate::model::{
    Content, Digest, DigestMethod, Directory, Entry, EntryKind, Gap, GapReason, Listing, Name, RelPath,
    WithheldReason,
};
use handle_fs::Dir;
use handle_fs::{NodeKind, Object, Stat};

/// A directory to look at.
pub(super) struct Job {
    /// Path of the directory.
    pub(super) path: RelPath,
    /// Facts that were read from its parent.
    pub(super) seen: Stat,
    /// Index in the reference. `None` unless its parent showed that no name in it was added, removed or renamed since, and the
    /// same names are excluded now.
    pub(super) known: Option<usize>,
}

/// One directory that was looked at.
pub(super) struct Scanned {
    /// Index in the reference, if known.
    pub(super) place: Option<usize>,
    /// Shared with the reference when nothing changed in it.
    pub(super) directory: Arc<Directory>,
    /// Indexes of the entries that have to be read.
    pub(super) pending: Vec<usize>,
}

/// Result for one directory.
#[derive(Default)]
pub(super) struct Outcome {
    /// `None` if the directory is gone or was replaced.
    pub(super) scanned: Option<Scanned>,
    /// Excluded paths in it.
    pub(super) skipped: Vec<Skipped>,
    /// The directories in it.
    pub(super) below: Vec<Job>,
}

/// Looks at directories of one walk.
pub(super) struct Scan<'w> {
    pub(super) walk: &'w Walk<'w>,
    pub(super) tally: &'w Tally,
    /// True for each directory of the reference that another machine reported unchanged.
    pub(super) unchanged: Vec<bool>,
    /// Secret files and the store, which are skipped under any name.
    pub(super) guard: Guard,
    /// True if a file whose size is 0 has no content.
    pub(super) trusts_sizes: bool,
}

impl Scan<'_> {
    /// Returns true if the file may have content to read; its attributes are then read with it.
    pub(super) fn is_read(&self, stat: &Stat) -> bool {
        stat.kind == NodeKind::File && (stat.size > 0 || !self.trusts_sizes)
    }

    /// Returns target and attributes of each entry that is neither known nor read, in order.
    fn objects(&self, dir: &Dir, inside: &[Inside<'_>]) -> Vec<io::Result<Object>> {
        let unsaid = |one: &&Inside<'_>| one.known.is_none() && !self.is_read(&one.stat);
        let name = |one| {
            let one: &Inside<'_> = one;
            (one.name.as_os_str(), one.stat.kind == NodeKind::Symlink)
        };
        let names: Vec<_> = inside.iter().filter(unsaid).map(name).collect();
        if names.is_empty() {
            return Vec::new();
        }
        match dir.objects(&names) {
            Ok(objects) => objects,
            Err(error) => names.iter().map(|_| Err(copy_of(&error))).collect(),
        }
    }

    /// Returns why a secret or the store is skipped under another name. Secret files in agents' private places are judged by path
    /// instead.
    pub(super) fn guarded(&self, stat: &Stat, at: impl FnOnce() -> RelPath) -> Option<WithheldReason> {
        let is_by_path =
            |reason| reason == WithheldReason::Sensitive && self.walk.matcher.is_among_private(&at());
        self.guard.holds(stat).filter(|reason| !is_by_path(*reason))
    }

    /// Looks at one directory.
    ///
    /// # Errors
    /// Only for the root; anything further down that cannot be looked at is part of what is found.
    pub(super) fn directory(&self, job: Job) -> Result<Outcome, CaptureError> {
        let walk = self.walk;
        let Job { path, seen, known } = job;
        if let Some(outcome) = known.and_then(|at| self.known(&path, &seen, at)) {
            return Ok(outcome);
        }
        // Another directory may have taken this name since the parent was listed. Its entries must not be recorded under the
        // facts of the first one.
        let (dir, looked) = match walk.root.look_below(&path) {
            Ok((dir, stat, looked)) if stat.ino == seen.ino => (dir, looked),
            Ok(_) => return self.vanished(&path),
            Err(error) if is_gone(&error) => return self.vanished(&path),
            Err(error) if path.is_root() => return Err(walk.root_error(error)),
            Err(_) => return Ok(unreadable(path)),
        };
        let before = walk
            .reference
            .and_then(|reference| Some((reference, reference.earlier.manifest.directory(&path)?)));
        let (listing, children) = match list(&dir, looked) {
            Ok(listed) => listed,
            Err(error) if path.is_root() => return Err(walk.root_error(error)),
            Err(_) => (Listing::Unreadable, Vec::new()),
        };
        let mut directory = Directory {
            path,
            listing,
            all_named: listing == Listing::Proven,
            entries: Vec::with_capacity(children.len()),
            gaps: vec![],
        };
        let mut outcome = Outcome::default();
        let mut pending = Vec::new();
        let mut share = Share::default();
        // On the way to what is tracked only that is asked for.
        let mut some_only = false;
        let mut inside = Vec::new();
        for (name, child) in children {
            let stat = match child {
                Ok(stat) => stat,
                Err(error) => {
                    // A gap, not a missing name: a restore deletes what the snapshot proves to be absent.
                    let reason = GapReason::Unreadable(words(&error));
                    directory.gaps.push(Gap { name, reason });
                    continue;
                }
            };
            let at = directory.path.join(&name);
            let is_dir = stat.kind == NodeKind::Directory;
            match walk.matcher.verdict(&at, is_dir) {
                Verdict::Covered => {}
                Verdict::Excluded(_) => {
                    directory.all_named = false;
                    outcome.skipped.push(Skipped { path: at, is_dir });
                    continue;
                }
                // Whatever lies on the way to a tracked path decides whether that can come back.
                Verdict::OutsideTracked if walk.matcher.is_on_the_way(&at) => {}
                Verdict::OutsideTracked => {
                    (directory.all_named, some_only) = (false, true);
                    continue;
                }
                Verdict::Withheld(reason) => {
                    let reason = withheld(reason);
                    directory.gaps.push(Gap { name, reason });
                    continue;
                }
            }
            if !stat.is_on(walk.root.place()) {
                let reason = GapReason::MountPoint;
                directory.gaps.push(Gap { name, reason });
                continue;
            }
            if let Some(reason) = self.guarded(&stat, || at.clone()) {
                let reason = withheld(reason);
                directory.gaps.push(Gap { name, reason });
                continue;
            }
            let known =
                before.and_then(|(reference, dir)| self.unchanged(&reference, dir.entry(&name)?, &stat));
            inside.push(Inside {
                name,
                at,
                stat,
                known,
            });
        }
        let mut objects = self.objects(&dir, &inside).into_iter();
        for Inside {
            name,
            at,
            stat,
            known,
        } in inside
        {
            let object = match known.is_none() && !self.is_read(&stat) {
                true => objects.next(),
                false => None,
            };
            match self.entry(object, name.clone(), &stat, known) {
                Ok((entry, is_pending)) => {
                    share.count(&stat, self.tally);
                    if is_pending {
                        pending.push(directory.entries.len());
                    }
                    if stat.kind == NodeKind::Directory {
                        let known = known.and_then(|_| self.place(&at));
                        outcome.below.push(Job {
                            path: at,
                            seen: stat,
                            known,
                        });
                    }
                    directory.entries.push(entry);
                }
                Err(error) => {
                    let gone = is_gone(&error);
                    let reason = if gone {
                        GapReason::Moving
                    } else {
                        GapReason::Unreadable(words(&error))
                    };
                    directory.gaps.push(Gap { name, reason });
                }
            }
        }
        // Other names exist here and were not recorded, so the list proves the absence of none.
        if some_only && directory.listing == Listing::Proven {
            directory.listing = Listing::Partial;
        }
        self.tally.add(share, &walk.limits);
        walk.observer.advance(directory.entries.len() as u64, 0);
        let directory = Arc::new(directory);
        outcome.scanned = Some(Scanned {
            place: known,
            directory,
            pending,
        });
        Ok(outcome)
    }

    /// Returns the index of a directory in the reference if its names may be taken from there.
    fn place(&self, path: &RelPath) -> Option<usize> {
        let earlier = self.walk.reference?.earlier;
        let directories = &earlier.manifest.directories;
        let found = earlier
            .same_rules
            .then(|| directories.binary_search_by(|dir| dir.path.cmp(path)));
        found?.ok()
    }

    fn vanished(&self, path: &RelPath) -> Result<Outcome, CaptureError> {
        if path.is_root() {
            return Err(self.walk.root_error(io::ErrorKind::NotFound.into()));
        }
        Ok(Outcome::default())
    }

    /// Returns the entry, and true if its content and attributes are read later. `object` has the target and attributes of an
    /// entry that is neither known nor read.
    pub(super) fn entry(
        &self,
        object: Option<io::Result<Object>>,
        name: Name,
        stat: &Stat,
        known: Option<&Entry>,
    ) -> io::Result<(Entry, bool)> {
        if let Some(known) = known {
            return Ok((
                Entry {
                    link: None,
                    nlink: links(stat),
                    unstable: false,
                    ..known.clone()
                },
                false,
            ));
        }
        let pending = self.is_read(stat);
        let Object { target, xattrs } = match object {
            Some(object) => object?,
            // Those of a file that is read are taken then, from its handle.
            None => Object {
                target: None,
                xattrs: Vec::new(),
            },
        };
        let kind = match stat.kind {
            NodeKind::File => {
                // Empty content needs no reading; anything else is replaced when it was read.
                EntryKind::File(Content {
                    size: stat.size,
                    digest: Digest::of(b""),
                    method: DigestMethod::Plain,
                })
            }
            NodeKind::Directory => EntryKind::Directory,
            NodeKind::Symlink => EntryKind::Symlink(target.ok_or(io::ErrorKind::InvalidInput)?.into()),
            NodeKind::Fifo => EntryKind::Fifo,
            NodeKind::Socket => EntryKind::Socket,
            NodeKind::CharDevice => EntryKind::CharDevice(stat.rdev.0, stat.rdev.1),
            NodeKind::BlockDevice => EntryKind::BlockDevice(stat.rdev.0, stat.rdev.1),
            NodeKind::Other => return Err(io::Error::other("its type is not known")),
        };
        Ok((
            Entry {
                xattrs,
                ..entry(name, stat, kind)
            },
            pending,
        ))
    }

    /// Returns the entry of the reference if the facts prove that nothing changed since.
    pub(super) fn unchanged<'e>(
        &self,
        reference: &Reference<'_>,
        old: &'e Entry,
        stat: &Stat,
    ) -> Option<&'e Entry> {
        let unchanged = self.walk.trust_stat && reference.is_unchanged(old, stat) && reference.holds(old);
        unchanged.then_some(old)
    }
}

/// Covered entry of a directory.
struct Inside<'k> {
    name: Name,
    at: RelPath,
    stat: Stat,
    known: Option<&'k Entry>,
}

/// Copies the error for each entry that it concerns.
fn copy_of(error: &io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(number) => io::Error::from_raw_os_error(number),
        None => io::Error::new(error.kind(), error.to_string()),
    }
}

fn unreadable(path: RelPath) -> Outcome {
    let directory = Directory {
        path,
        listing: Listing::Unreadable,
        all_named: false,
        entries: vec![],
        gaps: vec![],
    };
    Outcome {
        scanned: Some(Scanned {
            place: None,
            directory: Arc::new(directory),
            pending: vec![],
        }),
        ..Outcome::default()
    }
}

fn withheld(reason: WithheldReason) -> GapReason {
    match reason {
        WithheldReason::Sensitive
        | WithheldReason::Credential
        | WithheldReason::Settings
        | WithheldReason::Account => GapReason::Sensitive,
        WithheldReason::Store => GapReason::Store,
        WithheldReason::Staging => GapReason::Staging,
        WithheldReason::Readonly => GapReason::Readonly,
        WithheldReason::Forgotten => GapReason::Forgotten,
    }
}
