//! Places outside of a tree that git uses when it runs in a work tree of it: such a tree is no copy of its own.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::config::Config;
use super::config_files::MOST_CONFIG;
use super::reading::{SMALL, look, whole};
use super::repository::{dot_git, holds_any, is_bare, line};
use super::{Files, Found, GitError};
use handle_fs::RelPath;

/// Parts of a git directory that git writes. Each may be a link, as `git-new-workdir` makes them.
const WRITTEN: [&str; 18] = [
    "HEAD",
    "config",
    "index",
    "info",
    "lfs",
    "logs",
    "logs/HEAD",
    "logs/refs",
    "modules",
    "objects",
    "objects/info",
    "objects/pack",
    "packed-refs",
    "refs",
    "refs/heads",
    "refs/remotes",
    "refs/tags",
    "worktrees",
];
/// Maximum bytes of a path that Linux takes; a longer one leads nowhere.
const MOST_PATH: usize = 4096;
/// Maximum number of links on the way to a place, as in Linux.
const MOST_LINKS: usize = 40;

/// End of a path that was followed.
enum End {
    /// In the tree; no part of it is a link.
    Inside(RelPath),
    /// Elsewhere on the host; nothing was looked up there.
    Outside(PathBuf),
}

/// Returns the places outside of the tree that git works on when it runs in `work`: its git directory, the one that all work trees
/// share, parts of these that are links, and the work tree that the configuration names. Empty if there is no repository.
///
/// Only the text of files and links in the tree decides. An absolute path that leads back into it is inside. Git may read what is too large
/// to be read here, so there may be more places; the error says so.
pub fn places_outside(files: &dyn Files, work: &RelPath) -> (Vec<PathBuf>, Option<GitError>) {
    let mut found = Vec::new();
    let unread = files.host_path().map_or(Ok(()), |host| {
        let tree = Tree { files, host };
        match tree.git_directory(work)? {
            Some(End::Inside(own)) => tree.of_git_directory(&own, &mut found)?,
            Some(End::Outside(place)) => found.push(place),
            None => {}
        }
        Ok(())
    });
    found.sort();
    // A link to a directory leads to all in it.
    found.dedup_by(|place, before| place.starts_with(before));
    (found, unread.err())
}

/// The tree, and its path on the host.
struct Tree<'a> {
    files: &'a dyn Files,
    host: &'a Path,
}

impl Tree<'_> {
    /// Returns the git directory of a work tree, or the directory itself if it is a bare repository.
    fn git_directory(&self, work: &RelPath) -> Result<Option<End>, GitError> {
        let dot = dot_git(self.files, work)?;
        if look(self.files, &dot)?.is_some() {
            let at = match self.follow(&RelPath::root(), dot.as_bytes())? {
                Some(End::Inside(at)) => at,
                end => return Ok(end),
            };
            match look(self.files, &at)? {
                Some(Found::File { .. }) => {
                    let text = whole(self.files, &at, SMALL)?.unwrap_or_default();
                    let path = text.strip_prefix(b"gitdir: ").map(line);
                    return path.map_or(Ok(None), |path| self.follow(work, path));
                }
                Some(Found::Directory) if holds_any(self.files, &at)? => return Ok(Some(End::Inside(at))),
                _ => {}
            }
        }
        Ok(is_bare(self.files, work)?.then(|| End::Inside(work.clone())))
    }

    fn of_git_directory(&self, own: &RelPath, found: &mut Vec<PathBuf>) -> Result<(), GitError> {
        let text = self.read(own, "commondir", SMALL)?;
        let common = match &text {
            None => own.clone(),
            Some(text) => match self.follow(own, line(text))? {
                Some(End::Inside(common)) => common,
                Some(End::Outside(place)) => {
                    found.push(place);
                    return Ok(());
                }
                None => return Ok(()),
            },
        };
        for dir in [own, &common] {
            for part in WRITTEN {
                if let Some(End::Outside(place)) = self.follow(dir, part.as_bytes())? {
                    found.push(place);
                }
            }
        }
        let shared = self.config(&common, "config")?;
        let mut config = Config::default();
        // Of a linked work tree git takes the work tree from its own configuration alone. Included files do not count for it.
        if text.is_none() {
            config.entries.clone_from(&shared.entries);
        }
        if shared.says("extensions", "worktreeconfig") {
            config
                .entries
                .extend(self.config(own, "config.worktree")?.entries);
        }
        let named = config.last("core", None, "worktree").flatten();
        if let Some(named) = named.filter(|named| !named.is_empty())
            && let Some(End::Outside(place)) = self.follow(own, named)?
        {
            found.push(place);
        }
        Ok(())
    }

    fn config(&self, dir: &RelPath, name: &str) -> Result<Config, GitError> {
        let text = self.read(dir, name, MOST_CONFIG)?.unwrap_or_default();
        Ok(Config::parse(&text).unwrap_or_else(|(before, _)| before))
    }

    /// Reads a file of a git directory, behind links that stay in the tree; `None` if there is none.
    fn read(&self, dir: &RelPath, name: &str, most: u64) -> Result<Option<Vec<u8>>, GitError> {
        match self.follow(dir, name.as_bytes())? {
            Some(End::Inside(path)) => whole(self.files, &path, most),
            _ => Ok(None),
        }
    }

    /// Follows a path of the host, or one relative to `base`, and the links in the tree on its way. `None` if it leads nowhere: these never end,
    /// or a path is too long.
    fn follow(&self, base: &RelPath, path: &[u8]) -> Result<Option<End>, GitError> {
        if path.len() > MOST_PATH {
            return Ok(None);
        }
        let mut at = base.on_host(self.host);
        let mut left: VecDeque<Vec<u8>> = VecDeque::new();
        let mut links = 0;
        begin(&mut at, &mut left, path);
        while let Some(part) = left.pop_front() {
            match part.as_slice() {
                b"" | b"." => continue,
                b".." => {
                    at.pop();
                    continue;
                }
                part => at.push(OsStr::from_bytes(part)),
            }
            let Some(inside) = self.inside(&at) else { continue };
            if let Some(Found::Symlink(target)) = look(self.files, &inside)? {
                links += 1;
                if links > MOST_LINKS {
                    return Ok(None);
                }
                at.pop();
                begin(&mut at, &mut left, &target);
            }
        }
        Ok(Some(match self.inside(&at) {
            Some(path) => End::Inside(path),
            None => End::Outside(at),
        }))
    }

    /// Returns the path in the tree of a path of the host; `None` if it lies elsewhere.
    fn inside(&self, at: &Path) -> Option<RelPath> {
        let below = at.strip_prefix(self.host).ok()?;
        RelPath::new(below.as_os_str().as_bytes()).ok()
    }
}

/// Puts the parts of a path before those that are left; an absolute one begins at the top.
fn begin(at: &mut PathBuf, left: &mut VecDeque<Vec<u8>>, path: &[u8]) {
    if path.starts_with(b"/") {
        *at = PathBuf::from("/");
    }
    for part in path.split(|byte| *byte == b'/').rev() {
        left.push_front(part.to_vec());
    }
}
