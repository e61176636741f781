//! Walks a mount: every directory listed, every entry's facts taken, nothing read yet. What the reference snapshot
//! proves unchanged keeps its content digest; the rest is pending.

use std::collections::HashMap;
use std::io;

use super::facts::{entry, insert_gap, is_gone, links, same_moment, words};
use super::listing::{TICK_NANOS, list};
use super::{CaptureError, Limits};
use crate::contract::{Matcher, Verdict};
use crate::mount::{Dir, Root};
use crate::observer::Observer;
use crate::platform::{self, NodeKind, Stat};
use crate::snapshot::{
    Content, Digest, DigestMethod, Directory, Entry, Gap, GapReason, Kind, Listing, Manifest, Name, RelPath,
    Time, WithheldReason,
};
use crate::store::Blobs;

/// An earlier state of the same mount, whose digests are taken over where stat data prove that nothing changed.
#[derive(Clone, Copy)]
pub(super) struct Reference<'a> {
    /// What was there.
    pub manifest: &'a Manifest,
    /// When that capture began to walk. What changed later than just before it is read again.
    pub started_at: Time,
    /// The archives that must hold the content; `None` when it will not be needed.
    pub known: Option<&'a Blobs>,
}

impl Reference<'_> {
    fn holds(&self, entry: &Entry) -> bool {
        match (self.known, entry.content()) {
            (Some(known), Some(content)) => content.size == 0 || known.contains(&content.digest),
            _ => true,
        }
    }
}

/// What to walk and how.
pub(super) struct Walk<'a> {
    /// The mount.
    pub root: &'a Root,
    /// What to leave out.
    pub matcher: &'a Matcher,
    /// What is known already.
    pub reference: Option<Reference<'a>>,
    /// Whether digests of the reference may be taken over at all.
    pub trust_stat: bool,
    /// How much is too much.
    pub limits: Limits,
    /// Who is told.
    pub observer: &'a dyn Observer,
}

/// A path that was left out because of an exclude; its descendants were not looked at.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Skipped {
    /// Below the mount root.
    pub path: RelPath,
    /// Whether it is a directory.
    pub is_dir: bool,
}

/// The result: a manifest whose pending files still lack their digest.
pub(super) struct Walked {
    /// Everything that was found.
    pub manifest: Manifest,
    /// Which files have to be read: indexes of directory and entry, in manifest order.
    pub pending: Vec<(usize, usize)>,
    /// What excludes left out, sorted.
    pub skipped: Vec<Skipped>,
    /// How much of the limits it took.
    pub taken: Limits,
    /// When the walk began, by the clock that stamps files.
    pub started_at: Time,
}

impl Walked {
    /// Sum of the sizes of the files that have to be read.
    pub(super) fn bytes_to_read(&self) -> u64 {
        let entry = |(at, index): &(usize, usize)| self.manifest.directories.get(*at)?.entries.get(*index);
        let contents = self.pending.iter().filter_map(entry).filter_map(Entry::content);
        contents.map(|content| content.size).sum()
    }
}

struct State<'a, 'w> {
    walk: &'w Walk<'a>,
    directories: Vec<Directory>,
    pending: Vec<(usize, usize)>,
    skipped: Vec<Skipped>,
    entries: u64,
    bytes: u64,
    /// Inodes of files with several links, so that their bytes count once.
    linked: HashMap<u64, ()>,
}

impl Walk<'_> {
    /// Walks.
    ///
    /// # Errors
    /// When the root cannot be listed, a limit is exceeded, or the operator stopped it. What cannot be read further
    /// down is a gap in the result, not an error.
    pub(super) fn run(&self) -> Result<Walked, CaptureError> {
        let started_at = platform::file_clock();
        let top = self.root.dir(&RelPath::root()).map_err(|e| self.root_error(e))?;
        let stat = top.stat().map_err(|e| self.root_error(e))?;
        let name = Name::new(b"root").map_err(|e| self.root_error(io::Error::other(e)))?;
        let xattrs = top
            .attributes(std::ffi::OsStr::new(""))
            .map_err(|e| self.root_error(e))?;
        let root = Entry {
            xattrs,
            ..entry(name, &stat, Kind::Directory)
        };
        drop(top);
        let mut state = State {
            walk: self,
            directories: Vec::new(),
            pending: Vec::new(),
            skipped: Vec::new(),
            entries: 0,
            bytes: 0,
            linked: HashMap::new(),
        };
        // Depth first, children in order: the order of the manifest.
        let mut stack = vec![(RelPath::root(), stat)];
        while let Some((path, seen)) = stack.pop() {
            if self.observer.cancelled() {
                return Err(CaptureError::Interrupted);
            }
            state.directory(path, &seen, &mut stack)?;
        }
        state.skipped.sort_unstable();
        let manifest = Manifest {
            root,
            directories: state.directories,
        };
        Ok(Walked {
            manifest,
            pending: state.pending,
            skipped: state.skipped,
            taken: Limits {
                max_entries: state.entries,
                max_bytes: state.bytes,
            },
            started_at,
        })
    }

    fn root_error(&self, source: io::Error) -> CaptureError {
        CaptureError::Root {
            path: self.root.path().to_path_buf(),
            source,
        }
    }
}

impl State<'_, '_> {
    fn directory(
        &mut self,
        path: RelPath,
        seen: &Stat,
        stack: &mut Vec<(RelPath, Stat)>,
    ) -> Result<(), CaptureError> {
        let index = self.directories.len();
        let opened = self.walk.root.dir(&path).and_then(|dir| Ok((dir.stat()?, dir)));
        let dir = match opened {
            Ok((stat, dir)) if stat.ino == seen.ino => dir,
            Ok(_) => return self.vanished(&path),
            Err(error) if is_gone(&error) => return self.vanished(&path),
            Err(error) if path.is_root() => return Err(self.walk.root_error(error)),
            Err(_) => {
                let unreadable = Listing::Unreadable;
                self.directories.push(Directory {
                    path,
                    listing: unreadable,
                    entries: vec![],
                    gaps: vec![],
                });
                return Ok(());
            }
        };
        let (listing, children) = match list(&dir) {
            Ok(listed) => listed,
            Err(error) if path.is_root() => return Err(self.walk.root_error(error)),
            Err(_) => (Listing::Unreadable, Vec::new()),
        };
        let on_the_way = self.walk.matcher.is_on_the_way(&path);
        let listing = if on_the_way && listing == Listing::Proven {
            Listing::Partial
        } else {
            listing
        };
        let before = self.walk.reference.and_then(|r| r.manifest.directory(&path));
        let mut directory = Directory {
            path,
            listing,
            entries: Vec::with_capacity(children.len()),
            gaps: vec![],
        };
        let mut below = Vec::new();
        for (name, child) in children {
            let stat = match child {
                Ok(stat) => stat,
                Err(error) => {
                    directory.gaps.push(Gap {
                        name,
                        reason: GapReason::Unreadable(words(&error)),
                    });
                    continue;
                }
            };
            let at = directory.path.join(&name);
            let is_dir = stat.kind == NodeKind::Directory;
            match self.walk.matcher.verdict(&at, is_dir) {
                Verdict::Covered => {}
                Verdict::Excluded(_) => {
                    self.skipped.push(Skipped { path: at, is_dir });
                    continue;
                }
                // Whatever lies on the way to a tracked path decides whether that can come back.
                Verdict::OutsideTracked if self.walk.matcher.is_on_the_way(&at) => {}
                Verdict::OutsideTracked => continue,
                Verdict::Withheld(reason) => {
                    directory.gaps.push(Gap {
                        name,
                        reason: withheld(reason),
                    });
                    continue;
                }
            }
            if !stat.is_on(self.walk.root.place()) {
                directory.gaps.push(Gap {
                    name,
                    reason: GapReason::MountPoint,
                });
                continue;
            }
            let known = before
                .and_then(|dir| dir.entry(&name))
                .filter(|old| self.is_unchanged(old, &stat));
            match self.entry(&dir, name.clone(), &stat, known) {
                Ok((entry, is_pending)) => {
                    self.count(&stat, &entry, &directory)?;
                    if is_pending {
                        self.pending.push((index, directory.entries.len()));
                    }
                    if is_dir {
                        below.push((at, stat));
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
        self.walk.observer.advance(directory.entries.len() as u64, 0);
        self.directories.push(directory);
        stack.extend(below.into_iter().rev());
        Ok(())
    }

    /// A directory that its parent named is gone or is another one now: the parent names it as a gap instead.
    fn vanished(&mut self, path: &RelPath) -> Result<(), CaptureError> {
        let Some((parent, name)) = path.split() else {
            return Err(self.walk.root_error(io::Error::from(io::ErrorKind::NotFound)));
        };
        let Ok(at) = self.directories.binary_search_by(|dir| dir.path.cmp(&parent)) else {
            return Ok(());
        };
        let Some(directory) = self.directories.get_mut(at) else {
            return Ok(());
        };
        let Ok(entry) = directory.entries.binary_search_by(|entry| entry.name.cmp(&name)) else {
            return Ok(());
        };
        directory.entries.remove(entry);
        for (_, later) in self
            .pending
            .iter_mut()
            .filter(|(dir, later)| *dir == at && *later > entry)
        {
            *later -= 1;
        }
        insert_gap(
            directory,
            Gap {
                name,
                reason: GapReason::Moving,
            },
        );
        Ok(())
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

    fn count(&mut self, stat: &Stat, entry: &Entry, directory: &Directory) -> Result<(), CaptureError> {
        self.entries += 1;
        let again = entry.nlink > 1 && self.linked.insert(stat.ino, ()).is_some();
        if stat.kind == NodeKind::File && !again {
            self.bytes += stat.size.min(stat.allocated.max(1));
        }
        let limits = &self.walk.limits;
        if self.entries <= limits.max_entries && self.bytes <= limits.max_bytes {
            return Ok(());
        }
        let so_far = self.directories.iter().chain([directory]);
        Err(CaptureError::Limit {
            path: self.walk.root.path().to_path_buf(),
            entries: self.entries > limits.max_entries,
            limit: if self.entries > limits.max_entries {
                limits.max_entries
            } else {
                limits.max_bytes
            },
            biggest: super::limit::biggest(so_far, self.entries > limits.max_entries),
        })
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
