//! Connections to other machines: the operator's own `ssh`, `docker` and `kubectl` connect to the agent there, so their
//! configuration, keys and contexts count. Nothing of a mount is ever part of a command; the words of one are fixed, but for an address
//! that was checked.

#![cfg_attr(
    not(all(feature = "kubernetes", feature = "remote-shell")),
    allow(dead_code, reason = "some of what optional parts use is used by nothing else")
)]

mod carrier;
mod channel;
mod claims;
mod cleanup;
mod cluster;
mod container;
mod copies;
mod docker;
#[cfg(feature = "kubernetes")]
mod kubernetes;
#[cfg(not(feature = "kubernetes"))]
#[path = "kubernetes_absent.rs"]
mod kubernetes;
mod not_built;
mod pipe;
mod product;
mod program;
mod reach;
mod script;
mod settings;
#[cfg(feature = "remote-shell")]
mod shell;
#[cfg(not(feature = "remote-shell"))]
#[path = "shell_absent.rs"]
mod shell;
mod token;

pub use carrier::carry;
pub use claims::Claims;
pub use cleanup::hold;
pub use cluster::{Cut, LeftBehind, NewClaim, Permission, Purpose, VolumePlan, VolumePlans};
pub use copies::RunningCopy;
pub use docker::containers;
pub use kubernetes::{ClusterContexts, left_behind, permissions};
pub use not_built::NotBuilt;
pub use product::Product;
pub use settings::{AgentSource, Settings, Waiting};
