//! Transport into a container or to a volume: `docker exec` if the container runs, otherwise a helper container that has its
//! volumes, and that docker removes when it ends.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use super::docker::PATIENCE;
use super::reach::{HELPER, Reach, chosen, words};
use super::settings::Settings;
use handle_fs::remote::{Backing, Helper, Storage, VOLUME_PLACE};
use processes::CommandRequest;

/// A container's state, its image, its id, and where its volumes lie, each with its type and its source here.
const FACTS: &str = "{{.State.Running}}\t{{.Image}}\t{{.Id}}{{range .Mounts}}{{if ne .Type \"tmpfs\"}}\t{{.Destination}}\n{{.Type}} {{.Source}}{{end}}{{end}}";

/// Returns the arguments that start a helper container. Nothing is fetched for it, it has no network, and it runs as root: only
/// root can restore owners, and any user of docker is root in a container anyway.
fn helper(volumes: [&str; 2], image: &str) -> Vec<OsString> {
    let [option, value] = volumes;
    let before = [
        "run",
        "--rm",
        "-i",
        "--network",
        "none",
        "--pull",
        "never",
        "-u",
        "0:0",
    ];
    let after = [option, value, "--entrypoint", "sh", image, "-c"];
    words(before.into_iter().chain(after))
}

/// Runs docker and returns its output.
fn ask(docker: &Path, path: &OsStr, words: &[&str]) -> io::Result<String> {
    let asked = CommandRequest {
        name: "docker",
        program: docker,
        path,
        patience: PATIENCE,
        bare: false,
    };
    asked.ask(words, None).map_err(io::Error::other)
}

fn served_by(image: String) -> Option<Helper> {
    Some(Helper {
        image,
        node: None,
        user: None,
        permissions: Vec::new(),
    })
}

/// Returns the storage of a container's paths: its own layer, which goes with it, and its volumes, by what docker mounts there.
fn backings(id: &str, mounts: &[(&str, &str)]) -> Vec<Backing> {
    let own = Backing {
        at: PathBuf::from("/"),
        id: id.to_owned(),
        is_volume: false,
    };
    let volume = |(at, source): &(&str, &str)| Backing {
        at: PathBuf::from(at),
        id: (*source).to_owned(),
        is_volume: true,
    };
    std::iter::once(own).chain(mounts.iter().map(volume)).collect()
}

/// Finds the location of what docker shows of its host: two containers with one volume or one bound directory show the same files.
fn storages<'m>(
    docker: &Path,
    path: &OsStr,
    mounts: impl Iterator<Item = (&'m str, &'m str)>,
) -> Vec<Storage> {
    let mut mounts = mounts.filter(|(_, source)| source.starts_with('/')).peekable();
    if mounts.peek().is_none() {
        return Vec::new();
    }
    let asked = ask(
        docker,
        path,
        &["context", "inspect", "--format", "{{.Endpoints.docker.Host}}"],
    );
    // Without contexts all that is known is that docker is the same.
    let host = asked.unwrap_or_default();
    let host = host.trim();
    let storage = |(at, source): (&str, &str)| Storage {
        at: PathBuf::from(at),
        place: location(host, source),
    };
    mounts.map(storage).collect()
}

/// Returns the location of a path of the machine on which docker runs.
///
/// It is a path of this machine only if docker's socket is here and the path exists here. The socket may be forwarded from another machine,
/// and Docker Desktop runs docker in a virtual one.
fn location(host: &str, source: &str) -> PathBuf {
    // Docker keeps a link in the path as it was given.
    let here = host.starts_with("unix://").then(|| {
        // Docker Desktop names what it shares by where its own machine has it.
        let shared = source.strip_prefix("/host_mnt");
        let shared = shared.filter(|below| below.starts_with('/'));
        let found = std::fs::canonicalize(source);
        found
            .or_else(|error| std::fs::canonicalize(shared.ok_or(error)?))
            .ok()
    });
    here.flatten().unwrap_or_else(|| {
        Path::new("docker")
            .join(host.replace('/', ":"))
            .join(source.trim_start_matches('/'))
    })
}

/// Into a container by its name or id.
///
/// # Errors
/// Why docker knows none of this name.
pub(crate) fn container(
    docker: &Path,
    path: &OsStr,
    helper_image: Option<&str>,
    name: &str,
) -> io::Result<Reach> {
    let asked = ask(
        docker,
        path,
        &["inspect", "--type", "container", "--format", FACTS, name],
    );
    let told = asked?;
    let mut facts = told.trim_end().split('\t');
    let (running, image, id) = (facts.next(), facts.next(), facts.next());
    let mounts: Vec<(&str, &str)> = facts.filter_map(|mount| mount.split_once('\n')).collect();
    let id = id
        .filter(|id| !id.is_empty())
        .ok_or_else(|| io::Error::other(format!("docker inspect printed no id of the container {name}")))?;
    let backings = backings(id, &mounts);
    let sources = mounts
        .iter()
        .filter_map(|(at, told)| Some((*at, told.split_once(' ')?.1)));
    let storages = storages(docker, path, sources);
    // By its id from here on: another container can get the name at any time.
    if running == Some("true") {
        return Ok(Reach {
            backings,
            storages,
            ..Reach::of(words(["exec", "-i", "-u", "0:0", id, "sh", "-c"]))
        });
    }
    let only: Vec<PathBuf> = mounts.iter().map(|(at, _)| PathBuf::from(at)).collect();
    if only.is_empty() {
        return Err(io::Error::other(
            "the container does not run, and has no volumes that a helper could reach: start it",
        ));
    }
    let own = image.unwrap_or_default().to_owned();
    let image = chosen(helper_image).unwrap_or(own);
    Ok(Reach {
        only,
        backings,
        storages,
        helper: served_by(image.clone()),
        ..Reach::of(helper(["--volumes-from", id], &image))
    })
}

/// To a volume by its name.
///
/// # Errors
/// Why docker knows none of this name: a helper would make it.
pub(crate) fn volume(settings: &Settings<'_>, docker: &Path, path: &OsStr, name: &str) -> io::Result<Reach> {
    // Docker tells no id of a volume, and its time of creation changes with its use.
    let source = ask(
        docker,
        path,
        &["volume", "inspect", "--format", "{{.Mountpoint}}", name],
    )?;
    let image = chosen(settings.image).unwrap_or_else(|| HELPER.to_owned());
    let told = ask(docker, path, &["image", "inspect", "--format", "{{.Id}}", &image]);
    told.map_err(|why| {
        io::Error::other(format!(
            "{why}; a volume is reached through a helper container, of an image that has a shell: `docker pull {HELPER}`, or name one \
             that is there in {}",
            settings.product.image_variable
        ))
    })?;
    Ok(Reach {
        only: vec![PathBuf::from(VOLUME_PLACE)],
        storages: storages(docker, path, std::iter::once((VOLUME_PLACE, source.trim()))),
        helper: served_by(image.clone()),
        ..Reach::of(helper(["-v", &format!("{name}:{VOLUME_PLACE}")], &image))
    })
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::location;

    #[test]
    fn a_path_is_local_only_if_the_socket_and_the_path_are_here() {
        let here = tempfile::tempdir().unwrap();
        let path = here.path().canonicalize().unwrap();
        let source = path.to_str().unwrap();
        assert_eq!(location("unix:///var/run/docker.sock", source), path);
        let elsewhere = location("unix:///var/run/docker.sock", "/absent/of/a/desktop");
        assert_eq!(
            elsewhere,
            PathBuf::from("docker/unix::::var:run:docker.sock/absent/of/a/desktop")
        );
        let shared = format!("/host_mnt{source}");
        assert_eq!(location("unix:///var/run/docker.sock", &shared), path);
        let beside = format!("/host_mnt-{source}");
        assert!(location("unix:///var/run/docker.sock", &beside).starts_with("docker"));
        let far = location("tcp://machine:2375", source);
        assert_eq!(far, PathBuf::from(format!("docker/tcp:::machine:2375{source}")));
    }
}
