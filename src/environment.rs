//! The environment of the library, read once at the edge and passed in.

mod snapshot_programs;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use handle_fs::remote::Transports;
use processes::ProcessTable;

pub use snapshot_programs::{RecordedMounts, SnapshotProgram, SnapshotPrograms};

/// A user whom root acts for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operator {
    /// Numeric user.
    pub uid: u32,
    /// Numeric group.
    pub gid: u32,
}

/// Environment variables, home and current directory of the caller, and the machines that it reaches.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// Every variable.
    pub variables: BTreeMap<OsString, OsString>,
    /// The operator's home directory; `None` if it is unknown.
    pub home: Option<PathBuf>,
    /// The current directory, absolute.
    pub current: PathBuf,
    /// User for whom root acts after `sudo`, if jackin's home is that user's: new files there must stay theirs.
    pub operator: Option<Operator>,
    /// Id of the user for whom root acts after `sudo`, if that user's home directory is unknown.
    pub homeless: Option<u32>,
    /// Connections to other machines. The default reaches none.
    pub transports: Transports,
    /// Search for the programs that make snapshots of file systems. The default finds none.
    pub snapshot_programs: SnapshotPrograms,
    /// Processes, each read once for a command.
    pub processes: ProcessTable,
}

impl Environment {
    /// Returns a variable that is set and not empty.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.variables
            .get(OsStr::new(name))
            .map(OsString::as_os_str)
            .filter(|value| !value.is_empty())
    }

    /// Returns jackin's home: `$JACKIN_HOME_DIR`, else `~/.jackin`. `None` if neither is known.
    #[must_use]
    pub fn jackin_home(&self) -> Option<PathBuf> {
        self.directory("JACKIN_HOME_DIR", ".jackin")
    }

    /// Returns jackin's configuration: `$JACKIN_CONFIG_DIR`, else `~/.config/jackin`. `None` if neither is known.
    #[must_use]
    pub fn jackin_config(&self) -> Option<PathBuf> {
        self.directory("JACKIN_CONFIG_DIR", ".config/jackin")
    }

    /// Returns the variables that are set of those that name a directory of jackin, with absolute paths.
    #[must_use]
    pub fn jackin_directories(&self) -> Vec<(OsString, OsString)> {
        let named = |name: &str| {
            let place = self.absolute(Path::new(self.get(name)?));
            Some((OsString::from(name), place.into_os_string()))
        };
        let names = ["JACKIN_HOME_DIR", "JACKIN_CONFIG_DIR"];
        names.into_iter().filter_map(named).collect()
    }

    /// Returns the directory of the store: `<jackin home>/data/recovery`. `None` if jackin's home is unknown.
    #[must_use]
    pub fn store_directory(&self) -> Option<PathBuf> {
        self.jackin_home().map(|home| home.join("data/recovery"))
    }

    /// Returns the caller of `sudo`: `SUDO_UID` and `SUDO_GID`, if both are numbers and the user is not root.
    #[must_use]
    pub fn sudo_caller(&self) -> Option<Operator> {
        // The largest number means "as it is" to the kernel.
        let number = |name| {
            let text = self.get(name)?.to_str()?;
            let digits = text.bytes().all(|byte| byte.is_ascii_digit());
            text.parse().ok().filter(|id| digits && *id != u32::MAX)
        };
        let (uid, gid) = (number("SUDO_UID")?, number("SUDO_GID")?);
        (uid != 0).then_some(Operator { uid, gid })
    }

    /// Returns `path` as an absolute path, relative to the current directory; nothing is resolved.
    #[must_use]
    pub fn absolute(&self, path: &Path) -> PathBuf {
        self.current.join(path)
    }

    /// Returns a copy with one variable set.
    #[must_use]
    pub fn with(&self, variable: &str, value: &str) -> Self {
        let mut changed = self.clone();
        changed.variables.insert(variable.into(), value.into());
        changed
    }

    fn directory(&self, variable: &str, below_home: &str) -> Option<PathBuf> {
        match self.get(variable) {
            Some(value) => Some(self.absolute(Path::new(value))),
            None => self.home.as_ref().map(|home| home.join(below_home)),
        }
    }
}
