//! Builds of the product that run on another machine: a static one needs nothing there but a kernel of its architecture.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::product::Product;
use super::settings::{AgentSource, Settings};
use processes::is_outside;

/// Bytes that are hashed at once.
const PIECE: usize = 256 << 10;

/// A build of this program, open for reading.
pub(crate) struct Program {
    pub(crate) file: File,
    /// Its length (bytes).
    pub(crate) size: u64,
}

impl Program {
    /// This program, also after an upgrade replaced its file.
    fn own(path: &Path) -> io::Result<Self> {
        match cfg!(target_os = "linux") {
            true => Self::open(Path::new("/proc/self/exe")),
            false => Self::open(path),
        }
    }

    fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let size = file.metadata()?.len();
        Ok(Self { file, size })
    }

    /// Returns its SHA-256, in hex.
    pub(crate) fn digest(&self) -> io::Result<String> {
        let mut hasher = Sha256::new();
        let mut piece = vec![0; PIECE];
        let mut at = 0;
        loop {
            let count = self.file.read_at(&mut piece, at)?;
            let read = piece.get(..count).unwrap_or_default();
            if read.is_empty() {
                break;
            }
            hasher.update(read);
            at = at.saturating_add(count as u64);
        }
        Ok(hasher
            .finalize()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect())
    }
}

/// Finds the build to copy to a machine. `machine` is what `uname -sm` prints there.
///
/// A static build comes first: this program itself, or the one that was installed beside it. Builds in untrusted directories do not count, nor do those that another user can replace. This program is sent as it is only if the operator asked for a copy.
///
/// # Errors
/// The build cannot be read.
pub(crate) fn for_machine(machine: &str, settings: &Settings<'_>) -> io::Result<Option<Program>> {
    let Some((system, architecture)) = known(machine) else {
        return Ok(None);
    };
    let own = std::env::current_exe()?;
    let is_same = system == std::env::consts::OS && architecture == std::env::consts::ARCH;
    if is_same && cfg!(target_feature = "crt-static") {
        return Program::own(&own).map(Some);
    }
    let beside = beside(settings.product, &own, system, architecture);
    let beside =
        beside.filter(|path| path.is_file() && is_outside(path, settings.untrusted) && is_trusted(path));
    match beside {
        Some(path) => Program::open(&path).map(Some),
        None if is_same && settings.source == AgentSource::Copy => Program::own(&own).map(Some),
        None => Ok(None),
    }
}

/// Returns true if only the operator or root can write the build and its directory.
///
/// A user who can write a parent directory can replace this one, but not with one that passes the check.
fn is_trusted(build: &Path) -> bool {
    const OTHERS_WRITE: u32 = 0o022;
    let own = handle_fs::own_ids().0;
    build.ancestors().take(2).all(|place| {
        place
            .metadata()
            .is_ok_and(|found| (found.uid() == 0 || found.uid() == own) && found.mode() & OTHERS_WRITE == 0)
    })
}

/// The system and architecture, in the words of [`std::env::consts`].
fn known(machine: &str) -> Option<(&'static str, &'static str)> {
    match machine.trim() {
        "Linux x86_64" | "Linux amd64" => Some(("linux", "x86_64")),
        "Linux aarch64" | "Linux arm64" => Some(("linux", "aarch64")),
        _ => None,
    }
}

/// Returns the path at which a package installs a static build.
fn beside(product: &Product, own: &Path, system: &str, architecture: &str) -> Option<PathBuf> {
    // A package manager may link to the program from a directory of its own.
    let own = own.canonicalize().ok()?;
    let prefix = own.parent()?.parent()?;
    Some(
        prefix
            .join("lib")
            .join(product.package)
            .join(format!("{}-{architecture}-{system}", product.name)),
    )
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::{beside, is_trusted, known};
    use crate::product::EXAMPLE;

    #[test]
    fn machines_are_known_by_what_uname_prints() {
        assert_eq!(known("Linux x86_64\n"), Some(("linux", "x86_64")));
        assert_eq!(known("Linux arm64"), Some(("linux", "aarch64")));
        for other in ["", "Linux", "Linux riscv64", "Darwin arm64", "Linux x86_64 GNU"] {
            assert_eq!(known(other), None, "{other:?}");
        }
    }

    #[test]
    fn a_build_that_others_can_replace_is_none() {
        let place = tempfile::tempdir().unwrap();
        let prefix = place.path().join("prefix");
        let build = prefix.join("lib/tool-box/tool-x86_64-linux");
        fs::create_dir_all(build.parent().unwrap()).unwrap();
        fs::write(&build, "").unwrap();
        let mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        let all: Vec<&Path> = build.ancestors().take(4).collect();
        all.iter().for_each(|path| mode(path, 0o755));
        assert!(is_trusted(&build));
        for path in all.iter().take(2) {
            mode(path, 0o775);
            assert!(!is_trusted(&build), "{}", path.display());
            mode(path, 0o755);
        }
        // A umask of 002 makes such directories.
        all.iter().skip(2).for_each(|path| mode(path, 0o775));
        assert!(is_trusted(&build));
    }

    #[test]
    fn builds_lie_below_the_prefix_of_the_program() {
        let own = Path::new("/bin/sh").canonicalize().unwrap();
        let prefix = own.parent().unwrap().parent().unwrap();
        let expected: PathBuf = prefix.join("lib/tool-box/tool-aarch64-linux");
        assert_eq!(
            beside(&EXAMPLE, Path::new("/bin/sh"), "linux", "aarch64"),
            Some(expected)
        );
    }
}
