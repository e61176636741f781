//! The private files of agents: credentials, and settings files that hold secrets beside other things. A record holds only their
//! presence, metadata, and digests that need the store's key to be compared; of a settings file also everything but its secrets.

mod encrypt;
mod overlay;
mod unrecoverable;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::{self, Read as _};

pub(super) use self::encrypt::{Before, Sealed, seal};
pub use self::overlay::{PrivateOverlay, Show};
pub use self::unrecoverable::{Loss, Note};
use super::facts::entry;
use crate::contract::{Matcher, Verdict};
use crate::model::{
    Content, Coverage, Digest, DigestMethod, Entry, EntryKind, MountRecord, Name, REDACTOR, Recorded,
    RelPath, SecretFact, SettingsFact, WithheldFact, WithheldReason,
};
use crate::store::DigestKey;
use handle_fs::remote::Transports;
use handle_fs::{Dir, Root};
use handle_fs::{NodeKind, Stat};
use settings_redaction::{Secret, SplitSettings};

/// Maximum bytes of a credential; of a larger file, only its presence is recorded.
const LARGEST: u64 = 16 << 20;
/// Maximum number of files and directories of one that is withheld as a whole.
const MOST: usize = 1000;
/// Maximum depth below it.
const DEEPEST: usize = 16;
/// Maximum bytes of a file found only by a rule; a larger one is known by its size and times alone.
const LARGEST_FOUND: u64 = 4 << 20;
/// Most bytes of private files held in memory at once.
const MOST_BYTES_FOUND: u64 = 64 << 20;
/// Most private files in one record.
const MOST_FOUND: usize = 2000;
/// Maximum number of times that a changing file is read.
const ATTEMPTS: usize = 3;

/// Private file as it is now. It is only ever written into an encrypted bundle, or back to its place.
#[derive(Clone)]
pub struct PrivateFile {
    /// Below the mount root.
    pub path: RelPath,
    /// The object, with the digest of its whole content.
    pub entry: Entry,
    /// Its whole content; empty unless it is a regular file.
    pub whole: Vec<u8>,
    /// A settings file, taken apart.
    pub parted: Option<SplitSettings>,
}

/// Result of one look at private files.
#[derive(Default)]
pub(super) struct Private {
    /// Facts to record.
    pub(super) facts: Vec<WithheldFact>,
    /// The files, and objects that take the place of one.
    pub(super) files: Vec<PrivateFile>,
}

impl Private {
    /// Returns true if a mount was recorded with the same private files. Their times do not count.
    pub(super) fn is_recorded_in(&self, mount: &MountRecord) -> bool {
        let same = |(now, then): (&WithheldFact, &WithheldFact)| {
            let timeless = |fact: &WithheldFact| WithheldFact {
                entry: None,
                ..fact.clone()
            };
            timeless(now) == timeless(then)
        };
        self.facts.len() == mount.withheld.len() && self.facts.iter().zip(&mount.withheld).all(same)
    }
}

/// Looks at every private file of a coverage.
pub(super) fn look_at_private(root: &Root, coverage: &Coverage, key: &DigestKey) -> Private {
    let mut look = Look {
        keyed: Keyed(key),
        found: Private::default(),
        left: MOST,
        reason: WithheldReason::Credential,
        room: None,
    };
    let is_tracked = |path: &RelPath| coverage.tracked.iter().any(|tracked| path.is_within(tracked));
    for withheld in &coverage.withheld {
        look.reason = withheld.reason;
        let is_private = look.reason.is_by_key() || look.reason == WithheldReason::Credential;
        if is_private && is_tracked(&withheld.path) {
            let Some((parent, name)) = withheld.path.split() else {
                continue;
            };
            look.left = MOST;
            match root.dir(&parent) {
                Ok(dir) => look.at(&dir, name.as_os_str(), &withheld.path, 0),
                Err(error) if is_missing(&error) => {}
                Err(error) => look.found.facts.push(unknown(&withheld.path, &error)),
            }
        }
    }
    if coverage.excludes.iter().any(|rule| rule.private.is_some())
        && let Ok(matcher) = Matcher::new(coverage)
    {
        look.left = MOST_FOUND;
        look.room = Some(MOST_BYTES_FOUND);
        for tracked in &coverage.tracked {
            look.top(root, tracked, &matcher, coverage);
        }
    }
    look.found.facts.sort_by(|a, b| a.path.cmp(&b.path));
    look.found.files.sort_by(|a, b| a.path.cmp(&b.path));
    look.found
}

/// Returns the current private files of a coverage; `None` if the key or the root is missing.
pub(super) fn private_now(
    transports: &Transports,
    key: Option<&DigestKey>,
    coverage: &Coverage,
) -> Option<Private> {
    let root = Root::open(transports, &coverage.root.to_path()).ok()?;
    Some(look_at_private(&root, coverage, key?))
}

fn is_missing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

fn unknown(path: &RelPath, error: &io::Error) -> WithheldFact {
    WithheldFact {
        path: path.clone(),
        mode: 0,
        uid: 0,
        gid: 0,
        size: 0,
        digest: None,
        error: Some(error.to_string()),
        entry: None,
        settings: None,
    }
}

/// Digests by the store's key. Each covers the path as well, so that the same secret in two places does not show.
#[derive(Clone, Copy)]
struct Keyed<'a>(&'a DigestKey);

impl Keyed<'_> {
    fn over(self, path: &RelPath, kind: u8, parts: &mut dyn Iterator<Item = &[u8]>) -> Digest {
        let mut hasher = blake3::Hasher::new_keyed(self.0);
        hasher.update(&(path.as_bytes().len() as u64).to_le_bytes());
        hasher.update(path.as_bytes());
        hasher.update(&[kind]);
        parts.for_each(|part| {
            hasher.update(part);
        });
        Digest(*hasher.finalize().as_bytes())
    }

    fn secret(self, path: &RelPath, secret: &Secret) -> SecretFact {
        let mut parts = Vec::new();
        for part in secret.key.iter().map(String::as_bytes).chain([&*secret.raw]) {
            parts.extend((part.len() as u64).to_le_bytes());
            parts.extend(part);
        }
        SecretFact {
            key: secret.key.clone(),
            digest: self.over(path, b'k', &mut [&*parts].into_iter()),
        }
    }

    /// Returns the digest of all secrets of a settings file.
    fn secrets(self, path: &RelPath, secrets: &[SecretFact]) -> Digest {
        let mut parts = secrets.iter().map(|secret| &secret.digest.0[..]);
        self.over(path, b's', &mut parts)
    }
}

struct Look<'a> {
    keyed: Keyed<'a>,
    found: Private,
    /// Number of objects that may still be looked at for this credential.
    left: usize,
    reason: WithheldReason,
    /// Bytes left for files found by a rule; `None` for paths that the coverage names.
    room: Option<u64>,
}

impl Look<'_> {
    /// Reads the files that a rule makes private, at a tracked path and below it.
    fn top(&mut self, root: &Root, top: &RelPath, matcher: &Matcher, coverage: &Coverage) {
        let is_named = coverage.withheld.iter().any(|place| top.is_within(&place.path));
        if let Some((parent, name)) = top.split()
            && !is_named
            && let Ok(dir) = root.dir(&parent)
            && let Ok(Some(stat)) = dir.look(name.as_os_str())
            && stat.kind != NodeKind::Directory
        {
            if let Verdict::Withheld(reason) = matcher.verdict(top, false) {
                self.reason = reason;
                self.at(&dir, name.as_os_str(), top, 0);
            }
            return;
        }
        self.find(root, top, matcher, coverage);
    }

    /// Reads the files that a rule makes private, in a tracked directory and below it.
    fn find(&mut self, root: &Root, top: &RelPath, matcher: &Matcher, coverage: &Coverage) {
        let mut waiting = BTreeSet::from([top.clone()]);
        while let Some(path) = waiting.pop_first() {
            // A directory that cannot be listed is a gap of the manifest, and named there.
            let Ok(dir) = root.dir(&path) else { continue };
            let mut names = dir.names().unwrap_or_default();
            // What does not fit any more is the same whenever the tree is.
            names.sort();
            for name in names {
                let at = path.join(&name);
                // Named by the coverage, so it was looked at.
                if coverage.withheld.iter().any(|place| at.is_within(&place.path)) {
                    continue;
                }
                let is_dir = match dir.look(name.as_os_str()) {
                    Ok(Some(stat)) if stat.is_on(root.place()) => stat.kind == NodeKind::Directory,
                    _ => continue,
                };
                match matcher.verdict(&at, is_dir) {
                    Verdict::Covered if is_dir => drop(waiting.insert(at)),
                    Verdict::Withheld(reason) if reason.is_private() && !is_dir => {
                        self.reason = reason;
                        self.at(&dir, name.as_os_str(), &at, 0);
                    }
                    _ => {}
                }
            }
        }
    }

    /// Returns true if a file of this size fits into the memory budget. Files found by rules share one budget.
    fn has_room(&mut self, size: u64) -> bool {
        let Some(room) = self.room else {
            return size <= LARGEST;
        };
        let left = room.checked_sub(size).filter(|_| size <= LARGEST_FOUND);
        self.room = Some(left.unwrap_or(room));
        left.is_some()
    }

    /// Returns the fact of a file that is not read. Its digest, if any, covers only size, time and inode.
    fn unread(&self, path: &RelPath, stat: &Stat) -> WithheldFact {
        let digest = self.room.map(|_| {
            let moment = format!("{}/{:?}/{}", stat.size, stat.mtime, stat.ino);
            self.keyed.over(path, b't', &mut [moment.as_bytes()].into_iter())
        });
        fact(path, stat, stat.size, digest)
    }

    fn at(&mut self, dir: &Dir, name: &OsStr, path: &RelPath, depth: usize) {
        if self.left == 0 {
            return;
        }
        self.left -= 1;
        if self.left == 0 {
            // Only the search by a rule has room for bytes, and a limit of its own.
            let most = if self.room.is_some() { MOST_FOUND } else { MOST };
            let error = io::Error::other(format!("more than {most} of it are not checked"));
            return self.found.facts.push(unknown(path, &error));
        }
        let stat = match dir.look(name) {
            Ok(Some(stat)) => stat,
            Ok(None) => return,
            Err(error) => return self.found.facts.push(unknown(path, &error)),
        };
        if stat.kind == NodeKind::Directory && depth < DEEPEST {
            let inner = dir.dir(name).and_then(|inner| Ok((inner.names()?, inner)));
            return match inner {
                Ok((names, inner)) => {
                    for name in names {
                        self.at(&inner, name.as_os_str(), &path.join(&name), depth + 1);
                    }
                }
                Err(error) => self.found.facts.push(unknown(path, &error)),
            };
        }
        let fact = match stat.kind {
            NodeKind::File if self.has_room(stat.size) => self.file(dir, name, path),
            NodeKind::File => Ok(self.unread(path, &stat)),
            NodeKind::Symlink => dir.link_target(name).and_then(|target| {
                let digest = self.keyed.over(path, b'l', &mut [&*target].into_iter());
                let fact = fact(path, &stat, target.len() as u64, Some(digest));
                self.plain(dir, name, &stat, EntryKind::Symlink(target.into()), fact)
            }),
            kind => {
                let digest = self.keyed.over(path, b'o', &mut std::iter::empty());
                let fact = fact(path, &stat, 0, Some(digest));
                match kind {
                    NodeKind::Fifo => self.plain(dir, name, &stat, EntryKind::Fifo, fact),
                    _ => Ok(fact),
                }
            }
        };
        let fact = fact.unwrap_or_else(|error| unknown(path, &error));
        self.found.facts.push(fact);
    }

    /// Records an object in the place of a file; it holds no secret.
    fn plain(
        &mut self,
        dir: &Dir,
        name: &OsStr,
        stat: &Stat,
        kind: EntryKind,
        fact: WithheldFact,
    ) -> io::Result<WithheldFact> {
        let own = Name::new(name.as_encoded_bytes()).map_err(io::Error::other)?;
        let object = Entry {
            xattrs: dir.attributes(name)?,
            ..entry(own, stat, kind)
        };
        self.found.files.push(PrivateFile {
            path: fact.path.clone(),
            entry: object.clone(),
            whole: Vec::new(),
            parted: None,
        });
        Ok(WithheldFact {
            entry: Some(Recorded(Box::new(object))),
            ..fact
        })
    }

    fn file(&mut self, dir: &Dir, name: &OsStr, path: &RelPath) -> io::Result<WithheldFact> {
        let (stat, whole, xattrs) = read(dir, name)?;
        let size = whole.len() as u64;
        let keyed = self.keyed.over(path, b'f', &mut [&*whole].into_iter());
        let name = Name::new(name.as_encoded_bytes()).map_err(io::Error::other)?;
        let object = |digest| Entry {
            xattrs: xattrs.clone(),
            ..entry(name.clone(), &stat, EntryKind::File(content(size, digest)))
        };
        let mut fact = fact(path, &stat, size, Some(keyed));
        fact.entry = Some(Recorded(Box::new(object(keyed))));
        let may_be_unread = self.reason == WithheldReason::Settings;
        let is_by_key = self.reason.is_by_key();
        let parted = is_by_key
            .then(|| REDACTOR.split_named(path.as_bytes(), &whole, may_be_unread))
            .flatten();
        if let Some(parted) = &parted {
            let each = parted.secrets.iter();
            let secrets: Vec<SecretFact> = each.map(|secret| self.keyed.secret(path, secret)).collect();
            fact.digest = Some(self.keyed.secrets(path, &secrets));
            fact.settings = Some(SettingsFact {
                digest: Digest::of(&parted.public),
                size: parted.public.len() as u64,
                secrets,
            });
        }
        self.found.files.push(PrivateFile {
            path: path.clone(),
            entry: object(Digest::of(&whole)),
            whole,
            parted,
        });
        Ok(fact)
    }
}

fn content(size: u64, digest: Digest) -> Content {
    Content {
        size,
        digest,
        method: DigestMethod::Plain,
    }
}

fn fact(path: &RelPath, stat: &Stat, size: u64, digest: Option<Digest>) -> WithheldFact {
    WithheldFact {
        path: path.clone(),
        mode: stat.mode,
        uid: stat.uid,
        gid: stat.gid,
        size,
        digest,
        error: None,
        entry: None,
        settings: None,
    }
}

/// Reads a file that holds still meanwhile.
fn read(dir: &Dir, name: &OsStr) -> io::Result<(Stat, Vec<u8>, Vec<crate::model::Xattr>)> {
    for _ in 0..ATTEMPTS {
        let (mut file, before) = dir.file(name)?;
        handle_fs::settle(&file, before.ctime.max(before.mtime))?;
        handle_fs::await_write(&file);
        let xattrs = handle_fs::handle_attributes(&file)?;
        let mut whole = Vec::new();
        file.by_ref().take(LARGEST + 1).read_to_end(&mut whole)?;
        let after = handle_fs::stat_handle(&file)?;
        if after.same_moment(&before) && whole.len() as u64 == after.size {
            return Ok((after, whole, xattrs));
        }
    }
    Err(io::Error::other("it keeps changing"))
}
