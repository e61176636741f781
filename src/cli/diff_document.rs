//! The JSON of a comparison.

use super::document::{
    ChangeDocument, DiffDocument, Head, ReasonDocument, RepositoryDocument, SettingDocument,
};
use crate::recovery::Differences;
use crate::store::InstanceRow;

/// Returns the differences as a JSON document.
pub(super) fn diff_document(row: &InstanceRow, found: &Differences) -> DiffDocument {
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
