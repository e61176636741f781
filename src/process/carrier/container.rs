//! What carries into a container or to a volume: `docker exec` where it runs, else a helper container that has its volumes, and that
//! docker removes when it ends.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use crate::environment::Environment;
use crate::platform::remote::VOLUME_PLACE;
use crate::process::docker::ask;

/// The variable that names the image of helper containers.
pub const HELPER_VARIABLE: &str = "JACKIN_RECOVERY_HELPER_IMAGE";
/// What serves for a volume when nobody names one.
const HELPER: &str = "busybox";
/// A container's state, its image, and where its volumes lie.
const FACTS: &str = "{{.State.Running}}\t{{.Image}}{{range .Mounts}}{{if ne .Type \"tmpfs\"}}\t{{.Destination}}{{end}}{{end}}";

/// Words up to the script, and the only directories that can be reached; none: all can.
pub(super) struct Reach {
    pub(super) words: Vec<OsString>,
    pub(super) only: Vec<PathBuf>,
}

fn words<'w>(words: impl IntoIterator<Item = &'w str>) -> Vec<OsString> {
    words.into_iter().map(OsString::from).collect()
}

/// Nothing is fetched for a helper, it has no network, and whoever may use docker is root in a container anyway: owners are put back
/// by root alone.
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

/// Into a container by its name or id.
///
/// # Errors
/// Why docker knows none of this name.
pub(super) fn container(
    docker: &Path,
    path: &OsStr,
    environment: &Environment,
    name: &str,
) -> io::Result<Reach> {
    let asked = ask(
        docker,
        path,
        &["inspect", "--type", "container", "--format", FACTS, name],
    );
    let told = asked.map_err(io::Error::other)?;
    let mut facts = told.trim_end().split('\t');
    let (running, image) = (facts.next(), facts.next());
    if running == Some("true") {
        return Ok(Reach {
            words: words(["exec", "-i", "-u", "0:0", name, "sh", "-c"]),
            only: Vec::new(),
        });
    }
    let only: Vec<PathBuf> = facts.map(PathBuf::from).collect();
    if only.is_empty() {
        return Err(io::Error::other(
            "the container does not run, and has no volumes that a helper could reach: start it",
        ));
    }
    let own = image.unwrap_or_default().to_owned();
    let image = chosen(environment).unwrap_or(own);
    Ok(Reach {
        words: helper(["--volumes-from", name], &image),
        only,
    })
}

/// To a volume by its name.
///
/// # Errors
/// Why docker knows none of this name: a helper would make it.
pub(super) fn volume(
    docker: &Path,
    path: &OsStr,
    environment: &Environment,
    name: &str,
) -> io::Result<Reach> {
    ask(
        docker,
        path,
        &["volume", "inspect", "--format", "{{.Name}}", name],
    )
    .map_err(io::Error::other)?;
    let image = chosen(environment).unwrap_or_else(|| HELPER.to_owned());
    let told = ask(docker, path, &["image", "inspect", "--format", "{{.Id}}", &image]);
    told.map_err(|why| {
        io::Error::other(format!(
            "{why}; a volume is reached through a helper container, of an image that has a shell: `docker pull {HELPER}`, or name one \
             that is there in {HELPER_VARIABLE}"
        ))
    })?;
    Ok(Reach {
        words: helper(["-v", &format!("{name}:{VOLUME_PLACE}")], &image),
        only: vec![PathBuf::from(VOLUME_PLACE)],
    })
}

/// What could be an option is no image.
fn chosen(environment: &Environment) -> Option<String> {
    let image = environment.get(HELPER_VARIABLE)?.to_str()?;
    (!image.is_empty() && !image.starts_with('-')).then(|| image.to_owned())
}
