//! Context of every command: environment, terminal, signals, clock, randomness and stores.

pub(super) mod frozen;
pub(super) mod pending;
pub(super) mod settings;
mod stores;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::ValueEnum as _;

use super::args::AgentThere;
use super::called_as::CalledAs;
use super::error::{CliError, ErrorKind};
use super::fail_point::FailPoint;
use super::sudo;
use crate::clock::{Clock, Entropy};
use crate::config::settle;
use crate::environment::Environment;
use crate::model::Time;
use crate::process::{AGENT_VARIABLE, Interrupts};
use crate::session::Services;
use crate::store::Layout;
use crate::terminal::progress::Progress;
use crate::terminal::{Terminal, shell, width};
use handle_fs::remote::{Address, is_elsewhere};

/// The system's clock.
pub(super) struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Time {
        Time::from_nanos(jiff::Timestamp::now().as_nanosecond())
    }
}

/// The system's randomness.
pub(super) struct SystemEntropy;

impl Entropy for SystemEntropy {
    fn fill(&self, bytes: &mut [u8]) {
        if getrandom::fill(bytes).is_err() {
            // No randomness at all (a kernel before 3.17 early in its boot): ids only have to differ, and they are
            // checked for being taken.
            let now = SystemClock.now().nanos().to_le_bytes();
            for (byte, now) in bytes.iter_mut().zip(now.iter().cycle()) {
                *byte = *now;
            }
        }
    }
}

/// Everything a command works with.
pub(super) struct Context<'a> {
    /// Variables, home, current directory.
    pub(super) environment: &'a Environment,
    /// The door.
    pub(super) terminal: &'a Terminal,
    /// Signals turned into a flag.
    pub(super) interrupts: Interrupts,
    /// Name by which the program was called, for the commands that it prints.
    pub(super) called_as: CalledAs,
    /// True if opening the store reports interrupted restores.
    pub(super) tells_pending: bool,
    /// True if opening the store for writing stores or removes what dead processes froze.
    pub(super) takes_up_frozen: bool,
    progress: FailPoint<Progress<'a>>,
    clock: SystemClock,
    entropy: SystemEntropy,
}

impl<'a> Context<'a> {
    /// The same in another environment: an agent says itself where it works.
    pub(super) fn within<'b>(self, environment: &'b Environment) -> Context<'b>
    where
        'a: 'b,
    {
        Context { environment, ..self }
    }

    pub(super) fn new(
        environment: &'a Environment,
        terminal: &'a Terminal,
        called_as: CalledAs,
    ) -> Result<Self, CliError> {
        let interrupts = Interrupts::install_with(terminal.patience())
            .map_err(|error| CliError::new(ErrorKind::Failed, "signals cannot be caught").because(error))?;
        if let Some(uid) = environment.homeless {
            terminal.warn(&format!(
                "user {uid}, who called sudo, is not in /etc/passwd, so the home of HOME is used; name theirs in JACKIN_HOME_DIR"
            ));
        }
        Ok(Self::stopped_by(interrupts, environment, terminal, called_as))
    }

    /// For one of many pieces of work of a process that goes on: `stop` asks it to give up.
    pub(super) fn of_a_call(
        environment: &'a Environment,
        terminal: &'a Terminal,
        called_as: CalledAs,
        stop: Arc<AtomicBool>,
    ) -> Self {
        Self::stopped_by(Interrupts::asked_by(stop), environment, terminal, called_as)
    }

    fn stopped_by(
        interrupts: Interrupts,
        environment: &'a Environment,
        terminal: &'a Terminal,
        called_as: CalledAs,
    ) -> Self {
        let progress = FailPoint::new(environment, Progress::new(terminal, interrupts.flag()));
        Self {
            environment,
            terminal,
            interrupts,
            called_as,
            tells_pending: false,
            takes_up_frozen: false,
            progress,
            clock: SystemClock,
            entropy: SystemEntropy,
        }
    }

    /// Returns the `--agent` argument for another process of this program, if the environment sets one.
    pub(super) fn agent_words(&self) -> Option<OsString> {
        // An invalid value is reported when jackin connects to a machine.
        let told = self.environment.get(AGENT_VARIABLE)?.to_str()?;
        let agent = AgentThere::from_str(told, false).ok()?;
        Some(format!("--agent={}", agent.word()).into())
    }

    /// The world as the library wants it.
    pub(super) fn world(&self) -> Services<'_> {
        Services {
            observer: &self.progress,
            clock: &self.clock,
            entropy: &self.entropy,
            uid: handle_fs::own_ids().0,
        }
    }

    /// The time now.
    pub(super) fn now(&self) -> Time {
        self.clock.now()
    }

    /// Returns the path of the store, which need not exist.
    pub(super) fn store_directory(&self) -> Result<PathBuf, CliError> {
        self.environment.store_directory().ok_or_else(|| {
            CliError::new(
                ErrorKind::Config,
                "your home directory is not known, so neither is jackin's",
            )
            .hint("set HOME, or JACKIN_HOME_DIR to the directory that jackin keeps its data in")
        })
    }

    /// Returns the paths in the store, and its owner.
    pub(super) fn layout(&self) -> Result<Layout, CliError> {
        Ok(Layout::new(self.store_directory()?).kept_by(self.environment.operator))
    }

    /// Says on stderr what can be typed next: the verb with its arguments, quoted for a shell.
    pub(super) fn propose(&self, purpose: &str, words: &str) {
        self.terminal
            .note(&self.proposal(purpose, words, self.terminal.width_err()));
    }

    /// `purpose: command`, or the command on a line of its own when that is wider than `columns`, so that the terminal does
    /// not break it more than it must.
    pub(super) fn proposal(&self, purpose: &str, words: &str, columns: usize) -> String {
        on_one_line_or_two(purpose, &self.command(words), columns)
    }

    /// Prints a command for root, as [`Self::propose`] does. `sudo` drops the variables, so the command sets them.
    pub(super) fn propose_to_root(&self, purpose: &str, words: &str) {
        let named = ["JACKIN_HOME_DIR", "JACKIN_CONFIG_DIR"].map(|name| {
            let value = self.environment.get(name);
            value.map_or_else(String::new, |value| {
                let place = self.environment.absolute(Path::new(value));
                format!("{name}={} ", shell::word(place.as_os_str()))
            })
        });
        let command = format!("sudo {}{}", named.concat(), self.command(words));
        let width = self.terminal.width_err();
        self.terminal.note(&on_one_line_or_two(purpose, &command, width));
    }

    /// A command of this program as the operator would type it.
    pub(super) fn command(&self, words: &str) -> String {
        format!("{} {words}", self.called_as.prefix())
    }
}

fn on_one_line_or_two(purpose: &str, command: &str, columns: usize) -> String {
    let line = format!("{purpose}: {command}");
    if width::of(&line) <= columns {
        line
    } else {
        format!("{}:\n  {command}", purpose.trim_end())
    }
}

/// A path argument as the operator means it: absolute, without `.` and `..`, with every link above its last part
/// resolved. An address that is not understood stays what it is: it leads nowhere.
pub(super) fn settle_path(environment: &Environment, path: &Path) -> PathBuf {
    if is_elsewhere(path) {
        return match Address::split(path) {
            Some(_) => settle(path),
            None => path.to_path_buf(),
        };
    }
    let absolute = environment.absolute(path);
    let mut plain = PathBuf::new();
    for part in absolute.components() {
        match part {
            std::path::Component::ParentDir => {
                plain.pop();
            }
            std::path::Component::CurDir => {}
            other => plain.push(other),
        }
    }
    let resolved = plain
        .parent()
        .and_then(|parent| std::fs::canonicalize(parent).ok());
    match (resolved, plain.file_name()) {
        (Some(parent), Some(name)) => parent.join(name),
        _ => plain,
    }
}

/// The environment of this process, read once.
#[must_use]
pub fn environment() -> Environment {
    let home = std::env::var_os("HOME")
        .filter(|home| !home.is_empty())
        .map(PathBuf::from);
    let environment = Environment {
        variables: std::env::vars_os().collect(),
        home: home.or_else(|| directories::BaseDirs::new().map(|dirs| dirs.home_dir().to_path_buf())),
        current: std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/")),
        ..Environment::default()
    };
    if handle_fs::is_privileged() {
        sudo::settle(environment, handle_fs::home_of)
    } else {
        environment
    }
}

/// The arguments of this process.
#[must_use]
pub fn arguments() -> Vec<OsString> {
    std::env::args_os().collect()
}
