//! Reads a file that `export` should have written, as untrusted data: everything is bounded and compared with its digest before any
//! of it is kept.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::TransferError;
use super::sanitize::Dropped;
use super::snapshot_reader::{IncomingSnapshot, StoredContents, StoredSnapshot};
use crate::model::{ArchiveRef, Digest, ExportNote, SnapshotRecord};
use crate::observer::Observer;
use crate::store::archive::{Archive, BlobKind};
use crate::store::{Blobs, Draft, Store};

/// No note is longer: it is little more than a record.
const LARGEST_NOTE: u64 = 64 << 20;

/// The part of a note that says how to read the rest.
#[derive(Deserialize)]
struct Version {
    format: u64,
    record: RecordVersion,
}

/// The same of the record in it.
#[derive(Deserialize)]
struct RecordVersion {
    format: u64,
}

/// Export that was read and found to be valid.
pub struct Incoming {
    path: PathBuf,
    whole: ArchiveRef,
    note: ExportNote,
    moment: IncomingSnapshot,
}

impl Incoming {
    /// Reads the whole file and checks all of it.
    ///
    /// # Errors
    /// [`TransferError`], naming what does not fit.
    pub fn read(path: &Path, observer: &dyn Observer) -> Result<Self, TransferError> {
        let archive = Archive::open(path, None)?;
        let cancelled = || match observer.cancelled() {
            true => Err(TransferError::Interrupted),
            false => Ok(()),
        };
        for frame in 0..=archive.frames() {
            cancelled()?;
            archive.check_frame(frame)?;
        }
        let note = note(path, &archive)?;
        let whole = archive.describe(note.record.id.archive())?;
        let blobs = Blobs::of_file(archive, whole.clone());
        let moment = IncomingSnapshot::read(path, note.record.clone(), blobs, &mut HashSet::new(), observer)?;
        Ok(Self {
            path: path.to_path_buf(),
            whole,
            note,
            moment,
        })
    }

    /// Drops metadata that grants rights, and makes `owner` the owner of everything.
    pub fn strip(&mut self, owner: (u32, u32)) {
        self.moment.strip(owner);
    }

    /// Returns the metadata that was dropped.
    #[must_use]
    pub fn dropped(&self) -> &Dropped {
        self.moment.dropped()
    }

    /// Returns the export note of the file.
    #[must_use]
    pub fn note(&self) -> &ExportNote {
        &self.note
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its length in bytes, and BLAKE3 of them.
    #[must_use]
    pub fn whole(&self) -> (u64, Digest) {
        (self.whole.size, self.whole.digest)
    }

    /// Entries and bytes as they will be stored.
    #[must_use]
    pub fn totals(&self) -> (u64, u64) {
        self.moment.totals()
    }

    /// Writes new archives into `draft`, and returns the record that makes them a snapshot.
    ///
    /// # Errors
    /// [`TransferError`]; what was written goes with the draft.
    pub fn store(
        &self,
        store: &Store,
        draft: &Draft,
        landed: &StoredSnapshot<'_>,
        observer: &dyn Observer,
    ) -> Result<SnapshotRecord, TransferError> {
        self.moment
            .store(store, draft, landed, &StoredContents::default(), observer)
    }
}

/// Reads and checks the export note of an archive.
fn note(path: &Path, archive: &Archive) -> Result<ExportNote, TransferError> {
    let no_export = |why: &str| TransferError::NoExport {
        path: path.to_path_buf(),
        why: why.to_owned(),
    };
    let mut notes = archive
        .blobs()
        .iter()
        .filter(|blob| blob.kind == BlobKind::Export);
    let blob = match (notes.next(), notes.next()) {
        (Some(blob), None) => blob,
        (None, _) => return Err(no_export("it is an archive, and does not say of which snapshot")),
        (Some(_), Some(_)) => return Err(no_export("it says twice what it is")),
    };
    let bytes = archive.bytes(blob, LARGEST_NOTE)?;
    let damaged = |why: String| TransferError::damaged(path, why);
    if Digest::of(&bytes) != blob.digest {
        return Err(damaged("its description was changed".to_owned()));
    }
    let version: Version = serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
    let newest = [
        (version.format, ExportNote::FORMAT),
        (version.record.format, SnapshotRecord::FORMAT),
    ];
    for (found, known) in newest {
        if found > u64::from(known) {
            return Err(TransferError::Newer {
                path: path.to_path_buf(),
                found,
                known: known.into(),
            });
        }
    }
    let mut note: ExportNote = serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
    if note.format != ExportNote::FORMAT {
        return Err(damaged(format!("it has format {}, which never was", note.format)));
    }
    note.record.archives.clear();
    Ok(note)
}
