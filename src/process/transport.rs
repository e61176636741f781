//! Connections to other machines: the names of this program there, and the operator's settings. The crate `transports` connects.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use transports::{AgentSource, ClusterContexts, LeftBehind, Permission, Product, Settings, Waiting};

use super::INSTANCE_VARIABLE;
use crate::clock::Entropy;
use crate::environment::Environment;
use handle_fs::remote::{Address, Channel, Spot, machine_id, own_id};

/// The variable that names the image of helpers, which are containers and pods.
pub const HELPER_VARIABLE: &str = "JACKIN_RECOVERY_HELPER_IMAGE";
/// The variable that selects the agent on other machines.
pub const AGENT_VARIABLE: &str = "JACKIN_RECOVERY_AGENT";

/// The variable with the time limit for remote machines, in seconds.
const TIMEOUT_VARIABLE: &str = "JACKIN_RECOVERY_TIMEOUT";
/// Default time limit for remote machines.
const SILENCE: Duration = Duration::from_secs(60);

/// This program, as other machines see it.
pub(super) static PRODUCT: Product = Product {
    name: "jackin",
    package: "jackin-recovery",
    version: concat!("jackin-recovery ", env!("CARGO_PKG_VERSION")),
    version_arguments: "recovery --version",
    serve_arguments: "recovery __agent",
    installed: &[
        ("command -v jackin-recovery", "jackin-recovery __agent"),
        ("jackin recovery --version", "jackin recovery __agent"),
    ],
    cleanup_argument: "__lifeline",
    cleanup_without: INSTANCE_VARIABLE,
    image_variable: HELPER_VARIABLE,
    timeout_variable: TIMEOUT_VARIABLE,
};

/// Reads [`AGENT_VARIABLE`].
fn source(environment: &Environment) -> Result<AgentSource, String> {
    match environment.get(AGENT_VARIABLE).and_then(OsStr::to_str) {
        None | Some("" | "auto") => Ok(AgentSource::Auto),
        Some("copy") => Ok(AgentSource::Copy),
        Some("shell") => Ok(AgentSource::Shell),
        Some(_) => Err(format!("{AGENT_VARIABLE} is none of auto, copy and shell")),
    }
}

/// Returns true if the operator asked for the shell of other machines, whatever is installed there.
#[must_use]
pub fn asks_for_shell(environment: &Environment) -> bool {
    source(environment) == Ok(AgentSource::Shell)
}

/// Reads the time limit from [`TIMEOUT_VARIABLE`]; 60 seconds by default.
fn timeout(environment: &Environment) -> Result<Duration, String> {
    let Some(told) = environment.get(TIMEOUT_VARIABLE) else {
        return Ok(SILENCE);
    };
    let seconds = told.to_str().and_then(|told| told.parse().ok());
    match seconds.filter(|seconds| (1..=86_400).contains(seconds)) {
        Some(seconds) => Ok(Duration::from_secs(seconds)),
        None => Err(format!(
            "{TIMEOUT_VARIABLE} must be a number of seconds between 1 and 86400"
        )),
    }
}

/// Reads [`HELPER_VARIABLE`]; `None` if the operator names no image.
pub(super) fn helper_image(environment: &Environment) -> Option<&str> {
    environment.get(HELPER_VARIABLE)?.to_str()
}

/// Returns the name of the directory in which a copy of this program is kept at an address, for the sessions of this store.
#[must_use]
pub fn kept_copy(environment: &Environment, address: &Address) -> Option<String> {
    let store = environment.store_directory()?;
    // However it is spelled, and whatever network this machine is in.
    let store = store.canonicalize().unwrap_or(store);
    let address = address.to_string();
    let whose = machine_id(store.as_os_str().as_bytes(), &own_id(), address.as_bytes());
    // With the prefix that no capture of the directory around it stores.
    Some(format!(".{}-copy-{whose}", PRODUCT.package))
}

/// Starts an agent at an address. No program in one of `mounts` is ever started: an agent can write there. `stop` is set when the
/// operator wants to stop: a machine that does not answer soon after is no longer waited for. `given_up` ends only waits for helpers.
/// `waiting` receives what is waited for, if that takes long.
///
/// # Errors
/// Why it cannot be started, in words.
pub fn carry(
    environment: &Environment,
    mounts: &[PathBuf],
    (stop, given_up): (&Arc<AtomicBool>, &AtomicBool),
    waiting: &dyn Fn(&str),
    entropy: &dyn Entropy,
    address: &Address,
) -> io::Result<Channel> {
    let kept = kept_copy(environment, address);
    let settings = Settings {
        product: &PRODUCT,
        path: environment.get("PATH"),
        untrusted: mounts,
        source: source(environment).map_err(io::Error::other)?,
        kept: kept.as_deref(),
        image: helper_image(environment),
        given_up,
        waiting: Waiting(waiting),
        timeout: timeout(environment).map_err(io::Error::other)?,
    };
    transports::carry(&settings, stop, entropy, address)
}

/// Completes an address in a cluster with the current context of the operator's `kubectl`; `None` if the address stays as it is.
/// `mounts` are directories that kubectl is not taken from; without them it is not run.
pub fn settle_cluster(
    contexts: &ClusterContexts,
    environment: &Environment,
    mounts: impl FnOnce() -> Option<Vec<PathBuf>>,
    address: &Address,
    path: &Path,
) -> Option<(Address, PathBuf)> {
    contexts.complete(environment.get("PATH"), mounts, address, path)
}

/// Returns the operator's rights in a cluster that an address needs; `None` for an address elsewhere.
///
/// # Errors
/// Why the cluster cannot be asked.
pub fn permissions(
    environment: &Environment,
    mounts: &[PathBuf],
    address: &Address,
) -> Option<Result<Vec<Permission>, String>> {
    transports::permissions(&PRODUCT, environment.get("PATH"), mounts, address)
}

/// Returns jackin's objects in the namespace of a claim or a pod, whichever user made them.
#[must_use]
pub fn left_behind(environment: &Environment, mounts: &[PathBuf], spot: &Spot) -> Vec<LeftBehind> {
    transports::left_behind(&PRODUCT, environment.get("PATH"), mounts, spot)
}

/// Returns every container that docker knows, with true if something may run in it. One that is not there is gone.
///
/// # Errors
/// A reason in words if that is unknown: docker is not installed, has no daemon, or does not answer.
pub fn containers(environment: &Environment, mounts: &[PathBuf]) -> Result<BTreeMap<String, bool>, String> {
    transports::containers(environment.get("PATH"), mounts)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use transports::AgentSource;

    use super::{AGENT_VARIABLE, TIMEOUT_VARIABLE, helper_image, source, timeout};
    use crate::environment::Environment;

    #[test]
    fn settings_come_from_the_environment() {
        let none = Environment::default();
        assert_eq!(source(&none), Ok(AgentSource::Auto));
        assert_eq!(timeout(&none), Ok(Duration::from_secs(60)));
        assert_eq!(helper_image(&none), None);
        let with = |variable, value| none.with(variable, value);
        assert_eq!(source(&with(AGENT_VARIABLE, "copy")), Ok(AgentSource::Copy));
        assert_eq!(source(&with(AGENT_VARIABLE, "")), Ok(AgentSource::Auto));
        assert!(source(&with(AGENT_VARIABLE, "Copy")).is_err());
        assert_eq!(timeout(&with(TIMEOUT_VARIABLE, "7")), Ok(Duration::from_secs(7)));
        for wrong in ["0", "86401", "-1", "a"] {
            assert!(timeout(&with(TIMEOUT_VARIABLE, wrong)).is_err(), "{wrong}");
        }
    }
}
