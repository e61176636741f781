//! Work trees that can be recorded as their commit alone: they are clean, and each file's content was read from the commit's
//! objects, so that it is known to come back from there.

use std::collections::HashMap;

use super::{Before, survey};
use crate::git_directories::{named_files, work_tree};
use crate::model::{Content, Digest, Manifest, RelPath, RepositoryClass, RepositoryFacts};
use git_reader::{Live, Named, ObjectKind, Oid, Repository};
use handle_fs::Root;
use handle_fs::parallel;

/// Number of objects that are read per opening of the repository.
const PIECE: usize = 64;

/// Clean work trees of a mount.
pub(in crate::capture) struct Settled {
    /// Facts of every repository of the mount; `by_commit` marks those whose commit is enough.
    pub(in crate::capture) facts: Vec<RepositoryFacts>,
    /// Digests of the contents in their commits, by path.
    contents: HashMap<RelPath, Digest>,
}

impl Settled {
    /// Returns true if no commit is enough.
    pub(in crate::capture) fn is_nothing(&self) -> bool {
        self.contents.is_empty()
    }

    /// Returns true if the commit has the content of this path, so that it need not be stored. The same bytes at another path, as
    /// in the repository itself, are stored, because the commit is read from there.
    pub(in crate::capture) fn has(&self, path: &RelPath, digest: &Digest) -> bool {
        self.contents.get(path) == Some(digest)
    }

    /// Returns true if the commit may have the content of this path, before the file is read.
    pub(in crate::capture) fn may_have(&self, path: &RelPath) -> bool {
        self.contents.contains_key(path)
    }

    /// Returns true if the files, now that they are read, still equal the commits. A program may have written to them meanwhile.
    pub(in crate::capture) fn is_so(&self, manifest: &Manifest) -> bool {
        self.contents.iter().all(|(path, digest)| {
            let content = manifest.entry(path).and_then(|entry| entry.content());
            content.is_some_and(|content| content.digest == *digest)
        })
    }
}

/// Finds the clean work trees. The files of `manifest` need not have been read yet.
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

/// Returns the digest in the commit for every nonempty file of the work tree; `None` if one cannot be read.
fn of_commit(root: &Root, manifest: &Manifest, facts: &RepositoryFacts) -> Option<HashMap<RelPath, Digest>> {
    let work = work_tree(&facts.own);
    let live = Live::new(root);
    let repository = Repository::open(&live, &work).ok()??;
    let commit = Oid::parse(facts.state.commit.as_ref()?.as_bytes())?;
    let tree = repository.commit(&commit).ok()??.tree;
    let named = Named::new(&repository);
    let files = named_files(&named, manifest, &facts.own, tree).ok()?;
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
    (object.kind == ObjectKind::Blob).then(|| Content::of(&object.bytes).digest)
}
