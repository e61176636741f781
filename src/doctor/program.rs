//! Judges the versions in use, and which file runs when the program's name is typed.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use super::{Finding, Group, Severity, Versions};
use crate::config::shown;
use crate::display::shell;
use crate::environment::Environment;
use crate::model::SnapshotRecord;
use crate::store::{CATALOG_FORMAT, SQLITE_FLOOR, archive, sqlite_version};

pub(super) fn versions() -> Versions {
    Versions {
        program: env!("CARGO_PKG_VERSION"),
        record: SnapshotRecord::FORMAT,
        archive: archive::FORMAT,
        catalog: CATALOG_FORMAT,
        sqlite: sqlite_version().1,
        zstd: archive::zstd_version(),
    }
}

pub(super) fn judge(environment: &Environment, program: Option<&Path>, findings: &mut Vec<Finding>) {
    let found = |severity, what: String| Finding::new(Group::Program, severity, what);
    let versions = versions();
    let what = format!(
        "version {}; formats: record {}, archive {}, catalog {}; SQLite {}, zstd {}",
        versions.program, versions.record, versions.archive, versions.catalog, versions.sqlite, versions.zstd
    );
    findings.push(found(Severity::Ok, what));
    if sqlite_version().0 < SQLITE_FLOOR.0 {
        let what = format!(
            "SQLite {} can corrupt a database that two processes write; it must be {} or newer",
            versions.sqlite, SQLITE_FLOOR.1
        );
        findings.push(found(Severity::Error, what).words("build this program with its own SQLite"));
    }
    findings.push(named(environment, program));
}

/// Finds out if typing the name of the running program runs this program.
fn named(environment: &Environment, program: Option<&Path>) -> Finding {
    let found = |severity, what: String| Finding::new(Group::Program, severity, what);
    let own = program.and_then(|program| Some((program, program.file_name()?, identity(program)?)));
    let Some((program, name, identity_of_own)) = own else {
        return found(Severity::Note, "cannot find which file runs".to_owned());
    };
    let path = environment.get("PATH").unwrap_or_default();
    let first = std::env::split_paths(path)
        .map(|directory| environment.absolute(&directory).join(name))
        .find(|file| is_executable(file));
    let word = name.to_string_lossy();
    match first {
        None => {
            let what = format!("{} is not in PATH", shown(program));
            found(Severity::Note, what).shell(in_path(program))
        }
        Some(file) if identity(&file) == Some(identity_of_own) => found(
            Severity::Ok,
            format!("`{word}` runs this program, {}", shown(&file)),
        )
        .at(&file),
        Some(file) => {
            let what = format!(
                "`{word}` runs {}, which comes first in PATH, and not this program, {}",
                shown(&file),
                shown(program)
            );
            found(Severity::Warning, what).at(&file).shell(in_path(program))
        }
    }
}

fn in_path(program: &Path) -> String {
    let directory: PathBuf = program.parent().map(Path::to_path_buf).unwrap_or_default();
    format!("export PATH={}:\"$PATH\"", shell::word(&directory))
}

/// Returns device and inode, which identify a file under any name.
fn identity(path: &Path) -> Option<(u64, u64)> {
    fs::metadata(path).ok().map(|meta| (meta.dev(), meta.ino()))
}

fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}
