//! jackin's instances: one container each, with what its agent works on. The file in a container's own directory is the
//! canonical one; the index beside it is asked for what has none.

use std::collections::BTreeSet;
use std::path::{Component, Path};

use serde::{Deserialize, Deserializer};

use super::{Unread, containers, read};

/// Where a container's own file lies in its directory.
const INSTANCE_FILE: &str = ".jackin/instance.json";
/// The forms of `instance.json` and `instances.json` that are known.
const VERSION: u64 = 2;
const INDEX_VERSION: u64 = 1;

/// Words of a status that say that the session is over. Every other one, also one that is not known, may mean a living agent.
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
/// A container that docker does not know proves nothing when something else runs it.
const DOCKER: &str = "docker";

/// An instance of jackin's. The texts are jackin's, or of who can write its files.
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
    /// Where the agent works, in the container.
    pub workdir: Option<String>,
    /// `sha256:` and the hex digest of the host path that the agent works on.
    pub fingerprint: Option<String>,
    /// The role.
    pub role: Option<String>,
    /// The agent.
    pub agent: Option<String>,
    /// The status in jackin's own word; none when it does not say, or says it in a way that is not known.
    pub status: Option<String>,
    /// When that was written, in jackin's words.
    pub updated_at: Option<String>,
    /// What runs the container, when it is not docker.
    pub backend: Option<String>,
    /// It was written by a jackin whose files are of this newer version: what is understood of it stands here.
    pub newer: Option<u64>,
}

impl JackinInstance {
    /// Whether an agent may be at work by what jackin wrote down.
    #[must_use]
    pub fn may_live(&self) -> bool {
        !self
            .status
            .as_deref()
            .is_some_and(|status| OVER.contains(&status))
    }

    /// The name to ask docker for; `None` when docker knows nothing of it.
    #[must_use]
    pub fn docker_name(&self) -> Option<&str> {
        let is_docker = self.backend.as_deref().is_none_or(|backend| backend == DOCKER);
        is_docker.then(|| self.role_container.as_deref().unwrap_or(&self.container))
    }

    /// Whether it goes by this name.
    #[must_use]
    pub fn is_called(&self, name: &str) -> bool {
        self.container == name
            || self.id.as_deref() == Some(name)
            || self.role_container.as_deref() == Some(name)
    }
}

/// All instances that jackin has written down.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JackinInstances {
    /// Sorted by container.
    pub all: Vec<JackinInstance>,
    /// Files that may tell of another, and could not be read.
    pub unread: Vec<Unread>,
}

impl JackinInstances {
    /// The one that goes by this name: a container, or an id of jackin's.
    #[must_use]
    pub fn called(&self, name: &str) -> Option<&JackinInstance> {
        self.all.iter().find(|instance| instance.is_called(name))
    }
}

/// One of either file; what is there and has another type counts as not there.
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
    fn instance(self, container: String) -> JackinInstance {
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
        }
    }
}

/// Whether it can be the name of a directory of jackin's, and nothing else.
fn is_name(name: &str) -> bool {
    let mut parts = Path::new(name).components();
    matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None)) && !name.contains('/')
}

/// Reads what jackin wrote down of all its instances.
#[must_use]
pub fn jackin_instances(jackin_home: &Path) -> JackinInstances {
    let mut found = JackinInstances::default();
    let mut seen = BTreeSet::new();
    for directory in containers(jackin_home) {
        let path = directory.join(INSTANCE_FILE);
        // The directory says which one it is: a file that was copied tells of another.
        let name = directory.file_name().unwrap_or_default();
        let name = name.to_string_lossy().into_owned();
        match read::<File>(&path) {
            Ok(None) => {}
            Ok(Some(file)) => {
                seen.insert(name.clone());
                found.all.push(file.instance(name));
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
                let instance = file.instance(name);
                let newer = instance.newer.or(is_newer);
                found.all.push(JackinInstance { newer, ..instance });
            }
        }
        Err(reason) => found.unread.push(Unread::new(&path, reason, None)),
    }
    found.all.sort_by(|a, b| a.container.cmp(&b.container));
    found
}
