//! Third-party coding agents: which are supported, where they keep their hooks, what they send to a hook, and which of their
//! commands may change files. Nothing here takes a snapshot.

mod agent;
mod classify;
pub mod codex_owner;
mod conversation;
mod event;
mod presence;
pub mod settings;
mod shell;
pub mod trust;
mod written_paths;

pub use agent::{Agent, Scope};
pub use classify::{Effect, of_arguments, of_command};
pub use event::{Event, EventError, HookEvent, LARGEST, ToolCall, is_reported_twice, may_be_own};
pub use presence::{Presence, called_program, present};
