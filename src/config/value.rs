//! The words that a configuration may use, and the source of a value.

use std::borrow::Cow;
use std::fmt;
use std::os::unix::ffi::OsStrExt as _;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

use super::error::{Origin, shown};
use crate::model::ByteString;

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)+
        }

        impl $name {
            /// Returns the value with this word; `None` for an unknown word.
            #[must_use]
            pub fn parse(word: &str) -> Option<Self> {
                match word {
                    $($word => Some(Self::$variant),)+
                    _ => None,
                }
            }

            /// Returns the word used in files, on the command line and in JSON.
            #[must_use]
            pub fn word(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.word())
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.word())
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "enum": [$($word),+] })
            }
        }
    };
}

words! {
    /// Extent of recovery for a session.
    Mode {
        /// No recovery; nothing is written.
        Off = "off",
        /// The session is recorded without files.
        Metadata = "metadata",
        /// The mounts' files are captured.
        Project = "project",
        /// The mounts' files and the state of agents are captured.
        ProjectAndState = "project-and-state",
    }
}

impl Mode {
    /// Returns true if files are captured.
    #[must_use]
    pub fn captures(self) -> bool {
        matches!(self, Self::Project | Self::ProjectAndState)
    }
}
words! {
    /// Handling of the operator's own secrets below a mount.
    Sensitive {
        /// Secrets are not archived.
        Withhold = "withhold",
        /// Secrets are captured like any file.
        Capture = "capture",
    }
}
words! {
    /// Handling of credentials in agents' state.
    StateSecrets {
        /// Credentials are not archived.
        Withhold = "withhold",
        /// Credentials are stored encrypted to the operator's own public keys.
        Encrypt = "encrypt",
    }
}
words! {
    /// Action of a launch whose baseline cannot be taken.
    OnFailure {
        /// The command is not started.
        Block = "block",
        /// The command is started without protection, with a message.
        Run = "run",
    }
}
words! {
    /// Detail in which a launched command is recorded.
    CommandDetail {
        /// The program and the number of its arguments.
        Program = "program",
        /// The arguments too, without what looks like a secret.
        Full = "full",
    }
}
words! {
    /// Restores that an agent may start by itself.
    AgentRestore {
        /// No restores.
        Deny = "deny",
        /// Checkpoints of its own session.
        Checkpoints = "checkpoints",
    }
}
words! {
    /// Text of prompts and commands that hooks record.
    Prompts {
        /// The first line, at most 200 characters, without what looks like a secret.
        FirstLine = "first-line",
        /// All of it, without what looks like a secret.
        Full = "full",
        /// None.
        Off = "off",
    }
}
words! {
    /// Handling of the contents of a clean git work tree.
    GitClean {
        /// Contents are archived like any other.
        Archive = "archive",
        /// The commit is recorded; its objects hold the contents.
        Commit = "commit",
    }
}
words! {
    /// Use of file-system snapshots.
    Native {
        /// Used where they are available.
        Auto = "auto",
        /// Never used.
        Off = "off",
        /// Required: a session begins only where they are available.
        Require = "require",
    }
}
words! {
    /// Form in which jackin passes a mount to a container.
    Isolation {
        /// The host directory itself.
        Shared = "shared",
        /// A git worktree made for the container.
        Worktree = "worktree",
        /// A clone made for the container.
        Clone = "clone",
    }
}

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ValueSource {
    /// Built in.
    Default,
    /// A configuration file.
    File {
        /// Its path.
        path: ByteString,
        /// The line, from 1.
        line: usize,
    },
    /// The command line.
    Flag {
        /// With its dashes, e.g. `--snapshot`; the target itself is `TARGET`.
        name: &'static str,
    },
}

impl From<&Origin> for ValueSource {
    fn from(origin: &Origin) -> Self {
        match origin {
            Origin::File { path, line } => Self::File {
                path: ByteString::from(path.as_path()),
                line: *line,
            },
            Origin::Flag(name) => Self::Flag { name },
        }
    }
}

impl fmt::Display for ValueSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { path, line } => {
                let path = std::path::Path::new(std::ffi::OsStr::from_bytes(&path.0));
                write!(f, "{}, line {line}", shown(path))
            }
            Self::Flag { name } => f.write_str(name),
        }
    }
}

/// A value and where it came from.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[schemars(rename = "Sourced_{T}")]
pub struct Sourced<T> {
    /// The value.
    pub value: T,
    /// Where it came from.
    pub source: ValueSource,
}

impl<T> Sourced<T> {
    /// Creates a built-in value.
    #[must_use]
    pub fn built_in(value: T) -> Self {
        Self {
            value,
            source: ValueSource::Default,
        }
    }
}
