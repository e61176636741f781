//! Content that no archive holds, because a snapshot of the file system has it, which is kept for that.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::OnceLock;

use foldhash::fast::RandomState;

use super::StoreError;
use super::archive::Piece;
use super::archive_blobs::ArchiveBlobs;
use crate::model::{Digest, Manifest, RelPath, SnapshotRecord};
use handle_fs::File;
use handle_fs::remote::Transports;
use handle_fs::{MountError, Root};

/// So much is read at once (bytes).
const ROOM: usize = 1 << 20;

/// All mounts of a snapshot whose contents are there.
#[derive(Default)]
pub(super) struct KeptTrees(Vec<KeptTree>);

/// One of them.
struct KeptTree {
    directory: PathBuf,
    transports: Transports,
    manifest: Manifest,
    places: OnceLock<HashMap<Digest, RelPath, RandomState>>,
    /// `Err`: why it cannot be opened.
    root: OnceLock<Result<Root, MountError>>,
}

impl KeptTrees {
    /// Collects the file-system snapshots of a snapshot. Skips one whose manifest is unreadable: no content can be requested from
    /// it.
    pub(super) fn of(record: &SnapshotRecord, blobs: &ArchiveBlobs) -> Self {
        let kept = record.mounts.iter().filter_map(|mount| {
            let native = mount.native.as_ref()?;
            Some(KeptTree {
                directory: native.inner.on_host(&native.place.directory()),
                transports: blobs.transports().clone(),
                manifest: blobs.manifest(mount.manifest.as_ref()?).ok()?,
                places: OnceLock::new(),
                root: OnceLock::new(),
            })
        });
        Self(kept.collect())
    }

    /// Returns true if the content should be in one of them.
    pub(super) fn shows(&self, digest: &Digest) -> bool {
        self.0.iter().any(|tree| tree.places().contains_key(digest))
    }

    /// Returns true if the content can be opened in one of them.
    pub(super) fn have(&self, digest: &Digest) -> bool {
        self.open(digest).is_some()
    }

    /// Returns a message for content that should be in one of them; `None` for other content.
    pub(super) fn lost(&self, digest: &Digest) -> Option<String> {
        let tree = self.0.iter().find(|tree| tree.places().contains_key(digest))?;
        let directory = tree.directory.display();
        Some(match tree.root() {
            Ok(_) => format!("the file-system snapshot {directory} no longer has it"),
            Err(MountError::Missing { .. }) => format!("the file-system snapshot {directory} is missing"),
            Err(error) => format!("the file-system snapshot cannot be read: {error}"),
        })
    }

    /// The file that has the content, and its size. What is read of it has to be compared with the digest.
    pub(super) fn open(&self, digest: &Digest) -> Option<(File, u64)> {
        self.0.iter().find_map(|tree| {
            let path = tree.places().get(digest)?;
            let (parent, name) = path.split()?;
            let (file, stat) = tree
                .root()
                .as_ref()
                .ok()?
                .dir(&parent)
                .ok()?
                .file(name.as_os_str())
                .ok()?;
            Some((file, stat.size))
        })
    }

    /// Passes the content to `each`, piece by piece.
    pub(super) fn stream(
        &self,
        digest: &Digest,
        each: &mut dyn FnMut(Piece<'_>) -> std::io::Result<()>,
    ) -> Result<(), StoreError> {
        let fail = |reason: String| StoreError::Content {
            digest: *digest,
            reason,
        };
        let Some((file, size)) = self.open(digest) else {
            return Err(fail(self.lost(digest).unwrap_or_default()));
        };
        let read = |each: &mut dyn FnMut(Piece<'_>) -> std::io::Result<()>| -> std::io::Result<()> {
            let mut room = vec![0; ROOM];
            let mut at = 0;
            for (start, length) in handle_fs::data_segments(&file, size)? {
                if start > at {
                    each(Piece::Hole(start - at))?;
                }
                let end = start + length;
                at = start;
                while at < end {
                    let want = usize::try_from(end - at).unwrap_or(ROOM).min(ROOM);
                    let part = room.get_mut(..want).unwrap_or_default();
                    file.read_exact_at(part, at)?;
                    each(Piece::Data(part))?;
                    at += want as u64;
                }
            }
            match size > at {
                true => each(Piece::Hole(size - at)),
                false => Ok(()),
            }
        };
        read(each).map_err(|error| fail(error.to_string()))
    }
}

impl KeptTree {
    fn places(&self) -> &HashMap<Digest, RelPath, RandomState> {
        self.places.get_or_init(|| {
            let files = self.manifest.entries();
            let contents = files.filter_map(|(path, entry)| Some((entry.content()?.digest, path)));
            contents.collect()
        })
    }

    fn root(&self) -> &Result<Root, MountError> {
        self.root
            .get_or_init(|| Root::open(&self.transports, &self.directory))
    }
}
