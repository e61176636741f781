//! Content that is in no archive, because the objects of a commit have it: that of a clean work tree whose commit was recorded
//! instead of its files.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::OnceLock;

use foldhash::fast::RandomState;

use super::direct_blobs::DirectBlobs;
use super::git_files::{Kept, StoredTree};
use crate::git_directories::{named_files, work_files, work_tree};
use crate::model::{
    Content, Digest, GitCoverage, Hasher, Manifest, MountRecord, RelPath, RepositoryFacts, SnapshotRecord,
};
use git_reader::{Live, Named, ObjectKind, Oid, Repository};
use handle_fs::Root;

/// The object that has a content.
type Objects = HashMap<Digest, (Oid, Content), RandomState>;

/// All work trees of a snapshot that are recorded by their commits.
#[derive(Default)]
pub(super) struct Commits(Vec<WorkTree>);

/// One of them.
struct WorkTree {
    host: PathBuf,
    own: RelPath,
    commit: String,
    /// True if the snapshot has the objects too.
    is_covered: bool,
    /// True if the repository in its current state may be read.
    is_ours: bool,
    /// URL of the repository's first remote, if any.
    remote: Option<String>,
    manifest: Manifest,
    objects: OnceLock<Objects>,
    kept: Kept,
}

impl Commits {
    /// Collects the work trees of a snapshot. Skips one whose manifest is unreadable: no content can be requested from it.
    pub(super) fn of(record: &SnapshotRecord, blobs: &DirectBlobs) -> Self {
        Self::told(record, blobs, true)
    }

    /// Does the same for a snapshot from elsewhere: only its own objects are read, never a repository of this machine.
    pub(super) fn within(record: &SnapshotRecord, blobs: &DirectBlobs) -> Self {
        Self::told(record, blobs, false)
    }

    fn told(record: &SnapshotRecord, blobs: &DirectBlobs, is_ours: bool) -> Self {
        let trees = |mount: &MountRecord| {
            let facts = mount.git.iter().flatten().filter(|facts| facts.by_commit);
            let root = mount.coverage.root.to_path();
            let tree = |facts: &RepositoryFacts| {
                let state = &facts.state;
                Some(WorkTree {
                    host: root.to_path_buf(),
                    own: facts.own.clone(),
                    commit: state.commit.clone()?,
                    is_covered: state.covered == GitCoverage::Full,
                    is_ours,
                    remote: state.remotes.first().map(|remote| remote.url.clone()),
                    manifest: blobs.archives.manifest(mount.manifest.as_ref()?).ok()?,
                    objects: OnceLock::new(),
                    kept: Kept::default(),
                })
            };
            facts.filter_map(tree).collect::<Vec<_>>()
        };
        Self(record.mounts.iter().flat_map(trees).collect())
    }

    /// Returns true if an object has the content.
    pub(super) fn have(&self, digest: &Digest, blobs: &DirectBlobs) -> bool {
        self.0.iter().any(|tree| tree.objects(blobs).contains_key(digest))
    }

    /// Returns a message for content that no archive has; `None` if no work tree should have it either, so that an archive should.
    pub(super) fn lost(&self, digest: &Digest) -> Option<String> {
        let tree = self.0.iter().find(|tree| tree.shows(digest));
        tree.map(WorkTree::lost)
    }

    /// Reads the content and compares it with its digest; or returns the reason of the failure. `None` if no work tree should have
    /// it.
    pub(super) fn read(&self, digest: &Digest, blobs: &DirectBlobs) -> Option<Result<Vec<u8>, String>> {
        let found = self
            .0
            .iter()
            .find_map(|tree| Some((tree, *tree.objects(blobs).get(digest)?)));
        let Some((tree, (oid, content))) = found else {
            return self.lost(digest).map(Err);
        };
        let read = |repository: &Repository<'_>| {
            let object = repository.object(&oid).ok()??;
            let mut hasher = Hasher::new(content.method, content.size);
            hasher.update(&object.bytes);
            (object.kind == ObjectKind::Blob && hasher.finish() == content).then_some(object.bytes)
        };
        Some(tree.ask(blobs, read).ok_or_else(|| tree.lost()))
    }
}

impl WorkTree {
    /// Asks the repository as it is now, and then, when the snapshot has its objects, as it was.
    fn ask<T>(&self, blobs: &DirectBlobs, ask: impl Fn(&Repository<'_>) -> Option<T>) -> Option<T> {
        let work = work_tree(&self.own);
        let live = || {
            let root = Root::open(blobs.archives.transports(), &self.host).ok()?;
            let live = Live::new(&root);
            ask(&Repository::open(&live, &work).ok()??)
        };
        let stored = || {
            let stored = StoredTree::of(&self.manifest, blobs, &self.host).keeping(self.kept.clone());
            ask(&Repository::open(&stored, &work).ok()??)
        };
        let now = if self.is_ours { live() } else { None };
        now.or_else(|| self.is_covered.then(stored)?)
    }

    /// Returns the objects that the commit has at the paths of the work tree.
    fn objects(&self, blobs: &DirectBlobs) -> &Objects {
        self.objects.get_or_init(|| {
            let found = self.ask(blobs, |repository| {
                let commit = repository.commit(&Oid::parse(self.commit.as_bytes())?);
                let tree = commit.ok()??.tree;
                // A tree that is missing here may be in the snapshot.
                let named = Named::new(repository);
                let contents = named_files(&named, &self.manifest, &self.own, tree).ok()?;
                let objects = contents.into_iter();
                Some(
                    objects
                        .map(|(_, content, oid)| (content.digest, (oid, *content)))
                        .collect(),
                )
            });
            found.unwrap_or_default()
        })
    }

    /// Returns true if a file of the work tree has the content.
    fn shows(&self, digest: &Digest) -> bool {
        let mut files = work_files(&self.manifest, &self.own);
        files.any(|(_, content)| content.digest == *digest)
    }

    fn lost(&self) -> String {
        let commit: String = self.commit.chars().take(10).collect();
        let own = self.own.on_host(&self.host);
        let else_where = match &self.remote {
            Some(url) => format!("fetch it from {url} and try again"),
            None => "restore them and try again".to_owned(),
        };
        format!(
            "it was recorded by the commit {commit}, whose objects {} does not have any more; {else_where}",
            own.display()
        )
    }
}
