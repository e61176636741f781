//! Holder of a lock file of git.

use std::path::{Path, PathBuf};

use super::git_directory::is_below;
use super::process_table::ProbeError;
use super::system;

/// The process that holds a lock file of git, with its number and what it calls itself (hostile text): one that has it open, or a
/// git whose working directory is one of `directories` or lies below it. Git closes a lock while an editor runs, and keeps it.
///
/// # Errors
/// Returns an error if it is unknown; treat that as held.
pub fn holder(lock: &Path, directories: &[PathBuf]) -> Result<Option<(u32, String)>, ProbeError> {
    let Some(file) = system::place(lock)? else {
        return Ok(None);
    };
    let owner = handle_fs::stat_path(lock).ok().flatten().map(|stat| stat.uid);
    let directories: Vec<_> = directories
        .iter()
        .filter_map(|path| system::place(path).transpose())
        .collect::<Result<_, _>>()?;
    let own = std::process::id();
    for seen in system::all()?
        .into_iter()
        .filter(|seen| !seen.dead && seen.pid != own)
    {
        let is_git = seen.name == "git" || seen.name.starts_with("git-");
        let works_there = || {
            let here = system::path_for(seen.pid, Path::new(""));
            here.is_some_and(|here| directories.iter().any(|directory| is_below(&here, *directory)))
        };
        if system::has_open(seen.pid, file) || (is_git && works_there()) {
            return Ok(Some((seen.pid, seen.name)));
        }
    }
    // What processes of somebody else have open only they can see, and root.
    match owner {
        Some(owner) if owner != handle_fs::own_ids().0 && !handle_fs::is_privileged() => {
            Err(ProbeError::Foreign { owner })
        }
        _ => Ok(None),
    }
}
