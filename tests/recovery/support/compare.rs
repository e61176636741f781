//! What differs between two trees, in words; and the assertions on it.

use std::collections::BTreeSet;

use super::tree::{Kind, Node, Tree};

/// How much must be equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Exactness {
    /// Type, bytes, mode, owner, target, attributes, hard link groups: what a restore brings back.
    Content,
    /// That, and inode and modification time: what an untouched path keeps.
    Identity,
    /// That, and the change time: nothing at all was done to it.
    Everything,
}

/// One line for each difference.
pub(crate) fn differences(left: &Tree, right: &Tree, exactness: Exactness) -> Vec<String> {
    let paths: BTreeSet<&Vec<u8>> = left.nodes.keys().chain(right.nodes.keys()).collect();
    let mut lines = Vec::new();
    for path in paths {
        let shown = path.escape_ascii();
        match (left.nodes.get(path), right.nodes.get(path)) {
            (Some(_), None) => lines.push(format!("\"{shown}\": only on the left")),
            (None, Some(_)) => lines.push(format!("\"{shown}\": only on the right")),
            (Some(left), Some(right)) => {
                let found = node_differences(left, right, exactness);
                lines.extend(found.into_iter().map(|line| format!("\"{shown}\": {line}")));
            }
            (None, None) => {}
        }
    }
    lines
}

pub(super) fn node_differences(left: &Node, right: &Node, exactness: Exactness) -> Vec<String> {
    let mut lines = Vec::new();
    // What is equal, which is almost everything, is not put into words.
    let mut note = |equal: bool, what: &str, shown: &dyn Fn(&Node) -> String| {
        if !equal {
            lines.push(format!("{what}: {} | {}", shown(left), shown(right)));
        }
    };
    note(left.kind == right.kind, "content", &|node| {
        format!("{:?}", node.kind)
    });
    // A symbolic link's own mode means nothing on Linux and cannot be set.
    let is_same_mode = matches!(left.kind, Kind::Link(_)) || left.mode == right.mode;
    note(is_same_mode, "mode", &|node| format!("{:04o}", node.mode));
    note(left.owner == right.owner, "owner", &|node| {
        format!("{:?}", node.owner)
    });
    note(
        left.attributes == right.attributes,
        "attributes",
        &shown_attributes,
    );
    note(left.group == right.group, "hard link group", &shown_group);
    let (before, after) = (&left.times, &right.times);
    if exactness >= Exactness::Identity {
        note(before.inode == after.inode, "inode", &|node| {
            node.times.inode.to_string()
        });
        note(before.modified == after.modified, "mtime", &|node| {
            node.times.modified.to_string()
        });
    }
    if exactness >= Exactness::Everything {
        note(before.changed == after.changed, "ctime", &|node| {
            node.times.changed.to_string()
        });
    }
    lines
}

fn shown_attributes(node: &Node) -> String {
    let all = node.attributes.iter();
    all.map(|(name, value)| format!("{}={}", name.escape_ascii(), value.escape_ascii()))
        .collect::<Vec<_>>()
        .join(" ")
}

fn shown_group(node: &Node) -> String {
    node.group
        .as_ref()
        .map_or_else(|| "none".to_owned(), |group| group.escape_ascii().to_string())
}

/// The paths at which the trees differ in what a restore brings back, sorted by bytes.
pub(crate) fn changed_paths(left: &Tree, right: &Tree) -> Vec<Vec<u8>> {
    let paths: BTreeSet<&Vec<u8>> = left.nodes.keys().chain(right.nodes.keys()).collect();
    let differs = |path: &&Vec<u8>| match (left.nodes.get(*path), right.nodes.get(*path)) {
        (Some(left), Some(right)) => {
            // The first path of a hard link group is what it was when another name comes or goes.
            let alone = |node: &Node| {
                let group = node.group.clone().filter(|first| first != *path);
                Node {
                    group,
                    ..node.clone()
                }
            };
            !node_differences(&alone(left), &alone(right), Exactness::Content).is_empty()
        }
        _ => true,
    };
    paths.into_iter().filter(differs).cloned().collect()
}

/// A tree without a word on which names belong together.
pub(crate) fn groupless(tree: &Tree) -> Tree {
    let mut tree = tree.clone();
    tree.nodes.values_mut().for_each(|node| node.group = None);
    tree
}

/// Insists that `named` holds every path that differs by itself, and none whose bytes, metadata and partners are the
/// same. Which name of a hard link group differs when another comes or goes is a matter of view.
#[track_caller]
pub(crate) fn assert_names_changes(named: &[Vec<u8>], left: &Tree, right: &Tree) {
    let paths: BTreeSet<&Vec<u8>> = left.nodes.keys().chain(right.nodes.keys()).collect();
    for path in paths {
        let (was, is) = (left.nodes.get(path), right.nodes.get(path));
        let partners = |tree: &Tree, node: Option<&Node>| -> Vec<Vec<u8>> {
            let group = node.and_then(|node| node.group.clone());
            let of_group = tree
                .nodes
                .iter()
                .filter(|(_, other)| group.is_some() && other.group == group);
            of_group.map(|(path, _)| path.clone()).collect()
        };
        let differs = match (was, is) {
            (Some(was), Some(is)) => {
                let alone = |node: &Node| Node {
                    group: None,
                    ..node.clone()
                };
                !node_differences(&alone(was), &alone(is), Exactness::Content).is_empty()
            }
            _ => true,
        };
        let is_named = named.contains(path);
        let may = differs || partners(left, was) != partners(right, is);
        assert!(
            is_named || !differs,
            "it differs and is not named: {}",
            path.escape_ascii()
        );
        assert!(
            !is_named || may,
            "it is named and does not differ: {}",
            path.escape_ascii()
        );
    }
}

#[track_caller]
fn report(lines: &[String], what: &str) {
    const MOST: usize = 40;
    if lines.is_empty() {
        return;
    }
    let shown = lines
        .iter()
        .take(MOST)
        .map(|line| format!("  {line}\n"))
        .collect::<String>();
    let more = lines.len().saturating_sub(MOST);
    let rest = if more == 0 {
        String::new()
    } else {
        format!("  … and {more} more\n")
    };
    panic!(
        "{what} ({} differences; left: before, right: after)\n{shown}{rest}",
        lines.len()
    );
}

/// Insists that everything a restore can bring back is equal.
#[track_caller]
pub(crate) fn assert_same_tree(before: &Tree, after: &Tree) {
    report(
        &differences(before, after, Exactness::Content),
        "the trees differ",
    );
}

/// Insists that nothing at all was done.
#[track_caller]
pub(crate) fn assert_untouched(before: &Tree, after: &Tree) {
    report(
        &differences(before, after, Exactness::Everything),
        "something was touched",
    );
}

/// Insists that every path of `before` but the `touched` ones, and what lies below those, kept inode and
/// modification time. A directory with a touched child keeps its inode only.
#[track_caller]
pub(crate) fn assert_kept<P: AsRef<[u8]>>(before: &Tree, after: &Tree, touched: &[P]) {
    let touched: BTreeSet<&[u8]> = touched.iter().map(AsRef::as_ref).collect();
    let parents: BTreeSet<&[u8]> = touched.iter().map(|path| parent(path)).collect();
    let mut lines = Vec::new();
    for (path, node) in &before.nodes {
        if ancestors_and_self(path).any(|top| touched.contains(top)) {
            continue;
        }
        let Some(now) = after.nodes.get(path) else {
            lines.push(format!("\"{}\": gone", path.escape_ascii()));
            continue;
        };
        let mut now = now.clone();
        if parents.contains(path.as_slice()) {
            now.times.modified = node.times.modified;
        }
        let found = node_differences(node, &now, Exactness::Identity);
        lines.extend(
            found
                .into_iter()
                .map(|line| format!("\"{}\": {line}", path.escape_ascii())),
        );
    }
    report(&lines, "what should have been left alone was touched");
}

/// The directory that `path` lies in; the root for a path without a slash.
pub(crate) fn parent(path: &[u8]) -> &[u8] {
    path.iter()
        .rposition(|byte| *byte == b'/')
        .map_or(&[], |at| &path[..at])
}

fn ancestors_and_self(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let ends = path
        .iter()
        .enumerate()
        .filter(|(_, byte)| **byte == b'/')
        .map(|(at, _)| at);
    ends.chain([path.len()])
        .map(|end| &path[..end])
        .filter(|path| !path.is_empty())
}
