//! jackin's own configuration files: `[recovery]` tables in their layers, and a workspace's mounts. The result is plain values,
//! each with its source. The files are only read; `edit`, for `init`, is the one module that writes.

mod bracket;
mod document;
mod edit;
mod embedded;
mod error;
mod flags;
mod host;
mod integrations;
mod jackin;
mod load;
mod merge;
mod mounts;
mod parse;
mod pattern;
mod reference;
mod replication;
mod resolved;
mod retained;
mod schema;
mod screen;
mod survey;
mod value;

pub use bracket::{matcher_syntax, with_last_blank};
pub use edit::{Edit, EditError, Wanted};
pub use error::{ConfigError, Origin, Place, shown};
pub use flags::Flags;
pub use host::{settle, settle_below, settle_mount, settle_path, written_path};
pub use integrations::{BUILT_IN_INTEGRATIONS, Integration};
pub use jackin::{Isolated, JackinInstance, JackinInstances, Unread, isolated, jackin_instances};
pub use load::Config;
pub use mounts::MountConfig;
pub use pattern::{literal as literal_pattern, recorded as recorded_pattern};
pub use reference::{KeyReference, TableReference, default_file, reference};
pub use replication::{BucketPlace, Replication};
pub use resolved::{JackinTerms, Limits, Resolved, Retention, Room, Subject};
pub use screen::ScreenSettings;
pub use survey::{Survey, may_block_calls, survey};
pub use value::{
    AgentRestore, CommandDetail, GitClean, Isolation, Mode, Native, OnFailure, Prompts, Sensitive, Sourced,
    StateSecrets, ValueSource,
};

#[cfg(test)]
mod tests;
