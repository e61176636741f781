//! Exit codes: one table, which scripts rely on (DESIGN section 7, README).

use crate::diagnostic::ErrorKind;
use crate::process::INTERRUPT;

/// Outcome of a command. `as i32` is the number that the process returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum ExitCode {
    /// Done, also when there was nothing to do. `diff --exit-code`: no differences.
    Done = 0,
    /// Failed. `diff --exit-code`: differences.
    Failed = 1,
    /// The command line or the configuration is wrong.
    Usage = 2,
    /// Refused: the instance is active, or another active one lies on the same paths.
    Active = 3,
    /// Refused: not confirmed.
    NotConfirmed = 4,
    /// No snapshot to restore from: mode `metadata` or `off`, pruned, or no such instance.
    NothingToRestore = 5,
    /// Done in part: a conflict was kept, or a path could not be changed. Each is named.
    Partial = 6,
    /// The store or a snapshot failed its integrity check, or comes from a newer version.
    Integrity = 7,
    /// An interrupted restore waits.
    Pending = 8,
    /// `launch`: failed before the command ran.
    LaunchFailed = 125,
    /// `launch`: the command cannot be executed.
    CannotExecute = 126,
    /// `launch`: the command was not found.
    CommandNotFound = 127,
}

impl ExitCode {
    /// Every code with its meaning in words, as the man page shows it.
    pub const TABLE: [(Self, &'static str); 12] = [
        (
            Self::Done,
            "done, or nothing to do; diff --exit-code: no differences",
        ),
        (Self::Failed, "failed; diff --exit-code: differences"),
        (Self::Usage, "wrong command line or configuration"),
        (
            Self::Active,
            "refused: the session is active, or another one is active on the same paths",
        ),
        (Self::NotConfirmed, "refused: not confirmed"),
        (
            Self::NothingToRestore,
            "nothing to restore from: mode metadata or off, no such session, or an excluded path",
        ),
        (
            Self::Partial,
            "done in part: a conflict was kept, or a path could not be changed; each is listed",
        ),
        (
            Self::Integrity,
            "the store or a snapshot failed its integrity check, or comes from a newer version",
        ),
        (
            Self::Pending,
            "refused: an interrupted restore needs `resume` or `abort` first",
        ),
        (Self::LaunchFailed, "launch: failed before the command ran"),
        (Self::CannotExecute, "launch: the command cannot be executed"),
        (Self::CommandNotFound, "launch: the command was not found"),
    ];
}

impl ErrorKind {
    /// The exit code of every command but `launch`.
    #[must_use]
    pub fn exit_code(self) -> ExitCode {
        match self {
            Self::Failed
            | Self::Io
            | Self::Interrupted
            | Self::SnapshotFailed
            | Self::LimitExceeded
            | Self::ObjectStore => ExitCode::Failed,
            Self::Usage | Self::Config | Self::TooBroad => ExitCode::Usage,
            Self::RefusedActive | Self::RefusedOverlap | Self::RefusedLocked | Self::RefusedInside => {
                ExitCode::Active
            }
            Self::NotConfirmed => ExitCode::NotConfirmed,
            Self::UnknownInstance | Self::UnknownSnapshot | Self::NothingToRestore => {
                ExitCode::NothingToRestore
            }
            Self::Partial => ExitCode::Partial,
            Self::Integrity | Self::NewerStore => ExitCode::Integrity,
            Self::Pending => ExitCode::Pending,
            Self::CannotExecute => ExitCode::CannotExecute,
            Self::CommandNotFound => ExitCode::CommandNotFound,
        }
    }

    /// The exit code of `launch` before its command ran. What the operator wrote wrongly stays 2; every other
    /// failure of jackin is 125, so that it cannot be taken for the command's own status.
    #[must_use]
    pub fn launch_code(self) -> ExitCode {
        match self.exit_code() {
            code @ (ExitCode::Usage | ExitCode::CannotExecute | ExitCode::CommandNotFound) => code,
            _ => ExitCode::LaunchFailed,
        }
    }
}

/// The number that the process returns: a code of jackin, or the status of a launched command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status(u8);

impl Status {
    /// A launched command returned `status` (its low eight bits, as the kernel keeps them).
    #[must_use]
    pub fn of_command(status: i32) -> Self {
        let [low, ..] = status.to_le_bytes();
        Self(low)
    }

    /// A launched command was ended by `signal`: 128 + N, as a shell says it.
    #[must_use]
    pub fn of_signal(signal: i32) -> Self {
        Self::of_command(signal.wrapping_add(128))
    }

    /// A command that only watches was ended by Ctrl-C.
    #[must_use]
    pub fn of_interrupt() -> Self {
        Self::of_signal(INTERRUPT)
    }

    /// Returns true if the status stands for success.
    #[must_use]
    pub fn is_success(self) -> bool {
        self.0 == 0
    }
}

impl From<ExitCode> for Status {
    fn from(code: ExitCode) -> Self {
        Self::of_command(code as i32)
    }
}

impl From<Status> for i32 {
    fn from(status: Status) -> Self {
        Self::from(status.0)
    }
}

impl From<Status> for std::process::ExitCode {
    fn from(status: Status) -> Self {
        Self::from(status.0)
    }
}
