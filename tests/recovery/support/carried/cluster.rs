//! A cluster that is none: `kubectl` is a stand-in that runs what it is told in containers.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use serde_json::{Value, json};

/// Its only context.
pub(crate) const CONTEXT: &str = "test-cluster";

/// Where the stand-in and what it knows lie.
pub(crate) struct Cluster {
    place: PathBuf,
}

impl Cluster {
    /// One without pods and claims, below `own`. `Err`: why there is none here.
    pub(crate) fn new(own: &Path) -> Result<Self, String> {
        if !cfg!(feature = "kubernetes") {
            return Err("the feature kubernetes is not built".to_owned());
        }
        let place = own.join("cluster");
        fs::create_dir(&place).unwrap();
        super::kubectl::install(&place);
        let empty = json!({ "contexts": [CONTEXT], "current": CONTEXT, "pods": {}, "claims": {} });
        fs::write(place.join("cluster.json"), empty.to_string()).unwrap();
        Ok(Self { place })
    }

    /// Changes what there is.
    pub(crate) fn change(&self, change: impl FnOnce(&mut Value)) {
        // Commands may be at work with it.
        let lock = File::options()
            .create(true)
            .append(true)
            .open(self.place.join("lock"))
            .unwrap();
        flock(&lock, FlockOperation::LockExclusive).unwrap();
        let mut state = self.state();
        change(&mut state);
        let draft = self.place.join("cluster.json.test");
        fs::write(&draft, state.to_string()).unwrap();
        fs::rename(draft, self.place.join("cluster.json")).unwrap();
    }

    /// What there is.
    pub(crate) fn state(&self) -> Value {
        serde_json::from_slice(&fs::read(self.place.join("cluster.json")).unwrap()).unwrap()
    }

    /// A file that a request leaves which the cluster holds, because its kind is `held`.
    pub(crate) fn held(&self) -> PathBuf {
        self.place.join("held")
    }

    /// The pod that was made last, as it was asked for.
    pub(crate) fn created(&self) -> Value {
        serde_json::from_slice(&fs::read(self.place.join("created.json")).unwrap()).unwrap()
    }

    /// The claim that was made last, as it was asked for.
    pub(crate) fn claimed(&self) -> Value {
        serde_json::from_slice(&fs::read(self.place.join("claim.json")).unwrap()).unwrap()
    }

    /// The snapshot of a claim that was made last, and the claim that was made of one, as they were asked for.
    pub(crate) fn shown(&self) -> [Value; 2] {
        ["snapshot.json", "claim.json"]
            .map(|name| serde_json::from_slice(&fs::read(self.place.join(name)).unwrap()).unwrap())
    }

    /// The variable that has programs found.
    pub(crate) fn search(&self) -> (String, String) {
        let search = std::env::var("PATH").unwrap_or_default();
        ("PATH".to_owned(), format!("{}:{search}", self.place.display()))
    }
}

impl Drop for Cluster {
    /// No command may go where the current context leads.
    fn drop(&mut self) {
        let astray = fs::read_to_string(self.place.join("astray")).unwrap_or_default();
        assert!(
            astray.is_empty() || std::thread::panicking(),
            "kubectl without --context: {astray}"
        );
    }
}
