//! Objects of a repository: loose, in packs, and borrowed from others.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::io::Read as _;

use super::error::shown;
use super::object::{Commit, Object, TreeEntry, parse_tag, parse_tree};
use super::object_directory::Store;
use super::object_kind::ObjectKind;
use super::pack::Pack;
use super::pack_index::PackIndex;
use super::reading::{
    Cursor, SMALL, below, below_foreign, broken_stream, inflater, look, rest_of, size, whole,
};
use super::repository::Repository;
use super::{Files, Found, GitError, Oid};
use handle_fs::{Name, RelPath};

/// Maximum bytes of an object that is read into memory.
const MOST_OBJECT: u64 = 128 << 20;
/// Maximum bytes of a commit, tree or tag; a larger one is hostile.
const MOST_STRUCTURE: u64 = 32 << 20;
/// Maximum depth of tags that name tags.
const DEEPEST_TAG: usize = 10;
/// Maximum number of object directories. Git follows alternates of alternates five deep.
const MOST_STORES: usize = 16;
/// Maximum number of packs in one directory; git becomes very slow before.
const MOST_PACKS: usize = 4096;
/// Maximum number of objects that are looked for in files of their own: each is a call.
const MOST_LOOSE: usize = 500;
/// Maximum effort for all objects of a tree. Packs of a few kilobytes can hold any number of objects that take a gigabyte each.
pub(super) const MOST_EFFORT: u64 = 16 << 30;
/// Effort that each repository may take even if others have used up that of the tree, so that these cannot prevent that it is read.
pub(super) const OWN_EFFORT: u64 = 256 << 20;
/// Effort of searching one pack, or of looking for one file, in bytes read.
const LOOKUP: u64 = 512;
/// Name of the empty tree, which git knows without storing it.
const EMPTY_TREE: &[u8] = b"4b825dc642cb6eb9a060e54bf8d69288fbee4904";

impl Repository<'_> {
    /// Returns an object of at most 128 MiB; `None` if it is missing. Its content matches its name.
    ///
    /// # Errors
    /// [`GitError`] if the object exists and cannot be read.
    pub fn object(&self, oid: &Oid) -> Result<Option<Object>, GitError> {
        self.object_up_to(oid, MOST_OBJECT)
    }

    /// Returns a commit; `None` if it is missing.
    ///
    /// # Errors
    /// [`GitError`], also if the object is no commit.
    pub fn commit(&self, oid: &Oid) -> Result<Option<Commit>, GitError> {
        self.structure(oid, ObjectKind::Commit, Commit::parse)
    }

    /// Returns the children of a tree; `None` if it is missing.
    ///
    /// # Errors
    /// [`GitError`], also if the object is no tree.
    pub fn tree(&self, oid: &Oid) -> Result<Option<Vec<TreeEntry>>, GitError> {
        self.structure(oid, ObjectKind::Tree, parse_tree)
    }

    /// Returns the object that a tag names, through tags of tags; an object that is no tag is returned itself. `None` if one on
    /// the way is missing.
    ///
    /// # Errors
    /// [`GitError`], also if a tag leads through too many others.
    pub fn peel(&self, oid: &Oid) -> Result<Option<(ObjectKind, Oid)>, GitError> {
        let mut oid = *oid;
        for _ in 0..DEEPEST_TAG {
            let Some(object) = self.object_up_to(&oid, MOST_OBJECT)? else {
                return Ok(None);
            };
            if object.kind != ObjectKind::Tag {
                return Ok(Some((object.kind, oid)));
            }
            (_, oid) = parse_tag(&object.bytes).ok_or_else(|| damaged(&oid, "it is no tag"))?;
        }
        Err(damaged(&oid, "tags stand on tags without an end"))
    }

    fn structure<T>(
        &self,
        oid: &Oid,
        kind: ObjectKind,
        parse: impl FnOnce(&[u8]) -> Option<T>,
    ) -> Result<Option<T>, GitError> {
        let Some(object) = self.object_up_to(oid, MOST_STRUCTURE)? else {
            return Ok(None);
        };
        let parsed = (object.kind == kind).then(|| parse(&object.bytes)).flatten();
        let what = || damaged(oid, &format!("it is not a {}", kind.word()));
        parsed.map(Some).ok_or_else(what)
    }

    pub(super) fn object_up_to(&self, oid: &Oid, most: u64) -> Result<Option<Object>, GitError> {
        self.understood()?;
        // An object that is broken in one place may be intact in another.
        let mut broken = None;
        for store in self.stores()? {
            let (before, from) = store.packs.split_at(store.last.get().min(store.packs.len()));
            let numbered = (store.last.get()..).zip(from).chain((0..).zip(before));
            let packed = numbered.map(|(at, pack)| {
                let found = self.in_pack(pack, oid, most)?;
                if found.is_some() {
                    store.last.set(at);
                }
                Ok(found)
            });
            for found in packed.chain(std::iter::once_with(|| self.loose(store, oid, most))) {
                match found {
                    Ok(None) => {}
                    Ok(Some(object)) if Oid::of(object.kind, &object.bytes) == Some(*oid) => {
                        return Ok(Some(object));
                    }
                    Ok(Some(_)) => broken = Some(damaged(oid, "its content has another name")),
                    Err(error) => broken = Some(error),
                }
            }
        }
        match broken {
            Some(error) => Err(error),
            None => Ok((Some(*oid) == Oid::parse(EMPTY_TREE)).then_some(Object {
                kind: ObjectKind::Tree,
                bytes: Vec::new(),
            })),
        }
    }

    /// Returns those of some objects that are not there, without reading any. If the packs lack very many, the others are not looked for.
    ///
    /// # Errors
    /// [`GitError`].
    pub fn missing(&self, oids: &BTreeSet<Oid>) -> Result<BTreeSet<Oid>, GitError> {
        self.understood()?;
        let mut missing = oids.clone();
        for store in self.stores()? {
            for pack in &store.packs {
                pack.each_name(self.files, &mut |oid| {
                    missing.remove(oid);
                })?;
            }
            if missing.len() > MOST_LOOSE {
                continue;
            }
            for oid in missing.clone() {
                if size(self.files, &loose_path(store, &oid))?.is_some() {
                    missing.remove(&oid);
                }
            }
        }
        Ok(missing)
    }

    /// Returns true if the objects of the tree, and among them those of this repository, took so much work that no more of them are read here.
    #[must_use]
    pub fn is_exhausted(&self) -> bool {
        self.files.effort().get() > MOST_EFFORT && self.own_effort.get() > OWN_EFFORT
    }

    /// Adds to the effort of the tree and of the repository.
    ///
    /// # Errors
    /// [`GitError::TooMuchWork`] if it was too much before; that is a doubt as well, since callers skip what they cannot read.
    fn take_effort(&self, bytes: u64) -> Result<(), GitError> {
        if self.is_exhausted() {
            self.doubts.add(GitError::TooMuchWork);
            return Err(GitError::TooMuchWork);
        }
        self.add_effort(bytes);
        Ok(())
    }

    fn add_effort(&self, bytes: u64) {
        for effort in [self.files.effort(), &self.own_effort] {
            effort.set(effort.get().saturating_add(bytes));
        }
    }

    fn in_pack(&self, pack: &Pack, oid: &Oid, most: u64) -> Result<Option<Object>, GitError> {
        self.take_effort(LOOKUP)?;
        let Some(at) = pack.find(self.files, oid)? else {
            return Ok(None);
        };
        let mut effort = 0;
        let object = pack.object(self.files, at, most, &mut effort);
        self.add_effort(effort);
        object.map(Some)
    }

    fn loose(&self, store: &Store, oid: &Oid, most: u64) -> Result<Option<Object>, GitError> {
        let path = loose_path(store, oid);
        self.take_effort(LOOKUP)?;
        let Some(stored) = size(self.files, &path)? else {
            return Ok(None);
        };
        self.take_effort(stored.min(most))?;
        let mut stream = inflater(self.files, &path, 0, most);
        // "commit 123" and a zero byte.
        let mut head = Vec::new();
        loop {
            let mut byte = [0];
            (stream.read_exact(&mut byte)).map_err(|source| broken_stream(&path, source))?;
            match byte {
                [0] => break,
                _ if head.len() == 32 => return Err(GitError::damaged(&path, "it has no head")),
                [byte] => head.push(byte),
            }
        }
        let (kind, size) = loose_head(&head).ok_or_else(|| GitError::damaged(&path, "it has no head"))?;
        if size > most {
            return Err(GitError::too_large(&path, most));
        }
        self.take_effort(size)?;
        let bytes = rest_of(stream, &path, size)?;
        Ok(Some(Object { kind, bytes }))
    }

    /// Returns the repository's own objects, and the directories from which it borrows others.
    pub(super) fn stores(&self) -> Result<&[Store], GitError> {
        if let Some(stores) = self.stores.get() {
            return Ok(stores);
        }
        let mut open = vec![below(self.common_dir()?, "objects")];
        let (mut seen, mut stores) = (BTreeSet::new(), Vec::new());
        while let Some(dir) = open.pop() {
            if !seen.insert(dir.clone()) {
                continue;
            }
            if stores.len() == MOST_STORES {
                self.doubts
                    .add(format!("it borrows objects from more than {MOST_STORES} places"));
                break;
            }
            match look(self.files, &dir) {
                Ok(Some(Found::Directory)) => {}
                Ok(_) => {
                    self.doubts
                        .add(format!("{} is not a directory", shown(dir.as_bytes())));
                    continue;
                }
                Err(error) => {
                    self.doubts.add(error);
                    continue;
                }
            }
            for line in self.doubts.settle(self.alternates_of(&dir)) {
                match self.resolve_dir(&dir, &line) {
                    Some(path) => open.push(path),
                    None => self.doubts.add(format!(
                        "it borrows objects from {}, which is elsewhere: they are not read",
                        shown(&line)
                    )),
                }
            }
            let packs = self.packs(&dir);
            stores.push(Store {
                dir,
                packs,
                last: Cell::new(0),
            });
        }
        Ok(self.stores.get_or_init(|| stores))
    }

    /// Returns the directories from which objects are borrowed, as `info/alternates` names them.
    #[must_use]
    pub fn alternates(&self) -> Vec<Vec<u8>> {
        let lines = self
            .common_dir()
            .and_then(|common| self.alternates_of(&below(common, "objects")));
        self.doubts.settle(lines)
    }

    fn alternates_of(&self, dir: &RelPath) -> Result<Vec<Vec<u8>>, GitError> {
        let text = whole(self.files, &below(dir, "info/alternates"), SMALL)?.unwrap_or_default();
        let lines = text.split(|byte| *byte == b'\n');
        let lines = lines.filter(|line| !line.is_empty() && !line.starts_with(b"#"));
        Ok(lines.map(<[u8]>::to_vec).collect())
    }

    fn packs(&self, dir: &RelPath) -> Vec<Pack> {
        let dir = below(dir, "pack");
        let names = match look(self.files, &dir) {
            Ok(Some(Found::Directory)) => {
                (self.files.names(&dir)).map_err(|source| GitError::io(&dir, source))
            }
            Ok(None) => Ok(Vec::new()),
            Ok(Some(_)) => Err(GitError::damaged(&dir, "it is not a directory")),
            Err(error) => Err(error),
        };
        let names: BTreeSet<Name> = self.doubts.settle(names).into_iter().collect();
        let mut packs = Vec::new();
        for name in &names {
            let Some(stem) = name.as_bytes().strip_suffix(b".pack") else {
                continue;
            };
            let path = dir.join(name);
            let idx = Name::new(&[stem, b".idx"].concat()).ok();
            let idx = idx.filter(|idx| names.contains(idx));
            let Some(idx) = idx.and_then(|idx| below_foreign(&dir, idx.as_bytes())) else {
                let doubt = GitError::damaged(&path, "it has no index: its objects are not seen");
                self.doubts.add(doubt);
                continue;
            };
            if packs.len() == MOST_PACKS {
                self.doubts
                    .add(format!("more than {MOST_PACKS} packs: the rest is not seen"));
                break;
            }
            match Pack::open(self.files, path, idx) {
                Ok(pack) => packs.push(pack),
                Err(error) => self.doubts.add(error),
            }
        }
        packs
    }

    /// Returns true if a pack came from a server that withholds other objects.
    pub(super) fn has_promisor_pack(&self) -> bool {
        let stores = self.stores().unwrap_or_default();
        let mut packs = stores.iter().flat_map(|store| &store.packs);
        packs.any(|pack| {
            let path = pack.path().as_bytes();
            let stem = path.strip_suffix(b".pack").unwrap_or(path);
            let promisor = RelPath::new(&[stem, b".promisor"].concat());
            promisor.is_ok_and(|path| matches!(self.files.look(&path), Ok(Some(_))))
        })
    }
}

/// Returns the names of the objects that the index of a pack lists; `None` for more than `most`.
///
/// # Errors
/// [`GitError`].
pub fn indexed(files: &dyn Files, idx: &RelPath, most: u32) -> Result<Option<Vec<Oid>>, GitError> {
    let index = PackIndex::open(files, idx.clone())?;
    if index.count() > most {
        return Ok(None);
    }
    let mut names = Vec::new();
    index.each_name(files, &mut |oid| names.push(*oid))?;
    Ok(Some(names))
}

fn loose_path(store: &Store, oid: &Oid) -> RelPath {
    let hex = oid.to_string();
    let (fan, rest) = hex.split_at_checked(2).unwrap_or_default();
    below(&store.dir, &format!("{fan}/{rest}"))
}

fn loose_head(head: &[u8]) -> Option<(ObjectKind, u64)> {
    let mut rest = Cursor(head);
    let kind = ObjectKind::from_word(rest.until(b' ')?)?;
    let is_number = !rest.0.is_empty() && rest.0.iter().all(u8::is_ascii_digit);
    let size = is_number.then(|| std::str::from_utf8(rest.0).ok()?.parse().ok());
    Some((kind, size.flatten()?))
}

pub(super) fn damaged(oid: &Oid, why: &str) -> GitError {
    GitError::Damaged {
        path: format!("object {oid}"),
        why: why.to_owned(),
    }
}
