//! Facts that several commands report: a session with its steps and its origin, and a mount compared.

mod origin;
mod session;
mod steps;

pub(super) use origin::{Imported, begun};
pub(super) use session::SessionReport;
#[cfg(feature = "mcp")]
pub(super) use steps::{Steps, steps};
