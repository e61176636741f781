//! The optional parts of this build, each a Cargo feature.

use crate::diagnostic::{Diagnostic, ErrorKind, Hint};

/// An optional part of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feature {
    /// Encryption of credentials to the operator's own keys.
    Encrypt,
    /// Colors of code.
    Highlight,
    /// Pages of `--html`.
    Html,
    /// Pods and claims of clusters.
    Kubernetes,
    /// The server for agents.
    Mcp,
    /// Snapshots as a file system.
    Mount,
    /// Other machines through their shell alone.
    RemoteShell,
    /// The copy in an object store.
    S3,
    /// The screen of `ui`.
    Tui,
}

/// An optional part that this build lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this build of jackin cannot {}: it was built without the feature `{}`", .0.work(), .0.name())]
pub struct NotBuilt(pub Feature);

impl Diagnostic for NotBuilt {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Usage
    }

    fn hints(&self) -> Vec<Hint> {
        vec![Hint::text(format!(
            "install a released binary, which has all features, or build with `--features {}`",
            self.0.name()
        ))]
    }
}

impl Feature {
    /// All optional parts, sorted by name.
    pub const ALL: [Self; 9] = [
        Self::Encrypt,
        Self::Highlight,
        Self::Html,
        Self::Kubernetes,
        Self::Mcp,
        Self::Mount,
        Self::RemoteShell,
        Self::S3,
        Self::Tui,
    ];

    /// Returns the name in Cargo.toml.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Encrypt => "encrypt",
            Self::Highlight => "highlight",
            Self::Html => "html",
            Self::Kubernetes => "kubernetes",
            Self::Mcp => "mcp",
            Self::Mount => "mount",
            Self::RemoteShell => "remote-shell",
            Self::S3 => "s3",
            Self::Tui => "tui",
        }
    }

    /// Returns the work of the part, in words that follow "can".
    const fn work(self) -> &'static str {
        match self {
            Self::Encrypt => "encrypt or decrypt",
            Self::Highlight => "color code",
            Self::Html => "write pages",
            Self::Kubernetes => "reach a cluster",
            Self::Mcp => "serve the Model Context Protocol",
            Self::Mount => "mount snapshots",
            Self::RemoteShell => "work through the shell of another machine",
            Self::S3 => "reach an object store",
            Self::Tui => "draw a screen",
        }
    }

    /// Returns true if this build includes the part.
    #[must_use]
    pub const fn is_built(self) -> bool {
        match self {
            Self::Encrypt => cfg!(feature = "encrypt"),
            Self::Highlight => cfg!(feature = "highlight"),
            Self::Html => cfg!(feature = "html"),
            Self::Kubernetes => cfg!(feature = "kubernetes"),
            Self::Mcp => cfg!(feature = "mcp"),
            // Other systems need a library of the system for it.
            Self::Mount => cfg!(all(target_os = "linux", feature = "mount")),
            Self::RemoteShell => cfg!(feature = "remote-shell"),
            Self::S3 => cfg!(feature = "s3"),
            Self::Tui => cfg!(feature = "tui"),
        }
    }
}
