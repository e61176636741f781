//! A comparison.

use schemars::JsonSchema;
use serde::Serialize;

use super::{ChangeDocument, Head, PathDocument, ReasonDocument, RepositoryDocument};
use crate::diff::Setting;
use crate::model::Coverage;
use crate::recovery::Differences;
use crate::store::InstanceRow;

/// `diff --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DiffDocument {
    #[serde(flatten)]
    pub(crate) head: Head,
    /// The session's id.
    pub(crate) instance: String,
    /// Id of the earlier snapshot.
    pub(crate) from: String,
    /// Id of the later snapshot, or `now`.
    pub(crate) to: String,
    /// By mount, then by path.
    pub(crate) changes: Vec<ChangeDocument>,
    /// What could not be compared.
    pub(crate) not_covered: Vec<ReasonDocument>,
    /// Credentials in agents' state that changed, of which no snapshot holds anything.
    pub(crate) withheld: Vec<ReasonDocument>,
    /// What changed about the settings of agents, which stands in `changes` as files; what grants first.
    pub(crate) state: Vec<SettingDocument>,
    /// What changed about git repositories, which stands in `changes` as files.
    pub(crate) git: Vec<RepositoryDocument>,
}

/// One setting of an agent that is not what it was.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SettingDocument {
    /// The file.
    #[serde(flatten)]
    at: PathDocument,
    /// The key in it, dotted, `[]` for what a list holds; empty for the file itself.
    key: String,
    /// It starts programs, or grants or takes rights.
    grants: bool,
    /// What it was, as JSON where a file has keys; none: it was not there.
    was: Option<String>,
    /// What it is now.
    now: Option<String>,
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
pub(crate) fn diff_document(row: &InstanceRow, found: &Differences) -> DiffDocument {
    let compared = &found.mounts;
    let changes = compared.iter().flat_map(|mount| {
        mount
            .comparison
            .changes
            .iter()
            .map(|change| ChangeDocument::new(&mount.coverage, change).since(mount.since(change)))
    });
    let gaps = compared.iter().flat_map(|mount| {
        mount
            .comparison
            .not_covered
            .iter()
            .map(|gap| ReasonDocument::gap(&mount.coverage, gap))
    });
    let git = compared.iter().flat_map(|mount| {
        let changed = mount.repositories.iter();
        changed.map(|change| RepositoryDocument::new(&mount.coverage, change))
    });
    let withheld = compared.iter().flat_map(|mount| {
        let changed = mount.withheld.iter();
        changed
            .map(|change| ReasonDocument::new(&mount.coverage, &change.path, change.kind.words().to_owned()))
    });
    DiffDocument {
        git: git.collect(),
        withheld: withheld.collect(),
        state: compared
            .iter()
            .flat_map(|mount| {
                let settings = mount.settings.iter();
                settings.map(|setting| SettingDocument::new(&mount.coverage, setting))
            })
            .collect(),
        head: Head::default(),
        instance: row.id.to_string(),
        from: found.from.id.to_string(),
        to: found.to(),
        changes: changes.collect(),
        not_covered: gaps.collect(),
    }
}
