//! The words that a configuration may use, and where a value came from.

use std::borrow::Cow;
use std::fmt;
use std::os::unix::ffi::OsStrExt as _;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

use super::shown;
use crate::model::ByteString;

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)+
        }

        impl $name {
            /// The value with this word.
            #[must_use]
            pub fn parse(word: &str) -> Option<Self> {
                match word {
                    $($word => Some(Self::$variant),)+
                    _ => None,
                }
            }

            /// The word used in files, on the command line and in JSON.
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
    /// What recovery does for a session.
    Mode {
        /// Nothing at all; nothing is written.
        Off = "off",
        /// The session is recorded, no file is kept.
        Metadata = "metadata",
        /// The mounts' files are kept.
        Project = "project",
        /// The mounts' files and the state of agents are kept.
        ProjectAndState = "project-and-state",
    }
}

impl Mode {
    /// Whether files are kept.
    #[must_use]
    pub fn captures(self) -> bool {
        matches!(self, Self::Project | Self::ProjectAndState)
    }
}
words! {
    /// What happens to the operator's own secrets that lie below a mount.
    Sensitive {
        /// They enter no archive.
        Withhold = "withhold",
        /// They are captured like any file.
        Capture = "capture",
    }
}
words! {
    /// What happens to credentials in agents' state.
    StateSecrets {
        /// They enter no archive.
        Withhold = "withhold",
        /// They are stored encrypted to the operator's own public keys.
        Encrypt = "encrypt",
    }
}
words! {
    /// What a launch does when the baseline cannot be taken.
    OnFailure {
        /// The command is not started.
        Block = "block",
        /// The command is started without protection, and that is said.
        Run = "run",
    }
}
words! {
    /// What an agent may restore by itself.
    AgentRestore {
        /// Nothing.
        Deny = "deny",
        /// Checkpoints of its own session.
        Checkpoints = "checkpoints",
    }
}
words! {
    /// What becomes of the contents of a clean git work tree.
    GitClean {
        /// They are archived like any other.
        Archive = "archive",
        /// The commit is recorded, whose objects have them.
        Commit = "commit",
    }
}
words! {
    /// What is done with snapshots of the file system itself.
    Native {
        /// They are used where they can be had.
        Auto = "auto",
        /// Never.
        Off = "off",
        /// A session only begins where they can be had.
        Require = "require",
    }
}
words! {
    /// How jackin hands a mount to a container.
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
    /// A built-in value.
    #[must_use]
    pub fn built_in(value: T) -> Self {
        Self {
            value,
            source: ValueSource::Default,
        }
    }
}
