//! Changes of a git repository as text. Changes that make git run programs stand first.

use crate::diff::{Commits, Execution, RefMove, RepositoryChange};
use crate::model::{Coverage, Differs, GitCoverage, RepositoryClass, RepositoryFacts, RepositoryState};
use crate::report::RepositoryStateDocument;
use crate::terminal::{Role, sanitize, size, style, width};
use git_reader::{Head, Oid, Operation};

/// Under the labels of facts.
const INDENT: &str = "           ";
/// So many commits and refs are shown; JSON has more.
const SHOWN: usize = 10;
/// So much of an id tells commits apart.
const SHORT: usize = 10;

/// The section of one repository.
pub(in crate::cli) fn change(coverage: &Coverage, change: &RepositoryChange, columns: usize) -> String {
    let own = sanitize::path(&change.own.on_host(&coverage.root.to_path()));
    let what = match (change.appeared, change.vanished) {
        (true, _) => " came",
        (_, true) => " is gone",
        _ => "",
    };
    let mut lines = vec![style::paint(Role::Heading, &format!("git: {own}{what}"))];
    let executions = &change.executions;
    if !executions.is_empty() {
        let title = "What git runs, or takes orders from, is not what it was:";
        lines.push(format!("  {}", style::paint(Role::Warning, title)));
        lines.extend(executions.iter().map(|execution| executed(execution, columns)));
    }
    // All of it is in the list of files then.
    if !change.vanished {
        if let Some((from, to)) = &change.head {
            lines.push(format!("  HEAD     {} -> {}", head(from), head(to)));
        }
        some(&mut lines, &change.refs, moved);
        commits(&mut lines, "made", &change.made, columns);
    }
    commits(
        &mut lines,
        "that nothing leads to any more",
        &change.lost,
        columns,
    );
    commits(
        &mut lines,
        "made and given up: only the reflog has them",
        &change.given_up,
        columns,
    );
    if change.staged > 0 && !change.vanished {
        let paths = size::counted(change.staged, "path", "paths");
        lines.push(format!("  index    {paths} staged otherwise"));
    }
    let (from, to) = change.stashes;
    if from != to {
        lines.push(format!("  stashes  {from} -> {to}"));
    }
    let (from, to) = &change.operations;
    if from != to {
        lines.push(format!("  under way  {} -> {}", words(from), words(to)));
    }
    for doubt in &change.doubts {
        lines.extend(width::wrap(
            &format!("  not told: {}", sanitize::text(doubt)),
            columns,
        ));
    }
    lines.join("\n")
}

/// Reports that a restore took commits out of a repository, and where they are.
pub(in crate::cli) fn emptied(coverage: &Coverage, change: &RepositoryChange, emergency: &str) -> String {
    let own = sanitize::path(&change.own.on_host(&coverage.root.to_path()));
    let both = [&change.made, &change.given_up];
    let number = both.iter().map(|commits| commits.listed.len() as u64).sum();
    let is_more = both.iter().any(|commits| commits.more);
    let more = if is_more { "at least " } else { "" };
    let commits = size::counted(number, "commit is", "commits are");
    let back = match &change.head {
        Some((then, _)) => format!("HEAD is at {} again", head(then)),
        None => "HEAD is where it was".to_owned(),
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

/// Describes unpushed commits, operations under way, and parts that lie elsewhere, one sentence each.
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
        ("work trees elsewhere", &state.worktrees),
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
        (Some(path), _) => format!("its git directory lies elsewhere and is not covered: {path}"),
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
        parts.push(format!("{} not what HEAD names", size::count(facts.differing)));
    }
    parts.extend((facts.staged > 0).then(|| format!("{} staged", size::count(facts.staged))));
    let stashes = facts.state.stashes;
    parts.extend((stashes > 0).then(|| size::counted(stashes, "stash", "stashes")));
    parts
}

fn executed(execution: &Execution, columns: usize) -> String {
    let (sign, role, value) = match (&execution.was, &execution.now) {
        (None, Some(now)) => ("+", Role::Added, now.clone()),
        (Some(was), None) => ("-", Role::Removed, was.clone()),
        (Some(was), Some(now)) => ("~", Role::Changed, format!("{was} -> {now}")),
        (None, None) => (" ", Role::Dim, String::new()),
    };
    let line = format!(
        "    {sign} {}: {}",
        sanitize::text(&execution.what),
        sanitize::text(&value)
    );
    style::paint(role, &width::cut(&line, columns))
}

fn moved(moved: &RefMove) -> String {
    let full = sanitize::text(&String::from_utf8_lossy(&moved.name));
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

fn some<T>(lines: &mut Vec<String>, all: &[T], line: impl Fn(&T) -> String) {
    lines.extend(all.iter().take(SHOWN).map(line));
    if all.len() > SHOWN {
        let rest = size::count((all.len() - SHOWN) as u64);
        lines.push(format!("           and {rest} more (--json has them)"));
    }
}

fn commits(lines: &mut Vec<String>, what: &str, commits: &Commits, columns: usize) {
    if commits.listed.is_empty() {
        return;
    }
    let number = commits.listed.len() as u64;
    let more = if commits.more { "at least " } else { "" };
    lines.push(format!(
        "  {more}{} {what}:",
        size::counted(number, "commit", "commits")
    ));
    some(lines, &commits.listed, |commit| {
        let line = format!("    {} {}", short(&commit.id), sanitize::text(&commit.subject));
        width::cut(&line, columns)
    });
}

fn head(head: &Head) -> String {
    let name = head.reference.as_deref().map(|name| {
        let name = name.strip_prefix(b"refs/heads/").unwrap_or(name);
        sanitize::text(&String::from_utf8_lossy(name))
    });
    match (name, &head.commit) {
        (Some(name), Some(commit)) => format!("{name} {}", short(commit)),
        (Some(name), None) => format!("{name} (no commit)"),
        (None, Some(commit)) => format!("detached {}", short(commit)),
        (None, None) => "nothing".to_owned(),
    }
}

fn short(oid: &Oid) -> String {
    oid.to_string().chars().take(SHORT).collect()
}

fn words(operations: &[Operation]) -> String {
    if operations.is_empty() {
        return "nothing".to_owned();
    }
    let words: Vec<&str> = operations.iter().map(|operation| operation.word()).collect();
    words.join(", ")
}
