//! Read-only operations: the live tree as a capture would see it, and content read back from the store.

use std::collections::BTreeSet;

use super::contents::{HashOnly, complete};
use super::excludes::matcher;
use super::repositories::survey;
use super::walk::{Earlier, Reference, Skipped, Walk};
use super::{CaptureError, Limits};
use crate::model::{Content, Coverage, Hasher, Manifest, RepositoryFacts, SnapshotRecord, add_sizes};
use crate::observer::{Observer, Phase};
use crate::store::archive::Piece;
use crate::store::{Layout, Store};
use handle_fs::{MountError, Root};

/// Request for a live scan.
pub struct LiveScan<'a> {
    /// Coverage that decides which paths count.
    pub coverage: &'a Coverage,
    /// The store, which is never looked into, and has the connections to the machine of the mount.
    pub layout: &'a Layout,
    /// Earlier state to compare with; `None` to read every file.
    pub reference: Option<Earlier<'a>>,
    /// True to read every file, whatever its stat data say.
    pub check_content: bool,
}

/// The live tree as a manifest.
pub struct ScannedTree {
    /// Manifest of the mount; `None` if the root does not exist.
    pub manifest: Option<Manifest>,
    /// Excluded paths, sorted.
    pub skipped: Vec<Skipped>,
    /// True if the mount lies on an overlay.
    pub layered: bool,
}

/// Looks at the live tree as a capture would, storing nothing.
///
/// # Errors
/// [`CaptureError`]; never a limit.
pub fn look(request: &LiveScan<'_>, observer: &dyn Observer) -> Result<ScannedTree, CaptureError> {
    let root = match Root::open(request.layout.transports(), &request.coverage.root.to_path()) {
        Ok(root) => root,
        Err(MountError::Missing { .. }) => {
            return Ok(ScannedTree {
                manifest: None,
                skipped: Vec::new(),
                layered: false,
            });
        }
        Err(error) => return Err(error.into()),
    };
    let matcher = matcher(request.coverage)?;
    let reference = request
        .reference
        .map(|earlier| Reference { earlier, known: None }.on(&root));
    let facts = root.file_system().ok();
    let trust_stat = !request.check_content && facts.is_some_and(|fs| fs.trusted_ctime);
    let walk = Walk {
        root: &root,
        matcher: &matcher,
        store: request.layout.root(),
        reference,
        trust_stat,
        limits: Limits::NONE,
        observer,
    };
    observer.begin(Phase::Compare);
    observer.expect(
        reference.map_or(0, |reference| reference.earlier.manifest.entry_count()),
        0,
    );
    let result = walk.run().and_then(|mut walked| {
        observer.expect(0, walked.bytes_to_read());
        let skipped = std::mem::take(&mut walked.skipped);
        let read = complete(
            &root,
            request.coverage,
            walked,
            reference,
            &mut HashOnly { observer },
            observer,
        )?;
        root.answers()?;
        Ok(ScannedTree {
            manifest: Some(read.manifest),
            skipped,
            layered: facts.is_some_and(|fs| fs.layered),
        })
    });
    observer.end();
    result
}

/// Examines the git repositories of a mount and stores nothing. Of each file, only what git needs is read.
///
/// # Errors
/// [`CaptureError`], also when the mount holds more than `limits`.
pub fn observe(
    layout: &Layout,
    coverage: &Coverage,
    limits: Limits,
    observer: &dyn Observer,
) -> Result<Vec<RepositoryFacts>, CaptureError> {
    let root = Root::open(layout.transports(), &coverage.root.to_path())?;
    let walk = Walk {
        root: &root,
        matcher: &matcher(coverage)?,
        store: layout.root(),
        reference: None,
        trust_stat: false,
        limits,
        observer,
    };
    observer.begin(Phase::Compare);
    let walked = walk.run();
    observer.end();
    let walked = walked?;
    let skipped = walked.skipped.iter().map(|skipped| &skipped.path).collect();
    Ok(survey(&root, &walked.manifest, &skipped, None, false))
}

/// Reads content back from disk and compares it with its digest. Archives are opened anew, so nothing that is only
/// in memory can make a bad file look good.
///
/// # Errors
/// [`CaptureError::ReadBack`] with the first content that is missing or different.
pub fn read_back(
    store: &Store,
    record: &SnapshotRecord,
    contents: impl IntoIterator<Item = Content>,
    observer: &dyn Observer,
) -> Result<(), CaptureError> {
    let blobs = store.contents(record);
    let bad = |reason: String| CaptureError::ReadBack {
        snapshot: record.id.clone(),
        reason,
    };
    if let Some((archive, error)) = blobs.damaged().first() {
        return Err(bad(format!("archive {archive}: {error}")));
    }
    let contents: Vec<Content> = contents.into_iter().collect();
    observer.begin(Phase::Verify);
    observer.expect(
        contents.len() as u64,
        contents.iter().map(|content| content.size).fold(0, add_sizes),
    );
    let mut seen = BTreeSet::new();
    for content in contents {
        if content.size == 0 || !seen.insert(content.digest) {
            continue;
        }
        if observer.cancelled() {
            return Err(CaptureError::Interrupted);
        }
        let mut hasher = Hasher::new(content.method, content.size);
        blobs
            .stream(&content.digest, &mut |piece| {
                match piece {
                    Piece::Data(bytes) => hasher.update(bytes),
                    Piece::Hole(count) => hasher.skip_zeros(count),
                }
                Ok(())
            })
            .map_err(|error| bad(error.to_string()))?;
        if hasher.finish() != content {
            return Err(bad(format!("content {} reads back differently", content.digest)));
        }
        observer.advance(1, content.size);
    }
    observer.end();
    Ok(())
}
