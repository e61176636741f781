//! Runs the operator's command in our place: same terminal, same process group, same streams. What it does with
//! signals is its own business; those that reach only us are handed on.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::Ordering;

use rustix::io::Errno;
use rustix::process::{Pid, WaitId, WaitIdOptions, WaitIdStatus, waitid};

use super::forward::Forwarder;
use super::identity::reference;
use super::process_ref::ProcessRef;
use super::signals::{Aside, HeldBack, Interrupts};
use super::{orphans, system};

/// A command to run.
#[derive(Clone, Copy, Debug)]
pub struct Invocation<'a> {
    /// The program: with a `/` a path (relative to `directory`), else looked up in `PATH`.
    pub program: &'a OsStr,
    /// Its arguments, without its own name.
    pub arguments: &'a [OsString],
    /// Variables set in addition to our own environment.
    pub environment: &'a [(OsString, OsString)],
    /// Its current directory.
    pub directory: &'a Path,
}

/// Exit of the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Status that the command returned.
    Code(i32),
    /// Signal that ended the command.
    Signal(i32),
}

impl Exit {
    /// Returns the status as a shell reports it: the status itself, or 128 plus the number of the signal.
    #[must_use]
    pub fn status(self) -> i32 {
        match self {
            Self::Code(code) => code,
            Self::Signal(signal) => 128 + signal,
        }
    }
}

/// Result of a command that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Exit of the command.
    pub exit: Exit,
    /// Processes that descend from it and live on, those with a new session or a cleared environment included. Empty
    /// where the system does not give us orphans.
    pub survivors: Vec<ProcessRef>,
}

/// Reason why a command did not run, or could not be waited for.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// There is no such program.
    #[error("command {program:?} not found")]
    NotFound {
        /// Program as it was given.
        program: OsString,
    },
    /// The system refuses to execute it: no permission, not a program, its interpreter is missing.
    #[error("cannot execute {program:?}")]
    NotExecutable {
        /// Program as it was given.
        program: OsString,
        /// The system's reason.
        source: io::Error,
    },
    /// The directory that it shall run in cannot be entered.
    #[error("cannot run {program:?} in {directory:?}")]
    Directory {
        /// Program as it was given.
        program: OsString,
        /// Directory to run in.
        directory: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// No process could be made.
    #[error("cannot start {program:?}")]
    Start {
        /// Program as it was given.
        program: OsString,
        /// The system's reason.
        source: io::Error,
    },
    /// A request to stop came before the command was started.
    #[error("stopped before {program:?} was started")]
    Interrupted {
        /// Program as it was given.
        program: OsString,
    },
    /// The exit of the command cannot be determined.
    #[error("cannot wait for process {pid}")]
    Wait {
        /// Its number.
        pid: u32,
        /// The system's reason.
        source: io::Error,
    },
}

impl LaunchError {
    /// Returns the status that env(1), nohup(1) and timeout(1) use: 127 not found, 126 not executable, 125 everything else.
    #[must_use]
    pub fn status(&self) -> i32 {
        match self {
            Self::NotFound { .. } => 127,
            Self::NotExecutable { .. } => 126,
            Self::Directory { .. } | Self::Start { .. } | Self::Interrupted { .. } | Self::Wait { .. } => 125,
        }
    }
}

/// A command that was started. Dropped without [`Running::wait`], the command runs on by itself.
#[derive(Debug)]
#[must_use = "a command without `wait` keeps running"]
pub struct Running<'a> {
    pid: Pid,
    process: Option<ProcessRef>,
    /// Dropped before the forwarder: each signal has an action at every moment.
    aside: Aside<'a>,
    forwarder: Forwarder,
    /// True if orphans below us become our children.
    adopts: bool,
}

/// Starts a command. Until [`Running::wait`] returns, SIGINT and SIGQUIT do not end us, and SIGTERM and SIGHUP go to the
/// command. What one does that arrives when the command has ended is up to how it is waited for.
///
/// This process adopts the command's orphans and collects them when they end, but not what it started for itself (`child_registry.rs`).
///
/// # Errors
/// When the command cannot be run; then nothing was started.
pub fn start<'a>(
    invocation: &Invocation<'_>,
    interrupts: &'a Interrupts,
) -> Result<Running<'a>, LaunchError> {
    let program = || invocation.program.to_owned();
    let failed = |source| LaunchError::Start {
        program: program(),
        source,
    };
    // Refused by the system in the same words as a missing program, so looked at first.
    invocation
        .directory
        .join(".")
        .metadata()
        .map_err(|source| LaunchError::Directory {
            program: program(),
            directory: invocation.directory.to_owned(),
            source,
        })?;
    let requested = interrupts.flag();
    let aside = Aside::set(interrupts).map_err(failed)?;
    if requested.load(Ordering::SeqCst) {
        return Err(LaunchError::Interrupted { program: program() });
    }
    // Listening begins before the command does: what arrives in between waits for it.
    let forwarder = Forwarder::listen(interrupts.noted()).map_err(failed)?;
    let adopts = system::adopt_orphans();
    let mut command = Command::new(invocation.program);
    command
        .args(invocation.arguments)
        .envs(invocation.environment.iter().map(|(name, value)| (name, value)))
        .current_dir(invocation.directory);
    let child = forwarder
        .start(&mut command)
        .map_err(|source| refusal(invocation, source))?;
    Ok(Running {
        pid: Pid::from_child(&child),
        process: reference(child.id()),
        aside,
        forwarder,
        adopts,
    })
}

impl<'a> Running<'a> {
    /// The command's process, to be recorded. `None` where the system does not tell.
    #[must_use]
    pub fn process(&self) -> Option<&ProcessRef> {
        self.process.as_ref()
    }

    /// Waits until the command has ended, and a moment longer for helpers that end right behind it. A signal that arrives
    /// afterwards is a request to stop us.
    ///
    /// # Errors
    /// When the system does not tell how it ended.
    pub fn wait(self) -> Result<Ended, LaunchError> {
        let (ended, held) = self.wait_and_hold_back();
        drop(held);
        ended
    }

    /// Waits like [`Self::wait`]. Signals that arrive afterwards do not stop this process while the guard lives. The guard is
    /// `None` if the system refuses a handler.
    pub fn wait_and_hold_back(self) -> (Result<Ended, LaunchError>, Option<HeldBack<'a>>) {
        let ended = self.ended();
        let Self { aside, forwarder, .. } = self;
        let held = aside.hold_back();
        // Afterwards, so that each signal has an action at every moment.
        drop(forwarder);
        (ended, held.ok())
    }

    fn ended(&self) -> Result<Ended, LaunchError> {
        let pid = self.pid.as_raw_nonzero().get().unsigned_abs();
        let failed = |errno: Errno| LaunchError::Wait {
            pid,
            source: errno.into(),
        };
        // Seen first and collected afterwards, when no signal can be handed on: until then nobody else has its number.
        wait(self.pid, WaitIdOptions::EXITED | WaitIdOptions::NOWAIT).map_err(failed)?;
        let status = self
            .forwarder
            .finish(|| wait(self.pid, WaitIdOptions::EXITED))
            .map_err(failed)?;
        let exit = match (status.exit_status(), status.terminating_signal()) {
            (Some(code), _) => Exit::Code(code),
            (None, Some(signal)) => Exit::Signal(signal),
            (None, None) => return Err(failed(Errno::CHILD)),
        };
        Ok(Ended {
            exit,
            survivors: orphans::settle(self.adopts),
        })
    }
}

/// Waits with `waitid`, which SIGCHLD and its like may interrupt.
fn wait(pid: Pid, options: WaitIdOptions) -> Result<WaitIdStatus, Errno> {
    loop {
        match waitid(WaitId::Pid(pid), options) {
            Ok(Some(status)) => return Ok(status),
            Ok(None) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
}

/// Converts a refusal of the system into a [`LaunchError`].
fn refusal(invocation: &Invocation<'_>, source: io::Error) -> LaunchError {
    let program = invocation.program.to_owned();
    match Errno::from_io_error(&source) {
        // A script whose interpreter is missing is refused in the same words as a missing program.
        Some(Errno::NOENT) if !is_present(invocation) => LaunchError::NotFound { program },
        // What the system lacks just now; and what is no system error at all, such as a NUL in an argument.
        None | Some(Errno::AGAIN | Errno::NOMEM | Errno::MFILE | Errno::NFILE) => {
            LaunchError::Start { program, source }
        }
        Some(_) => LaunchError::NotExecutable { program, source },
    }
}

/// Refuses a command of which it is plain beforehand that it cannot be started, so that nothing is prepared for it in vain.
/// `path` is the value of `PATH`; without one only the system knows where it looks. What passes may still be refused by
/// [`start`].
///
/// # Errors
/// [`LaunchError::NotFound`], [`LaunchError::NotExecutable`].
pub fn check(invocation: &Invocation<'_>, path: Option<&OsStr>) -> Result<(), LaunchError> {
    use std::os::unix::fs::PermissionsExt as _;
    let program = || invocation.program.to_owned();
    let can_run = |file: &Path| {
        let found = invocation.directory.join(file).metadata();
        found.map(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
    };
    let refused = |reason: io::ErrorKind| LaunchError::NotExecutable {
        program: program(),
        source: reason.into(),
    };
    let denied = || refused(io::ErrorKind::PermissionDenied);
    if invocation.program.as_encoded_bytes().contains(&b'/') {
        return match can_run(Path::new(invocation.program)) {
            Ok(true) => Ok(()),
            Ok(false) if invocation.directory.join(invocation.program).is_dir() => {
                Err(refused(io::ErrorKind::IsADirectory))
            }
            Ok(false) => Err(denied()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(LaunchError::NotFound { program: program() })
            }
            // It cannot be told from here.
            Err(_) => Ok(()),
        };
    }
    let Some(path) = path else { return Ok(()) };
    let mut denied_one = false;
    for directory in std::env::split_paths(path) {
        match can_run(&directory.join(invocation.program)) {
            Ok(true) => return Ok(()),
            Ok(false) => denied_one = true,
            // What lies in a directory that may not be entered cannot be run either.
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::PermissionDenied
                ) => {}
            Err(_) => return Ok(()),
        }
    }
    Err(if denied_one {
        denied()
    } else {
        LaunchError::NotFound { program: program() }
    })
}

fn is_present(invocation: &Invocation<'_>) -> bool {
    let is_path = invocation.program.as_encoded_bytes().contains(&b'/');
    is_path && invocation.directory.join(invocation.program).exists()
}
