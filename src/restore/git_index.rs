//! Indexes of git that differ from a known state only in what git caches. `git status` alone rewrites the index, which changes nothing
//! that is staged; what cannot be read or is not understood counts as changed.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use crate::git_directories::Repositories;
use crate::model::{Content, Digest, Entry, Hasher, InstanceId, Manifest, RelPath};
use crate::store::Store;
use crate::store::archive::Piece;
use git_reader::{Live, stages_the_same, whole};
use handle_fs::Root;

/// Maximum bytes of an index that is compared.
const LARGEST: u64 = 64 << 20;

/// Indexes whose live content stages the same as known contents of the same path.
#[derive(Clone, Debug, Default)]
pub struct RefreshedIndexes(HashMap<RelPath, Refreshed>);

/// One of them.
#[derive(Clone, Debug)]
struct Refreshed {
    now: Digest,
    /// Digests of known contents that stage the same.
    alike: HashSet<Digest>,
}

impl RefreshedIndexes {
    /// Compares the indexes in the git directories of `now`, the live state of a mount, with the contents that `known` returns for their
    /// paths. These are read from snapshots of the session.
    pub fn find<'k>(
        (store, instance): (&Store, &InstanceId),
        root: &Path,
        now: &Manifest,
        known: impl Fn(&RelPath) -> Vec<&'k Content>,
    ) -> Self {
        let mut found = HashMap::new();
        let mut opened = None;
        for (path, content) in indexes(now) {
            let mut others = known(&path);
            others.retain(|other| other.digest != content.digest && other.size <= LARGEST);
            if others.is_empty() || content.size > LARGEST {
                continue;
            }
            let Some(root) = opened.get_or_insert_with(|| Root::open(store.transports(), root).ok()) else {
                break;
            };
            let live = whole(&Live::new(root), &path, LARGEST).ok().flatten();
            let Some(live) = live.filter(|bytes| is_content(bytes, content)) else {
                continue;
            };
            let alike: HashSet<Digest> = others
                .into_iter()
                .filter(|other| {
                    let stored = stored(store, instance, other);
                    stored.is_some_and(|stored| stages_the_same(&stored, &live))
                })
                .map(|other| other.digest)
                .collect();
            let now = content.digest;
            found.insert(path, Refreshed { now, alike });
        }
        Self(found)
    }

    /// Returns true if `then` and `now` are indexes that stage the same, with the same metadata.
    #[must_use]
    pub fn holds(&self, path: &RelPath, then: &Entry, now: &Entry) -> bool {
        let Some(refreshed) = self.0.get(path) else {
            return false;
        };
        let (then_content, now_content) = (then.content(), now.content());
        now_content.is_some_and(|content| content.digest == refreshed.now)
            && then_content.is_some_and(|content| refreshed.alike.contains(&content.digest))
            && then.same_metadata(now)
    }
}

/// Returns the files named `index` in git directories, those of linked work trees and submodules included.
fn indexes(now: &Manifest) -> Vec<(RelPath, &Content)> {
    let repositories = Repositories::of([now]);
    let mut found = Vec::new();
    for dir in &now.directories {
        let entries = dir.entries.iter();
        for entry in entries.filter(|entry| entry.name.as_bytes() == b"index") {
            let is_in_git = repositories.holding(&dir.path).is_some();
            if let Some(content) = entry.content().filter(|_| is_in_git) {
                found.push((dir.path.join(&entry.name), content));
            }
        }
    }
    found
}

/// Reads a content from the newest snapshot of the session that has it.
fn stored(store: &Store, instance: &InstanceId, content: &Content) -> Option<Vec<u8>> {
    let rows = store.catalog().snapshots(instance).ok()?;
    rows.iter().find_map(|row| {
        let record = store.record(&row.id).ok()?;
        let blobs = store.contents(&record);
        let mut bytes = Vec::new();
        let read = blobs.stream(&content.digest, &mut |piece| {
            match piece {
                Piece::Data(data) => bytes.extend_from_slice(data),
                Piece::Hole(length) => {
                    let length = usize::try_from(length.min(LARGEST)).unwrap_or_default();
                    bytes.resize(bytes.len().saturating_add(length), 0);
                }
            }
            match bytes.len() as u64 > LARGEST {
                true => Err(std::io::ErrorKind::FileTooLarge.into()),
                false => Ok(()),
            }
        });
        read.ok()?;
        is_content(&bytes, content).then_some(bytes)
    })
}

fn is_content(bytes: &[u8], content: &Content) -> bool {
    let mut hasher = Hasher::new(content.method, content.size);
    hasher.update(bytes);
    hasher.finish() == *content
}
