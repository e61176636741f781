//! Coding agents as others make them: which there are, where they keep their hooks, what they tell a hook, and which of their
//! commands may change files. Nothing here takes a snapshot.

mod agent;
pub mod settings;

pub use agent::{Agent, Scope};
