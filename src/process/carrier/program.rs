//! Builds of this program that run on another machine: a static one needs nothing there but a kernel of its architecture.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use super::AgentSource;
use crate::process::search::is_outside;

/// Directory of the static builds, below the prefix that `bin/jackin` is installed in.
const BESIDE: &str = "lib/jackin-recovery";

/// A build of this program, open for reading.
pub(super) struct Program {
    pub(super) file: File,
    /// Its length (bytes).
    pub(super) size: u64,
}

impl Program {
    fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let size = file.metadata()?.len();
        Ok(Self { file, size })
    }
}

/// Finds the build to copy to a machine. `machine` is what `uname -sm` prints there.
///
/// A static build comes first: this program itself, or the one that was installed beside it. Builds below one of `mounts` do not
/// count, since an agent can write there. This program is sent as it is only if the operator asked for a copy.
///
/// # Errors
/// The build cannot be read.
pub(super) fn for_machine(
    machine: &str,
    mounts: &[PathBuf],
    source: AgentSource,
) -> io::Result<Option<Program>> {
    let Some((system, architecture)) = known(machine) else {
        return Ok(None);
    };
    let own = std::env::current_exe()?;
    let is_same = system == std::env::consts::OS && architecture == std::env::consts::ARCH;
    if is_same && cfg!(target_feature = "crt-static") {
        return Program::open(&own).map(Some);
    }
    let beside = beside(&own, system, architecture).filter(|path| path.is_file() && is_outside(path, mounts));
    match beside {
        Some(path) => Program::open(&path).map(Some),
        None if is_same && source == AgentSource::Copy => Program::open(&own).map(Some),
        None => Ok(None),
    }
}

/// The system and architecture, in the words of [`std::env::consts`].
fn known(machine: &str) -> Option<(&'static str, &'static str)> {
    match machine.trim() {
        "Linux x86_64" | "Linux amd64" => Some(("linux", "x86_64")),
        "Linux aarch64" | "Linux arm64" => Some(("linux", "aarch64")),
        _ => None,
    }
}

/// Where a package installs a static build.
fn beside(own: &Path, system: &str, architecture: &str) -> Option<PathBuf> {
    // A package manager may link to the program from a directory of its own.
    let own = own.canonicalize().ok()?;
    let prefix = own.parent()?.parent()?;
    Some(
        prefix
            .join(BESIDE)
            .join(format!("jackin-{architecture}-{system}")),
    )
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::{beside, known};

    #[test]
    fn machines_are_known_by_what_uname_prints() {
        assert_eq!(known("Linux x86_64\n"), Some(("linux", "x86_64")));
        assert_eq!(known("Linux arm64"), Some(("linux", "aarch64")));
        for other in ["", "Linux", "Linux riscv64", "Darwin arm64", "Linux x86_64 GNU"] {
            assert_eq!(known(other), None, "{other:?}");
        }
    }

    #[test]
    fn builds_lie_below_the_prefix_of_the_program() {
        let own = Path::new("/bin/sh").canonicalize().unwrap();
        let prefix = own.parent().unwrap().parent().unwrap();
        let expected: PathBuf = prefix.join("lib/jackin-recovery/jackin-aarch64-linux");
        assert_eq!(beside(Path::new("/bin/sh"), "linux", "aarch64"), Some(expected));
    }
}
