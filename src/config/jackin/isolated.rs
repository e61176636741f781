//! Host directories of jackin's isolated mounts. Each container has its own worktree or clone, recorded in
//! `<jackin home>/data/<container>/.jackin/isolation.json`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::{Unread, containers, read};

/// Known version of the file.
const VERSION: u64 = 1;
/// The status of a mount in which an agent may be at work.
const ACTIVE: &str = "active";

/// The isolated mounts of one workspace in which agents may be at work.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Isolated {
    /// Container and host directory of each copy, by the path in the container.
    copies: BTreeMap<String, Vec<(String, PathBuf)>>,
    /// Files that may describe another copy, and could not be read.
    pub unread: Vec<Unread>,
}

impl Isolated {
    /// Returns every container's copy of the mount at `dst`.
    #[must_use]
    pub fn copies(&self, dst: &str) -> &[(String, PathBuf)] {
        self.copies.get(dst).map(Vec::as_slice).unwrap_or_default()
    }
}

#[derive(Deserialize)]
struct File {
    version: u64,
    records: Vec<Record>,
}

#[derive(Deserialize)]
struct Record {
    workspace: Option<String>,
    mount_dst: Option<String>,
    worktree_path: Option<PathBuf>,
    container_name: Option<String>,
    cleanup_status: Option<String>,
}

/// Reads the isolated mounts of a workspace from all containers below jackin's home, or from `only` one.
#[must_use]
pub fn isolated(jackin_home: &Path, workspace: &str, only: Option<&str>) -> Isolated {
    let mut found = Isolated::default();
    for container in containers(jackin_home) {
        let own = container.file_name().unwrap_or_default().to_string_lossy();
        if only.is_some_and(|only| only != own) {
            continue;
        }
        let path = container.join(".jackin/isolation.json");
        let records = match records(&path) {
            Ok(records) => records,
            Err(reason) => {
                found.unread.push(Unread::new(&path, reason, None));
                continue;
            }
        };
        for record in records {
            let is_ours = record.workspace.as_deref() == Some(workspace)
                && record.cleanup_status.as_deref() == Some(ACTIVE);
            let place = record.worktree_path.filter(|path| path.is_absolute());
            if let (true, Some(dst), Some(place)) = (is_ours, record.mount_dst, place) {
                let name = record.container_name.unwrap_or_else(|| own.clone().into_owned());
                found.copies.entry(dst).or_default().push((name, place));
            }
        }
    }
    found
}

fn records(path: &Path) -> Result<Vec<Record>, String> {
    match read::<File>(path)? {
        None => Ok(Vec::new()),
        Some(file) if file.version == VERSION => Ok(file.records),
        Some(file) => Err(format!("it has version {}, and {VERSION} is known", file.version)),
    }
}
