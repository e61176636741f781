//! Staged paths, and settings that could hide a difference from HEAD from git.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::WorktreeStatus;
use crate::model::{Directory, RelPath, RepositoryFacts};
use git_reader::{Named, Oid, below, relative, within};

/// Counts the staged paths, or takes `known` if nothing changed. Returns the reason why git could hide a difference, if any.
pub(super) fn staged(
    dirt: &WorktreeStatus<'_>,
    work: &RelPath,
    named: &Named<'_>,
    tree: Option<Oid>,
    facts: &mut RepositoryFacts,
    known: Option<u64>,
) -> Option<String> {
    let index = match dirt.repository.index() {
        Ok(Some(index)) => index,
        Ok(None) => {
            let none = facts.state.commit.is_none();
            return (!none).then(|| "there is no index".to_owned());
        }
        Err(error) => {
            facts.state.doubts.push(error.to_string());
            return None;
        }
    };
    if index.entries.iter().any(|entry| entry.stage != 0) {
        facts.state.doubts.push("conflicts are not resolved".to_owned());
    }
    facts.staged = known.unwrap_or_else(|| {
        let entries = index.entries.iter();
        let there: BTreeMap<&[u8], (u32, Oid)> = entries
            .map(|entry| (entry.path.as_slice(), (entry.mode, entry.oid)))
            .collect();
        let wanted = |path| named.entry(work, &within(work, path)?, tree?).ok()?;
        let other = there.iter().filter(|(path, found)| wanted(path) != Some(**found));
        let mut all = BTreeSet::new();
        let is_whole = !index.is_sparse && tree.is_some_and(|tree| named.walk(work, tree, &mut all));
        let gone = all
            .iter()
            .filter(|path| !there.contains_key(relative(work, path)));
        (other.count() + if is_whole { gone.count() } else { 0 }) as u64
    });
    if index.is_sparse || index.entries.iter().any(|entry| entry.skip_worktree) {
        return Some("some of its files are not checked out".to_owned());
    }
    let hidden = index
        .entries
        .iter()
        .any(|entry| entry.assume_valid || entry.intent_to_add);
    hidden.then(|| "the index tells git not to look at some files".to_owned())
}

/// Returns the reason why git may write other bytes into the work tree than its objects have, if any.
pub(super) fn converts(dirt: &WorktreeStatus<'_>, work: &RelPath) -> Option<String> {
    let config = dirt.repository.config();
    let set = |key: &str| {
        let value = config.last("core", None, key).flatten();
        value.is_some_and(|value| !value.eq_ignore_ascii_case(b"false") && !value.is_empty())
    };
    if set("autocrlf") || set("eol") {
        return Some("git may convert line ends here".to_owned());
    }
    let own = dirt.manifest.entry(&below(dirt.own, "info/attributes"));
    if own.is_some_and(|entry| entry.content().is_some_and(|content| content.size > 0)) {
        return Some("attributes may make git convert contents".to_owned());
    }
    let has = |dir: &&Arc<Directory>| {
        dir.named(b".gitattributes").is_some() && (dir.path == *work || dirt.is_ours(work, &dir.path))
    };
    let mut dirs = dirt.manifest.directories_within(work);
    dirs.any(|dir| has(&dir))
        .then(|| "attributes may make git convert contents".to_owned())
}
