//! Selection of the cluster from the contexts of the operator's `kubectl`. No cluster is asked.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::asked;
use handle_fs::remote::{Address, Spot};
use processes::{find, path_outside};

/// Contexts that the operator's `kubectl` is configured with, read once.
#[derive(Debug, Default)]
pub struct ClusterContexts(OnceLock<Option<Contexts>>);

/// Contexts as `kubectl` lists them.
#[derive(Debug)]
pub(crate) struct Contexts {
    pub(crate) all: Vec<String>,
    pub(crate) current: Option<String>,
}

impl ClusterContexts {
    /// Completes an address that names no context with the current one, so that a later one does not lead elsewhere. In an address
    /// without `:` the first word is a context if `kubectl` knows one of this name. `None`: the address stays as it is.
    /// `untrusted`: directories that kubectl is not taken from; called once. If they are unknown, kubectl is not run.
    pub fn complete(
        &self,
        path_variable: Option<&OsStr>,
        untrusted: impl FnOnce() -> Option<Vec<PathBuf>>,
        address: &Address,
        path: &Path,
    ) -> Option<(Address, PathBuf)> {
        let known = self.0.get_or_init(|| contexts(path_variable, &untrusted()?));
        meant(known.as_ref()?, address, path)
    }
}

/// Returns true if `kubectl` has any context. Inside a cluster it has none.
pub(crate) fn any(kubectl: &Path, path: &OsStr) -> Result<bool, String> {
    let told = asked(kubectl, path).ask(&["config", "get-contexts", "-o", "name"], None)?;
    Ok(!told.trim().is_empty())
}

fn contexts(path: Option<&OsStr>, untrusted: &[PathBuf]) -> Option<Contexts> {
    let path = path_outside(path, untrusted);
    let kubectl = find(OsStr::new("kubectl"), &path, untrusted)?;
    let ask = |words: &[&str]| asked(&kubectl, &path).ask(words, None).ok();
    let all = ask(&["config", "get-contexts", "-o", "name"])?;
    let current = ask(&["config", "current-context"]).map(|told| told.trim().to_owned());
    Some(Contexts {
        all: all.lines().map(str::to_owned).collect(),
        current: current.filter(|current| !current.is_empty()),
    })
}

pub(crate) fn meant(known: &Contexts, address: &Address, path: &Path) -> Option<(Address, PathBuf)> {
    let (Address::Pod(spot) | Address::Claim(spot)) = address else {
        return None;
    };
    let whole = |spot: Spot| match address {
        Address::Claim(_) => Address::Claim(spot),
        _ => Address::Pod(spot),
    };
    if spot.container.is_none() && known.all.contains(&spot.namespace) {
        let below = path.strip_prefix("/").ok()?;
        let pod = below.components().next()?.as_os_str().to_str()?;
        let context = Some(spot.namespace.clone());
        if let Some(found) = Spot::new(context, &spot.name, pod, Some(String::new())) {
            let rest = below.strip_prefix(pod).ok()?;
            return Some((whole(found), Path::new("/").join(rest)));
        }
    }
    let found = Spot {
        context: known.current.clone(),
        container: Some(spot.container.clone().unwrap_or_default()),
        ..spot.clone()
    };
    Some((whole(found), path.to_path_buf()))
}
