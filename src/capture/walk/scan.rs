//! Looks at one directory: its listing, its entries' facts, what is left out of it. Any number may be looked at at once.

use std::collections::HashSet;
use std::io;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::{Skipped, Walk};
use crate::capture::facts::{entry, is_gone, links, same_moment, words};
use crate::capture::listing::{TICK_NANOS, list};
use crate::capture::{CaptureError, Limits};
use crate::contract::Verdict;
use crate::mount::Dir;
use crate::platform::{NodeKind, Stat};
use crate::snapshot::{
    Content, Digest, DigestMethod, Directory, Entry, Gap, GapReason, Kind, Listing, Name, RelPath,
    WithheldReason,
};

/// A directory to look at: where it is, and what its parent saw of it.
pub(super) type Job = (RelPath, Stat);

/// One directory that was looked at.
pub(super) struct Scanned {
    pub(super) directory: Directory,
    /// Which of its entries have to be read.
    pub(super) pending: Vec<usize>,
}

/// What one directory gave.
#[derive(Default)]
pub(super) struct Outcome {
    /// None when it is gone, or another one now.
    pub(super) scanned: Option<Scanned>,
    /// What excludes left out of it.
    pub(super) skipped: Vec<Skipped>,
    /// The directories in it.
    pub(super) below: Vec<Job>,
}

/// How much was found so far, by all who look.
#[derive(Default)]
pub(super) struct Tally {
    entries: AtomicU64,
    bytes: AtomicU64,
    /// Inodes of files with several links, so that their bytes count once.
    linked: Mutex<HashSet<u64>>,
    /// 0: nothing is exceeded; 1: bytes; 2: entries.
    exceeded: AtomicU8,
}

impl Tally {
    /// Whether a limit was exceeded: the one of entries (`true`), or the one of bytes.
    pub(super) fn exceeded(&self) -> Option<bool> {
        match self.exceeded.load(Ordering::Relaxed) {
            0 => None,
            which => Some(which == 2),
        }
    }

    /// How much there is.
    pub(super) fn taken(&self) -> Limits {
        Limits {
            max_entries: self.entries.load(Ordering::Relaxed),
            max_bytes: self.bytes.load(Ordering::Relaxed),
        }
    }

    fn count(&self, stat: &Stat, entry: &Entry, limits: &Limits) {
        let entries = self.entries.fetch_add(1, Ordering::Relaxed) + 1;
        let again = || {
            let mut linked = self.linked.lock().unwrap_or_else(PoisonError::into_inner);
            !linked.insert(stat.ino)
        };
        let mut size = 0;
        if stat.kind == NodeKind::File && !(entry.nlink > 1 && again()) {
            size = stat.size.min(stat.allocated.max(1));
        }
        let bytes = self.bytes.fetch_add(size, Ordering::Relaxed).saturating_add(size);
        if entries > limits.max_entries {
            self.exceeded.store(2, Ordering::Relaxed);
        } else if bytes > limits.max_bytes {
            self.exceeded.store(1, Ordering::Relaxed);
        }
    }
}

/// Looks at directories of one walk.
pub(super) struct Scan<'w> {
    pub(super) walk: &'w Walk<'w>,
    pub(super) tally: &'w Tally,
}

impl Scan<'_> {
    /// Looks at one directory.
    ///
    /// # Errors
    /// Only for the root; anything further down that cannot be looked at is part of what is found.
    pub(super) fn directory(&self, (path, seen): Job) -> Result<Outcome, CaptureError> {
        let walk = self.walk;
        let opened = walk.root.dir(&path).and_then(|dir| Ok((dir.stat()?, dir)));
        let dir = match opened {
            Ok((stat, dir)) if stat.ino == seen.ino => dir,
            Ok(_) => return self.vanished(&path),
            Err(error) if is_gone(&error) => return self.vanished(&path),
            Err(error) if path.is_root() => return Err(walk.root_error(error)),
            Err(_) => return Ok(unreadable(path)),
        };
        let (listing, children) = match list(&dir) {
            Ok(listed) => listed,
            Err(error) if path.is_root() => return Err(walk.root_error(error)),
            Err(_) => (Listing::Unreadable, Vec::new()),
        };
        let on_the_way = walk.matcher.is_on_the_way(&path);
        let listing = if on_the_way && listing == Listing::Proven {
            Listing::Partial
        } else {
            listing
        };
        let before = walk.reference.and_then(|r| r.manifest.directory(&path));
        let mut directory = Directory {
            path,
            listing,
            entries: Vec::with_capacity(children.len()),
            gaps: vec![],
        };
        let mut outcome = Outcome::default();
        let mut pending = Vec::new();
        for (name, child) in children {
            let stat = match child {
                Ok(stat) => stat,
                Err(error) => {
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
                    outcome.skipped.push(Skipped { path: at, is_dir });
                    continue;
                }
                // Whatever lies on the way to a tracked path decides whether that can come back.
                Verdict::OutsideTracked if walk.matcher.is_on_the_way(&at) => {}
                Verdict::OutsideTracked => continue,
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
            let known = before
                .and_then(|dir| dir.entry(&name))
                .filter(|old| self.is_unchanged(old, &stat));
            match self.entry(&dir, name.clone(), &stat, known) {
                Ok((entry, is_pending)) => {
                    self.tally.count(&stat, &entry, &walk.limits);
                    if is_pending {
                        pending.push(directory.entries.len());
                    }
                    if is_dir {
                        outcome.below.push((at, stat));
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
        walk.observer.advance(directory.entries.len() as u64, 0);
        outcome.scanned = Some(Scanned { directory, pending });
        Ok(outcome)
    }

    fn vanished(&self, path: &RelPath) -> Result<Outcome, CaptureError> {
        if path.is_root() {
            return Err(self.walk.root_error(io::ErrorKind::NotFound.into()));
        }
        Ok(Outcome::default())
    }

    /// The entry without its content, and whether its content must be read.
    fn entry(&self, dir: &Dir, name: Name, stat: &Stat, known: Option<&Entry>) -> io::Result<(Entry, bool)> {
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
        let mut pending = false;
        let kind = match stat.kind {
            NodeKind::File => {
                pending = stat.size > 0;
                // Empty content needs no reading; anything else is replaced when it was read.
                Kind::File(Content {
                    size: stat.size,
                    digest: Digest::of(b""),
                    method: DigestMethod::Plain,
                })
            }
            NodeKind::Directory => Kind::Directory,
            NodeKind::Symlink => Kind::Symlink(dir.link_target(name.as_os_str())?.into()),
            NodeKind::Fifo => Kind::Fifo,
            NodeKind::Socket => Kind::Socket,
            NodeKind::CharDevice => Kind::CharDevice(stat.rdev.0, stat.rdev.1),
            NodeKind::BlockDevice => Kind::BlockDevice(stat.rdev.0, stat.rdev.1),
            NodeKind::Other => return Err(io::Error::other("its type is not known")),
        };
        let xattrs = dir.attributes(name.as_os_str())?;
        Ok((
            Entry {
                xattrs,
                ..entry(name, stat, kind)
            },
            pending,
        ))
    }

    fn is_unchanged(&self, old: &Entry, stat: &Stat) -> bool {
        let Some(reference) = self.walk.reference else {
            return false;
        };
        let quiet = reference.started_at.plus_nanos(-TICK_NANOS);
        self.walk.trust_stat
            && !old.unstable
            && reference.holds(old)
            && old.ctime < quiet
            && old.mtime < quiet
            && same_moment(old, stat)
    }
}

fn unreadable(path: RelPath) -> Outcome {
    let directory = Directory {
        path,
        listing: Listing::Unreadable,
        entries: vec![],
        gaps: vec![],
    };
    Outcome {
        scanned: Some(Scanned {
            directory,
            pending: vec![],
        }),
        ..Outcome::default()
    }
}

fn withheld(reason: WithheldReason) -> GapReason {
    match reason {
        WithheldReason::Sensitive => GapReason::Sensitive,
        WithheldReason::Store => GapReason::Store,
        WithheldReason::Staging => GapReason::Staging,
        WithheldReason::Readonly => GapReason::Readonly,
    }
}
