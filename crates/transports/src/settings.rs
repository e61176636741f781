//! Settings of a connection.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::product::Product;

/// Source of the agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AgentSource {
    /// This program where it is installed; else a static copy; else the shell and the tools there.
    #[default]
    Auto,
    /// This program is copied there for as long as the command runs.
    Copy,
    /// The shell and the tools there, whatever is installed.
    Shell,
}

/// Settings of a connection, and where its program is searched.
#[derive(Clone, Copy, Debug)]
pub struct Settings<'a> {
    /// The program that connects.
    pub product: &'static Product,
    /// Value of `PATH`.
    pub path: Option<&'a OsStr>,
    /// Directories from which no program is started.
    pub untrusted: &'a [PathBuf],
    /// Source of the agent.
    pub source: AgentSource,
    /// Image of helpers; `None` for the default one.
    pub image: Option<&'a str>,
    /// True while waits for helpers that do not run yet should end.
    pub given_up: &'a AtomicBool,
    /// Time limit to connect, and afterwards for the time without data.
    pub timeout: Duration,
}
