//! The repositories of a contract: where HEAD is, what no remote has, what is not covered.

use super::layout::{Part, Sheet};
use crate::cli::view::repository;
use crate::contract::Contract;
use crate::model::RepositoryState;
use crate::terminal::{sanitize, size};

/// Writes the section, when a mount is the work tree of a repository.
pub(super) fn write(sheet: &mut Sheet, contract: &Contract) {
    let mounts = contract.mounts.iter();
    let with_git: Vec<_> = mounts
        .filter_map(|mount| Some((mount, mount.git.as_ref()?)))
        .collect();
    if with_git.is_empty() {
        return;
    }
    sheet.section("Git");
    let several = contract.mounts.len() > 1;
    for (mount, state) in with_git {
        let by_commit = mount.coverage.as_ref().is_some_and(|coverage| coverage.by_commit);
        let said = sanitize::text(&sentences(state, by_commit).join("; "));
        match several {
            true => {
                sheet.say(&[Part::name(&mount.root.0)]);
                sheet.below(&[Part::Text(&said)]);
            }
            false => sheet.say(&[Part::Text(&said)]),
        }
    }
}

fn sentences(state: &RepositoryState, by_commit: bool) -> Vec<String> {
    let is_read = state.elsewhere.is_none() || state.commit.is_some() || state.branch.is_some();
    let mut all = Vec::new();
    all.extend(is_read.then(|| repository::position(state)));
    all.extend(repository::details(state));
    all.push(repository::covered(state, ".git", None));
    let stashes = state.stashes;
    all.extend((stashes > 0).then(|| size::counted(stashes, "stash", "stashes")));
    if by_commit && state.elsewhere.is_none() {
        all.push(format!(
            "if nothing is dirty or unpushed, {}",
            repository::by_commit(state)
        ));
    }
    all.extend(state.doubts.iter().map(|doubt| format!("unknown: {doubt}")));
    all
}
