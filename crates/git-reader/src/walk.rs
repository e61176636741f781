//! All files below a directory of a repository, up to a limit.

use super::error::shown;
use super::reading::look;
use super::repository::Repository;
use super::{Found, GitError};
use handle_fs::RelPath;

/// Maximum number of files and directories that one walk visits.
pub(super) const MOST_VISITED: usize = 1_000_000;
/// Maximum depth of directories.
const DEEPEST: usize = 64;

impl Repository<'_> {
    /// Returns everything below `dir` except directories, in no order. Unreadable parts are a doubt.
    pub(super) fn files_below(&self, dir: &RelPath) -> Vec<(RelPath, Found)> {
        let (mut found, mut visited) = (Vec::new(), 0);
        let mut open = match look(self.files, dir) {
            Ok(None) => Vec::new(),
            Ok(Some(Found::Directory)) => vec![(dir.clone(), 0)],
            Ok(Some(_)) => {
                self.doubts.add(GitError::damaged(dir, "it is not a directory"));
                Vec::new()
            }
            Err(error) => {
                self.doubts.add(error);
                Vec::new()
            }
        };
        while let Some((dir, depth)) = open.pop() {
            let names = (self.files.names(&dir)).map_err(|source| GitError::io(&dir, source));
            for name in self.doubts.settle(names) {
                visited += 1;
                if visited > MOST_VISITED {
                    let what = "what follows is not read: there are more than";
                    self.doubts
                        .add(format!("{}: {what} {MOST_VISITED} files", shown(dir.as_bytes())));
                    return found;
                }
                let path = dir.join(&name);
                match look(self.files, &path) {
                    Ok(Some(Found::Directory)) if depth == DEEPEST => {
                        self.doubts
                            .add(GitError::damaged(&path, "it is nested too deeply"));
                    }
                    Ok(Some(Found::Directory)) => open.push((path, depth + 1)),
                    Ok(Some(other)) => found.push((path, other)),
                    // It went away meanwhile.
                    Ok(None) => {}
                    Err(error) => self.doubts.add(error),
                }
            }
        }
        found
    }
}
