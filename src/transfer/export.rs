//! Writes a snapshot into one file that needs no store. It gets its name when it is whole and on disk.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::TransferError;
use super::pack::{Members, Packing};
use crate::clock::letters;
use crate::contract::STAGING_PREFIX;
use crate::model::{ArchiveRef, Digest, ExportNote, Manifest, SnapshotRecord, Time, add_sizes};
use crate::observer::{Observer, Phase};
use crate::store::archive::{Archive, ArchiveError, Finished};
use crate::store::{Blobs, Store};
use handle_fs::Dir;
use handle_fs::File;
use handle_fs::remote::Transports;

/// Mode of the file: what was captured may be its owner's alone.
const MODE: u32 = 0o600;

/// Parameters of an export.
pub struct ExportRequest<'a> {
    /// The snapshot.
    pub record: &'a SnapshotRecord,
    /// Recovery mode of its session in words.
    pub mode: &'a str,
    /// The file, which must not exist.
    pub file: &'a Path,
    /// Owner of the file, as user and group; `None` for the current user.
    pub owner: Option<(u32, u32)>,
    /// Wall clock now.
    pub now: Time,
    /// Random bytes for the name that the file has until it is complete.
    pub random: [u8; 8],
}

/// A file that was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exported {
    /// Its length in bytes.
    pub size: u64,
    /// BLAKE3 of its bytes.
    pub digest: Digest,
}

/// Writes the file. It is on disk, and reads back as it was written, when this returns.
///
/// # Errors
/// [`TransferError`]; then there is no file.
pub fn export(
    store: &Store,
    request: &ExportRequest<'_>,
    observer: &dyn Observer,
) -> Result<Exported, TransferError> {
    let draft = Draft::make(request)?;
    observer.reached("export-made");
    let blobs = store.contents(request.record);
    observer.begin(Phase::Export);
    let packed = pack(
        request,
        Out {
            file: &draft.file,
            at: 0,
        },
        &blobs,
        observer,
    )
    .map_err(|error| match error {
        TransferError::Archive(ArchiveError::Write { source }) => draft.unwritten(source),
        other => other,
    });
    observer.end();
    let finished = packed?;
    draft.file.sync().map_err(|source| draft.unwritten(source))?;
    observer.reached("export-written");
    let whole = ArchiveRef {
        id: request.record.id.archive(),
        size: finished.size,
        digest: finished.digest,
        index: finished.index,
    };
    draft.read(&whole)?.check_file(&whole)?;
    draft.publish()?;
    observer.reached("export-named");
    Ok(Exported {
        size: finished.size,
        digest: finished.digest,
    })
}

fn pack(
    request: &ExportRequest<'_>,
    out: Out<'_>,
    blobs: &Blobs,
    observer: &dyn Observer,
) -> Result<Finished, TransferError> {
    let mut packing = Packing::new(out, Members::All, blobs, observer);
    let mounts = &request.record.mounts;
    let mut manifests: Vec<Option<Manifest>> = Vec::with_capacity(mounts.len());
    for mount in mounts {
        let manifest = mount.manifest.as_ref();
        manifests.push(manifest.map(|digest| blobs.manifest(digest)).transpose()?);
    }
    let totals = manifests.iter().flatten().map(Manifest::totals);
    let sum = |(entries, bytes): (u64, u64), (more, size)| (entries + more, add_sizes(bytes, size));
    let (entries, bytes) = totals.fold((0, 0), sum);
    observer.expect(entries, bytes);
    for (mount, manifest) in mounts.iter().zip(&manifests) {
        if let (Some(digest), Some(manifest)) = (&mount.manifest, manifest) {
            packing.tree(&mount.coverage.label, manifest)?;
            packing.copy_manifest(digest)?;
        }
        packing.private(mount)?;
    }
    let note = ExportNote {
        format: ExportNote::FORMAT,
        exported_at: request.now,
        mode: request.mode.to_owned(),
        record: alone(request.record),
        written_by: concat!("jackin-recovery ", env!("CARGO_PKG_VERSION")).to_owned(),
    };
    let note =
        serde_json::to_vec(&note).map_err(|error| TransferError::damaged(request.file, error.to_string()))?;
    packing.note(&note)?;
    Ok(packing.finish()?.1)
}

/// The file as something to write to.
struct Out<'a> {
    file: &'a File,
    at: u64,
}

impl Write for Out<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write_all_at(bytes, self.at)?;
        self.at += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A record that relies on nothing: neither on archives nor on the objects of a commit.
fn alone(record: &SnapshotRecord) -> SnapshotRecord {
    let mut alone = record.clone();
    alone.archives.clear();
    for mount in &mut alone.mounts {
        mount.coverage.by_commit = false;
        (mount.coverage.native, mount.native) = (None, None);
        for facts in mount.git.iter_mut().flatten() {
            facts.by_commit = false;
        }
    }
    alone
}

/// The file until it is whole. Dropped, nothing of it stays.
struct Draft {
    parent: Dir,
    /// Name that it has until then, and its path. `None` where a file needs no name: then also a killed program leaves nothing.
    draft: Option<(OsString, PathBuf)>,
    name: OsString,
    file: File,
    wanted: PathBuf,
}

impl Draft {
    fn make(request: &ExportRequest<'_>) -> Result<Self, TransferError> {
        let wanted = request.file.to_path_buf();
        let fail = |source| TransferError::Write {
            path: wanted.clone(),
            source,
        };
        let above = wanted.parent().unwrap_or(&wanted);
        let name = wanted
            .file_name()
            .ok_or_else(|| fail(io::ErrorKind::InvalidInput.into()))?;
        let parent = Dir::open(&Transports::default(), above).map_err(fail)?;
        if parent.look(name).map_err(fail)?.is_some() {
            return Err(TransferError::Exists(wanted));
        }
        let draft = OsString::from(format!("{STAGING_PREFIX}{}", letters(request.random)));
        let unnamed = handle_fs::create_unnamed(&parent).filter(|_| can_be_named(&parent, &draft));
        let (file, draft) = match unnamed {
            Some(file) => (file, None),
            None => {
                let file = handle_fs::create_file(&parent, &draft).map_err(fail)?;
                let path = above.join(&draft);
                (file, Some((draft, path)))
            }
        };
        let made = Self {
            name: name.to_owned(),
            wanted: wanted.clone(),
            parent,
            draft,
            file,
        };
        // Whatever our mask made of it.
        handle_fs::chmod_handle(&made.file, MODE).map_err(fail)?;
        if let Some((uid, gid)) = request.owner {
            handle_fs::chown_handle(&made.file, uid, gid).map_err(fail)?;
        }
        Ok(made)
    }

    fn unwritten(&self, source: io::Error) -> TransferError {
        TransferError::Write {
            path: self.wanted.clone(),
            source,
        }
    }

    /// Opens what was written.
    fn read(&self, whole: &ArchiveRef) -> Result<Archive, TransferError> {
        Ok(match &self.draft {
            Some((_, path)) => Archive::open(path, Some(whole))?,
            None => {
                let file = self.file.try_clone().map_err(|source| self.unwritten(source))?;
                Archive::of(file, &self.wanted, whole)?
            }
        })
    }

    fn publish(mut self) -> Result<(), TransferError> {
        let named = match &self.draft {
            Some((draft, _)) => handle_fs::rename_new(&self.parent, draft, &self.parent, &self.name),
            None => handle_fs::name_unnamed(&self.file, &self.parent, &self.name),
        };
        match named {
            Ok(()) => self.draft = None,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(TransferError::Exists(self.wanted.clone()));
            }
            Err(error) => return Err(self.unwritten(error)),
        }
        match handle_fs::sync_directory(&self.parent) {
            Err(error) if handle_fs::is_sync_unsupported(&error) => Ok(()),
            other => other.map_err(|source| self.unwritten(source)),
        }
    }
}

/// Returns true if files without a name can be given one in a directory: some file systems and policies refuse that. Tries it with an empty
/// file.
fn can_be_named(dir: &Dir, name: &OsStr) -> bool {
    let named = |probe: &File| handle_fs::name_unnamed(probe, dir, name).is_ok();
    let is_named = handle_fs::create_unnamed(dir).as_ref().is_some_and(named);
    is_named && handle_fs::remove_file(dir, name).is_ok()
}

impl Drop for Draft {
    fn drop(&mut self) {
        if let Some((draft, _)) = &self.draft {
            // The error that led here is the one to report.
            let _ = handle_fs::remove_file(&self.parent, draft);
        }
    }
}
