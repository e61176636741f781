//! The record of one mount.

use std::path::Path;

use crate::model::{
    Coverage, Digest, EntryKind, Manifest, MountRecord, RecordedGap, RelPath, SnapshotRecord, Time,
    WithheldFact,
};
use handle_fs::remote::{Limitation, Transports};
use handle_fs::{MountError, Root};

/// Maximum number of paths of one kind that a record names.
const NAMED: usize = 100;

/// Returns the record of a mount whose root did not exist.
pub(crate) fn missing(coverage: &Coverage, now: Time) -> MountRecord {
    let coverage = coverage.clone();
    MountRecord {
        coverage,
        started_at: now,
        mounted: false,
        written_back: false,
        file_system: None,
        attributes_unknown: false,
        manifest: None,
        entries: 0,
        bytes: 0,
        gap_count: 0,
        gaps: vec![],
        changed_meanwhile: vec![],
        changed_meanwhile_count: 0,
        git: None,
        withheld: Vec::new(),
        sealed: None,
        native: None,
    }
}

/// Returns the record of a mount with this manifest, whose list has the digest `list`.
pub(crate) fn record(
    coverage: &Coverage,
    started_at: Time,
    list: Digest,
    manifest: &Manifest,
) -> MountRecord {
    let (entries, bytes) = manifest.totals();
    let lacks = manifest.lacks(&coverage.withheld);
    MountRecord {
        manifest: Some(list),
        entries,
        bytes,
        gap_count: lacks.len() as u64,
        gaps: named(lacks),
        ..missing(coverage, started_at)
    }
}

/// Counts and names what the manifest lacks, once it is known which private files are stored.
pub(super) fn name_lacks(record: &mut MountRecord, manifest: &Manifest) {
    if record.withheld.is_empty() {
        return;
    }
    let lacks = manifest.lacks(&record.agreed());
    record.gap_count = lacks.len() as u64;
    record.gaps = named(lacks);
}

fn named(lacks: Vec<(RelPath, String)>) -> Vec<RecordedGap> {
    let named = lacks.into_iter().take(NAMED);
    named.map(|(path, reason)| RecordedGap { path, reason }).collect()
}

/// Names links in the state of agents as links: they are restored, and what they lead to is not captured.
pub(super) fn name_links(record: &mut MountRecord) {
    let is_link = |fact: &WithheldFact| {
        let entry = fact.entry.as_ref();
        entry.is_some_and(|entry| matches!(entry.0.kind, EntryKind::Symlink(_)))
    };
    for gap in &mut record.gaps {
        let mut facts = record.withheld.iter();
        if facts.any(|fact| fact.path == gap.path && is_link(fact)) {
            gap.reason = "a link, whose target is not captured".to_owned();
        }
    }
}

/// Returns the record with the files that changed after they were read.
pub(super) fn with_changed(record: MountRecord, changed: Vec<RelPath>) -> MountRecord {
    MountRecord {
        changed_meanwhile_count: changed.len() as u64,
        changed_meanwhile: changed.into_iter().take(NAMED).collect(),
        ..record
    }
}

/// Checks that every root is on the file system that `record` names: an unmounted disk is no deletion.
///
/// # Errors
/// As [`Root::check_mounted`].
pub fn check_mounted(transports: &Transports, record: &SnapshotRecord) -> Result<(), MountError> {
    let mut mounts = record.mounts.iter();
    mounts.try_for_each(|mount| check_mount(transports, mount))
}

/// Checks that no root lies in a container that was replaced: what such a one lacks was not deleted in the session.
///
/// # Errors
/// As [`Root::check_container`].
pub fn check_containers(transports: &Transports, record: &SnapshotRecord) -> Result<(), MountError> {
    let captured = record.mounts.iter().filter(|mount| mount.manifest.is_some());
    captured.into_iter().try_for_each(|mount| {
        let root = mount.coverage.root.to_path();
        Root::check_container(transports, &root, mount.file_system.as_ref())
    })
}

/// Returns true if a shell serves the files at a root now: it shows no attributes, ACLs and flags.
pub(crate) fn hides_attributes(transports: &Transports, root: &Path) -> bool {
    transports.lacks_near(root).contains(&Limitation::Attributes)
}

/// Returns true if the attributes of a mount were unknown when it was captured, and are known now: compared with each other, the files seem to
/// have got them since.
#[must_use]
pub fn shows_more(transports: &Transports, mount: &MountRecord) -> bool {
    mount.attributes_unknown && !hides_attributes(transports, &mount.coverage.root.to_path())
}

/// Does the same as [`check_mounted`] for one mount.
///
/// # Errors
/// As [`Root::check_mounted`].
pub fn check_mount(transports: &Transports, mount: &MountRecord) -> Result<(), MountError> {
    // A root that did not exist was on none.
    match mount.manifest {
        Some(_) => Root::check_mounted(
            transports,
            &mount.coverage.root.to_path(),
            mount.mounted,
            mount.file_system.as_ref(),
        ),
        None => Ok(()),
    }
}
