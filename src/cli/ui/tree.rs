//! The changed paths as a tree that opens and closes, narrowed by name and kind, with marks.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

use super::data::{Changes, Kind, PathChange};
use super::preview::LineMarks;
use crate::model::PathCounts;

/// With so many changes every directory is open at first.
const ALL_OPEN: usize = 200;

#[derive(Debug)]
struct Node {
    name: String,
    depth: usize,
    children: Vec<usize>,
    /// Index of the change; `None` for a directory that did not change itself.
    change: Option<usize>,
    is_directory: bool,
    is_open: bool,
    /// Number of shown changes at and below this node.
    counts: PathCounts,
    shown: bool,
}

/// Content of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Row {
    /// Changes other than paths.
    Beside,
    /// Heading of the paths that can be executed, with their number.
    Running(u64),
    /// Path that can be executed, by the index of its change.
    Runs(usize),
    /// Place in the tree.
    Place(usize),
}

/// The tree.
#[derive(Debug)]
pub(super) struct Tree {
    nodes: Vec<Node>,
    tops: Vec<usize>,
    pub(super) rows: Vec<Row>,
    pub(super) kind: Kind,
    pub(super) filter: String,
    pub(super) marked: BTreeSet<usize>,
    /// Changes of which only some lines are marked.
    pub(super) in_part: BTreeMap<usize, LineMarks>,
    /// Number of changes that pass the filters.
    pub(super) left: u64,
}

impl Tree {
    pub(super) fn new(changes: &Changes) -> Self {
        let mut tree = Self {
            nodes: Vec::new(),
            tops: Vec::new(),
            rows: Vec::new(),
            kind: Kind::All,
            filter: String::new(),
            marked: BTreeSet::new(),
            in_part: BTreeMap::new(),
            left: 0,
        };
        let is_open = changes.all.len() <= ALL_OPEN;
        let mut known: HashMap<(usize, &[String]), usize> = HashMap::new();
        let several = changes.roots.len() > 1;
        for (at, change) in changes.all.iter().enumerate() {
            let mut parent = None;
            let first = usize::from(!several && !change.names.is_empty());
            for length in first..=change.names.len() {
                let Some(names) = change.names.get(..length) else {
                    continue;
                };
                let key = (change.root, names);
                let node = known.get(&key).copied().unwrap_or_else(|| {
                    let made = tree.nodes.len();
                    tree.nodes.push(Node {
                        name: match (names.last(), several) {
                            (Some(name), _) => name.clone(),
                            (None, true) => changes.roots.get(change.root).cloned().unwrap_or_default(),
                            (None, false) => ".".to_owned(),
                        },
                        depth: length - usize::from(!several && length > 0),
                        children: Vec::new(),
                        change: None,
                        is_directory: true,
                        is_open: is_open && names.last().is_none_or(|name| name != ".git") || length == 0,
                        counts: PathCounts::default(),
                        shown: false,
                    });
                    match parent.and_then(|parent: usize| tree.nodes.get_mut(parent)) {
                        Some(parent) => parent.children.push(made),
                        None => tree.tops.push(made),
                    }
                    known.insert(key, made);
                    made
                });
                parent = Some(node);
            }
            if let Some(node) = parent.and_then(|at| tree.nodes.get_mut(at)) {
                node.change = Some(at);
                node.is_directory = change.is_directory || !node.children.is_empty();
            }
        }
        let has_children: Vec<usize> = (0..tree.nodes.len())
            .filter(|at| tree.nodes.get(*at).is_some_and(|node| !node.children.is_empty()))
            .collect();
        for at in has_children {
            if let Some(node) = tree.nodes.get_mut(at) {
                node.is_directory = true;
            }
        }
        tree.lay_out(changes);
        tree
    }

    /// Returns a predicate for changes that pass the filters.
    fn fits(&self) -> impl Fn(&PathChange) -> bool + use<> {
        let (kind, filter) = (self.kind, self.filter.to_lowercase());
        move |change| {
            let is_found = || change.names.join("/").to_lowercase().contains(&filter);
            kind.holds(change) && (filter.is_empty() || is_found())
        }
    }

    /// Recomputes the rows, after any change that affects them.
    pub(super) fn lay_out(&mut self, changes: &Changes) {
        let (fits, kind, is_searched) = (self.fits(), self.kind, !self.filter.is_empty());
        let shown: Vec<bool> = changes.all.iter().map(&fits).collect();
        self.left = shown.iter().filter(|shown| **shown).count() as u64;
        // Children come behind their parents.
        for node in &mut self.nodes {
            (node.counts, node.shown) = (PathCounts::default(), false);
        }
        for at in (0..self.nodes.len()).rev() {
            let Some(node) = self.nodes.get(at) else { continue };
            let mut counts = PathCounts::default();
            let own = node.change.filter(|change| shown.get(*change) == Some(&true));
            let mut is_shown = own.is_some();
            for child in node.children.iter().filter_map(|child| self.nodes.get(*child)) {
                is_shown |= child.shown;
                counts += child.counts;
            }
            if let Some(change) = own.and_then(|at| changes.all.get(at)) {
                match change.kind {
                    Kind::Added => counts.added += 1,
                    Kind::Deleted => counts.deleted += 1,
                    _ if change.is_renamed => counts.renamed += 1,
                    _ => counts.changed += 1,
                }
            }
            if let Some(node) = self.nodes.get_mut(at) {
                (node.counts, node.shown) = (counts, is_shown);
            }
        }
        self.rows.clear();
        if !changes.beside.is_empty() && !is_searched && kind == Kind::All {
            self.rows.push(Row::Beside);
        }
        let running = changes.all.iter().enumerate();
        let running = running.filter(|(at, change)| change.runs && shown.get(*at) == Some(&true));
        let running: Vec<usize> = running.map(|(at, _)| at).collect();
        if !running.is_empty() {
            self.rows.push(Row::Running(running.len() as u64));
            self.rows.extend(running.into_iter().map(Row::Runs));
        }
        // What is searched for is not hidden in a closed directory.
        let mut next: Vec<usize> = self.tops.iter().rev().copied().collect();
        while let Some(at) = next.pop() {
            let Some(node) = self.nodes.get(at).filter(|node| node.shown) else {
                continue;
            };
            self.rows.push(Row::Place(at));
            if node.is_open || is_searched {
                next.extend(node.children.iter().rev());
            }
        }
    }

    /// The change in a row.
    pub(super) fn change(&self, row: usize) -> Option<usize> {
        match self.rows.get(row)? {
            Row::Beside | Row::Running(_) => None,
            Row::Runs(change) => Some(*change),
            Row::Place(at) => self.nodes.get(*at)?.change,
        }
    }

    /// The host path of a row, also of a directory that did not change itself.
    pub(super) fn host(&self, row: usize, changes: &Changes) -> Option<PathBuf> {
        let (change, above) = match self.rows.get(row)? {
            Row::Beside | Row::Running(_) => return None,
            Row::Runs(change) => (*change, 0),
            Row::Place(at) => {
                let (mut node, mut above) = (self.nodes.get(*at)?, 0);
                while node.change.is_none() {
                    (node, above) = (self.nodes.get(*node.children.first()?)?, above + 1);
                }
                (node.change?, above)
            }
        };
        let below = changes.all.get(change)?.hosts.first()?;
        below.ancestors().nth(above).map(Path::to_path_buf)
    }

    /// Opens or closes a directory; without `open` it becomes what it is not. Says whether that changed anything.
    pub(super) fn toggle(&mut self, row: usize, open: Option<bool>, changes: &Changes) -> bool {
        let Some(Row::Place(at)) = self.rows.get(row) else {
            return false;
        };
        let Some(node) = self.nodes.get_mut(*at).filter(|node| !node.children.is_empty()) else {
            return false;
        };
        let wanted = open.unwrap_or(!node.is_open);
        let changed = node.is_open != wanted;
        node.is_open = wanted;
        if changed {
            self.lay_out(changes);
        }
        changed
    }

    /// Opens all directories but `.git`; closes all if none of these is closed. The rows are laid out by the caller.
    pub(super) fn toggle_all(&mut self) {
        let opens = |node: &Node| !node.children.is_empty() && node.name != ".git";
        let wanted = self.nodes.iter().any(|node| opens(node) && !node.is_open);
        for node in &mut self.nodes {
            node.is_open = wanted && opens(node);
        }
    }

    /// The row of the directory that a row lies in.
    pub(super) fn above(&self, row: usize) -> Option<usize> {
        let depth = match self.rows.get(row)? {
            Row::Place(at) => self.nodes.get(*at)?.depth,
            _ => return None,
        };
        let before = self.rows.get(..row)?.iter().enumerate().rev();
        let mut before = before.filter_map(|(at, row)| match row {
            Row::Place(node) => Some((at, self.nodes.get(*node)?.depth)),
            _ => None,
        });
        before.find(|(_, other)| *other < depth).map(|(at, _)| at)
    }

    /// The changes that a row stands for: of a directory all that are shown below it.
    pub(super) fn meant(&self, row: usize, changes: &Changes) -> Vec<usize> {
        match self.rows.get(row) {
            None | Some(Row::Beside) => Vec::new(),
            Some(Row::Runs(change)) => vec![*change],
            Some(Row::Running(_)) => {
                let runs = self.rows.iter().filter_map(|row| match row {
                    Row::Runs(change) => Some(*change),
                    _ => None,
                });
                runs.collect()
            }
            Some(Row::Place(at)) => {
                let fits = self.fits();
                let fits = |change: &usize| changes.all.get(*change).is_some_and(&fits);
                let (mut found, mut next) = (Vec::new(), vec![*at]);
                while let Some(node) = next.pop().and_then(|at| self.nodes.get(at)) {
                    found.extend(node.change.filter(fits));
                    next.extend(&node.children);
                }
                found
            }
        }
    }

    /// Marks what a row stands for, or takes the marks off when all of it has them.
    pub(super) fn mark(&mut self, row: usize, changes: &Changes) {
        let meant = self.meant(row, changes);
        self.in_part.retain(|change, _| !meant.contains(change));
        if meant.iter().all(|change| self.marked.contains(change)) {
            for change in meant {
                self.marked.remove(&change);
            }
        } else {
            self.marked.extend(meant);
        }
    }

    /// Marks all that is shown, or takes its marks off when all of it has them. What the filters hide keeps its marks.
    pub(super) fn mark_all(&mut self, changes: &Changes) {
        let tops: HashSet<usize> = self.tops.iter().copied().collect();
        let is_top = |row: &usize| match self.rows.get(*row) {
            Some(Row::Place(at)) => tops.contains(at),
            _ => false,
        };
        let rows = (0..self.rows.len()).filter(is_top);
        let meant: BTreeSet<usize> = rows.flat_map(|row| self.meant(row, changes)).collect();
        self.in_part.retain(|change, _| !meant.contains(change));
        if meant.is_subset(&self.marked) {
            self.marked.retain(|change| !meant.contains(change));
        } else {
            self.marked.extend(meant);
        }
    }

    /// Returns the mark of a row: none, part, or all of it.
    pub(super) fn marks(&self, row: usize, changes: &Changes) -> Marks {
        if self.marked.is_empty() && self.in_part.is_empty() {
            return Marks::None;
        }
        let meant = self.meant(row, changes);
        if meant.iter().any(|change| self.in_part.contains_key(change)) {
            return Marks::Part;
        }
        let marked = meant.iter().filter(|change| self.marked.contains(change)).count();
        match marked {
            0 => Marks::None,
            all if all == meant.len() => Marks::All,
            _ => Marks::Part,
        }
    }

    /// Name, depth, whether it opens and is open, and the counts below, of a place.
    pub(super) fn place(&self, at: usize) -> Option<Place<'_>> {
        let node = self.nodes.get(at)?;
        Some(Place {
            name: &node.name,
            depth: node.depth,
            change: node.change,
            opens: !node.children.is_empty(),
            is_open: node.is_open || !self.filter.is_empty(),
            is_directory: node.is_directory,
            counts: node.counts,
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Marks {
    None,
    Part,
    All,
}

/// A place in the tree.
pub(super) struct Place<'a> {
    pub(super) name: &'a str,
    pub(super) depth: usize,
    pub(super) change: Option<usize>,
    pub(super) opens: bool,
    pub(super) is_open: bool,
    pub(super) is_directory: bool,
    pub(super) counts: PathCounts,
}
