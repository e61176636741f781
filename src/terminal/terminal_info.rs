//! Kinds and abilities of the three standard streams, decided once from the kernel and the environment.

use std::io::{self, IsTerminal as _};
use std::os::fd::AsFd;

use rustix::fs::{FileType, fstat};

use crate::environment::Environment;

/// Use of colors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ColorMode {
    /// On a terminal that has them, unless `NO_COLOR` is set; anywhere when `CLICOLOR_FORCE` is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Amount of output on stderr.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verbosity {
    /// Only warnings, errors and questions.
    Quiet,
    /// Also notes and progress.
    #[default]
    Normal,
    /// Also details.
    Verbose,
}

/// One output stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    /// True if it is a terminal.
    pub tty: bool,
    /// True if it shows colors.
    pub color: bool,
    /// Columns.
    pub width: usize,
}

/// All three streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Stdout.
    pub out: Stream,
    /// Stderr.
    pub err: Stream,
    /// Stdout is a file or the null device, which shows nothing to the operator.
    pub is_out_hidden: bool,
    /// Stdin is a terminal.
    pub tty_in: bool,
    /// The terminal cannot move its cursor (`TERM=dumb` or unset).
    pub dumb: bool,
    /// Lines of stdout's terminal.
    pub lines: usize,
}

/// Columns when nothing is known.
const DEFAULT_WIDTH: usize = 80;
/// Lines when nothing is known.
const DEFAULT_LINES: usize = 24;
/// Below this a number of columns is taken for a mistake: nothing readable fits.
const LEAST_WIDTH: usize = 20;

impl Facts {
    /// Asks the kernel about the process's own streams.
    #[must_use]
    pub fn of_process(environment: &Environment, color: ColorMode) -> Self {
        let (out, err) = (io::stdout(), io::stderr());
        Self {
            out: Stream::new(out.is_terminal(), real_width(&out), environment, color),
            err: Stream::new(err.is_terminal(), real_width(&err), environment, color),
            is_out_hidden: !out.is_terminal() && is_file_or_device(&out),
            tty_in: io::stdin().is_terminal(),
            dumb: is_dumb(environment),
            lines: real_lines(&out).unwrap_or(DEFAULT_LINES),
        }
    }
}

/// Returns true for a regular file and for a device: no pipe and no socket, which another program may show.
fn is_file_or_device(stream: &impl AsFd) -> bool {
    let kind = fstat(stream).map(|stat| FileType::from_raw_mode(stat.st_mode));
    matches!(kind, Ok(FileType::RegularFile | FileType::CharacterDevice))
}

impl Stream {
    /// `real` is the width that the kernel told, when there is one.
    #[must_use]
    pub fn new(tty: bool, real: Option<usize>, environment: &Environment, color: ColorMode) -> Self {
        let width = real
            .filter(|_| tty)
            .or_else(|| environment.get("COLUMNS")?.to_str()?.parse().ok())
            .filter(|width| *width >= LEAST_WIDTH)
            .unwrap_or(DEFAULT_WIDTH);
        Self {
            tty,
            color: has_color(tty, environment, color),
            width,
        }
    }
}

/// See <https://no-color.org> and <https://bixense.com/clicolors>; a flag wins over both.
fn has_color(tty: bool, environment: &Environment, mode: ColorMode) -> bool {
    match mode {
        ColorMode::Always => true,
        ColorMode::Never => false,
        ColorMode::Auto if environment.get("NO_COLOR").is_some() => false,
        ColorMode::Auto
            if environment
                .get("CLICOLOR_FORCE")
                .is_some_and(|value| value != "0") =>
        {
            true
        }
        ColorMode::Auto => tty && !is_dumb(environment),
    }
}

fn is_dumb(environment: &Environment) -> bool {
    environment.get("TERM").is_none_or(|term| term == "dumb")
}

fn real_lines(stream: impl AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(stream).ok()?;
    Some(usize::from(size.ws_row)).filter(|lines| *lines > 0)
}

/// Some pseudo terminals answer 0 columns; that is no answer.
fn real_width(stream: impl AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(stream).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}
