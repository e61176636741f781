//! The repositories of a contract: where HEAD is, what no remote has, what is not covered.

use super::sheet::{Part, Sheet};
use crate::contract::{Contract, GitTerms};
use crate::snapshot::GitCoverage;
use crate::terminal::{sanitize, size};

/// So much of an id tells commits apart.
const SHORT: usize = 10;
/// So many branches are shown.
const SHOWN: usize = 5;

/// Writes the section, when a mount is the work tree of a repository.
pub(super) fn write(sheet: &mut Sheet, contract: &Contract) {
    let with_git = |mount: &'_ &crate::contract::MountTerms| mount.git.is_some();
    if !contract.mounts.iter().any(|mount| with_git(&mount)) {
        return;
    }
    sheet.section("Git");
    for mount in contract.mounts.iter().filter(with_git) {
        let Some(terms) = &mount.git else { continue };
        sheet.say(&[Part::name(&mount.root.0)]);
        for sentence in sentences(terms) {
            sheet.below(&[Part::Text(&sanitize::text(&sentence))]);
        }
    }
    sheet.say(&[Part::Text(
        "It is read from its files, and git is never started. Whether everything is committed is told with the \
         baseline.",
    )]);
}

fn sentences(terms: &GitTerms) -> Vec<String> {
    let short = |id: &String| id.chars().take(SHORT).collect::<String>();
    let name = |name: &str| name.strip_prefix("refs/heads/").unwrap_or(name).to_owned();
    let branch = terms.branch.as_deref().map(name);
    let mut all = vec![match (branch, terms.commit.as_ref().map(short)) {
        (Some(branch), Some(commit)) => format!("branch {branch} at {commit}"),
        (Some(branch), None) => format!("branch {branch}, without a commit"),
        (None, Some(commit)) => format!("detached at {commit}"),
        (None, None) => "HEAD cannot be read".to_owned(),
    }];
    all.extend(terms.unpushed.iter().take(SHOWN).map(|unpushed| {
        let more = if unpushed.more { "at least " } else { "" };
        let commits = size::counted(unpushed.commits, "commit", "commits");
        format!("{}: {more}{commits} in no remote branch", name(&unpushed.branch))
    }));
    all.extend((terms.stashes > 0).then(|| size::counted(terms.stashes, "stash", "stashes")));
    all.extend(
        terms
            .operations
            .iter()
            .map(|operation| format!("a {operation} is under way")),
    );
    for (what, names) in [
        ("submodules", &terms.submodules),
        ("work trees elsewhere", &terms.worktrees),
    ] {
        all.extend((!names.is_empty()).then(|| format!("{what}: {}", names.join(", "))));
    }
    all.push(match (&terms.elsewhere, terms.covered) {
        (Some(path), _) => format!("its git directory lies elsewhere and is not covered: {path}"),
        (None, GitCoverage::Full) => "all of .git is covered".to_owned(),
        (None, GitCoverage::State) => ".git is covered without its objects".to_owned(),
        (None, GitCoverage::Off) => "nothing of .git is covered".to_owned(),
    });
    all.extend(terms.doubts.iter().map(|doubt| format!("not told: {doubt}")));
    all
}
