//! Where jackin's isolated mounts really lie: each container has a worktree or a clone of its own, and says so in
//! `<jackin home>/data/<container>/.jackin/isolation.json`. Read only.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::platform::{NodeKind, stat_path};
use crate::snapshot::ByteString;

/// The form of the file that is known.
const VERSION: u64 = 1;
/// A larger one is none of jackin's.
const LARGEST: u64 = 4 << 20;
/// The status of a mount in which an agent may be at work.
const ACTIVE: &str = "active";

/// The isolated mounts of one workspace in which agents may be at work.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Isolated {
    /// By the path in the container: the container, and the directory on the host.
    copies: BTreeMap<String, Vec<(String, PathBuf)>>,
    /// Files that may tell of another, and could not be read.
    pub unread: Vec<Unread>,
}

/// A file of jackin's that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Unread {
    /// The file.
    pub path: ByteString,
    /// Why, without anything that stands in it.
    pub reason: String,
}

impl Isolated {
    /// Every container's copy of the mount at `dst`.
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

/// Reads what all containers below jackin's home say of a workspace.
#[must_use]
pub fn isolated(jackin_home: &Path, workspace: &str) -> Isolated {
    let mut found = Isolated::default();
    let Ok(containers) = fs::read_dir(jackin_home.join("data")) else {
        return found;
    };
    let mut containers: Vec<PathBuf> = containers.flatten().map(|entry| entry.path()).collect();
    containers.sort();
    for container in containers {
        let path = container.join(".jackin/isolation.json");
        let records = match read(&path) {
            Ok(records) => records,
            Err(reason) => {
                let path = ByteString::from(path.as_path());
                found.unread.push(Unread { path, reason });
                continue;
            }
        };
        for record in records {
            let is_ours = record.workspace.as_deref() == Some(workspace)
                && record.cleanup_status.as_deref() == Some(ACTIVE);
            let place = record.worktree_path.filter(|path| path.is_absolute());
            if let (true, Some(dst), Some(place)) = (is_ours, record.mount_dst, place) {
                let name = container.file_name().unwrap_or_default().to_string_lossy();
                let name = record.container_name.unwrap_or_else(|| name.into_owned());
                found.copies.entry(dst).or_default().push((name, place));
            }
        }
    }
    found
}

/// Nothing, when there is no such file.
fn read(path: &Path) -> Result<Vec<Record>, String> {
    match stat_path(path) {
        Ok(None) => return Ok(Vec::new()),
        Ok(Some(stat)) if stat.kind == NodeKind::File && stat.size <= LARGEST => {}
        Ok(Some(_)) => return Err("it is no file of jackin's".to_owned()),
        // A file lies where the directory of a container would.
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => return Ok(Vec::new()),
        Err(error) => return Err(error.to_string()),
    }
    let mut text = Vec::new();
    let file = fs::File::open(path).map_err(|error| error.to_string())?;
    file.take(LARGEST)
        .read_to_end(&mut text)
        .map_err(|error| error.to_string())?;
    // What serde says may quote the file.
    let file: File = serde_json::from_slice(&text).map_err(|error| match error.is_data() {
        true => format!("line {} is not what jackin writes", error.line()),
        false => format!("it is no JSON (line {})", error.line()),
    })?;
    if file.version == VERSION {
        Ok(file.records)
    } else {
        Err(format!("it has version {}, and {VERSION} is known", file.version))
    }
}
