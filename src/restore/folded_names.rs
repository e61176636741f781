//! Paths that the live tree takes for one name although the plan knows them as two, `Readme` and `README` in a directory that ignores case;
//! and names that it cannot have.
//!
//! A plan that is made from two lists of names alone would create one over the other. Which names are one is asked of the tree, and only
//! where two lists differ in case or in how a letter is composed, so an ordinary restore asks nothing.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::capture::Skipped;
use crate::diff::Side;
use crate::model::{Manifest, Name, RelPath};
use handle_fs::remote::{Transports, above};
use handle_fs::{Dir, Root, fold_name, folds_names, holds_name, stored_name, takes_name};

/// Another path that is the same name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rival {
    pub(super) path: RelPath,
    /// True if it is there now; else the snapshot holds both.
    pub(super) is_there: bool,
}

/// Paths that a restore may create only if others go first, or not at all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoldedNames {
    /// Other paths of the same name, by the path that may be created.
    rivals: BTreeMap<RelPath, Vec<Rival>>,
    /// Paths whose name the directory cannot have.
    refused: BTreeSet<RelPath>,
}

impl FoldedNames {
    /// Asks the tree at `root` which missing paths of `target` it takes for another one.
    pub(super) fn find(
        (transports, root): (&Transports, &Path),
        target: Option<&Manifest>,
        now: &Side<'_>,
    ) -> Self {
        let mut found = Self::default();
        let mut tree = LiveTree::new(transports, root);
        let skipped = by_directory(now.skipped);
        for dir in target.into_iter().flat_map(|target| &target.directories) {
            let live = now.manifest.and_then(|now| now.directory(&dir.path));
            if live.is_some_and(|live| Arc::ptr_eq(live, dir)) {
                continue;
            }
            let missing = |name: &&Name| live.is_none_or(|live| live.entry(name).is_none());
            let wanted: Vec<&Name> = dir
                .entries
                .iter()
                .map(|entry| &entry.name)
                .filter(missing)
                .collect();
            if wanted.is_empty() {
                continue;
            }
            let entries = live
                .into_iter()
                .flat_map(|live| &live.entries)
                .map(|entry| &entry.name);
            let gaps = live.into_iter().flat_map(|live| &live.gaps).map(|gap| &gap.name);
            let excluded = skipped.get(&dir.path).into_iter().flatten();
            let mut alike: HashMap<_, Vec<(&Name, bool)>> = HashMap::new();
            let there = entries.chain(gaps).chain(excluded).map(|name| (name, true));
            for (name, is_there) in there.chain(wanted.iter().map(|name| (*name, false))) {
                alike
                    .entry(fold_name(name.as_bytes()))
                    .or_default()
                    .push((name, is_there));
            }
            for name in wanted {
                if tree.refuses(&dir.path, name) {
                    found.refused.insert(dir.path.join(name));
                    continue;
                }
                let others = alike
                    .get(&fold_name(name.as_bytes()))
                    .map(Vec::as_slice)
                    .unwrap_or_default();
                let others: Vec<&(&Name, bool)> = others.iter().filter(|(other, _)| *other != name).collect();
                // Letters that are composed in another way are found by the tree alone.
                if others.is_empty() && name.as_bytes().is_ascii() {
                    continue;
                }
                let mut rivals = Vec::new();
                if let Some(stored) = tree.stored(&dir.path, name) {
                    rivals.push(Rival {
                        path: dir.path.join(&stored),
                        is_there: true,
                    });
                }
                let both_missing = others.iter().filter(|(_, is_there)| !is_there);
                let both_missing: Vec<RelPath> =
                    both_missing.map(|(other, _)| dir.path.join(other)).collect();
                if !both_missing.is_empty() && tree.folds(&dir.path) {
                    rivals.extend(both_missing.into_iter().map(|path| Rival {
                        path,
                        is_there: false,
                    }));
                }
                if !rivals.is_empty() {
                    found.rivals.insert(dir.path.join(name), rivals);
                }
            }
        }
        found
    }

    /// Returns the other paths that are the same name as `path`.
    pub(super) fn rivals(&self, path: &RelPath) -> &[Rival] {
        self.rivals.get(path).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns true if the directory of a path cannot have its name.
    pub(super) fn is_refused(&self, path: &RelPath) -> bool {
        self.refused.contains(path)
    }

    /// Returns the live paths that are the same name as one that `holds` accepts, and is no part of what it accepts itself. To create the
    /// one takes that the other goes.
    pub(super) fn beside(&self, holds: impl Fn(&RelPath) -> bool) -> Vec<RelPath> {
        let mut beside = Vec::new();
        for (path, rivals) in &self.rivals {
            for rival in rivals.iter().filter(|rival| rival.is_there) {
                match (holds(path), holds(&rival.path)) {
                    (true, false) => beside.push(rival.path.clone()),
                    (false, true) => beside.push(path.clone()),
                    _ => {}
                }
            }
        }
        beside
    }
}

/// Returns true if what answers to a path has another one, because a directory on the way takes both names for one.
pub(super) fn is_by_another_name(root: &Root, path: &RelPath) -> bool {
    let is_exact = |path: &RelPath| match path.split() {
        Some((parent, name)) => root
            .dir(&parent)
            .and_then(|dir| holds_name(&dir, name.as_os_str())),
        None => Ok(true),
    };
    let mut parts = path.ancestors().chain([path.clone()]);
    parts.any(|part| !is_exact(&part).unwrap_or(true))
}

fn by_directory(skipped: &[Skipped]) -> HashMap<RelPath, Vec<Name>> {
    let mut found: HashMap<RelPath, Vec<Name>> = HashMap::new();
    for (parent, name) in skipped.iter().filter_map(|skipped| skipped.path.split()) {
        found.entry(parent).or_default().push(name);
    }
    found
}

/// The live tree, which is opened when it is asked for the first time.
struct LiveTree<'a> {
    transports: &'a Transports,
    path: &'a Path,
    /// `None` inside when it cannot be opened.
    root: Option<Option<Root>>,
    folds: HashMap<RelPath, bool>,
}

impl<'a> LiveTree<'a> {
    fn new(transports: &'a Transports, path: &'a Path) -> Self {
        Self {
            transports,
            path,
            root: None,
            folds: HashMap::new(),
        }
    }

    fn root(&mut self) -> Option<&Root> {
        let (transports, path) = (self.transports, self.path);
        self.root
            .get_or_insert_with(|| Root::open(transports, path).ok())
            .as_ref()
    }

    /// Returns the name under which something else answers to `name`.
    fn stored(&mut self, dir: &RelPath, name: &Name) -> Option<Name> {
        let dir = self.root()?.dir(dir).ok()?;
        let stored = stored_name(&dir, name.as_os_str()).ok()??;
        let stored = Name::new(stored.as_encoded_bytes()).ok()?;
        (stored != *name).then_some(stored)
    }

    /// Returns true if names fold in a directory.
    fn folds(&mut self, dir: &RelPath) -> bool {
        if let Some(known) = self.folds.get(dir) {
            return *known;
        }
        let folds = self.ask(dir, &|dir| folds_names(dir));
        self.folds.insert(dir.clone(), folds);
        folds
    }

    /// Returns true if a directory cannot have this name.
    fn refuses(&mut self, dir: &RelPath, name: &Name) -> bool {
        !name.as_bytes().is_ascii() && self.ask(dir, &|dir| Ok(!takes_name(dir, name.as_os_str())?))
    }

    /// Asks a directory; for one that is missing, the nearest one above it.
    fn ask(&mut self, dir: &RelPath, question: &dyn Fn(&Dir) -> io::Result<bool>) -> bool {
        match self.root().map(|root| root.dir(dir)) {
            Some(Ok(there)) => question(&there).unwrap_or(false),
            Some(Err(_)) => match dir.split() {
                Some((parent, _)) => self.ask(&parent, question),
                None => false,
            },
            // The root is missing and comes back as a whole.
            None => {
                let parent = above(self.path).and_then(|above| Dir::open(self.transports, above).ok());
                parent.is_some_and(|parent| question(&parent).unwrap_or(false))
            }
        }
    }
}
