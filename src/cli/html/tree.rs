//! Tree of changed paths: links to where their lines are. Directories fold without a script.

use maud::{Markup, html};

use crate::terminal::{sanitize, size};

/// Most paths below a directory that is open at first.
const OPEN: usize = 200;

/// Directories within each other that are drawn. Below them a path is one line, whatever depth an agent made.
const DEEPEST: usize = 24;

/// A changed path.
pub(super) struct Leaf<'a> {
    /// Names from the mount on; none for the mount itself.
    pub(super) names: Vec<&'a [u8]>,
    /// Fragment of the path on the page.
    pub(super) id: String,
    pub(super) letter: &'static str,
    /// Added and removed lines.
    pub(super) counts: (u64, u64),
    pub(super) is_directory: bool,
    /// True if it is git's own data.
    pub(super) is_git: bool,
    /// State of the path after the later snapshot.
    pub(super) since: Option<&'static str>,
}

/// Renders the tree of the paths of a mount, which are sorted name by name.
pub(super) fn tree(leaves: &[Leaf<'_>]) -> Markup {
    branch(leaves, 0, 0)
}

/// Renders paths that share their first `from` names.
fn branch(leaves: &[Leaf<'_>], from: usize, depth: usize) -> Markup {
    let groups = leaves.chunk_by(|one, other| {
        let names = (one.names.get(from), other.names.get(from));
        depth < DEEPEST && names.0.is_some() && names.0 == names.1
    });
    html! {
        ul {
            @for group in groups {
                @match group {
                    [] => {}
                    [leaf] => { (line(leaf, from)) }
                    [first, ..] => {
                        @let shared = shared(group, from);
                        @let is_git = group.iter().all(|leaf| leaf.is_git);
                        li {
                            details open[!is_git && group.len() <= OPEN] {
                                summary {
                                    span class="mono" { (joined(first, from, Some(shared))) "/" }
                                    " "
                                    span class="dim" { (size::count(group.len() as u64)) }
                                }
                                (branch(group, shared, depth + 1))
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Returns the number of first names that all of the paths share; of sorted paths those of the first and the last one decide.
fn shared(group: &[Leaf<'_>], from: usize) -> usize {
    let (Some(first), Some(last)) = (group.first(), group.last()) else {
        return from;
    };
    let pairs = first.names.iter().zip(&last.names);
    pairs.take_while(|(one, other)| one == other).count()
}

fn line(leaf: &Leaf<'_>, from: usize) -> Markup {
    let (added, removed) = leaf.counts;
    html! {
        li {
            a href={ "#" (leaf.id) } {
                span class={ "kind " (leaf.letter) } { (leaf.letter) }
                " "
                span class="mono" { (joined(leaf, from, None)) }
                @if added + removed > 0 {
                    " " span class="dim" { "+" (size::count(added)) " −" (size::count(removed)) }
                }
                @if let Some(word) = leaf.since { " " span class="warn" { (word) } }
            }
        }
    }
}

/// Returns the names of a path from one on, up to another.
fn joined(leaf: &Leaf<'_>, from: usize, to: Option<usize>) -> String {
    let names = leaf.names.get(from..to.unwrap_or(leaf.names.len()));
    match names.unwrap_or_default() {
        // The directory itself, above what is in it.
        [] => "./".to_owned(),
        names if leaf.is_directory && to.is_none() => {
            sanitize::name(&[&names.join(&b'/'), &b"/"[..]].concat())
        }
        names => sanitize::name(&names.join(&b'/')),
    }
}

#[cfg(test)]
mod tests {
    //! Folding of directories.

    use super::{Leaf, tree};

    fn drawn(paths: &[&str]) -> String {
        let leaves: Vec<Leaf<'_>> = paths
            .iter()
            .map(|path| Leaf {
                names: path
                    .split('/')
                    .filter(|name| !name.is_empty())
                    .map(str::as_bytes)
                    .collect(),
                id: format!("id-{path}"),
                letter: "A",
                counts: (0, 0),
                is_directory: false,
                is_git: path.starts_with(".git"),
                since: None,
            })
            .collect();
        tree(&leaves).into_string()
    }

    #[test]
    fn directories_with_one_way_down_are_one_line_and_git_is_closed() {
        let page = drawn(&["", ".git/HEAD", ".git/index", "a/b/c", "a/b/c/d", "a/b/e", "z/y"]);
        assert_eq!(page.matches("<a href=\"#id-").count(), 7, "{page}");
        assert!(
            page.contains("<details><summary><span class=\"mono\">.git/</span>"),
            "{page}"
        );
        assert!(
            page.contains("<details open><summary><span class=\"mono\">a/b/</span>"),
            "{page}"
        );
        // The directory itself is the first line in it.
        let own = page.find("id-a/b/c\"").unwrap();
        assert!(page.get(own..own + 90).unwrap().contains(">./</span>"), "{page}");
        assert!(page.contains(">z/y</span>"), "{page}");
    }

    #[test]
    fn a_tree_is_no_deeper_than_a_browser_takes() {
        let deep: Vec<String> = (1..600).map(|depth| "d/".repeat(depth) + "f").collect();
        let mut deep: Vec<&str> = deep.iter().map(String::as_str).collect();
        deep.sort_by_key(|path| path.replace('/', "\0"));
        let page = drawn(&deep);
        assert_eq!(page.matches("<a href=\"#id-").count(), deep.len());
        assert!(page.matches("<details").count() <= super::DEEPEST);
    }
}
