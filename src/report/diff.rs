//! A comparison.

use std::collections::HashSet;
use std::ops::Range;

use schemars::JsonSchema;
use serde::Serialize;

use super::fold::{FoldedLine, fold, foldable};
use super::{ChangeDocument, Head, PathDocument, ReasonDocument, RepositoryDocument};
use crate::diff::{Change, Setting, WithheldChange};
use crate::model::{Coverage, RelPath, SnapshotRecord};
use crate::recovery::Differences;
use crate::store::InstanceRow;

/// `diff --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DiffDocument<'a> {
    #[serde(flatten)]
    pub(crate) head: Head,
    /// The session's id.
    pub(crate) instance: String,
    /// Session of the later snapshot, if it is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) later_instance: Option<String>,
    /// Id of the earlier snapshot.
    pub(crate) from: String,
    /// Id of the later snapshot, or `now`.
    pub(crate) to: String,
    /// By mount, then by path.
    pub(crate) changes: Vec<ChangeDocument>,
    /// Paths that could not be compared.
    pub(crate) not_covered: Vec<ReasonDocument>,
    /// Credentials in agents' state that changed, of which no snapshot holds anything.
    pub(crate) withheld: Vec<ReasonDocument>,
    /// Changes of agents' settings, also in `changes` as files; those that grant rights first.
    pub(crate) state: Vec<SettingDocument>,
    /// Changes of git repositories, also in `changes` as files.
    pub(crate) git: Vec<RepositoryDocument>,
    /// The earlier snapshot.
    #[serde(skip)]
    pub(crate) earlier: &'a SnapshotRecord,
    /// The later snapshot; `None`: the files as they are.
    #[serde(skip)]
    pub(crate) later: Option<&'a SnapshotRecord>,
    /// End of each mount in the lists above.
    #[serde(skip)]
    parts: Vec<Part<'a>>,
}

/// The part of a mount in the lists of a [`DiffDocument`].
#[derive(Debug)]
struct Part<'a> {
    coverage: &'a Coverage,
    exact: &'a [Change],
    changes: Range<usize>,
    not_covered: Range<usize>,
    withheld: Range<usize>,
    settings: Range<usize>,
    repositories: Range<usize>,
}

/// One mount of a comparison.
pub(crate) struct MountDiff<'a> {
    /// Its coverage, as the earlier snapshot has it.
    pub(crate) coverage: &'a Coverage,
    /// By path.
    pub(crate) changes: &'a [ChangeDocument],
    /// Both states of each of `changes`.
    pub(crate) exact: &'a [Change],
    /// Paths that could not be compared.
    pub(crate) not_covered: &'a [ReasonDocument],
    /// Credentials that changed, of which no snapshot holds anything.
    pub(crate) withheld: &'a [ReasonDocument],
    /// Settings of agents that changed.
    pub(crate) settings: &'a [SettingDocument],
    /// Git repositories that changed.
    pub(crate) repositories: &'a [RepositoryDocument],
}

/// One setting of an agent that is not what it was.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SettingDocument {
    /// The file.
    #[serde(flatten)]
    pub(crate) at: PathDocument,
    /// The key in it, dotted, `[]` for what a list holds; empty for the file itself.
    pub(crate) key: String,
    /// It starts programs, or grants or takes rights.
    pub(crate) grants: bool,
    /// Earlier value, as JSON if the file has keys; absent if there was none.
    pub(crate) was: Option<String>,
    /// Current value.
    pub(crate) now: Option<String>,
}

impl SettingDocument {
    pub(crate) fn new(coverage: &Coverage, setting: &Setting) -> Self {
        Self {
            at: PathDocument::new(coverage, &setting.path),
            key: setting.key.clone(),
            grants: setting.grants,
            was: setting.was.clone(),
            now: setting.now.clone(),
        }
    }
}

/// Returns the differences as a JSON document.
pub(crate) fn diff_document<'a>(row: &InstanceRow, found: &'a Differences) -> DiffDocument<'a> {
    let mut made = DiffDocument {
        head: Head::default(),
        instance: row.id.to_string(),
        later_instance: found
            .later()
            .filter(|later| later.instance != row.id)
            .map(|later| later.instance.to_string()),
        from: found.from.id.to_string(),
        to: found.to(),
        changes: Vec::new(),
        not_covered: Vec::new(),
        withheld: Vec::new(),
        state: Vec::new(),
        git: Vec::new(),
        earlier: &found.from,
        later: found.later(),
        parts: Vec::new(),
    };
    for mount in &found.mounts {
        let coverage = &mount.coverage;
        let exact = mount.comparison.changes.as_slice();
        let gaps = mount.comparison.not_covered.iter();
        let withheld = mount.withheld.iter();
        let of_withheld = |change: &WithheldChange| {
            ReasonDocument::new(coverage, &change.path, change.kind.words().to_owned())
        };
        made.parts.push(Part {
            coverage,
            exact,
            changes: append(
                &mut made.changes,
                exact
                    .iter()
                    .map(|change| ChangeDocument::new(coverage, change).since(mount.since(change))),
            ),
            not_covered: append(
                &mut made.not_covered,
                gaps.map(|gap| ReasonDocument::gap(coverage, gap)),
            ),
            withheld: append(&mut made.withheld, withheld.map(of_withheld)),
            settings: append(
                &mut made.state,
                mount
                    .settings
                    .iter()
                    .map(|setting| SettingDocument::new(coverage, setting)),
            ),
            repositories: append(
                &mut made.git,
                mount
                    .repositories
                    .iter()
                    .map(|change| RepositoryDocument::new(coverage, change)),
            ),
        });
    }
    made
}

/// Appends the items of a mount, and returns where they are.
pub(super) fn append<T>(all: &mut Vec<T>, own: impl Iterator<Item = T>) -> Range<usize> {
    let start = all.len();
    all.extend(own);
    start..all.len()
}

impl DiffDocument<'_> {
    /// Returns true if any mount differs.
    pub(crate) fn are_any(&self) -> bool {
        !self.changes.is_empty() || !self.withheld.is_empty()
    }

    /// Returns the comparison by mount.
    pub(crate) fn mounts(&self) -> impl ExactSizeIterator<Item = MountDiff<'_>> {
        self.parts.iter().map(|part| MountDiff {
            coverage: part.coverage,
            exact: part.exact,
            changes: self.changes.get(part.changes.clone()).unwrap_or_default(),
            not_covered: self.not_covered.get(part.not_covered.clone()).unwrap_or_default(),
            withheld: self.withheld.get(part.withheld.clone()).unwrap_or_default(),
            settings: self.state.get(part.settings.clone()).unwrap_or_default(),
            repositories: self.git.get(part.repositories.clone()).unwrap_or_default(),
        })
    }
}

impl<'a> MountDiff<'a> {
    /// Returns each change with both its states.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (&'a ChangeDocument, &'a Change)> + use<'a> {
        self.changes.iter().zip(self.exact)
    }

    /// Returns the lines of a folded list; their numbers are positions in `changes`.
    pub(crate) fn folded(&self) -> Vec<FoldedLine> {
        let settings: HashSet<&RelPath> = self.settings.iter().map(|setting| &setting.at.below).collect();
        let marked = self.pairs().map(|(told, change)| {
            let stands_alone = told.edited_since.is_some() || settings.contains(&change.path);
            (change, told.reverted_since.is_some(), stands_alone)
        });
        let repositories: Vec<&RelPath> = self.repositories.iter().map(|git| &git.at.below).collect();
        let unknown = self.not_covered.iter().chain(self.withheld);
        fold(
            &foldable(self.coverage, marked),
            &repositories,
            unknown.map(|gap| &gap.at.below),
        )
    }
}
