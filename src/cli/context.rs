//! Context of every command: environment, terminal, signals, clock, randomness and stores.

pub(super) mod frozen;
mod notices;
pub(super) mod pending;
mod stores;

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::ValueEnum as _;

use super::args::AgentThere;
use super::called_as::CalledAs;
use super::error::{CliError, ErrorKind};
use super::fail_point::FailPoint;
use super::sudo;
use crate::clock::{Clock as _, SystemClock, SystemEntropy};
use crate::environment::Environment;
use crate::model::{InstanceId, Time};
use crate::observer::Observer;
use crate::process::{AGENT_VARIABLE, Interrupts};
use crate::recovery::{Recovery, SessionChoice, Wanted};
use crate::session::Services;
use crate::terminal::progress::Progress;
use crate::terminal::{Terminal, shell, width};

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
    /// True once interrupted restores were reported: a command may open the store several times.
    has_told_pending: AtomicBool,
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

    /// Turns the signals of this process into a flag.
    pub(super) fn catch_signals(terminal: &Terminal) -> Result<Interrupts, CliError> {
        Interrupts::install_with(terminal.patience())
            .map_err(|error| CliError::new(ErrorKind::Failed, "signals cannot be caught").because(error))
    }

    pub(super) fn new(
        interrupts: Interrupts,
        environment: &'a Environment,
        terminal: &'a Terminal,
        called_as: CalledAs,
    ) -> Self {
        if let Some(uid) = environment.homeless {
            terminal.warn(&format!(
                "the home of user {uid}, who called sudo, is unknown, so the home of HOME is used; name theirs in \
                JACKIN_HOME_DIR"
            ));
        }
        Self::stopped_by(interrupts, environment, terminal, called_as)
    }

    /// For one of many pieces of work of a process that goes on: `stop` asks it to stop.
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
            has_told_pending: AtomicBool::new(false),
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

    /// Returns the engine, which reports to this command.
    pub(super) fn engine(&self) -> Recovery<'_> {
        let engine = Recovery::open(self.environment)
            .with_services(self.world())
            .reporting_to(self);
        match self.takes_up_frozen {
            true => engine,
            false => engine.leaving_deferred(),
        }
    }

    /// Returns the engine with another observer of its progress.
    pub(super) fn engine_observed_by<'b>(&'b self, observer: &'b dyn Observer) -> Recovery<'b> {
        self.engine().with_services(Services {
            observer,
            ..self.world()
        })
    }

    /// The time now.
    pub(super) fn now(&self) -> Time {
        self.clock.now()
    }

    /// Returns the path of the store, which need not exist.
    pub(super) fn store_directory(&self) -> Result<PathBuf, CliError> {
        Ok(self.engine().store_directory()?)
    }

    /// Returns true if a command typed in the current directory means this session when it names none.
    pub(super) fn is_latest_here(&self, instance: &InstanceId, wanted: Wanted) -> bool {
        let here = SessionChoice {
            named: None,
            any: false,
            wanted,
        };
        self.engine().choose(&here).is_ok_and(|row| row.id == *instance)
    }

    /// Says on stderr what can be typed next: the command with its arguments, quoted for a shell.
    pub(super) fn propose(&self, purpose: &str, words: &str) {
        self.terminal
            .note(&self.proposal(purpose, words, self.terminal.width_err()));
    }

    /// `purpose: command`, or the command on a line of its own when that is wider than `columns`, so that the terminal does
    /// not break it more than it must.
    pub(super) fn proposal(&self, purpose: &str, words: &str, columns: usize) -> String {
        on_one_line_or_two(purpose, &self.command(words), columns)
    }

    /// Prints a command of another program, as [`Self::propose`] does.
    pub(super) fn propose_of_other(&self, purpose: &str, command: &str) {
        let width = self.terminal.width_err();
        self.terminal.note(&on_one_line_or_two(purpose, command, width));
    }

    /// Prints a command for root, as [`Self::propose`] does. `sudo` drops the variables, so the command sets them.
    pub(super) fn propose_to_root(&self, purpose: &str, words: &str) {
        let named = self.environment.jackin_directories();
        let named = named
            .iter()
            .map(|(name, place)| format!("{}={} ", name.to_string_lossy(), shell::word(place)));
        let command = format!("sudo {}{}", named.collect::<String>(), self.command(words));
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

/// The environment of this process, read once.
#[must_use]
pub fn environment() -> Environment {
    let current = std::env::current_dir().unwrap_or_else(|_| deleted_directory());
    // A relative HOME is made absolute, so that the checks of what a mount contains see the store below it.
    let home = std::env::var_os("HOME")
        .filter(|home| !home.is_empty())
        .map(|home| current.join(home));
    let environment = Environment {
        variables: std::env::vars_os().collect(),
        home: home.or_else(|| directories::BaseDirs::new().map(|dirs| dirs.home_dir().to_path_buf())),
        current,
        ..Environment::default()
    };
    if handle_fs::is_privileged() {
        let name = environment.get("SUDO_USER").map(OsStr::to_owned);
        sudo::settle(environment, |uid| handle_fs::home_of_named(uid, name.as_deref()))
    } else {
        environment
    }
}

/// Returns the directory in which the shell was before it was deleted, so that it can be restored from there; `/` if that is unknown.
fn deleted_directory() -> PathBuf {
    let known = std::env::var_os("PWD").map(PathBuf::from);
    known
        .filter(|path| path.is_absolute())
        .unwrap_or_else(|| PathBuf::from("/"))
}

/// The arguments of this process.
#[must_use]
pub fn arguments() -> Vec<OsString> {
    std::env::args_os().collect()
}
