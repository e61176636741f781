//! Repositories of any files. Whatever they hold, reading them ends, and what is read twice is the same.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::io;

use git_reader::{Files, Found, Repository, executables, unpushed};
use jackin_recovery::model::{Name, RelPath};

use super::feed::Feed;

/// More files make an input slow, and say nothing new.
const MOST_FILES: usize = 200;

/// Files by path, and the directories that follow from them.
struct Memory {
    files: BTreeMap<RelPath, Vec<u8>>,
    directories: BTreeMap<RelPath, BTreeSet<Name>>,
    effort: Cell<u64>,
}

impl Memory {
    fn of(bytes: &[u8]) -> Self {
        let mut memory = Self {
            files: BTreeMap::new(),
            directories: BTreeMap::from([(RelPath::root(), BTreeSet::new())]),
            effort: Cell::default(),
        };
        let mut feed = Feed(bytes);
        while !feed.is_empty() && memory.files.len() < MOST_FILES {
            let (path, content) = (feed.piece(), feed.piece());
            if let Ok(path) = RelPath::new(path) {
                memory.put(path, content);
            }
        }
        memory
    }

    fn put(&mut self, path: RelPath, content: &[u8]) {
        let blocked = path.ancestors().any(|above| self.files.contains_key(&above));
        if path.is_root() || blocked || self.directories.contains_key(&path) {
            return;
        }
        let mut at = path.clone();
        while let Some((parent, name)) = at.split() {
            self.directories.entry(parent.clone()).or_default().insert(name);
            at = parent;
        }
        self.files.insert(path, content.to_vec());
    }
}

impl Files for Memory {
    fn look(&self, path: &RelPath) -> io::Result<Option<Found>> {
        let file = self.files.get(path).map(|content| Found::File {
            size: content.len() as u64,
            executable: content.starts_with(b"#!"),
        });
        let directory = || self.directories.contains_key(path).then_some(Found::Directory);
        Ok(file.or_else(directory))
    }

    fn names(&self, dir: &RelPath) -> io::Result<Vec<Name>> {
        let names = self.directories.get(dir).ok_or(io::ErrorKind::NotFound)?;
        Ok(names.iter().cloned().collect())
    }

    fn read_at(&self, path: &RelPath, room: &mut [u8], at: u64) -> io::Result<usize> {
        let content = self.files.get(path).ok_or(io::ErrorKind::NotFound)?;
        let from = usize::try_from(at).unwrap_or(usize::MAX);
        let rest = content.get(from..).unwrap_or_default();
        let count = rest.len().min(room.len());
        room[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }

    fn effort(&self) -> &Cell<u64> {
        &self.effort
    }
}

/// Paths and what the files hold, each behind its length.
pub fn git(bytes: &[u8]) -> bool {
    let files = Memory::of(bytes);
    let told = read(&files);
    assert_eq!(told, read(&files), "the same files are another repository");
    told.is_some_and(|(whole, _)| whole)
}

/// Everything that can be asked; whether there is a commit with a tree, and all that was said.
fn read(files: &Memory) -> Option<(bool, String)> {
    files.effort.set(0);
    let repository = Repository::open(files, &RelPath::root()).ok()??;
    let head = repository.head();
    let commit = head.as_ref().ok().and_then(|head| head.commit);
    let commit = commit.and_then(|id| repository.commit(&id).ok()?);
    let tree = commit
        .as_ref()
        .and_then(|commit| repository.tree(&commit.tree).ok()?);
    let refs = repository.refs();
    for oid in refs.iter().flat_map(|refs| refs.values()).take(20) {
        let _ = repository.object(oid);
        let _ = repository.peel(oid);
    }
    let told = format!(
        "{head:?} {commit:?} {tree:?} {refs:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?}",
        repository.index(),
        repository.config(),
        repository.remotes(),
        repository.submodules(),
        repository.worktrees(),
        repository.alternates(),
        (
            repository.stashes(),
            repository.is_shallow(),
            repository.is_partial()
        ),
        repository.operations(),
        unpushed(&repository),
        executables(&repository),
        repository.doubts(),
    );
    Some((tree.is_some(), told))
}
