//! Changes of a git repository as text. Changes that make git run programs stand first.

use super::Reader;
use crate::model::{Differs, GitCoverage, RepositoryClass, RepositoryFacts, RepositoryState};
use crate::report::{
    CommitDocument, ExecutionDocument, HeadDocument, RefDocument, RepositoryDocument,
    RepositoryState as Existence, RepositoryStateDocument,
};
use crate::terminal::{Role, sanitize, size, style, width};

/// Under the labels of facts.
const INDENT: &str = "           ";
/// So many commits and refs are shown; JSON has more.
const SHOWN: usize = 10;
/// So much of an id tells commits apart.
const SHORT: usize = 10;

/// The section of one repository.
pub(in crate::cli) fn change(change: &RepositoryDocument, columns: usize, reader: Reader) -> String {
    let own = sanitize::path(&change.at.on_host);
    let (what, is_gone) = match change.state {
        Existence::Added => (" came", false),
        Existence::Deleted => (" is gone", true),
        Existence::Changed => ("", false),
    };
    let [more_made, more_lost, more_given_up] = change.more;
    let mut lines = vec![style::paint(Role::Heading, &format!("git: {own}{what}"))];
    let executions = &change.executes;
    if !executions.is_empty() {
        let title = "Git hooks or settings that run code changed:";
        lines.push(format!("  {}", style::paint(Role::Warning, title)));
        let executed = |execution| executed(execution, columns, reader);
        lines.extend(executions.iter().map(executed));
    }
    // All of it is in the list of files then.
    if !is_gone {
        if let (Some(from), Some(to)) = (&change.head_from, &change.head_to) {
            lines.push(format!("  HEAD     {} -> {}", head(from), head(to)));
        }
        some(&mut lines, &change.refs, moved, reader);
        let made = (change.commits_made.as_slice(), more_made);
        commits(&mut lines, "made", made, (columns, reader));
    }
    let lost = (change.commits_lost.as_slice(), more_lost);
    let is_one = change.commits_lost.len() == 1;
    let unreachable = if is_one {
        "that is now unreachable"
    } else {
        "that are now unreachable"
    };
    commits(&mut lines, unreachable, lost, (columns, reader));
    let dropped = "created and dropped: only the reflog has them";
    let given_up = (change.commits_given_up.as_slice(), more_given_up);
    commits(&mut lines, dropped, given_up, (columns, reader));
    if change.index_paths > 0 && !is_gone {
        let paths = size::counted(change.index_paths, "path", "paths");
        lines.push(format!("  index    {paths} changed"));
    }
    let (from, to) = (change.stashes_from, change.stashes_to);
    if from != to {
        lines.push(format!("  stashes  {from} -> {to}"));
    }
    let (from, to) = (&change.operations_from, &change.operations_to);
    if from != to {
        lines.push(format!("  under way  {} -> {}", words(from), words(to)));
    }
    for doubt in &change.doubts {
        lines.extend(width::wrap(
            &format!("  unknown: {}", sanitize::text(doubt)),
            columns,
        ));
    }
    lines.join("\n")
}

/// Reports that a restore took commits out of a repository, and where they are.
pub(in crate::cli) fn emptied(change: &RepositoryDocument, emergency: &str) -> String {
    let own = sanitize::path(&change.at.on_host);
    let number = change.commits_made.len() + change.commits_given_up.len();
    let [more_made, _, more_given_up] = change.more;
    let more = if more_made || more_given_up {
        "at least "
    } else {
        ""
    };
    let commits = size::counted(number as u64, "commit is", "commits are");
    let back = match &change.head_from {
        Some(then) => format!("HEAD is at {} again", head(then)),
        None => "HEAD is unchanged".to_owned(),
    };
    format!("{own}: {back}; {more}{commits} only in the emergency snapshot {emergency} now")
}

/// A repository as a snapshot found it, in one sentence.
pub(in crate::cli) fn sentence(found: &RepositoryStateDocument) -> String {
    let RepositoryStateDocument { at, facts } = found;
    let own = sanitize::path(&at.on_host);
    let at = sanitize::text(&position(&facts.state));
    let reason = sanitize::text(&facts.reason);
    format!("git: {own} is {} ({reason}), {at}", facts.class.word())
}

/// Describes the position of HEAD. Like `details` and `covered`, it returns unsanitized text.
pub(super) fn position(state: &RepositoryState) -> String {
    let branch = state.branch.as_deref().map(branch_name);
    let commit = state.commit.as_deref();
    let commit = commit.map(|id| id.chars().take(SHORT).collect::<String>());
    match (branch, commit) {
        (Some(branch), Some(commit)) => format!("branch {branch} at {commit}"),
        (Some(branch), None) => format!("branch {branch}, without a commit"),
        (None, Some(commit)) if state.adrift => format!("detached at {commit}, the tip of no branch"),
        (None, Some(commit)) => format!("detached at {commit}"),
        (None, None) => "HEAD cannot be read".to_owned(),
    }
}

fn branch_name(full: &str) -> &str {
    full.strip_prefix("refs/heads/").unwrap_or(full)
}

/// Describes unpushed commits, operations under way, and other work trees and submodules, one sentence each.
pub(super) fn details(state: &RepositoryState) -> Vec<String> {
    let branches = state.unpushed.iter().take(SHOWN).map(|unpushed| {
        let more = if unpushed.more { "at least " } else { "" };
        let commits = size::counted(unpushed.commits, "commit", "commits");
        let name = branch_name(&unpushed.branch);
        format!("{name}: {more}{commits} in no remote branch")
    });
    let under_way = state.operations.iter();
    let under_way = under_way.map(|operation| format!("a {operation} is under way"));
    let named = [
        ("submodules", &state.submodules),
        ("linked work trees", &state.worktrees),
    ];
    let named = named.into_iter().filter(|(_, names)| !names.is_empty());
    let named = named.map(|(what, names)| format!("{what}: {}", names.join(", ")));
    branches.chain(under_way).chain(named).collect()
}

/// Describes how much of the git directory `own` is covered; `bytes` is its size.
pub(super) fn covered(state: &RepositoryState, own: &str, bytes: Option<u64>) -> String {
    let size = bytes.map(|bytes| format!(": {}", size::bytes(bytes)));
    let size = size.unwrap_or_default();
    match (&state.elsewhere, state.covered) {
        (Some(path), _) => format!("its git directory is elsewhere and not captured: {path}"),
        (None, GitCoverage::Full) => format!("all of {own} is covered{size}"),
        (None, GitCoverage::State) => format!("{own} is covered without its objects{size}"),
        (None, GitCoverage::Off) => format!("none of {own} is covered"),
    }
}

/// A repository as it was found: its class with the reason, and what makes that up. `kept`: in a snapshot, and not only looked
/// at.
pub(in crate::cli) fn facts(found: &RepositoryStateDocument, kept: bool, columns: usize) -> Vec<String> {
    let RepositoryStateDocument { at, facts } = found;
    let own = sanitize::path(&at.on_host);
    let role = match facts.class {
        RepositoryClass::Clean => Role::Dim,
        RepositoryClass::Unpushed => Role::Changed,
        RepositoryClass::Dirty => Role::Warning,
    };
    let class = style::paint(role, facts.class.word());
    let mut lines = vec![format!("{:10} {own}: {class}", "git")];
    let mut say = |text: String| {
        let room = columns.saturating_sub(INDENT.len());
        let wrapped = width::wrap(&sanitize::text(&text), room);
        lines.extend(wrapped.into_iter().map(|line| format!("{INDENT}{line}")));
    };
    say(facts.reason.clone());
    say(position(&facts.state));
    let parts = counts(facts);
    if !parts.is_empty() {
        say(parts.join(", "));
    }
    details(&facts.state).into_iter().for_each(&mut say);
    if kept {
        say(covered(&facts.state, "it", Some(facts.bytes)));
    }
    if facts.by_commit {
        say(by_commit(&facts.state));
    }
    lines
}

/// Describes what the restore of a work tree that is recorded by its commit needs.
pub(in crate::cli) fn by_commit(state: &RepositoryState) -> String {
    let from = match state.covered {
        GitCoverage::Full => "which are captured with .git",
        GitCoverage::State | GitCoverage::Off => "so a restore needs .git to survive",
    };
    let remote = state.remotes.first().map(|remote| {
        let (name, url) = (&remote.name, &remote.url);
        format!("; {name} has the commit: {url}")
    });
    format!(
        "its files are recorded by the commit: their contents are in its objects, {from}{}",
        remote.unwrap_or_default()
    )
}

/// Describes the number of paths that differ from HEAD, by kind.
fn counts(facts: &RepositoryFacts) -> Vec<String> {
    let mut parts = Vec::new();
    let count = |how| {
        let so = facts.differs.iter().filter(|dirty| dirty.how == how);
        so.count() as u64
    };
    if facts.differing == facts.differs.len() as u64 {
        for (how, word) in [
            (Differs::Changed, "changed"),
            (Differs::Missing, "missing"),
            (Differs::Untracked, "untracked or ignored"),
        ] {
            let number = count(how);
            parts.extend((number > 0).then(|| format!("{} {word}", size::count(number))));
        }
    } else {
        parts.push(format!("{} not committed", size::count(facts.differing)));
    }
    parts.extend((facts.staged > 0).then(|| format!("{} staged", size::count(facts.staged))));
    let stashes = facts.state.stashes;
    parts.extend((stashes > 0).then(|| size::counted(stashes, "stash", "stashes")));
    parts
}

fn executed(execution: &ExecutionDocument, columns: usize, reader: Reader) -> String {
    let (sign, role, value) = match (&execution.from, &execution.to) {
        (None, Some(now)) => ("+", Role::Added, now.clone()),
        (Some(was), None) => ("-", Role::Removed, was.clone()),
        (Some(was), Some(now)) => ("~", Role::Changed, format!("{was} -> {now}")),
        (None, None) => (" ", Role::Dim, String::new()),
    };
    let line = format!(
        "    {sign} {}: {}",
        sanitize::text(&execution.what),
        reader.value(&value)
    );
    style::paint(role, &width::cut(&line, columns))
}

fn moved(moved: &RefDocument) -> String {
    let full = sanitize::text(&moved.name);
    let (kind, name) = [
        ("refs/heads/", "branch"),
        ("refs/tags/", "tag"),
        ("refs/remotes/", "remote"),
    ]
    .into_iter()
    .find_map(|(start, word)| Some((word, full.strip_prefix(start)?)))
    .unwrap_or(("ref", &full));
    let what = match (&moved.from, &moved.to) {
        (None, Some(to)) => format!("made at {}", short(to)),
        (Some(from), None) => format!("removed, was at {}", short(from)),
        (Some(from), Some(to)) => format!("{} -> {}", short(from), short(to)),
        (None, None) => String::new(),
    };
    format!("  {kind:8} {name} {what}")
}

fn some<T>(lines: &mut Vec<String>, all: &[T], line: impl Fn(&T) -> String, reader: Reader) {
    lines.extend(all.iter().take(SHOWN).map(line));
    if all.len() > SHOWN {
        lines.push(format!("           {}", reader.and_more(all.len() - SHOWN)));
    }
}

fn commits(
    lines: &mut Vec<String>,
    what: &str,
    (listed, is_more): (&[CommitDocument], bool),
    (columns, reader): (usize, Reader),
) {
    if listed.is_empty() {
        return;
    }
    let more = if is_more { "at least " } else { "" };
    lines.push(format!(
        "  {more}{} {what}:",
        size::counted(listed.len() as u64, "commit", "commits")
    ));
    let line = |commit: &CommitDocument| {
        let line = format!("    {} {}", short(&commit.id), sanitize::text(&commit.subject));
        width::cut(&line, columns)
    };
    some(lines, listed, line, reader);
}

fn head(head: &HeadDocument) -> String {
    let name = head
        .reference
        .as_deref()
        .map(|name| sanitize::text(branch_name(name)));
    match (name, &head.commit) {
        (Some(name), Some(commit)) => format!("{name} {}", short(commit)),
        (Some(name), None) => format!("{name} (no commit)"),
        (None, Some(commit)) => format!("detached {}", short(commit)),
        (None, None) => "nothing".to_owned(),
    }
}

pub(super) fn short(commit: &str) -> String {
    commit.chars().take(SHORT).collect()
}

fn words(operations: &[&str]) -> String {
    match operations.is_empty() {
        true => "nothing".to_owned(),
        false => operations.join(", "),
    }
}
