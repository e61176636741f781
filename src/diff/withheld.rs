//! Credentials that no snapshot holds: whether they changed, told without a byte of them.

use std::collections::BTreeMap;

use crate::model::{Manifest, RelPath, WithheldFact};

/// What became of a credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WithheldKind {
    /// It was not there before.
    Added,
    /// Its content, or what it is, differs.
    Modified,
    /// Only its permissions or owner differ.
    Metadata,
    /// It is a settings file, and a secret in it is not what it was.
    Secret,
    /// It is gone.
    Deleted,
    /// It cannot be told.
    Unknown,
}

impl WithheldKind {
    /// For a sentence about the credential.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Added => "it is new",
            Self::Modified => "it changed",
            Self::Metadata => "its permissions or owner changed",
            Self::Secret => "a secret in it changed",
            Self::Deleted => "it is gone",
            Self::Unknown => "whether it changed cannot be told",
        }
    }
}

/// A credential that changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WithheldChange {
    /// Below the mount root.
    pub path: RelPath,
    /// What became of it.
    pub kind: WithheldKind,
    /// In settings: where the secrets stand that are on both sides and differ.
    pub keys: Vec<Vec<String>>,
    /// It is new, and no key of it can be read.
    pub is_unread: bool,
}

impl WithheldChange {
    /// Whether what became of it shows in two manifests, with what was there on both sides.
    #[must_use]
    pub fn is_told_by(&self, (before, after): (Option<&Manifest>, Option<&Manifest>)) -> bool {
        let is_there = |side: Option<&Manifest>| side.is_some_and(|side| side.entry(&self.path).is_some());
        let (was, is) = (is_there(before), is_there(after));
        match self.kind {
            WithheldKind::Added => is,
            WithheldKind::Deleted => was,
            // That it is another one is all that is told of a secret.
            WithheldKind::Secret => false,
            _ => was && is,
        }
    }
}

/// Compares what was recorded of credentials. Without what is there now nothing of them can be told.
#[must_use]
pub fn compare_withheld(before: &[WithheldFact], after: Option<&[WithheldFact]>) -> Vec<WithheldChange> {
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

/// Where the secrets stand that are on both sides and differ.
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

/// Settings without any are files like others.
fn has_secrets(fact: &WithheldFact) -> bool {
    let settings = fact.settings.as_ref();
    settings.is_none_or(|settings| !settings.secrets.is_empty())
}

fn changed(was: &WithheldFact, is: &WithheldFact) -> Option<WithheldKind> {
    if was.error.is_some() || is.error.is_some() {
        return (was != is).then_some(WithheldKind::Unknown);
    }
    // What else changed in settings is told as a change of the file.
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
