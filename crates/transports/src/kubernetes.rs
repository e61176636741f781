//! Transport into a container of a pod, and to a claim through a helper pod: the operator's `kubectl`, with the operator's
//! contexts and rights.

mod claim_pod;
mod contexts;
mod create_pvc;
mod orphans;
mod pod_backings;
mod pvc;
mod quantity;
mod rights;
#[cfg(test)]
mod tests;
mod volume_snapshot;

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use self::pod_backings::pod_backings;
use self::volume_snapshot::FOR_SNAPSHOT;
use super::cleanup::Lifeline;
use super::cluster::{Permission, Purpose};
use super::product::Product;
use super::reach::{Reach, words};
use handle_fs::remote::{Address, Spot};
use processes::{CommandRequest, find, path_outside};

pub use self::contexts::ClusterContexts;
pub use self::orphans::left_behind;
pub(crate) use self::pvc::claim;

/// A cluster may be far, and signing in to it slow.
const PATIENCE: Duration = Duration::from_secs(60);
/// Approximate time of one request.
const ASKED: Duration = Duration::from_millis(200);
/// The verb by which a websocket is opened. A cluster that refuses it is asked again in the older way, which it may permit.
const FOR_WEBSOCKET: (&str, &str) = ("get", "pods/exec");
/// Permissions for a pod of the operator's.
const FOR_POD: [(&str, &str); 3] = [("get", "pods"), ("create", "pods/exec"), FOR_WEBSOCKET];
/// Permissions for a claim.
const FOR_CLAIM: [(&str, &str); 7] = [
    ("get", "persistentvolumeclaims"),
    ("list", "pods"),
    ("create", "pods"),
    ("get", "pods"),
    ("delete", "pods"),
    ("create", "pods/exec"),
    FOR_WEBSOCKET,
];
/// Label that names the owner of an object: the package of the product.
const OWNER: &str = "app.kubernetes.io/managed-by";

/// The operator's `kubectl`, and where in a cluster it is asked.
pub(crate) struct Kubectl<'a> {
    product: &'static Product,
    program: &'a Path,
    path: &'a OsStr,
    spot: &'a Spot,
}

impl<'a> Kubectl<'a> {
    /// Creates a client for the context that the address names.
    ///
    /// The current context may be another cluster tomorrow, and an address without a context may be a truncated one.
    ///
    /// # Errors
    /// The address names no context although `kubectl` has some, or has no `:` after the name.
    pub(crate) fn new(
        product: &'static Product,
        program: &'a Path,
        path: &'a OsStr,
        spot: &'a Spot,
    ) -> Result<Self, String> {
        if spot.container.is_none() {
            return Err(unclear(program, path, spot));
        }
        if spot.context.is_none() && contexts::any(program, path)? {
            return Err(format!(
                "{spot} is not a context of kubectl: write CONTEXT/{spot}; `kubectl config get-contexts -o name` \
                lists them"
            ));
        }
        Ok(Self {
            product,
            program,
            path,
            spot,
        })
    }

    fn ask(&self, words: &[&str], input: Option<Vec<u8>>) -> Result<String, String> {
        let place = place(self.spot);
        let words: Vec<&str> = place
            .iter()
            .map(String::as_str)
            .chain(words.iter().copied())
            .collect();
        asked(self.program, self.path).ask(&words, input)
    }

    fn object(&self, words: &[&str]) -> io::Result<Value> {
        let told = self
            .ask(&[words, &["-o", "json"]].concat(), None)
            .map_err(io::Error::other)?;
        serde_json::from_str(&told)
            .map_err(|error| io::Error::other(format!("unexpected answer from kubectl: {error}")))
    }
}

/// Time without an answer from a cluster after which a wait fails.
const SILENCE: Duration = Duration::from_secs(60);

/// Time for which a cluster has not answered during a wait.
#[derive(Default)]
struct Silence(Duration);

impl Silence {
    /// Returns the answer; `None` if there was none, which may pass. `nap`: time since the previous request.
    fn hear(&mut self, nap: Duration, heard: io::Result<Value>) -> io::Result<Option<Value>> {
        match heard {
            Ok(found) => {
                self.0 = Duration::ZERO;
                Ok(Some(found))
            }
            Err(error) if self.0 >= SILENCE || volume_snapshot::is_refusal(&error.to_string()) => Err(error),
            Err(_) => {
                self.0 += nap;
                Ok(None)
            }
        }
    }
}

fn text<'v>(value: &'v Value, pointer: &str) -> Option<&'v str> {
    value.pointer(pointer).and_then(Value::as_str)
}

/// Reason why an address without a `:` cannot be used: where its first word is a context, with both addresses that may be meant.
fn unclear(program: &Path, path: &OsStr, spot: &Spot) -> String {
    let Spot {
        namespace: word,
        name,
        ..
    } = spot;
    match contexts::current_beside(program, path, word) {
        Some(current) => format!(
            "{word} is a context of kubectl, and may be a namespace: write {current}/{word}/{name}: for the pod {name} in the namespace \
            {word}, or {word}/{name}/POD: for a pod in the namespace {name} of the context {word}"
        ),
        None => format!("{spot} has no : after the name: write {spot}: to end the name"),
    }
}

fn asked<'a>(program: &'a Path, path: &'a OsStr) -> CommandRequest<'a> {
    CommandRequest {
        name: "kubectl",
        program,
        path,
        patience: PATIENCE,
        bare: false,
    }
}

/// The words that say where.
fn place(spot: &Spot) -> Vec<String> {
    let context = spot.context.iter().map(|context| format!("--context={context}"));
    context
        .chain([format!("--namespace={}", spot.namespace)])
        .collect()
}

fn exec(spot: &Spot, pod: &str, container: Option<&str>) -> Vec<OsString> {
    let mut all: Vec<OsString> = place(spot).into_iter().map(OsString::from).collect();
    all.extend(words(["exec", "-i", pod]));
    if let Some(container) = container.filter(|container| !container.is_empty()) {
        all.extend(words(["-c", container]));
    }
    all.extend(words(["--", "sh", "-c"]));
    all
}

/// Into a container of a pod.
///
/// # Errors
/// When our own file cannot be started.
pub(crate) fn pod(kubectl: &Kubectl<'_>) -> io::Result<Reach> {
    let spot = kubectl.spot;
    // Without the right to see it, nothing is known of its storage.
    let found = kubectl.object(&["get", "pod", &spot.name]).unwrap_or_default();
    Ok(Reach {
        backings: pod_backings(&found, spot.container.as_deref().unwrap_or_default()),
        lifeline: Some(Lifeline::new(kubectl.product, Vec::new(), kubectl.path)?),
        ..Reach::of(exec(spot, &spot.name, spot.container.as_deref()))
    })
}

/// Returns the rights that an address needs, each asked of its cluster. `None`: it is no address in a cluster. `path` is the value of
/// `PATH`; `kubectl` is not taken from `untrusted`.
///
/// # Errors
/// Why it cannot be asked.
pub fn permissions(
    product: &'static Product,
    path: Option<&OsStr>,
    untrusted: &[PathBuf],
    address: &Address,
) -> Option<Result<Vec<Permission>, String>> {
    let (spot, needed): (&Spot, &[(&'static str, &'static str)]) = match address {
        Address::Pod(spot) => (spot, &FOR_POD),
        Address::Claim(spot) => (spot, &FOR_CLAIM),
        Address::Ssh { .. } | Address::Docker { .. } | Address::Volume { .. } => return None,
    };
    let path = path_outside(path, untrusted);
    let Some(program) = find(OsStr::new("kubectl"), &path, untrusted) else {
        return Some(Err("kubectl is not installed here, or not in PATH".to_owned()));
    };
    let kubectl = match Kubectl::new(product, &program, &path, spot) {
        Ok(kubectl) => kubectl,
        Err(why) => return Some(Err(why)),
    };
    let mut wanted: Vec<(&'static str, &'static str, Purpose)> = needed
        .iter()
        .map(|(verb, resource)| match (*verb, *resource) {
            FOR_WEBSOCKET => (*verb, *resource, Purpose::FastConnection),
            _ => (*verb, *resource, Purpose::Access),
        })
        .collect();
    if let (Address::Claim(_), Ok(true)) = (address, kubectl.has_snapshots()) {
        let more = FOR_SNAPSHOT.iter();
        wanted.extend(more.map(|(verb, resource)| (*verb, *resource, Purpose::VolumeSnapshot)));
    }
    let asked: Vec<(&str, &str)> = wanted
        .iter()
        .map(|(verb, resource, _)| (*verb, *resource))
        .collect();
    Some(kubectl.rights(&asked).map(|granted| {
        let all = wanted.into_iter().zip(granted);
        all.map(|((verb, resource, purpose), granted)| Permission {
            verb,
            resource,
            granted,
            purpose,
        })
        .collect()
    }))
}
