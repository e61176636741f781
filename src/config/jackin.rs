//! jackin's records of its own instances, below `<jackin home>/data`. They are only read, and only the known parts.

mod instances;
mod isolated;

pub use instances::{JackinInstance, JackinInstances, jackin_instances};
pub use isolated::{Isolated, isolated};

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::model::ByteString;
use handle_fs::{NodeKind, stat_path};

/// Maximum size of a file, in bytes; a larger one is not jackin's.
const LARGEST: u64 = 4 << 20;
/// Maximum number of containers to examine.
const MOST_CONTAINERS: usize = 10_000;

/// A file of jackin's that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Unread {
    /// The file.
    pub path: ByteString,
    /// Why, without anything that stands in it.
    pub reason: String,
    /// The container that it would tell of, when it is one alone.
    #[serde(skip)]
    pub container: Option<String>,
}

impl Unread {
    fn new(path: &Path, reason: String, container: Option<String>) -> Self {
        let path = ByteString::from(path);
        Self {
            path,
            reason,
            container,
        }
    }
}

/// Returns the directories of all containers, sorted.
fn containers(jackin_home: &Path) -> Vec<PathBuf> {
    let Ok(found) = fs::read_dir(jackin_home.join("data")) else {
        return Vec::new();
    };
    let mut found: Vec<PathBuf> = found.flatten().map(|entry| entry.path()).collect();
    found.sort();
    found.truncate(MOST_CONTAINERS);
    found
}

/// Reads a JSON file; `None` if there is no such file.
fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, String> {
    match stat_path(path) {
        Ok(None) => return Ok(None),
        Ok(Some(stat)) if stat.kind == NodeKind::File && stat.size <= LARGEST => {}
        Ok(Some(_)) => return Err("it is not a file of jackin's".to_owned()),
        // A file lies where the directory of a container would.
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => return Ok(None),
        Err(error) => return Err(error.to_string()),
    }
    let mut text = Vec::new();
    let file = fs::File::open(path).map_err(|error| error.to_string())?;
    file.take(LARGEST)
        .read_to_end(&mut text)
        .map_err(|error| error.to_string())?;
    // The message of serde may quote the file.
    let object: serde_json::Map<_, _> =
        serde_json::from_slice(&text).map_err(|error| match error.is_data() {
            true => "it is not a JSON object".to_owned(),
            false => format!("it is not JSON (line {})", error.line()),
        })?;
    let read = T::deserialize(serde_json::Value::Object(object));
    read.map(Some)
        .map_err(|_| "it is not what jackin writes".to_owned())
}
