//! The contract: what will be captured, what not, where it is kept, what a restore may overwrite. It reads the file
//! system and changes nothing; `explain` prints it, `launch` and `begin` act by it.

mod coverage;
mod error;
mod exclude;
mod foreign;
mod integration;
mod native;
mod overlap;
mod places;
mod resolve;
mod seen;
mod staging;
mod state;
mod target;
mod terms;

pub use error::ContractError;
pub use exclude::{Matcher, PatternError, PrivateFiles, Verdict};
pub use foreign::{COUNT, Foreign, Identity, MAX_VISITED, answer as count_answer, count_foreign};
pub use integration::{Detected, detect as automatic_excludes};
pub use native::{FROZEN_SUFFIX, FrozenPlace, NativePlan, NativeSource, NotFrozen, frozen_name, plan_native};
pub use resolve::{Options, TrackedByGit, mark_new, resolve};
pub use staging::{ASIDE_SUFFIX, STAGING_PREFIX, is_staging_place, staging_prefix};
pub use target::Target;
pub use terms::{
    AgentTerms, BroadReason, Contract, KeptExclude, MountState, MountTerms, NativeTerms, NotCovered,
    RestoreTerms, RetentionTerms, SnapshotTerms, StackWarning, StatePath, StateSource, StateTerms,
    Unavailable,
};

#[cfg(test)]
mod tests;
