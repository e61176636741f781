//! Restore of marked paths and lines: the plan of the marked paths is narrowed to exactly what the operator marked on the screen.

use std::collections::{BTreeSet, HashSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::error::{CliError, ErrorKind};
use super::text_choice::{ChosenParts, TextChoice};
use crate::model::{Coverage, Digest, Entry, RelPath};
use crate::recovery::{ChosenPaths, RestorePlan};
use crate::report::{Change, ChangedLine, Sources};
use crate::restore::MAX_COMPOSED;
use crate::terminal::sanitize;

/// A text file of which some lines are marked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MarkedFile {
    /// Its path on the host.
    pub(super) path: PathBuf,
    /// Digests of the two texts in which the lines were marked.
    pub(super) sides: [Digest; 2],
    /// The lines.
    pub(super) lines: BTreeSet<ChangedLine>,
    /// True if mode, owner and attributes are marked too.
    pub(super) metadata: bool,
}

/// Paths and lines to restore.
pub(super) struct LineChoice {
    /// The paths, with the contents of the marked files.
    pub(super) chosen: ChosenPaths,
    /// True if the plan has nothing else.
    pub(super) is_all: bool,
    /// Marked files that stay because of a later edit: the label of the mount, and the path.
    kept: Vec<(String, RelPath)>,
}

impl LineChoice {
    /// Chooses the marked lines in the plan of a restore, and the other ones of `paths` (on the host) as a whole. What lies below a path is
    /// not meant with it, and a directory is only deleted with everything in it.
    ///
    /// # Errors
    /// [`ErrorKind::Failed`] if a text is another one than when its lines were marked.
    pub(super) fn of(
        planned: &RestorePlan,
        marked: &[MarkedFile],
        paths: &[OsString],
    ) -> Result<Self, CliError> {
        let exactly: HashSet<&Path> = paths.iter().map(Path::new).collect();
        let RestorePlan { store, proposal, .. } = planned;
        let blobs = proposal.contents(store);
        let sources = Sources {
            from: &blobs,
            to: None,
            hides_private: store.is_unlocked(),
        };
        let mut choice = Self {
            chosen: ChosenPaths::default(),
            is_all: marked.is_empty(),
            kept: Vec::new(),
        };
        for mount in &proposal.mounts {
            let coverage = &mount.request.coverage;
            let root = coverage.root.to_path();
            let also: BTreeSet<&RelPath> = mount.also.iter().collect();
            let is_marked = |change: &Change| {
                let mut sides = [Some(&change.path), change.from_path.as_ref()]
                    .into_iter()
                    .flatten();
                also.contains(&change.path)
                    || sides.any(|path| exactly.contains(path.on_host(&root).as_path()))
            };
            let steps = || mount.plan.steps.iter().map(|step| &step.change);
            let conflicts = || mount.plan.conflicts.iter().map(|kept| &kept.change);
            let others = steps().chain(conflicts()).filter(|change| !is_marked(change));
            let others: BTreeSet<&RelPath> = others.map(|change| &change.path).collect();
            let is_meant = |change: &Change| {
                let is_dir = |side: &Option<Entry>| side.as_ref().is_some_and(Entry::is_dir);
                let goes = is_dir(&change.to) && !is_dir(&change.from);
                let mut behind = others.range::<RelPath, _>(&change.path..);
                let mut holds_another = || behind.next().is_some_and(|path| path.is_within(&change.path));
                is_marked(change) && !(goes && holds_another())
            };
            for change in steps() {
                if !is_meant(change) {
                    choice.is_all = false;
                    continue;
                }
                match marked_in(marked, coverage, change) {
                    Some(file) => choice.add_lines((coverage, change), file, &sources)?,
                    None => choice.add(coverage, change),
                }
            }
            // A conflict is chosen as well: the plan lists it then.
            for change in conflicts() {
                if !is_meant(change) {
                    choice.is_all = false;
                    continue;
                }
                choice.add(coverage, change);
                if marked_in(marked, coverage, change).is_some() {
                    choice.kept.push((coverage.label.clone(), change.path.clone()));
                }
            }
        }
        Ok(choice)
    }

    /// Fails if a plan would restore a file as a whole of which only lines were marked.
    ///
    /// # Errors
    /// [`ErrorKind::Failed`] if the later edits of such a file went away between two plans.
    pub(super) fn ensure_kept(&self, planned: &RestorePlan) -> Result<(), CliError> {
        for mount in &planned.proposal.mounts {
            let coverage = &mount.request.coverage;
            for path in mount.plan.steps.iter().map(|step| &step.change.path) {
                let mut kept = self.kept.iter();
                if kept.any(|(label, other)| *label == coverage.label && other == path) {
                    return Err(changed(coverage, path));
                }
            }
        }
        Ok(())
    }

    fn add(&mut self, coverage: &Coverage, change: &Change) {
        for path in [Some(&change.path), change.from_path.as_ref()]
            .into_iter()
            .flatten()
        {
            self.chosen.insert(coverage, path);
        }
    }

    fn add_lines(
        &mut self,
        (coverage, change): (&Coverage, &Change),
        file: &MarkedFile,
        sources: &Sources<'_>,
    ) -> Result<(), CliError> {
        let again = || changed(coverage, &change.path);
        let text = TextChoice::of(coverage, change, sources, MAX_COMPOSED).ok_or_else(again)?;
        if text.digests() != Some(file.sides) {
            return Err(again());
        }
        let texts = text.texts();
        let parts = ChosenParts {
            hunks: texts.with_lines(&file.lines).ok_or_else(again)?,
            metadata: file.metadata && text.has_metadata(),
        };
        let all = texts.hunks().len() + usize::from(text.has_metadata());
        text.choose(&mut self.chosen, (coverage, &change.path), &texts, &parts, all)
    }
}

/// Returns the marked file that a change is of.
fn marked_in<'m>(marked: &'m [MarkedFile], coverage: &Coverage, change: &Change) -> Option<&'m MarkedFile> {
    let path = change.path.on_host(&coverage.root.to_path());
    marked.iter().find(|file| file.path == path)
}

fn changed(coverage: &Coverage, path: &RelPath) -> CliError {
    let shown = sanitize::path(&path.on_host(&coverage.root.to_path()));
    let message = format!("{shown} is no longer the text in which lines were marked; nothing was changed");
    CliError::new(ErrorKind::Failed, message).hint("reload the comparison and mark the lines again")
}
