//! Repositories: their directories, and the check that their format is known.

use std::cell::{Cell, OnceCell};
use std::os::unix::ffi::OsStrExt as _;

use super::config::{Config, IncludedConfig};
use super::error::{Doubts, shown};
use super::object_directory::Store;
use super::reading::{SMALL, below, look, whole};
use super::{Files, Found, GitError, Refs};
use handle_fs::{Name, RelPath};

/// Relation of a work tree to its git directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GitDir {
    /// The git directory is in the tree that is read (`.git`, or the target of the file `.git`).
    Inside(RelPath),
    /// The git directory lies elsewhere, at the path in the file or the link `.git`. Nothing of it is read.
    Elsewhere(Vec<u8>),
    /// The directory is a repository itself, without a work tree.
    Bare,
}

/// The list of packed refs.
pub(super) struct PackedList {
    pub(super) refs: Refs,
    /// Reason why a part of the list is not among the refs, if one is not.
    pub(super) unread: Option<String>,
}

/// Repository that is read file by file; git is never started. Unreadable parts are errors, or appear in [`Self::doubts`].
pub struct Repository<'a> {
    pub(super) files: &'a dyn Files,
    pub(super) work: RelPath,
    shape: GitDir,
    own: Option<RelPath>,
    common: Option<RelPath>,
    pub(super) config: Config,
    pub(super) included: Vec<IncludedConfig>,
    unknown: Option<String>,
    pub(super) doubts: Doubts,
    pub(super) packed: OnceCell<PackedList>,
    pub(super) stores: OnceCell<Vec<Store>>,
    /// Part of the effort of the tree that objects took for this repository.
    pub(super) own_effort: Cell<u64>,
}

impl<'a> Repository<'a> {
    /// Opens the repository whose work tree is `work`, or that is `work` itself. `None` if there is none.
    ///
    /// # Errors
    /// [`GitError`] if the objects there cannot be examined.
    pub fn open(files: &'a dyn Files, work: &RelPath) -> Result<Option<Self>, GitError> {
        let dot = dot_git(files, work)?;
        let doubts = Doubts::default();
        let shape = match look(files, &dot)? {
            Some(Found::Directory) if holds_any(files, &dot)? => GitDir::Inside(dot),
            Some(Found::File { .. }) => pointed(files, work, &dot)?,
            Some(Found::Symlink(target)) => {
                doubts.add(format!("{} is a link", shown(dot.as_bytes())));
                resolve(files, work, &target).map_or(GitDir::Elsewhere(target), GitDir::Inside)
            }
            None | Some(Found::Directory) if is_bare(files, work)? => GitDir::Bare,
            None | Some(Found::Directory) => return Ok(None),
            Some(Found::Other) => {
                return Err(GitError::NotAFile {
                    path: shown(dot.as_bytes()),
                });
            }
        };
        let own = match &shape {
            GitDir::Inside(path) => Some(path.clone()),
            GitDir::Bare => Some(work.clone()),
            GitDir::Elsewhere(path) => {
                doubts.add(elsewhere(path));
                None
            }
        };
        let mut repository = Self {
            files,
            work: work.clone(),
            shape,
            common: None,
            own,
            config: Config::default(),
            included: Vec::new(),
            unknown: None,
            doubts,
            packed: OnceCell::new(),
            stores: OnceCell::new(),
            own_effort: Cell::default(),
        };
        repository.find_common();
        (repository.config, repository.included) = repository.read_config();
        repository.check_format();
        repository.check_parts();
        Ok(Some(repository))
    }

    /// Returns the relation of the work tree to the git directory.
    #[must_use]
    pub fn shape(&self) -> &GitDir {
        &self.shape
    }

    /// Returns the git directory of this work tree; `None` if it lies elsewhere.
    #[must_use]
    pub fn git_dir(&self) -> Option<&RelPath> {
        self.own.as_ref()
    }

    /// Returns the git directory that all work trees share: objects, refs, configuration. `None` if it lies elsewhere.
    #[must_use]
    pub fn shared_git_dir(&self) -> Option<&RelPath> {
        self.common.as_ref()
    }

    /// Returns the directory of objects if it is not there because the files exclude it: no commit can be read then.
    #[must_use]
    pub fn excluded_objects(&self) -> Option<RelPath> {
        let objects = below(self.common.as_ref()?, "objects");
        let is_missing = matches!(look(self.files, &objects), Ok(None));
        (is_missing && self.files.excludes(&objects)).then_some(objects)
    }

    /// Returns the messages about parts that could not be read so far, or are not understood.
    #[must_use]
    pub fn doubts(&self) -> Vec<String> {
        self.doubts.list()
    }

    pub(super) fn own_dir(&self) -> Result<&RelPath, GitError> {
        self.own.as_ref().ok_or_else(|| match &self.shape {
            GitDir::Elsewhere(path) => elsewhere(path),
            _ => elsewhere(b".git"),
        })
    }

    pub(super) fn common_dir(&self) -> Result<&RelPath, GitError> {
        let own = self.own_dir()?;
        self.common
            .as_ref()
            .ok_or_else(|| elsewhere(&[own.as_bytes(), b"/commondir"].concat()))
    }

    /// Fails if the format is unknown; objects, refs and the index must then not be read.
    pub(super) fn understood(&self) -> Result<(), GitError> {
        match &self.unknown {
            Some(what) => Err(GitError::NotUnderstood { what: what.clone() }),
            None => Ok(()),
        }
    }

    /// Resolves a directory named by an absolute path, or by one relative to `base`; `None` if it lies elsewhere.
    pub(super) fn resolve_dir(&self, base: &RelPath, path: &[u8]) -> Option<RelPath> {
        resolve(self.files, base, path)
    }

    fn find_common(&mut self) {
        let Some(own) = &self.own else { return };
        let path = below(own, "commondir");
        match whole(self.files, &path, SMALL) {
            Ok(None) => self.common = Some(own.clone()),
            Ok(Some(text)) => {
                let text = line(&text);
                self.common = resolve(self.files, own, text);
                if self.common.is_none() {
                    self.doubts.add(elsewhere(text));
                }
            }
            Err(error) => self.doubts.add(error),
        }
    }

    /// Returns the text of `commondir` if it does not lead from a linked work tree to the git directory above, where git puts these.
    pub(super) fn unusual_commondir(&self, own: &RelPath) -> Option<Vec<u8>> {
        let text = whole(self.files, &below(own, "commondir"), SMALL).ok()??;
        let above = own.split().and_then(|(above, _)| above.split());
        let is_linked = above.is_some_and(|(_, name)| name.as_bytes() == b"worktrees");
        (!is_linked || line(&text) != b"../..").then(|| line(&text).to_vec())
    }

    /// Checks for features of a newer git that change how the files must be read.
    fn check_format(&mut self) {
        let version = self.config.last("core", None, "repositoryformatversion");
        let version = version.map_or(b"0".to_vec(), |value| value.unwrap_or_default().to_vec());
        let version: u32 = match std::str::from_utf8(&version).map(str::trim).map(str::parse) {
            Ok(Ok(version)) => version,
            _ => u32::MAX,
        };
        if version > 1 {
            let what = "core.repositoryformatversion is neither 0 nor 1: the format of the repository";
            self.not_understood(what.to_owned());
        }
        let mut found = Vec::new();
        for entry in self.config.section("extensions") {
            let value = entry.value.as_deref().unwrap_or(b"true");
            let value = value.to_ascii_lowercase();
            let key = entry.key.as_slice();
            let is_known = match key {
                b"noop" | b"noop-v1" | b"partialclone" | b"preciousobjects" | b"worktreeconfig"
                | b"relativeworktrees" => continue,
                b"objectformat" => value == b"sha1",
                b"refstorage" => value == b"files",
                // It adds a second name to each object, beside the ones that are read here.
                b"compatobjectformat" => {
                    self.doubts
                        .add("extensions.compatobjectformat: only SHA-1 is read");
                    continue;
                }
                _ => false,
            };
            if !is_known {
                let what = [b"the unknown extension extensions.", key, b" = ", &value].concat();
                found.push(shown(&what));
            }
        }
        for what in found {
            self.not_understood(what);
        }
    }

    fn not_understood(&mut self, what: String) {
        self.doubts.add(format!("{what} is not understood"));
        self.unknown.get_or_insert(what);
    }

    fn check_parts(&self) {
        let Some(common) = &self.common else { return };
        let own = self.own.as_ref().unwrap_or(common);
        for (dir, part) in [(own, "HEAD"), (common, "objects"), (common, "refs")] {
            let path = below(dir, part);
            let is_whole = match look(self.files, &path) {
                Ok(Some(Found::Directory)) => part != "HEAD",
                // An old git made HEAD a link to the branch.
                Ok(Some(Found::File { .. } | Found::Symlink(_))) => part == "HEAD",
                Ok(_) => false,
                Err(error) => {
                    self.doubts.add(error);
                    continue;
                }
            };
            let is_excluded = !is_whole && self.files.excludes(&path);
            // Without objects only commits are unknown: see `excluded_objects`.
            if is_whole || is_excluded && part == "objects" {
                continue;
            }
            let what = match is_excluded {
                true => "is excluded, so it cannot be read",
                false => "is missing, or is something else: git does not take this for a repository",
            };
            self.doubts.add(format!("{} {what}", shown(path.as_bytes())));
        }
        for old in ["remotes", "branches", "info/grafts"] {
            let path = below(common, old);
            if let Ok(Some(Found::File { .. } | Found::Directory)) = look(self.files, &path)
                && !matches!(self.files.names(&path), Ok(names) if names.is_empty())
            {
                self.doubts
                    .add(format!("{} is not understood", shown(path.as_bytes())));
            }
        }
    }
}

impl std::fmt::Debug for Repository<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Repository");
        shown.field("work", &self.work).field("shape", &self.shape);
        shown.finish_non_exhaustive()
    }
}

fn elsewhere(path: &[u8]) -> GitError {
    GitError::Elsewhere { path: shown(path) }
}

/// Returns the first line, without its end.
pub(super) fn line(text: &[u8]) -> &[u8] {
    let line = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Returns true if git takes a name for `.git` in a directory that ignores case. Git refuses to track such names on every system.
#[must_use]
pub fn is_dot_git(name: &[u8]) -> bool {
    const LONGEST: usize = 24;
    // This is asked of every name. Few are that short, and nearly all begin with another letter: one that is skipped is not ASCII.
    let may_be = matches!(name, [first, ..] if *first == b'.' || !first.is_ascii());
    may_be && (4..=LONGEST).contains(&name.len()) && handle_fs::is_one_name(name, b".git")
}

/// Returns the path of `.git` in a work tree. Stored files answer to exact names, also where git found it under another case.
pub(super) fn dot_git(files: &dyn Files, work: &RelPath) -> Result<RelPath, GitError> {
    let dot = below(work, ".git");
    if look(files, &dot)?.is_some() {
        return Ok(dot);
    }
    let names = files.names(work).unwrap_or_default();
    let alike = names.iter().find(|name| is_dot_git(name.as_bytes()));
    Ok(alike.map_or(dot, |name| work.join(name)))
}

/// Returns true if a part of a git directory exists. A damaged repository counts as one.
pub(super) fn holds_any(files: &dyn Files, dir: &RelPath) -> Result<bool, GitError> {
    for part in ["HEAD", "objects", "refs", "config"] {
        if look(files, &below(dir, part))?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns true if a directory is a repository without a work tree.
pub(super) fn is_bare(files: &dyn Files, dir: &RelPath) -> Result<bool, GitError> {
    let is_dir = |part| Ok(look(files, &below(dir, part))? == Some(Found::Directory));
    Ok(look(files, &below(dir, "HEAD"))?.is_some() && is_dir("objects")? && is_dir("refs")?)
}

/// Returns the git directory to which the file `.git` points.
fn pointed(files: &dyn Files, work: &RelPath, dot: &RelPath) -> Result<GitDir, GitError> {
    let text = whole(files, dot, SMALL)?.unwrap_or_default();
    let path = text.strip_prefix(b"gitdir: ").map(line);
    let path = path.filter(|path| !path.is_empty());
    let path = path.ok_or_else(|| GitError::damaged(dot, "it names no git directory"))?;
    Ok(match resolve(files, work, path) {
        Some(dir) if look(files, &dir)? == Some(Found::Directory) => GitDir::Inside(dir),
        _ => GitDir::Elsewhere(path.to_vec()),
    })
}

/// Follows a path part by part. `..` leaves only a real directory: behind a link, it would lead elsewhere than it does for git.
/// The object at the end, and links on the way, are found only when the path is read.
fn resolve(files: &dyn Files, base: &RelPath, path: &[u8]) -> Option<RelPath> {
    let (mut at, path) = if path.starts_with(b"/") {
        let host = files.host_path()?.as_os_str().as_bytes();
        let host = host.strip_suffix(b"/").unwrap_or(host);
        let rest = path.strip_prefix(host)?;
        (
            RelPath::root(),
            rest.strip_prefix(b"/").or(rest.is_empty().then_some(rest))?,
        )
    } else {
        (base.clone(), path)
    };
    for part in path.split(|byte| *byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." => {
                let is_real = matches!(files.look(&at), Ok(Some(Found::Directory)));
                (at, _) = at.split().filter(|_| is_real)?;
            }
            _ => at = at.join(&Name::new(part).ok()?),
        }
    }
    Some(at)
}
