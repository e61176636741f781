//! jackin's own containers: an agent in one may work on the same paths although no session of jackin does. An
//! unknown state counts as at work.

use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::error::DoubtfulFile;
use super::{SessionError, touch};
use crate::config::{
    Config, ConfigError, Isolation, JackinInstance, MountConfig, isolated, jackin_instances, settle,
    settle_mount,
};
use crate::environment::Environment;
use crate::model::Coverage;
use crate::process;
use crate::store::InstanceRow;
use handle_fs::Locations;
use handle_fs::remote::upwards;

/// Places that a session covers.
struct Roots {
    places: Vec<PathBuf>,
    locations: Locations,
}

impl Roots {
    /// Returns true if one of them is `place`, lies in it or holds it, by name or by the mounts that show them.
    fn touch(&self, place: &Path) -> bool {
        let located = |a: &Path, b: &Path| self.locations.below(a, b).is_some();
        let mut all = self.places.iter();
        all.any(|root| touch(root, place) || located(root, place) || located(place, root))
    }
}

/// Refuses when an agent of jackin's may be at work on the paths of `row`.
///
/// # Errors
/// [`SessionError::Container`] with the reasons.
pub(super) fn refuse_containers(environment: &Environment, row: &InstanceRow) -> Result<(), SessionError> {
    let roots = Roots {
        places: row.mounts.iter().flat_map(Coverage::places).collect(),
        locations: Locations::default(),
    };
    let mounts: Vec<PathBuf> = row.mounts.iter().map(|mount| mount.root.to_path()).collect();
    let Some(home) = environment.jackin_home() else {
        return Ok(());
    };
    let mut docker = Docker::new(environment, mounts);
    let found = jackin_instances(&home);
    // It says nothing of its paths, and nobody else does.
    for unread in &found.unread {
        let path = unread.path.to_path();
        let container = unread.container.clone();
        let Some(container) = container.filter(|name| found.called(name).is_none()) else {
            continue;
        };
        let instance = JackinInstance {
            container,
            ..JackinInstance::default()
        };
        if let Some(state) = docker.may_run(&instance) {
            return Err(SessionError::Container {
                container: instance.container,
                reasons: vec![
                    format!("{} cannot be read: {}", path.display(), unread.reason),
                    state,
                ],
                file: Some(DoubtfulFile::Damaged(path)),
            });
        }
    }
    let mut config = None;
    for instance in found.all.iter().filter(|instance| instance.may_live()) {
        let config =
            config.get_or_insert_with(|| Config::load(environment).map_err(|error| error.to_string()));
        let Some(place) = works_on((instance, environment), config, &home, &roots) else {
            continue;
        };
        if let Some(state) = docker.may_run(instance) {
            let file = instance.file.display();
            let (status, file) = match (&instance.damaged, instance.newer, &instance.status) {
                (Some(reason), ..) => (
                    format!("{file} cannot be read: {reason}"),
                    Some(DoubtfulFile::Damaged(instance.file.clone())),
                ),
                (None, Some(version), _) => (
                    format!("{file} has the newer form {version}, so its status is unknown"),
                    Some(DoubtfulFile::Newer),
                ),
                (None, None, Some(status)) => (format!("jackin says that it is {status}"), None),
                (None, None, None) => ("jackin does not record its state".to_owned(), None),
            };
            return Err(SessionError::Container {
                container: instance.container.clone(),
                reasons: vec![status, state, place],
                file,
            });
        }
    }
    Ok(())
}

/// Returns the reason why an instance may write at `roots`, in words; `None` if it works elsewhere.
fn works_on(
    (instance, environment): (&JackinInstance, &Environment),
    config: &Result<Config, String>,
    home: &Path,
    roots: &Roots,
) -> Option<String> {
    // Its own directory, which holds the state of its agent.
    let own_place = settle(&home.join("data").join(&instance.container));
    if roots.touch(&own_place) {
        return Some(format!("its own directory is {}", own_place.display()));
    }
    let known = match (&instance.workspace, config) {
        (None, _) => None,
        (Some(_), Err(error)) => return Some(format!("its directory is unknown: {error}")),
        (Some(name), Ok(config)) => match config.workspace_mounts(name) {
            // It may have been renamed or removed since.
            Err(ConfigError::UnknownWorkspace { .. }) => None,
            Err(error) => return Some(format!("its directory is unknown: {error}")),
            Ok(mounts) => Some((name, mounts)),
        },
    };
    let is_unplaced = known.is_none();
    if let Some((name, mounts)) = known {
        let own = isolated(home, name, Some(&instance.container));
        let places = mounts.iter().filter(|mount| !mount.readonly);
        let mut places = places.flat_map(|mount| places_of(environment, mount, &own));
        let hit = places.find(|place| roots.touch(place));
        if let Some(place) = hit {
            return Some(format!("it works on {}", place.display()));
        }
        if let Some(unread) = own.unread.first().filter(|_| !mounts.iter().all(is_shared)) {
            let path = unread.path.to_path();
            return Some(format!(
                "the directory of its copies is unknown: {}: {}",
                path.display(),
                unread.reason
            ));
        }
    }
    let Some(written) = instance.fingerprint.as_deref() else {
        // What is known of its mounts is enough; without any it may be anywhere.
        return is_unplaced.then(|| "its directory is unknown: jackin does not record it".to_owned());
    };
    let hit = roots.places.iter().flat_map(|root| upwards(root));
    let hit = hit.into_iter().find(|place| fingerprint(place) == written)?;
    Some(format!("it works on {}", hit.display()))
}

fn is_shared(mount: &MountConfig) -> bool {
    mount.isolation == Isolation::Shared
}

/// Returns the places on the host where a container's mount lies.
fn places_of(environment: &Environment, mount: &MountConfig, own: &crate::config::Isolated) -> Vec<PathBuf> {
    if is_shared(mount) {
        return vec![settle_mount(&environment.transports, &mount.src)];
    }
    let copies = mount.dst.as_deref().map(|dst| own.copies(dst));
    copies
        .unwrap_or_default()
        .iter()
        .map(|(_, place)| settle(place))
        .collect()
}

/// Returns the fingerprint of a path in the form that jackin writes.
fn fingerprint(path: &Path) -> String {
    let digest = Sha256::digest(path.as_os_str().as_bytes());
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}

/// The operator's docker, asked once and only when it matters.
pub struct Docker<'a> {
    environment: &'a Environment,
    /// Mounts from which no docker is started.
    mounts: Vec<PathBuf>,
    answer: Option<Result<BTreeMap<String, bool>, String>>,
}

impl<'a> Docker<'a> {
    /// Asks nothing yet. What lies in one of `mounts` is not started.
    #[must_use]
    pub fn new(environment: &'a Environment, mounts: Vec<PathBuf>) -> Self {
        Self {
            environment,
            mounts,
            answer: None,
        }
    }

    /// Returns the reason why something may run in the instance's container; `None` if docker reports that nothing does.
    pub fn may_run(&mut self, instance: &JackinInstance) -> Option<String> {
        let Some(name) = instance.docker_name() else {
            return Some("its runtime cannot be asked".to_owned());
        };
        let environment = self.environment;
        let answer = self
            .answer
            .get_or_insert_with(|| process::containers(environment, &self.mounts));
        match answer {
            Err(error) => Some(format!("its state is unknown: {error}")),
            Ok(all) => all
                .get(name)
                .filter(|runs| **runs)
                .map(|_| "docker says that it runs".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::fingerprint;

    #[test]
    fn a_fingerprint_is_the_digest_of_the_path() {
        // printf /srv/project | sha256sum
        assert_eq!(
            fingerprint(Path::new("/srv/project")),
            "sha256:4f3f91f6b0b47e3bebd44da0bf3651775effa4a0bc22a35622a60cb34d4f962e"
        );
    }
}
