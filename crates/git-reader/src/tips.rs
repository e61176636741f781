//! Refs other than branches: tags, notes, a detached HEAD, other work trees, ORIG_HEAD and similar.

use super::reading::{below, whole};
use super::repository::Repository;
use super::{GitError, Oid, Refs};
use handle_fs::RelPath;

/// Maximum bytes of one such file: `FETCH_HEAD` has a line for each fetched branch.
const MOST_LINES: u64 = 4 << 20;

/// A ref and the object it names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tip {
    /// A ref's name, or a file in the git directory, e.g. `refs/tags/v1`, `HEAD`, `worktrees/side/ORIG_HEAD`.
    pub name: Vec<u8>,
    /// The object it names.
    pub oid: Oid,
    /// True if git protects the object from removal. It does not for `ORIG_HEAD` and the like, whose object may be gone.
    pub is_kept: bool,
}

impl Repository<'_> {
    /// Returns everything that names an object and is neither a branch nor a remote branch. Stashes and replacements are skipped,
    /// because they make a repository dirty by themselves. Unreadable parts are a doubt.
    #[must_use]
    pub fn tips(&self, refs: &Refs) -> Vec<Tip> {
        let apart: [&[u8]; 3] = [b"refs/heads/", b"refs/remotes/", b"refs/replace/"];
        let is_other =
            |name: &[u8]| name != b"refs/stash" && !apart.iter().any(|part| name.starts_with(part));
        let mut tips: Vec<Tip> = refs
            .iter()
            .filter(|(name, _)| is_other(name))
            .map(|(name, oid)| Tip {
                name: name.clone(),
                oid: *oid,
                is_kept: true,
            })
            .collect();
        let mut places: Vec<(Vec<u8>, RelPath)> = Vec::new();
        if let Some(own) = self.git_dir() {
            places.push((Vec::new(), own.clone()));
        }
        if let Some(common) = self.shared_git_dir() {
            if self.git_dir() != Some(common) {
                places.push((b"main/".to_vec(), common.clone()));
            }
            for name in self.worktrees() {
                let label = [b"worktrees/", name.as_slice(), b"/"].concat();
                let path = String::from_utf8(name)
                    .ok()
                    .map(|name| below(common, &format!("worktrees/{name}")));
                match path {
                    Some(path) if Some(&path) != self.git_dir() => {
                        tips.extend(self.own_refs(&label, &path));
                        places.push((label, path));
                    }
                    Some(_) => {}
                    None => self.doubts.add("a work tree has a name that is not UTF-8"),
                }
            }
        }
        for (label, place) in places {
            tips.extend(self.root_refs(&label, &place));
        }
        tips
    }

    /// Returns the refs that a work tree has for itself.
    fn own_refs(&self, label: &[u8], place: &RelPath) -> Vec<Tip> {
        let files = self.files_below(&below(place, "refs"));
        let tip = |path: RelPath| {
            let text = self.doubts.settle(whole(self.files, &path, MOST_LINES))?;
            let name = path.as_bytes().strip_prefix(place.as_bytes()).unwrap_or_default();
            let name = name.strip_prefix(b"/").unwrap_or(name);
            let oid = object(text.as_slice())?;
            Some(Tip {
                name: [label, name].concat(),
                oid,
                is_kept: true,
            })
        };
        files.into_iter().filter_map(|(path, _)| tip(path)).collect()
    }

    /// Returns `HEAD`, `ORIG_HEAD`, `FETCH_HEAD` and the like in a git directory. One that names a ref holds nothing itself.
    fn root_refs(&self, label: &[u8], place: &RelPath) -> Vec<Tip> {
        let names = self.files.names(place);
        let names = self
            .doubts
            .settle(names.map_err(|source| GitError::io(place, source)));
        let is_root = |name: &[u8]| {
            let is_letter = |byte: &u8| byte.is_ascii_uppercase() || matches!(byte, b'_' | b'-');
            let is_text = name.ends_with(b"MSG") || name == b"BISECT_LOG" || name == b"BISECT_NAMES";
            name.iter().all(is_letter) && !is_text
        };
        let mut tips = Vec::new();
        for name in names.iter().filter(|name| is_root(name.as_bytes())) {
            let path = place.join(name);
            let text = self.doubts.settle(whole(self.files, &path, MOST_LINES));
            for line in text.unwrap_or_default().split(|byte| *byte == b'\n') {
                tips.extend(object(line).map(|oid| Tip {
                    name: [label, name.as_bytes()].concat(),
                    oid,
                    is_kept: name.as_bytes() == b"HEAD",
                }));
            }
        }
        tips
    }
}

/// Returns the object that a line begins with.
fn object(line: &[u8]) -> Option<Oid> {
    let (hex, rest) = line.split_at_checked(40)?;
    let oid = Oid::parse(hex).filter(|_| rest.first().is_none_or(u8::is_ascii_whitespace))?;
    (!oid.is_null()).then_some(oid)
}
