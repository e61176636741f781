//! Records a session of a directory, compares it, restores the files and undoes that, with the engine alone.
//!
//! `cargo run --example embed` works on a temporary directory. `cargo run --example embed -- DIRECTORY` uses the new or empty
//! DIRECTORY, and leaves it there with its store.

#![expect(clippy::print_stdout, reason = "an example has no terminal of its own")]

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use jackin_recovery::diff::ChangeKind;
use jackin_recovery::environment::Environment;
use jackin_recovery::recovery::{
    ContractRequest, DiffRequest, NewSession, Recovery, RestoreRequest, UndoRequest,
};
use jackin_recovery::session::CheckpointRequest;

fn main() -> Result<(), Box<dyn Error>> {
    let scratch = tempfile::tempdir()?;
    let named = std::env::args_os().nth(1).map(PathBuf::from);
    run(named.as_deref().unwrap_or_else(|| scratch.path()))
}

pub(crate) fn run(place: &Path) -> Result<(), Box<dyn Error>> {
    let project = place.join("project");
    fs::create_dir_all(project.join("src"))?;
    fs::write(project.join("README"), "A project.\n")?;
    fs::write(project.join("src/main"), "one\n")?;

    // The store lies below this home; no variable and no file of the user is read.
    let environment = Environment {
        home: Some(place.join("home")),
        current: project.clone(),
        ..Environment::default()
    };
    let recovery = Recovery::open(&environment);

    // 1. Begin: the contract lists what is recorded, the baseline records it.
    let contract = recovery.contract(&ContractRequest::of_directory(&project))?;
    let session = recovery.begin(&NewSession::from(&contract))?.into_id();
    println!("began {session}");

    // 2. Change files, as an agent would, with a checkpoint on the way.
    fs::write(project.join("src/main"), "two\n")?;
    let mark = CheckpointRequest {
        name: Some("edited"),
        ..CheckpointRequest::default()
    };
    recovery.checkpoint(session.as_str(), mark)?;
    fs::remove_file(project.join("README"))?;
    fs::write(project.join("src/new"), "three\n")?;
    drop(recovery.end(session.as_str())?);

    // 3. Diff: the baseline and the closing snapshot.
    let compared = recovery.diff(&DiffRequest::of(session.as_str()))?;
    for change in compared.mounts.iter().flat_map(|mount| &mount.comparison.changes) {
        let letter = match change.kind {
            ChangeKind::Added => 'A',
            ChangeKind::Deleted => 'D',
            _ => 'M',
        };
        println!("{letter} {}", String::from_utf8_lossy(change.path.as_bytes()));
    }
    // The comparison keeps archives from being deleted.
    drop(compared);

    // 4. Restore: plan, then carry the plan out.
    let plan = recovery.plan(&RestoreRequest::of(session.as_str()))?;
    let report = recovery.restore(&plan)?;
    drop(plan);
    println!("restored: {:?}", report.outcome);
    check(&project, "one\n", true)?;

    // 5. Undo: the emergency snapshot reverts the restore.
    let report = recovery.undo(&UndoRequest::default())?;
    println!("undone: {:?}", report.outcome);
    check(&project, "two\n", false)
}

/// Compares the files with what they should be.
fn check(project: &Path, main: &str, is_restored: bool) -> Result<(), Box<dyn Error>> {
    let is_right = fs::read_to_string(project.join("src/main"))? == main
        && project.join("README").exists() == is_restored
        && project.join("src/new").exists() != is_restored;
    match is_right {
        true => Ok(()),
        false => Err("the files are not as they should be".into()),
    }
}
