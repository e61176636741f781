//! Settings of a connection.

use std::ffi::OsStr;
use std::fmt;
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
    /// A copy of this program, which is sent there.
    Copy,
    /// The shell and the tools there, whatever is installed.
    Shell,
}

/// Function that receives what is waited for.
#[derive(Clone, Copy)]
pub struct Waiting<'a>(pub &'a dyn Fn(&str));

impl fmt::Debug for Waiting<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Waiting")
    }
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
    /// Name of the directory of a copy that is kept; `None`: none is.
    pub kept: Option<&'a str>,
    /// Image of helpers; `None` for the default one.
    pub image: Option<&'a str>,
    /// True while waits for helpers that do not run yet should end.
    pub given_up: &'a AtomicBool,
    /// Called once with what a connection waits for, if that takes long.
    pub waiting: Waiting<'a>,
    /// Time limit to connect, and afterwards for the time without data.
    pub timeout: Duration,
}
