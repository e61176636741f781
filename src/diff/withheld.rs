//! Changes of credentials that no snapshot holds, reported without a byte of their content.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{Manifest, MountRecord, RelPath, WithheldFact};

/// Change of a credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WithheldKind {
    /// New credential.
    Added,
    /// Changed content or type.
    Modified,
    /// Changed permissions or owner only.
    Metadata,
    /// Changed secret in a settings file.
    Secret,
    /// Deleted credential.
    Deleted,
    /// Unknown change: one side could not be read, both are too large to compare, or their digests have different keys.
    Unknown,
    /// Unknown change: the path was forgotten.
    Forgotten,
}

impl WithheldKind {
    /// Returns the end of a sentence about the credential.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Added => "it is new",
            Self::Modified => "it changed",
            Self::Metadata => "its permissions or owner changed",
            Self::Secret => "a secret in it changed",
            Self::Deleted => "it is gone",
            Self::Unknown => "it is unknown whether it changed",
            Self::Forgotten => "it was forgotten",
        }
    }
}

/// A credential that changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WithheldChange {
    /// Below the mount root.
    pub path: RelPath,
    /// Kind of the change.
    pub kind: WithheldKind,
    /// In settings: keys of the secrets that exist on both sides and differ.
    pub keys: Vec<Vec<String>>,
    /// True for a new file of which no key can be read.
    pub is_unread: bool,
}

impl WithheldChange {
    /// Returns true if the two manifests show the change as well.
    #[must_use]
    pub fn is_told_by(&self, (before, after): (Option<&Manifest>, Option<&Manifest>)) -> bool {
        let is_there = |side: Option<&Manifest>| side.is_some_and(|side| side.entry(&self.path).is_some());
        let (was, is) = (is_there(before), is_there(after));
        match self.kind {
            WithheldKind::Added => is,
            WithheldKind::Deleted => was,
            // A manifest does not show that a secret changed.
            WithheldKind::Secret => false,
            _ => was && is,
        }
    }
}

/// Compares the recorded facts of a mount's credentials with those of a later side. If `after` is `None`, every change is unknown. Of a path
/// that was forgotten nothing is known.
#[must_use]
pub fn compare_withheld(before: &MountRecord, after: Option<&[WithheldFact]>) -> Vec<WithheldChange> {
    let mut changes = differing(&before.withheld, after);
    for change in &mut changes {
        if before.coverage.has_forgotten(&change.path) {
            change.kind = WithheldKind::Forgotten;
        }
    }
    changes
}

/// Returns the question whether a snapshot has all that is at a path: the private files at and below it are encrypted, and none of them is
/// among the `changes` since.
pub fn has_encrypted(before: &MountRecord, changes: &[WithheldChange]) -> impl Fn(&RelPath) -> bool + use<> {
    let changed: BTreeSet<&RelPath> = changes.iter().map(|change| &change.path).collect();
    let encrypted: BTreeSet<&RelPath> = before.encrypted().collect();
    // A path has all that is below it if one of its files is whole and none is not.
    let (mut whole, mut partial) = (BTreeSet::new(), BTreeSet::new());
    for fact in &before.withheld {
        let is_whole = encrypted.contains(&fact.path) && !changed.contains(&fact.path);
        let side = if is_whole { &mut whole } else { &mut partial };
        side.extend(fact.path.ancestors());
        side.insert(fact.path.clone());
    }
    for path in changed {
        partial.extend(path.ancestors());
        partial.insert(path.clone());
    }
    move |path| whole.contains(path) && !partial.contains(path)
}

fn differing(before: &[WithheldFact], after: Option<&[WithheldFact]>) -> Vec<WithheldChange> {
    let Some(after) = after else {
        let unknown = |fact: &WithheldFact| WithheldChange {
            path: fact.path.clone(),
            kind: WithheldKind::Unknown,
            keys: Vec::new(),
            is_unread: false,
        };
        return before.iter().map(unknown).collect();
    };
    let by_path = |facts: &'_ [WithheldFact]| -> BTreeMap<RelPath, WithheldFact> {
        facts
            .iter()
            .map(|fact| (fact.path.clone(), fact.clone()))
            .collect()
    };
    let (before, mut after) = (by_path(before), by_path(after));
    let mut changes = Vec::new();
    for (path, was) in before {
        let (kind, keys) = match after.remove(&path) {
            None => (has_secrets(&was).then_some(WithheldKind::Deleted), Vec::new()),
            Some(is) => (changed(&was, &is), other_secrets(&was, &is)),
        };
        changes.extend(kind.map(|kind| WithheldChange {
            path,
            kind,
            keys,
            is_unread: false,
        }));
    }
    let added = after.into_iter().filter(|(_, is)| has_secrets(is));
    changes.extend(added.map(|(path, is)| WithheldChange {
        path,
        kind: WithheldKind::Added,
        keys: Vec::new(),
        is_unread: is.settings.is_none(),
    }));
    changes.sort_by(|a, b| a.path.cmp(&b.path));
    changes
}

/// Returns the keys of the secrets that exist on both sides and differ.
fn other_secrets(was: &WithheldFact, is: &WithheldFact) -> Vec<Vec<String>> {
    let (Some(was), Some(is)) = (&was.settings, &is.settings) else {
        return Vec::new();
    };
    let is: BTreeMap<_, _> = is
        .secrets
        .iter()
        .map(|secret| (&secret.key, secret.digest))
        .collect();
    let differs = |(key, digest)| is.get(key).is_some_and(|now| *now != digest);
    let was = was.secrets.iter().map(|secret| (&secret.key, secret.digest));
    was.filter(|secret| differs(*secret))
        .map(|(key, _)| key.clone())
        .collect()
}

/// Returns true unless the facts are those of settings without secrets, which are compared as ordinary files.
fn has_secrets(fact: &WithheldFact) -> bool {
    let settings = fact.settings.as_ref();
    settings.is_none_or(|settings| !settings.secrets.is_empty())
}

fn changed(was: &WithheldFact, is: &WithheldFact) -> Option<WithheldKind> {
    if was.error.is_some() || is.error.is_some() {
        return (was != is).then_some(WithheldKind::Unknown);
    }
    // Other changes in settings are reported as changes of the file.
    if was.settings.is_some() && is.settings.is_some() {
        return (was.digest != is.digest).then_some(WithheldKind::Secret);
    }
    if was.size != is.size || was.digest != is.digest {
        return Some(WithheldKind::Modified);
    }
    // Too large for a digest on both sides.
    if was.digest.is_none() {
        return Some(WithheldKind::Unknown);
    }
    let metadata = |fact: &WithheldFact| (fact.mode, fact.uid, fact.gid);
    (metadata(was) != metadata(is)).then_some(WithheldKind::Metadata)
}
