//! A real source tree of at least 5,000 files: the sources that cargo unpacked to build this very crate. They are
//! there wherever the tests were compiled.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use super::machine::run_tool;

/// The least that counts as real.
pub(crate) const FILES: usize = 5000;

/// Copies the tree to `to`, which must not exist.
#[track_caller]
pub(crate) fn copy_to(to: &Path) {
    let from = master();
    run_tool(
        Command::new("cp")
            .args(["-a", "--reflink=auto", "-T"])
            .arg(from)
            .arg(to),
    );
}

/// How many regular files lie below `directory`.
pub(crate) fn count_files(directory: &Path) -> usize {
    walkdir::WalkDir::new(directory)
        .into_iter()
        .flatten()
        .filter(|entry| entry.file_type().is_file())
        .count()
}

/// One copy in cargo's own directory for tests, shared by all runs until the next `cargo clean`.
fn master() -> &'static PathBuf {
    static MASTER: OnceLock<PathBuf> = OnceLock::new();
    MASTER.get_or_init(|| {
        let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("real-tree");
        if !place.exists() {
            make(&place);
        }
        assert!(
            count_files(&place) >= FILES,
            "{} was tampered with; remove it",
            place.display()
        );
        place
    })
}

fn make(place: &Path) {
    let mut packages = unpacked_packages();
    assert!(
        !packages.is_empty(),
        "cargo's unpacked sources were not found below CARGO_HOME or ~/.cargo"
    );
    // Small ones first: many files, few bytes, for the whole suite shall stay quick.
    packages.sort_by_key(|(bytes_a_file, _, path)| (*bytes_a_file, path.clone()));
    let draft = tempfile::TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let tree = draft.path().join("tree");
    let mut files = 0;
    // A machine that unpacked fewer sources gets some of them twice: still real names, contents and shapes.
    for (round, (_, count, package)) in (0..).flat_map(|round| packages.iter().map(move |p| (round, p))) {
        if files >= FILES {
            break;
        }
        let to = tree
            .join(format!("part-{round}"))
            .join(package.file_name().unwrap());
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        run_tool(
            Command::new("cp")
                .args(["-a", "--reflink=auto", "-T"])
                .arg(package)
                .arg(&to),
        );
        files += count;
    }
    // Another run may have been quicker; then its copy is as good.
    if let Err(error) = fs::rename(&tree, place) {
        assert!(place.exists(), "{}: {error}", place.display());
    }
}

/// Bytes a file, number of files, path.
fn unpacked_packages() -> Vec<(u64, usize, PathBuf)> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| std::env::home_dir().map(|home| home.join(".cargo")));
    let sources = home.map(|home| home.join("registry/src"));
    let registries = sources
        .and_then(|sources| fs::read_dir(sources).ok())
        .into_iter()
        .flatten()
        .flatten();
    let packages = registries
        .filter_map(|registry| fs::read_dir(registry.path()).ok())
        .flatten()
        .flatten();
    packages
        .filter_map(|package| {
            let path = package.path();
            let files = walkdir::WalkDir::new(&path)
                .into_iter()
                .flatten()
                .filter(|e| e.file_type().is_file());
            let sizes: Vec<u64> = files
                .filter_map(|file| Some(file.metadata().ok()?.len()))
                .collect();
            let count = u64::try_from(sizes.len()).ok().filter(|count| *count > 0)?;
            Some((sizes.iter().sum::<u64>() / count, sizes.len(), path))
        })
        .collect()
}
