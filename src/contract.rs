//! The contract: what will be captured, what not, where it is kept, what a restore may overwrite. It reads the file
//! system and changes nothing; `explain` prints it, `launch` and `begin` act by it.

mod agent_homes;
mod agent_paths;
mod agent_state;
mod coverage;
mod error;
mod exclude;
mod integration;
mod model;
mod mount_probe;
mod native;
mod other_owners;
mod overlap;
mod path_glob;
mod resolve;
mod secret_names;
mod sensitive_paths;
mod staging;
mod target;
mod terms;
mod watched;

pub use agent_homes::{agent_directory, agent_variable};
pub use error::ContractError;
pub(crate) use error::UNFROZEN;
pub use exclude::{Matcher, PatternError, PrivateFiles, Verdict};
pub use integration::{Detected, TrackedByGit, detect as automatic_excludes};
pub use model::{
    AgentTerms, BroadReason, Contract, KeptExclude, MountState, MountTerms, NativeTerms, NotCovered,
    RestoreTerms, RetentionTerms, ShellReason, SnapshotTerms, StackWarning, StatePath, StateSource,
    StateTerms, Unavailable,
};
pub use native::{FROZEN_SUFFIX, FrozenPlace, NativePlan, NativeSource, NotFrozen, frozen_name, plan_native};
pub use other_owners::{COUNT, Foreign, Identity, MAX_VISITED, answer as count_answer, count_foreign};
pub use path_glob::PathGlob;
pub use resolve::{Options, mark_new, resolve};
pub use secret_names::is_named_secret;
pub use staging::{ASIDE_SUFFIX, STAGING_PREFIX, is_staging_place, staging_prefix};
pub use target::Target;
pub use terms::{TermChange, Terms};
pub use watched::why_unwatched;

#[cfg(test)]
mod tests;
