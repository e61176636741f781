//! Work trees of which the commit alone can be recorded: they are clean, and each file's content was read from the commit's objects,
//! so that it is known to come back from there.

use std::collections::HashMap;

use super::{Before, survey};
use crate::git::{Live, Named, ObjectKind, Oid, Repository, work_tree};
use crate::model::{
    Content, Digest, DigestMethod, Hasher, Manifest, RelPath, RepositoryClass, RepositoryFacts,
};
use crate::mount::Root;
use crate::platform::parallel;

/// So many objects are read by one opening of the repository.
const PIECE: usize = 64;

/// What a mount has of them.
pub(in crate::capture) struct Settled {
    /// Every repository of the mount; those whose commit is enough say so.
    pub(in crate::capture) facts: Vec<RepositoryFacts>,
    /// What the objects of their commits have at each path.
    contents: HashMap<RelPath, Digest>,
}

impl Settled {
    /// Whether no commit is enough.
    pub(in crate::capture) fn is_nothing(&self) -> bool {
        self.contents.is_empty()
    }

    /// Whether the commit has the content of this path, so that it need not be stored. The same bytes at another path, as in the
    /// repository itself, are stored: that is what the commit is read from.
    pub(in crate::capture) fn has(&self, path: &RelPath, digest: &Digest) -> bool {
        self.contents.get(path) == Some(digest)
    }

    /// The same before the file was read.
    pub(in crate::capture) fn may_have(&self, path: &RelPath) -> bool {
        self.contents.contains_key(path)
    }

    /// Whether the files still are what the commits have, now that they were read: while they were looked at somebody may have
    /// written to them.
    pub(in crate::capture) fn is_so(&self, manifest: &Manifest) -> bool {
        self.contents.iter().all(|(path, digest)| {
            let content = manifest.entry(path).and_then(|entry| entry.content());
            content.is_some_and(|content| content.digest == *digest)
        })
    }
}

/// Finds them. The files of `manifest` need not have been read yet.
pub(in crate::capture) fn settle(
    root: &Root,
    manifest: &Manifest,
    skipped: &std::collections::BTreeSet<&RelPath>,
    before: Option<Before<'_>>,
) -> Settled {
    let mut facts = survey(root, manifest, skipped, before, true);
    let mut contents = HashMap::new();
    for facts in &mut facts {
        let is_bare = work_tree(&facts.own) == facts.own;
        if facts.class == RepositoryClass::Clean && !is_bare {
            let found = of_commit(root, manifest, facts);
            facts.by_commit = found.as_ref().is_some_and(|found| !found.is_empty());
            contents.extend(found.into_iter().flatten());
        }
    }
    Settled { facts, contents }
}

/// The digest of what the commit has, for every file of the work tree that has any bytes; `None` when one cannot be read.
fn of_commit(root: &Root, manifest: &Manifest, facts: &RepositoryFacts) -> Option<HashMap<RelPath, Digest>> {
    let work = work_tree(&facts.own);
    let live = Live::new(root);
    let repository = Repository::open(&live, &work).ok()??;
    let commit = Oid::parse(facts.state.commit.as_ref()?.as_bytes())?;
    let tree = repository.commit(&commit).ok()??.tree;
    let named = Named::new(&repository);
    let files = named.contents(manifest, &facts.own, tree).ok()?;
    let pieces: Vec<&[(RelPath, &Content, Oid)]> = files.chunks(PIECE).collect();
    let digests = parallel::map(&pieces, |piece| {
        let live = Live::new(root);
        let repository = Repository::open(&live, &work).ok()??;
        let digest =
            |(path, _, oid): &(RelPath, &Content, Oid)| Some((path.clone(), blob(&repository, oid)?));
        piece.iter().map(digest).collect::<Option<Vec<_>>>()
    });
    let digests: Option<Vec<_>> = digests.into_iter().collect();
    Some(digests?.into_iter().flatten().collect())
}

fn blob(repository: &Repository<'_>, oid: &Oid) -> Option<Digest> {
    let object = repository.object(oid).ok()??;
    let mut hasher = Hasher::new(DigestMethod::Plain, object.bytes.len() as u64);
    hasher.update(&object.bytes);
    (object.kind == ObjectKind::Blob).then(|| hasher.finish().digest)
}
