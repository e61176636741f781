//! The store's files as bytes, for copying them elsewhere: archives piece by piece, records, redirects of archives, and the lines
//! of the chain.

use super::catalog::AmendedArchives;
use super::{Store, StoreError, archive_redirects, directory, durable, log};
use crate::model::{ArchiveId, ArchiveRef, Digest, Hasher, SnapshotId};
use handle_fs::File;

/// Records are read whole (bytes).
const LARGEST: u64 = 64 << 20;
/// So much of an archive is hashed at once (bytes).
const PIECE: usize = 1 << 20;

/// An archive that is open: it can be read to its end, even if it is removed meanwhile.
#[derive(Debug)]
pub struct StoredArchive {
    file: File,
    /// Reference to the archive, as in a record.
    pub named: ArchiveRef,
}

impl StoredArchive {
    /// Some of its bytes.
    ///
    /// # Errors
    /// [`StoreError::Io`]; also when it ends before.
    pub fn piece(&self, store: &Store, at: u64, length: usize) -> Result<Vec<u8>, StoreError> {
        let mut bytes = vec![0; length];
        let path = store.layout().archive(&self.named.id);
        let _kept = store.layout().enter()?;
        self.file
            .read_exact_at(&mut bytes, at)
            .map_err(StoreError::io("read", &path))?;
        Ok(bytes)
    }
}

impl Store {
    /// Opens an archive and compares all of it with `named`, so that a damaged one is not copied. `None`: it does not exist (any
    /// more).
    ///
    /// # Errors
    /// [`StoreError::Damaged`], [`StoreError::Io`], [`StoreError::Interrupted`].
    pub fn archive_to_copy(
        &self,
        named: &ArchiveRef,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Option<StoredArchive>, StoreError> {
        let _kept = self.layout().enter()?;
        let path = self.layout().archive(&named.id);
        let Some(file) = durable::open(&path)? else {
            return Ok(None);
        };
        let damaged = |why: &str| StoreError::Damaged {
            path: path.clone(),
            why: why.to_owned(),
        };
        let size = file.stat().map_err(StoreError::io("look at", &path))?.size;
        if size != named.size {
            return Err(damaged("it has another length than its record says"));
        }
        let mut hasher = Hasher::new(crate::model::DigestMethod::Plain, size);
        let mut at = 0;
        while at < size {
            if cancelled() {
                return Err(StoreError::Interrupted);
            }
            let length = usize::try_from(size - at).unwrap_or(PIECE).min(PIECE);
            let mut bytes = vec![0; length];
            file.read_exact_at(&mut bytes, at)
                .map_err(StoreError::io("read", &path))?;
            hasher.update(&bytes);
            at += length as u64;
        }
        if hasher.finish().digest != named.digest {
            return Err(damaged("its bytes have another digest than its record says"));
        }
        Ok(Some(StoredArchive {
            file,
            named: named.clone(),
        }))
    }

    /// The bytes of a record; `None` when it is not there (any more).
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn record_bytes(&self, id: &SnapshotId) -> Result<Option<Vec<u8>>, StoreError> {
        let _kept = self.layout().enter()?;
        durable::read(&self.layout().record(id), LARGEST)
    }

    /// Returns every redirect: the archive that is gone, the one that replaced it, and the bytes of the file. An unreadable one is
    /// skipped: a caller that needs it reports that.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn moved_to_copy(&self) -> Result<Vec<(ArchiveId, ArchiveRef, Vec<u8>)>, StoreError> {
        let _kept = self.layout().enter()?;
        let all = archive_redirects::with_bytes(self.layout())?.into_iter();
        let mut found: Vec<_> = all
            .filter_map(|(id, found)| found.map(|(into, bytes)| (id, into, bytes)))
            .collect();
        found.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(found)
    }

    /// Returns the archives that hold the new manifests of snapshots that lost paths, each list with its snapshots. Only receipts of
    /// `forget` name them, or the archives that they replaced.
    ///
    /// # Errors
    /// [`StoreError::Catalog`], [`StoreError::Io`].
    pub fn amended_to_copy(&self) -> Result<Vec<AmendedArchives>, StoreError> {
        let _kept = self.layout().enter()?;
        let amended = self.catalog().amended_archives()?.into_iter();
        let resolved = amended.map(|(named, ids)| Ok((self.resolved(named, true)?, ids)));
        resolved.collect()
    }

    /// The archives that are there, and those that another one took the place of; sorted.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn archive_ids(&self) -> Result<Vec<ArchiveId>, StoreError> {
        let _kept = self.layout().enter()?;
        let names = directory::names(&self.layout().archives())?;
        let ids = names.iter().filter_map(|name| {
            let stem = name.to_str()?.strip_suffix(".tar.zst")?;
            ArchiveId::parse(stem).ok()
        });
        let mut ids: Vec<ArchiveId> = ids.collect();
        ids.sort();
        Ok(ids)
    }

    /// The lines of the chain from receipt `first` on, each with its newline; every link is checked.
    ///
    /// # Errors
    /// As [`Store::receipts`].
    pub fn receipt_lines(&self, first: u64) -> Result<Vec<String>, StoreError> {
        let _kept = self.layout().enter()?;
        let mut lines = Vec::new();
        log::scan(&self.layout().receipts(), log::Place::BEGIN, |link| {
            if link.place.number >= first {
                lines.push(format!("{} {}\n", Digest::of(link.json.as_bytes()), link.json));
            }
            Ok(())
        })?;
        Ok(lines)
    }
}
