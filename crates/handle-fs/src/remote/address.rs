//! The address of a directory on another machine: where it is, and the path there.

use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

mod kubernetes;

pub use kubernetes::Spot;

/// Machine, container, pod or volume that is reached through a transport.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Address {
    /// The operator's `ssh`.
    Ssh {
        /// Host as the operator names it: a host name, an address, or an alias of `ssh_config`.
        host: String,
        /// None: as `ssh` decides.
        user: Option<String>,
        /// None: as `ssh` decides.
        port: Option<u16>,
    },
    /// The operator's `docker`, in a container.
    Docker {
        /// Its name or id.
        container: String,
    },
    /// A volume of the operator's `docker`, reached through a helper container that has it at [`VOLUME_PLACE`].
    Volume {
        /// Its name.
        name: String,
    },
    /// The operator's `kubectl`, in a container of a pod.
    Pod(Spot),
    /// A claim of the operator's `kubectl`, reached through a helper pod that has it at [`VOLUME_PLACE`].
    Claim(Spot),
}

/// Directory at which a helper has a volume.
pub const VOLUME_PLACE: &str = "/volume";

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ssh { host, user, port } => {
                f.write_str("ssh://")?;
                if let Some(user) = user {
                    write!(f, "{user}@")?;
                }
                match host.contains(':') {
                    true => write!(f, "[{host}]")?,
                    false => f.write_str(host)?,
                }
                port.map_or(Ok(()), |port| write!(f, ":{port}"))
            }
            Self::Docker { container } => write!(f, "docker://{container}"),
            Self::Volume { name } => write!(f, "docker-volume://{name}"),
            Self::Pod(spot) => write!(f, "k8s://{spot}"),
            Self::Claim(spot) => write!(f, "k8s-pvc://{spot}"),
        }
    }
}

impl Address {
    /// Returns true for a snapshot of a claim, where nothing changes.
    #[must_use]
    pub fn is_frozen(&self) -> bool {
        matches!(self, Self::Claim(spot) if spot.snapshot().is_some())
    }

    /// Takes an address with a path apart; `None`: it is a path of this machine, or not understood.
    #[must_use]
    pub fn split(path: &Path) -> Option<(Self, PathBuf)> {
        let (address, path) = Self::parts(path)?;
        let path = if path.is_empty() { b"/" } else { path };
        Some((address, PathBuf::from(OsStr::from_bytes(path))))
    }

    /// Returns true if an address is valid and has a path. A path is never guessed. A volume needs none, because it is one
    /// directory; a snapshot of a volume is no place to work in.
    #[must_use]
    pub fn has_path(path: &Path) -> bool {
        match Self::parts(path) {
            Some((Self::Claim(spot), _)) => spot.snapshot().is_none(),
            Some((address, path)) => address.is_volume() || !path.is_empty(),
            None => false,
        }
    }

    /// Returns true for a volume, which is not a machine.
    #[must_use]
    pub fn is_volume(&self) -> bool {
        matches!(self, Self::Volume { .. } | Self::Claim(_))
    }

    /// The same with what stands behind the address as it is written.
    fn parts(path: &Path) -> Option<(Self, &[u8])> {
        let bytes = path.as_os_str().as_bytes();
        // Paths of this machine are nearly all there are.
        if bytes.first().is_none_or(|first| *first == b'/') {
            return None;
        }
        let (scheme, rest) = bytes.split_at_checked(bytes.windows(3).position(|part| part == b"://")?)?;
        let rest = rest.get(3..)?;
        match scheme {
            b"k8s" => return Spot::of_pod(rest).map(|(spot, path)| (Self::Pod(spot), path)),
            b"k8s-pvc" => return Spot::of_claim(rest).map(|(spot, path)| (Self::Claim(spot), path)),
            _ => {}
        }
        let end = rest.iter().position(|byte| *byte == b'/').unwrap_or(rest.len());
        let (place, path) = rest.split_at_checked(end)?;
        let place = std::str::from_utf8(place).ok()?;
        let address = match scheme {
            b"ssh" => Self::ssh(place)?,
            b"docker" => Self::Docker {
                container: word(place, "_.-")?,
            },
            b"docker-volume" => Self::Volume {
                name: word(place, "_.-")?,
            },
            _ => return None,
        };
        Some((address, path))
    }

    fn ssh(place: &str) -> Option<Self> {
        let (user, place) = match place.rsplit_once('@') {
            Some((user, place)) => (Some(word(user, "_.-")?), place),
            None => (None, place),
        };
        // `[::1]:22`
        let (host, port) = match place.strip_prefix('[').and_then(|place| place.split_once(']')) {
            Some((host, port)) => (
                word(host, ":.%")?,
                port.strip_prefix(':').or(port.is_empty().then_some(""))?,
            ),
            None => {
                let (host, port) = place.split_once(':').unwrap_or((place, ""));
                (word(host, "_.-")?, port)
            }
        };
        let port = match port {
            "" if place.ends_with(':') => return None,
            "" => None,
            port => Some(port.parse().ok().filter(|port| *port > 0)?),
        };
        Some(Self::Ssh { host, user, port })
    }

    /// Returns a path of the address as the other end names it.
    pub(super) fn inside(&self, path: PathBuf) -> PathBuf {
        match self {
            Self::Volume { .. } | Self::Claim(_) => {
                let rest = path.strip_prefix("/").unwrap_or(&path);
                let place = Path::new(VOLUME_PLACE);
                // With nothing behind it a slash would follow a link in its place.
                if rest.as_os_str().is_empty() {
                    place.to_path_buf()
                } else {
                    place.join(rest)
                }
            }
            Self::Ssh { .. } | Self::Docker { .. } | Self::Pod(_) => path,
        }
    }

    /// The path of the address that the other end calls so; `None` when it has none.
    pub(super) fn outside<'p>(&self, told: &'p Path) -> Option<std::borrow::Cow<'p, Path>> {
        match self {
            Self::Volume { .. } | Self::Claim(_) => {
                let rest = told.strip_prefix(VOLUME_PLACE).ok()?;
                Some(Path::new("/").join(rest).into())
            }
            Self::Ssh { .. } | Self::Docker { .. } | Self::Pod(_) => Some(told.into()),
        }
    }

    /// The address of `path` there.
    #[must_use]
    pub fn with(&self, path: &Path) -> PathBuf {
        let mut whole = self.to_string().into_bytes();
        if !self.is_volume() || path != Path::new("/") {
            whole.extend(path.as_os_str().as_bytes());
        }
        PathBuf::from(OsStr::from_bytes(&whole))
    }
}

/// A name that a program can be given without being taken for an option or for several words.
fn word(text: &str, more: &str) -> Option<String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || more.contains(c);
    let begins = text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == ':' || c == '_');
    (begins && text.chars().all(fits)).then(|| text.to_owned())
}
