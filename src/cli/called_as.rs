//! The two names of the program: `jackin recovery` and `jackin-recovery`.

use std::ffi::OsStr;
use std::path::Path;

/// The name that the program was called by: it decides where the command stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CalledAs {
    /// `jackin recovery VERB`; also any name that is not the other one.
    Jackin,
    /// `jackin-recovery VERB`.
    JackinRecovery,
}

impl CalledAs {
    /// Reads it off the first argument's file name.
    #[must_use]
    pub fn of(program: Option<&OsStr>) -> Self {
        match program.map(Path::new).and_then(Path::file_name) {
            Some(name) if name == "jackin-recovery" => Self::JackinRecovery,
            _ => Self::Jackin,
        }
    }

    /// Returns the words before the command's name in a suggested command line.
    #[must_use]
    pub fn prefix(self) -> &'static str {
        match self {
            Self::Jackin => "jackin recovery",
            Self::JackinRecovery => "jackin-recovery",
        }
    }
}
