//! The words that flags take.

use std::ffi::OsString;
use std::time::Duration;

use clap::builder::{OsStringValueParser, PossibleValue, TypedValueParser};
use clap::{Args, ValueEnum, ValueHint};

use crate::agents::{Agent, Scope as HookScope};
use crate::terminal::ColorMode;

/// Amount of data that a session captures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SnapshotMode {
    /// Nothing at all
    Off,
    /// Record the session, but no files
    Metadata,
    /// The files
    Project,
    /// The files and the agent's own state
    ProjectAndState,
}

impl SnapshotMode {
    /// Returns true if files are captured.
    #[must_use]
    pub fn captures(self) -> bool {
        matches!(self, Self::Project | Self::ProjectAndState)
    }
}

/// Action of a launch whose baseline fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OnFailure {
    /// Start the command without protection
    Run,
    /// Do not start it
    Block,
}

/// Private key that decrypts stored credentials.
#[derive(Clone, Debug, Default, Args)]
pub struct Unlock {
    /// Private key (age or ssh) that decrypts stored agent credentials
    #[arg(long, value_name = "FILE", value_parser = some_path(), value_hint = ValueHint::FilePath)]
    pub identity: Option<OsString>,
}

/// Times that restored files get.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Mtimes {
    /// Now, so that build tools notice
    #[default]
    Now,
    /// The recorded ones
    Exact,
}

/// Way in which changes are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Check {
    /// Read every file instead of trusting size and times
    Content,
}

/// Remote helper on other machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AgentThere {
    /// This program if installed there, else a static copy, else the shell and its tools
    Auto,
    /// A copy of this program, removed when the session ends
    Copy,
    /// The shell and the tools there, whatever is installed
    Shell,
}

impl AgentThere {
    /// As it is written.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Copy => "copy",
            Self::Shell => "shell",
        }
    }
}

/// Condition on which colors are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal that has them
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

impl From<Color> for ColorMode {
    fn from(color: Color) -> Self {
        match color {
            Color::Auto => Self::Auto,
            Color::Always => Self::Always,
            Color::Never => Self::Never,
        }
    }
}

/// Which shell completions are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Shell {
    /// GNU Bash
    Bash,
    /// Z shell
    Zsh,
    /// fish
    Fish,
}

/// A whole number.
pub(in crate::cli) fn number<T: TryFrom<u64>>(text: &str) -> Result<T, &'static str> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err("expected a whole number");
    }
    let number: u64 = text.parse().map_err(|_| "it is too large")?;
    T::try_from(number).map_err(|_| "it is too large")
}

/// A whole number from 1 on.
pub(in crate::cli) fn positive<T: TryFrom<u64>>(text: &str) -> Result<T, &'static str> {
    match number::<u64>(text)? {
        0 => Err("it must be at least 1"),
        _ => number(text),
    }
}

/// A whole number with its unit: seconds, minutes or hours.
pub(super) fn duration(text: &str) -> Result<Duration, &'static str> {
    const FORM: &str = "expected a whole number with a unit, such as 30s, 10m or 2h";
    let unit = match text.bytes().last() {
        Some(b's') => 1,
        Some(b'm') => 60,
        Some(b'h') => 3600,
        _ => return Err(FORM),
    };
    let digits = text.get(..text.len() - 1).unwrap_or_default();
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(FORM);
    }
    let number: u64 = digits.parse().map_err(|_| "it is too long")?;
    match number.checked_mul(unit) {
        Some(0) => Err("it must be at least a second"),
        Some(seconds) if seconds <= 30 * 24 * 3600 => Ok(Duration::from_secs(seconds)),
        _ => Err("it is too long"),
    }
}

/// A whole number with its unit: minutes, hours, days or weeks.
pub(in crate::cli) fn age(text: &str) -> Result<Duration, &'static str> {
    const FORM: &str = "expected a whole number with a unit, such as 12h, 7d or 4w";
    let unit = match text.bytes().last() {
        Some(b'm') => 60,
        Some(b'h') => 3600,
        Some(b'd') => 24 * 3600,
        Some(b'w') => 7 * 24 * 3600,
        _ => return Err(FORM),
    };
    let digits = text.get(..text.len() - 1).unwrap_or_default();
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(FORM);
    }
    let number: u64 = digits.parse().map_err(|_| "it is too long")?;
    let seconds = number
        .checked_mul(unit)
        .filter(|seconds| i64::try_from(*seconds).is_ok());
    seconds.map(Duration::from_secs).ok_or("it is too long")
}

impl ValueEnum for Agent {
    fn value_variants<'a>() -> &'a [Self] {
        &Self::ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.word()))
    }
}

impl ValueEnum for HookScope {
    fn value_variants<'a>() -> &'a [Self] {
        &Self::ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.word()))
    }
}

/// A path in any bytes. The empty one is refused: it would silently mean the current directory.
pub(in crate::cli) fn some_path() -> impl TypedValueParser<Value = OsString> {
    OsStringValueParser::new().try_map(|path| {
        if path.is_empty() {
            Err("it is empty")
        } else {
            Ok(path)
        }
    })
}

/// Text that is not empty.
pub(in crate::cli) fn some_text() -> clap::builder::NonEmptyStringValueParser {
    clap::builder::NonEmptyStringValueParser::new()
}
