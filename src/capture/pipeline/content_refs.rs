//! Storage of manifests, and the check that every content is stored somewhere.

use std::collections::BTreeSet;

use super::Capture;
use crate::capture::CaptureError;
use crate::capture::pack::Packer;
use crate::capture::repositories::Settled;
use crate::model::{Digest, Manifest, ManifestList, runs};
use crate::store::archive::BlobKind;
use handle_fs::parallel;

impl Capture<'_> {
    /// Stores the chunks and the list of a manifest. Returns the list's digest and adds the older archives it needs to `used`.
    pub(super) fn list(
        &self,
        manifest: &Manifest,
        packer: &mut Packer<'_>,
        used: &mut BTreeSet<usize>,
    ) -> Result<Digest, CaptureError> {
        /// Maximum number of chunks in memory at once.
        const WINDOW: usize = 64;
        let mut store = |kind, digest, bytes: &[u8]| {
            packer.blob(kind, digest, bytes)?;
            if !packer.holds(&digest) {
                used.extend(packer.known().archive_of(&digest));
            }
            Ok::<_, CaptureError>(())
        };
        let runs = runs(manifest);
        let mut chunks = Vec::with_capacity(runs.len());
        for window in runs.chunks(WINDOW) {
            for chunk in parallel::map(window, |run| run.encode(manifest)) {
                store(BlobKind::Chunk, chunk.digest, &chunk.bytes)?;
                chunks.push(chunk.digest);
            }
        }
        let root = manifest.root.clone();
        let bytes = ManifestList { root, chunks }.encode();
        let digest = Digest::of(&bytes);
        store(BlobKind::List, digest, &bytes)?;
        Ok(digest)
    }

    /// Counts the content that this capture stored, and adds the archives of the rest to `used`. Returns false if some is in
    /// neither.
    pub(super) fn contents(
        &self,
        manifest: &Manifest,
        packer: &Packer<'_>,
        settled: Option<&Settled>,
        used: &mut BTreeSet<usize>,
        stored: &mut u64,
    ) -> bool {
        let entries = manifest
            .directories
            .iter()
            .flat_map(|dir| dir.entries.iter().map(move |entry| (dir, entry)));
        let settled = settled.filter(|settled| !settled.is_nothing());
        let mut last = None;
        for (dir, entry) in entries {
            let Some(content) = entry.content().filter(|content| content.size > 0) else {
                continue;
            };
            if packer.holds(&content.digest) {
                *stored += 1;
                continue;
            }
            if settled.is_some_and(|settled| settled.has(&dir.path.join(&entry.name), &content.digest)) {
                continue;
            }
            let archive = packer.known().archive_of(&content.digest);
            if archive.is_none() {
                return false;
            }
            if archive != last {
                used.extend(archive);
                last = archive;
            }
        }
        true
    }
}
