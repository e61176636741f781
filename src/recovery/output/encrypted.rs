//! Private files that a snapshot has only encrypted, and that are not written without the operator's key.

use std::path::{Path, PathBuf};

use super::{Part, mount_directory};
use crate::model::{Coverage, Manifest, MountRecord, RelPath, SnapshotRecord};
use crate::restore::Scope;

/// File that is not written because its key is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncryptedFile {
    /// Coverage of its mount in the snapshot.
    pub coverage: Coverage,
    /// Below the mount root.
    pub path: RelPath,
    /// Place that it has in the directory once it is written.
    pub place: PathBuf,
    /// True if the request names this path.
    pub is_named: bool,
}

/// Returns the paths in `scope` that `mount` has encrypted and `manifest` lacks, each with whether the scope names it. A manifest that was
/// read with the key has them all.
pub(super) fn find(mount: &MountRecord, manifest: &Manifest, scope: &Scope) -> Vec<(RelPath, bool)> {
    let lacks = |path: &&RelPath| scope.holds(path) && manifest.entry(path).is_none();
    let each = mount.encrypted().filter(lacks);
    each.map(|path| (path.clone(), scope.named().contains(path)))
        .collect()
}

/// Returns the files of all parts that are not written into `directory`.
pub(in crate::recovery) fn encrypted_files(
    parts: &[Part],
    target: &SnapshotRecord,
    directory: &Path,
) -> Vec<EncryptedFile> {
    let of_part = |part: &Part| {
        let top = mount_directory(directory, target, &part.coverage);
        let each = part.encrypted.iter().map(|(path, is_named)| EncryptedFile {
            coverage: part.coverage.clone(),
            path: path.clone(),
            place: path.on_host(&top),
            is_named: *is_named,
        });
        each.collect::<Vec<_>>()
    };
    parts.iter().flat_map(of_part).collect()
}
