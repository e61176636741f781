//! jackin's instances: one container each, with the workspace of its agent. The file in a container's own directory is the
//! canonical one. The index beside it describes containers without such a file; where that file is damaged, it does not decide their
//! status.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Deserializer};

use super::{Unread, containers, read};

/// Path of a container's own file in its directory.
const INSTANCE_FILE: &str = ".jackin/instance.json";
/// Known versions of `instance.json` and `instances.json`.
const VERSION: u64 = 2;
const INDEX_VERSION: u64 = 1;

/// Status words of a session that is over. Any other word, also an unknown one, may mean a live agent.
const OVER: &[&str] = &[
    "clean_exited",
    "crashed",
    "preserved_dirty",
    "preserved_unpushed",
    "restore_available",
    "superseded",
    "purged",
    "failed_setup",
];
/// Word for docker. If something else runs a container, its absence from docker proves nothing.
const DOCKER: &str = "docker";

/// An instance of jackin. The texts come from jackin, or from anyone who can write its files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JackinInstance {
    /// jackin's own id of it.
    pub id: Option<String>,
    /// The name that its directory and its container have.
    pub container: String,
    /// The container in which the agent runs, when that has a name of its own.
    pub role_container: Option<String>,
    /// The workspace, when it has one.
    pub workspace: Option<String>,
    /// Working directory of the agent, in the container.
    pub workdir: Option<String>,
    /// `sha256:` and the hex digest of the host path that the agent works on.
    pub fingerprint: Option<String>,
    /// The role.
    pub role: Option<String>,
    /// The agent.
    pub agent: Option<String>,
    /// Status in jackin's own word; `None` if it is missing or is no text.
    pub status: Option<String>,
    /// Time of that status, as jackin writes it.
    pub updated_at: Option<String>,
    /// Program that runs the container; `None` means docker.
    pub backend: Option<String>,
    /// Version of a newer jackin's file, of which only the known parts are here; `None` for a known version.
    pub newer: Option<u64>,
    /// The file that describes it; its own one if that is damaged, and the rest is the index's.
    pub file: PathBuf,
    /// Reason why its own file cannot be read; `None` if it was read or does not exist.
    pub damaged: Option<String>,
}

impl JackinInstance {
    /// Returns true unless jackin's status says that the session is over. The status in a file of a newer version may mean something else.
    #[must_use]
    pub fn may_live(&self) -> bool {
        let is_over = |status: &str| OVER.contains(&status);
        self.newer.is_some() || !self.status.as_deref().is_some_and(is_over)
    }

    /// Returns the name to ask docker for; `None` if docker does not run it.
    #[must_use]
    pub fn docker_name(&self) -> Option<&str> {
        let is_docker = self.backend.as_deref().is_none_or(|backend| backend == DOCKER);
        is_docker.then(|| self.role_container.as_deref().unwrap_or(&self.container))
    }

    /// Returns true if `name` is the instance's container, id or role container.
    #[must_use]
    pub fn is_called(&self, name: &str) -> bool {
        self.container == name
            || self.id.as_deref() == Some(name)
            || self.role_container.as_deref() == Some(name)
    }
}

/// All instances that jackin has recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JackinInstances {
    /// Sorted by container.
    pub all: Vec<JackinInstance>,
    /// Files that may describe another instance, and could not be read.
    pub unread: Vec<Unread>,
}

impl JackinInstances {
    /// Returns the instance with this name: a container, or an id of jackin's.
    #[must_use]
    pub fn called(&self, name: &str) -> Option<&JackinInstance> {
        self.all.iter().find(|instance| instance.is_called(name))
    }
}

/// One entry of either file; a value of another type counts as missing.
#[derive(Deserialize)]
struct File {
    #[serde(default, deserialize_with = "number")]
    version: Option<u64>,
    #[serde(default, deserialize_with = "text")]
    instance_id: Option<String>,
    #[serde(default, deserialize_with = "text")]
    container_base: Option<String>,
    #[serde(default, deserialize_with = "text")]
    workspace_name: Option<String>,
    #[serde(default, deserialize_with = "text")]
    workdir: Option<String>,
    #[serde(default, deserialize_with = "text")]
    host_workdir_fingerprint: Option<String>,
    #[serde(default, deserialize_with = "text")]
    role_key: Option<String>,
    #[serde(default, deserialize_with = "text")]
    agent_runtime: Option<String>,
    #[serde(default, deserialize_with = "text")]
    status: Option<String>,
    #[serde(default, deserialize_with = "text")]
    updated_at: Option<String>,
    #[serde(default, deserialize_with = "text")]
    backend: Option<String>,
    #[serde(default)]
    docker: serde_json::Value,
}

#[derive(Deserialize)]
struct Index {
    version: u64,
    instances: Vec<File>,
}

fn text<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    let value = serde_json::Value::deserialize(from)?;
    Ok(value.as_str().filter(|text| !text.is_empty()).map(str::to_owned))
}

fn number<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    Ok(serde_json::Value::deserialize(from)?.as_u64())
}

impl File {
    fn instance(self, container: String, file: &Path) -> JackinInstance {
        let role_container = self.docker.get("role_container").and_then(|name| name.as_str());
        JackinInstance {
            id: self.instance_id,
            container,
            role_container: role_container.filter(|name| !name.is_empty()).map(str::to_owned),
            workspace: self.workspace_name,
            workdir: self.workdir,
            fingerprint: self.host_workdir_fingerprint,
            role: self.role_key,
            agent: self.agent_runtime,
            status: self.status,
            updated_at: self.updated_at,
            backend: self.backend,
            newer: self.version.filter(|version| *version > VERSION),
            file: file.to_path_buf(),
            damaged: None,
        }
    }
}

/// Returns true if `name` can be that of a single directory, and nothing else.
fn is_name(name: &str) -> bool {
    let mut parts = Path::new(name).components();
    matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None)) && !name.contains('/')
}

/// Reads jackin's records of all its instances.
#[must_use]
pub fn jackin_instances(jackin_home: &Path) -> JackinInstances {
    let mut found = JackinInstances::default();
    let mut seen = BTreeSet::new();
    for directory in containers(jackin_home) {
        let path = directory.join(INSTANCE_FILE);
        // The directory names the container: a copied file describes another one.
        let name = directory.file_name().unwrap_or_default();
        let name = name.to_string_lossy().into_owned();
        match read::<File>(&path) {
            Ok(None) => {}
            Ok(Some(file)) => {
                seen.insert(name.clone());
                found.all.push(file.instance(name, &path));
            }
            Err(reason) => found.unread.push(Unread::new(&path, reason, Some(name))),
        }
    }
    let path = jackin_home.join("data/instances.json");
    match read::<Index>(&path) {
        Ok(None) => {}
        Ok(Some(index)) => {
            let is_newer = (index.version > INDEX_VERSION).then_some(index.version);
            for file in index.instances {
                let is_new = |name: &String| !seen.contains(name) && is_name(name);
                let Some(name) = file.container_base.clone().filter(is_new) else {
                    continue;
                };
                seen.insert(name.clone());
                let own = found
                    .unread
                    .iter()
                    .find(|unread| unread.container.as_ref() == Some(&name));
                let instance = file.instance(name, &path);
                let newer = instance.newer.or(is_newer);
                let instance = JackinInstance { newer, ..instance };
                found.all.push(match own {
                    // The index may be older than what its own file says.
                    Some(own) => JackinInstance {
                        status: None,
                        file: own.path.to_path(),
                        damaged: Some(own.reason.clone()),
                        ..instance
                    },
                    None => instance,
                });
            }
        }
        Err(reason) => found.unread.push(Unread::new(&path, reason, None)),
    }
    found.all.sort_by(|a, b| a.container.cmp(&b.container));
    found
}
