//! The repositories of a contract: where HEAD is, what no remote has, what is not covered.

use super::sheet::{Part, Sheet};
use crate::cli::view::repository;
use crate::contract::Contract;
use crate::snapshot::RepositoryState;
use crate::terminal::{sanitize, size};

/// Writes the section, when a mount is the work tree of a repository.
pub(super) fn write(sheet: &mut Sheet, contract: &Contract) {
    let with_git = |mount: &'_ &crate::contract::MountTerms| mount.git.is_some();
    if !contract.mounts.iter().any(|mount| with_git(&mount)) {
        return;
    }
    sheet.section("Git");
    for mount in contract.mounts.iter().filter(with_git) {
        let Some(state) = &mount.git else { continue };
        let by_commit = mount.coverage.as_ref().is_some_and(|coverage| coverage.by_commit);
        sheet.say(&[Part::name(&mount.root.0)]);
        for sentence in sentences(state, by_commit) {
            sheet.below(&[Part::Text(&sanitize::text(&sentence))]);
        }
    }
    let told = if contract.snapshot.created {
        " Whether everything is committed is told with the baseline."
    } else {
        " Whether everything is committed is told when the session begins."
    };
    sheet.say(&[
        Part::Text("It is read from its files, and git is never started."),
        Part::Text(told),
    ]);
}

fn sentences(state: &RepositoryState, by_commit: bool) -> Vec<String> {
    let mut all = repository::standing(state, ".git", None);
    let stashes = state.stashes;
    all.extend((stashes > 0).then(|| size::counted(stashes, "stash", "stashes")));
    if by_commit && state.elsewhere.is_none() {
        all.push(format!(
            "if nothing is dirty or unpushed, {}",
            repository::by_commit(state)
        ));
    }
    all.extend(state.doubts.iter().map(|doubt| format!("not told: {doubt}")));
    all
}
