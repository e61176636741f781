//! What changed about a git repository, for people: what makes git run programs stands first.

use crate::diff::{Commits, Execution, RefMove, RepositoryChange};
use crate::git::{Head, Oid, Operation};
use crate::snapshot::Coverage;
use crate::terminal::{Role, sanitize, size, style, width};

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
