//! Selection of the cluster from the contexts of the operator's `kubectl`. A cluster is only asked whether it has a namespace that is
//! called like a context.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::asked;
use handle_fs::remote::{Address, Spot};
use processes::{find, path_outside};

/// A cluster that does not answer within this time may have the namespace.
const SOON: &str = "--request-timeout=5s";

/// Contexts that the operator's `kubectl` is configured with, read once.
#[derive(Debug, Default)]
pub struct ClusterContexts(OnceLock<Option<Contexts>>);

/// Contexts as `kubectl` lists them.
#[derive(Debug)]
pub(crate) struct Contexts {
    pub(crate) all: Vec<String>,
    pub(crate) current: Option<String>,
    /// The program, and the `PATH` that it is given.
    pub(crate) kubectl: (PathBuf, OsString),
}

impl Contexts {
    /// Asks `kubectl` for its contexts; `None` if it does not answer.
    fn of(kubectl: PathBuf, path: OsString) -> Option<Self> {
        let ask = |words: &[&str]| asked(&kubectl, &path).ask(words, None).ok();
        let all = ask(&["config", "get-contexts", "-o", "name"])?;
        let current = ask(&["config", "current-context"]).map(|told| told.trim().to_owned());
        Some(Self {
            all: all.lines().map(str::to_owned).collect(),
            current: current.filter(|current| !current.is_empty()),
            kubectl: (kubectl, path),
        })
    }

    /// Returns false if the cluster of the current context has no namespace of this name. If it does not tell, it may have one.
    fn may_have(&self, namespace: &str) -> bool {
        let Some(current) = &self.current else {
            return false;
        };
        let (kubectl, path) = &self.kubectl;
        let context = format!("--context={current}");
        let words = [&context, "get", "namespace", namespace, "-o", "name", SOON];
        let told = asked(kubectl, path).ask(&words, None);
        told.err().is_none_or(|why| !why.contains("(NotFound)"))
    }
}

impl ClusterContexts {
    /// Completes an address that names no context with the current one, so that a later one does not lead elsewhere. In an address
    /// without `:` the first word is a context if `kubectl` knows one of this name. `None`: the address stays as it is, also if the word
    /// may be a namespace of the current context as well: `Kubectl::new` refuses that. `untrusted`: directories that kubectl is not
    /// taken from; called once. If they are unknown, kubectl is not run.
    pub fn complete(
        &self,
        path_variable: Option<&OsStr>,
        untrusted: impl FnOnce() -> Option<Vec<PathBuf>>,
        address: &Address,
        path: &Path,
    ) -> Option<(Address, PathBuf)> {
        let known = self.0.get_or_init(|| contexts(path_variable, &untrusted()?));
        let known = known.as_ref()?;
        meant(known, address, path, |namespace| known.may_have(namespace))
    }
}

/// Returns true if `kubectl` has any context. Inside a cluster it has none.
pub(crate) fn any(kubectl: &Path, path: &OsStr) -> Result<bool, String> {
    let told = asked(kubectl, path).ask(&["config", "get-contexts", "-o", "name"], None)?;
    Ok(!told.trim().is_empty())
}

/// Returns the current context if there is one and `word` is a context as well.
pub(crate) fn current_beside(kubectl: &Path, path: &OsStr, word: &str) -> Option<String> {
    let known = Contexts::of(kubectl.to_path_buf(), path.to_os_string())?;
    known
        .current
        .filter(|_| known.all.iter().any(|context| context == word))
}

fn contexts(path: Option<&OsStr>, untrusted: &[PathBuf]) -> Option<Contexts> {
    let path = path_outside(path, untrusted);
    let kubectl = find(OsStr::new("kubectl"), &path, untrusted)?;
    Contexts::of(kubectl, path)
}
/// Returns what an address means; `None` if that is not sure. `is_namespace`: the current context may have one of this name.
pub(crate) fn meant(
    known: &Contexts,
    address: &Address,
    path: &Path,
    is_namespace: impl FnOnce(&str) -> bool,
) -> Option<(Address, PathBuf)> {
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
            if is_namespace(&spot.namespace) {
                return None;
            }
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
