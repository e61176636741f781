//! Refs: HEAD, branches, tags and remote branches with their objects, from single files and from `packed-refs`.

use std::io::Read as _;

use super::error::shown;
use super::reading::{SMALL, Stream, below, below_foreign, look, size, whole};
use super::repository::{PackedList, Repository, line};
use super::walk::MOST_VISITED;
use super::{Found, GitError, Oid, Refs};
use handle_fs::RelPath;

/// Position of HEAD.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// Branch (`refs/heads/main`); `None` if HEAD names a commit itself.
    pub reference: Option<Vec<u8>>,
    /// Commit; `None` if the branch has none yet.
    pub commit: Option<Oid>,
}

/// Maximum depth of refs that name other refs, as in git.
const DEEPEST: usize = 5;
/// Maximum bytes of `packed-refs` that are read: a million refs with usual names.
const MOST_PACKED: u64 = 128 << 20;
/// Maximum bytes of a name, which is a path.
const LONGEST_NAME: usize = 4096;

enum Value {
    Oid(Oid),
    Ref(Vec<u8>),
}

impl Repository<'_> {
    /// Returns the position of HEAD.
    ///
    /// # Errors
    /// [`GitError`] if HEAD cannot be read, or git would not understand it.
    pub fn head(&self) -> Result<Head, GitError> {
        self.understood()?;
        let path = below(self.own_dir()?, "HEAD");
        match self.loose_value(&path)? {
            None => Err(GitError::damaged(&path, "it is missing")),
            Some(Value::Oid(oid)) => Ok(Head {
                reference: None,
                commit: Some(oid),
            }),
            Some(Value::Ref(name)) => Ok(Head {
                commit: self.doubts.settle(self.reference(&name)),
                reference: Some(name),
            }),
        }
    }

    /// Returns all refs; those that name others are followed. A broken file is a doubt.
    ///
    /// # Errors
    /// [`GitError`] if the repository lies elsewhere, stores refs in an unknown way, or lists something among them that is not understood.
    pub fn refs(&self) -> Result<Refs, GitError> {
        match &self.packed()?.unread {
            Some(why) => {
                let path = below(self.common_dir()?, "packed-refs");
                Err(GitError::damaged(&path, why.as_str()))
            }
            None => self.readable_refs(),
        }
    }

    /// Returns the refs that [`Self::refs`] returns, without those that cannot be read: they are doubts.
    ///
    /// # Errors
    /// [`GitError`] if the repository lies elsewhere, or stores refs in an unknown way.
    pub fn readable_refs(&self) -> Result<Refs, GitError> {
        self.understood()?;
        let (own, common) = (self.own_dir()?, self.common_dir()?);
        let mut refs = self.packed()?.refs.clone();
        let mut places = vec![(common, below(common, "refs"))];
        if own != common {
            let parts = ["refs/bisect", "refs/worktree", "refs/rewritten"];
            places.extend(parts.map(|part| (own, below(own, part))));
        }
        for (dir, place) in places {
            for (path, _) in self.files_below(&place) {
                let name = path.as_bytes().strip_prefix(dir.as_bytes()).unwrap_or_default();
                let name = name.strip_prefix(b"/").unwrap_or(name);
                if name.ends_with(b".lock") || (own != common && dir == common && is_own(name)) {
                    continue;
                }
                // A file is above what is packed, also where it is broken.
                let packed = refs.remove(name);
                if !is_sound(name) {
                    self.doubts
                        .add(GitError::damaged(&path, "no ref may have this name"));
                    continue;
                }
                match self.reference(name) {
                    Ok(Some(oid)) => drop(refs.insert(name.to_vec(), oid)),
                    // It became packed while this was going on.
                    Ok(None) if packed.is_some() => drop(packed.map(|oid| refs.insert(name.to_vec(), oid))),
                    Ok(None) => self
                        .doubts
                        .add(GitError::damaged(&path, "it names a ref that is not there")),
                    Err(error) => self.doubts.add(error),
                }
            }
        }
        Ok(refs)
    }

    /// Returns the object that the ref finally names; `None` if the ref does not exist.
    pub(super) fn reference(&self, name: &[u8]) -> Result<Option<Oid>, GitError> {
        let mut name = name.to_vec();
        for _ in 0..=DEEPEST {
            let dir = if is_own(&name) {
                self.own_dir()?
            } else {
                self.common_dir()?
            };
            let path = below_foreign(dir, &name).filter(|_| is_sound(&name));
            let Some(path) = path else {
                return Err(GitError::NotUnderstood {
                    what: format!("the ref {}", shown(&name)),
                });
            };
            match self.loose_value(&path)? {
                Some(Value::Oid(oid)) => return Ok(Some(oid)),
                Some(Value::Ref(next)) => name = next,
                None => return Ok(self.packed()?.refs.get(&name).copied()),
            }
        }
        Err(GitError::NotUnderstood {
            what: format!(
                "the ref {}, which names others more than {DEEPEST} deep,",
                shown(&name)
            ),
        })
    }

    fn loose_value(&self, path: &RelPath) -> Result<Option<Value>, GitError> {
        let text = match look(self.files, path)? {
            // Names below it are refs.
            Some(Found::Directory) => return Ok(None),
            // The way of an old git.
            Some(Found::Symlink(target)) => [b"ref: ", target.as_slice()].concat(),
            _ => match whole(self.files, path, SMALL)? {
                Some(text) => text,
                None => return Ok(None),
            },
        };
        let what = || GitError::damaged(path, "it names neither an object nor a ref");
        if let Some(name) = text.strip_prefix(b"ref:") {
            let name = line(name).trim_ascii();
            let is_ref = name.starts_with(b"refs/") && is_sound(name);
            return is_ref.then(|| Some(Value::Ref(name.to_vec()))).ok_or_else(what);
        }
        let (hex, rest) = text.split_at_checked(40).ok_or_else(what)?;
        let oid = Oid::parse(hex).filter(|_| rest.first().is_none_or(u8::is_ascii_whitespace));
        oid.map(|oid| Some(Value::Oid(oid))).ok_or_else(what)
    }

    fn packed(&self) -> Result<&PackedList, GitError> {
        self.understood()?;
        if let Some(refs) = self.packed.get() {
            return Ok(refs);
        }
        let path = below(self.common_dir()?, "packed-refs");
        let mut text = Vec::new();
        let mut unread = None;
        if let Some(size) = size(self.files, &path)? {
            Stream::new(self.files, &path, 0, MOST_PACKED)
                .read_to_end(&mut text)
                .map_err(|source| GitError::io(&path, source))?;
            if size > MOST_PACKED {
                unread = Some(format!("more than {MOST_PACKED} bytes of it are not read"));
            }
        }
        let mut refs = Refs::new();
        for line in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            // A head, and what the tag before it points to.
            if matches!(line, [b'#' | b'^', ..]) {
                continue;
            }
            if refs.len() == MOST_VISITED {
                unread = Some(format!(
                    "it has more than {MOST_VISITED} refs, and the rest is not read"
                ));
                break;
            }
            match packed_line(line) {
                Some((name, oid)) => drop(refs.insert(name.to_vec(), oid)),
                None => {
                    let why = format!("not a ref: {}", shown(line));
                    self.doubts.add(GitError::damaged(&path, why.as_str()));
                    unread.get_or_insert(why);
                }
            }
        }
        if let Some(why) = &unread {
            self.doubts.add(GitError::damaged(&path, why.as_str()));
        }
        Ok(self.packed.get_or_init(|| PackedList { refs, unread }))
    }
}

fn packed_line(line: &[u8]) -> Option<(&[u8], Oid)> {
    let (hex, rest) = line.split_at_checked(40)?;
    let name = rest.strip_prefix(b" ")?;
    let name = name.strip_suffix(b"\r").unwrap_or(name);
    Some((name, Oid::parse(hex)?)).filter(|_| is_sound(name) && name.starts_with(b"refs/"))
}

/// Returns true if each work tree has its own ref of this name.
fn is_own(name: &[u8]) -> bool {
    let parts: [&[u8]; 3] = [b"refs/bisect/", b"refs/worktree/", b"refs/rewritten/"];
    !name.starts_with(b"refs/") || parts.iter().any(|part| name.starts_with(part))
}

/// Returns true if git allows a ref of this name (`git check-ref-format`).
fn is_sound(name: &[u8]) -> bool {
    let is_bad = |byte: &u8| {
        matches!(
            byte,
            0..=32 | 127 | b'~' | b'^' | b':' | b'?' | b'*' | b'[' | b'\\'
        )
    };
    let is_sound_part =
        |part: &[u8]| !part.is_empty() && !part.starts_with(b".") && !part.ends_with(b".lock");
    let holds = |two: &[u8; 2]| name.windows(2).any(|pair| pair == two);
    name.len() <= LONGEST_NAME
        && !name.iter().any(is_bad)
        && !holds(b"..")
        && !holds(b"@{")
        && !name.ends_with(b".")
        && name.split(|byte| *byte == b'/').all(is_sound_part)
}
