//! Git repositories whose format differs between the target and now: refs in files or in a reftable, objects named by SHA-1 or SHA-256.
//!
//! The configuration names the format. Git reads refs, the index and reflogs by it, so files of two formats make no repository: a branch
//! that stays would be in a place where git does not look. Such files stay together or come back together.

use std::collections::BTreeMap;

use super::composed::ComposedFiles;
use super::git_parts::all_parts;
use super::plan::{KeptPath, Why};
use crate::git_directories::is_git_directory;
use crate::model::{Digest, Manifest, RelPath};
use git_reader::{Config, Files, below, whole};

/// Maximum bytes of a configuration.
const LARGEST: u64 = 4 << 20;

/// Git directories with another format than in the target. True for one whose objects have names of another kind.
#[derive(Clone, Debug, Default)]
pub(super) struct GitFormats(BTreeMap<RelPath, bool>);

/// Format of a repository, as far as it says where refs are and how objects are named.
#[derive(PartialEq, Eq)]
struct Format {
    /// `None` for the versions 0 and 1, which differ only in what git refuses.
    version: Option<Vec<u8>>,
    objects: Vec<u8>,
    refs: Vec<u8>,
}

impl Format {
    /// Reads the format from a configuration; `None` if that cannot be read. Git takes it from this file alone, without those that it includes.
    fn read(files: &dyn Files, config: &RelPath) -> Option<Self> {
        let text = whole(files, config, LARGEST).ok()?.unwrap_or_default();
        let config = Config::parse(&text).unwrap_or_else(|(before, _)| before);
        let value = |section, key| config.last(section, None, key).flatten();
        let version =
            value("core", "repositoryformatversion").filter(|version| !matches!(*version, b"0" | b"1"));
        Some(Self {
            version: version.map(<[u8]>::to_vec),
            objects: value("extensions", "objectformat").unwrap_or(b"sha1").to_vec(),
            refs: value("extensions", "refstorage").unwrap_or(b"files").to_vec(),
        })
    }
}

impl GitFormats {
    /// Compares the git directories that exist on both sides. A configuration that cannot be read counts as one of another format.
    pub(super) fn find(
        (target, stored): (&Manifest, &dyn Files),
        (now, live): (&Manifest, &dyn Files),
    ) -> Self {
        let mut found = BTreeMap::new();
        let dirs = now.directories.iter().map(|dir| &dir.path);
        for dir in dirs.filter(|dir| is_git_directory(now, dir) && is_git_directory(target, dir)) {
            let config = below(dir, "config");
            if digest(target, &config) == digest(now, &config) {
                continue;
            }
            match (Format::read(stored, &config), Format::read(live, &config)) {
                (Some(then), Some(now)) if then == now => {}
                (Some(then), Some(now)) => {
                    let has_same_names = then.objects == now.objects && then.version == now.version;
                    found.insert(dir.clone(), !has_same_names);
                }
                _ => drop(found.insert(dir.clone(), true)),
            }
        }
        Self(found)
    }

    /// Returns the git directory of another format whose format decides what a path means.
    fn holding(&self, path: &RelPath) -> Option<&RelPath> {
        let mut dirs = self.0.iter().filter(|(dir, _)| path.is_within(dir));
        let found = dirs.find(|(dir, has_other_names)| depends(dir, path, **has_other_names));
        found.map(|(dir, _)| dir)
    }

    /// Adds a path that was not asked for, and therefore stays, to the first such path of each repository.
    pub(super) fn add_beyond(&self, beyond: &mut BTreeMap<RelPath, RelPath>, path: &RelPath) {
        if let Some(dir) = self.holding(path) {
            beyond.entry(dir.clone()).or_insert_with(|| path.clone());
        }
    }

    /// Returns the paths among `steps` that must stay, each with a path of the same repository that stays: one of `kept`, a composed file
    /// with a later edit, or one `beyond` what was asked for.
    pub(super) fn torn<'p>(
        &self,
        (kept, composed): (&[KeptPath], &ComposedFiles),
        mut beyond: BTreeMap<RelPath, RelPath>,
        steps: impl Iterator<Item = &'p RelPath>,
    ) -> Vec<(RelPath, RelPath)> {
        if self.0.is_empty() {
            return Vec::new();
        }
        let kept = kept
            .iter()
            .filter(|kept| !matches!(kept.why, Why::Socket | Why::Root | Why::Holds(_)));
        let composed = composed.iter().filter(|(_, file)| file.holds_later_edit);
        let paths = kept.map(|kept| &kept.change.path);
        for path in paths.chain(composed.map(|(path, _)| path)) {
            self.add_beyond(&mut beyond, path);
        }
        let torn = steps.filter_map(|path| Some((path.clone(), beyond.get(self.holding(path)?)?.clone())));
        torn.collect()
    }
}

/// Returns true if the format of the git directory `own` decides what a path in it means: refs and what else names objects. Objects do
/// where these have other names.
fn depends(own: &RelPath, path: &RelPath, has_other_names: bool) -> bool {
    let Some(name) = all_parts(own, path).next() else {
        return false;
    };
    match name {
        b"objects" => has_other_names,
        b"config" | b"refs" | b"packed-refs" | b"reftable" | b"index" | b"logs" | b"shallow" => true,
        // Each linked work tree has HEAD, an index and refs of its own.
        b"worktrees" => true,
        b"rebase-merge" | b"rebase-apply" | b"sequencer" | b"AUTO_MERGE" => true,
        name => name.ends_with(b"HEAD") || name.starts_with(b"sharedindex.") || name.starts_with(b"BISECT_"),
    }
}

fn digest(manifest: &Manifest, path: &RelPath) -> Option<Digest> {
    Some(manifest.entry(path)?.content()?.digest)
}
